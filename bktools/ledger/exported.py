"""What a verification reads beside the verdict: the entries' file, the ledger's months, and what moved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from bktools.frames.facts import compared
from bktools.frames.schema import COMPARED, ENTRY_DATA, to_pandas
from bktools.frames.tables import in_memory, split_lines, tables_in_one_scale, with_column
from bktools.ledger.booking_units import covered_by
from bktools.ledger.findings import day_of
from bktools.wording import Words, numbers

# The columns of the file beside those of the journal.
OF_FILE = "_of_file"


def months_of(postings: pd.DataFrame) -> tuple[str, str] | None:
    """Return the first and the last month that a ledger shows, None without postings.

    A few vouchers that are dated back into the month before show nothing of that month.
    """
    days = postings["date"].dropna().to_numpy().astype("M8[D]").astype(np.int64)
    if not len(days):
        return None
    first, last = (f"{day_of(day):%Y-%m}" for day in covered_by(days, None))
    return first, last


def of_other_months(
    exported: pd.DataFrame, postings: pd.DataFrame, month: str | None, words: Words
) -> tuple[str, ...]:
    """Return a sentence for each month that is not shown, or for the entries that have no month."""
    months: pd.Series = exported["period"].fillna(exported["date"].dt.strftime("%Y-%m"))
    if month is not None:
        unknown = int(months.isna().sum())
        return (words("match.no_month", count=unknown),) if unknown else ()
    span = months_of(postings)
    others = (months.dropna() if span is None else months[~months.between(*span)].dropna()).value_counts()
    named = None
    if span is not None:
        first, last = (numbers.month(one, words.language) for one in span)
        named = first if first == last else words("report.picture.to", first=span[0], last=span[1])
    return tuple(
        words("match.other_month", count=int(count), month=other, span=named)
        for other, count in others.sort_index().items()
    )


def with_file(exported: pd.DataFrame, entries: Any) -> tuple[pd.DataFrame, set[str]]:
    """Return exported entries beside their file, by ID and line, and the IDs of those that changed since.

    The file has what the journal lacks. A changed entry is as the file has it: it is either booked so, or
    still to be corrected.
    """
    tables = (in_memory(exported, "exported"), in_memory(entries, "entries"))
    # Decimals are compared in one scale.
    journal, file = (
        pl.DataFrame(pl.from_arrow(with_column(table, "split_line", split_lines(table))))
        for table in tables_in_one_scale(*tables)
    )
    names = [name for name in (*ENTRY_DATA, "document_number") if name in file.columns]
    of_file = file.select("split_line", *names, key=pl.col("id").str.to_lowercase())
    of_file = of_file.unique(["key", "split_line"], keep="first")
    joined = journal.with_columns(key=pl.col("entry_id").str.to_lowercase()).join(
        of_file, on=["key", "split_line"], how="left", suffix=OF_FILE, maintain_order="left"
    )
    both = [name for name in names if name in journal.columns]
    sides = (
        (compared(name, pl.col(name + side)) for side in ("", OF_FILE)) for name in both if name in COMPARED
    )
    differs = (was != now for was, now in sides)
    changed = joined.filter(pl.any_horizontal(*differs))["key"]
    is_changed = pl.col("key").is_in(changed.implode())
    filled = joined.with_columns(
        pl.when(is_changed)
        .then(pl.coalesce(f"{name}{OF_FILE}", name))
        .otherwise(pl.coalesce(name, f"{name}{OF_FILE}"))
        .alias(name)
        for name in both
    )
    rows = filled.drop("key", *(f"{name}{OF_FILE}" for name in both)).to_arrow()
    return to_pandas(rows), {*changed}


# ---- what a verification remembers of a ledger, and what moved since


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
