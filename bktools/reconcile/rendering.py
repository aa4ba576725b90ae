"""How a reconciliation looks: as text, in a notebook, as a plot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from bktools import views
from bktools.figures import axes_for
from bktools.reconcile.checks import SEVERITIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, told apart by colour-blind readers; the hatch tells them apart in print.
LOOKS = {"error": ("#D55E00", ""), "warning": ("#E69F00", "//"), "info": ("#56B4E9", "..")}
# Named by text and shape, not by colour, so that it reads in light and dark.
WORDS = {"action: none": "unchanged"}
MARKS = {"error": "✖", "warning": "▲", "info": "●"}


def summarised(counts: pd.DataFrame) -> pd.DataFrame:
    """Return counts of each check and verb, which may be of one company each, as counts of all; most severe first."""
    rows = counts.groupby(["severity", "check"], as_index=False)["count"].sum()
    rank = rows["severity"].map({name: place for place, name in enumerate((*SEVERITIES, ""))})
    ranked: pd.DataFrame = rows.assign(rank=rank).sort_values(["rank", "check"], ignore_index=True)
    return ranked[["check", "severity", "count"]]


def text(findings: pd.DataFrame, coverage: pd.DataFrame, summary: pd.DataFrame) -> str:
    """Return the reconciliation as a few lines of text: one a check, with its first finding."""
    lines = [_headline(findings, coverage, summary)]
    lines += [
        f"  {severity:<8}{count:>7,} {check}: {views.short(message)}"
        for severity, check, count, message in _by_check(findings)
    ]
    if len(findings):
        lines.append("  each with its first finding; all of them are in .findings")
    return "\n".join(lines)


def html(findings: pd.DataFrame, coverage: pd.DataFrame, summary: pd.DataFrame) -> str:
    """Return the reconciliation for a notebook: the headline, and a row a check with its first finding."""
    rows = [
        (f"{MARKS[severity]} {severity}", count, check, message)
        for severity, check, count, message in _by_check(findings)
    ]
    return views.heading(_headline(findings, coverage, summary)) + views.table(
        ["severity", "findings", "check", "the first of them"], rows, total=len(rows), where=".summary"
    )


def _by_check(findings: pd.DataFrame) -> list[tuple[str, str, int, str]]:
    """Return severity, check, how many findings, and the message of the first; the most severe first."""
    groups = findings.groupby(["severity", "check"], sort=False, observed=True)["message"]
    found = groups.agg(["size", "first"]).reset_index()
    return [(str(severity), str(check), int(size), str(first)) for severity, check, size, first in found.to_numpy()]


def not_collected() -> str:
    """Return the text of a reconciliation that has not run."""
    return (
        "Reconciliation on PySpark, not run yet: .findings, .coverage, .actions and .unused_accounts are PySpark frames, "
        "to be written or collected there; .summary runs it and counts"
    )


def draw(summary: pd.DataFrame, ax: Axes | None) -> Axes:
    """Draw the findings of each check as a bar, the most severe on top."""
    counts = summary[summary["severity"].isin(SEVERITIES)]
    checks = list(dict.fromkeys(counts["check"]))
    ax = axes_for(ax, len(checks), counts["severity"].nunique())
    reached = dict.fromkeys(checks, 0)
    for severity in SEVERITIES:
        part = counts[counts["severity"] == severity]
        colour, hatch = LOOKS[severity]
        if len(part):
            left = [reached[check] for check in part["check"]]
            places = [checks.index(check) for check in part["check"]]
            ax.barh(places, part["count"], left=left, color=colour, hatch=hatch, edgecolor="white", label=severity)
        for check, count in zip(part["check"], part["count"], strict=True):
            reached[check] += count
    for place, check in enumerate(checks):
        ax.annotate(f"{reached[check]:,}", (reached[check], place), (4, 0), textcoords="offset points", va="center")
    ax.set_yticks(range(len(checks)), [check.replace("_", " ") for check in checks])
    ax.invert_yaxis()
    ax.margins(x=0.1)
    ax.set_xlabel("findings")
    ax.set_title("Reconciliation of the chart of accounts", loc="left")
    ax.spines[["top", "right"]].set_visible(False)
    if checks:
        # Beside the bars, where it covers none.
        ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1.02), borderaxespad=0, fontsize="small")
    else:
        ax.text(0.5, 0.5, "no findings", transform=ax.transAxes, ha="center", va="center")
        ax.set_xticks([])
    return ax


def _headline(findings: pd.DataFrame, coverage: pd.DataFrame, summary: pd.DataFrame) -> str:
    severities = findings["severity"].value_counts()
    found = ", ".join(f"{severities.get(name, 0):,} {name}" for name in SEVERITIES)
    verbs = summary[summary["severity"] == ""]
    listed = [
        f"{count:,} {WORDS.get(check, check.removeprefix('action: '))}"
        for check, count in zip(verbs["check"], verbs["count"], strict=True)
    ]
    covered = int((coverage["state"] == "covered").sum())
    return (
        f"Reconciliation: {len(findings):,} finding{'' if len(findings) == 1 else 's'} ({found}); "
        f"accounts: {', '.join(listed) or 'none'}; {covered:,} of {len(coverage):,} categories covered"
    )
