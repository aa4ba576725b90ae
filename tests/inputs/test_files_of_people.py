"""Files as people have them, with what is right beside each in `files/expected.json`."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pandas as pd
import pytest
from bktools.inputs.chart_of_accounts import read_chart_of_accounts
from bktools.inputs.entries import read_entries

from bktools.errors import GuessedEncodingWarning, InputError
from bktools.export import compose_export_jobs

FOLDER = Path(__file__).with_name("files")
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
COMPANY = "6fa459ea-ee8a-4ca4-894e-db77e160355e"
IDS = [f"1b4e28ba-2fa1-41d2-883f-0016d3cca42{digit}" for digit in range(3)]
CATEGORIES = pd.DataFrame({"id": IDS, "company_id": COMPANY, "name": ["Travel", "Meals", "Software"]})
EMPLOYEES = pd.DataFrame(
    {"id": IDS[:2], "company_id": COMPANY, "email": ["anna@example.com", "bo@example.com"]}
)


def of_kind(kind):
    return [name for name, right in EXPECTED.items() if right["kind"] == kind]


def read(reader, name, **options):
    """Read a file, or return the refusal where that is right, too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GuessedEncodingWarning)
        try:
            return reader(FOLDER / name, **options)
        except InputError as error:
            assert EXPECTED[name].get("or_refused"), str(error)  # noqa: PT017 - the refusal is one of two right outcomes
            assert "encoding=" in str(error) or error.proposal  # noqa: PT017 - as above
            return None


@pytest.mark.parametrize("name", of_kind("chart"))
def test_charts(name):
    """Each chart reads as noted beside it, or is refused; with an option it reads the same."""
    for columns in (None, EXPECTED[name].get("options")):
        chart = read(read_chart_of_accounts, name, columns=columns)
        if chart is not None:
            codes = [None if pd.isna(code) else code for code in chart["code"]]
            assert [list(pair) for pair in zip(codes, chart["name"], strict=True)] == EXPECTED[name][
                "accounts"
            ]


@pytest.mark.parametrize("name", of_kind("entries"))
def test_entries(name):
    """Each file of entries has the noted amounts, dates and columns, and the noted reasons."""
    right = EXPECTED[name]
    frames = {"categories": CATEGORIES, "employees": EMPLOYEES} if "needs" in right else {}
    entries = read(read_entries, name, company=COMPANY, **frames)
    if entries is None:
        return
    assert entries["amount"].tolist() == [float(amount) for amount in right["amounts"]]
    if "dates" in right:
        assert entries["date"].dt.strftime("%Y-%m-%d").tolist() == right["dates"]
    recognised = entries.attrs["bktools"]["columns"]
    kept = {*entries.columns, *(heading for field, heading in recognised.items() if field in entries)}
    assert set(right.get("passed_through", [])) <= kept
    if "not_ready" in right:
        assert set(compose_export_jobs(entries).not_ready["reason"]) == {right["not_ready"]}
    else:
        assert entries["category_id"].tolist() == [IDS[0], IDS[1], IDS[2], IDS[0]]
        assert entries["employee_id"].tolist() == [IDS[0], IDS[1], IDS[0], IDS[1]]
