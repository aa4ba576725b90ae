"""Benchmarks of holding exported entries against a ledger: bktools, and an analyst's merge in pandas, in turn.

Run: python tests/benchmarks/run.py ledger [--tiny].
"""

from __future__ import annotations

import os
import resource
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from page import RESULTS, machine, write_section
from reconcile import Row, measured

from bktools.ledger import match_ledger

HEADING = "## Ledger"
KEY = ["amount", "account_code", "date"]
MONEY = pd.ArrowDtype(pa.decimal128(38, 2))
# How many entries in ten thousand have each difference.
PLANTED = {"missing": 20, "booked_twice": 10, "another_amount": 10, "another_account": 10, "another_date": 10}
PROFILE = (
    "the merge says only what is on one side; bktools also tells amount, account, date and doubles, with the voucher as "
    "evidence and a message for each difference"
)


def world(count: int) -> tuple[pd.DataFrame, pd.DataFrame, pd.Series]:
    """Return entries, as many postings in another order with planted differences, and the status of each entry."""
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
    postings.loc[planted == "another_date", "date"] += pd.Timedelta(days=2)
    kept = postings[planted != "missing"]
    postings = pd.concat([kept, postings[planted == "booked_twice"]]).sample(frac=1, random_state=1)
    return entries, postings.reset_index(drop=True), planted


def _money(cents: np.ndarray) -> pd.array:
    exact = pc.multiply(
        pa.array(cents).cast(pa.decimal128(19, 0)), pa.scalar("0.01").cast(pa.decimal128(3, 2))
    )
    return pd.array(exact.cast(pa.decimal128(38, 2)), dtype=MONEY)


def by_pandas(entries: pd.DataFrame, postings: pd.DataFrame) -> pd.DataFrame:
    """Return what an analyst would write: a merge on amount, account and day that says what is on one side alone."""
    return entries.merge(postings, on=KEY, how="outer", suffixes=("", "_ledger"), indicator=True)


def by_bktools(entries: pd.DataFrame, postings: pd.DataFrame) -> pd.DataFrame:
    """Return what became of each entry, with the evidence."""
    return match_ledger(entries, postings).entries


def check(entries: pd.DataFrame, postings: pd.DataFrame, planted: pd.Series) -> None:
    """Raise unless every planted difference is found, and nothing else, and the merge agrees about what is missing."""
    found = by_bktools(entries, postings).set_index("entry_id")["status"].reindex(entries["entry_id"])
    wrong = int((found.to_numpy() != planted.to_numpy()).sum())
    if wrong:
        raise RuntimeError(f"{wrong} of {len(entries)} entries have another status than was planted")
    alone = int((by_pandas(entries, postings)["_merge"] == "left_only").sum())
    expected = int(planted.isin(["missing", "another_amount", "another_account", "another_date"]).sum())
    if alone != expected:
        raise RuntimeError(f"the merge finds {alone} entries without a posting, planted are {expected}")


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
    """Return what an analyst would write: sums by account and day, merged with the postings on the amount, too."""
    own = entries.groupby(["account_code", "date"], as_index=False)["amount"].sum()
    return entries.merge(
        own.merge(totals, on=KEY, how="outer", indicator=True), on=["account_code", "date"], how="left"
    )


def measure(count: int, rounds: int, *, small: int = 320) -> list[Row]:
    """Return the rows of the table: one to one, sums by account and day, and a month of a small company."""
    entries, postings, planted = world(count)
    check(entries, postings, planted)
    one_to_one = _in_turn(
        {"pandas": lambda: by_pandas(entries, postings), "bktools": lambda: by_bktools(entries, postings)},
        rounds,
    )
    ours, totals = sums(count)
    if not {*by_bktools(ours, totals)["status"]} <= {"booked", "in_a_sum"}:
        raise RuntimeError("an entry of a sum is not found in it")
    by_day = _in_turn(
        {"pandas": lambda: sums_by_pandas(ours, totals), "bktools": lambda: by_bktools(ours, totals)}, rounds
    )
    few = world(small)[:2]
    month = _in_turn({"bktools": lambda: by_bktools(*few)}, 3 * rounds)["bktools"]
    load = f"load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    memory = (
        f"largest memory of the process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GiB"
    )
    return [
        _row(
            f"match {len(entries):,} entries by {len(postings):,} postings",
            1,
            one_to_one,
            f"{PROFILE}; {memory}; {load}",
        ),
        _row(f"match {len(ours):,} entries by {len(totals):,} sums of account and day", 0.5, by_day, load),
        Row(f"match {small} entries", "ms", 100, True, 1_000 * month[0], 1_000 * month[1], load),
    ]


def _in_turn(ways: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, tuple[float, float]]:
    """Return the medians of the ways, run in turn: seconds that passed, and of the processor."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            taken[name].append(measured(way))
    return {
        name: (statistics.median(one for one, _ in runs), statistics.median(one for _, one in runs))
        for name, runs in taken.items()
    }


def _row(work: str, goal: float, medians: Mapping[str, tuple[float, float]], note: str) -> Row:
    wall, used = (medians["pandas"][place] / medians["bktools"][place] for place in (0, 1))
    figures = "; ".join(
        f"{name} {passed:.3f} s, processor {spent:.3f} s" for name, (passed, spent) in medians.items()
    )
    return Row(work, "÷ pandas merge, times faster", goal, False, wall, used, f"{figures}; {note}")


def write(rows: Sequence[Row], *, path: Path = RESULTS) -> None:
    """Write the section of this benchmark, and leave the others as they are."""
    lines = [
        "`python tests/benchmarks/run.py ledger` writes this section. Every planted difference is found, and nothing else.",
        "",
        machine("pandas", "polars", "pyarrow"),
        "",
        "| work | measure | goal | reached | by processor time | | notes |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        *[row.line() for row in rows],
    ]
    write_section(HEADING, "\n".join(lines), path)


def run(*, tiny: bool, peers: bool) -> None:
    """Measure, print the table and write it; a tiny run writes nothing."""
    rows = measure(10_000 if tiny else 1_000_000, 1 if tiny else 3)
    for row in rows:
        print(row.line())
    if not tiny:
        write(rows)
