"""What `bktools export` says of a plan before it is sent."""

from __future__ import annotations

from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import bktools
from bktools.cli.app import app
from bktools.cli.export import _say_plan


def test_totals_by_currency(capsys: pytest.CaptureFixture[str]):
    """Entries and exact amount of each currency; an entry without an amount is held back, not zero."""
    company = "123e4567-e89b-42d3-a456-426614174000"
    amounts = pd.array([Decimal("10.10"), Decimal("0.20"), None], dtype=pd.ArrowDtype(pa.decimal128(38, 2)))
    entries = pd.DataFrame(
        {
            "id": [f"123e4567-e89b-42d3-a456-42661417400{number}" for number in range(3)],
            "company_id": company,
            "amount": amounts,
            "currency": ["EUR", "EUR", "USD"],
        }
    )
    _say_plan(bktools.compose_export_jobs(entries))
    said = capsys.readouterr().out.splitlines()
    assert "2 entries ready in 1 batch, 1 not ready" in said[0]
    assert [line for line in said if "ready: " in line] == ["  ready: EUR 10.30"]


def test_a_plan_without_ready_entries_sends_nothing(tmp_path):
    """Neither a dry run nor --apply asks for another step where no entry of the plan is ready."""
    plan = str(tmp_path / "august.plan")
    composed = CliRunner().invoke(
        app, ["export", "compose", "--sandbox", "--month", "2026-08", "--out", plan]
    )
    assert "there is nothing to submit" in composed.output
    for apply in ([], ["--apply"]):
        sent = CliRunner().invoke(app, ["export", "submit", plan, "--sandbox", *apply])
        assert sent.exit_code == 0
        assert "Nothing was sent: no entry of the plan is ready." in sent.output
        assert "run again with --apply" not in sent.output
