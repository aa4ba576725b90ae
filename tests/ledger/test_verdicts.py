"""What the verdict promises, each in the smallest world that shows it."""

from __future__ import annotations

import pytest
from csv_worlds import NAMES, match_of, wrong


@pytest.mark.parametrize("name", NAMES)
def test_each_entry_has_a_status_that_an_accountant_would_accept(name):
    """And nobody is told to book again what was reversed: the reversal may be right."""
    match = match_of(name)
    assert [*wrong(match.entries)] == []
    is_reversed = match.findings["reason"] == "reversed"
    assert {*match.findings["to_do"][is_reversed]} <= {"Look up why it was reversed"}
