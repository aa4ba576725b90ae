"""Builds an HTML page of one file: all text is escaped, and nothing runs or loads but what the page was built with."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources

from bktools.visible import visible


class Html(str):
    """Markup. All other text becomes markup by being escaped."""

    __slots__ = ()


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Parameters
    ----------
    heading : str
        Its heading.
    kind : str
        "text", "name" (wider), "date"; "heading" for the names of the rows; "number" and "amount", which are sorted by
        value; "currency", by which amounts are added up; "list", "money" and "long", which have no order; "id", which is
        small, without an order and not printed. With " screen" behind it, the column is not printed.
    choice : bool
        Whether rows can be chosen by the values of this column.
    """

    heading: str
    kind: str = "text"
    choice: bool = False


@dataclass(frozen=True)
class Row:
    """The cells of a row, the groups that it belongs to, for links to the rows of a group, and its style."""

    cells: Sequence[object]
    groups: str = ""
    look: str = ""


# Only the page's own style and script, by their digests, and pictures that are in the page.
POLICY = (
    "default-src 'none'; img-src data:; style-src '{style}'; script-src '{script}'; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)


def text(value: object) -> Html:
    """Return markup as it is, and any other value as escaped text; control characters and direction marks are visible."""
    return value if isinstance(value, Html) else Html(html.escape(visible("" if value is None else str(value))))


def join(parts: Iterable[object], separator: str = "") -> Html:
    """Return parts as one piece of markup."""
    return Html(separator.join(map(text, parts)))


def tag(name: str, *children: object, **attributes: object) -> Html:
    """Return an element; an underscore in the name of an attribute is a hyphen.

    Examples
    --------
    >>> tag("p", "a < b", tag("b", "c"), class_="note")
    '<p class="note">a &lt; b<b>c</b></p>'
    """
    given = join(
        Html(f' {key.rstrip("_").replace("_", "-")}="{text(value)}"')
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{given}>{join(children)}</{name}>")


def lines(parts: Iterable[object]) -> Html:
    """Return parts, each on a line of its own."""
    return join(tag("div", part) for part in parts)


def table(
    name: str, caption: str, columns: Sequence[Column], rows: Iterable[Row], *, live: bool = True, total: int = 0
) -> Html:
    """Return a table that can be scrolled; where `live`, it can be sorted and filtered too.

    Parameters
    ----------
    name : str
        Identity of the table in the page.
    caption : str
        What the table shows.
    columns, rows
        The headings, and the cells in the same order.
    live : bool
        Whether its rows have no order that must stay.
    total : int
        Number of all rows, where the table has only some.
    """
    heads = [
        tag("th", column.heading, scope="col", class_=column.kind, data_choice="" if column.choice else None)
        for column in columns
    ]
    looks = [("th scope=row" if column.kind == "heading" else "td", column.kind) for column in columns]
    body = join(Html(f"<tr{_given(row)}>{''.join(map(_cell, looks, row.cells))}</tr>\n") for row in rows)
    whole = tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", *heads)),
        tag("tbody", body),
        id=name,
        class_="live" if live else "fixed",
        data_total=total or None,
    )
    return tag("div", whole, class_="scroll", role="region", tabindex="0", aria_label=caption)


def _given(row: Row) -> str:
    given = {"data-groups": row.groups, "class": row.look}
    return "".join(f' {name}="{text(value)}"' for name, value in given.items() if value)


def _cell(look: tuple[str, str], value: object) -> str:
    element, kind = look
    named = "" if kind in {"text", "heading"} else f' class="{kind}"'
    return f"<{element}{named}>{text(value)}</{element[:2]}>"


def page(title: str, body: Html) -> bytes:
    """Return the page, in UTF-8."""
    style, script = (f"\n{_own(name)}" for name in ("report.css", "report.js"))
    policy = POLICY.format(style=_digest(style), script=_digest(script))
    head = join(
        [
            Html('<meta charset="utf-8">'),
            Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
            Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
            Html('<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'),
            tag("title", title),
            tag("style", Html(style)),
        ],
        "\n",
    )
    whole = f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n</head>\n{tag("body", body, tag("script", Html(script)))}\n</html>\n'
    return whole.encode()


def picture(content: bytes, words: str) -> Html:
    """Return a PNG picture that is part of the page."""
    data = base64.b64encode(content).decode()
    return Html(f'<img src="data:image/png;base64,{data}" alt="{text(words)}">')


def _own(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _digest(content: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"
