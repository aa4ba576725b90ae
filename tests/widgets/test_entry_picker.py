"""The entry picker without a browser: what is selected, its totals, and the same as code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import bktools
from bktools.caller import install_command
from bktools.errors import InputError
from bktools.frames.schema import STRINGS
from bktools.widgets import entries as room
from bktools.widgets import grid


@pytest.fixture(scope="module")
def entries(samples: tuple[Path, Path]) -> pd.DataFrame:
    return bktools.read_entries(samples[1])


def _click(picker: bktools.widgets.entries.EntryPicker, *rows: int) -> None:
    """Do what the page does when rows are clicked."""
    picker.widget.set_state({"selected": list(rows)})


def test_a_click_selects(entries: pd.DataFrame):
    """Rows clicked are the selection, its totals are exact, and the plan is of them."""
    picker = bktools.pick_entries(entries)
    assert len(picker.selection) == 0
    assert "click rows, or press Space on one, to select" in picker.widget.summary
    assert repr(picker) == "EntryPicker: none of 320 entries selected"
    assert picker._display_() is picker.widget, "marimo shows the grid, too"
    _click(picker, 2, 0, 1)
    pd.testing.assert_frame_equal(picker.selection, entries.iloc[[0, 1, 2]])
    _click(picker, 0, 1, 4)
    totals = {row["currency"]: (row["entries"], row["amount"]) for row in picker.totals.to_dict("records")}
    assert totals == {"EUR": (2, 217.76), "JPY": (1, 3590.0)}
    assert picker.widget.summary == "3 of 320 entries selected: EUR 217.76 (2) · JPY 3,590 (1)"
    plan = bktools.compose_export_jobs(entries, selection=picker.selection)
    assert set(plan.entries["id"]) == set(entries["id"].iloc[[0, 1, 4]])


def test_the_code_makes_the_selection_again(entries: pd.DataFrame):
    """The line of code, run, gives the same selection and the same plan."""
    picker = bktools.pick_entries(entries, selection=entries["amount"] > 2_000)
    names: dict[str, list[str]] = {}
    exec(picker.code, names)
    again = bktools.pick_entries(entries, selection=names["selection"])
    pd.testing.assert_frame_equal(again.selection, picker.selection)
    plans = [
        bktools.compose_export_jobs(entries, selection=chosen)
        for chosen in (names["selection"], picker.selection)
    ]
    assert plans[0].plan_id == plans[1].plan_id


@pytest.mark.parametrize("of", ["frame", "mask", "list", "ids"])
def test_selecting_without_a_mouse(entries: pd.DataFrame, of: str):
    """Everything that `compose_export_jobs` takes as a selection can be selected."""
    mask = entries["currency"] == "CHF"
    ids = entries["id"][mask].to_list()
    chosen = {"frame": entries[mask], "mask": mask, "list": mask.to_list(), "ids": ids}[of]
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


def test_a_split_entry_is_selected_as_a_whole(entries: pd.DataFrame):
    """A click on a line selects all lines of its entry, whose ID may be in capitals; a repeat is another."""
    lines = entries.head(4).assign(split_line=[1, 2, 0, 0], split_lines=[2, 2, 0, 0])
    lines.loc[1, "id"] = lines["id"][0].upper()
    lines.loc[3, "id"] = lines["id"][2]
    picker = bktools.pick_entries(lines)
    _click(picker, 0)
    assert picker.selection.index.to_list() == [0, 1]
    assert picker.widget.summary.startswith("1 of 3 entries selected")
    _click(picker, 2)
    assert picker.selection.index.to_list() == [2]
    assert picker.totals["entries"].to_list() == [1]


def test_entries_without_a_currency_are_counted(entries: pd.DataFrame):
    """An entry without currency or amount is in the count, and other amounts stay exact."""
    awkward = entries.head(4).copy()
    awkward["currency"] = pd.array(["EUR", None, "EUR", None], dtype=STRINGS)
    awkward["amount"] = [1.1, 2.2, None, 4.4]
    picker = bktools.pick_entries(awkward, selection=[True] * 4)
    totals = {row["currency"]: (row["entries"], row["amount"]) for row in picker.totals.to_dict("records")}
    assert totals == {"EUR": (2, 1.1), "no currency": (2, 6.6)}
    assert repr(picker) == "EntryPicker: 4 of 4 entries selected: EUR 1.10 (2) · no currency 6.60 (2)"
    with pytest.raises(InputError, match="amount must be an exact number, is text"):
        bktools.pick_entries(awkward.assign(amount=["0.5"] * 4))


def test_text_of_an_entry_is_no_markup(entries: pd.DataFrame):
    """What somebody wrote into a description is text: markup is escaped, directions and escapes are shown."""
    wrong = entries.head(1).assign(description="<script>alert(1)</script>\x1b[31m\u202e")
    picker = bktools.pick_entries(wrong, selection=[True])
    kept = picker._static()["text/html"]
    assert "&lt;script&gt;alert(1)" in kept
    assert "<script" not in kept
    for text in (str(picker.widget.rows), kept):
        assert not {"\x1b", "\u202e"} & set(text)
    # The page writes cells as text, never as markup.
    assert not re.search(
        "innerHTML|insertAdjacentHTML|outerHTML|eval", Path(grid.__file__).with_suffix(".js").read_text()
    )


def test_a_plan_shows_ready_or_why_not_with_names(entries: pd.DataFrame, service: bktools.Service):
    """Names come first, identifiers are hidden; each entry is ready or says why it is not."""
    categories, employees = bktools.load_categories(service=service), bktools.load_employees(service=service)
    plan = bktools.compose_export_jobs(entries, categories=categories, employees=employees)
    picker = bktools.pick_entries(plan)
    labels = [column["label"] for column in picker.widget.columns if not column["hidden"]]
    names = "date, supplier, amount, currency, state, description, category, employee, cost centre"
    assert ", ".join(labels) == names
    assert picker.entries["id"].to_list() == entries["id"].to_list()
    reasons = dict(zip(plan.not_ready["line"], plan.not_ready["reason"], strict=True))
    names = dict(zip(categories["id"], categories["name"], strict=True))
    for row, line, category in zip(picker.widget.rows, entries["line"], entries["category_id"], strict=True):
        assert row[4].split("\n")[0] == reasons.get(line, "ready").replace("_", " ")
        assert row[6] == names.get(category, "")
    told = dict(zip(plan.not_ready["line"], plan.not_ready["message"], strict=True))
    assert picker.widget.rows[10][4] == f"not approved\n{told[entries['line'][10]]}"
    picker.select(entries["currency"] == "JPY")
    pd.testing.assert_series_equal(picker.selection["id"], entries[entries["currency"] == "JPY"]["id"])


def test_what_was_picked_stays_in_the_notebook(entries: pd.DataFrame):
    """The static table follows the selection: names and money of the rows, without identifiers."""
    picker = bktools.pick_entries(entries)
    assert "<b>none of 320 entries selected</b>" in picker._static()["text/html"]
    _click(picker, 4)
    kept = picker._static()["text/html"]
    assert "1 of 320 entries selected: JPY\N{NO-BREAK SPACE}3,590 (1)" in kept
    assert "Tokyo Kotsu Taxi" in kept
    assert entries["id"][4] not in kept


def test_refusals(entries: pd.DataFrame, monkeypatch: pytest.MonkeyPatch):
    """Too many rows, no IDs and unknown IDs are one line with the way out."""
    with pytest.raises(InputError, match="no column id"):
        bktools.pick_entries(entries.drop(columns="id"))
    with pytest.raises(InputError, match="entries: column date must be a date, is text"):
        bktools.pick_entries(entries.assign(date="31.10.2026"))
    with pytest.raises(InputError, match="names unknown entries"):
        bktools.pick_entries(entries, selection=["123e4567-e89b-42d3-a456-426614174000"])
    monkeypatch.setattr(room, "MAX_ROWS", 100)
    with pytest.raises(InputError, match=r"320 entries are more than .* \(100\): filter them first"):
        bktools.pick_entries(entries)


def test_without_the_extra(tmp_path: Path):
    """Without the grid's library the error names the extra, and the way that needs none."""
    (tmp_path / "anywidget").mkdir()
    (tmp_path / "anywidget" / "__init__.py").write_text("raise ImportError('not installed')")
    code = (
        "import bktools, pandas as pd\n"
        "try: bktools.pick_entries(pd.DataFrame({'id': ['a'], 'company_id': ['b']}))\n"
        "except bktools.errors.ConfigurationError as error: print(error)\n"
    )
    path = f"{tmp_path}:{Path(bktools.__file__).parents[1]}"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    assert f"needs the extra notebook: {install_command('notebook')} (without it" in done.stdout
