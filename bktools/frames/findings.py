"""Findings by check, as every result shows them: their number, their messages, and the things concerned."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd

from bktools import views
from bktools.consoles import INDENT, listed, room
from bktools.wording import Words
from bktools.wording.numbers import number


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
    columns = [name for name in ("severity", "check", "facts", "about") if name in findings.columns]
    groups: dict[tuple[str, str, str], list[Any]] = {}
    for row in findings[columns].to_dict("records"):
        facts = json.loads(row["facts"])
        own = words.facts_of(f"{section}.{row['check']}.many") & facts.keys()
        named = json.dumps({name: facts[name] for name in sorted(own)})
        groups.setdefault((row["severity"], row["check"], named), []).append(row | {"facts": facts})
    for (severity, check, _), rows in groups.items():
        form = "one" if len(rows) == 1 else "many"
        sentence = words(f"{section}.{check}.{form}", **{**rows[0]["facts"], "count": len(rows)})
        about = words.listed([row["about"] for row in rows if row.get("about")])
        yield severity, len(rows), words.name(section, check), ": ".join(filter(None, [sentence, about]))


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
