"""The journal keeps the facts of an entry at its claim: only added, covered by the chain, else null."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from backends import BOTH, refused, typed_by_hand, without_triggers
from batches import COMPANY, ENTRIES, batch, send

from bktools.export.plan import BatchRequest
from bktools.frames.schema import EXPORTED_ENTRIES
from bktools.journal import entry_data
from bktools.journal.backups import restore
from bktools.journal.tables import table_of
from bktools.journal.undelivered import BatchOutcome
from bktools.journal.writing import open_for_writing


@pytest.fixture
def journal(settings):
    with open_for_writing(settings) as opened:
        yield opened


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
    return len(journal.rows("SELECT DISTINCT claim FROM entry_data"))


@BOTH
def test_a_claim_keeps_the_exact_amount_and_the_period(journal):
    """The period is the close's, otherwise the month of the date, else null; unknown columns are null."""
    journal.claim([of_amounts("a", ["12.50", "0.0000001"], supplier="Müller & Söhne")], "plan", "2026-10")
    told = ("Müller & Söhne", "2026-10")
    assert kept(journal) == [("12.5000000", *told), ("0.0000001", *told)]
    journal.claim([of_amounts("b", ["1"], first=2, date=dt.date(2026, 9, 30))], "plan")
    journal.claim([of_amounts("c", ["1"], first=3)], "plan")
    assert (kept(journal, "b"), kept(journal, "c")) == ([("1", None, "2026-09")], [("1", None, None)])
    row = next(journal.history("entries", None, "b"))[0]
    assert [row[name] for name in ("date", "currency", "description")] == ["2026-09-30", None, "Entry 0"]


@BOTH
def test_the_facts_of_the_newest_claim_count_and_the_earlier_ones_stay(journal):
    """An entry that was corrected before it was sent, or sent again, shows the amount that was sent last."""
    journal.claim([of_amounts("a", ["1.00"])], "plan")
    journal.claim([of_amounts("a", ["1.00"])], "plan")
    assert claims(journal) == 1, "the same facts again"
    journal.claim([of_amounts("a", ["2.00"])], "plan")
    assert kept(journal) == [("2.00", None, None)]
    journal.begin("a")
    journal.claim([of_amounts("a", ["3.00"])], "plan")
    assert kept(journal) == [("2.00", None, None)], "on its way: what is sent stays"
    journal.settle("a", BatchOutcome("REJECTED", "refused", {"message": "no contra account"}))
    journal.claim([of_amounts("a", ["4.00"])], "plan")
    assert kept(journal) == [("4.00", None, None)]
    journal.claim([batch("a", 0)], "plan")
    assert kept(journal) == [("4.00", None, None)], "nothing new is known"
    amounts = [row["amount"] for row in journal.rows("SELECT amount FROM entry_data ORDER BY claim")]
    assert amounts == ["1.00", "2.00", "4.00"]
    assert journal.problems() == []


FORBIDDEN = """
DELETE FROM entry_data
UPDATE entry_data SET amount = '9.99'
UPDATE {or_replace} entry_data SET amount = '9.99'
INSERT {or_replace} INTO entry_data SELECT * FROM entry_data
INSERT INTO entry_data SELECT batch_id, claim, '{other}', 0, {others} FROM entry_data LIMIT 1
INSERT INTO entry_data SELECT batch_id, claim - 1, entry_id, 0, {others} FROM entry_data LIMIT 1
INSERT INTO entry_data SELECT batch_id, claim + 9, entry_id, 0, {others} FROM entry_data LIMIT 1
"""


@BOTH
def test_facts_are_only_added_with_their_claim(journal, backend):
    """SQL typed by hand neither changes nor deletes what was kept, nor adds to a claim that is written."""
    journal.claim([of_amounts("a", ["1.00"]), of_amounts("b", ["2.00"], first=1)], "plan")
    others = ", ".join(["date, '9.99', currency", *entry_data.COLUMNS[3:-1], "period"])
    words = {"other": ENTRIES[5], "others": others, "or_replace": "" if backend else "OR REPLACE"}
    with typed_by_hand(journal, backend) as by_hand:
        for sql in FORBIDDEN.strip().splitlines():
            refused(by_hand, sql.format(**words))


@BOTH
def test_facts_that_somebody_changed_are_told(journal, backend):
    """With triggers removed and valid checksums the digest in the chain still differs."""
    journal.claim([of_amounts("a", ["1.00", "2.00"])], "plan")
    with typed_by_hand(journal, backend) as by_hand:
        without_triggers(by_hand, backend)
        by_hand.execute("UPDATE entry_data SET amount = '100.00' WHERE amount = '1.00'")
    assert journal.problems() == ["batch a: the data of its entries was changed after it was claimed"]


def test_a_restored_backup_does_not_pass_old_facts_off_as_sent(settings, tmp_path):
    """The facts of an entry that was sent after the backup may be of an earlier claim: they are not shown."""
    with open_for_writing(settings) as journal:
        send(journal, of_amounts("b", ["5.00"], first=1))
        journal.claim([of_amounts("a", ["1.00"])], "plan")
        journal.backup(tmp_path / "kept.sqlite")
        with journal.sending(COMPANY):
            journal.claim([of_amounts("a", ["2.00"]), of_amounts("c", ["3.00"], first=2)], "plan")
        for name in "ac":
            with journal.sending(COMPANY):
                journal.begin(name)
                journal.settle(name, BatchOutcome("UNKNOWN", "connection_lost", {"message": "lost"}))
            journal.resolve(name, "ACCEPTED", evidence="booked as 4711", by="Ada")
    assert restore(settings, tmp_path / "kept.sqlite", by="Ada").in_doubt == ("a", "c")
    with open_for_writing(settings) as journal:
        amounts = [kept(journal, name) for name in "abc"]
        assert amounts == [[(None, None, None)], [("5.00", None, None)], [(None, None, None)]]
        assert journal.problems() == []
        journal.resolve("a", "RELEASED", evidence="not in the ERP", by="Ada")
        journal.claim([of_amounts("a", ["1.00"])], "plan")
        assert kept(journal) == [("1.00", None, None)], "claimed again with the facts of before the restore"


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
