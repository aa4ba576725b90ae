"""An argument of a close that breaks a rule is refused before anything is written to the service."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import bktools
from bktools.contract import rules
from bktools.errors import BktoolsError

LEDGER_OF_FORTNIGHTS = pd.DataFrame(
    {"account_code": ["4910"], "date": [dt.date(2026, 10, 1)], "amount": [Decimal("1.00")]}
)
LEDGER_OF_FORTNIGHTS.attrs["bktools"] = {"style": "fortnight"}
WITHOUT_CATEGORIES = pd.DataFrame(
    {"id": [str(uuid.UUID(int=1))], "company_id": [None], "date": [pd.Timestamp("2026-10-01")]}
)

TODAY = dt.datetime.now().astimezone().date()
NEXT_MONTH = rules.last_day(f"{TODAY:%Y-%m}") + dt.timedelta(days=1)
UNDATED = WITHOUT_CATEGORIES.drop(columns="date")

BROKEN = {
    "a month that has not begun": ({"month": NEXT_MONTH}, r"month must have begun: today is 20\d\d-"),
    "the approval of a month that has not ended": (
        {"month": TODAY, "approved_by": "Grace"},
        "closes .+, which has not ended",
    ),
    "neither dates nor a month": (
        {"month": None, "entries": UNDATED},
        "month must be given: the entries have no dates",
    ),
    "dates that are text": (
        {"month": None, "entries": UNDATED.assign(date="1.10.2026")},
        "column date must be a date",
    ),
    "budget without a key": ({"budget": pd.DataFrame({"amount": [1.0]})}, "no column of a key"),
    "budget without a currency": (
        {"budget": pd.DataFrame({"supplier": ["Uber"], "amount": [1.0]})},
        "budget: no column is the currency: add one",
    ),
    "budget with a text": (
        {"budget": pd.DataFrame({"supplier": ["Uber"], "currency": ["EUR"], "amount": ["much"]})},
        "amount",
    ),
    "budget with a name of no category": (
        {"budget": pd.DataFrame({"category_name": ["Hotell"], "currency": ["EUR"], "amount": [1.0]})},
        "names in category_name: .Hotell",
    ),
    "budget with a name of two categories": (
        {"budget": pd.DataFrame({"category_name": ["Flüge"], "currency": ["EUR"], "amount": [1.0]})},
        "names in category_name: .Flüge. is the name of several",
    ),
    "rates that lack a currency": ({"rates": {"EUR": 1}}, "the rates have none for"),
    "nobody who prepares it": ({"by": " "}, "by must be given"),
    "nobody who approves it": ({"approved_by": " "}, "approved_by must be given"),
    "no month": ({"month": "10/2026"}, "month must be a month such as 2026-10"),
    "no profile": ({"profile": "exel"}, "profile must be one of"),
    "no company": ({"company": "ours"}, "company must be a UUID"),
    "batches of no entry": ({"max_entries": 0}, "max_entries must be"),
    "a wait of no time": ({"wait": -1}, "wait must be"),
    "a ledger without amounts": (
        {"ledger": pd.DataFrame({"account_code": ["4910"], "date": [dt.date(2026, 10, 1)]})},
        "needs the column amount",
    ),
    "a ledger of another style": ({"ledger": LEDGER_OF_FORTNIGHTS}, "style must be one of"),
    "employees without IDs": (
        {"employees": pd.DataFrame({"email": ["a@example.com"]})},
        "needs the column id",
    ),
    "entries without categories": ({"entries": WITHOUT_CATEGORIES}, "no column category_id"),
}


@pytest.mark.parametrize(("options", "reason"), BROKEN.values(), ids=BROKEN)
def test_nothing_is_written(
    samples: tuple[Path, Path],
    sandbox: bktools.Sandbox,
    service: bktools.Service,
    options: dict[str, Any],
    reason: str,
):
    """No account was created, no job was sent, and no month is recorded."""
    chart, entries = samples
    accounts = len(bktools.load_accounts(service=service))
    with pytest.raises(BktoolsError, match=reason):
        bktools.close_month(
            bktools.read_chart_of_accounts(chart),
            apply=True,
            first_export=True,
            **{"by": "Ada", "month": "2026-10", "entries": bktools.read_entries(entries), "wait": 0}
            | options,
            service=service,
        )
    assert sandbox.server.accepted_entries() == {}
    assert bktools.load_periods(service=service).empty
    assert len(bktools.load_accounts(service=service)) == accounts
