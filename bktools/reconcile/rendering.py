"""A reconciliation as text and as HTML."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from bktools import views
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
    lines = ["; ".join([_headline(findings, coverage, summary), *notes])]
    lines += [
        f"  {severity:<8}{count:>7,} {check}: {views.short(message)}"
        for severity, check, count, message in _by_check(findings)
    ]
    if len(findings):
        lines.append("  each with its first finding; all of them are in .findings")
    return "\n".join(lines)


def html(findings: pd.DataFrame, coverage: pd.DataFrame, summary: pd.DataFrame, notes: Sequence[str]) -> str:
    """Return the reconciliation for a notebook: counts, notes, and a row a check with its first finding."""
    rows = [
        (f"{views.MARKS[severity]} {severity}", count, check, message)
        for severity, check, count, message in _by_check(findings)
    ]
    headings = map(views.heading, [_headline(findings, coverage, summary), *notes])
    return "".join(headings) + views.table(
        ["severity", "findings", "check", "the first of them"],
        rows,
        total=len(rows),
        where=".summary",
        looks=[views.ON_ONE_LINE, "", "", ""],
    )


def _by_check(findings: pd.DataFrame) -> list[tuple[str, str, int, str]]:
    """Return severity, check, how many findings, and the message of the first; the most severe first."""
    groups = findings.groupby(["severity", "check"], sort=False, observed=True)["message"]
    counts = groups.agg(["size", "first"]).reset_index()
    return [(str(severity), str(check), int(size), str(first)) for severity, check, size, first in counts.to_numpy()]


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
        f"Reconciliation: {len(findings):,} finding{'' if len(findings) == 1 else 's'} ({counts}); "
        f"accounts: {', '.join(listed) or 'none'}; {covered:,} of {len(coverage):,} categories covered"
    )
