"""What a verification remembers of a ledger, and what moved since: postings and sums by account."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import pandas as pd


def remembered(ledger: pd.DataFrame, month: str) -> list[dict[str, Any]]:
    """Return number and exact sum of a month's postings by account: account, postings, amount (text)."""
    rows = ledger[ledger["date"].dt.strftime("%Y-%m") == month]
    exact = rows["amount"].map(lambda amount: Decimal() if pd.isna(amount) else Decimal(str(amount)))
    accounts = exact.astype("object").groupby(rows["account_code"].astype(str))
    return [
        {"account": name, "postings": len(own), "amount": str(sum(own, Decimal()))} for name, own in accounts
    ]


def moved(before: Iterable[Mapping[str, Any]], now: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return how many postings and how much more each account has than in an earlier ledger."""
    old, new = ({row["account"]: row for row in rows} for rows in (before, now))
    nothing = {"postings": 0, "amount": "0"}
    both = [(account, old.get(account, nothing), new.get(account, nothing)) for account in sorted(old | new)]
    return [
        {
            "account": account,
            "postings": has["postings"] - was["postings"],
            "amount": Decimal(has["amount"]) - Decimal(was["amount"]),
        }
        for account, was, has in both
        if has["postings"] != was["postings"] or Decimal(has["amount"]) != Decimal(was["amount"])
    ]
