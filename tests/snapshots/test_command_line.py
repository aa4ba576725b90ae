"""`bktools categories`, `employees` and `snapshots` as somebody types them."""

from __future__ import annotations

import re

import duckdb
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import bktools
from bktools.cli.app import app
from bktools.errors import ArgumentError, SnapshotNotFoundError


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


def test_employees_and_their_filters():
    assert run("employees").count("\n") == 1 + 27
    head = "first_name\tlast_name\temail\trole\tcode\tid\n"
    assert run("employees", "--email", "nobody@example.com") == head


def test_snapshots_are_listed_and_found():
    """What was loaded is listed; the files are Parquet that DuckDB reads as they are; no e-mail is shown."""
    assert "no snapshots" in run("snapshots", "list")
    run("categories")
    run("categories", "--refresh")
    run("employees", "--email", "nobody@example.com")
    listed = run("snapshots", "list")
    assert "nobody" not in listed
    assert re.findall(r"^categories\t.*\t(240)\t", listed, re.MULTILINE) == ["240", "240"]
    path = run("snapshots", "path", "categories").strip()
    assert path in listed
    assert duckdb.sql(f"select count(*) from '{path}'").fetchall() == [(240,)]


def test_the_newest_file_of_a_table_is_that_of_its_company():
    """With --company the file has that company's rows; a table that was not loaded is an error."""
    run("categories", "--company", "all")
    with bktools.connect("sandbox") as service:
        companies = sorted({*bktools.load_employees(service=service)["company_id"]})[:2]
    for company in companies:
        [file] = run("snapshots", "path", "categories", "--company", company).split()
        assert duckdb.sql(f"SELECT DISTINCT company_id FROM '{file}'").fetchall() == [(company,)]
    with pytest.raises(ArgumentError, match="TABLE must be one of categories, employees, got 'accounts'"):
        run("snapshots", "path", "accounts")


def test_wrong_words_are_one_line():
    with pytest.raises(ArgumentError, match="such as 90s, 30m, 12h or 7d"):
        run("categories", "--max-age", "soon")
    with pytest.raises(ArgumentError, match=r"must be a UUID or a company of the config file.*, got 'all'"):
        run("categories", "--company", "all", "--company", "x")
    with pytest.raises(SnapshotNotFoundError, match="no snapshot of these"):
        run("categories", "--as-of", "2020-01-01")
