"""Every code of a close has its words, in each language."""

from __future__ import annotations

import pytest

from bktools.close.actions import (
    APART_BY,
    OF_CREATED,
    OF_JOBS,
    STEPS,
)
from bktools.close.changes import CATEGORIES, SUMS
from bktools.close.entries import OF_REASON
from bktools.findings.check import FATES, HELD
from bktools.reports.folder import TABLES
from bktools.reports.workbook import FOR_PROGRAMS, PRINTED
from bktools.submit.outcome_frame import OUTCOMES
from bktools.wording import LANGUAGES, words

ENGLISH = words("en")

CODES = {
    *(code for code, _ in STEPS.values() if code),
    *OF_JOBS.values(),
    *OF_CREATED.values(),
    "in_doubt",
}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("form", "codes"),
    [
        ("fate.{}.name", {*FATES, "all"}),
        ("entry.{}.name", {*OF_REASON}),
        ("step.{}.name", CODES),
        ("outcome.{}.name", {outcome.lower() for outcome in OUTCOMES}),
        ("change.{}.name", {*SUMS, HELD, *CATEGORIES.values()}),
        ("report.readme.{}", {name.replace(".", "_") for name in TABLES}),
        ("report.column.{}", {*PRINTED, *FOR_PROGRAMS}),
    ],
    ids=["fates", "reasons", "steps", "outcomes", "changes", "files", "columns"],
)
def test_every_code_has_words(language: str, form: str, codes: set[str]):
    """Each fate, reason, step, outcome, change, file and column has words; none is unused."""
    there = words(language).texts
    assert {code for code in codes if form.format(code) not in there} == set()
    if codes is CODES:
        assert {key.split(".")[1] for key in there if key.startswith("step.")} == CODES


def test_a_sentence_of_several_things_names_what_they_share():
    """Its facts are those of the table `APART_BY`, or sums over all things."""
    sums = {"count", "entries", "sent", "now", "difference", "planned"}
    for key in ENGLISH.texts:
        section, code, form = (*key.split("."), "", "")[:3]
        if section in ("entry", "step") and form in ("many", "do_many") and STEPS.get(code) is None:
            assert ENGLISH.facts_of(key) <= sums | {*APART_BY.get(code, ())}, key
