"""Gates: how many days after a group of entries its voucher follows, and which days a ledger shows."""

from __future__ import annotations

import itertools

import numpy as np

from bktools.ledger.whole_numbers import Numbers

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
