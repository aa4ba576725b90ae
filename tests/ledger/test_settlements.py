"""What a ledger says about batches in doubt, over random accounting systems."""

from __future__ import annotations

from settlement_worlds import attack

# Seeds of worlds in which each outcome is proposed.
WORLDS = 25


def test_no_proposal_books_twice_or_loses_entries():
    """In random companies no batch that was booked is proposed to be released, and none that was not to be accepted."""
    counts, wrong = attack(WORLDS)
    assert wrong == []
    assert {outcome for *_, outcome in counts} == {"accepted", "released", "not decided"}
