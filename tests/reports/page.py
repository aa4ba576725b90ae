"""The report's page as elements, tables and cards, and the contrast of its colours."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

VOID = {"meta", "img", "input", "link", "br"}


class Page(HTMLParser):
    """The elements of a page, its text, the rows of its tables by ID, and the cards of its head."""

    def __init__(self, report: Path | bytes | str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, Any]]] = []
        self.open: list[str] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.captions: dict[str, str] = {}
        self.cards: list[list[str]] = []
        self.text = self.name = ""
        content = report.read_bytes() if isinstance(report, Path) else report
        self.feed(content.decode() if isinstance(content, bytes) else content)
        assert self.open == [], "an element is not closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element, and begin a card, a table, a row or a cell."""
        given = dict(attrs)
        self.elements.append((tag, given))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.name = given.get("id") or given.get("class") or ""
            self.tables[self.name] = []
        if tag == "tr":
            self.tables[self.name].append([])
        if tag in {"td", "th"}:
            self.tables[self.name][-1].append("")
        if tag == "div" and (given.get("class") or "").startswith("card "):
            self.cards.append([])

    def handle_endtag(self, tag: str) -> None:
        """Check that the innermost element ends."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note a text, in its card or cell."""
        if self.open and self.open[-1] in {"style", "script"}:
            return
        self.text += data
        if "caption" in self.open:
            self.captions[self.name] = data
        if {"td", "th"} & {*self.open}:
            self.tables[self.name][-1][-1] += data
        elif "dl" in self.open and data.strip():
            self.cards[-1].append(data.strip())

    def rows(self, name: str) -> list[dict[str, str]]:
        """Return the rows of a table by heading."""
        heads, *rows = self.tables[name]
        return [dict(zip(heads, (" ".join(cell.split()) for cell in row), strict=True)) for row in rows]


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours such as #123456, as WCAG 2 defines it."""
    low, high = sorted(map(_brightness, (one, other)))
    return (high + 0.05) / (low + 0.05)


def _brightness(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
