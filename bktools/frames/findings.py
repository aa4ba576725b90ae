"""Findings by check, as every result shows them: how many there are, and the first one."""

from __future__ import annotations

import pandas as pd

from bktools import views


def by_check(findings: pd.DataFrame) -> list[tuple[str, str, int, str]]:
    """Return severity, check, how many findings, and the message of the first; in the order of the findings."""
    groups = findings.groupby(["severity", "check"], sort=False, observed=True)["message"]
    counts = groups.agg(["size", "first"]).reset_index()
    return [(str(severity), str(check), int(size), str(first)) for severity, check, size, first in counts.to_numpy()]


def as_lines(findings: pd.DataFrame) -> list[str]:
    """Return a line a check, and one that says where all findings are."""
    lines = [
        f"{severity:<8}{count:>7,} {check}: {views.short(message)}"
        for severity, check, count, message in by_check(findings)
    ]
    return [*lines, "each with its first finding; all of them are in .findings"] if lines else []


def as_html(findings: pd.DataFrame, noun: str, where: str) -> str:
    """Return a table with a row a check; `noun` is what is counted, and `where` names the place of the others."""
    rows = [
        (f"{views.MARKS[severity]} {severity}", count, check, message)
        for severity, check, count, message in by_check(findings)
    ]
    headings = ["severity", noun, "check", "the first of them"]
    return views.table(headings, rows, total=len(rows), where=where, looks=[views.ON_ONE_LINE, "", "", ""])
