"""`report.html`: its figures against the month's table, hostile names as text, and the page in Chromium."""

from __future__ import annotations

import base64
import hashlib
import itertools
import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from page import Page

from bktools.close.close import Close
from bktools.frames.tables import with_column
from bktools.reports import html
from bktools.reports.folder import REPORT
from bktools.reports.html import report_of
from bktools.wording import words
from bktools.wording.numbers import MINUS, capitalized

ENGLISH = words("en")
MOST_PAGES = 8
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</script></style></table><h1>gone</h1>",
    "=SUM(A1:A9)",
    "\x1b[31mred\x1b[0m",
    "\u202egnp.exe",
    "عشاء عمل 12",
    "javascript:alert(1)",
    "&lt;b&gt; &amp;",
    "{{7*7}} ${7*7}",
]


@pytest.fixture(scope="module")
def report(folder: Path) -> Path:
    return folder / REPORT


@pytest.fixture(scope="module")
def parsed(report: Path) -> Page:
    return Page(report)


def _changed(close: Close, **columns: Any) -> Close:
    """Return a close whose entries have other values in some columns."""
    table = close.tables["entries"]
    for name, values in columns.items():
        table = table.set_column(
            table.column_names.index(name), name, pa.array(values, table.schema.field(name).type)
        )
    figures = replace(close.figures, entries=table)
    return replace(close, tables={**close.tables, "entries": table}, figures=figures)


def _reason(entry: dict[str, Any]) -> str:
    return capitalized(ENGLISH.name("entry", entry["reason"])) if entry["reason"] else ""


def test_nobody_reads_a_uuid(parsed: Page, close: Close):
    """Identifiers are in titles and in commands to copy, never in the text of the page."""
    commands = " ".join(action.command for action in close.actions)
    assert [found[0] for found in UUID.finditer(parsed.text) if found[0] not in commands] == []


# The columns of a close's tables that hold names that people and other companies chose.
NAMED = {"name", "category_name", "account_name", "employee_name", "supplier", "description", "prepared_by"}


def _named(close: Close, names: list[str]) -> Close:
    """Return a close in whose tables and actions these names stand in turn, also that of its company."""

    def renamed(table: pa.Table) -> pa.Table:
        for column in sorted(NAMED & {*table.column_names}):
            texts = [names[place % len(names)] for place in range(len(table))]
            table = with_column(table, column, pa.array(texts, pa.large_string()))
        return table

    record = replace(close.record, tables={name: renamed(one) for name, one in close.record.tables.items()})
    tables = {name: renamed(table) for name, table in close.tables.items()}
    turn, actions = itertools.cycle(names), []
    for action in close.actions:
        named = [
            {key: next(turn) if key in NAMED else text for key, text in one.name.items()}
            for one in action.things
        ]
        things = tuple(replace(one, name=name) for one, name in zip(action.things, named, strict=True))
        actions.append(replace(action, things=things))
    shown = {"figures": replace(close.figures, entries=tables["entries"]), "actions": tuple(actions)}
    return replace(close, tables=tables, record=record, company_name=names[2], **shown)


@pytest.fixture(scope="module")
def hostile(close: Close, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / REPORT
    path.write_bytes(report_of(_named(close, HOSTILE)))
    return path


def test_hostile_names_are_text(close: Close, hostile: Path):
    """Whatever a name contains is shown as it is, or as an escape; it makes no element and no attribute."""
    page = Page(hostile)
    usual = Page(report_of(_named(close, [f"name {place}" for place in range(len(HOSTILE))])))
    kinds = [[(tag, sorted(given)) for tag, given in one.elements] for one in (page, usual)]
    assert sorted(map(str, kinds[0])) == sorted(map(str, kinds[1]))
    for table in ("entries-table", "categories-table", "closes-table", "largest", "to-do-service"):
        assert HOSTILE[0] in str(page.tables[table]), table
    for name in HOSTILE:
        assert name.replace("\x1b", "\\x1b").replace("\u202e", "\\u202e") in page.text
    content = hostile.read_text(encoding="utf-8")
    assert not set(content) & {"\x1b", "\u202e"}
    assert "<script>alert" not in content
    style = content.partition("<style>")[2].partition("</style>")[0]
    assert style.count('"') % 2 == 0
    assert "gone" in style, "the company is in the head of each printed page"


def test_nothing_but_its_own_script_may_run(report: Path, parsed: Page):
    """The policy names the digests of one style and one script; no address, handler or style attribute."""
    content = report.read_bytes().decode()
    policy = next(given["content"] for tag, given in parsed.elements if "http-equiv" in given)
    for tag in ("style", "script"):
        inner = re.findall(rf"<{tag}>(.*?)</{tag}>", content, re.DOTALL)
        assert len(inner) == 1
        digest = base64.b64encode(hashlib.sha256(inner[0].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; img-src data:;")
    for _, given in parsed.elements:
        assert not [name for name in given if name.startswith("on") or name == "style"]
        assert all(
            (given.get(name) or "#").startswith(("#", "data:image/png;base64,")) for name in ("href", "src")
        )
    assert not re.search(r"innerHTML|insertAdjacent|document\.write|eval\(", content)


def test_tables_are_readable_without_sight(parsed: Page):
    """Each table has language, caption and headings with a scope; each picture has an alternative text."""
    assert ("html", {"lang": "en"}) in parsed.elements
    assert set(parsed.captions) == set(parsed.tables)
    assert all(given["scope"] in {"col", "row"} for tag, given in parsed.elements if tag == "th")
    pictures = [given for tag, given in parsed.elements if tag == "img"]
    assert pictures
    assert all(given["alt"] for given in pictures)


def test_a_large_close_is_bounded_and_says_where_the_rest_is(close: Close):
    """2,560 entries: 2,000 rows, with some of every fate and reason; the figures are of all of them."""
    entries = pa.concat_tables([close.tables["entries"]] * 8)
    figures = replace(close.figures, entries=entries)
    large = replace(close, tables={**close.tables, "entries": entries}, figures=figures)
    report = report_of(_changed(large, id=[str(uuid.uuid4()) for _ in range(len(entries))]))
    page = Page(report)
    rows = page.rows("entries-table")
    assert len(rows) == html.SHOWN_ROWS
    assert f"This page has 2,000 of {len(entries):,} rows. All are in entries.csv." in page.text
    # Behind a reason stands what is to be done.
    reasons = {_reason(entry) for entry in entries.to_pylist()}
    assert {max(filter(row["Reason"].startswith, reasons), key=len) for row in rows} == reasons
    waits = [row["Status"] == "held back" for row in rows]
    assert waits == sorted(waits, reverse=True), "what waits for a person comes first, and is printed"
    statement = {row[""]: row["Entries"] for row in page.rows("statement")}
    assert statement["All entries"] == f"{len(entries):,}"
    assert len(report) < 4_000_000


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open a page, which has no errors, violations of the policy, dialogs and requests until the end."""
    complaints: list[str] = []
    pages = []

    def opened(path: Path, **options: Any) -> Any:
        page = browser.new_page(**options)
        pages.append(page)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on(
            "request",
            lambda sent: complaints.append(sent.url) if not sent.url.startswith(("data:", "file:")) else None,
        )
        page.add_init_script(
            "document.addEventListener('securitypolicyviolation', e => console.log(e.violatedDirective))"
        )
        page.goto(path.as_uri())
        return page

    yield opened
    for page in pages:
        page.close()
    assert complaints == []


def _column(page: Any, place: int) -> list[str]:
    script = f"rows => rows.filter(r => !r.hidden).map(r => r.cells[{place}].textContent)"
    found: list[str] = page.eval_on_selector_all("#entries-table tbody tr", script)
    return found


@pytest.mark.long
def test_sorting_and_filtering_with_the_mouse(opened: Callable[..., Any], report: Path, close: Close):
    """Amounts are sorted by value, in both directions; filters count the rows and add up amounts exactly."""
    page = opened(report)
    heading = page.locator("#entries-table th.amount")
    place = heading.evaluate("head => head.cellIndex")
    for direction, falling in (("ascending", False), ("descending", True)):
        heading.get_by_role("button").click()
        assert heading.get_attribute("aria-sort") == direction
        amounts = [Decimal(text.replace(",", "").replace(MINUS, "-")) for text in _column(page, place)]
        assert amounts == sorted(amounts, reverse=falling)
    section = page.locator("section.entries")
    section.get_by_label("Currency").select_option(label="CHF")
    section.get_by_label("Status").select_option(label="held back")
    frame = close.entries[(close.entries["currency"] == "CHF") & (close.entries["fate"] == "held_back")]
    status = section.get_by_role("status")
    assert status.inner_text() == f"{len(frame)} of 320 rows · CHF {frame['amount'].sum():,}"
    section.get_by_role("button", name="Show all rows").click()
    assert status.inner_text().startswith("320 of 320 rows · ")
    section.get_by_label("Find").fill("KÖLN")
    texts = close.entries.select_dtypes("str").filter(regex="name$|supplier|description|cost_centre")
    wanted = texts.fillna("").agg(" ".join, axis="columns").str.lower().str.contains("köln").sum()
    assert len(_column(page, 0)) == wanted > 0


@pytest.mark.long
def test_drilling_down_by_mouse_and_keyboard(opened: Callable[..., Any], report: Path, close: Close):
    """A card, a reason, an action, a job and a category lead to their entries; the focus goes with them."""
    page = opened(report)
    status = page.locator("section.entries").get_by_role("status")
    page.locator(".card").get_by_role("link", name="Held back").click()
    assert status.inner_text().startswith("Held back: 93 of 320 rows")
    page.locator("#statement").get_by_role("link", name="Archived category", exact=True).click()
    count = (close.entries["reason"] == "archived_category").sum()
    assert status.inner_text().startswith(f"Archived category: {count} of 320 rows")
    assert page.evaluate("document.activeElement.textContent") == "Entries"
    assert page.evaluate("location.hash") == "#entries"
    action = page.locator("section.to-do a").first
    action.click()
    assert f"{action.inner_text()} of 320 rows" in status.inner_text()
    page.locator("#jobs-table").get_by_role("link").last.focus()
    page.keyboard.press("Enter")
    jobs = [str(job.entries) for job in close.figures.jobs]
    assert status.inner_text().startswith("export job of 20")
    assert f": {jobs[-1]} of 320 rows" in status.inner_text()
    link = page.locator("#categories-table tbody a").first
    name, entries = link.inner_text(), int(link.evaluate("a => a.closest('tr').cells[3].textContent"))
    link.focus()
    page.keyboard.press("Enter")
    assert status.inner_text().startswith(f"{name}: {entries} of 320 rows")
    # By keyboard from the heading of the section to the first control, and on to the headings of the table.
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.type") == "search"
    page.locator("#entries-table th button").first.focus()
    page.keyboard.press("Space")
    assert page.locator("#entries-table th").first.get_attribute("aria-sort") == "ascending"


@pytest.mark.long
def test_it_prints_on_few_pages(opened: Callable[..., Any], report: Path):
    """At most 8 pages of A4, each with month, company and state; 20 rows a table, the rest named."""
    page = opened(report)
    pdf = page.pdf(prefer_css_page_size=True)
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= MOST_PAGES
    found = re.findall(rb"/MediaBox\s*\[([^\]]+)\]", pdf)
    boxes = {tuple(map(round, map(float, box.split()))) for box in found}
    assert boxes <= {(0, 0, 842, 595), (0, 0, 842, 596)}
    style = report.read_text(encoding="utf-8").partition("@top-left")[2].partition("}")[0]
    assert "Month\\00002dend\\000020October\\0000202026" in style
    page.emulate_media(media="print")
    assert page.locator("#entries-table tbody tr:visible").count() == html.PRINTED_ROWS
    note = page.locator("section.entries .printed:visible").last.inner_text()
    assert note == "On paper: the first 20 rows. All are in entries.csv."
    assert page.locator("button:visible, input:visible, select:visible").count() == 0


@pytest.mark.long
def test_on_a_phone_the_first_screen_says_what_to_do(opened: Callable[..., Any], report: Path):
    """390 pixels wide: nothing is wider than the screen, and the first three things to do are on it."""
    page = opened(report, viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    shown = page.locator("td:visible, th:visible").evaluate_all(
        "cells => cells.map(cell => [cell.getBoundingClientRect().right, cell.offsetHeight, cell.innerText])"
    )
    assert all(right <= 390 for right, *_ in shown), "no cell is cut"
    assert all(height < 100 for _, height, text in shown if len(text) < 30), "no row is white"
    values = page.locator(".who td.money").all_inner_texts()
    assert values
    assert all("EUR" in value for value in values)
    read = "items => items.map(item => item.getBoundingClientRect().bottom)"
    bottoms = page.locator(".first li").evaluate_all(read)
    assert len(bottoms) == 3
    assert max(bottoms) <= 844
