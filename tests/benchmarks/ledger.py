"""Benchmarks of holding exported entries against a ledger: bktools and a merge in pandas, in turn.

Run: python tests/benchmarks/run.py ledger [--tiny].
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from rows import Row, in_turn, measured, shown

from bktools.ledger import match_ledger

LIBRARIES = ("pandas", "polars", "pyarrow")
KEY = ["amount", "account_code", "date"]
MONEY = pd.ArrowDtype(pa.decimal128(38, 2))
# How many entries in ten thousand have each difference.
PLANTED = {"missing": 20, "booked_twice": 10, "another_amount": 10, "another_account": 10, "days_later": 10}


def world(count: int) -> tuple[pd.DataFrame, pd.DataFrame, pd.Series]:
    """Return entries, postings in another order with planted differences, and each entry's status."""
    numbers = np.arange(count)
    texts = pd.Series("Ticket " + pd.Series(numbers).astype(str) + " Travel", dtype="str")
    # Each pair of account and day has its own amounts, so that no entry is like another one by chance.
    entries = pd.DataFrame(
        {
            "entry_id": pd.Series(np.char.mod("%08x-0000-4000-8000-000000000000", numbers), dtype="str"),
            "batch_id": pd.Series(np.char.mod("batch%d", numbers // 500), dtype="str"),
            "account_code": pd.Series(np.char.mod("%d", 4000 + numbers % 100), dtype="str"),
            "date": pd.Series(
                np.datetime64("2026-10-05", "s") + (numbers // 100 % 20).astype("timedelta64[D]")
            ),
            "amount": _money(1_000 + 7 * numbers),
            "currency": pd.Series("EUR", index=range(count), dtype="str"),
            "description": texts,
        }
    )
    planted = pd.Series("booked", index=entries.index)
    first = 0
    for status, share in PLANTED.items():
        planted[(numbers % 10_000 >= first) & (numbers % 10_000 < first + share)] = status
        first += share
    postings = entries.drop(columns=["entry_id", "batch_id"]).rename(columns={"description": "text"})
    postings["voucher_id"] = pd.Series(np.char.mod("A %d", numbers), dtype="str")
    postings.loc[planted == "another_amount", "amount"] = _money(
        1_003 + 7 * numbers[planted == "another_amount"]
    )
    postings.loc[planted == "another_account", "account_code"] = "6999"
    postings.loc[planted == "days_later", "date"] += pd.Timedelta(days=2)
    kept = postings[planted != "missing"]
    postings = pd.concat([kept, postings[planted == "booked_twice"]]).sample(frac=1, random_state=1)
    return entries, postings.reset_index(drop=True), planted


def _money(cents: np.ndarray) -> pd.array:
    exact = pc.multiply(
        pa.array(cents).cast(pa.decimal128(19, 0)), pa.scalar("0.01").cast(pa.decimal128(3, 2))
    )
    return pd.array(exact.cast(pa.decimal128(38, 2)), dtype=MONEY)


def by_pandas(entries: pd.DataFrame, postings: pd.DataFrame) -> pd.DataFrame:
    """Return what an analyst would write: a merge on amount, account and day."""
    return entries.merge(postings, on=KEY, how="outer", suffixes=("", "_ledger"), indicator=True)


def by_bktools(entries: pd.DataFrame, postings: pd.DataFrame) -> pd.DataFrame:
    """Return what became of each entry, with the evidence."""
    return match_ledger(entries, postings).entries


def check(entries: pd.DataFrame, postings: pd.DataFrame, planted: pd.Series) -> None:
    """Raise unless all that was planted is found, and no more, and the merge agrees about what is alone."""
    found = by_bktools(entries, postings).set_index("entry_id")["status"].reindex(entries["entry_id"])
    expected = planted.replace("days_later", "booked")
    wrong = int((found.to_numpy() != expected.to_numpy()).sum())
    if wrong:
        raise RuntimeError(f"{wrong} of {len(entries)} entries have another status than was planted")
    alone = int((by_pandas(entries, postings)["_merge"] == "left_only").sum())
    lacking = int(planted.isin(["missing", "another_amount", "another_account", "days_later"]).sum())
    if alone != lacking:
        raise RuntimeError(f"the merge finds {alone} entries without a posting, planted are {lacking}")


def sums(count: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return entries, and one posting for each account and day, with its voucher."""
    entries, *_ = world(count)
    entries["date"] = entries["date"].min() + pd.to_timedelta(
        np.arange(count) // 100 % max(count // 1_000, 20), unit="D"
    )
    key = ["account_code", "date", "currency"]
    totals = entries.groupby(key, as_index=False)["amount"].sum()
    totals["amount"] = totals["amount"].astype(MONEY)
    totals["text"] = pd.Series("Expenses", index=totals.index, dtype="str")
    totals["voucher_id"] = pd.Series(np.char.mod("A %d", np.arange(len(totals))), dtype="str")
    return entries, totals


def sums_by_pandas(entries: pd.DataFrame, totals: pd.DataFrame) -> pd.DataFrame:
    """Return what an analyst would write: sums by account and day, merged with postings on the amount."""
    own = entries.groupby(["account_code", "date"], as_index=False)["amount"].sum()
    return entries.merge(
        own.merge(totals, on=KEY, how="outer", indicator=True), on=["account_code", "date"], how="left"
    )


def measure(*, tiny: bool) -> list[Row]:
    """Return the rows of the table: one to one, sums by account and day, and a month of a small company."""
    count, rounds = (10_000, 1) if tiny else (1_000_000, 3)
    entries, postings, planted = world(count)
    check(entries, postings, planted)
    one_to_one = in_turn(_ways(by_pandas, entries, postings), rounds)
    ours, totals = sums(count)
    if not {*by_bktools(ours, totals)["status"]} <= {"booked", "in_a_sum"}:
        raise RuntimeError("an entry of a sum is not found in it")
    by_day = in_turn(_ways(sums_by_pandas, ours, totals), rounds)
    month = partial(measured, partial(by_bktools, *world(320)[:2]))
    wall, used = (1_000 * seconds for seconds in in_turn({"": month}, 3 * rounds)[""])
    figures = {
        f"match {len(entries):,} entries by {len(postings):,} postings": (0.33, one_to_one),
        f"match {len(ours):,} entries by {len(totals):,} sums of account and day": (0.25, by_day),
    }
    rows = [
        Row(work, "÷ pandas merge, times faster", *shown(taken, "pandas"), goal, at_most=False)
        for work, (goal, taken) in figures.items()
    ]
    return [*rows, Row("match 320 entries", "ms", wall, f"by processor time {used:.2f}", 100, at_most=True)]


def _ways(peer: Callable[..., object], *frames: pd.DataFrame) -> dict[str, Callable[[], tuple[float, float]]]:
    return {"pandas": partial(measured, peer, *frames), "bktools": partial(measured, by_bktools, *frames)}
