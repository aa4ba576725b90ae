"""The entry picker without a browser: what is selected, its totals, and the same as code."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest

import bktools
from bktools.errors import InputError
from bktools.widgets import entries as room


@pytest.fixture(scope="module")
def entries(samples: tuple[Path, Path]) -> pd.DataFrame:
    return bktools.read_entries(samples[1])


def _click(picker: bktools.widgets.entries.EntryPicker, *rows: int) -> None:
    """Do what the page does when rows are clicked."""
    picker._grid.set_state({"selected_rows": list(rows)})


def test_a_click_selects(entries: pd.DataFrame):
    """Rows clicked are the selection, its totals are exact, and the plan is of them."""
    picker = bktools.pick_entries(entries)
    assert len(picker.selection) == 0
    assert "click rows to select them" in repr(picker)
    _click(picker, 2, 0, 1)
    pd.testing.assert_frame_equal(picker.selection, entries.iloc[[0, 1, 2]])
    totals = {row["currency"]: (row["entries"], row["amount"]) for row in picker.totals.to_dict("records")}
    assert totals == {"EUR": (2, Decimal("1629.76")), "USD": (1, Decimal("1161.61"))}
    assert "3 of 320 entries selected: EUR 1,629.76 (2) · USD 1,161.61 (1)" in picker._totals.value
    plan = bktools.compose_export_jobs(entries, selection=picker.selection)
    assert set(plan.entries["id"]) == set(entries["id"].head(3))


def test_the_code_makes_the_selection_again(entries: pd.DataFrame):
    """The line of code, run, gives the same selection and the same plan."""
    picker = bktools.pick_entries(entries, selection=entries["amount"] > 2_000)
    names: dict[str, list[str]] = {}
    exec(picker.code, names)
    again = bktools.pick_entries(entries, selection=names["selection"])
    pd.testing.assert_frame_equal(again.selection, picker.selection)
    plans = [
        bktools.compose_export_jobs(entries, selection=chosen) for chosen in (names["selection"], picker.selection)
    ]
    assert plans[0].plan_id == plans[1].plan_id


@pytest.mark.parametrize("of", ["frame", "mask", "list", "ids"])
def test_selecting_without_a_mouse(entries: pd.DataFrame, of: str):
    """Everything that `compose_export_jobs` takes as a selection can be selected."""
    mask = entries["currency"] == "CHF"
    chosen = {"frame": entries[mask], "mask": mask, "list": mask.to_list(), "ids": entries["id"][mask].to_list()}[of]
    picker = bktools.pick_entries(entries)
    picker.select(chosen)
    pd.testing.assert_frame_equal(picker.selection, entries[mask])
    picker.select()
    assert len(picker.selection) == 0


def test_entries_of_any_index(entries: pd.DataFrame):
    """Rows are those clicked, whatever the frame's index is; and the frame is as it was."""
    sorted_entries = entries.sort_values("amount", ascending=False)
    before = sorted_entries.copy(deep=True)
    picker = bktools.pick_entries(sorted_entries)
    _click(picker, 0)
    assert picker.selection["amount"].item() == entries["amount"].max()
    pd.testing.assert_frame_equal(sorted_entries, before)


def test_entries_without_amounts(entries: pd.DataFrame):
    """A file of IDs alone can be picked from."""
    picker = bktools.pick_entries(entries[["id", "company_id"]])
    _click(picker, 4)
    assert repr(picker) == "EntryPicker: 1 of 320 entries selected"


def test_entries_without_a_currency_are_counted(entries: pd.DataFrame):
    """An entry that lacks its currency or its amount is in the count, and the amounts of the others stay exact."""
    awkward = entries.head(4).copy()
    awkward["currency"] = pd.array(["EUR", None, "EUR", None], dtype="str")
    awkward["amount"] = pd.array(
        [Decimal("1.10"), Decimal("2.20"), None, Decimal("4.40")], dtype=entries["amount"].dtype
    )
    picker = bktools.pick_entries(awkward, selection=[True] * 4)
    totals = {
        None if pd.isna(row["currency"]) else row["currency"]: (row["entries"], row["amount"])
        for row in picker.totals.to_dict("records")
    }
    assert totals == {"EUR": (2, Decimal("1.10")), None: (2, Decimal("6.60"))}
    assert repr(picker) == "EntryPicker: 4 of 4 entries selected: EUR 1.10 (2) · without currency 6.60 (2)"


def test_text_of_an_entry_is_no_markup(entries: pd.DataFrame):
    """What somebody wrote into a description reaches the page as text, not as markup that the browser runs."""
    wrong = entries.head(1).assign(description="<script>alert(1)</script>")
    sent = str(bktools.pick_entries(wrong)._grid.get_state()["_dt_args"])
    assert "&lt;script&gt;alert(1)" in sent
    assert "<script" not in sent


def test_names_of_categories(entries: pd.DataFrame, service: bktools.Service):
    """With categories their names are shown in place of their IDs."""
    shown = room._shown(entries, bktools.load_categories(service=service))
    assert list(shown.columns[:5]) == ["date", "amount", "currency", "category", "description"]
    assert "Reisekosten Inland" in set(shown["category"])


@pytest.mark.parametrize("kind", ["dates", "in a zone", "none"])
def test_dates_of_any_type_are_shown_as_days(entries: pd.DataFrame, kind: str):
    """Python's dates and times with a zone are shown as the days they are; no date is an empty cell."""
    of = {
        "dates": entries["date"].dt.date,
        "in a zone": (entries["date"] + pd.Timedelta(hours=23)).dt.tz_localize("America/New_York"),
        "none": pd.Series(pd.NaT, index=entries.index),
    }
    shown = room._shown(entries.assign(date=of[kind]), None)["date"]
    expected = [None] * len(entries) if kind == "none" else entries["date"].dt.strftime("%Y-%m-%d").to_list()
    assert [None if pd.isna(value) else value for value in shown] == expected


def test_refusals(entries: pd.DataFrame, monkeypatch: pytest.MonkeyPatch):
    """Too many rows, no IDs and unknown IDs are one line with the way out."""
    with pytest.raises(InputError, match="no column id"):
        bktools.pick_entries(entries.drop(columns="id"))
    with pytest.raises(InputError, match="column date of the entries holds large_string, not dates"):
        bktools.pick_entries(entries.assign(date="31.10.2026"))
    with pytest.raises(InputError, match="names unknown entries"):
        bktools.pick_entries(entries, selection=["123e4567-e89b-42d3-a456-426614174000"])
    monkeypatch.setattr(room, "MAX_ROWS", 100)
    with pytest.raises(InputError, match=r"320 entries are more than a page can show \(100\): filter them first"):
        bktools.pick_entries(entries)


def test_without_the_extra(tmp_path: Path):
    """Without the grid's library the error names the extra, and the way that needs none."""
    (tmp_path / "itables").mkdir()
    (tmp_path / "itables" / "__init__.py").write_text("raise ImportError('not installed')")
    code = (
        "import bktools, pandas as pd\n"
        "try: bktools.pick_entries(pd.DataFrame({'id': ['a'], 'company_id': ['b']}))\n"
        "except bktools.errors.ConfigurationError as error: print(error)\n"
    )
    path = f"{tmp_path}:{Path(bktools.__file__).parents[1]}"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    assert "pip install -e '.[notebook]' in the checkout" in done.stdout
