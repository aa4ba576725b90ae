"""What became of each entry: the statuses, the open groups, and the verdict with its evidence."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bktools.ledger.whole_numbers import Flags, Numbers


class Status(enum.IntEnum):
    """What became of an entry, the best first."""

    BOOKED = 0
    IN_A_SUM = 1
    NOT_COMPARABLE = 2
    OPEN = 3
    ANOTHER_ACCOUNT = 4
    ANOTHER_AMOUNT = 5
    BOOKED_TWICE = 6
    REVERSED = 7
    MISSING = 8

    @property
    def code(self) -> str:
        """The name of the status in tables and files."""
        return self.name.lower()


# Each as it was exported.
ARRIVED = (Status.BOOKED, Status.IN_A_SUM)
# An entry with one of these is in the books, once or more often.
BOOKED = (*ARRIVED, Status.BOOKED_TWICE)
# An entry with one of these has a posting of its own, right or not.
THERE = (*BOOKED, Status.ANOTHER_ACCOUNT, Status.ANOTHER_AMOUNT, Status.REVERSED)

# Corrections of the books are ordered by these, and only where no other posting may be the entry's.
ORDERS = (Status.MISSING, Status.BOOKED_TWICE, Status.ANOTHER_AMOUNT, Status.ANOTHER_ACCOUNT)


class Reason(enum.StrEnum):
    """Why an entry is open, or not comparable."""

    SEVERAL_STORIES = "several_stories"  # more than one explanation needs the fewest mistakes
    MAY_BE_IN = "may_be_in"  # nothing shows the entry, and a free posting or an open sum may hold it
    STYLE_UNKNOWN = "style_unknown"  # too few entries agree to tell how the ledger books
    OTHER_CURRENCY = "other_currency"  # no voucher shows what the ledger has for the entry
    NOT_COVERED = "not_covered"  # the ledger's days do not reach so far
    OTHER_ACCOUNTS = "other_accounts"  # the ledger has no account of the entries
    VALUE_UNKNOWN = "value_unknown"  # the entry has no day, amount or account


@dataclass(frozen=True)
class OpenGroup:
    """Entries that are decided together, or not at all: what a person looks at.

    Parameters
    ----------
    entries : tuple of int
        The entries in question, by number, the likeliest first.
    reason : Reason
        Why they are open.
    exported : int
        The sum of the group's entries, in cents; of another currency as they were exported.
    booked : int or None
        The sum of the postings that may be the group's, in cents; None where it is not known.
    postings : tuple of int
        Rows of the postings to look at, the likeliest first.
    """

    entries: tuple[int, ...]
    reason: Reason
    exported: int
    booked: int | None
    postings: tuple[int, ...]

    @property
    def difference(self) -> int | None:
        """What is booked less what was exported, in cents; None where it is not known."""
        if self.booked is None or self.reason is Reason.OTHER_CURRENCY:
            return None
        return self.booked - self.exported


@dataclass(frozen=True)
class Habits:
    """How a ledger books, as its proven vouchers show it.

    Parameters
    ----------
    unit : str or None
        What has one voucher, or one account's part of a voucher: "entry", "receipt", "document",
        "supplier_day", "day", "work_day", "open_day", "week", "batch_week", "batch_supplier",
        "batch_employee", "batch" or "month". None where nothing can be compared.
    by_account : bool
        Whether each account has a voucher, or a part of one, of its own.
    clock : str
        From when delays count: "day", "work_day", "open_day", "week_end", "month_end" or "sent_day".
    gate : tuple of int
        From how many until how many days after a group its voucher follows.
    share : float
        How much of the entries agrees with vouchers so.
    is_known : bool
        Whether that is enough to call an entry missing.
    tax_rates : tuple of int
        In ten-millionths, where entries hold tax that the ledger books apart.
    sign : int
        -1 where credits are costs.
    currency : str or None
        The ledger's own currency, None where it is not known.
    texts : tuple of str
        The texts of entries that vouchers carry: "description", "document", "supplier"; else "person".
    """

    unit: str | None = None
    by_account: bool = False
    clock: str = "day"
    gate: tuple[int, int] = (0, 0)
    share: float = 0
    is_known: bool = False
    tax_rates: tuple[int, ...] = ()
    sign: int = 1
    currency: str | None = None
    texts: tuple[str, ...] = ()


class Verdict:
    """What became of each entry, with the evidence. Entries and postings are numbered by their rows.

    Attributes
    ----------
    status : array of int8
        A `Status` for each entry; -1 until it is given, once.
    reasons : mapping
        The `Reason` of each entry that is open or not comparable.
    days_late : array of int64
        Days from an entry to its own posting; 0 where it has none of its own.
    gross : array of int64
        The amount of each posting in cents, a cost positive and with the tax that stands beside it.
    is_held : array of bool
        Whether a posting has entries of a group that is not matched: its amount is in their findings.
    group, posting_group : arrays of int64
        The matched group of each entry, and of each posting; -1 without one. A group has its entries and its
        postings alone: each posting is of one group at most.
    evidence : mapping
        Rows of the postings to look at, for each entry that was not simply counted.
    look_first : mapping
        Rows of other postings that may be an entry's after all, to look at before a correction is ordered, or
        before an entry is sent.
    open_groups : list of OpenGroup
        What is open, one for each group.
    habits : Habits
        How the ledger books.
    covered : tuple of int or None
        The first and the last day that the ledger shows, as days since 1970-01-01.
    """

    def __init__(self, entries: int, cents: Numbers) -> None:
        self.status = np.full(entries, -1, np.int8)
        self.days_late = np.zeros(entries, np.int64)
        self.group = np.full(entries, -1)
        self.posting_group = np.full(len(cents), -1)
        self.gross = cents
        self.is_held = np.zeros(len(cents), np.bool_)
        self.reasons: dict[int, Reason] = {}
        self.evidence: dict[int, tuple[int, ...]] = {}
        self.look_first: dict[int, Sequence[int]] = {}
        self.open_groups: list[OpenGroup] = []
        self.habits = Habits()
        self.covered: tuple[int, int] | None = None
        self.groups = 0

    def has(self, *statuses: Status) -> Flags:
        """Return which entries have one of some statuses."""
        return np.isin(self.status, statuses)

    def postings(self, entry: int) -> tuple[int, ...]:
        """Return the rows of the postings that hold an entry, or that are to be looked at."""
        group = self.group[entry]
        own = np.flatnonzero(self.posting_group == group).tolist() if group >= 0 else ()
        return tuple(dict.fromkeys((*own, *self.evidence.get(entry, ()))))

    def decide(self, entries: Any, status: Any, reason: Reason | None = None) -> None:
        """Give entries their status, and the reason why they are open or not comparable."""
        assert np.all(self.status[entries] < 0), "an entry gets its status once"
        self.status[entries] = status
        if reason is not None:
            self.reasons.update(dict.fromkeys(np.atleast_1d(entries).tolist(), reason))

    def look(self, entry: int, postings: Sequence[int]) -> None:
        """Name the postings that a person looks at."""
        if len(postings):
            self.evidence[entry] = tuple(postings)

    def match(self, entries: Any, of_entry: Any, postings: Any, of_posting: Any) -> None:
        """Make groups of entries and the postings that hold them alone; of which each is, from 0."""
        assert np.all(self.posting_group[postings] < 0), "a posting is of one group"
        self.group[entries] = self.groups + of_entry
        self.posting_group[postings] = self.groups + of_posting
        self.groups += 1 + int(np.max(of_entry, initial=0))
