"""Every printed command that changes something names company and environment."""

from __future__ import annotations

import re

import pytest
from backends import BOTH
from batches import ADDRESS, COMPANY, LOOKED, answer, batch, begun, claimed, send

from bktools.errors import JournalError
from bktools.journal.attempts import record_outcome
from bktools.journal.export_jobs import _late_answer
from bktools.journal.periods import _set_state
from bktools.journal.resolving import resolve
from bktools.journal.right_journal import first_export
from bktools.journal.unknown_outcomes import how_to_resolve


@BOTH
def test_each_command_that_the_journal_prints_names_them(opened, today):
    """The lines themselves, for each command that changes something."""
    company = f"--company {COMPANY} --environment {ADDRESS}"
    lines = {"export import": str(first_export(opened, COMPANY))}
    today("2026-11-20T10:00")
    attempt = begun(opened, batch("a", 0, date="2026-10-05"))
    record_outcome(opened, attempt, answer("UNKNOWN"))
    lines["export resolve"] = how_to_resolve(opened, opened.unknown()[0])
    with pytest.raises(JournalError) as caught:
        _set_state(opened, COMPANY, "2026-10", "CLOSED", None, "Grace")
    lines["export resolve a"] = str(caught.value)
    resolve(opened, "a", "ACCEPTED", **LOOKED, job_id="job-1")
    record_outcome(opened, attempt, answer("ACCEPTED", "job-2"))
    lines["export tick-off"] = _late_answer(opened, opened.late_answers()[0])
    _set_state(opened, COMPANY, "2026-10", "CLOSED", None, "Grace")
    with pytest.raises(JournalError) as caught:
        send(opened, batch("b", 1, date="2026-10-05"), month="2026-10")
    lines["periods reopen"] = str(caught.value)
    claimed(opened, batch("c", 2))
    with pytest.raises(JournalError) as caught:
        claimed(opened, batch("d", 2, company="00000000-0000-4000-8000-00000000000f"))
    lines["export resolve c"] = str(caught.value)
    for command, line in lines.items():
        assert re.search(rf"bktools {command}[^;]* {re.escape(company)}", line), line
