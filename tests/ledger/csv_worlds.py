"""Small companies as two CSV files that a person can open: exported entries, and the ledger that has them.

The column `expected` of the entries has the statuses that an accountant would accept, such as
"missing or open"; any other one is wrong. It is empty where a promise says nothing about the entry. The
column `expected_voucher` has the one that is the entry's own, where others are like it.
"""

from __future__ import annotations

import csv
import functools
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from bktools import LedgerMatch, match_ledger, read_general_ledger

FOLDER = Path(__file__).parents[1] / "worlds" / "ledger"
MONEY = pd.ArrowDtype(pa.decimal128(38, 2))
ORIGINALS = {"foreign_amount": "Foreign amount", "foreign_currency": "Foreign currency"}
ENTRIES, LEDGER = ".exported.csv", ".ledger.csv"
NAMES = sorted(path.name.removesuffix(ENTRIES) for path in FOLDER.glob(f"*{ENTRIES}"))


def entries_of(name: str) -> pd.DataFrame:
    """Return the entries of a world as `load_export_jobs(entries=True)` does."""
    frame = pd.read_csv(FOLDER / f"{name}{ENTRIES}", dtype="str")
    frame["date"] = pd.to_datetime(frame["date"])
    frame["amount"] = pd.array([Decimal(amount) for amount in frame["amount"]], dtype=MONEY)
    if "split_line" in frame:
        frame["split_line"] = frame["split_line"].fillna("0").astype("int64")
    return frame


def ledger_of(name: str) -> pd.DataFrame:
    """Return the ledger of a world."""
    return read(FOLDER / f"{name}{LEDGER}")


@functools.cache
def match_of(name: str, **options: Any) -> LedgerMatch:
    """Return the match of a world, which is made once for all tests."""
    return match_ledger(entries_of(name), ledger_of(name), **options)


def read(path: Path) -> pd.DataFrame:
    """Return a ledger, with its original amounts in other currencies where it has any."""
    with path.open(encoding="utf-8") as file:
        has_originals = ORIGINALS["foreign_amount"] in file.readline()
    return read_general_ledger(path, money="decimal", columns=ORIGINALS if has_originals else None)


def lines_of(name: str) -> list[dict[str, str]]:
    """Return the lines of a world's ledger as they are in the file."""
    with (FOLDER / f"{name}{LEDGER}").open(encoding="utf-8", newline="") as file:
        return [*csv.DictReader(file)]


def write(lines: list[dict[str, str]], path: Path) -> Path:
    """Write the lines of a ledger."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*lines[0]])
        writer.writeheader()
        writer.writerows(lines)
    return path


def wrong(match: pd.DataFrame) -> Iterator[tuple[str, str, str]]:
    """Yield each entry with a status or voucher that is not expected: its text, what it has, the expected."""
    for row in match.astype("object").where(match.notna(), "").to_dict("records"):
        own = {"status": row["expected"], "booked_voucher_id": row.get("expected_voucher")}
        for name, expected in own.items():
            if expected and row[name] not in expected.split(" or "):
                yield f"{row['date']:%d %b} {row['amount']} {row.get('supplier')}", row[name], expected
