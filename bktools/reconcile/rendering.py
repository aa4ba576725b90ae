"""How a reconciliation looks: as text, in a notebook, as a plot."""

from __future__ import annotations

import html as markup
from typing import TYPE_CHECKING, Any

import pandas as pd

from bktools.reconcile.findings import SEVERITIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN_LINES = 10
SHOWN_ROWS = 25
LONGEST_LINE = 300

# Okabe and Ito's colours, told apart by colour-blind readers; the hatch tells them apart in print.
LOOKS = {"error": ("#D55E00", ""), "warning": ("#E69F00", "//"), "info": ("#56B4E9", "..")}
# Named by text and shape, not by colour alone; no colour of its own for text, so that it reads in light and dark.
MARKS = {"error": "✖", "warning": "▲", "info": "●"}


def text(findings: pd.DataFrame, coverage: pd.DataFrame, summary: pd.DataFrame) -> str:
    """Return the reconciliation as a few lines of text."""
    lines = [_headline(findings, coverage, summary)]
    shown = findings.head(SHOWN_LINES)
    lines += [f"  {row['severity']:<8}{_short(row['message'])}" for row in shown.to_dict("records")]
    if len(findings) > len(shown):
        lines.append(f"  … and {len(findings) - len(shown):,} more in .findings")
    return "\n".join(lines)


def html(findings: pd.DataFrame, coverage: pd.DataFrame, summary: pd.DataFrame) -> str:
    """Return the reconciliation for a notebook: the headline, and the first findings as a table."""
    cell = "padding:2px 10px 2px 0;text-align:left;vertical-align:top;border-bottom:1px solid rgba(128,128,128,.35)"
    head = "".join(f'<th style="{cell}">{name}</th>' for name in ("severity", "check", "finding"))
    rows = []
    for row in findings.head(SHOWN_ROWS).to_dict("records"):
        severity, check, message = row["severity"], row["check"], _short(row["message"])
        mark = f'<span style="color:{LOOKS[severity][0]}" aria-hidden="true">{MARKS[severity]}</span>'
        cells = (f"{mark}&nbsp;{severity}", markup.escape(check), markup.escape(message))
        rows.append("<tr>" + "".join(f'<td style="{cell}">{value}</td>' for value in cells) + "</tr>")
    more = len(findings) - len(rows)
    table = (
        f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    )
    return "".join(
        [
            paragraph(_headline(findings, coverage, summary)),
            table if rows else "",
            paragraph(f"… and {more:,} more in .findings") if more else "",
        ]
    )


def paragraph(line: str) -> str:
    """Return a line of text as a paragraph of HTML."""
    return f"<p>{markup.escape(line)}</p>"


def not_collected(frame: type[Any]) -> str:
    """Return what is to be said of a reconciliation that has not run."""
    engine = frame.__module__.split(".", maxsplit=1)[0].lstrip("_")
    return (
        f"Reconciliation on {engine}, not run yet: .findings, .actions, .coverage and .summary are {engine} frames, "
        "collect them there"
    )


def draw(summary: pd.DataFrame, ax: Axes | None) -> Axes:
    """Draw the findings of each check as a bar, the most severe on top."""
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(8, 0.8 + 0.32 * max(3, summary["check"].nunique())), layout="constrained")
    counts = summary[summary["severity"].isin(SEVERITIES)]
    checks = list(dict.fromkeys(counts["check"]))
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
        f"{count:,} {check.removeprefix('action: ')}"
        for check, count in zip(verbs["check"], verbs["count"], strict=True)
    ]
    covered = int((coverage["state"] == "covered").sum())
    return (
        f"Reconciliation: {len(findings):,} finding{'' if len(findings) == 1 else 's'} ({found}); "
        f"accounts: {', '.join(listed) or 'none'}; {covered:,} of {len(coverage):,} categories covered"
    )


def _short(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"
