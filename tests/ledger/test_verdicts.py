"""What the verdict promises, each in the smallest world that shows it."""

from __future__ import annotations

import pytest
from csv_worlds import NAMES, entries_of, ledger_of, wrong

from bktools import match_ledger


@pytest.mark.parametrize("name", NAMES)
def test_each_entry_has_a_status_that_an_accountant_would_accept(name):
    assert [*wrong(match_ledger(entries_of(name), ledger_of(name)).entries)] == []
