"""Entries that are in the books since an earlier month, given again: they are no spending of this close."""

from __future__ import annotations

import uuid
from pathlib import Path

import pandas as pd
import pytest

import bktools
from bktools.close.close import Close
from bktools.journal.statements import record_exported_elsewhere
from bktools.journal.writing import open_for_writing
from bktools.reports.folder import tables_of

SUPPLIER, PHONE = "Miete Altbau GmbH", "Telefon AG"
SUMMER = pd.to_datetime(["2026-06-01", "2026-07-01", "2026-08-03", "2026-09-01"])
# A rent of each month, which another system exported: October's, too.
ELSEWHERE = [*SUMMER, pd.Timestamp("2026-10-01")]
CONFLICT, NEW = 401.5, "Neu GmbH"


def _of(sample: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    rows.attrs = sample.attrs
    return rows


def _history(sample: pd.DataFrame) -> pd.DataFrame:
    rows = sample[sample["currency"] == "EUR"].dropna(subset="category_id").iloc[[0] * len(ELSEWHERE)].copy()
    return rows.assign(
        id=[str(uuid.UUID(int=number, version=4)) for number in range(1, len(rows) + 1)],
        date=ELSEWHERE,
        amount=pd.Series([9000.0] * len(rows), rows.index).astype(sample["amount"].dtype),
        supplier=SUPPLIER,
    )


@pytest.fixture(scope="module")
def october(samples: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Close]:
    """October's close by the entries alone, and with the entries that were exported elsewhere; November's."""
    root = tmp_path_factory.mktemp("earlier")
    with bktools.Sandbox(root / "sandbox", job_seconds=0) as service:
        company = service.settings.company
        chart = bktools.read_chart_of_accounts(samples[0], company=company)
        sample = bktools.read_entries(samples[1])
        # An entry whose amount differs in another line of its ID is held back, and counts once everywhere.
        unlike = sample[sample["currency"] == "EUR"].head(1).assign(amount=CONFLICT)
        sample = _of(sample, pd.concat([sample, unlike], ignore_index=True))
        history = _history(sample)
        known = history[["id", "date", "amount", "currency", "supplier", "category_id"]]
        phone = known.head(len(SUMMER)).assign(supplier=PHONE, id=[str(uuid.uuid4()) for _ in SUMMER])
        known = pd.concat([known, phone]).rename(columns={"id": "entry_id"})
        known["date"] = known["date"].dt.strftime("%Y-%m-%d")
        with open_for_writing(service.settings) as journal:
            record_exported_elsewhere(
                journal,
                company,
                [{name: str(value) for name, value in row.items()} for row in known.to_dict("records")],
                by="Ada",
                evidence="list of the old system",
            )
        both = _of(sample, pd.concat([sample, history], ignore_index=True))
        budget = pd.DataFrame({"account_code": ["4930"], "amount": [100.0], "currency": ["EUR"]})
        options = {"by": "Ada", "service": service, "folder": False, "budget": budget}
        alone = bktools.close_month(chart, sample, month="2026-10", **options)
        with_history = bktools.close_month(chart, both, month="2026-10", apply=True, **options)
        november = (
            sample[sample["currency"] == "EUR"]
            .head(2)
            .assign(
                id=[str(uuid.uuid4()) for _ in range(2)],
                date=pd.Timestamp("2026-11-04"),
                supplier=[PHONE, NEW],
            )
        )
        november = _of(sample, november)
        after = bktools.close_month(chart, november, month="2026-11", **options)
    return {"alone": alone, "with history": with_history, "november": after}


def test_they_are_in_no_figure_of_what_was_spent(october: dict[str, Close]):
    """Spent, budget, drivers and the largest entries are those without them; the rent of October counts."""
    alone, close = october["alone"], october["with history"]
    assert sum(close.entries["id"].isin(_ids(close, SUMMER))) == len(SUMMER)
    rent = 9000
    spent = close.figures.spent.amounts
    assert {**alone.figures.spent.amounts, "EUR": alone.figures.spent.amounts["EUR"] + rent} == spent
    assert close.figures.counted_earlier.amounts == {"EUR": rent * len(SUMMER)}
    assert (close.figures.largest["supplier"].to_pylist()).count(SUPPLIER) == 1
    total = {row["currency"]: row["spent"] for row in close.tables["budget_total"].to_pylist()}
    assert total["EUR"] == spent["EUR"]
    drivers = "; ".join(filter(None, tables_of(close)["budget.csv"]["drivers"].to_pylist()))
    assert drivers.count(SUPPLIER) == 1


def test_the_month_after_is_not_compared_with_them(october: dict[str, Close]):
    """November stands beside what October spent; the second line of an ID is in neither."""
    before = {change.currency: change.before for change in october["november"].figures.against}
    close = october["with history"]
    assert before["EUR"] == close.figures.spent.amounts["EUR"]
    assert close.entries.loc[close.entries["amount"] == CONFLICT, "fate"].to_list() == ["left_out"]


def test_what_another_system_exported_is_not_new(october: dict[str, Close]):
    """A supplier of an earlier month is known, whichever system exported its entries."""
    [supplier] = october["november"].figures.new["supplier"]
    assert supplier["name"] == NEW


def test_entries_of_another_system_show_what_comes_every_month(october: dict[str, Close]):
    """The first close here names the bill that the other system had each month; the rent came there."""
    close = october["alone"]
    assert PHONE in close.missing["supplier"].to_pylist()
    assert SUPPLIER not in close.missing["supplier"].to_pylist()
    usual = dict(zip(close.missing["supplier"].to_pylist(), close.missing["amount"].to_pylist(), strict=True))
    assert usual[PHONE] == 9000
    assert not any("earlier months" in phrase for phrase in close.run.unchecked)


def _ids(close: Close, days: pd.DatetimeIndex) -> pd.Series:
    return close.entries.loc[(close.entries["supplier"] == SUPPLIER) & close.entries["date"].isin(days), "id"]
