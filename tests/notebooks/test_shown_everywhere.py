"""Results outside of JupyterLab: on pages of every kind, light and dark, and in 80 columns."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from browser import FLAGS, chromium, faint_texts
from playwright.sync_api import Page, sync_playwright

import bktools
from bktools.sandbox import write_sample_ledger
from bktools.visible import width
from bktools.widgets import grid

EVIL = "<img src=x onerror=\"document.title='taken over'\">\x1b[31m 会議費の明細\u202e"

# The colours that VS Code (Modern) and marimo give a page; their text is in the page's own colour.
PLACES = {
    "VS Code, light": "<body class='vscode-light' "
    "style='--vscode-editor-background:#fff;background:#fff;color:#3b3b3b'>",
    "VS Code, dark": "<body class='vscode-dark' "
    "style='--vscode-editor-background:#1f1f1f;background:#1f1f1f;color:#ccc'>",
    "marimo, light": "<body class='light' style='--background:#fff;background:#fff;color:#1c2024'>",
    "marimo, dark": "<body class='dark' "
    "style='--background:#181c1a;background:#181c1a;color:#eceeed;color-scheme:dark'>",
    "a page, light": "<meta name='color-scheme' content='light dark'><body>",
    "a page, dark": "<meta name='color-scheme' content='light dark'><style>:root {color-scheme: "
    "light dark}</style><body>",
}


@pytest.fixture
def results(service: bktools.Service, samples: tuple[Path, Path], tmp_path: Path) -> dict[str, Any]:
    """One of each result that a notebook shows, with names that are markup, escapes and wide letters."""
    company = service.settings.company
    chart = bktools.read_chart_of_accounts(samples[0], company=company)
    entries = bktools.read_entries(samples[1])
    entries.loc[::7, "description"] = EVIL
    facts = {
        "categories": bktools.load_categories(company, service=service),
        "employees": bktools.load_employees(company, service=service),
    }
    found = bktools.reconcile_accounts(
        chart, bktools.load_accounts(company, service=service), facts["categories"]
    )
    created = bktools.create_accounts(found, apply=True, service=service)
    accounts = bktools.load_accounts(company, service=service)
    plan = bktools.compose_export_jobs(entries, accounts=accounts, **facts)
    sent = bktools.submit_export_jobs(plan, apply=True, service=service)
    history = bktools.load_export_jobs(company, entries=True, service=service)
    ledger = bktools.read_general_ledger(write_sample_ledger(history, tmp_path))
    picker = bktools.pick_entries(plan, selection=[True] * 7 + [False] * (len(entries) - 7))
    return {
        "service": service,
        "reconciliation": found,
        "plan": plan,
        "entries": bktools.show(entries, rows=8),
        "findings": bktools.show(plan.findings, rows=8),
        "accounts": bktools.Outcomes(created),
        "jobs": bktools.Outcomes(sent),
        "ledger": bktools.match_ledger(history, ledger),
        "record": bktools.record_of("2026-10", company, service=service),
        "picker": picker,
    }


def _html(result: Any) -> str:
    return result._static()["text/html"] if hasattr(result, "_static") else result._repr_html_()


def _draw_grid(page: Page, picker: Any) -> None:
    """Show the grid as anywidget does, without a kernel behind it."""
    files = Path(grid.__file__)
    page.add_style_tag(content=files.with_suffix(".css").read_text(encoding="utf-8"))
    code = base64.b64encode(files.with_suffix(".js").read_bytes()).decode()
    page.evaluate(
        """async ([code, state]) => {
            const { default: widget } = await import(`data:text/javascript;base64,${code}`);
            const model = { get: name => state[name], set() {}, save_changes() {}, on() {} };
            widget.render({ model, el: document.querySelector('#grid') });
        }""",
        [
            code,
            {
                name: getattr(picker.widget, name)
                for name in ("columns", "rows", "page", "picking", "selected", "summary", "key")
            },
        ],
    )


@pytest.mark.long
@pytest.mark.skipif(chromium() is None, reason="no Chromium is installed (apt-get install chromium)")
def test_everything_is_readable_on_every_page(results: dict[str, Any]):
    """In VS Code, marimo, exports and pages, light and dark: contrast 4.5, nothing wider than its window."""
    # Imported here: every process of the tests collects this file, and these take seconds.
    import nbformat
    from nbconvert import HTMLExporter

    parts = {name: _html(result) for name, result in results.items()}
    outputs = [nbformat.v4.new_output("display_data", {"text/html": html}) for html in parts.values()]
    outputs.append(nbformat.v4.new_output("display_data", {"text/html": "<div id='grid'></div>"}))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(outputs=outputs)])
    shown = "".join(
        f"<div class='jp-OutputArea-output'>{html}</div>"
        for html in (*parts.values(), "<div id='grid'></div>")
    )
    pages = {place: body + shown for place, body in PLACES.items()} | {
        f"nbconvert, {theme}": HTMLExporter(theme=theme).from_notebook_node(notebook)[0]
        for theme in ("light", "dark")
    }
    settings = results["service"].settings
    secrets = [secret for secret in (settings.token, settings.api_key, settings.balance_token) if secret]
    assert secrets
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = browser.new_page(viewport={"width": 900, "height": 900})
        page.route(re.compile("^https?:"), lambda route: route.abort())
        for place, html in pages.items():
            page.emulate_media(color_scheme="dark" if place.endswith("dark") else "light")
            page.set_content(html, wait_until="domcontentloaded")
            assert page.locator(".bktools-picked").is_visible(), place
            _draw_grid(page, results["picker"])
            # The kept table is for pages without the grid.
            assert not page.locator(".bktools-picked").is_visible(), place
            assert not any(secret.reveal() in html for secret in secrets), place
            assert faint_texts(page, ".jp-OutputArea-output") == [], place
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, place
            assert (
                "<img src=x"
                in page.locator(".jp-OutputArea-output").nth(list(parts).index("entries")).inner_text()
            )
            assert page.title() != "taken over"
        browser.close()


def test_a_console_of_80_columns(results: dict[str, Any], monkeypatch: pytest.MonkeyPatch):
    """On a terminal no line is too wide, left-out identifiers are named; a log has whole lines."""
    in_a_log = {name: repr(result) for name, result in results.items()}
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    for name, result in results.items():
        lines = repr(result).split("\n")
        assert max(map(width, lines)) <= 80, name
        assert not {"\x1b", "\u202e"} & set("".join(lines)), name
        if name not in {"entries", "findings"}:
            assert repr(result).split() == in_a_log[name].split(), name
    head, *lines = repr(results["entries"]).split("\n")
    left_out = lines[next(place for place, line in enumerate(lines) if "left out: " in line) :]
    assert head.split() == ["date", "supplier", "amount", "currency", "description"]
    assert (
        " ".join(map(str.strip, left_out)).partition("; ")[2]
        == "left out: cost_centre, status, approved, line, id, company_id, category_id, employee_id"
    )
    assert max(len(line) for line in in_a_log["plan"].split("\n")) > 100
    assert repr(bktools.show(pd.DataFrame({"text": ["word " * 100]}))).endswith("…")
