"""The notebook of export jobs as an analyst has it: in JupyterLab, in a browser, with a mouse."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import chromium, jupyterlab, page_of, run_all

pytestmark = pytest.mark.skipif(
    chromium() is None,
    reason="no Chromium is installed, and the grid can only be clicked in one (apt-get install chromium)",
)

EVIL = """<img src=x onerror="document.title='taken over'">"""
HOSTILE = f"""
import bktools, pandas as pd
evil = {EVIL!r}
entries = bktools.read_entries("sample/accounting_entries.csv").head(5).assign(description=evil, currency=evil)
picker = bktools.pick_entries(entries, selection=[True] * 5)
display(picker, bktools.compose_export_jobs(entries.assign(category_id=evil)), bktools.Outcomes(
    pd.DataFrame({{"outcome": [evil], "message": [evil]}})))
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("lab")
    with jupyterlab(home) as address:
        cell = {"cell_type": "code", "id": "a", "metadata": {}, "outputs": [], "execution_count": None}
        notebook = {
            "cells": [cell | {"source": f"import bktools.reports.outcomes\nfrom bktools.sandbox import write_sample_data\nwrite_sample_data('sample')\n{HOSTILE}"}],
            "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
            "nbformat": 4,
            "nbformat_minor": 5,
        }  # fmt: skip
        (home / "notebooks" / "hostile.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
        yield address


@pytest.mark.timeout(180)
def test_three_entries_by_mouse_become_a_plan(lab: str, tmp_path: Path):
    """All cells run, the grid shows, three clicks select, the totals follow, and the plan is of those three."""
    with page_of(lab.format("03_export_jobs.ipynb")) as page:
        run_all(page)
        rows = page.locator(".bktools-picker tbody tr")
        rows.first.scroll_into_view_if_needed()
        rows.first.wait_for()
        assert rows.count() == 10
        # Text as it stands in the page, whether the notebook has drawn it yet or not.
        picked = [rows.nth(place).locator("td").all_text_contents() for place in (0, 1, 2)]
        for place in (0, 1, 2):
            rows.nth(place).locator("td").nth(1).click()
        totals = page.locator(".bktools-totals")
        page.wait_for_function(
            "document.querySelector('.bktools-totals').textContent.startsWith('3 of 320 entries selected')"
        )
        said = totals.text_content()
        for currency in {cells[2] for cells in picked}:
            amount = sum(float(cells[1].replace(",", "")) for cells in picked if cells[2] == currency)
            assert f"{currency} {amount:,.2f}" in said
        page.screenshot(path=tmp_path / "picked.png")

        cell = page.locator(".jp-CodeCell", has_text="plan = bktools.compose_export_jobs(entries, selection")
        cell.scroll_into_view_if_needed()
        cell.locator(".cm-content").click()
        page.keyboard.press("Shift+Enter")
        page.wait_for_function(
            """() => jupyterapp.shell.currentWidget.content.widgets.some(c => c.model.type === 'code'
                && c.model.sharedModel.source.startsWith('selection =') && c.model.executionCount > 11
                && c.model.outputs.length > 0)"""
        )
        text = cell.locator(".jp-OutputArea").inner_text()
        page.screenshot(path=tmp_path / "plan.png")
        ready, waiting = (int(number) for number in re.findall(r"(\d+) entries ready.*?(\d+) not ready", text)[0])
        assert ready + waiting == 3
        assert ready > 0


@pytest.mark.timeout(180)
def test_names_are_text_and_never_markup(lab: str):
    """Markup in names, messages and descriptions is shown as it stands, in the grid, its totals and the views."""
    with page_of(lab.format("hostile.ipynb")) as page:
        run_all(page)
        page.locator(".bktools-picker tbody tr").first.wait_for()
        assert "<img src=x" in page.locator(".bktools-picker tbody tr td").nth(2).inner_text()
        assert "<img src=x" in page.locator(".bktools-totals").inner_text()
        assert page.locator(".jp-OutputArea img[src=x]").count() == 0
        assert page.title() != "taken over"
