"""The journal keeps the facts of an entry at its newest claim, covered by the chain, else null."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
from batches import answer, batch, claimed

from bktools.frames.schema import EXPORTED_ENTRIES
from bktools.journal.attempts import record_intent, record_outcome
from bktools.journal.right_journal import problems
from bktools.journal.tables import table_of


def of_amount(name: str, amount: str, *, first: int = 0, **others: object):
    """Return a batch of one entry with an amount."""
    return batch(name, first, amount=[Decimal(amount)], **others)


def kept(journal, name: str = "a") -> list[tuple]:
    """Return amount, supplier and period of each entry of a batch, as its newest claim has them."""
    rows = [row for piece in journal.history("entries", None, name) for row in piece]
    return [(row["amount"], row["supplier"], row["period"]) for row in rows]


def test_a_claim_keeps_the_exact_amount_and_the_period(journal):
    """The period is the close's, otherwise the month of the date, else null; unknown columns are null."""
    claimed(journal, of_amount("a", "0.0000001", supplier="Müller & Söhne"), month="2026-10")
    claimed(journal, of_amount("b", "12.50", first=2, date=dt.date(2026, 9, 30)))
    claimed(journal, of_amount("c", "1", first=3))
    assert kept(journal) == [("0.0000001", "Müller & Söhne", "2026-10")]
    assert (kept(journal, "b"), kept(journal, "c")) == ([("12.50", None, "2026-09")], [("1", None, None)])


def test_the_facts_of_the_newest_claim_count(journal):
    """An entry that was corrected before it was sent, or sent again, shows the amount that was sent last."""
    for amount in ("1.00", "1.00", "2.00"):
        claimed(journal, of_amount("a", amount))
    assert kept(journal) == [("2.00", None, None)]
    attempt = record_intent(journal, "a")
    claimed(journal, of_amount("a", "3.00"))
    assert kept(journal) == [("2.00", None, None)], "on its way: what is sent stays"
    record_outcome(journal, attempt, answer("REJECTED"))
    claimed(journal, of_amount("a", "4.00"))
    claimed(journal, batch("a", 0))
    assert kept(journal) == [("4.00", None, None)], "nothing new is known"
    assert len(journal.rows("SELECT event_id FROM events WHERE code = 'entries_kept'")) == 3
    assert problems(journal) == []


def test_amounts_of_a_history_have_the_scale_of_the_finest():
    """Amounts of 0, 2 and 3 decimals, and of more than 38 digits together, are shown without rounding."""
    long, schema = "9" * 36, pa.schema([EXPORTED_ENTRIES.field("amount")])
    for texts, kind in (
        (["1500", "-12.50", "3.125", None], pa.decimal128(38, 3)),
        ([None], pa.decimal128(38, 0)),
        ([long, "0.0001"], pa.decimal256(76, 4)),
    ):
        column = table_of([[{"amount": text} for text in texts]], schema).column("amount")
        assert column.type == kind
        assert column.to_pylist() == [text and Decimal(text) for text in texts]
