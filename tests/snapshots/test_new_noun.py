"""A further read endpoint is one file of its noun: paging, filters, frame and snapshots follow."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from decimal import Decimal

import msgspec
import pandas as pd
import pytest
from scripted_server import answer

from bktools.contract import rules
from bktools.contract.endpoint import Endpoint
from bktools.contract.noun import Filter, Noun
from bktools.errors import ArgumentError, UnreadableAnswerError
from bktools.snapshots.options import Options
from bktools.snapshots.tables import load_table

COMPANY = "00000000-0000-4000-8000-000000000001"


class Rate(msgspec.Struct, frozen=True):
    """What a tax code charges."""

    percent: str
    since: dt.date | None = None


class TaxCode(msgspec.Struct, frozen=True, rename="camel"):
    """A tax code."""

    id: str
    company_id: str
    name: str
    archived: bool
    factor: Decimal
    rate: Rate | None = None
    notes: msgspec.Raw = msgspec.Raw(b"null")


TAX_CODES = Noun(
    "tax_codes",
    Endpoint(operation="search_tax_codes", method="GET", path="/v1/tax-codes", takes_api_key=True),
    TaxCode,
    (
        Filter("company_id", rules.uuid_text, "company_id", required=True),
        Filter("ids", rules.unique_uuids, "id"),
        Filter("archived", rules.flag, "archived"),
    ),
)
ROWS = [
    {
        "id": str(uuid.UUID(int=number + 1)),
        "companyId": COMPANY,
        "name": f"VAT {number}",
        "archived": number % 2 == 0,
        "factor": number / 8,
        "rate": {"percent": f"{number}.0", "since": "2026-01-01"} if number % 3 else None,
        "notes": {"number": number},
    }
    for number in range(30)
]


def route(asked, *, ignored: str = ""):
    """Answer `GET /v1/tax-codes`, ten rows a page, without one of the filters."""
    assert (asked.method, asked.path) == ("GET", "/v1/tax-codes")
    rows = [row for row in ROWS if "ids" not in asked.query or row["id"] in asked.query["ids"]]
    if "archived" in asked.query and ignored != "archived":
        rows = [row for row in rows if row["archived"] == json.loads(asked.one("archived"))]
    begin = int(asked.one("after") or asked.one("offset") or 0)
    page = rows[begin : begin + 10]
    envelope = {"hasNextPage": begin + 10 < len(rows), "hasPreviousPage": begin > 0, "total": len(rows)}
    envelope |= {"startCursor": str(begin + 1), "endCursor": str(begin + len(page))} if page else {}
    return answer({"data": page, "pagination": envelope})


def load(service, filters, **options):
    """Return the tax codes of a service."""
    return load_table(TAX_CODES, None, filters, Options(**options), service=service)


def test_loads_and_snapshots(served_by):
    """The frame has the record's fields; the second load is the snapshot, and history answers the past."""
    service = served_by(route)
    frame = load(service, {})
    assert frame["name"].tolist() == [row["name"] for row in ROWS]
    names = "id company_id name archived factor rate_percent rate_since notes"
    assert (" ".join(frame.columns), frame["archived"].dtype) == (names, bool)
    assert frame.loc[[0, 3], "factor"].tolist() == [Decimal(0), Decimal("0.375")]
    assert frame.loc[1, "rate_since"] == pd.Timestamp("2026-01-01")
    assert json.loads(frame.loc[3, "notes"]) == {"number": 3}
    assert frame.attrs["bktools"]["verified"] == [["ids", "filters", "total"]]
    assert load(service, {}).attrs["bktools"]["source"] == ["snapshot"]
    pd.testing.assert_frame_equal(load(service, {}, as_of=dt.datetime.now(dt.UTC)), frame)


def test_filters_are_checked_and_held_against_the_rows(served_by):
    """What the noun's file says of its filters is verified without a line of code."""
    with pytest.raises(ArgumentError, match=r"ids\[1\] must be a UUID"):
        load(served_by(route), {"ids": [COMPANY, "x"]})
    with pytest.raises(UnreadableAnswerError, match=r"filter archived .*15 of 30 tax codes do not match it"):
        load(served_by(lambda asked: route(asked, ignored="archived")), {"archived": True})
