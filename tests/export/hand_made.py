"""Entries made by hand, each one ready unless a test says otherwise, and a month with everything wrong."""

from __future__ import annotations

import uuid
from decimal import Decimal

import pandas as pd
import pyarrow as pa
from world_files import pairs

COMPANY = "9b2f9a3e-3f0c-4d62-8f0e-0d6f3a1c2b4d"
OTHER = "00000000-0000-4000-8000-00000000000f"
CATEGORY = "00000000-0000-4000-8000-0000000000c1"
ACCOUNT = "00000000-0000-4000-8000-0000000000a1"


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


# What stands beside entries, unless a world says otherwise.
USUAL = {
    "categories": {"id": CATEGORY, "company_id": COMPANY, "archived": False, "account_id": ACCOUNT},
    "accounts": {"id": ACCOUNT, "archived": False},
    "employees": {"id": ACCOUNT},
    "history": {"entry_id": entry_id(0), "state": "ACCEPTED"},
}
NAMES = {"null": None, "true": True, "false": False, "blank": " ", "travel": CATEGORY, "account": ACCOUNT}
NAMES |= {"other": OTHER, "own": COMPANY, "entry": entry_id(0), "another": entry_id(99)}
NAMES |= {"TRAVEL": CATEGORY.upper(), "ACCOUNT": ACCOUNT.upper(), "OWN": COMPANY.upper()}
KINDS = {"amount": Decimal, "split_line": int, "split_lines": int}
KINDS |= dict.fromkeys(("date", "updated_at"), pd.Timestamp)


def named(texts: dict[str, str]) -> dict[str, str]:
    """Return texts with the IDs that names such as `travel` stand for."""
    return {name: NAMES[text] if text in ("travel", "other") else text for name, text in texts.items()}


def world_of(line: dict[str, str]) -> tuple[pd.DataFrame, dict[str, object]]:
    """Return the entries of a line of worlds, and what `compose_export_jobs` gets beside them."""

    def value(name: str, text: str) -> object:
        return NAMES[text] if text in NAMES else KINDS.get(name, str)(text)

    columns = {name: texts.split(" | ") for name, texts in pairs(line["entries"]).items()}
    count = max(map(len, columns.values()), default=1)
    columns = {"category_id": ["travel"] * count} | columns
    entries = entries_of(
        count, **{name: [value(name, text) for text in texts] for name, texts in columns.items()}
    )
    beside: dict[str, object] = {}
    for part in filter(None, line["beside"].split(" / ")):
        noun, _, given = part.partition(" ")
        if noun in USUAL:
            cells = {name: texts.split(" | ") for name, texts in pairs(given).items()}
            rows = range(max(map(len, cells.values()), default=1))
            own = {
                name: [value(name, texts[row % len(texts)]) for row in rows] for name, texts in cells.items()
            }
            beside[noun] = pd.DataFrame([USUAL[noun] for _ in rows]).assign(**own)
        else:
            beside[noun] = [value(noun, given)] if noun == "exported_elsewhere" else value(noun, given)
    return entries.assign(date=pd.to_datetime(entries["date"])), beside


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
