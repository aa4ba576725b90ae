"""With the setting `read_only` nothing that is applied begins: neither journal nor service changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import bktools
from bktools.errors import ConfigurationError


@pytest.mark.parametrize("what", ["close", "accounts", "export"])
def test_nothing_is_applied_with_read_only(sandbox, service, samples, closed, what):
    """Refused before the first step; a dry run works as ever."""
    chart = bktools.read_chart_of_accounts(samples[0], company=service.settings.company)
    reconciliation = bktools.reconcile_accounts(
        chart, bktools.load_accounts(service=service), bktools.load_categories(service=service)
    )
    plan = bktools.compose_export_jobs(bktools.read_entries(samples[1]).head(3))
    before = len(sandbox.server.accounts())
    service.settings = replace(service.settings, read_only=True)
    applied = {
        "close": lambda apply: closed(apply=apply),
        "accounts": lambda apply: bktools.create_accounts(reconciliation, apply=apply, service=service),
        "export": lambda apply: bktools.submit_export_jobs(plan, apply=apply, service=service),
    }[what]
    with pytest.raises(ConfigurationError, match=r"read_only \(.*\) is set: nothing was written; unset it"):
        applied(apply=True)
    assert (len(sandbox.server.accounts()), sandbox.server.export_jobs()) == (before, [])
    assert bktools.load_export_jobs(service=service).empty
    applied(apply=False)
    # The fixture closes with `folder=False`.
    assert not [*Path().glob("month-end*")]
