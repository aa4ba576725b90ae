"""The journal keeps the facts of an entry at its newest claim, covered by the chain, else null."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
from backends import BOTH, refused, typed_by_hand, without_triggers
from batches import answer, batch, claimed

from bktools.export.plan import BatchRequest
from bktools.frames.schema import EXPORTED_ENTRIES
from bktools.journal.attempts import begin, record_outcome
from bktools.journal.right_journal import problems
from bktools.journal.tables import table_of


def of_amounts(name: str, amounts: list[str], *, first: int = 0, **others: object) -> BatchRequest:
    """Return a batch whose entries have these amounts."""
    numbers = range(first, first + len(amounts))
    texts = [f"Entry {place}" for place in range(len(amounts))]
    return batch(name, *numbers, amount=[*map(Decimal, amounts)], description=texts, **others)


def kept(journal, name: str = "a") -> list[tuple]:
    """Return amount, supplier and period of each entry of a batch, as its newest claim has them."""
    rows = [row for piece in journal.history("entries", None, name) for row in piece]
    return [(row["amount"], row["supplier"], row["period"]) for row in rows]


def claims(journal) -> int:
    return len(journal.rows("SELECT event_id FROM events WHERE code = 'entries_kept'"))


@BOTH
def test_a_claim_keeps_the_exact_amount_and_the_period(journal):
    """The period is the close's, otherwise the month of the date, else null; unknown columns are null."""
    claimed(journal, of_amounts("a", ["12.50", "0.0000001"], supplier="Müller & Söhne"), period="2026-10")
    shown = ("Müller & Söhne", "2026-10")
    assert kept(journal) == [("12.5000000", *shown), ("0.0000001", *shown)]
    claimed(journal, of_amounts("b", ["1"], first=2, date=dt.date(2026, 9, 30)))
    claimed(journal, of_amounts("c", ["1"], first=3))
    assert (kept(journal, "b"), kept(journal, "c")) == ([("1", None, "2026-09")], [("1", None, None)])
    row = next(journal.history("entries", None, "b"))[0]
    assert [row[name] for name in ("date", "currency", "description")] == ["2026-09-30", None, "Entry 0"]


@BOTH
def test_the_facts_of_the_newest_claim_count(journal):
    """An entry that was corrected before it was sent, or sent again, shows the amount that was sent last."""
    claimed(journal, of_amounts("a", ["1.00"]))
    claimed(journal, of_amounts("a", ["1.00"]))
    assert claims(journal) == 1, "the same facts again"
    claimed(journal, of_amounts("a", ["2.00"]))
    assert kept(journal) == [("2.00", None, None)]
    attempt = begin(journal, "a")
    claimed(journal, of_amounts("a", ["3.00"]))
    assert kept(journal) == [("2.00", None, None)], "on its way: what is sent stays"
    record_outcome(journal, attempt, answer("REJECTED"))
    claimed(journal, of_amounts("a", ["4.00"]))
    assert kept(journal) == [("4.00", None, None)]
    claimed(journal, batch("a", 0))
    assert kept(journal) == [("4.00", None, None)], "nothing new is known"
    assert claims(journal) == 3
    assert problems(journal) == []


FORBIDDEN = """
UPDATE entry_data SET amount = '9.99'
UPDATE {or_replace} entry_data SET amount = '9.99'
"""


@BOTH
def test_data_do_not_change(journal, backend):
    """SQL typed by hand does not change what was kept; the digest reveals what it deletes."""
    claimed(journal, of_amounts("a", ["1.00"]), of_amounts("b", ["2.00"], first=1))
    words = {"or_replace": "" if backend else "OR REPLACE"}
    with typed_by_hand(journal, backend) as by_hand:
        for sql in FORBIDDEN.strip().splitlines():
            refused(by_hand, sql.format(**words))
        by_hand.execute("DELETE FROM entry_data WHERE batch_id = 'b'")
    assert problems(journal) == ["batch b: the data of its entries was changed after it was claimed"]


@BOTH
def test_facts_that_somebody_changed_are_noticed(journal, backend):
    """With triggers removed and valid checksums the digest in the chain still differs."""
    claimed(journal, of_amounts("a", ["1.00", "2.00"]))
    with typed_by_hand(journal, backend) as by_hand:
        without_triggers(by_hand, backend)
        by_hand.execute("UPDATE entry_data SET amount = '100.00' WHERE amount = '1.00'")
    assert problems(journal) == ["batch a: the data of its entries was changed after it was claimed"]


def test_amounts_of_a_history_have_the_scale_of_the_finest(journal):
    """Amounts of 0, 2 and 3 decimals, and of more than 38 digits together, are shown without rounding."""

    def amounts(*texts: str | None) -> tuple[pa.DataType, list[Decimal | None]]:
        schema = pa.schema({"amount": EXPORTED_ENTRIES.field("amount").type})
        column = table_of([[{"amount": text} for text in texts]], schema).column("amount")
        return column.type, column.to_pylist()

    three = [Decimal(1500), Decimal("-12.5"), Decimal("3.125"), None]
    assert amounts("1500", "-12.50", "3.125", None) == (pa.decimal128(38, 3), three)
    assert amounts(None) == (pa.decimal128(38, 0), [None])
    long = "9" * 36
    assert amounts(long, "0.0001") == (pa.decimal256(76, 4), [Decimal(long), Decimal("0.0001")])
