"""Booking units and gates: which entries a ledger books together, and in which days their voucher follows."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from bktools.frames.schema import STYLES
from bktools.ledger.whole_numbers import Columns, Numbers

# What of a voucher holds one group of entries.
OWN = "own"  # one account's entry; beside it the voucher may have more, such as tax or another line
ACCOUNT = "account"  # one account's part of a voucher
VOUCHER = "voucher"  # all of it


@dataclass(frozen=True)
class BookingUnit:
    """Which entries make a group, and what of a voucher holds one.

    Parameters
    ----------
    name : str
        The name of the unit, such as "entry" or "day".
    by : tuple of str
        The columns whose equal values make entries a group.
    part : str
        What of a voucher holds one group: OWN, ACCOUNT or VOUCHER.
    """

    name: str
    by: tuple[str, ...]
    part: str

    @property
    def is_sum(self) -> bool:
        """Whether a group may have entries of several receipts."""
        return self.name not in ("entry", "receipt")

    @property
    def level(self) -> int:
        """How fine the unit is, 0 for the finest; a receipt of several lines is as fine as an entry."""
        return LEVELS.index(EQUALLY_FINE.get(self.name, self.name))

    @property
    def clock(self) -> str:
        """The column of the day on which a group ends."""
        return next((name for name in self.by if name in ("work_day", "week_end", "month_end")), "day")


# From the finest to the coarsest.
SUMS = {
    "document": ("document",),
    "supplier_day": ("supplier", "day"),
    "day": ("day",),
    "work_day": ("work_day",),
    "open_day": ("open_day",),
    "week": ("week_end",),
    "batch_week": ("batch", "week_end"),
    "batch_supplier": ("batch", "supplier"),
    "batch_employee": ("batch", "employee"),
    "batch": ("batch",),
    "month": ("month_end",),
}
DAYS = ("work_day", "open_day")
EQUALLY_FINE = {"receipt": "entry", **dict.fromkeys(DAYS, "day")}
LEVELS = ("entry", *(name for name in SUMS if name not in DAYS))
UNITS = (
    BookingUnit("receipt", ("id",), VOUCHER),
    BookingUnit("entry", ("e",), OWN),
    *(
        BookingUnit(name, by if part == VOUCHER else (*by, "account"), part)
        for name, by in SUMS.items()
        for part in (ACCOUNT, VOUCHER)
    ),
)
# The days from which a voucher's delay may count.
CLOCKS = ("day", "work_day", "open_day", "week_end", "month_end", "sent_day")
# The weekday of 1970-01-01, and of a week's last working day, from Monday as 0.
THURSDAY, FRIDAY = 3, 4


def units_of_style(style: str | None) -> tuple[BookingUnit, ...]:
    """Return the units of a ledger that books in a style, by default all."""
    return UNITS if style is None else tuple(unit for unit in UNITS if unit.name in STYLES[style])


def clocks_of(entries: Columns) -> dict[str, Numbers]:
    """Return the days from which a delay may count, beside an entry's own day and that of sending."""
    weekday = (entries.day + THURSDAY) % 7
    # What is of a closed month is booked in the month for which it was sent.
    opened = np.maximum(entries.day, entries.period_day)
    next_month = opened.astype("M8[D]").astype("M8[M]") + 1
    return {
        "work_day": entries.day + np.where(weekday > FRIDAY, 7 - weekday, 0),
        "open_day": opened,
        "week_end": entries.day - weekday + 6,
        "month_end": next_month.astype("M8[D]").astype(np.int64) - 1,
    }


# ---- gates: how many days after a group of entries its voucher follows

Gate = tuple[int, int]

# Days. A delay that was not learned stays below a week, so that no weekly charge is another week's.
UNDER_A_WEEK = 6
# Days before and after an entry; no voucher of it is looked for outside of these.
EARLIER, LATEST = 3, 45
# Days in which a correction may follow that names its entry: a quarter.
CORRECTED = 92
# So many singular vouchers show a delay, a text, a rate.
FEW = 5
# A habit of so many is the ledger's: a text that so many vouchers carry, documents that so often balance.
HABIT = 0.9
# A month with less than this share of the next one's days is not shown: its vouchers were only dated back.
SPARSE = 0.25
# So many of the vouchers come within the usual delay.
USUAL = 0.97


def gate_of(days_late: Numbers) -> Gate:
    """Return from when until when, in days after a group, its voucher usually follows."""
    days_late = np.sort(days_late)
    earliest = int(days_late[int((1 - USUAL) * len(days_late))])
    latest = int(days_late[int(USUAL * (len(days_late) - 1))])
    # One habit has no gap of a week in it: a month later follows another month's charge.
    middle, days = int(days_late[len(days_late) // 2]), np.unique(days_late).tolist()
    gaps = [(before, after) for before, after in itertools.pairwise(days) if after - before > UNDER_A_WEEK]
    earliest = max([earliest, *(after for _, after in gaps if after <= middle)])
    latest = min([latest, *(before for before, _ in gaps if before >= middle)])
    return earliest, latest


def covered_by(days: Numbers, until: int | None) -> Gate:
    """Return the first and the last day that a ledger shows, by the days of its postings.

    It begins with a month, if it is not silent before its first posting for longer than it usually is between
    two of its days. A few vouchers that are dated back into the month before show nothing of that month.
    """
    days = np.unique(days)
    if not len(days):
        return 0, -1
    months = days.astype("M8[D]").astype("M8[M]")
    _, begins, counts = np.unique(months, return_index=True, return_counts=True)
    if len(counts) > 1 and counts[0] < SPARSE * counts[1]:
        days = days[begins[1] :]
    first, last = int(days[0]), int(days[-1])
    month = int(np.datetime64(first, "D").astype("M8[M]").astype("M8[D]").astype(int))
    silence = int(np.sort(np.diff(days))[int(HABIT * (len(days) - 2))]) if len(days) > FEW else 0
    return (month if first - month <= silence else first), (until or last)
