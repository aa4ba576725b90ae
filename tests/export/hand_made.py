"""Entries made by hand, each one ready unless a test says otherwise, and a month with everything wrong."""

from __future__ import annotations

import uuid
from decimal import Decimal

import pandas as pd
import pyarrow as pa

COMPANY = "9b2f9a3e-3f0c-4d62-8f0e-0d6f3a1c2b4d"
OTHER = "00000000-0000-4000-8000-00000000000f"


def entry_id(number: int) -> str:
    """Return the id of an entry by its number; numbers and ids sort alike."""
    return str(uuid.UUID(int=number + 1, version=4))


def entries_of(count: int, **columns: object) -> pd.DataFrame:
    """Return entries of one company: `entries_of(3, approved=[True, False, True])`."""
    frame = pd.DataFrame(
        {
            "id": [entry_id(number) for number in range(count)],
            "company_id": [COMPANY] * count,
            "date": pd.to_datetime(["2026-10-01"] * count),
            "amount": pd.array([Decimal("10.10")] * count, dtype=pd.ArrowDtype(pa.decimal128(12, 2))),
            "currency": ["EUR"] * count,
        }
    )
    return frame.assign(**columns)


def a_month(entries) -> dict[str, pd.DataFrame]:
    """Return entries with repeats, conflicts and all kinds of gaps, and all that they are checked against."""
    ids = [entry_id(1000 + number) for number in range(12)]
    frame = entries(
        120,
        company_id=[(COMPANY, OTHER, COMPANY.upper(), None)[number % 4] for number in range(120)],
        date=pd.to_datetime(
            [None if number % 11 == 0 else f"2026-10-{number % 28 + 1:02}" for number in range(120)]
        ),
        category_id=[None if number % 13 == 0 else ids[number % 12] for number in range(120)],
        employee_id=[None if number % 7 else ids[number % 12] for number in range(120)],
        approved=[None if number % 17 == 0 else number % 19 != 0 for number in range(120)],
    )
    repeated = pd.concat([frame.head(9), frame.iloc[20:24].assign(currency="USD"), frame], ignore_index=True)
    categories = pd.DataFrame(
        {"id": ids, "company_id": [COMPANY, OTHER] * 6, "archived": [False] * 10 + [True] * 2}
    )
    return {
        "entries": repeated,
        "categories": categories.assign(account_id=[*ids[:8], None, None, *ids[10:]]),
        "accounts": pd.DataFrame({"id": ids[:7], "archived": [False] * 6 + [True]}),
        "employees": pd.DataFrame({"id": ids[:6]}),
        "history": pd.DataFrame(
            {"entry_id": frame["id"][::10], "state": ["ACCEPTED", "UNKNOWN", "RELEASED"] * 4}
        ),
    }
