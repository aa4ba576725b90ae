"""What becomes of an entry, and why it is not decided, as codes."""

from __future__ import annotations

import enum


class _Code(enum.IntEnum):
    """A number that people see as a code, its name in lower case."""

    @property
    def code(self) -> str:
        """The name that people see."""
        return self.name.lower()


class Status(_Code):
    """What became of an entry in the ledger."""

    OPEN = 0
    BOOKED = 1
    IN_A_SUM = 2
    ANOTHER_DATE = 3
    NOT_COMPARABLE = 4
    ANOTHER_ACCOUNT = 5
    ANOTHER_AMOUNT = 6
    BOOKED_TWICE = 7
    REVERSED = 8
    NOT_DECIDED = 9
    MISSING = 10


class Reason(_Code):
    """Why a status is what it is; beside it are the postings to look at, and a difference, if any."""

    NONE = 0
    # The total of a group differs, and no single entry explains it.
    SUM_DIFFERS = 1
    # The amount stands in the ledger, for several such entries or in several places.
    SEVERAL_FIT = 2
    # A free posting may hold it.
    MAY_BE_IN = 3
    # A group nearby is open, which may hold it.
    OPEN_GROUP = 4
    # The ledger ends before it would be booked, or begins after.
    NOT_COVERED = 5
    # The booking style is not known.
    STYLE_UNKNOWN = 6
    # A sum holds amounts of another currency, whose rate is open.
    OTHER_CURRENCY = 7
    # An equal posting stands beside its own, and no text says whose it is.
    EQUAL_POSTING = 8
    # Amount, day or account of the entry are not known.
    VALUE_UNKNOWN = 9
