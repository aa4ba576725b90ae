"""`spend` on PySpark, classic and Spark Connect: sums of partitions are added by currency, as exactly as on this machine."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
import spark as pyspark

from bktools import spend
from bktools.errors import InputError, OutOfMemoryError
from bktools.frames.schema import to_arrow

pytestmark = [*pyspark.NEEDS_SPARK]

MONEY = pd.ArrowDtype(pa.decimal128(20, 3))
IDS = [f"{number:08x}-0000-4000-8000-000000000000" for number in range(6)]


def world():
    """Return entries in three currencies and none, with blanks and credits, and what their IDs refer to."""
    count = 200
    entries = pd.DataFrame(
        {
            "supplier": [("Bahn", "Hôtel", " ", None)[number % 4] for number in range(count)],
            "date": [pd.Timestamp(2026, 9 + number % 3, 1 + number % 28).date() for number in range(count)],
            "category_id": [(*IDS, None)[number % 7] for number in range(count)],
            "employee_id": [IDS[number % 3].upper() for number in range(count)],
            "currency": [("EUR", "EUR", "KWD", " ", None)[number % 5] for number in range(count)],
            "amount": pd.array([Decimal(number * 37 - 900).scaleb(-3) for number in range(count)], dtype=MONEY),
        }
    )
    accounts = pd.DataFrame({"id": IDS[:4], "code": ["1", "2", "3", "4"], "name": "Account", "external_id": None})
    given = {
        "categories": pd.DataFrame({"id": IDS[:5], "name": ["a", "b", "c", "d", "d"], "account_id": [*IDS[:4], None]}),
        "accounts": accounts.astype({"external_id": "str"}),
        "employees": pd.DataFrame(
            {"id": IDS[:2], "first_name": "Ada", "last_name": ["L", "K"], "email": "a@b.example"}
        ),
    }
    return entries, given


def in_order(table):
    return sorted(str(row) for row in table.to_pylist())


def lifted(session, frame):
    return session.createDataFrame(pa.Table.from_pandas(frame, preserve_index=False))


def test_sums_are_those_of_this_machine():
    """By names and months, from several partitions, to the row; six Spark jobs at most with all other frames."""
    session = pyspark.session()
    entries, given = world()
    keys = ["category", "account", "employee", "month", "supplier"]
    expected = to_arrow(spend(entries, keys, **given))
    before = pyspark.jobs(session)
    lazy = {name: lifted(session, frame) for name, frame in given.items()}
    parts = lifted(session, entries[:70]).union(lifted(session, entries[70:]))
    found = spend(parts, keys, **lazy).toArrow()
    assert 2 < pyspark.jobs(session) - before <= 6
    assert found.column_names == expected.column_names
    assert in_order(found) == in_order(expected.cast(found.schema))
    assert len(found) > 100


def test_what_is_refused():
    """Floats, and more groups of a currency than a worker may get."""
    session = pyspark.session()
    entries, _ = world()
    with pytest.raises(InputError, match="whose sums are not exact"):
        spend(lifted(session, entries.assign(amount=1.5)))
    session.conf.set("spark.bktools.companyRows", "3")
    with pytest.raises(OutOfMemoryError, match=r"the currency EUR has [0-9]+ rows, and a worker gets at most 3"):
        spend(lifted(session, entries), "supplier")
    session.conf.unset("spark.bktools.companyRows")


@pytest.mark.skipif(importlib.util.find_spec("grpc_status") is None, reason="Spark Connect comes with the extra spark")
def test_spark_connect():
    """A process that is connected to a Spark server runs all four functions, and has the rows of this machine."""
    script = Path(__file__).with_name("spark_connect.py")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split() == ["spend", "compose", "match", "reconcile"]
