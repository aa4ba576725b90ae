"""What a plan shows, and writes."""

from __future__ import annotations

import pandas as pd
import pytest

from bktools import compose_export_jobs
from bktools.errors import PlanError, StorageError


def test_csv_holds_every_row(entries, tmp_path):
    """Four files, with as many rows as the frames."""
    plan = compose_export_jobs(entries(5, approved=[True] * 4 + [False]), max_entries=2)
    paths = plan.to_csv(tmp_path / "out")
    rows = {path.name: len(pd.read_csv(path, dtype=str)) for path in paths}
    assert rows == {"export_batches.csv": 2, "export_entries.csv": 4, "export_not_ready.csv": 1, "export_totals.csv": 1}
    assert {path.stat().st_mode & 0o777 for path in paths} == {0o600}
    assert len(list((tmp_path / "out").iterdir())) == 4


def test_a_folder_that_cannot_be_written_is_one_line(entries, tmp_path):
    """A file in the folder's place: the error names it."""
    (tmp_path / "out").touch()
    with pytest.raises(StorageError, match="cannot be written to"):
        compose_export_jobs(entries(1)).to_csv(tmp_path / "out")


def test_what_it_shows_is_escaped(entries):
    """A notebook shows counts and batches; text of the entries is no markup."""
    plan = compose_export_jobs(entries(3, approved=[True, True, False]))
    assert "2 entries ready in 1 batch, 1 not ready" in repr(plan)
    assert plan.batches["batch_id"][0] in plan._repr_html_()
    assert "<script" not in compose_export_jobs(entries(1, currency=["<script>"]))._repr_html_()


def test_an_unknown_batch_is_refused(entries):
    """There is no body for a batch that is not in the plan."""
    with pytest.raises(PlanError, match="no batch"):
        compose_export_jobs(entries(1)).body("0" * 20)
