"""Views: readable as text and in a notebook, escaped, bounded, and with what to do next."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pandas as pd
import pytest

import bktools
from bktools import views
from bktools.submit.outcome_frame import Outcomes

EVIL = "<script>alert('x')</script> & \"more\""


class _Tags(HTMLParser):
    """The tags of a text, which must be closed in their order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 - the parser's own signature
        self.seen.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def _is_a_view(html: str) -> str:
    tags = _Tags(html)
    assert tags.open == []
    assert tags.seen <= {"p", "b", "table", "thead", "tbody", "tr", "th", "td", "div", "span"}
    # The page's own colours, so that it reads in light and in dark.
    assert "background" not in html
    assert len(html) < 60_000
    return html


def test_tables_are_bounded_and_escaped():
    """The first twenty rows, how many more there are and where, and nothing that a browser would run."""
    html = _is_a_view(
        views.table(["name", EVIL], [(EVIL * 50, number) for number in range(300)], total=300, where=".rows")
    )
    assert html.count("<tr>") == 21
    assert "… and 280 more in .rows" in html
    assert "&lt;script&gt;" in html
    assert views.table(["name"], [], total=0) == ""


@pytest.mark.parametrize(
    ("function", "column"),
    [(bktools.create_accounts, "external_id"), (bktools.submit_export_jobs, "batch_id")],
)
def test_every_outcome_that_is_documented_has_a_meaning(function: object, column: str):
    """Each outcome that a docstring names is told in words, and SENDING among those of jobs."""
    named = set(re.findall(r"\b[A-Z]{5,}\b", str(function.__doc__)))
    assert {"PLANNED", "UNKNOWN", "REJECTED"} < named
    assert ("SENDING" in named) == (column == "batch_id")
    shown = repr(Outcomes(pd.DataFrame({"outcome": sorted(named), column: "x"})))
    assert all(re.search(rf"^1 {name}: \w", shown, re.MULTILINE) for name in named)
