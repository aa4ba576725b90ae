"""Commands over many companies: a file of companies, lines for failures, and an exit code."""

from __future__ import annotations

import io
import sys

import pandas as pd
import pytest
from typer.testing import CliRunner

import bktools
from bktools.cli.app import app
from bktools.cli.loading import companies_in
from bktools.errors import InputError
from bktools.sandbox import Fault

FIRST, SECOND = "123e4567-e89b-42d3-a456-426614174000", "9b2f9a3e-3f0c-4d62-8f0e-0d6f3a1c2b4d"
NAMES = {"acme": FIRST}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ids.txt", f"{FIRST.upper()}\n\n# closed in May\n{SECOND}\n{FIRST}\n"),
        ("names.txt", f"acme\r\n{SECOND}"),
        ("marked.txt", f"\ufeff{FIRST}\n{SECOND}\n"),
    ],
)
def test_a_file_of_companies(tmp_path, name, text):
    """One a line; each company once, in the order of the file."""
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert companies_in(str(tmp_path / name), NAMES) == [FIRST, SECOND]


def test_standard_input(monkeypatch):
    """A list of companies comes through a pipe, too."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{FIRST}\n{SECOND}\n"))
    assert companies_in("-", {}) == [FIRST, SECOND]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{FIRST}\n123\n", "line 2: company must be a UUID.*'123'"),
        (f"{FIRST}\nakme\n", "line 2: company must be a UUID or a company .*acme.*'akme'"),
        ("name,city\nOne,Ulm\n", "line 1: company must be a UUID.*'name,city'; write one UUID a line"),
        ("\n# nothing\n", "names no company"),
        ("", "names no company"),
    ],
)
def test_a_bad_line_is_named(tmp_path, text, said):
    (tmp_path / "companies.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=said):
        companies_in(str(tmp_path / "companies.csv"), NAMES if "akme" in text else {})
    with pytest.raises(InputError, match="No such file"):
        companies_in(str(tmp_path / "missing.csv"), {})


@pytest.mark.filterwarnings("ignore::bktools.errors.IncompleteTableWarning")
def test_the_commands_collect_and_say_so(tmp_path, monkeypatch):
    """The other rows are written, each failure is a line on standard error, and the exit code is 12."""
    sandbox = bktools.Sandbox(tmp_path / "state", companies=4, categories=8, employees=4)
    with sandbox:
        ids = [company.id for company in sandbox.server.companies()]
        (tmp_path / "companies.txt").write_text("\n".join(ids), encoding="utf-8")
        monkeypatch.setenv("BKTOOLS_BASE_URL", sandbox.server.base_url)
        monkeypatch.setenv("BKTOOLS_TOKEN", sandbox.server.token)
        sandbox.server.inject(Fault("error", status=403, company=ids[2]))

        def run(*options):
            return CliRunner().invoke(
                app, ["categories", "--companies", str(tmp_path / "companies.txt"), *options]
            )

        for file in ("rows.csv", "rows.parquet"):
            found = run("--on-error", "collect", "--output", str(tmp_path / file))
            assert found.exit_code == 12
            lines = [
                line for line in found.stderr.splitlines() if line.startswith(f"bktools: company {ids[2]}")
            ]
            assert len(lines) == 1
            assert "403" in lines[0]
            assert lines[0].endswith("ask for access to the company, or leave it out")
        assert set(pd.read_csv(tmp_path / "rows.csv")["company_id"]) == set(ids) - {ids[2]}
        assert set(pd.read_parquet(tmp_path / "rows.parquet")["company_id"]) == set(ids) - {ids[2]}
        refused = run()
        assert refused.exception.__class__.__name__ == "ScopeError"
        assert "--on-error collect returns the others" in str(refused.exception)
        both = run("--company", ids[0])
        assert "--companies cannot be combined with --company" in str(both.exception)
        sandbox.server.clear_faults()
        assert run("--output", str(tmp_path / "rows.csv")).exit_code == 0
