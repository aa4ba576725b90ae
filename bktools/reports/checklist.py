"""What is to be done after a close, and who does it: one row a check, from entries, accounts, categories and jobs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools import views
from bktools.frames.engine import in_pandas
from bktools.frames.schema import to_arrow
from bktools.reports.close import Close
from bktools.reports.figures import Money, sums_of
from bktools.reports.outcomes import MEANINGS, OF_ACCOUNTS

WHO = ("in the ERP", "in the service", "the employee", "here")
SHOWN_EXAMPLES = 3
BY = ("who", "severity", "check")


@dataclass(frozen=True)
class ToDo:
    """One thing to do.

    Parameters
    ----------
    who, severity, check : str
        One of WHO; error, warning or info; the check, or the outcome that asks for it.
    count : int
        How many entries, accounts, categories or jobs it is about.
    money : Money
        Their value; empty where they have none.
    fact : str
        The message of the check, "" where it differs.
    examples : tuple of (before, text, after, fact)
        The first ones by name, where `text` is a person's own words, and `fact` is "" where it is the same for all.
    to_do : str
        The step.
    section : str
        What it is about: entries, checks, batches or accounts.
    """

    who: str
    severity: str
    check: str
    count: int
    money: Money
    fact: str
    examples: tuple[tuple[str, str, str, str], ...]
    to_do: str
    section: str


def to_do_of(close: Close) -> list[ToDo]:
    """Return what is to be done, the most severe and most frequent first; infos included."""
    found = [*_of_entries(close), *_of_chart(close), *_of_jobs(close), *_of_accounts(close)]
    rank = {severity: place for place, severity in enumerate(views.MARKS)}
    return sorted(found, key=lambda one: (rank[one.severity], -one.count))


def _of_entries(close: Close) -> Iterable[ToDo]:
    findings = close.plan.findings
    money = sums_of(to_arrow(findings, "the findings"), *BY)
    return [_of_check(group, money[key], "entries") for key, group in _grouped(findings)]


def _of_chart(close: Close) -> Iterable[ToDo]:
    findings = in_pandas(close.after.findings)
    # Findings that say neither whom nor what they are about are told in their own table.
    return [_of_check(group, {}, "checks") for _, group in _grouped(findings)] if "who" in findings.columns else []


def _of_jobs(close: Close) -> Iterable[ToDo]:
    sums = sums_of(close.plan.rows, "batch_id")
    for outcome, group in close.jobs.groupby("outcome", sort=False):
        meaning, step = MEANINGS[str(outcome)]
        if step is not None and close.applied:
            told = tuple((str(message), "", "", "") for message in group["message"].head(SHOWN_EXAMPLES))
            money = _added(sums.get((batch,), {}) for batch in group["batch_id"])
            check = f"export_job_{outcome}".lower()
            yield ToDo("here", "error", check, len(group), money, meaning, told, step, "batches")


def _of_accounts(close: Close) -> Iterable[ToDo]:
    for outcome, group in close.accounts.groupby("outcome", sort=False):
        meaning, step = OF_ACCOUNTS[str(outcome)]
        if step is not None and close.applied:
            first = group.head(SHOWN_EXAMPLES)
            codes = first["code"].fillna(first["external_id"])
            told = tuple((f"{code} ", str(name), "", "") for code, name in zip(codes, first["name"], strict=True))
            yield ToDo("here", "warning", f"account_{outcome}".lower(), len(group), {}, meaning, told, step, "accounts")


def _grouped(findings: pd.DataFrame) -> Iterable[tuple[tuple[str, str, str], pd.DataFrame]]:
    for (who, severity, check), group in findings.groupby([*BY], sort=False, observed=True):
        yield (str(who), str(severity), str(check)), group


def _of_check(group: pd.DataFrame, money: Money, section: str) -> ToDo:
    first = group.iloc[0]
    named = list(zip(group["message"], group["to_do"], group["about"], strict=True))
    # A fact that is the same for all, apart from the name, is told once.
    facts = {_fact(message, step).replace(about, "…") for message, step, about in named}
    told = tuple(
        (*_around(row), "" if len(facts) == 1 else _fact(row["message"], row["to_do"]))
        for row in group.head(SHOWN_EXAMPLES).to_dict("records")
    )
    step = str(first["to_do"])
    step = step if (group["to_do"] == first["to_do"]).all() else f"{step} (or another step: see each of them)"
    who, severity, check = (str(first[name]) for name in BY)
    fact = facts.pop() if len(facts) == 1 else ""
    return ToDo(who, severity, check, len(group), money, fact, told, step, section)


def _fact(message: str, to_do: str) -> str:
    """Return a message without the step that it ends with."""
    return message.removesuffix(f": {to_do}")


def _around(row: dict[Any, Any]) -> tuple[str, str, str]:
    """Return what a finding is about, as the text in it and what stands before and after the text."""
    about = str(row["about"])
    texts = (str(row[name]) for name in ("supplier", "description") if name in row and not pd.isna(row[name]))
    text = next((text for text in texts if text and text in about), "")
    before, _, after = about.partition(text) if text else (about, "", "")
    return before, text, after


def _added(parts: Iterable[Money]) -> Money:
    """Return the sums of several groups."""
    rows = [(currency, count, amount) for part in parts for currency, (count, amount) in part.items()]
    found: Money = {}
    for currency in dict.fromkeys(currency for currency, _, _ in rows):
        own = [(count, amount) for name, count, amount in rows if name == currency]
        # Arrow's sum, because Python's decimals round to 28 digits.
        amounts = pa.array([amount for _, amount in own if amount is not None])
        found[currency] = (sum(count for count, _ in own), pc.sum(amounts).as_py() if len(amounts) else None)
    return found
