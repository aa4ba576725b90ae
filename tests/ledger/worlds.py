"""A month that was exported, and the ledger that an accounting system would have of it."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pandas as pd
import pyarrow as pa

MONEY = pd.ArrowDtype(pa.decimal128(38, 2))
ACCOUNTS = {"5800": "Travel", "5810": "Hotels", "4930": "Office", "1576": "Input tax", "1600": "Creditors"}
TAX, CREDITORS = "1576", "1600"
TEXTS = (
    *("Bahn Köln", "Hotel Berlin", "Papier A4", "Taxi Hamburg", "Flug Wien", "Drucker Toner", "Parken Bonn"),
    *("Messe Essen", "Bücher", "Kaffee Filter", "Mietwagen Ulm", "Software Lizenz"),
)


def number_id(number):
    return f"{number:08x}-0000-4000-8000-000000000000"


def exported(count=12):
    """Return entries with an amount of their own each, the last a refund, in two batches.

    With 30, five errors leave most of them booked.
    """
    rows = [
        {
            "entry_id": number_id(number),
            "batch_id": f"batch{number * 2 // count}",
            "state": "ACCEPTED",
            "sent_at": pd.Timestamp("2026-10-31T18:00:00Z"),
            "date": pd.Timestamp(2026, 10, 3 + number % 26),
            "amount": Decimal(100 + 7 * number) * (-1 if number == count - 1 else 1),
            "currency": "EUR",
            "account_code": ("5800", "5810", "4930")[number % 3],
            "description": TEXTS[number % len(TEXTS)],
        }
        for number in range(count)
    ]
    frame = pd.DataFrame(rows)
    frame["account_name"] = frame["account_code"].map(ACCOUNTS)
    frame["amount"] = pd.array([row["amount"] for row in rows], dtype=MONEY)
    return frame


def booking(number, row, *, amount=None, account=None, date=None, tax=None):
    """Return the postings of a voucher: the cost, its tax if there is any, and the creditor."""
    amount = row["amount"] if amount is None else Decimal(amount)
    shared = {
        "voucher_id": f"A {number}",
        "date": pd.Timestamp(date or row["date"]),
        "text": row["description"],
        "document_number": f"D{number}",
    }
    lines = [(account or row["account_code"], amount - Decimal(tax or 0)), (CREDITORS, -amount)]
    lines += [(TAX, Decimal(tax))] if tax else []
    return [shared | {"account_code": code, "amount": value} for code, value in lines]


def ledger(postings):
    """Return postings as `read_general_ledger` does."""
    frame = pd.DataFrame(postings)
    frame["amount"] = pd.array([Decimal(row["amount"]) for row in postings], dtype=MONEY)
    frame["line"] = range(2, len(frame) + 2)
    return frame.assign(currency="EUR", account_name=frame["account_code"].map(ACCOUNTS))


def plainly_booked(entries):
    """Return the postings of a ledger in which every entry is booked once."""
    return [
        posting
        for number, row in enumerate(entries.to_dict("records"), 1)
        for posting in booking(number, row)
    ]


LAST = dt.date(2026, 11, 5)


def october(entries):
    """Return a ledger with each kind of difference, and what it does to each entry, by its number from 0."""
    rows = entries.to_dict("records")
    postings = []
    for number, row in enumerate(rows):
        if number == 1:
            continue
        changed = {
            3: {"amount": row["amount"] + 10},
            4: {"account": "4930" if row["account_code"] != "4930" else "5800"},
            5: {"date": row["date"] + pd.Timedelta(days=2)},
            6: {"tax": "22.67"},
        }.get(number, {})
        postings += booking(number + 1, row, **changed)
        if number == 2:
            postings += booking(90, row)
    # By hand, and so late that the ledger covers what was sent.
    postings += booking(
        91,
        {
            "amount": Decimal(5),
            "account_code": "5800",
            "date": pd.Timestamp(2026, 10, 29),
            "description": "Porto",
        },
    )
    postings += booking(
        92, {"amount": Decimal(6), "account_code": "1200", "date": pd.Timestamp(LAST), "description": "Bank"}
    )
    planted = {1: "missing", 2: "booked_twice", 3: "another_amount", 4: "another_account", 5: "booked"}
    return postings, planted
