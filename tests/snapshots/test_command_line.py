"""`bktools categories`, `employees` and `snapshots` as somebody types them."""

from __future__ import annotations

import re

import duckdb
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

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


def test_snapshots_are_listed_shown_pruned_and_found():
    """What was loaded is listed; the files are Parquet that DuckDB reads as they are; no e-mail is shown."""
    assert "no snapshots" in run("snapshots", "list")
    run("categories")
    run("categories", "--refresh")
    run("categories", "--active")
    run("employees", "--email", "nobody@example.com")
    listed = run("snapshots", "list")
    assert "nobody" not in listed
    key = next(
        line for line in listed.splitlines() if "categories" in line and "archived" not in line
    ).split()[0]
    assert re.findall(r"\b240\b", run("snapshots", "show", key)) == ["240", "240"]
    path = run("snapshots", "path", "categories").strip()
    assert path == run("snapshots", "path", key).strip()
    assert len(run("snapshots", "path").split()) == 3
    assert duckdb.sql(f"select count(*) from '{path}'").fetchall() == [(240,)]
    assert "0 snapshots removed" in run("snapshots", "prune", "--older-than", "90d")
    assert "1 snapshots removed" in run("snapshots", "prune", "--older-than", "0s")
    with pytest.raises(SnapshotNotFoundError, match="no key begins"):
        run("snapshots", "show", "nothing")


def test_the_newest_file_of_a_table_is_that_of_its_company():
    """With --company the file has that company's rows; a table that was not loaded is an error."""
    run("categories", "--company", "all")
    files = [file for file in run("snapshots", "path").split() if "categories" in file]
    rows = duckdb.sql(f"SELECT DISTINCT company_id FROM read_parquet({files}) ORDER BY 1").fetchall()
    for [company] in rows[:2]:
        [file] = run("snapshots", "path", "categories", "--company", company).split()
        assert duckdb.sql(f"SELECT DISTINCT company_id FROM '{file}'").fetchall() == [(company,)]
    said = "no snapshot of the employees was found: bktools employees"
    with pytest.raises(SnapshotNotFoundError, match=said):
        run("snapshots", "path", "employees", "--company", company)


def test_wrong_words_are_one_line():
    with pytest.raises(ArgumentError, match="such as 90s, 30m, 12h or 7d"):
        run("categories", "--max-age", "soon")
    with pytest.raises(ArgumentError, match=r"must be a UUID or a company of the config file.*, got 'all'"):
        run("categories", "--company", "all", "--company", "x")
    with pytest.raises(SnapshotNotFoundError, match="no snapshot of these"):
        run("categories", "--as-of", "2020-01-01")
