"""Findings by check, as every result shows them: their number, their messages, and the things concerned."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pandas as pd

from bktools import views
from bktools.consoles import INDENT, listed, room
from bktools.wording import Words
from bktools.wording.numbers import number


@dataclass
class _Group:
    """The findings that one sentence is about."""

    facts: dict[str, object]
    count: int = 0
    about: list[str] = field(default_factory=list)


def by_check(findings: pd.DataFrame, words: Words, section: str) -> Iterator[tuple[str, int, str, str]]:
    """Yield severity, how many findings, name and sentence: one for one finding, another for several.

    Findings of a check whose sentence would differ, as by their currency, are apart.

    Parameters
    ----------
    findings : DataFrame
        severity, check (code), facts (JSON); about, where it is there, names the things.
    words : Words
        The language.
    section : str
        The section of the codes in the files of `wording`, such as "account".
    """
    groups: dict[tuple[str, str, str], _Group] = {}
    abouts = findings["about"] if "about" in findings.columns else [""] * len(findings)
    for severity, check, facts, about in zip(
        findings["severity"], findings["check"], findings["facts"], abouts, strict=True
    ):
        known = json.loads(facts)
        named_facts = {
            name: known[name] for name in sorted(words.facts_of(f"{section}.{check}.many") & known.keys())
        }
        group = groups.setdefault((severity, check, json.dumps(named_facts)), _Group(known))
        group.count += 1
        group.about += [about] if about else []
    for (severity, check, _), group in groups.items():
        form = "one" if group.count == 1 else "many"
        sentence = words(f"{section}.{check}.{form}", **{**group.facts, "count": group.count})
        name = words.name(section, check)
        yield severity, group.count, name, ": ".join(filter(None, [sentence, words.listed(group.about)]))


def lines_of(rows: Iterable[tuple[str, int, str, str]], words: Words) -> list[str]:
    """Return rows of a word, a number, a name and a sentence as indented lines with aligned columns."""
    texts = [(word, number(count, words.language), *others) for word, count, *others in rows]
    return listed(texts, room(), indent=INDENT, to_the_right=[1])


def as_lines(findings: pd.DataFrame, words: Words, section: str) -> list[str]:
    """Return a line a check, and one that says where all findings are; they are indented."""
    rows = [
        (words.name("severity", severity), count, name, sentence)
        for severity, count, name, sentence in by_check(findings, words, section)
    ]
    lines = lines_of(rows, words)
    return [*lines, f"{INDENT}{words('command.all_findings')}"] if lines else []


def as_html(findings: pd.DataFrame, words: Words, section: str, counted: str) -> str:
    """Return a table with one row for each check; its things are `counted`."""
    rows = [
        (f"{views.MARKS[severity]} {words.name('severity', severity)}", count, name, sentence)
        for severity, count, name, sentence in by_check(findings, words, section)
    ]
    names = ("severity", counted, "check", "finding")
    headings = [words(f"report.column.{name}") for name in names]
    return views.table(
        headings, rows, total=len(rows), where=".findings", looks=[views.ON_ONE_LINE, "", "", ""]
    )
