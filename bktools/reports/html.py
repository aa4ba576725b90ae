"""`write_report` and `notebook`: a close as one HTML file to mail, and as the output of a notebook's cell.

The templates show what a `Close` has, and compute nothing. All text in them is escaped. The file needs no network: nothing
runs or loads but its own style, script and pictures.
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from bktools import disk, views
from bktools.close import Close
from bktools.frames.currencies import shown
from bktools.reports.pictures import PICTURES
from bktools.visible import visible

# Rows of a table in the page, and in print, where the style has the same number.
SHOWN_ROWS = 2000
PRINTED_ROWS = 25

# Only the page's own style and script, by their digests, and pictures that are in the page.
POLICY = (
    "default-src 'none'; img-src data:; style-src '{style}'; script-src '{script}'; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)


def write_report(close: Close, path: Path, pictures: Mapping[str, bytes] | None = None) -> Path:
    """Write a close as one HTML file; the file is written whole or not at all, readable by you alone.

    Parameters
    ----------
    close : Close
        The month.
    path : Path
        The file to write.
    pictures : mapping of str to bytes, optional
        PNG pictures of the close, by the name of their file.

    Raises
    ------
    StorageError
        When the file cannot be written.
    """
    every_page = _pages().get_template("print.css").render(close=close)
    style, script = f"\n{_source('report.css')}{every_page}\n", f"\n{_source('report.js')}"
    page = (
        _pages()
        .get_template("report.html")
        .render(
            close=close,
            entries=Listing(close.entries),
            pictures={name: base64.b64encode(content).decode() for name, content in (pictures or {}).items()},
            captions=PICTURES,
            printed=PRINTED_ROWS,
            policy=POLICY.format(style=_digest(style), script=_digest(script)),
            style=style,
            script=script,
        )
    )
    return disk.write_whole(path, lambda file: file.write(page.encode()))


def notebook(close: Close) -> str:
    """Return the head of the report for a notebook: figures, the first things to do, and who has to act."""
    return _pages().get_template("notebook.html").render(close=close, entries=None)


class Listing:
    """The entries that a page shows: those that were not exported first, and some of each fate and reason.

    Parameters
    ----------
    table : DataFrame
        The entries of a close.

    Attributes
    ----------
    rows : list of dict
        The rows, without missing values.
    total : int
        Number of all entries.
    columns : set of str
        Columns that hold something.
    """

    def __init__(self, table: pd.DataFrame) -> None:
        turns = table.groupby(["fate", "reason"], dropna=False, observed=True).cumcount()
        chosen = table.loc[sorted(turns.sort_values(kind="stable").index[:SHOWN_ROWS])]
        # The rows that a person acts on come first.
        chosen = chosen.loc[chosen["fate"].isin(SENT).sort_values(kind="stable").index]
        filled = chosen.astype("object").where(chosen.notna(), None)
        self.rows: list[dict[Any, Any]] = filled.to_dict("records")
        self.total = len(table)
        self.columns = {str(name) for name in table.columns if (table[name].notna() & (table[name] != "")).any()}
        self._places: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for place, row in enumerate(self.rows):
            for key in (("fate",), ("fate", "reason"), ("category_id",), ("job_id",), ("id",)):
                self._places[key[-1], *(str(row.get(name)) for name in key)].append(place)

    def where(self, **values: object) -> str:
        """Return the places of the rows that have these values, in the order of a fate, a reason."""
        return _spaced(self._places.get((list(values)[-1], *map(str, values.values())), ()))

    def of(self, ids: Iterable[str]) -> str:
        """Return the places of the entries with these IDs."""
        return _spaced(place for one in ids for place in self._places.get(("id", str(one)), ()))


SENT = ("exported", "exported before")


def _spaced(places: Iterable[int]) -> str:
    return " ".join(map(str, places))


@cache
def _pages() -> Environment:
    pages = Environment(
        loader=PackageLoader("bktools.reports"), autoescape=True, undefined=StrictUndefined, finalize=_text,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    pages.filters |= {
        "amount": shown, "number": _number, "day": _day, "moment": _moment, "words": _words, "sentence": _sentence,
        "percent": _percent, "css": _css,
    }  # fmt: skip
    pages.globals["MARKS"] = views.MARKS
    return pages


def _text(value: object) -> object:
    """Return what a template shows of a value: nothing for None; control characters and direction marks are visible."""
    return value if hasattr(value, "__html__") else "" if value is None else visible(str(value))


def _number(count: int) -> str:
    return f"{count:,}"


def _percent(share: Decimal | None) -> str:
    return "" if share is None else f"{share:+,.1f}%"


def _day(day: Any) -> str:
    return "" if day is None else f"{day:%Y-%m-%d}"


def _moment(moment: dt.datetime | None) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d %H:%M} UTC"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _words(name: str) -> str:
    return _sentence(name.replace("_", " "))


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
