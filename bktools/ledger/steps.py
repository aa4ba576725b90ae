"""The steps of the explanation as data: which entries make a group, and what it is compared with."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from bktools.frames.schema import STYLES


class Grain(enum.IntEnum):
    """What has one posting in the ledger."""

    ENTRY = 0
    SUPPLIER_DAY = 1
    ACCOUNT_DAY = 2
    DOCUMENT = 3
    BATCH = 4
    MONTH = 5

    @property
    def code(self) -> str:
        """The name that people see."""
        return STYLES[self]

    @property
    def group(self) -> tuple[str, ...]:
        """The columns of entries that make a group, besides the account."""
        return GROUPS[self]

    @property
    def is_long(self) -> bool:
        """Whether a group spans days, so that its posting has a day of its own."""
        return self >= Grain.DOCUMENT


GROUPS = {
    Grain.ENTRY: ("e",),
    Grain.SUPPLIER_DAY: ("supplier", "day"),
    Grain.ACCOUNT_DAY: ("day",),
    Grain.DOCUMENT: ("document",),
    Grain.BATCH: ("batch",),
    Grain.MONTH: ("month",),
}


class Measure(enum.IntEnum):
    """Which amounts are compared."""

    # The entry with a posting and its tax.
    GROSS = 0
    # The entry without its tax with the posting alone.
    NET = 1
    # The entry in its own currency, with what the ledger has beside its own.
    OWN = 2

    @property
    def ours(self) -> str:
        """The column of entries."""
        return "net" if self is Measure.NET else "gross"

    @property
    def theirs(self) -> str:
        """The column of postings."""
        return {Measure.GROSS: "gross", Measure.NET: "amount", Measure.OWN: "own_gross"}[self]

    @property
    def key(self) -> str:
        """The column of a posting's account and currency."""
        return "own_key" if self is Measure.OWN else "key"


class How(enum.IntEnum):
    """How postings explain entries, for the evidence."""

    ENTRY_ID = 0
    DOCUMENT_NUMBER = 1
    EXACTLY = 2
    SOME_DAYS_LATER = 3
    TEXT = 4
    SUM = 5
    WHOLE_VOUCHER = 6
    REST_OF_DAY = 7
    REST_OF_MONTH = 8
    EXCHANGED = 9
    DIFFERENCE = 10
    ELSEWHERE = 11


@dataclass(frozen=True)
class Step:
    """Groups of entries of a grain, against postings, or against all that a voucher has on an account.

    Parameters
    ----------
    grain : Grain
        The groups.
    measure : Measure
        The amounts.
    of_voucher : bool
        Whether a unit of the ledger is a voucher's line, else a posting.
    is_dated : bool
        Whether the day must agree (of a month: the month).
    off : int
        So many minor units more, which rounding the net of each entry leaves.
    """

    grain: Grain
    measure: Measure
    of_voucher: bool = False
    is_dated: bool = True
    off: int = 0

    @property
    def join(self) -> tuple[str, ...]:
        """The columns that must agree besides account and total."""
        of_day = {Grain.SUPPLIER_DAY: ("day",), Grain.ACCOUNT_DAY: ("day",), Grain.MONTH: ("month",)}
        return of_day.get(self.grain, ()) if self.is_dated else ()


SUMS = tuple(grain for grain in Grain if grain is not Grain.ENTRY)
# Whole vouchers are compared by these, on their day, and then, of groups that span days, on other days.
OF_VOUCHERS = (
    *((grain, True) for grain in (Grain.SUPPLIER_DAY, Grain.DOCUMENT, Grain.ACCOUNT_DAY)),
    *((grain, False) for grain in (Grain.DOCUMENT, Grain.BATCH, Grain.MONTH)),
)
