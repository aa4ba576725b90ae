"""A reconciliation as text and as HTML."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from bktools import views
from bktools.frames.codes import counted
from bktools.frames.findings import as_html, as_lines
from bktools.reconcile.checks import SEVERITIES

WORDS = {"action: none": "unchanged"}


def summarised(counts: pd.DataFrame) -> pd.DataFrame:
    """Return the counts of each check and action, summed over companies; the most severe first."""
    rows = counts.groupby(["severity", "check"], as_index=False)["count"].sum()
    rank = rows["severity"].map({name: place for place, name in enumerate((*SEVERITIES, ""))})
    ranked: pd.DataFrame = rows.assign(rank=rank).sort_values(["rank", "check"], ignore_index=True)
    return ranked[["check", "severity", "count"]]


def text(findings: pd.DataFrame, coverage: pd.DataFrame, summary: pd.DataFrame, notes: Sequence[str]) -> str:
    """Return the reconciliation as a few lines of text: counts and notes, then one a check, with its first finding."""
    return "\n  ".join(["; ".join([_headline(findings, coverage, summary), *notes]), *as_lines(findings)])


def html(findings: pd.DataFrame, coverage: pd.DataFrame, summary: pd.DataFrame, notes: Sequence[str]) -> str:
    """Return the reconciliation for a notebook: counts, notes, and a row a check with its first finding."""
    headings = map(views.heading, [_headline(findings, coverage, summary), *notes])
    return "".join(headings) + as_html(findings, "findings", ".summary")


def _headline(findings: pd.DataFrame, coverage: pd.DataFrame, summary: pd.DataFrame) -> str:
    severities = findings["severity"].value_counts()
    counts = ", ".join(f"{severities.get(name, 0):,} {name}" for name in SEVERITIES)
    verbs = summary[summary["severity"] == ""]
    listed = [
        f"{count:,} {WORDS.get(check, check.removeprefix('action: '))}"
        for check, count in zip(verbs["check"], verbs["count"], strict=True)
    ]
    covered = int((coverage["state"] == "covered").sum())
    return (
        f"Reconciliation: {counted(len(findings), 'finding')} ({counts}); "
        f"accounts: {', '.join(listed) or 'none'}; {covered:,} of {len(coverage):,} categories covered"
    )
