"""The smallest ledgers in which a plausible rule is wrong, each with the statuses that are right."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from bktools import match_ledger, read_general_ledger

PAIRS = json.loads(Path(__file__).with_name("pairs.json").read_text(encoding="utf-8"))
MONEY = pd.ArrowDtype(pa.decimal128(38, 2))


@pytest.mark.parametrize("name", PAIRS)
def test_each_entry_has_a_right_status(name, tmp_path):
    """What an accountant would say of each entry; any other status is wrong, and `missing` is the worst."""
    pair = PAIRS[name]
    path = tmp_path / "ledger.csv"
    path.write_text("\n".join(pair["ledger"]) + "\n", encoding="utf-8")
    entries = pd.DataFrame(pair["entries"]).drop(columns="right")
    entries["amount"] = pd.array([Decimal(amount) for amount in entries["amount"]], dtype=MONEY)
    entries = entries.assign(
        date=pd.to_datetime(entries["date"]), split_line=entries["split_line"].astype("int64")
    )
    match = match_ledger(entries, read_general_ledger(path))
    found = dict(
        zip(
            zip(match.entries["entry_id"], match.entries["split_line"], strict=True),
            match.entries["status"],
            strict=True,
        )
    )
    right = {(row["entry_id"], int(row["split_line"])): row["right"] for row in pair["entries"]}
    assert {key: status for key, status in found.items() if status not in right[key]} == {}
