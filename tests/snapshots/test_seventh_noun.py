"""A seventh read endpoint is one file of its noun and one route; the rest follows from them."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from decimal import Decimal

import pandas as pd
import pytest
import typer
from scripted_server import answer
from tax_codes import TAX_CODES
from typer.testing import CliRunner

import bktools
from bktools.cli.loading import loader
from bktools.errors import ArgumentError, StatusError, UnreadableAnswerError
from bktools.service.pages import pages_of
from bktools.service.service import search_of
from bktools.snapshots.options import Options
from bktools.snapshots.store import Store
from bktools.snapshots.tables import load_table

COMPANY = "00000000-0000-4000-8000-000000000001"
ROWS = [
    {
        "id": str(uuid.UUID(int=number + 1)),
        "companyId": COMPANY,
        "externalId": f"VSt {number}",
        "name": f"VAT {number}",
        "archived": number % 2 == 0,
        "position": number,
        "factor": number / 8,
        "rate": {"percent": f"{number}.0", "since": "2026-01-01"} if number % 3 else None,
        "notes": {"number": number},
    }
    for number in range(30)
]


def route(asked):
    """Answer `GET /v1/tax-codes`, ten rows a page."""
    if (asked.method, asked.path) != ("GET", "/v1/tax-codes"):
        return answer({"type": "NOT_FOUND", "message": "no such route"}, 404)
    rows = [row for row in ROWS if row["companyId"] == asked.one("companyId")]
    if "ids" in asked.query:
        rows = [row for row in rows if row["id"] in asked.query["ids"]]
    if "archived" in asked.query:
        rows = [row for row in rows if row["archived"] == json.loads(asked.one("archived"))]
    begin = int(asked.one("after") or asked.one("offset") or 0)
    page = rows[begin : begin + 10]
    envelope = {"hasNextPage": begin + 10 < len(rows), "hasPreviousPage": begin > 0, "total": len(rows)}
    envelope |= {"startCursor": str(begin + 1), "endCursor": str(begin + len(page))} if page else {}
    return answer({"data": page, "pagination": envelope})


@pytest.fixture
def service(served_by):
    return served_by(route)


def load(service, **filters):
    """Return the tax codes of a service."""
    return load_table(TAX_CODES, None, filters, Options(), service=service)


def test_pages_of_typed_records(service):
    """The method of `Service` is the noun's: filters checked, sent and decoded as its file says."""
    search = search_of(service, TAX_CODES, {"company_id": COMPANY, "archived": True})
    pages = [page for page, _ in pages_of(search)]
    assert [len(page.data) for page in pages] == [10, 5]
    assert pages[0].data[1].rate.since == dt.date(2026, 1, 1)
    with pytest.raises(ArgumentError, match=r"ids\[1\] must be a UUID"):
        load(service, ids=[COMPANY, "x"])
    with pytest.raises(StatusError, match="search_categories was answered 404"):
        bktools.load_categories(service=service)


def test_loads_and_snapshots(service):
    """The frame has the record's fields; the second load is the snapshot, and history answers the past."""
    frame = load(service)
    assert frame["name"].tolist() == [row["name"] for row in ROWS]
    names = "id company_id external_id name archived position factor rate_percent rate_since notes"
    assert list(frame.columns) == names.split()
    assert frame["archived"].dtype == bool
    assert frame.loc[[0, 3], "factor"].tolist() == [Decimal(0), Decimal("0.375")]
    assert frame.loc[1, "rate_since"] == pd.Timestamp("2026-01-01")
    assert json.loads(frame.loc[3, "notes"]) == {"number": 3}
    assert frame.attrs["bktools"]["table"] == "tax_codes"
    assert frame.attrs["bktools"]["verified"] == [["ids", "filters", "total"]]
    again = load(service)
    assert again.attrs["bktools"]["source"] == ["snapshot"]
    past = load_table(TAX_CODES, None, {}, Options(as_of=dt.datetime.now(dt.UTC)), service=service)
    pd.testing.assert_frame_equal(past, frame)
    (query,) = Store(service.settings).queries()
    assert query.table == "tax_codes"


def test_filters_are_held_against_the_rows(served_by):
    """What the noun's file says of its filters is verified without a line of code."""

    def ignores(asked):
        asked.query.pop("archived", None)
        return route(asked)

    with pytest.raises(UnreadableAnswerError, match=r"filter archived .*15 of 30 tax codes do not match it"):
        load(served_by(ignores), archived=True)


def test_the_command(service, tmp_path, monkeypatch):
    """A command with an option for each filter writes a CSV."""
    app = typer.Typer()
    app.command()(loader(TAX_CODES))
    address, csv = service.settings.base_url, tmp_path / "codes.csv"
    for name, value in {"TOKEN": "the-token", "COMPANY": COMPANY, "BASE_URL": address}.items():
        monkeypatch.setenv(f"BKTOOLS_{name}", value)
    words = f"--active --id {ROWS[1]['id']} --id {ROWS[3]['id']} --output {csv}"
    done = CliRunner().invoke(app, f"{words} --environment {address}", catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert [line.split(",")[3] for line in csv.read_text(encoding="utf-8-sig").splitlines()] == [
        "name",
        "VAT 1",
        "VAT 3",
    ]
    assert "--archived" in CliRunner().invoke(app, ["--help"]).output
