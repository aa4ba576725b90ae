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


def test_words_fit_what_they_are_about(service, samples, tmp_path):
    """Several entries are "they" and "them"; a category that is archived is "it", not "its category"."""
    chart = bktools.read_chart_of_accounts(samples[0], company=service.settings.company)
    close = bktools.close_month(chart, bktools.read_entries(samples[1]), folder=tmp_path / "october", service=service)
    said = {(action.cause, len(action.entry_ids) > 1): (action.to_do, action.why) for action in close.actions}
    assert said["not_approved", True] == ("approve them in the service", "they are not approved yet")
    assert said["no_category", False] == ("choose a category in the service", "it has no category")
    assert {why for (cause, _), (_, why) in said.items() if cause == "archived_category"} == {"it is archived"}
