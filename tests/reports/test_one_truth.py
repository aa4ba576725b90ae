"""One close, one truth: every page, sheet, table and line agrees with the table of entries."""

from __future__ import annotations

import csv
import json
import re
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from november import AGAIN, BOOKED, CHANGED, November, closes_of_november
from page import Page
from python_calamine import CalamineWorkbook

from bktools.close.actions import IDS
from bktools.close.close import Close
from bktools.findings.check import FATES
from bktools.reports.folder import MANIFEST, REPORT, TABLES, WORKBOOK
from bktools.reports.workbook import lines_of
from bktools.wording import words
from bktools.wording.numbers import shown

# By line: number of entries, and amounts by currency that are not zero.
Figures = dict[str, tuple[int, dict[str, Decimal]]]

# The code of each line of figures, by its name.
CODES = {words("en").name("fate", code): code for code in (*FATES, "all")}
ABOUT_THE_RUN = {"journal_events.csv"}
WHERE_GIVEN = {"budget.csv", "rates.csv"}


@pytest.fixture(scope="module")
def november(samples: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> November:
    """November with everything in it, closed four times."""
    return closes_of_november(samples, tmp_path_factory.mktemp("november"))


def rows_of(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def counted(rows: list[dict[str, str]], key: str) -> Figures:
    """Count and add entries by plain Python: the lines of a split entry are one."""
    entries: dict[str, set[Any]] = defaultdict(set)
    amounts: dict[str, dict[str, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    for number, row in enumerate(rows):
        entries[row[key]].add(row["id"] if row["split_line"] != "0" else number)
        amounts[row[key]][row["currency"]] += Decimal(row["amount"])
    return {name: (len(found), without_zeros(amounts[name])) for name, found in entries.items()}


def added(rows: list[dict[str, str]], key: str) -> Figures:
    """Add rows that have a number of entries and an amount in one currency each."""
    found: dict[str, list[Any]] = defaultdict(lambda: [0, defaultdict(Decimal)])
    for row in rows:
        found[row[key]][0] += int(row["entries"])
        found[row[key]][1][row["currency"]] += Decimal(row["amount"])
    return {name: (count, without_zeros(amounts)) for name, (count, amounts) in found.items()}


def without_zeros(amounts: dict[str, Any]) -> dict[str, Decimal]:
    exact = {
        currency: Decimal(str(amount)) for currency, amount in amounts.items() if amount not in ("", None)
    }
    return {currency: round(amount, 2) for currency, amount in exact.items() if amount}


def of_facts(facts: dict[str, Any]) -> Figures:
    return {
        name: (line["entries"], without_zeros(line["amounts"])) for name, line in facts["entries"].items()
    }


def plain(text: str) -> str:
    """Return an amount as Python reads it."""
    return text.replace(",", "").replace("\N{MINUS SIGN}", "-")


def of_lines(text: str) -> Figures:
    """Read lines such as "held back: 3 entries, EUR 521.53, USD 631.22"."""
    found = {}
    for line in text.splitlines():
        name, _, rest = line.strip().partition(": ")
        count = re.match(r"([\d,]+) entr", rest)
        if count and name in CODES:
            amounts = re.findall(r"\b([A-Z]{3}) (\N{MINUS SIGN}?[\d,.]+\d)", rest)
            sums = {currency: plain(amount) for currency, amount in amounts}
            found[CODES[name]] = (int(count[1].replace(",", "")), without_zeros(sums))
    return found


def of_sheet(path: Path) -> Figures:
    """Add up the workbook's figures by status."""
    head, *rows = CalamineWorkbook.from_path(path).get_sheet_by_name("figures").to_python()
    named = [dict(zip(head, row, strict=True)) for row in rows]
    return added([row | {"fate": CODES[row["status"]]} for row in named], "fate")


def of_statement(path: Path) -> Figures:
    head, *rows = Page(path).tables["statement"]
    found = {}
    for name, count, *amounts in rows:
        sums = {currency: plain(amount) for currency, amount in zip(head[2:], amounts, strict=True)}
        if name.lower() in CODES:
            found[CODES[name.lower()]] = (int(count.replace(",", "")), without_zeros(sums))
    return found


def of_cards(html: str) -> Figures:
    found = {}
    for name, count, _, *others in Page(html).cards:
        # A card may end with a note about the month before.
        amounts = dict(zip(others[::2], others[1::2], strict=False))
        sums = {name: plain(text) for name, text in amounts.items() if re.fullmatch(r"[A-Z]{3}", name)}
        found[CODES[name.lower()]] = (int(count.replace(",", "")), without_zeros(sums))
    return found


@pytest.mark.parametrize("run", ["planned", "first", "after"])
def test_every_view_has_the_figures_of_the_table_of_entries(november: November, run: str):
    """Counted from entries.csv: figures, totals, manifest, JSON, terminal, notebook, report, workbook."""
    close: Close = getattr(november, run)
    # A later close has moved the first ones.
    moved = {"planned": november.first, "first": november.again, "after": None}[run]
    folder = close.folder if moved is None else moved.earlier_folder
    rows = rows_of(folder, "entries.csv")
    without_all = counted(rows, "fate")
    expected = without_all | counted([row | {"one": "all"} for row in rows], "one")
    assert {*without_all} == {*FATES} - ({"exported", "in_doubt"} if run == "planned" else set())
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    html = (folder / REPORT).read_text(encoding="utf-8")
    assert added(rows_of(folder, "figures.csv"), "fate") == without_all
    assert added(rows_of(folder, "totals.csv"), "fate") == without_all
    assert of_cards(close._repr_html_()) == of_cards(html) == without_all
    assert of_facts(manifest) == of_facts(json.loads(json.dumps(close.for_programs, default=str))) == expected
    assert of_lines("\n".join(close.lines)) == of_lines(repr(close)) == expected
    assert of_statement(folder / REPORT) == expected
    assert of_sheet(folder / WORKBOOK) == without_all


def test_errors_warnings_and_reasons_are_the_same_everywhere(november: November):
    """Tables, manifest, JSON, terminal and workbook agree on actions by severity and entries by reason."""
    close = november.after
    folder = close.folder
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    # An action has a line for each currency.
    told = {
        tuple(row[name] for name in ("severity", "check", "about", "facts", *IDS))
        for row in rows_of(folder, "to_do.csv")
    }
    by_severity = {name: sum(severity == name for severity, *_ in told) for name in ("error", "warning")}
    sheet = CalamineWorkbook.from_path(folder / WORKBOOK).get_sheet_by_name("to do").to_python()
    place = sheet[0].index("severity")
    actions = [row for row, line in zip(sheet[1:], lines_of(close), strict=True) if not line.is_beneath]
    in_book = {name: sum(row[place] == name for row in actions) for name in ("error", "warning")}
    euro = sheet[0].index("EUR")
    summed = sum(Decimal(str(row[euro])) for row in sheet[1:] if row[euro] != "")
    assert summed == sum(action.amounts.get("EUR", 0) for action in close.actions), "a sum has steps alone"
    in_repr = dict(re.findall(r"(\d+) (error|warning)", repr(close)))
    assert by_severity == close.severities == manifest["to_do"] == in_book
    assert {name: int(count) for count, name in in_repr.items()} == by_severity
    reasons = counted([row for row in rows_of(folder, "entries.csv") if row["fate"] == "held_back"], "reason")
    assert {
        name: (line["entries"], without_zeros(line["amounts"]))
        for name, line in manifest["reasons"]["held_back"].items()
    } == reasons


def test_november_is_what_happened(november: November):
    """Repeated entries were exported before, three changed; one split, three booked, a job in doubt."""
    close = november.first
    folder = november.again.earlier_folder
    entries = close.entries.set_index("id")
    assert (entries["fate"] == "exported_before").sum() == AGAIN
    changed = entries[entries["reason"] == "changed_since_export"]
    assert len(changed) == CHANGED
    # As it was sent, and beside it what the file says.
    sent = november.before.entries.set_index("id").loc[changed.index]
    assert changed["amount"].to_list() == sent["amount"].to_list()
    assert changed["file_amount"].notna().sum() == changed["file_supplier"].notna().sum() == 1
    split = entries[entries["split_line"] > 0]
    assert (len(split), split.index.nunique(), split["fate"].nunique()) == (2, 1, 1)
    assert (entries["fate"] == "in_doubt").sum() == 12
    assert (entries["fate"] == "in_books").sum() == BOOKED
    [euro] = [line for line in close.figures.against if line.currency == "EUR"]
    page = (folder / REPORT).read_text(encoding="utf-8")
    assert f"in doubt: EUR\N{NO-BREAK SPACE}{shown(euro.parts['in_doubt'][1], 'EUR')}" in page
    first = close.actions[0]
    assert (first.code, first.entries, first.role) == ("in_doubt", 22, "preparer")
    assert first.command.startswith(f"bktools export resolve {first.ids['batch_id']} ")
    assert {"-", ""} >= {
        shown(one.now - one.before - one.change, one.currency).strip("0.") for one in close.figures.against
    }


def test_the_folder_is_the_month_and_not_the_run(november: November):
    """Applied twice and planned again: the same tables, figures and report, but for the run's facts."""
    first, again, after = november.again.earlier_folder, november.again.folder, november.after.folder
    for name in {*TABLES} - ABOUT_THE_RUN - WHERE_GIVEN:
        assert rows_of(first, name) == rows_of(again, name) == rows_of(after, name), name
    manifests = [
        json.loads((folder / MANIFEST).read_text(encoding="utf-8")) for folder in (first, again, after)
    ]
    for name in ("entries", "reasons", "to_do", "by_role", "against", "state", "period", "inputs"):
        assert manifests[0][name] == manifests[1][name] == manifests[2][name], name
    assert [manifest["applied"] for manifest in manifests] == [True, True, False]
    pages = [without_the_run((folder / REPORT).read_text(encoding="utf-8")) for folder in (first, again)]
    assert pages[0] == pages[1]
    books = [CalamineWorkbook.from_path(folder / WORKBOOK) for folder in (first, again)]
    for name in books[0].sheet_names:
        cells = [book.get_sheet_by_name(name).to_python() for book in books]
        assert cells[0] == cells[1], name
    pictures = [(folder / "money.png").read_bytes() for folder in (first, again, after)]
    assert pictures[0] == pictures[1] == pictures[2]


def without_the_run(page: str) -> str:
    """Return a report without times, the list of applied closes, and the section about its run."""
    for part in (r'<table id="closes-table".*?</table>', r'<section class="run".*?</section>'):
        page = re.sub(part, "", page, flags=re.DOTALL)
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?( UTC)?", "", page)
