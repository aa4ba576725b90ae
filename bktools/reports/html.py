"""`report_of` and `notebook`: a close as one HTML file to mail, and as the output of a notebook's cell.

The templates show what a `Close` has, and compute nothing. All text in them is escaped. The file needs no
network: nothing runs or loads but its own style, script and pictures.
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from functools import cache, partial
from pathlib import PurePath
from typing import Any

import pyarrow as pa
from jinja2 import Environment, PackageLoader

from bktools import views
from bktools.close import sentences
from bktools.close.close import Close
from bktools.export.checks import ROLE_OF_REASON
from bktools.findings.check import BEFORE, EXPORTED, IN_BOOKS, LEFT_OUT
from bktools.frames.sums import HOME
from bktools.journal.folders import command_for
from bktools.reconcile.reconciliation import doubt_in_words
from bktools.reports.pictures import PICTURES
from bktools.visible import visible
from bktools.wording import Words, numbers, words
from bktools.wording.numbers import NUMBER_STYLES, capitalized

# Rows of a table in the page, and in print, where the style has the same number.
SHOWN_ROWS = 2000
PRINTED_ROWS = 20
# Things of an action that the page names; the others are in the workbook.
SHOWN_THINGS = 100
# Actions that a terminal shows; the page has all of them.
SHOWN_ACTIONS = 8
# Suppliers, and categories, that are listed as new.
SHOWN_NEW = 10

# The sections of the words for codes in a verification, by column.
SECTIONS = {"severity": "severity", "check": "status", "reason": "ledger", "who": "role"}
# Fates of entries that wait for nobody.
DONE = (EXPORTED, BEFORE, IN_BOOKS, LEFT_OUT)
# Columns whose values have links to their entries.
LINKED = (("fate",), ("fate", "reason"), ("category_id", "fate"), ("job_id",), ("id",))

# Only the page's own style and script, by their digests, and pictures that are in the page.
POLICY = (
    "default-src 'none'; img-src data:; style-src '{style}'; script-src '{script}'; base-uri 'none'; "
    "form-action 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)


def report_of(close: Close, pictures: Mapping[str, bytes] | None = None) -> bytes:
    """Return a close as one HTML file, with PNG pictures by the name of their file."""
    return page_of(
        "report.html",
        close.words,
        of=close,
        close=close,
        entries=Listing(close.tables["entries"]),
        pictures={name: base64.b64encode(content).decode() for name, content in (pictures or {}).items()},
        captions=PICTURES,
        most_things=SHOWN_THINGS,
        most_new=SHOWN_NEW,
    )


def page_of(name: str, words: Words, **shown: Any) -> bytes:
    """Return a page by its template, of what it shows: `of` has its title. Its style and script are in it."""
    pages, title = _pages(words.language), shown["of"].title
    every_page = pages.get_template("print.css").render(title=title)
    style, script = f"\n{_source('report.css')}{every_page}\n", f"\n{_source('report.js')}"
    return (
        pages.get_template(name)
        .render(
            title=title,
            printed=PRINTED_ROWS,
            script_words=_script_words(words),
            policy=POLICY.format(style=_digest(style), script=_digest(script)),
            style=style,
            script=script,
            **shown,
        )
        .encode()
    )


def terminal(close: Close) -> str:
    """Return what a terminal shows after a close: the first things to do, what changed, and where it is."""
    reopen = command_for(close.environment, f"periods reopen {close.period}", close.company)
    page = _pages(close.words.language).overlay(autoescape=False).get_template("terminal.txt")
    return page.render(close=close, entries=None, most_actions=SHOWN_ACTIONS, reopen=reopen)


def notebook(close: Close) -> str:
    """Return the head of the report for a notebook: figures, the first things to do, and who has to act."""
    return _pages(close.words.language).get_template("notebook.html").render(close=close, entries=None)


class Listing:
    """The entries that a page shows: what waits for a person first, then the largest; some of each reason.

    `rows` are the rows, of `total` ones; `columns` are those that hold something.
    """

    def __init__(self, table: pa.Table) -> None:
        fates, reasons = (table[name].to_pylist() for name in ("fate", "reason"))
        counts: defaultdict[tuple[str, str], Iterator[int]] = defaultdict(itertools.count)
        turns = [next(counts[key]) for key in zip(fates, reasons, strict=True)]
        chosen = sorted(range(len(table)), key=turns.__getitem__)[:SHOWN_ROWS]
        # A print has the first of them alone.
        sizes = table[HOME if HOME in table.column_names else "amount"].to_pylist()
        chosen.sort(key=lambda place: (fates[place] in DONE, -abs(sizes[place] or 0), place))
        self.rows: list[dict[str, Any]] = table.take(pa.array(chosen, pa.int64())).to_pylist()
        self.total = len(table)
        self.columns = {
            name for name in table.column_names if any(row[name] not in (None, "") for row in self.rows)
        }
        self._places: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for place, row in enumerate(self.rows):
            for names in LINKED:
                self._places[*names, *(str(row[name]) for name in names)].append(place)

    def where(self, **values: object) -> str:
        """Return the places of the rows that have these values: the columns are one of `LINKED`."""
        return " ".join(map(str, self._places.get((*values, *map(str, values.values())), ())))

    def of(self, ids: Iterable[str]) -> str:
        """Return the places of the entries with these IDs."""
        return " ".join(filter(None, (self.where(id=one) for one in ids)))


@cache
def _pages(language: str) -> Environment:
    pages = views.templates("bktools.reports")
    texts = words(language)
    pages.filters |= {
        name: partial(_formatted, form, language)
        for name, form in (
            ("number", numbers.number),
            ("day", numbers.day),
            ("month", numbers.month),
            ("moment", numbers.moment),
        )
    }
    pages.filters |= {
        "amount": texts.amount,
        "currency": texts.currency,
        "css": _css,
        "percent": partial(numbers.percent, language=language),
        "ids": _ids,
        "sentence": capitalized,
        "source": partial(_source_of, texts),
        "name": lambda code, section: texts.name(section, code),
    }
    pages.globals |= {
        "MARKS": views.MARKS,
        "unknown_category": lambda category_id: texts("unknown.category", id=category_id[:8]),
        "t": partial(_report_text, texts),
        "v": lambda key, **facts: texts(f"verification.{key}", **facts),
        "noun": texts.noun,
        "headings": lambda columns: [
            (capitalized(texts(f"report.column.{column}")), kind) for column, kind in columns
        ],
        "cell": partial(_cell, texts),
        "who_of": lambda reason: texts.name("role", ROLE_OF_REASON.get(reason, "")),
        "columns_of": partial(_columns, texts),
    }
    pages.globals |= {
        name: partial(function, texts)
        for name, function in (
            ("label", sentences.label_of),
            ("step", sentences.step_of),
            ("valued", sentences.valued),
            ("not_spent", sentences.not_spent),
            ("thing_name", sentences.name_of),
            ("detail", sentences.detail_of),
            ("doubt", lambda words, doubts: doubt_in_words(doubts, words)),
        )
    }
    return pages


def _report_text(texts: Words, key: str, **facts: object) -> str:
    return texts(f"report.{key}", **facts)


def _script_words(texts: Words) -> dict[str, str]:
    """Return the words and signs that the page's script writes."""
    style = NUMBER_STYLES[texts.language]
    keys = ("find", "all", "none", "show_all", "no_currency", "rows", "of_page")
    return {key: texts(f"report.script.{key}") for key in keys} | {
        "thousands": style.thousands,
        "point": style.point,
        "minus": numbers.MINUS,
    }


def _cell(texts: Words, column: str, row: Mapping[str, Any]) -> str:
    """Return a value of a frame's row as the language writes it."""
    value = row.get(column)
    if value is None or value != value:  # noqa: PLR0124 - a missing value of pandas
        return ""
    if section := SECTIONS.get(column):
        return texts.name(section, value)
    if isinstance(value, dt.date):
        return texts.day(value)
    if isinstance(value, int | float | Decimal) and column != "entries":
        return texts.amount(value, row.get("currency"))
    return str(value)


def _columns(texts: Words, currencies: Iterable[str], home: str | None) -> list[tuple[str, str]]:
    """Return headings and kinds of the columns of a table with a column per currency, and one of all."""
    return [
        ("", "heading"),
        (texts("report.entries"), "number"),
        *((texts.currency(currency), "sum") for currency in currencies),
        *([(texts("report.in_home", currency=home), "sum")] if home else []),
    ]


def _formatted(form: Callable[[Any, str], str], language: str, value: object) -> str:
    """Return a value as the language writes it; of None the text is empty."""
    return "" if value is None else form(value, language)


def _ids(row: Mapping[str, Any]) -> str:
    """Return the identifiers of an entry, which are those in the CSV files."""
    return ", ".join(
        f"{name.removesuffix('_id')} {row[name]}" for name in ("line", "id", "job_id") if row[name]
    )


def _source_of(texts: Words, about: Mapping[str, Any]) -> str:
    """Return where a table comes from: file or tables, rows, times and digest."""
    source = about.get("source") or ()
    names = (
        [PurePath(source).name]
        if isinstance(source, str)
        else [texts(f"report.the_{name}") for name in source]
    )
    rows = [texts.counted(about["rows"], "row")] if "rows" in about else []
    times = [texts("report.fetched", moment=time) for time in about.get("fetched_at") or ()]
    digests = [one["sha256"] for one in about.get("files") or [about] if "sha256" in one]
    digest = [f"SHA-256 {', '.join(f'{one[:12]}…' for one in digests)}"] if digests else []
    return ", ".join([*names, *rows, *times, *digest]) or texts("report.not_known")


def _css(text: str) -> str:
    """Return a text for a string of CSS, with escapes for signs that would end it."""
    return "".join(
        letter if letter.isascii() and letter.isalnum() else f"\\{ord(letter):06x}"
        for letter in visible(text)
    )


def _source(name: str) -> str:
    source, *_ = PackageLoader("bktools.reports").get_source(_pages("en"), name)
    return source


def _digest(content: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"
