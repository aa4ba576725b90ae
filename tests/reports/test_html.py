"""`report.html`: its figures against the frames, hostile names as text, and the page in Chromium."""

from __future__ import annotations

import base64
import hashlib
import re
import sys
import uuid
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from october import October

import bktools
from bktools.frames.currencies import shown
from bktools.frames.schema import ACCOUNTS, to_arrow, to_pandas
from bktools.reports import html
from bktools.reports.close import Close
from bktools.reports.figures import sums_of
from bktools.reports.html import write_report
from bktools.reports.month_end import REPORT
from bktools.reports.pictures import PICTURES

sys.path.append(str(Path(__file__).parents[1] / "notebooks"))
from browser import FLAGS, chromium

VOID = {"meta", "img", "input", "link", "br"}
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


class Page(HTMLParser):
    """The elements of a page, and the texts of its tables: a list of rows for each, by its ID."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, Any]]] = []
        self.open: list[str] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.captions: dict[str, str] = {}
        self.text = ""
        self.name = ""
        self.feed(path.read_text(encoding="utf-8"))
        assert self.open == [], "an element is not closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element, and begin a table, a row or a cell."""
        given = dict(attrs)
        self.elements.append((tag, given))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.name = given["id"] or ""
            self.tables[self.name] = []
        if tag == "tr":
            self.tables[self.name].append([])
        if tag in {"td", "th"}:
            self.tables[self.name][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        """Check that the innermost element ends."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note a text, in its cell."""
        if self.open and self.open[-1] in {"style", "script"}:
            return
        self.text += data
        if "caption" in self.open:
            self.captions[self.name] = data
        if {"td", "th"} & {*self.open}:
            self.tables[self.name][-1][-1] += data

    def rows(self, name: str) -> list[dict[str, str]]:
        """Return the rows of a table by heading."""
        heads, *rows = self.tables[name]
        return [dict(zip(heads, row, strict=True)) for row in rows]


@pytest.fixture(scope="module")
def report(folder: Path) -> Path:
    return folder / REPORT


@pytest.fixture(scope="module")
def parsed(report: Path) -> Page:
    return Page(report)


def _with_text(close: Close, texts: list[str]) -> Close:
    """Return a close of which the first held-back and exported entries and categories have the texts as their names."""
    entries = close.entries.copy()
    entries["description"] = [texts[place % len(texts)] for place in range(len(entries))]
    categories, employees = close.categories.copy(), close.employees.copy()
    categories["name"] = [texts[place % len(texts)] for place in range(len(categories))]
    employees["last_name"] = [texts[place % len(texts)] for place in range(len(employees))]
    accounts = close.accounts.assign(name=[texts[place % len(texts)] for place in range(len(close.accounts))])
    plan = bktools.compose_export_jobs(
        entries, categories=categories, employees=employees, company=close.company, max_entries=100
    )
    after = bktools.reconcile_accounts(close.chart, to_pandas(ACCOUNTS.empty_table()), categories)
    jobs = plan.batches[["batch_id", "company_id", "entries"]].assign(
        outcome="REJECTED", job_id=None, message=texts[: len(plan.batches)]
    )
    return replace(
        close, entries=entries, categories=categories, plan=plan, after=after, jobs=jobs, accounts=accounts,
        prepared_by=texts[0], approved_by=texts[1],
    )  # fmt: skip


def test_figures_are_those_of_the_frames(close: Close, parsed: Page):
    """Exported, each reason, and all: number and exact amount by currency, added up again from the plan's frames."""
    rows = {row[""]: row for row in parsed.rows("statement")}
    waiting, ready = close.plan.not_ready, close.plan.entries
    both = pd.concat([waiting[["amount", "currency"]], ready[["amount", "currency"]]])
    expected = {"Exported": ready, "Held back": waiting, "All entries of this close": both}
    for reason, group in waiting.groupby("reason"):
        expected[reason.replace("_", " ").capitalize()] = group
    assert set(rows) == set(expected)
    assert len(expected) > 8
    for name, frame in expected.items():
        assert rows[name].pop("Entries") == f"{len(frame):,}"
        del rows[name][""]
        found = {currency: Decimal(text.replace(",", "")) for currency, text in rows[name].items() if text}
        sums: dict[str, Decimal] = {}
        for currency, amount in zip(frame["currency"], frame["amount"], strict=True):
            sums[currency] = sums.get(currency, Decimal(0)) + amount
        assert found == sums
    assert re.fullmatch(r"[\d,]+", rows["Exported"]["JPY"]), "yen have no decimals"


def test_what_is_to_be_done_is_grouped_by_whom(close: Close, parsed: Page):
    """Each check of the plan's findings is in the table of whoever acts, with count, examples by name and the step."""
    findings = close.plan.findings
    tables = {"in the service": "to-do-in-the-service", "here": "to-do-here"}
    assert set(findings["who"]) <= set(tables)
    for (who, check), group in findings.groupby(["who", "check"]):
        words = check.replace("_", " ").capitalize()
        row = next(row for row in parsed.rows(tables[who]) if row["What"].startswith(words))
        assert row["Number"] == str(len(group))
        assert group["about"].iloc[0] in row["Such as"]
        assert group["to_do"].iloc[0][1:] in row["What to do"]
        assert row["Severity"].endswith(group["severity"].iloc[0])
        currency = group["currency"].iloc[0]
        total = group.loc[group["currency"] == currency, "amount"].sum()
        assert shown(total, currency) in row["Value"]
    exists = next(row for row in parsed.rows("to-do-here") if row["What"].startswith("Account exists"))
    assert exists["Number"] == str((close.accounts["outcome"] == "EXISTS").sum())


def test_every_entry_is_listed_by_name(close: Close, parsed: Page):
    """Held back first, with the reason; names before identifiers; amounts with their currency's decimals."""
    rows = parsed.rows("entries-table")
    held = close.plan.not_ready
    assert [row["Status"] for row in rows] == ["held back"] * len(held) + ["exported"] * len(close.plan.entries)
    assert parsed.tables["entries-table"][0][-1] == "IDs"
    by_id = {re.search(r"id ([0-9a-f-]{36})", row["IDs"]).group(1) + row["IDs"][:9]: row for row in rows}
    for entry in [*held.to_dict("records"), *close.plan.entries.to_dict("records")]:
        row = by_id[entry["id"] + f"line {entry['line']}id {entry['id']}"[:9]]
        assert row["Date"] == f"{entry['date']:%Y-%m-%d}"
        assert row["Amount"] == shown(entry["amount"], entry["currency"])
        assert row["Currency"] == entry["currency"]
        assert row["Category"] == ("" if pd.isna(entry["category_name"]) else entry["category_name"])
        assert row["Reason"] == str(entry.get("reason", "")).replace("_", " ").capitalize()
        if "message" in entry:
            assert entry["message"][1:] in row["What to do"]


def test_the_other_tables(close: Close, parsed: Page):
    """Categories, export jobs, accounts and findings: as many rows as their frames, the facts of each."""
    categories = parsed.rows("categories-table")
    assert len(categories) == len(close.after.coverage)
    assert (
        sum(int(row["Held back"]) for row in categories)
        == close.plan.not_ready["category_id"].isin(close.after.coverage["category_id"]).sum()
    )
    assert int(categories[0]["Held back"]) > 0
    jobs = parsed.rows("batches-table")
    assert [row["Entries"] for row in jobs] == [str(count) for count in close.plan.batches["entries"]]
    assert {row["Outcome"] for row in jobs} == {"accepted"}
    assert len(parsed.rows("accounts-table")) == len(close.accounts)
    told = close.after.findings[close.after.findings["severity"] != "info"]
    assert [row["What was found, and what to do"][1:] for row in parsed.rows("checks-table")] == [
        message[1:] for message in told["message"]
    ]


def test_who_when_and_what_was_not_checked(close: Close, tmp_path: Path):
    """The persons, the plan, the sources, the accounts known, what was skipped; a sandbox is no real books."""
    unchecked = bktools.compose_export_jobs(close.entries[["id", "company_id", "category_id"]])
    known = pd.DataFrame({"state": ["IMPORTED", "CREATED", "IMPORTED"], "updated_at": pd.to_datetime(["2026-10-30", "2026-11-01", "2026-10-31"], utc=True)})  # fmt: skip
    told = replace(close, plan=unchecked, prepared_by="Grace Hopper", approved_by="Ada Lovelace", known=known)
    text = Page(write_report(told, tmp_path / "told.html")).text
    assert unchecked.unchecked
    for phrase in (*unchecked.unchecked, unchecked.plan_id, "Grace Hopper", "Ada Lovelace", "2026-11-02 08:30 UTC"):
        assert phrase in text
    assert "2 imported from a list of the service, last on 2026-10-31" in text
    assert "no real books" in text
    real = Page(write_report(replace(told, environment="production", applied=False), tmp_path / "real.html")).text
    assert "sandbox" not in real.lower()
    assert "Dry run: nothing was written to the service." in real


def test_a_dry_run_and_doubts_are_not_called_exported(close: Close, tmp_path: Path):
    """Entries are exported only where the batch was accepted; each other outcome is told, with its step."""
    outcomes = ["PLANNED", "UNKNOWN", "REJECTED"]
    told = replace(close, jobs=close.jobs.assign(outcome=outcomes))
    page = Page(write_report(told, tmp_path / "doubt.html"))
    rows = {row[""]: row["Entries"] for row in page.rows("statement")}
    counts = [str(count) for count in close.plan.batches["entries"]]
    assert [rows[name] for name in ("Ready, not sent", "In doubt", "Refused by the service")] == counts
    assert "Exported" not in rows
    steps = {row["What"]: row["What to do"] for row in page.rows("to-do-here")}
    assert any("Export job unknown" in what and "resolve_export_job" in step for what, step in steps.items())


@pytest.fixture(scope="module")
def hostile(close: Close, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(_with_text(close, HOSTILE), tmp_path_factory.mktemp("hostile") / REPORT)


def test_hostile_names_are_text(close: Close, hostile: Path, tmp_path: Path):
    """Whatever a name contains is shown as it is, or as an escape; it makes no element and no attribute."""
    plain = _with_text(close, [f"name {place}" for place in range(len(HOSTILE))])
    page, usual = Page(hostile), Page(write_report(plain, tmp_path / "plain.html"))
    kinds = [[(tag, sorted(given)) for tag, given in one.elements] for one in (page, usual)]
    assert sorted(map(str, kinds[0])) == sorted(map(str, kinds[1]))
    for name in HOSTILE:
        assert name.replace("\x1b", "\\x1b").replace("\u202e", "\\u202e") in page.text
    content = hostile.read_text(encoding="utf-8")
    assert not set(content) & {"\x1b", "\u202e"}
    assert "<script>alert" not in content


def test_nothing_but_its_own_script_may_run(report: Path, parsed: Page):
    """The policy names the digests of the one style and the one script; no address, no handler, no style attribute."""
    content = report.read_bytes().decode()
    policy = next(given["content"] for tag, given in parsed.elements if "http-equiv" in given)
    for tag in ("style", "script"):
        inner = re.findall(rf"<{tag}>(.*?)</{tag}>", content, re.DOTALL)
        assert len(inner) == 1
        assert f"{tag}-src 'sha256-{base64.b64encode(hashlib.sha256(inner[0].encode()).digest()).decode()}'" in policy
    assert policy.startswith("default-src 'none'; img-src data:;")
    for _, given in parsed.elements:
        assert not [name for name in given if name.startswith("on") or name == "style"]
        assert all((given.get(name) or "#").startswith(("#", "data:image/png;base64,")) for name in ("href", "src"))
    assert not re.search(r"innerHTML|insertAdjacent|document\.write|eval\(", content)


def test_tables_are_readable_without_sight(parsed: Page):
    """A language, a caption and headings with a scope for each table, an alternative text for each picture."""
    assert ("html", {"lang": "en"}) in parsed.elements
    assert set(parsed.captions) == set(parsed.tables)
    assert all(given["scope"] in {"col", "row"} for tag, given in parsed.elements if tag == "th")
    pictures = [given for tag, given in parsed.elements if tag == "img"]
    assert pictures
    assert all(given["alt"] for given in pictures)


def test_a_large_close_is_bounded_and_says_where_the_rest_is(close: Close, tmp_path: Path):
    """2,560 entries: 2,000 rows, with some of every reason and batch; the figures are of all of them."""
    entries = pd.concat([close.entries] * 8, ignore_index=True)
    entries["id"] = [str(uuid.uuid5(uuid.NAMESPACE_URL, str(place))) for place in range(len(entries))]
    entries["line"] = range(2, len(entries) + 2)
    plan = bktools.compose_export_jobs(entries, categories=close.categories, company=close.company)
    jobs = plan.batches[["batch_id", "company_id", "entries"]].assign(outcome="ACCEPTED", job_id=None, message="")
    path = write_report(replace(close, plan=plan, jobs=jobs), tmp_path / "large.html")
    page = Page(path)
    rows = page.rows("entries-table")
    assert len(rows) == html.SHOWN_ROWS
    assert f"This page has 2,000 of {len(entries):,} rows. All are in export_plan.csv" in page.text
    assert {row["Reason"] for row in rows if row["Reason"]} == {
        reason.replace("_", " ").capitalize() for reason in plan.not_ready["reason"]
    }
    batches = {re.search("batch ([0-9a-f]{20})", row["IDs"]).group(1) for row in rows if row["Status"] == "exported"}
    assert batches == set(plan.batches["batch_id"])
    statement = {row[""]: row["Entries"] for row in page.rows("statement")}
    assert statement["All entries of this close"] == f"{len(entries):,}"
    assert path.stat().st_size < 4_000_000


def test_sums_are_exact_beyond_38_digits():
    """Two amounts of 38 digits are added exactly, where 128 bits would overflow."""
    largest = Decimal("9" * 36 + ".99")
    entries = pd.DataFrame({"amount": [largest, largest], "currency": "EUR", "state": "ready"})
    table = to_arrow(entries)
    assert sums_of(table, "state") == {("ready",): {"EUR": (2, Decimal("1" + "9" * 36 + ".98"))}}
    assert sums_of(table.drop_columns(["amount", "currency"])) == {(): {"no currency": (2, None)}}


def test_changes_have_room(close: Close, tmp_path: Path):
    """A frame of changes is shown names first, where the close has one."""
    changes = pd.DataFrame({"id": ["abc"], "what": ["account"], "amount": [Decimal("12.50")], "currency": ["EUR"]})
    page = Page(write_report(replace(close, changes=changes), tmp_path / "changes.html"))
    assert page.tables["changes-table"] == [
        ["Amount", "Currency", "What", "IDs"],
        ["12.50", "EUR", "account", "id abc"],
    ]


def test_the_folder_has_the_report(folder: Path):
    """The report of the folder has the folder's pictures in it."""
    content = (folder / REPORT).read_text(encoding="utf-8")
    for name in PICTURES:
        assert base64.b64encode((folder / name).read_bytes()).decode() in content


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if chromium() is None:
        pytest.skip("no Chromium is installed, and the page can only be used in one (apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield running
        running.close()


def _opened(browser: Any, path: Path, **options: Any) -> tuple[Any, list[str]]:
    """Return the page, and a list of what should not happen: errors, violations of the policy, dialogs, requests."""
    page = browser.new_page(**options)
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    page.on(
        "request", lambda sent: complaints.append(sent.url) if not sent.url.startswith(("data:", "file:")) else None
    )
    page.add_init_script("document.addEventListener('securitypolicyviolation', e => console.log(e.violatedDirective))")
    page.goto(path.as_uri())
    return page, complaints


def _column(page: Any, place: int) -> list[str]:
    script = f"rows => rows.filter(r => !r.hidden).map(r => r.cells[{place}].textContent)"
    found: list[str] = page.eval_on_selector_all("#entries-table tbody tr", script)
    return found


def test_sorting_and_filtering_with_the_mouse(browser: Any, report: Path, close: Close):
    """Amounts are sorted by value, in both directions; filters count the rows and add up amounts exactly."""
    page, complaints = _opened(browser, report)
    heading = page.locator("#entries-table th.amount")
    place = heading.evaluate("head => head.cellIndex")
    for direction, falling in (("ascending", False), ("descending", True)):
        heading.get_by_role("button").click()
        assert heading.get_attribute("aria-sort") == direction
        amounts = [Decimal(text.replace(",", "")) for text in _column(page, place)]
        assert amounts == sorted(amounts, reverse=falling)
    section = page.locator("section.entries")
    section.get_by_label("Currency").select_option(label="CHF")
    section.get_by_label("Status").select_option(label="held back")
    frame = close.plan.not_ready[close.plan.not_ready["currency"] == "CHF"]
    status = section.get_by_role("status")
    assert status.inner_text() == f"{len(frame)} of 320 rows · CHF {frame['amount'].sum():,}"
    section.get_by_role("button", name="Show all rows").click()
    assert status.inner_text().startswith("320 of 320 rows · ")
    section.get_by_label("Find").fill("KÖLN")
    texts = pd.concat([close.plan.not_ready, close.plan.entries])[
        ["supplier", "description", "category_name", "employee_name", "account_name"]
    ]
    wanted = texts.fillna("").agg(" ".join, axis="columns").str.lower().str.contains("köln").sum()
    assert len(_column(page, 0)) == wanted > 0
    assert complaints == []
    page.close()


def test_drilling_down_by_mouse_and_keyboard(browser: Any, report: Path, close: Close):
    """A reason, a batch and a category lead to their entries; the focus goes with them."""
    page, complaints = _opened(browser, report)
    status = page.locator("section.entries").get_by_role("status")
    page.locator("#statement").get_by_role("link", name="Archived category").click()
    count = (close.plan.not_ready["reason"] == "archived_category").sum()
    assert status.inner_text().startswith(f"Archived category: {count} of 320 rows")
    assert page.evaluate("document.activeElement.textContent") == "Entries"
    assert page.evaluate("location.hash") == "#entries"
    page.locator("section.batches").get_by_role("link", name="Batch 3 of 3").focus()
    page.keyboard.press("Enter")
    assert status.inner_text().startswith(f"Batch 3 of 3: {close.plan.batches['entries'].iloc[2]} of 320 rows")
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
    assert complaints == []
    page.close()


def test_hostile_names_run_nothing_in_a_browser(browser: Any, hostile: Path):
    """No dialog, no violation, no request, nothing added; with the script used on every table."""
    page, complaints = _opened(browser, hostile)
    for button in page.locator("th button").all():
        button.click()
    page.locator("#categories-table tbody a").first.click()
    assert page.evaluate("document.querySelectorAll('script').length") == 1
    assert page.locator("img").evaluate_all("all => all.every(one => one.complete && one.naturalWidth > 0)")
    assert complaints == []
    page.close()


def test_without_javascript_the_tables_stand(browser: Any, report: Path):
    """Every row is there and no control that would do nothing."""
    page, complaints = _opened(browser, report, java_script_enabled=False)
    assert page.locator("#entries-table tbody tr:visible").count() == 320
    assert page.locator("button, input, select").count() == 0
    assert complaints == []
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_have_contrast(browser: Any, report: Path, scheme: str):
    """The page follows the system's theme, and every colour of text has a contrast of 4.5 with the page."""
    page, _ = _opened(browser, report, color_scheme=scheme)
    names = ["ink", "muted", "accent", "error", "warning", "info", "page", "panel"]
    found = page.evaluate(
        "names => names.map(n => getComputedStyle(document.documentElement).getPropertyValue('--' + n).trim())", names
    )
    colours = dict(zip(names, map(_luminance, found), strict=True))
    assert (colours["page"] < 0.1) == (scheme == "dark")
    for ground in ("page", "panel"):
        for name in names[:6]:
            low, high = sorted((colours[name], colours[ground]))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (name, ground)
    assert len(page.screenshot()) > 10_000
    page.close()


def _luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_it_prints_on_few_pages(browser: Any, report: Path):
    """A4, without controls and identifiers, 30 rows of a table, the rest named, at most 15 pages."""
    page, complaints = _opened(browser, report)
    pdf = page.pdf(prefer_css_page_size=True)
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 15
    boxes = {tuple(map(round, map(float, box.split()))) for box in re.findall(rb"/MediaBox\s*\[([^\]]+)\]", pdf)}
    assert {(0, 0, 842, 595)} <= boxes <= {(0, 0, 842, 595), (0, 0, 595, 842), (0, 0, 842, 596), (0, 0, 595, 843)}
    page.emulate_media(media="print")
    assert page.locator("#entries-table tbody tr:visible").count() == html.PRINTED_ROWS
    assert (
        page.locator("section.entries .printed:visible")
        .last.inner_text()
        .startswith("30 rows are printed. All 320 are in")
    )
    assert page.locator("button:visible, input:visible, select:visible, .id:visible").count() == 0
    assert complaints == []
    page.close()


def test_the_journal_has_the_month_again(october: October):
    """A later close of the month says what an earlier one exported, when, by whom, and what was resolved since."""
    first, last = october.first, october.fixed
    waiting, resolved = first.plan.not_ready, last.plan.entries
    assert set(resolved["id"]) == set(waiting.loc[waiting["reason"] == "not_approved", "id"]) != set()
    page = Page(last.folder / REPORT)
    figures = {row[""]: row for row in page.rows("statement")}
    assert figures["Exported"]["Entries"] == str(len(resolved))
    assert figures["Exported earlier"]["Entries"] == str(len(first.plan.entries))
    month = {row[""]: row for row in page.rows("record-statement")}
    assert month["Exported"]["Entries"] == str(len(resolved) + len(first.plan.entries))
    assert month["Resolved since"]["Entries"] == str(len(resolved))
    for currency, amount in last.plan.amounts.items():
        assert month["Resolved since"][currency] == shown(amount, currency)
        assert month["Exported"][currency] == shown(amount + first.plan.amounts[currency], currency)
    assert [row["Prepared by"] for row in page.rows("closes-table")] == ["Ada", "Ada", "Grace"]
    assert [(row["By"], row["Entries"]) for row in page.rows("sent-table")] == [
        ("Ada", str(len(first.plan.entries))), ("Grace", str(len(resolved))),
    ]  # fmt: skip
