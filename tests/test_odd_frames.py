"""Frames with missing, empty or renamed columns, or odd values: a result, or one line."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import matplotlib.pyplot as plt
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bktools
from bktools.errors import BktoolsError
from bktools.sandbox.sample import write_account_list

WORLDS = int(os.environ.get("BKTOOLS_TEST_RUNS", "2"))

# Texts that a spreadsheet, a careless writer or another program leaves.
ODD = ["", " ", "0", "-0.00", "1E5", "NaN", "=1+1", "Total", "é\u202e", "x" * 300, None]

# Names that tables of bktools have, and that a file may have for something else.
NAMES = (
    "about action amount_sum bar batch_id bookings check company digest entries fate id line message month "
    "name part reason row severity side size state status to_do who"
)


BY = "category account employee supplier month currency approved reason"


@pytest.fixture(scope="module")
def frames(samples: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, pd.DataFrame]:
    """The sample month as it is: entries, chart, accounts, categories, employees, matching ledger."""
    folder = tmp_path_factory.mktemp("odd")
    with bktools.Sandbox(folder / "sandbox") as service:
        bktools.import_accounts(write_account_list(folder), company=service.settings.company, service=service)
        loaded = {
            "chart": bktools.read_chart_of_accounts(samples[0], company=service.settings.company),
            "accounts": bktools.load_accounts(service=service),
            "categories": bktools.load_categories(service=service),
            "employees": bktools.load_employees(service=service),
        }
    entries = bktools.read_entries(samples[1])
    ledger = entries[["date", "amount", "currency"]].dropna().assign(account_code="490000")
    return loaded | {"entries": entries, "ledger": ledger.assign(text=entries["supplier"], voucher_id="A 1")}


def odd(chance: random.Random, frame: pd.DataFrame) -> Any:
    """Return part of a frame with odd columns, as a frame of any tool."""
    frame = frame.sample(min(len(frame), chance.choice([0, 1, 12, 400])), random_state=chance.randrange(999))
    for name in chance.sample([*frame.columns], chance.choice([0, 1, 2])):
        match chance.randrange(4):
            case 0:
                frame = frame.drop(columns=name)
            case 1:
                frame = frame.assign(**{name: None})
            case 2:
                values = [chance.choice([value, *ODD]) for value in frame[name].astype("object")]
                frame = frame.assign(**{name: values})
            case 3:
                frame = frame.rename(columns={name: name.upper()})
    for name in chance.sample(NAMES.split(), chance.choice([0, 0, 1, 3])):
        frame = frame.assign(**{name: chance.choice(["a", "1", ""])}) if name not in frame.columns else frame
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    except pa.ArrowException:  # a column of values of several types, which pandas alone can hold
        return frame
    if "date" in table.column_names and pa.types.is_timestamp(table["date"].type) and chance.random() < 0.5:
        table = table.set_column(table.column_names.index("date"), "date", table["date"].cast(pa.date32()))
    return chance.choice(
        [frame, frame, table, pl.from_arrow(table), pl.from_arrow(table).lazy(), duckdb.from_arrow(table)]
    )


def shown(result: Any) -> None:
    """Read every table and every view of a result."""
    names = "entries not_ready findings totals actions coverage unused_accounts postings"
    for name in names.split():
        getattr(result, name, None)
    assert repr(result)
    assert result._repr_html_()


@pytest.mark.parametrize("world", range(WORLDS))
def test_a_result_or_one_line(frames, tmp_path, world):
    """Odd frames in plan, spend, match, reconciliation and picture: no library's own error; most work."""
    chance = random.Random(world)
    results, refusals, counts = [], [], []

    def tried(act: Callable[..., Any], *args: Any, **options: Any) -> None:
        try:
            results.append(act(*args, **options))
        except BktoolsError as error:
            refusals.append(str(error))

    for _ in range(4):
        given = {
            name: odd(chance, frame) if chance.random() < 0.6 else frame for name, frame in frames.items()
        }
        names = ("categories", "accounts", "employees")
        beside = {name: given[name] for name in names if chance.random() < 0.8}
        asked = chance.choice([{}, {"month": "2026-10", "currency": "EUR"}])
        by = chance.choice(BY.split())
        tried(bktools.compose_export_jobs, given["entries"], **beside, **asked)
        tried(bktools.match_ledger, given["entries"], given["ledger"])
        tried(bktools.reconcile_accounts, given["chart"], given["accounts"], given["categories"])
        for result in [*results]:
            shown(result)
            if isinstance(result, bktools.Reconciliation):
                tried(bktools.plot_coverage, result)
                tried(bktools.to_excel, result.findings, tmp_path / f"{len(results)}.xlsx")
                continue
            tried(bktools.plot_money, result)
            tried(bktools.spend, result.entries, by, **beside, shares=chance.random() < 0.5)
            tried(bktools.to_csv, result.findings, tmp_path / f"{len(results)}.csv")
        tried(bktools.spend, given["entries"], by, **beside)
        counts.append(len(results))
        results.clear()
        plt.close("all")
    assert sum(counts) > 5
    assert [line for line in refusals if "\n" in line] == []
