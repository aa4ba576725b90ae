"""Writes the guide's tables that are made from the code: `python tests/make_guide.py`, after a change.

Each stands between two comments of its page, the first of which names it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

import bktools
from bktools.cli.exits import Exit
from bktools.cli.guide import FOR_ANALYSTS, TOPICS, text_of, title_of, with_commands
from bktools.export.checks import CHECKS as OF_ENTRIES
from bktools.findings.check import ERP, FATES, SEVERITIES, WARNING, Check
from bktools.frames.schema import BATCH_STATES
from bktools.journal.schema import ACCOUNT_STATES
from bktools.ledger.findings import FINDINGS as OF_LEDGERS
from bktools.reconcile.checks import CHECKS as OF_ACCOUNTS
from bktools.reports.folder import TABLES
from bktools.sandbox.faults import KINDS, OPTIONS
from bktools.submit.outcome_frame import OUTCOMES, meaning_of
from bktools.wording import words

ENGLISH = words("en")
GUIDE = Path(bktools.__file__).parent / "guide"
BLOCK = re.compile(r"(<!-- made from the code: ([a-z ]+) -->\n\n).*?(<!-- end -->\n)", re.DOTALL)

# Meanings of fates, which the code has as names alone.
MEANING_OF_FATE = {
    "exported": "accepted by the service in an export job of this month",
    "exported_before": "accepted in the close of an earlier month, and in the file again",
    "in_books": "not sent, because the ledger has it already: nobody has anything to do",
    "in_doubt": "sent, and nobody knows whether it arrived: see the page after-export",
    "ready": "would be sent, or was tried and not sent; the reason says which",
    "held_back": "not sent, because a check failed; the reason says which",
    "left_out": "not of this close: dated after the month, of another company, or a copy of a line",
}
MEANING_OF_STATUS = {
    "booked": "booked by itself, with how many days later",
    "in_a_sum": "booked in one sum with other entries, to the cent",
}


def table(headings: str, rows: Iterable[Iterable[object]]) -> str:
    """Return rows as Markdown."""
    names = headings.split(", ")
    lines = [names, ["---"] * len(names), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


# A code, its severity, and who acts.
Item = tuple[str, str, str]
# What a close calls an entry of an earlier month that it has closed itself.
CLOSED_PERIOD: Item = ("closed_period", WARNING, ERP)


def _items(checks: Iterable[Check]) -> list[Item]:
    return [(check.code, check.severity, check.who) for check in checks]


def _checks(section: str, items: Iterable[Item], severities: Collection[str] = SEVERITIES) -> str:
    """Return a row for each code of some severities: the worst that it has, and all who act."""
    by_code: dict[str, list[Item]] = {}
    for item in items:
        by_code.setdefault(item[0], []).append(item)

    def rows() -> Iterator[tuple[str, ...]]:
        for code, alike in by_code.items():
            severity = min((item[1] for item in alike), key=SEVERITIES.index)
            who = ", ".join(dict.fromkeys(ENGLISH.name("role", item[2]) for item in alike))
            if severity in severities:
                yield (
                    f"`{code}`",
                    severity,
                    _fact(f"{section}.{code}.many"),
                    _step(f"{section}.{code}.do"),
                    who,
                )

    return table("code, severity, what is the case, what to do, who", rows())


def _fact(key: str) -> str:
    """Return a sentence with a dot-dot-dot for each fact."""
    text = ENGLISH.texts[key]
    template = text if isinstance(text, str) else text["command"]
    filled = re.sub(r"(?<!\{)\{\w[^{}]*\}(?!\})", "…", re.sub(r"\{\w+:if [^}]*\}", "", template))
    return filled.replace("{{", "{").replace("}}", "}").replace("|", "\\|")


def _step(key: str) -> str:
    """Return a step; of one that depends on a case, that of each case."""
    cases = re.findall(r"\{(\w+):name (\w+)\}", str(ENGLISH.texts[key]))
    if not cases:
        return _fact(key)
    field, section = cases[0]
    codes = [name.split(".")[1] for name in ENGLISH.texts if name.startswith(f"{section}.")]
    return "; ".join(ENGLISH(key, **{field: code}) for code in codes)


def _ledger() -> str:
    items = [(code, severity, who) for code, (severity, who) in OF_LEDGERS.items()]
    found = _checks("ledger", items)
    arrived = ((f"`{status}`", "", text, "Nothing to do", "") for status, text in MEANING_OF_STATUS.items())
    return found + "".join(f"| {' | '.join(row)} |\n" for row in arrived)


def _outcomes(states: Iterable[str], *, of_accounts: bool) -> str:
    released = (
        "a person found that nothing was booked, or a later plan replaced it",
        "export the entries again",
    )

    def meaning(state: str) -> tuple[str, ...]:
        if state not in OUTCOMES:
            return released
        return tuple(meaning_of(state, form, of_accounts=of_accounts) or "nothing" for form in ("one", "do"))

    return table("outcome, what it means, what to do", ((f"`{state}`", *meaning(state)) for state in states))


# By its name in the comment.
BLOCKS: dict[str, Callable[[], str]] = {
    "fates": lambda: table("fate, meaning", ((f"`{fate}`", MEANING_OF_FATE[fate]) for fate in FATES)),
    "errors of entries": lambda: _checks("entry", _items(OF_ENTRIES), SEVERITIES[:1]),
    "warnings of entries": lambda: _checks("entry", [*_items(OF_ENTRIES), CLOSED_PERIOD], SEVERITIES[1:]),
    "findings of accounts": lambda: _checks("account", _items(OF_ACCOUNTS)),
    "statuses of the ledger": _ledger,
    "outcomes of export jobs": lambda: _outcomes((*BATCH_STATES, "BLOCKED"), of_accounts=False),
    "outcomes of accounts": lambda: _outcomes(ACCOUNT_STATES, of_accounts=True),
    "files of the folder": lambda: table(
        "file, what it is",
        ((f"`{name}`", ENGLISH(f"report.readme.{name.replace('.', '_')}")) for name in TABLES),
    ),
    "faults of the sandbox": lambda: table(
        "kind or option, what it does", ((f"`{name}`", text) for name, text in (KINDS | OPTIONS).items())
    ),
    "exit codes": lambda: table(
        "code, meaning, what to do",
        (
            (f"{code:d}", ENGLISH.name("exit", code.name), ENGLISH(f"exit.{code.name.lower()}.do"))
            for code in Exit
        ),
    ),
}


def made(text: str) -> str:
    """Return a page with its tables made from the code."""
    return BLOCK.sub(lambda block: f"{block[1]}{BLOCKS[block[2]]()}\n{block[3]}", text)


# The page and the heading of each section of an assistant's instructions, in their order.
SKILL = (
    ("automation", "Rules"),
    ("first-month", "2. Plan the close"),
    ("files", "What if it asks?"),
    ("after-export", "Did it arrive?"),
    ("automation", "Results"),
    ("automation", "Exit codes"),
    ("automation", "What is safe to repeat"),
    ("automation", "What needs a person"),
)
SKILL_HEAD = """---
name: bktools
description: Load a bookkeeping service's categories and employees, reconcile the ERP's chart of accounts,
  plan export jobs, close a month and verify it in the general ledger. For month-end closes, receipts,
  expense exports and charts of accounts.
---

# bktools

"""
LLMS_HEAD = """# bktools

> Toolkit for finance analysts over a bookkeeping service: tables of categories and employees, the ERP's
> chart of accounts reconciled, accounting entries exported once, months closed into a folder, and proof
> from the ledger that they arrived.

`bktools guide TOPIC` shows a page, and `bktools guide SKILL.md` the instructions for assistants.

"""


def section(topic: str, heading: str) -> str:
    """Return a section of a page, with its heading."""
    [body] = re.findall(
        rf"^## {re.escape(heading)}\n.*?(?=^## |\Z)", text_of(topic), re.DOTALL | re.MULTILINE
    )
    text = re.sub(r"<!-- .*? -->\n\n?", "", with_commands(body))
    return re.sub(r"^## \d+\. ", "## ", text).strip() + "\n"


def for_assistants() -> dict[str, str]:
    """Return the text of each file of `FOR_ASSISTANTS`, made from the pages and the README's table."""
    readme = (GUIDE.parent.parent / "README.md").read_text(encoding="utf-8")
    questions = re.findall(r"^\| (.+\?) \| \[([a-z-]+)\]", readme, re.MULTILINE)
    topics = {topic: question for question, topic in questions}
    lines = [f"- [{title_of(topic)}]({topic}.md): {topics[topic]}\n" for topic in TOPICS]
    analysts, programs = lines[: len(FOR_ANALYSTS)], lines[len(FOR_ANALYSTS) :]
    listed = ["## Guide\n\n", *analysts, "\n## Programs and developers\n\n", *programs]
    return {
        "llms.txt": LLMS_HEAD + "".join(listed),
        "SKILL.md": SKILL_HEAD + "\n".join(section(*place) for place in SKILL),
    }


if __name__ == "__main__":
    for topic in TOPICS:
        (GUIDE / f"{topic}.md").write_text(made(text_of(topic)), encoding="utf-8")
    for name, text in for_assistants().items():
        (GUIDE / name).write_text(text, encoding="utf-8")
