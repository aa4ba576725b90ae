"""What a match says: the messages with their values, the tables, and what people see of it."""

from __future__ import annotations

import functools
import json
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
from bktools.wording import words

ENGLISH = words("en")


@functools.cache
def october_match():
    entries = exported()
    return match_ledger(entries, ledger(october(entries)[0]))


def finding(match, reason):
    return match.findings.set_index("reason").loc[reason]


# By reason: severity, who acts, what is found of, and what its sentence names.
FINDINGS = {
    "missing": [
        "error",
        "administrator of the service",
        "2026-10-04, Hotel Berlin, EUR 107.00",
        ("EUR 107.00", "5810 Hotels"),
    ],
    "booked_twice": [
        "error",
        "accounting (ERP)",
        "2026-10-05, Papier A4, EUR 114.00",
        ("4930 Office", "voucher A 3", "voucher A 90"),
    ],
    "another_amount": [
        "error",
        "accounting (ERP)",
        "2026-10-06, Taxi Hamburg, EUR 121.00",
        ("EUR 131.00", "EUR 121.00", "10.00", "voucher A 4"),
    ],
    "another_account": [
        "warning",
        "accounting (ERP)",
        "2026-10-07, Flug Wien, EUR 128.00",
        ("4930 Office", "5810 Hotels", "A 5"),
    ],
    "another_date": [
        "info",
        "accounting (ERP)",
        "2026-10-08, Drucker Toner, EUR 135.00",
        ("2026-10-10", "2026-10-08", "A 6"),
    ],
}


def test_findings():
    """Each finding says what it is about and who acts, and names the values of both sides."""
    match = october_match()
    assert set(match.findings["reason"]) == set(FINDINGS)
    for reason, (severity, who, about, named) in FINDINGS.items():
        row = finding(match, reason)
        assert [row["severity"], ENGLISH.name("role", row["who"]), row["about"]] == [severity, who, about]
        assert [part for part in named if part not in row["message"]] == [], row["message"]
    assert "book the entry in the ERP by hand" in finding(match, "missing")["to_do"]


def test_facts():
    """Facts are codes, exact amounts and days, for programs; they stand last."""
    match = october_match()
    facts = json.loads(finding(match, "another_amount")["facts"])
    expected = {
        "amount": "121.00",
        "booked_amount": "131.00",
        "difference": "10.00",
        "booked_account": "5800 Travel",
    }
    assert facts.items() >= expected.items()
    assert match.findings.columns[-1] == "facts"


def test_another_language():
    """The same match in German has the same codes and facts."""
    entries = exported()
    german = match_ledger(entries, ledger(october(entries)[0]), language="de")
    english = october_match()
    assert (
        german.findings["facts"].map(lambda facts: facts[:20]).tolist()
        == english.findings["facts"].map(lambda facts: facts[:20]).tolist()
    )
    assert "steht nicht im Hauptbuch" in finding(german, "missing")["message"]
    assert german.headline.startswith("Hauptbuch")


def one(entry=None, posting=None, **options):
    """Match one entry and the postings of one voucher, changed."""
    entries = exported(2).head(1).assign(**(entry or {}))
    postings = ledger(booking(1, exported(2).iloc[0].to_dict())).assign(**(posting or {}))
    return match_ledger(entries, postings, **options)


def test_another_month():
    """A posting in another month is a warning; the same days apart within a month are an info."""
    entry = {"date": pd.Timestamp("2026-10-30")}
    assert finding(one(entry, {"date": pd.Timestamp("2026-11-02")}), "another_month")["severity"] == "warning"
    assert (
        finding(
            one({"date": pd.Timestamp("2026-10-05")}, {"date": pd.Timestamp("2026-10-08")}), "another_date"
        )["severity"]
        == "info"
    )


def test_a_ledger_that_ends_early():
    """Entries after the last posting are not missing: the ledger is exported again first."""
    entries = exported(8)
    match = match_ledger(entries, ledger(plainly_booked(entries.head(7))))
    assert match.entries["status"].tolist() == ["booked"] * 7 + ["not_decided"]
    assert finding(match, "not_covered")["severity"] == "warning"


def test_another_currency():
    """An amount in a currency of no posting is not compared, unless a posting names the entry."""
    found = one({"currency": "USD"})
    assert found.counts == {"not_decided": 1}
    assert set(found.findings["reason"]) == {"other_currency"}
    assert found.totals["difference"].isna().tolist() == [False, True]
    named = one(
        {"currency": "USD"},
        {"document_number": number_id(0).upper(), "amount": pd.array([Decimal(92), Decimal(-92)], MONEY)},
    )
    assert named.counts == {"booked": 1}


@pytest.mark.parametrize("name", ["amount", "date"])
def test_an_entry_without_a_value(name):
    """An entry without its amount or date is not guessed; the entry beside it is compared."""
    entries = exported(2)
    entries.loc[0, name] = None
    match = match_ledger(entries, ledger(plainly_booked(exported(2))))
    assert match.entries["status"].tolist() == ["not_comparable", "booked"]
    assert set(match.findings["reason"]) == {"value_unknown"}


def test_an_entry_id_decides():
    """A posting that names an entry answers only for it, whatever differs; its tax line for none."""
    entries = exported(2).assign(account_code="5800", description="Bahn")
    entries["amount"] = pd.array([Decimal(50), Decimal(60)], MONEY)
    named = {"description": f"Export {number_id(1)}"}
    postings = ledger(booking(1, entries.iloc[0].to_dict() | named, amount=50, tax="8.00"))
    match = match_ledger(entries, postings)
    assert match.entries["status"].tolist()[1] == "another_amount"
    assert match.entries["status"].tolist()[0] in ("missing", "not_decided")
    assert match.entries["matched_by"].tolist()[1] == "entry_id"
    assert match.entries["booked_account_code"].tolist()[1] == "5800"
    assert match.not_from_export == 0


def test_equal_entries_of_which_one_is_missing():
    """Of two equal entries and one posting nothing is decided, until a text tells them apart."""
    entries = pd.concat([exported(2).head(1)] * 2, ignore_index=True).assign(
        entry_id=[number_id(20), number_id(21)]
    )
    others = exported(9).tail(8)
    both, books = (
        pd.concat([entries, others]),
        ledger([*booking(30, entries.iloc[0].to_dict()), *plainly_booked(others)]),
    )
    match = match_ledger(both, books)
    assert match.entries["status"].tolist() == ["not_decided"] * 2 + ["booked"] * 8
    told_apart = match_ledger(both.assign(description=["Hotel", *both["description"].iloc[1:]]), books)
    assert told_apart.entries["status"].tolist()[1] == "booked"
    assert told_apart.entries["status"].tolist()[0] in ("missing", "not_decided")


def test_sums_of_vouchers():
    """Net and tax, and two cost centres, are one booking of the entry; all postings answer for it."""
    entries = exported(2).head(1)
    row = entries.iloc[0].to_dict()
    for postings in (
        booking(1, row, tax="19.00"),
        [*booking(1, row, amount=60), *booking(1, row, amount=40)],
    ):
        match = match_ledger(entries, ledger(postings))
        assert match.counts == {"booked": 1}
        assert match.entries["booked_amount"].tolist() == [Decimal("100.00")]
        answering = match.postings["entry_id"].notna()
        assert answering.sum() == 2
        assert match.postings.loc[answering, "amount"].sum() == Decimal("100.00")


def test_refunds():
    """A refund is found as a credit; booked as a cost it is not."""
    entries = exported(12)
    assert match_ledger(entries, ledger(plainly_booked(entries))).counts == {"booked": 12}
    wrong = plainly_booked(entries.head(11)) + booking(
        12, entries.iloc[11].to_dict(), amount=-entries["amount"].iloc[11]
    )
    assert match_ledger(entries, ledger(wrong)).entries["status"].tolist()[-1] not in ("booked", "missing")


def test_the_payment_of_a_missing_entry_is_no_booking():
    """A creditor's posting with the amount answers for no entry, where vouchers show creditors."""
    entries = exported(12)
    missing = entries.iloc[10].to_dict()
    postings = plainly_booked(entries.drop(index=10)) + booking(99, missing, account="1600")
    assert match_ledger(entries, ledger(postings)).entries["status"].tolist() == ["booked"] * 10 + [
        "missing",
        "booked",
    ]


def test_cost_centres():
    """Where both sides have a cost centre, another one is an info beside an entry that is booked."""
    entries = exported(3).assign(cost_centre=["100", "200", None])
    postings = ledger(plainly_booked(exported(3)))
    postings["cost_centre"] = ["100", None, "300", None, "100", None]
    match = match_ledger(entries, postings)
    assert match.counts == {"booked": 3}
    assert match.findings[["reason", "severity", "description"]].to_numpy().tolist() == [
        ["another_cost_centre", "info", "Hotel Berlin"]
    ]


def test_another_style_and_sign_can_be_said():
    """Where the ledger does not show how it books, a person says it; an unknown style is refused."""
    entries = exported(4)
    turned = ledger(plainly_booked(entries)).assign(amount=lambda frame: -frame["amount"])
    assert match_ledger(entries, turned).habits["sign"] == -1
    assert match_ledger(entries, turned, reverse_sign=True).counts == {"booked": 4}
    assert match_ledger(entries, turned, reverse_sign=False).counts != {"booked": 4}
    assert match_ledger(entries, turned, style="month").habits["style"] == "month"
    with pytest.raises(ArgumentError, match="style must be one of entry,"):
        match_ledger(entries, turned, style="week")


def test_what_a_person_looked_up_holds_no_entry():
    """A voucher that may hold an entry leaves it undecided, until a person says that it does not."""
    entries = exported(12).assign(description="Import")
    postings = plainly_booked(entries.drop(index=4))
    strange = entries.iloc[4].to_dict() | {"amount": Decimal(900), "description": "Import"}
    books = ledger([*postings, *booking(77, strange)])
    assert match_ledger(entries, books).entries["status"].tolist()[4] == "not_decided"
    assert match_ledger(entries, books, explained=["A 77"]).entries["status"].tolist()[4] == "missing"
    with pytest.raises(ArgumentError, match="explained must name a voucher or a document"):
        match_ledger(entries, books, explained=["A 78"])


def test_totals():
    """The totals of both sides and their difference are exact."""
    match = october_match()
    travel = match.totals[match.totals["account_code"] == "5800"].iloc[0]
    assert [
        travel[name]
        for name in ("account_name", "month", "exported", "ledger", "difference", "not_from_export")
    ] == ["Travel", "2026-10", 526.0, 518.33, -7.67, 5.0]


def test_every_open_account_is_shown():
    """Five differences open three accounts, which every view shows; tax on another account opens none."""
    match = october_match()
    opened = match.open_accounts[["account_code", "on_other_accounts", "not_from_export", "unexplained"]]
    assert opened.to_numpy().tolist() == [
        ["4930", 0.0, 0.0, 242.0],
        ["5800", 22.67, 5.0, 10.0],
        ["5810", 0.0, 0.0, -235.0],
    ]
    for view in (repr(match), match._repr_html_()):
        assert all(
            text in view for text in ("4930 Office", "5800 Travel", "5810 Hotels", "-235.00", "gross", "net")
        )
    entries = exported().head(11)
    with_tax = [
        line
        for number, row in enumerate(entries.to_dict("records"))
        for line in booking(number, row, tax="9.00")
    ]
    assert len(match_ledger(entries, ledger(with_tax)).open_accounts) == 0


def test_sums_splits_changes_and_doubt_are_in_every_view():
    """What is in a sum, split, changed since the export or in doubt is said in words and in the notebook."""
    entries = exported(4).assign(
        account_code="5800", split_line=[1, 2, 0, 0], date=pd.Timestamp("2026-10-05")
    )
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
    """A missing entry of a batch in doubt is settled first; an accepted one is booked by hand."""
    entries = exported(12)
    entries.loc[3, "state"] = "UNKNOWN"
    match = match_ledger(entries, ledger(plainly_booked(entries.drop(index=[3, 6]))))
    assert set(match.findings["check"]) == {"missing"}
    assert set(match.findings["reason"]) == {"missing", "missing_in_doubt"}
    assert "by hand" not in finding(match, "missing_in_doubt")["to_do"]


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
    match = match_ledger(
        exported(2).assign(state=["RELEASED", "UNKNOWN"]), ledger(plainly_booked(exported(2)))
    )
    assert match.entries["entry_id"].tolist() == [number_id(1)]
    assert match.unchecked == ("1 entries of batches that were not sent (RELEASED)",)


@pytest.mark.parametrize("empty", ["exported", "ledger"])
def test_empty_frames(empty):
    """Without entries nothing is missing; without postings nothing is decided: it may be another ledger."""
    entries, postings = exported(2), ledger(plainly_booked(exported(2)))
    match = match_ledger(
        entries[:0] if empty == "exported" else entries, postings[:0] if empty == "ledger" else postings
    )
    assert match.counts == ({} if empty == "exported" else {"not_decided": 2})
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
    """Entries of two companies, and no frame at all are named."""
    entries, postings = exported(2), ledger(plainly_booked(exported(2)))
    with pytest.raises(ArgumentError, match="exported holds 2 companies and a ledger is of one"):
        match_ledger(entries.assign(company_id=["a", "b"]), postings)
    with pytest.raises(ArgumentError, match="ledger must be a frame"):
        match_ledger(entries, None)


def test_hostile_texts_are_text():
    """HTML, formulas, braces, terminal escapes and direction marks are shown as text."""
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
    """Entries and postings with a match's own columns, such as a file's status, match like others."""
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
