"""What a match says: the messages with their values, the tables, and what people see of it."""

from __future__ import annotations

import functools
import pickle
from decimal import Decimal

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from worlds import MONEY, booking, exported, ledger, number_id, october, plainly_booked

from bktools import LedgerMatch, match_ledger
from bktools.errors import ArgumentError, InputError


@functools.cache
def october_match():
    entries = exported()
    return match_ledger(entries, ledger(october(entries)[0]))


def finding(match, check):
    row = match.findings.set_index("check").loc[check]
    return [row[name] for name in ("severity", "about", "message", "to_do", "who")]


MESSAGES = {
    "missing": [
        "error",
        "2026-10-04, Hotel Berlin, EUR 107.00",
        "EUR 107.00 on 5810 Hotels is not in the ledger within 7 days of 2026-10-04",
        (
            "look up the job of batch batch0 in the service; where it failed, book the entry in the ERP by hand: it counts"
            " as exported, and is not sent again"
        ),
        "administrator of the service",
    ],
    "booked_twice": [
        "error",
        "2026-10-05, Papier A4, EUR 114.00",
        (
            'booked 2 times on 4930 Office: voucher A 3, document D3, "Papier A4", line 4; voucher A 90, document D90, '
            '"Papier A4", line 6'
        ),
        "reverse all of them but one",
        "accounting (ERP)",
    ],
    "another_amount": [
        "error",
        "2026-10-06, Taxi Hamburg, EUR 121.00",
        'EUR 131.00 is booked instead of EUR 121.00 on 5800 Travel: voucher A 4, document D4, "Taxi Hamburg", line 8',
        "correct the voucher, or the entry where the voucher is right",
        "accounting (ERP)",
    ],
    "another_account": [
        "warning",
        "2026-10-07, Flug Wien, EUR 128.00",
        'EUR 128.00 is booked on 4930 Office instead of 5810 Hotels: voucher A 5, document D5, "Flug Wien", line 10',
        "rebook it, or give the category the right account",
        "accounting (ERP)",
    ],
    "another_date": [
        "info",
        "2026-10-08, Drucker Toner, EUR 135.00",
        'dated 2026-10-10 in the ledger instead of 2026-10-08: voucher A 6, document D6, "Drucker Toner", line 12',
        "nothing, where the ERP dates its postings itself",
        "accounting (ERP)",
    ],
}


def test_messages():
    """Each finding says by name what it is about, with the values of both sides on their own side."""
    match = october_match()
    assert {check: finding(match, check) for check in MESSAGES} == MESSAGES


def one(entry=None, posting=None, **options):
    """Match one entry and the postings of one voucher, changed."""
    entries = exported(2).head(1).assign(**(entry or {}))
    postings = ledger(booking(1, exported(2).iloc[0].to_dict())).assign(**(posting or {}))
    return match_ledger(entries, postings, **options)


def test_another_month():
    """A posting in another month is a warning with both days; the same days apart within a month are an info."""
    entry = {"date": pd.Timestamp("2026-10-30")}
    found = finding(one(entry, {"date": pd.Timestamp("2026-11-02")}), "another_date")
    assert found[0] == "warning"
    assert found[2].startswith("dated 2026-11-02 in the ledger instead of 2026-10-30, in another month: voucher A 1")
    assert one(entry, {"date": pd.Timestamp("2026-11-02")}, days=2).counts == {"missing": 1}


def test_a_ledger_that_ends_early():
    """An entry after the last posting is not looked up in the service: the ledger is exported again first."""
    found = finding(one({"date": pd.Timestamp("2026-10-20")}), "missing")
    assert found[2] == "EUR 100.00 on 5800 Travel is not in the ledger, which ends on 2026-10-03"
    assert found[3:] == ["export the ledger again up to 2026-10-20 or later, then verify again", "accounting (ERP)"]


def test_another_currency():
    """An amount in a currency that no posting has is compared only where a posting names the entry, and then not in value."""
    found = one({"currency": "USD"})
    assert finding(found, "not_comparable")[2] == "USD 100.00 cannot be compared: the ledger is in EUR"
    assert found.totals["difference"].isna().tolist() == [False, True]
    named = one(
        {"currency": "USD"},
        {"document_number": number_id(0).upper(), "amount": pd.array([Decimal(92), Decimal(-92)], MONEY)},
    )
    assert named.counts == {"booked": 1}
    assert named.entries["differences"].tolist() == ["amount not compared: EUR 92.00 beside USD 100.00"]


@pytest.mark.parametrize(
    ("name", "why"), [("amount", "its amount is unknown here"), ("date", "its date is unknown here")]
)
def test_an_entry_without_a_value(name, why):
    """An entry whose amount or date the journal did not keep is not guessed at; the entry beside it is compared."""
    entries = exported(2)
    entries.loc[0, name] = None
    match = match_ledger(entries, ledger(plainly_booked(exported(2))))
    assert match.entries["status"].tolist() == ["not_comparable", "booked"]
    assert finding(match, "not_comparable")[2].endswith(f"cannot be compared: {why}")


def test_an_entry_id_decides():
    """A posting that names the entry answers for it, whatever differs, and for no other entry."""
    entries = exported(2).assign(account_code="5800", description="Bahn")
    postings = ledger(booking(1, entries.iloc[0].to_dict(), amount=50)).assign(text=f"Export {number_id(1)}")
    match = match_ledger(entries.assign(amount=pd.array([Decimal(50), Decimal(60)], MONEY)), postings)
    assert match.entries["status"].tolist() == ["missing", "another_amount"]
    assert match.entries["matched_by"].tolist()[1] == "entry ID"
    assert match.not_from_export == 0


def test_equal_entries_of_which_one_is_missing():
    """Two equal entries and one posting are ambiguous: no voucher is given to either, and one of them is missing."""
    entries = pd.concat([exported(2).head(1)] * 2, ignore_index=True).assign(entry_id=[number_id(0), number_id(1)])
    match = match_ledger(entries, ledger(booking(1, entries.iloc[0].to_dict())))
    assert match.counts == {"ambiguous": 2}
    assert "2 ambiguous" in match.headline
    assert match.entries["booked_voucher_id"].isna().all()
    assert match.postings["status"].tolist()[0] == "ambiguous"
    message = (
        'one of 2 equal entries, of which only 1 are booked: voucher A 1, document D1, "Bahn Köln", line 2;'
        " 1 of them is missing"
    )
    assert match.findings["message"].tolist() == [message] * 2
    told_apart = match_ledger(
        entries.assign(description=["Hotel", "Bahn Köln"]), ledger(booking(1, entries.iloc[0].to_dict()))
    )
    assert told_apart.entries["status"].tolist() == ["missing", "booked"]
    assert told_apart.entries["score"].tolist()[1] == 100


def test_sums_of_vouchers():
    """Net and tax, and two cost centres, are one booking of the entry; all postings answer for it."""
    entries = exported(2).head(1)
    row = entries.iloc[0].to_dict()
    for postings in (booking(1, row, tax="19.00"), [*booking(1, row, amount=60), *booking(1, row, amount=40)]):
        match = match_ledger(entries, ledger(postings))
        assert match.counts == {"booked": 1}
        assert match.entries["booked_amount"].tolist() == [Decimal("100.00")]
        answering = match.postings["entry_id"].notna()
        assert answering.sum() == 2
        assert match.postings.loc[answering, "amount"].sum() == Decimal("100.00")


def test_refunds():
    """A refund is found as a credit; booked as a cost it is another amount."""
    entries = exported(2).tail(1)
    row = entries.iloc[0].to_dict()
    assert match_ledger(entries, ledger(booking(1, row))).counts == {"booked": 1}
    wrong = match_ledger(entries, ledger(booking(1, row, amount=-row["amount"])))
    assert finding(wrong, "another_amount")[2].startswith("EUR 107.00 is booked instead of EUR -107.00 on 5810 Hotels")


def test_the_payment_of_a_missing_entry_is_no_booking():
    """A creditor's posting on the day with the amount answers for no entry, where vouchers show what creditors are."""
    entries = exported(4)
    postings = [
        posting for number, row in enumerate(entries.head(3).to_dict("records"), 1) for posting in booking(number, row)
    ]
    missing = entries.iloc[3].to_dict()
    postings += booking(9, missing | {"description": missing["description"]}, account="1600")
    assert match_ledger(entries, ledger(postings)).entries["status"].tolist() == ["booked"] * 3 + ["missing"]


def test_totals():
    """The totals of both sides and their difference are exact."""
    match = october_match()
    travel = match.totals[match.totals["account_code"] == "5800"].iloc[0]
    assert [travel[name] for name in ("account_name", "month", "exported", "ledger", "difference", "not_from_export")] == [
        "Travel", "2026-10", Decimal("526.00"), Decimal("529.00"), Decimal("3.00"), Decimal("5.00")
    ]  # fmt: skip


def test_every_open_account_is_shown():
    """Five differences open three accounts, which every view shows; tax on another account opens none."""
    match = october_match()
    opened = match.open_accounts[["account_code", "on_other_accounts", "not_from_export", "unexplained"]]
    assert opened.to_numpy().tolist() == [
        ["4930", Decimal("0.00"), Decimal("0.00"), Decimal("242.00")],
        ["5800", Decimal("12.00"), Decimal("5.00"), Decimal("10.00")],
        ["5810", Decimal("0.00"), Decimal("0.00"), Decimal("-235.00")],
    ]
    for view in (repr(match), match._repr_html_()):
        assert all(text in view for text in ("4930 Office", "5800 Travel", "5810 Hotels", "-235.00", "gross", "net"))
    entries = exported().head(11)
    with_tax = [
        line for number, row in enumerate(entries.to_dict("records")) for line in booking(number, row, tax="9.00")
    ]
    assert len(match_ledger(entries, ledger(with_tax)).open_accounts) == 0


def test_sums_splits_changes_and_doubt_are_in_every_view():
    """What is in a sum, split, changed since the export or in doubt is said in words and in the notebook."""
    entries = exported(4).assign(account_code="5800", split_line=[1, 2, 0, 0], date=pd.Timestamp("2026-10-05"))
    entries.loc[1, "entry_id"] = entries.loc[0, "entry_id"]
    entries["changed_since_export"] = [None, None, "amount 114.00 → 115.00", None]
    entries["state"] = ["ACCEPTED", "ACCEPTED", "UNKNOWN", "UNKNOWN"]
    row = entries.iloc[0].to_dict()
    match = match_ledger(entries, ledger(booking(1, row, amount=entries["amount"].sum())))
    for view in (repr(match), match._repr_html_()):
        for text in (
            "in a sum: 4 entries by sum of account and day",
            "split: 1 entry with 2 lines",
            "changed since export: 2026-10-05, Papier A4: amount 114.00 → 115.00",
            "outcome unknown: batch batch1 with 2 entries",
        ):
            assert text in view, text


def test_an_entry_in_doubt_is_not_booked_by_hand():
    """A missing entry of a batch in doubt is settled first; one that was accepted is booked by hand: it is not sent again."""
    match = match_ledger(exported(2).assign(state=["UNKNOWN", "ACCEPTED"]), ledger(plainly_booked(exported(2)))[:0])
    assert set(match.findings["check"]) == {"missing"}
    later = ledger(booking(9, exported(2).iloc[0].to_dict(), amount=5, date="2026-12-01"))
    to_do = match_ledger(exported(2).assign(state=["UNKNOWN", "ACCEPTED"]), later).findings["to_do"].tolist()
    assert sorted("settle the batch" in text for text in to_do) == [False, True]
    assert "by hand: it counts as exported, and is not sent again" in " ".join(to_do)


def test_every_tool():
    """pandas, Arrow, Polars, DuckDB and Parquet give the same result, and no frame is changed."""
    entries = exported()
    postings = ledger(october(entries)[0])
    before = entries.copy()
    expected = match_ledger(entries, postings)
    table, lines = pa.Table.from_pandas(entries), pa.Table.from_pandas(postings)
    for given in (
        (table, lines),
        (pl.from_arrow(table), pl.from_arrow(lines).lazy()),
        (duckdb.from_arrow(table), duckdb.from_arrow(lines)),
    ):
        match = match_ledger(*given)
        pd.testing.assert_frame_equal(match.entries, expected.entries, check_dtype=False)
        pd.testing.assert_frame_equal(match.findings, expected.findings, check_dtype=False)
    pd.testing.assert_frame_equal(entries, before)


def test_parquet(tmp_path):
    """Paths of Parquet files are read."""
    entries = exported()
    entries.to_parquet(tmp_path / "entries.parquet")
    ledger(plainly_booked(entries)).to_parquet(tmp_path / "ledger.parquet")
    assert match_ledger(tmp_path / "entries.parquet", str(tmp_path / "ledger.parquet")).has_arrived


def test_missing_columns_are_named():
    """What a frame lacks is not compared, and said; an entry is still found by what is left."""
    entries = exported(2).drop(columns=["date", "description", "currency"])
    match = match_ledger(entries, ledger(plainly_booked(exported(2))).drop(columns=["text", "voucher_id"]))
    assert match.counts == {"booked": 2}
    assert match.unchecked == (
        "dates: the exported entries have no date",
        "currencies: the exported entries have no currency",
        "texts: the exported entries have no description and no supplier",
        "texts: the ledger has no text",
        "net and tax in several postings: the ledger has no voucher_id",
    )
    assert "not compared: dates: the exported entries have no date" in repr(match)


def test_what_was_not_sent_is_left_out():
    """Entries of released and planned batches are not expected in the ledger."""
    match = match_ledger(exported(2).assign(state=["RELEASED", "UNKNOWN"]), ledger(plainly_booked(exported(2))))
    assert match.entries["entry_id"].tolist() == [number_id(1)]
    assert match.unchecked == ("1 entries of batches that were not sent (RELEASED)",)


@pytest.mark.parametrize("empty", ["exported", "ledger"])
def test_empty_frames(empty):
    """Without entries nothing is missing; without postings everything is."""
    entries, postings = exported(2), ledger(plainly_booked(exported(2)))
    match = match_ledger(
        entries[:0] if empty == "exported" else entries, postings[:0] if empty == "ledger" else postings
    )
    assert match.counts == ({} if empty == "exported" else {"missing": 2})
    assert match.has_arrived == (empty == "exported")
    assert "exported entries" in repr(match)


BAD = {
    "no id": (lambda e, p: (e.drop(columns="entry_id"), p), "exported: needs the column entry_id"),
    "no account": (lambda e, p: (e, p.drop(columns="account_code")), "ledger: needs the column account_code"),
    "amounts as text": (
        lambda e, p: (e, p.assign(amount="1.5")),
        "ledger: column amount must be an exact number, is text: make it numbers",
    ),
    "lost zeros": (
        lambda e, p: (e, p.assign(account_code=5800)),
        "must be text, is int64 .a number has lost its leading zeros",
    ),
    "dates as text": (lambda e, p: (e.assign(date="3.10.2026"), p), "exported: column date must be a date"),
    "twice": (
        lambda e, p: (pd.concat([e, e]), p),
        f"has 2 entries more than once, such as {number_id(0)}: give each entry once",
    ),
    "gaps": (lambda e, p: (e, p.assign(date=pd.NaT)), "column date is empty in 4 rows: fill it"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_frames(case):
    """A frame that cannot be matched is refused with its name, the column and the rule."""
    change, text = BAD[case]
    with pytest.raises(InputError, match=text):
        match_ledger(*change(exported(2), ledger(plainly_booked(exported(2)))))


def test_bad_arguments():
    """Days out of range, entries of two companies, and no frame at all are named."""
    entries, postings = exported(2), ledger(plainly_booked(exported(2)))
    with pytest.raises(ArgumentError, match="days must be at least 0"):
        match_ledger(entries, postings, days=-1)
    with pytest.raises(ArgumentError, match="exported holds 2 companies and a ledger is of one"):
        match_ledger(entries.assign(company_id=["a", "b"]), postings)
    with pytest.raises(ArgumentError, match="ledger must be a frame"):
        match_ledger(entries, None)


def test_hostile_texts_are_text():
    """HTML, formulas, format braces, terminal escapes and direction marks of names and postings are shown as text."""
    hostile = "<script>alert(1)</script> {money} %s \x1b[31m\u202e=1+1"
    entries = exported().assign(description=hostile, account_name=hostile)
    match = match_ledger(entries, ledger(october(exported())[0]).assign(text=hostile, voucher_id=hostile))
    assert len(match.findings) > 0
    assert "<script>" not in match._repr_html_()
    shown = repr(match) + match._repr_html_()
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "{money}" in shown


def test_files(tmp_path):
    """Every table is written, and what looks like a formula is text."""
    match = match_ledger(exported().assign(description="=1+1"), ledger(plainly_booked(exported())))
    paths = match.to_csv(tmp_path / "proof")
    assert [path.name for path in paths] == [
        f"ledger_{name}.csv" for name in ("entries", "findings", "totals", "postings")
    ]
    assert "'=1+1" in paths[0].read_text(encoding="utf-8-sig")
    with pytest.raises(ArgumentError, match="profile must be one of"):
        match.to_csv(tmp_path, "word")


def test_a_match_can_be_kept():
    """A pickled match has all its tables."""
    match = october_match()
    kept = pickle.loads(pickle.dumps(match))
    assert isinstance(kept, LedgerMatch)
    pd.testing.assert_frame_equal(kept.totals, match.totals)
    pd.testing.assert_frame_equal(kept.postings, match.postings)


def test_a_match_is_matched_again():
    """Entries and postings that have a match's own columns, such as a status of their file, are matched like others."""
    entries = exported()
    books = ledger(october(entries)[0])
    first = match_ledger(entries, books)
    again = match_ledger(first.entries.assign(status="approved", severity="none"), books)
    pd.testing.assert_frame_equal(again.entries, first.entries)
    pd.testing.assert_frame_equal(again.findings, first.findings)
    postings = match_ledger(entries, books.assign(status="open", entry_id="of the books")).postings
    pd.testing.assert_frame_equal(postings[first.postings.columns], first.postings)


def test_names_come_first():
    """A person reads date, money, text and account first; identifiers are last."""
    columns = list(october_match().entries.columns)
    assert columns[:6] == ["date", "amount", "currency", "description", "account_code", "account_name"]
    assert columns[-2:] == ["entry_id", "batch_id"]


def test_many_rows_keep_their_order():
    """With more rows than one thread takes at once, each status is that of its own entry."""
    count = 150_000
    numbers = pa.array(range(count), pa.int64())
    ids = pa.array([number_id(number) for number in range(count)])
    table = pa.table({"entry_id": ids, "account_code": pa.array(["5800"] * count), "amount": numbers})
    postings = table.drop_columns(["entry_id"]).append_column("date", pa.array([0] * count, pa.date32()))
    match = match_ledger(table, postings.filter([number % 10 != 3 for number in range(count)]))
    is_missing = (match.entries["status"] == "missing").to_numpy()
    assert (is_missing == [number % 10 == 3 for number in range(count)]).all()
