"""The notebook of export jobs as analysts use it: in JupyterLab and Notebook 7, with a mouse."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal

import pytest
from browser import (
    NOTEBOOKS,
    browser_running,
    chromium,
    faint_texts,
    in_notebook_7,
    jupyterlab,
    page_of,
    run_all,
)
from playwright.sync_api import Browser, Page

import bktools

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        chromium() is None,
        reason="no Chromium is installed, and the grid can only be clicked in one (apt-get install chromium)",
    ),
]

PLACE = """(begin => jupyterapp.shell.currentWidget.content.widgets.findIndex(
    c => c.model.sharedModel.source.startsWith(begin)))"""
CELL = f"begin => jupyterapp.shell.currentWidget.content.widgets[{PLACE}(begin)]"
EVIL = """<img src=x onerror="document.title='taken over'">"""
GRID = """
import bktools
from bktools.sandbox import write_sample_data
entries = bktools.read_entries(write_sample_data("sample")[1])
plan = bktools.compose_export_jobs(entries)
bktools.plot_money(plan)
picker = bktools.pick_entries(plan)
display(plan, bktools.show(plan.findings, rows=8), picker)
"""
HOSTILE = f"""
import pandas as pd
evil = {EVIL!r}
marked = entries.head(5).assign(description=evil, currency=evil)
display(bktools.pick_entries(marked, selection=[True] * 5),
    bktools.compose_export_jobs(marked.assign(category_id=evil)),
    bktools.Outcomes(pd.DataFrame({{"outcome": [evil], "message": [evil]}})))
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("lab")
    with jupyterlab(home) as address:
        cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
        notebook = {
            "cells": [
                cell | {"id": f"cell-{place}", "source": source}
                for place, source in enumerate((GRID, HOSTILE))
            ],
            "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        (home / "notebooks" / "grid.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browser_running() as running:
        yield running


def _told(page: Page, begin: str) -> str:
    page.wait_for_function(
        f"document.querySelector('.bktools-picking .bktools-totals').textContent.startsWith({begin!r})"
    )
    return str(page.locator(".bktools-picking .bktools-totals").first.text_content())


def _run_again(page: Page, begin: str) -> str:
    """Run the cell that begins so, and return its output."""
    count = page.evaluate(f"({CELL})({begin!r}).model.executionCount")
    page.evaluate(f"jupyterapp.shell.currentWidget.content.activeCellIndex = {PLACE}({begin!r})")
    page.evaluate("async () => { await jupyterapp.commands.execute('notebook:run-cell'); }")
    page.wait_for_function(f"({CELL})({begin!r}).model.executionCount > {count}")
    return str(page.evaluate(f"JSON.stringify(({CELL})({begin!r}).model.outputs.toJSON())"))


def _own_keys_do_nothing(page: Page) -> bool:
    """Press keys with which a notebook adds and deletes cells; whether its cells are the same."""
    count = "jupyterapp.shell.currentWidget.content.widgets.length"
    before = page.evaluate(count)
    for key in ("a", "d", "d", "x"):
        page.keyboard.press(key)
    return bool(page.evaluate(count) == before)


@pytest.mark.timeout(180)
def test_three_entries_by_mouse_become_a_plan(lab: str, browser: Browser):
    """At 1,100 pixels: nothing is sent unselected; three clicks select, totals follow, a plan comes."""
    with page_of(browser, lab.format("03_export_jobs.ipynb"), width=1100) as page:
        run_all(page)
        assert "0 entries ready in 0 batches" in _run_again(page, "plan =")
        assert "nothing to do: no outcomes" in _run_again(page, "outcomes =")
        rows = page.locator(".bktools-picking tbody tr")
        rows.first.scroll_into_view_if_needed()
        assert rows.count() == 100
        assert page.locator(".bktools-picked").filter(visible=True).count() == 0
        # Text as it stands in the page, whether the notebook has drawn it yet or not.
        names = page.locator(".bktools-picking th").all_text_contents()
        assert names[:9] == [
            "Selected",
            "date",
            "supplier",
            "amount",
            "currency",
            "state",
            "description",
            "category",
            "account",
        ]
        picked = [rows.nth(place).locator("td").all_text_contents() for place in (0, 1, 2)]
        for place in (0, 1, 2):
            # A click while the notebook still moves what is below the last one would be another row's.
            rows.nth(place).locator("td").nth(3).click()
            said = _told(page, f"{place + 1} of 320 entries selected")
        for currency in {cells[4] for cells in picked}:
            amount = sum(Decimal(cells[3].replace(",", "")) for cells in picked if cells[4] == currency)
            assert f"{currency} {amount:,}" in said
        assert _own_keys_do_nothing(page)
        _a_table_is_sorted_and_searched(page)
        ready, waiting = re.findall(r"(\d+) entr\w+ ready.*?(\d+) not ready", _run_again(page, "plan ="))[0]
        assert int(ready) + int(waiting) == 3
        assert int(ready) == sum(cells[5].startswith("ready") for cells in picked) > 0


def _a_table_is_sorted_and_searched(page: Page) -> None:
    """A table of `show` has a field that searches all rows, headings that sort, and money in sight."""
    table = page.locator(".bktools-picker:not(.bktools-picking)").first
    table.scroll_into_view_if_needed()
    rows = table.locator("tbody tr")
    before = rows.count()
    word = str(rows.nth(0).locator("td").nth(1).text_content())
    table.get_by_label("Search all columns").fill(word)
    assert "that match, of" in str(table.locator(".bktools-bar").last.text_content())
    assert all(word.lower() in str(text).lower() for text in rows.all_text_contents())
    table.get_by_label("Search all columns").fill("")
    assert rows.count() == before
    table.locator(".bktools-sort").nth(1).click()
    assert table.locator("th").nth(1).get_attribute("aria-sort") == "ascending"
    grid = page.locator(".bktools-picking .bktools-scroll").bounding_box()
    assert grid is not None
    for name in ("date", "supplier", "amount", "currency"):
        heading = page.locator(".bktools-picking th", has_text=name).first.bounding_box()
        assert heading is not None
        assert heading["x"] + heading["width"] <= grid["x"] + grid["width"], name


def _names_are_text(page: Page) -> None:
    """Markup in names, messages and descriptions is shown as text in grid, totals and views."""
    picker = page.locator(".bktools-picking").last
    picker.locator("tbody tr").first.wait_for()
    assert "<img src=x" in picker.locator("tbody tr").first.inner_text()
    assert "<img src=x" in picker.locator(".bktools-totals").inner_text()
    assert page.locator(".jp-OutputArea img[src=x]").count() == 0
    assert page.title() != "taken over"


@pytest.mark.timeout(180)
def test_filters_keys_and_a_notebook_opened_again(lab: str, browser: Browser):
    """In Notebook 7, dark: filters, keys and headings work, no markup, a table is kept and readable."""
    notebook = in_notebook_7(lab).format("grid.ipynb")
    with page_of(browser, notebook, dark=True) as page:
        run_all(page)
        _names_are_text(page)
        picker = page.locator(".bktools-picking").first
        picker.scroll_into_view_if_needed()
        bar = picker.locator(".bktools-bar").last
        picker.get_by_label("Filter amount").fill(">1,000")
        picker.get_by_label("Filter date").fill("2026-10-01..2026-10-15")
        picker.get_by_label("Filter state").fill("ready")
        entries = bktools.read_entries(NOTEBOOKS.parent / "data" / "accounting_entries.csv")
        large = entries[(entries["amount"] > 1000) & (entries["date"] <= "2026-10-15")]
        count = picker.locator("tbody tr").count()
        assert 0 < count <= len(large)
        assert f"of {count} that match, of 320 entries" in str(bar.text_content())
        picker.get_by_role("button", name=f"Select the {count} that match").click()
        _told(page, f"{count} of 320 entries selected")
        picker.get_by_label("Filter amount").fill(">x")
        assert picker.get_by_label("Filter amount").get_attribute("aria-invalid") == "true"
        picker.get_by_label("Filter amount").fill("<0")
        assert f"{count} selected entries are hidden by the filters" in str(
            picker.locator(".bktools-totals").text_content()
        )
        picker.get_by_role("button", name="Clear selection").click()
        picker.get_by_role("button", name="Clear filters").click()
        _told(page, "none of 320")

        frame = picker.locator(".bktools-scroll")
        frame.evaluate("box => { box.scrollTop = 1500; }")
        top = frame.bounding_box()
        heading = picker.locator("thead").bounding_box()
        assert top is not None
        assert heading is not None
        assert abs(heading["y"] - top["y"]) < 3
        picker.get_by_role("checkbox", name="Select 2026").first.focus()
        for key in ("Space", "ArrowDown", "ArrowDown", "Space", "Shift+ArrowDown"):
            page.keyboard.press(key)
        said = _told(page, "3 of 320 entries selected")
        boxes = picker.locator("tbody input")
        assert [boxes.nth(place).is_checked() for place in range(5)] == [True, False, True, True, False]
        assert _own_keys_do_nothing(page)
        assert faint_texts(page, ".jp-OutputArea-output") == []
        page.wait_for_timeout(500)
        page.evaluate("async () => { await jupyterapp.commands.execute('docmanager:save'); }")
        page.evaluate("async () => { await jupyterapp.shell.currentWidget.sessionContext.shutdown(); }")
    with page_of(browser, notebook, dark=True) as page:
        kept = page.locator(".bktools-picked", has_text="entries selected").first
        kept.scroll_into_view_if_needed()
        assert said in str(kept.text_content()).replace("\xa0", " ")
        assert kept.locator("tbody tr").count() == 3
        assert page.get_by_text("Error displaying widget").filter(visible=True).count() == 0
