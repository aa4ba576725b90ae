"""A noun that bktools lacks, described in one file as `bktools/contract/` describes its nouns."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import msgspec

from bktools.contract import rules
from bktools.contract.endpoint import Endpoint
from bktools.contract.noun import Filter, Noun


class Rate(msgspec.Struct, frozen=True):
    """What a tax code charges."""

    percent: str
    since: dt.date | None = None


class TaxCode(msgspec.Struct, frozen=True, rename="camel"):
    """A tax code."""

    id: str
    company_id: str
    external_id: str
    name: str
    archived: bool
    position: int
    factor: Decimal
    rate: Rate | None = None
    notes: msgspec.Raw = msgspec.Raw(b"null")


TAX_CODES = Noun(
    "tax_codes",
    Endpoint(operation="search_tax_codes", method="GET", path="/v1/tax-codes", takes_api_key=True),
    TaxCode,
    (
        Filter("company_id", rules.uuid_text, "company_id", required=True),
        Filter("ids", rules.unique_uuids, "id", "--id", "UUID of a tax code; may be repeated."),
        Filter("archived", rules.flag, "archived", "--archived/--active", "Only these."),
    ),
)
