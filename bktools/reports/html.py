"""`report_of` and `notebook`: a close as one HTML file to mail, and as the output of a notebook's cell.

The templates show what a `Close` has, and compute nothing. All text in them is escaped. The file needs no network: nothing
runs or loads but its own style, script and pictures.
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import PurePath
from typing import Any

import pyarrow as pa
from jinja2 import Environment, PackageLoader, StrictUndefined

from bktools import views
from bktools.close.close import Close
from bktools.close.entries import BEFORE, EXPORTED
from bktools.frames.codes import capitalized, sentence
from bktools.reports.pictures import PICTURES
from bktools.visible import visible
from bktools.wording.numbers import shown

MOMENT = "{:%Y-%m-%d %H:%M} UTC"

# Rows of a table in the page, and in print, where the style has the same number.
SHOWN_ROWS = 2000
PRINTED_ROWS = 20

# Columns whose values have links to their entries.
LINKED = (("fate",), ("fate", "reason"), ("category_id", "fate"), ("job_id",), ("id",))

# Only the page's own style and script, by their digests, and pictures that are in the page.
POLICY = (
    "default-src 'none'; img-src data:; style-src '{style}'; script-src '{script}'; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)


def report_of(close: Close, pictures: Mapping[str, bytes] | None = None) -> bytes:
    """Return a close as one HTML file, with PNG pictures by the name of their file."""
    every_page = _pages().get_template("print.css").render(close=close)
    style, script = f"\n{_source('report.css')}{every_page}\n", f"\n{_source('report.js')}"
    page = _pages().get_template("report.html")
    return page.render(
        close=close,
        entries=Listing(close.tables["entries"]),
        pictures={name: base64.b64encode(content).decode() for name, content in (pictures or {}).items()},
        captions=PICTURES,
        printed=PRINTED_ROWS,
        policy=POLICY.format(style=_digest(style), script=_digest(script)),
        style=style,
        script=script,
    ).encode()


def notebook(close: Close) -> str:
    """Return the head of the report for a notebook: figures, the first things to do, and who has to act."""
    return _pages().get_template("notebook.html").render(close=close, entries=None)


class Listing:
    """The entries that a page shows: those that were not exported first, and some of each fate and reason.

    `rows` are the rows, of `total` ones; `columns` are those that hold something.
    """

    def __init__(self, table: pa.Table) -> None:
        fates, reasons = (table[name].to_pylist() for name in ("fate", "reason"))
        counts: defaultdict[tuple[str, str], Iterator[int]] = defaultdict(itertools.count)
        turns = [next(counts[key]) for key in zip(fates, reasons, strict=True)]
        chosen = sorted(range(len(table)), key=turns.__getitem__)[:SHOWN_ROWS]
        chosen.sort(key=lambda place: (fates[place] in (EXPORTED, BEFORE), place))
        self.rows: list[dict[str, Any]] = table.take(pa.array(chosen, pa.int64())).to_pylist()
        self.total = len(table)
        self.columns = {name for name in table.column_names if any(row[name] not in (None, "") for row in self.rows)}
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
def _pages() -> Environment:
    pages = Environment(
        loader=PackageLoader("bktools.reports"), autoescape=True, undefined=StrictUndefined, finalize=_text,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    pages.filters |= {
        "amount": shown, "number": _formatted("{:,}"), "percent": _formatted("{:+,}%"), "moment": _formatted(MOMENT),
        "day": _formatted("{:%Y-%m-%d}"), "css": _css, "ids": _ids, "reason": sentence, "sentence": capitalized,
        "source": _source_of,
    }  # fmt: skip
    pages.globals |= {"MARKS": views.MARKS, "columns_of": _columns}
    return pages


def _text(value: object) -> object:
    """Return what a template shows of a value: nothing for None; control characters and direction marks are visible."""
    return value if hasattr(value, "__html__") else "" if value is None else visible(str(value))


def _columns(currencies: Iterable[str]) -> list[tuple[str, str]]:
    """Return headings and kinds of the columns of a table with a column a currency."""
    return [("", "heading"), ("Entries", "number"), *((currency, "sum") for currency in currencies)]


def _formatted(form: str) -> Callable[[object], str]:
    """Return a filter that formats values; of None the text is empty."""
    return lambda value: "" if value is None else form.format(value)


def _ids(row: Mapping[str, Any]) -> str:
    """Return the identifiers of an entry, which are those in the CSV files."""
    return ", ".join(f"{name.removesuffix('_id')} {row[name]}" for name in ("line", "id", "job_id") if row[name])


def _source_of(about: Mapping[str, Any]) -> str:
    """Return where a table comes from: file or tables, rows, times and digest."""
    source = about.get("source") or ()
    names = [PurePath(source).name] if isinstance(source, str) else [f"the {name}" for name in source]
    rows = [f"{about['rows']:,} rows"] if "rows" in about else []
    times = [f"fetched {MOMENT.format(dt.datetime.fromisoformat(time))}" for time in about.get("fetched_at") or ()]
    digest = [f"SHA-256 {about['sha256'][:12]}…"] if "sha256" in about else []
    return ", ".join([*names, *rows, *times, *digest]) or "not known"


def _css(text: str) -> str:
    """Return a text for a string of CSS: whatever it holds, it ends neither the string nor the style."""
    return "".join(
        letter if letter.isascii() and letter.isalnum() else f"\\{ord(letter):06x}" for letter in visible(text)
    )


def _source(name: str) -> str:
    source, *_ = PackageLoader("bktools.reports").get_source(_pages(), name)
    return source


def _digest(content: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"
