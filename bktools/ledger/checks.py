"""The statuses of entries in a ledger as codes, and how severe each is, and who acts."""

from __future__ import annotations

from collections.abc import Mapping

from bktools.findings.check import ERP, ERROR, INFO, PREPARER, SERVICE, WARNING
from bktools.ledger.statuses import Reason, Status

# The statuses of an entry, the best first.
STATUSES = tuple(status.code for status in Status if status is not Status.OPEN)

# Each as it was exported.
ARRIVED = frozenset({Status.BOOKED.code, Status.IN_A_SUM.code})

# Findings about an entry, by status or a status's reason: the code of its sentences, severity, who acts.
FINDINGS: Mapping[str, tuple[str, str]] = {
    "missing": (ERROR, SERVICE),
    "missing_in_doubt": (ERROR, PREPARER),
    "booked_twice": (ERROR, ERP),
    "reversed": (ERROR, ERP),
    "another_amount": (ERROR, ERP),
    "another_account": (WARNING, ERP),
    "another_month": (WARNING, ERP),
    "another_date": (INFO, ERP),
    "another_cost_centre": (INFO, ERP),
    **{reason.code: (WARNING, PREPARER) for reason in Reason if reason is not Reason.NONE},
}
