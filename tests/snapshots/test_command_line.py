"""`bktools categories`, `employees` and `snapshots` as somebody types them."""

from __future__ import annotations

import re

import duckdb
import pyarrow.parquet as pq
from typer.testing import CliRunner

from bktools.cli.app import app


def run(*words):
    result = CliRunner().invoke(app, [*words, "--sandbox"])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


def test_categories_to_the_terminal_and_to_files(tmp_path):
    """The same table comes to the terminal, to CSV and to Parquet."""
    assert run("categories").count("\n") == 1 + 240
    csv, parquet = tmp_path / "c.csv", tmp_path / "c.parquet"
    run("categories", "--company", "all", "--output", str(parquet))
    said = run("categories", "--company", "all", "--output", str(csv))
    rows = pq.read_table(parquet)
    assert f"{rows.num_rows} rows written" in said
    assert rows.num_rows > 240
    assert csv.read_text(encoding="utf-8-sig").count("\n") >= rows.num_rows
    assert "archived" in run("categories", "--active")
    assert sum(rows.column("archived").to_pylist()) > 0


def test_snapshots_are_listed_and_found():
    """What was loaded is listed; the files are Parquet that DuckDB reads as they are; no e-mail is shown."""
    assert "no snapshots" in run("snapshots")
    run("categories")
    run("categories", "--refresh")
    run("employees", "--email", "nobody@example.com")
    listed = run("snapshots")
    assert "nobody" not in listed
    assert re.findall(r"^categories\t.*\t(240)\t", listed, re.MULTILINE) == ["240", "240"]
    path = re.search(r"^categories\t.*\t(\S+)$", listed, re.MULTILINE)[1]
    assert duckdb.sql(f"select count(*) from '{path}'").fetchall() == [(240,)]
