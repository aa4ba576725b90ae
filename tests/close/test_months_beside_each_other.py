"""Two months closed from files: what was spent, computed with plain pandas, and a late entry."""

from __future__ import annotations

import uuid

import pandas as pd
import pytest

import bktools
from bktools.close.sentences import said


@pytest.fixture
def files(samples, tmp_path, service):
    """September, half of the sample's purchases, and October with an entry of September that came late."""
    october = pd.read_csv(samples[1], dtype=str, encoding="utf-8-sig")
    date, ids = october.columns[october.columns.str.contains("date")][0], october.columns[0]
    september = october.iloc[::2].copy()
    moved = pd.to_datetime(september[date]) - pd.DateOffset(months=1)
    september[date] = moved.dt.strftime("%Y-%m-%d")
    september[ids] = [str(uuid.uuid5(uuid.NAMESPACE_OID, text)) for text in september[ids]]
    late = october[october["status"] == "approved"].head(1).copy()
    late[ids], late[date] = str(uuid.UUID(int=7 << 76 | 8 << 60)), "2026-09-30"
    late["amount"] = "4321.09"
    paths = {}
    for name, frame in (("2026-09", september), ("2026-10", pd.concat([october, late]))):
        paths[name] = tmp_path / f"{name}.csv"
        frame.to_csv(paths[name], index=False)
    return paths


def spent(path, company) -> dict[str, float]:
    """Return what a file of one month says was spent, by currency, without copies and other companies."""
    rows = pd.read_csv(path)
    rows = rows[rows["company_id"] == company].drop_duplicates()
    return rows.groupby("currency")["amount"].sum().round(2).to_dict()


def test_a_month_is_compared_with_the_one_before_by_what_was_spent(files, closed, service):
    """Whatever was exported or held back in each; a late entry is of the month that took it."""
    closes = {
        month: closed(bktools.read_entries(path), month=month, apply=True, by="Ada", approved_by=approver)
        for (month, path), approver in zip(files.items(), ("Grace", None), strict=True)
    }
    company = service.settings.company
    before, now = (spent(path, company) for path in files.values())
    close = closes["2026-10"]
    assert (close.last_month, closes["2026-09"].record.state) == ("2026-09", "CLOSED")
    lines = {line.currency: line for line in close.figures.against}
    assert {name: float(line.now) for name, line in lines.items()} == now
    assert {name: float(line.before) for name, line in lines.items() if line.before} == before
    euro = lines["EUR"]
    assert float(euro.share) == round((now["EUR"] - before["EUR"]) / before["EUR"] * 100, 1)
    [late] = [action for action in close.actions if action.code == "closed_period"]
    assert said(close.words, late)[1:] == (
        "Book it in October 2026",
        "2026-09-30, Deutsche Bahn, EUR 4,321.09",
        "September 2026 is closed: October 2026 takes the entry",
    )
