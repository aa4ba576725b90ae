"""Ledgers in which an accounting system books sums: read from real files, with planted differences."""

from __future__ import annotations

import datetime as dt
import os
from collections import defaultdict
from decimal import Decimal

import pandas as pd
import pytest
from worlds import CREDITORS, MONEY, as_datev, as_sie, number_id

from bktools import match_ledger, read_general_ledger

ENTRIES = int(os.environ.get("BKTOOLS_TEST_ENTRIES", "1200"))
FIRST = dt.date(2026, 1, 1)
FILES = {"ledger.se": as_sie, "EXTF_ledger.csv": as_datev}
COSTS = [str(4_900 + number) for number in range(10)]
# By way of booking: the columns with one posting, the entries in each, and what the match says of it.
WAYS = {
    "voucher": (["document_number", "account_code"], 4, "document"),
    "day": (["date", "account_code"], 12, "account_day"),
    "account": (["batch_id", "account_code"], 20, "batch"),
    "month": (["month", "account_code"], 85, "month"),
}
KINDS = ("missing", "another_amount", "booked_twice")


def entries_of(count, way):
    """Return entries in groups of the way, whose amounts have no pattern, so that no sum is one by chance."""
    rows = []
    for number in range(count):
        group, place = divmod(number, WAYS[way][1])
        account, period = COSTS[group % 10], group // 10
        day = {
            # Several documents of an account and a day, and several days of a batch.
            "voucher": FIRST + dt.timedelta(period // 3),
            "day": FIRST + dt.timedelta(period),
            "account": FIRST + dt.timedelta(4 * period + place % 5),
            "month": dt.date(2026, period % 12 + 1, place % 28 + 1),
        }[way]
        rows.append(
            {
                "entry_id": number_id(number),
                "batch_id": f"batch{period}" if way == "account" else None,
                "document_number": f"R-{group:05}" if way == "voucher" else None,
                "account_code": account,
                "date": pd.Timestamp(day),
                "month": day.month,
                "amount": Decimal(10_007 + number * 7_919 % 900_001) / 100,
                "currency": "EUR",
            }
        )
    return pd.DataFrame(rows).assign(amount=pd.array([row["amount"] for row in rows], dtype=MONEY))


def booked(entries, way, differences):
    """Return the postings of the sums, with planted differences, and the status of each entry."""
    groups = defaultdict(list)
    for row in entries.to_dict("records"):
        groups[tuple(row[column] for column in WAYS[way][0])].append(row)
    step = max(1, len(groups) // differences)
    postings, statuses = [], {}
    for number, members in enumerate(groups.values()):
        kind = (
            KINDS[number // step % 3] if number % step == 0 and number // step < differences else "in_a_sum"
        )
        statuses |= {row["entry_id"]: kind for row in members}
        if kind == "missing":
            continue
        total = sum(row["amount"] for row in members) + (Decimal("0.01") if kind == "another_amount" else 0)
        for copy in range(2 if kind == "booked_twice" else 1):
            document = members[0]["document_number"]
            shared = {
                "voucher_id": f"A {2 * number + copy}",
                "date": max(row["date"] for row in members),
                # SIE has no document numbers but in texts.
                "text": f"Import {document}" if document else "Import",
                "document_number": document or f"S{number}",
            }
            account = members[0]["account_code"]
            postings += [shared | {"account_code": account, "amount": total}]
            postings += [shared | {"account_code": CREDITORS, "amount": -total}]
    return postings, statuses


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", FILES)
def test_planted_differences_of_sums_are_found_and_nothing_else(name, way, tmp_path):
    """Sums by voucher, day, account and month are found; missing, changed and doubled ones are told."""
    entries = entries_of(ENTRIES, way)
    postings, statuses = booked(entries, way, ENTRIES // 200)
    (tmp_path / name).write_bytes(FILES[name](postings))
    ledger = read_general_ledger(tmp_path / name)
    match = match_ledger(entries.drop(columns="month"), ledger)
    found = dict(zip(match.entries["entry_id"], match.entries["status"], strict=True))
    # A sum that is missing or a cent off is named and not explained; one that is there twice is said.
    right = {"missing": {"missing", "not_decided"}, "another_amount": {"not_decided"}}
    wrong = {
        entry: (kind, found[entry])
        for entry, kind in statuses.items()
        if found[entry] not in right.get(kind, {kind})
    }
    assert wrong == {}
    assert match.habits["style"] == WAYS[way][2]
    assert "differs by 0.01" in " ".join(match.findings["message"]) or way in ("account", "voucher")


@pytest.mark.parametrize(
    ("column", "by"), [("batch_id", "sum_by_batch"), ("document_number", "sum_by_document")]
)
def test_gross_entries_of_several_accounts_in_one_voucher_with_their_tax_are_one_sum(column, by):
    """The cost side of a voucher, with the tax on no entry's account, is the batch's total."""
    entries = pd.DataFrame(
        {"entry_id": ["a", "b"], "account_code": COSTS[:2], "amount": [119, 238], column: "R-00001"}
    )
    entries["date"] = pd.to_datetime(["2026-10-03", "2026-10-05"])
    postings = pd.DataFrame({"account_code": [*COSTS[:2], "1570", CREDITORS], "amount": [100, 200, 57, -357]})
    postings = postings.assign(date=pd.Timestamp("2026-10-07"), voucher_id="A 1", document_number="R-00001")
    match = match_ledger(entries, postings)
    assert match.entries["matched_by"].tolist() == [by] * 2
    assert match.entries["status"].tolist() == ["in_a_sum"] * 2
    assert match.totals["unexplained"].sum() == 0


def test_what_is_booked_alone_and_in_sums_has_arrived():
    """Both together are the proof of a month; a single entry that is missing is none."""
    entries = pd.DataFrame(
        {"entry_id": ["a", "b", "c"], "account_code": [*COSTS[:2], "6900"], "amount": [119, 238, 50]}
    )
    entries["document_number"] = ["R-00001", "R-00001", "R-00002"]
    entries["date"] = pd.to_datetime(["2026-10-03", "2026-10-05", "2026-10-07"])
    postings = pd.DataFrame(
        {"account_code": [*COSTS[:2], "1570", CREDITORS, "6900"], "amount": [100, 200, 57, -357, 50]}
    )
    postings = postings.assign(date=pd.Timestamp("2026-10-07"), voucher_id=["A 1"] * 4 + ["A 2"])
    postings["document_number"] = ["R-00001"] * 4 + ["R-00002"]
    match = match_ledger(entries, postings)
    assert match.entries["status"].tolist() == ["in_a_sum", "in_a_sum", "booked"]
    assert match.has_arrived
    assert not match_ledger(entries, postings.iloc[:4]).has_arrived


def test_the_evidence_names_the_posting_of_the_sum():
    """An entry in a sum has sum, voucher and method; the entries of a missing sum are not booked."""
    entries = entries_of(24, "day")
    postings, _ = booked(entries, "day", 1)
    ledger = pd.DataFrame([row for row in postings if row["account_code"] != CREDITORS])
    ledger["amount"] = pd.array(ledger["amount"], dtype=MONEY)
    match = match_ledger(entries.drop(columns="month"), ledger.assign(currency="EUR"))
    row = match.entries[match.entries["status"] == "in_a_sum"].iloc[0]
    assert row["booked_amount"] == float(entries["amount"].iloc[12:].sum())
    assert row["booked_voucher_id"] == "A 2"
    assert row["matched_by"] == "sum_by_account_day"
    assert match.counts["in_a_sum"] == 12
