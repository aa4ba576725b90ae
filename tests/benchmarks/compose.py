"""A plan of export jobs with its findings, against three pandas merges of the same frames, in turn.

The merges join entries with categories, accounts and employees and check nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from rows import Row, in_turn, measured, shown

from bktools.export import compose_export_jobs
from bktools.frames.schema import to_pandas

LIBRARIES = ("pandas", "polars", "pyarrow")
CATEGORIES, EMPLOYEES = 240, 60
# Entries, rounds, the goal in milliseconds, and the goal as a multiple of the merges.
SIZES = ((320, 9, 45, None), (100_000, 5, 350, 3.1), (1_000_000, 3, 3500, 1.7))
TINY = ((320, 1, 45, None), (2_000, 1, 350, 3.1))


def uuids(count: int, seed: int) -> pa.Array:
    """Return random UUIDs as text."""
    digits = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
    letters = digits[np.random.default_rng(seed).integers(0, 16, (count, 36), dtype=np.uint8)]
    letters[:, [8, 13, 18, 23]] = ord("-")
    data = pa.py_buffer(np.ascontiguousarray(letters))
    offsets = pa.py_buffer(np.arange(0, 36 * count + 1, 36, dtype=np.int64))
    return pa.LargeStringArray.from_buffers(count, offsets, data)


def world(entries: int) -> dict[str, pd.DataFrame]:
    """Return a company's entries, of which 5 % are not approved, and its lists; 4 % of them are archived."""
    chance = np.random.default_rng(1)
    company = pa.repeat(uuids(1, 2)[0], entries)
    category, account, employee = uuids(CATEGORIES, 3), uuids(CATEGORIES, 4), uuids(EMPLOYEES, 5)
    cents = pc.cast(pa.array(np.exp(chance.normal(8.5, 1.2, entries)).astype("int64")), pa.decimal128(20, 0))
    amount = pc.cast(pc.multiply(cents, pa.scalar("0.01").cast(pa.decimal128(3, 2))), pa.decimal128(38, 2))

    def one_of(values: list[Any] | pa.Array, kind: pa.DataType | None = None) -> pa.Array:
        values = values if isinstance(values, pa.Array) else pa.array(values, kind)
        return values.take(pa.array(chance.integers(0, len(values), entries)))

    table = {
        "id": uuids(entries, 6),
        "company_id": company,
        "date": pa.array(chance.integers(20_727, 20_758, entries, dtype=np.int32)).cast(pa.date32()),
        "amount": amount,
        "currency": one_of(["EUR"] * 9 + ["CHF"], pa.large_string()),
        "category_id": one_of(category),
        "employee_id": one_of(employee),
        "supplier": one_of([f"Supplier {number}" for number in range(400)], pa.large_string()),
        "description": one_of([f"Receipt {number}" for number in range(997)], pa.large_string()),
        "approved": pa.array(chance.random(entries) > 0.05),
    }
    names = pa.array([f"Category {number}" for number in range(CATEGORIES)], pa.large_string())
    is_archived = pa.array(np.arange(CATEGORIES) % 25 == 7)
    own, named = pa.repeat(company[0], CATEGORIES), {"archived": is_archived, "name": names}
    tables = {
        "entries": table,
        "categories": {"id": category, "company_id": own, "account_id": account} | named,
        "accounts": {"id": account, "code": names, "external_id": names} | named,
        "employees": {"id": employee, "first_name": employee, "last_name": employee, "email": employee},
    }
    return {name: to_pandas(pa.table(columns)) for name, columns in tables.items()}


def plan(**frames: pd.DataFrame) -> tuple[int, int, int]:
    """Compose the plan with its findings as facts; return how many entries are ready, held back, named."""
    made = compose_export_jobs(**frames, month="2026-10", currency="EUR")
    return len(made.rows), len(made.held), len(made.finding_facts)


def merges(
    entries: pd.DataFrame, categories: pd.DataFrame, accounts: pd.DataFrame, employees: pd.DataFrame
) -> int:
    """Merge the same frames by pandas."""
    coded = entries.merge(categories.add_prefix("category_"), on="category_id", how="left")
    known = coded.merge(
        accounts.add_prefix("account_"), left_on="category_account_id", right_on="account_id", how="left"
    )
    return len(known.merge(employees.add_prefix("employee_"), on="employee_id", how="left"))


def measure(*, tiny: bool) -> list[Row]:
    """Return the rows of the table, and how long a close of the sample takes from a cold start."""
    rows = []
    for entries, rounds, milliseconds, most in TINY if tiny else SIZES:
        frames = world(entries)
        ready, held, _ = plan(**frames)
        if (ready + held, merges(**frames)) != (entries, entries):
            raise RuntimeError("the plan, or the merge, has lost entries")
        ways = {"bktools": plan, "merges": merges}
        figures = in_turn({name: partial(measured, partial(ways[name], **frames)) for name in ways}, rounds)
        faster, note = shown(figures, "merges")
        work = f"plan with findings of {entries:,} entries"
        rows.append(Row(work, "ms", 1000 * figures["bktools"][0], note, milliseconds, at_most=True))
        if most is not None:
            rows.append(Row(work, "or time ÷ three pandas merges", 1 / faster, "", most, at_most=True))
    seconds, used = in_turn({"": close}, 1 if tiny else 5)[""]
    work = "month-end of the sample from a cold start"
    return [*rows, Row(work, "seconds", seconds, f"by processor time {used:.2f}", 2.5, at_most=True)]


def close() -> tuple[float, float]:
    """Measure a dry run of the close of the sample, with report, workbook and pictures."""
    with tempfile.TemporaryDirectory() as folder:
        own = {f"BKTOOLS_{name}_DIR": folder for name in ("DATA", "CACHE", "SENT_LOG")}
        command = [sys.executable, "-m", "bktools", "--quiet", "month-end", "--sandbox"]
        run = partial(subprocess.run, command, cwd=folder, env=os.environ | own, check=True)
        return measured(partial(run, stdout=subprocess.DEVNULL))
