"""What a verification remembers of a ledger, and what moved since: postings and sums by account."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pandas as pd


@dataclass(frozen=True)
class Moved:
    """What moved on an account between two ledgers of one month.

    Parameters
    ----------
    account : str
        Its code.
    postings : int
        How many more postings it has; fewer are negative.
    amount : Decimal
        How much more they sum up to.
    """

    account: str
    postings: int
    amount: Decimal


def remembered(ledger: pd.DataFrame, month: str) -> list[dict[str, Any]]:
    """Return number and exact sum of a month's postings by account: account, postings, amount (text)."""
    dates = pd.to_datetime(ledger["date"])
    rows = ledger[dates.dt.strftime("%Y-%m") == month]
    sums: dict[str, list[Any]] = {}
    for account, amount in zip(rows["account_code"], rows["amount"], strict=True):
        own = sums.setdefault(str(account), [0, Decimal()])
        own[0] += 1
        own[1] += Decimal() if pd.isna(amount) else Decimal(str(amount))
    return [
        {"account": name, "postings": count, "amount": str(total)}
        for name, (count, total) in sorted(sums.items())
    ]


def moved(before: Iterable[Mapping[str, Any]], now: Iterable[Mapping[str, Any]]) -> list[Moved]:
    """Return what moved between two ledgers, as `remembered` returns them, by account."""
    old, new = ({row["account"]: row for row in rows} for rows in (before, now))
    nothing = {"postings": 0, "amount": "0"}
    changes = []
    for account in sorted({*old, *new}):
        was, has = old.get(account, nothing), new.get(account, nothing)
        change = Moved(
            account, has["postings"] - was["postings"], Decimal(has["amount"]) - Decimal(was["amount"])
        )
        if change.postings or change.amount:
            changes.append(change)
    return changes
