"""Views: readable as text and in a notebook, escaped, bounded, and with what to do next."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

import bktools
from bktools import views
from bktools.errors import InputError
from bktools.settings import load_settings
from bktools.submit.outcomes import Outcomes
from bktools.wording import words

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


def test_a_plan_of_three_hundred_batches(samples: tuple[Path, Path]):
    """The plan's view stays short, tells amounts, reasons and what to do next."""
    entries = bktools.read_entries(samples[1])
    plan = bktools.compose_export_jobs(entries, max_entries=1)
    html = _is_a_view(plan._repr_html_())
    assert f"… and {len(plan.batches) - 20} more in .batches" in html
    assert "Next: submit_export_jobs(plan)" in html
    assert "not checked: " in html
    text = repr(plan)
    assert f"{len(plan.entries)} entries ready in {len(plan.batches)} batches" in text
    assert "ready: EUR " in text
    assert re.search(r"error +\d+  not_approved  ", text)
    assert len(text.splitlines()) < 25


def test_outcomes_say_what_they_mean_and_what_is_next():
    """What needs somebody's attention comes first, and each outcome has its meaning."""
    frame = pd.DataFrame(
        {
            "outcome": ["ACCEPTED"] * 30 + ["UNKNOWN", "SOMETHING_NEW"],
            "batch_id": [f"batch {number}" for number in range(32)],
            "message": [EVIL] * 32,
        }
    )
    html = _is_a_view(Outcomes(frame)._repr_html_())
    assert html.index("batch 30") < html.index("batch 0<")
    assert re.search(r"<tr><td[^>]*>UNKNOWN</td><td[^>]*>batch 30</td>", html), "cells below their headings"
    assert "Next: UNKNOWN: look its entries up in the accounting system" in html
    assert "… and 12 more in the frame" in html
    assert repr(Outcomes(frame)).splitlines() == [
        f"30 ACCEPTED: {words('en')('outcome.accepted.one')}",
        f"1 UNKNOWN: {words('en')('outcome.unknown.one')}",
        "1 SOMETHING_NEW",
        f"  next: UNKNOWN: {words('en')('outcome.unknown.do')}",
        f"  batch 30: {EVIL}",
    ]
    assert repr(Outcomes(frame.head(0))) == "nothing to do: no outcomes"
    with pytest.raises(InputError, match="no column 'outcome'"):
        Outcomes(pd.DataFrame({"a": [1]}))


def test_an_account_may_be_created_again_and_a_job_may_not():
    """The same outcome has another meaning and another next step for accounts and for jobs."""
    accounts = pd.DataFrame({"outcome": ["EXISTS", "UNKNOWN"], "external_id": ["0400", "0500"]})
    assert Outcomes(accounts).next_steps == [
        "EXISTS: import the account list of the service with import_accounts",
        "UNKNOWN: safe to run again",
    ]
    assert "its data is not known here" in repr(Outcomes(accounts))
    jobs = pd.DataFrame({"outcome": ["UNKNOWN"], "batch_id": ["batch"]})
    assert "look its entries up in the accounting system" in Outcomes(jobs).next_steps[0]


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


def test_settings_show_no_secret():
    """Each setting with where it came from; a token never."""
    settings = load_settings("https://books.example.com", env={}, token="hush-hush-token", company="a<b")
    for shown in (repr(settings), _is_a_view(settings._repr_html_())):
        assert "hush" not in shown
        assert "https://books.example.com" in shown
        assert "argument" in shown
    assert "a&lt;b" in settings._repr_html_()


def test_a_service_says_what_it_is(service: bktools.Service):
    """The sandbox is told from the real one at first sight."""
    html = _is_a_view(service._repr_html_())
    assert "the embedded sandbox, not real books" in html
    assert service.settings.base_url in html
    assert "Next: load_categories" in html
