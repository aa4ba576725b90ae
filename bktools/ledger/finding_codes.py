"""The statuses of entries in a ledger as codes, and how severe each is, and who acts."""

from __future__ import annotations

from collections.abc import Mapping

from bktools.findings.check import ERP, ERROR, INFO, PREPARER, SERVICE, WARNING
from bktools.ledger.outcome import Reason, Status

# The statuses of an entry, the best first.
STATUSES = tuple(
    status.code
    for status in (
        Status.BOOKED,
        Status.IN_A_SUM,
        Status.NOT_COMPARABLE,
        Status.OPEN,
        Status.ANOTHER_ACCOUNT,
        Status.ANOTHER_AMOUNT,
        Status.BOOKED_TWICE,
        Status.REVERSED,
        Status.MISSING,
    )
)

# Each as it was exported.
ARRIVED = frozenset({Status.BOOKED.code, Status.IN_A_SUM.code})

# Codes of findings that no status or reason has alone.
MISSING_IN_DOUBT, ANOTHER_MONTH, ANOTHER_COST_CENTRE = (
    "missing_in_doubt",
    "another_month",
    "another_cost_centre",
)
NOT_SHOWN, SUM_OF_CURRENCIES, CURRENCY_UNKNOWN = "not_shown", "sum_of_currencies", "currency_unknown"

# By code of a finding: how severe it is, and who acts.
FINDINGS: Mapping[str, tuple[str, str]] = {
    Status.MISSING.code: (ERROR, SERVICE),
    MISSING_IN_DOUBT: (ERROR, PREPARER),
    Status.BOOKED_TWICE.code: (ERROR, ERP),
    Status.REVERSED.code: (ERROR, ERP),
    Status.ANOTHER_AMOUNT.code: (ERROR, ERP),
    Status.ANOTHER_ACCOUNT.code: (WARNING, ERP),
    ANOTHER_MONTH: (WARNING, ERP),
    ANOTHER_COST_CENTRE: (INFO, ERP),
    Reason.SEVERAL_STORIES: (WARNING, PREPARER),
    Reason.MAY_BE_IN: (WARNING, PREPARER),
    Reason.STYLE_UNKNOWN: (WARNING, PREPARER),
    NOT_SHOWN: (WARNING, PREPARER),
    SUM_OF_CURRENCIES: (WARNING, PREPARER),
    Reason.OTHER_CURRENCY: (WARNING, PREPARER),
    CURRENCY_UNKNOWN: (WARNING, PREPARER),
    Reason.NOT_COVERED: (WARNING, PREPARER),
    Reason.VALUE_UNKNOWN: (WARNING, PREPARER),
}

# Findings that order a correction of the books: only where no other posting may be the entry's.
ORDERS = frozenset(
    status.code
    for status in (Status.MISSING, Status.BOOKED_TWICE, Status.ANOTHER_AMOUNT, Status.ANOTHER_ACCOUNT)
)
