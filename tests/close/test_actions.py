"""What a close asks of people, where no other test has it."""

from __future__ import annotations

import bktools
from bktools.frames.roles import ERP
from bktools.sandbox.faults import Fault


def test_an_account_that_was_refused_is_corrected_in_the_chart(sandbox, service, samples, tmp_path):
    """The service refuses one account of a chart: the close goes on, and names the account, the refusal and who acts."""
    sandbox.server.inject(Fault("error", "create_account", times=1, status=422))
    chart = bktools.read_chart_of_accounts(samples[0], company=service.settings.company)
    entries = bktools.read_entries(samples[1])
    close = bktools.close_month(chart, entries, apply=True, folder=tmp_path / "october", service=service)
    [refused] = [row for row in close.run.created if row["outcome"] == "REJECTED"]
    [action] = [action for action in close.actions if action.cause == "account_not_created"]
    assert (action.severity, action.ids) == ("error", {"external_id": refused["external_id"]})
    assert action.about == f"account {refused['code']} {refused['name']}"
    assert (action.role, action.to_do) == (ERP, "correct the account in the chart")
    assert refused["message"] in action.why
    assert close.run.is_incomplete
    again = bktools.close_month(chart, entries, apply=True, folder=tmp_path / "october", service=service)
    assert "account_not_created" not in {action.cause for action in again.actions}
