"""Write the tables of the guide that are made from the code: `python tests/make_guide.py`, after the code has changed.

Each stands between two comments of its page, the first of which names it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path

import bktools
from bktools.cli.exits import Exit
from bktools.close.entries import FATES
from bktools.export.checks import CHECKS as OF_ENTRIES
from bktools.findings.check import SEVERITIES, Check
from bktools.journal.schema import ACCOUNT_STATES, BATCH_STATES
from bktools.ledger.checks import ARRIVED, FINDINGS, STATUSES
from bktools.reconcile.checks import CHECKS as OF_ACCOUNTS
from bktools.reports.folder import TABLES
from bktools.submit import outcomes
from bktools.wording import Words, words

ENGLISH = words("en")
GUIDE = Path(bktools.__file__).parent / "guide"
BLOCK = re.compile(r"(<!-- made from the code: ([a-z ]+) -->\n\n).*?(<!-- end -->\n)", re.DOTALL)

# What stands for a value in the messages of checks, by the value's name; any other is a dot-dot-dot.
VALUES = {
    "erp_account": "an account", "service_account": "an account", "account": "an account", "category": "a category",
    "action": "archive or unarchive", "known_since()": "", "on_line(line)": "", "$last_import": "", "missing": "some",
    "rows": "several", "service_rows": "several", "chart_rows": "several", "bookings": "several", "equal": "several",
    "party_noun": "supplier or employee", "counted(rows, 'active account')": "active accounts",
    "left(erp_account, 60)": "an account", "shown(twin)": "a similar one", "MONTH": "a month",
    "strftime(day, '%Y-%m')": "another month", "$period": "that is closed",
}  # fmt: skip
NOUNS = {"account": "an account", "accounts": "accounts"}
# Meanings of fates, which the code has as names alone.
MEANING_OF_FATE = {
    "exported": "accepted by the service in an export job of this month",
    "exported_before": "accepted in the close of an earlier month, and in the file again",
    "in_doubt": "sent, and nobody knows whether it arrived: see the page after-export",
    "ready": "would be sent, or was tried and not sent; the reason says which",
    "held_back": "not sent, because a check failed; the reason says which",
    "left_out": "not of this close: dated after the month, of another company, or a copy of a line",
}


def plain(text: str, values: Mapping[str, str] = VALUES) -> str:
    """Return a message of a check without its values, in a cell of a table."""
    filled = re.sub(r"\{([^{}]*)\}", lambda value: values.get(value[1], "…"), text)
    return re.sub(r"an account…|its account an account", "an account", filled).replace("……", "…").replace("|", "\\|")


def table(headings: str, rows: Iterable[Iterable[object]]) -> str:
    """Return rows as Markdown."""
    names = headings.split(", ")
    lines = [names, ["---"] * len(names), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def _checks(section: str, checks: Iterable[Check], severities: Collection[str] = SEVERITIES) -> str:
    """Return a row for each check of some severities, with its severity for things in use, and all who act."""
    texts = words("en")
    codes: dict[str, list[Check]] = {}
    for check in checks:
        codes.setdefault(check.code, []).append(check)

    def rows() -> Iterator[tuple[str, ...]]:
        for code, items in codes.items():
            severity = min((check.severity for check in items), key=SEVERITIES.index)
            who = ", ".join(dict.fromkeys(texts.name("role", check.who) for check in items))
            if severity in severities:
                yield (
                    f"`{code}`",
                    severity,
                    plain(str(texts.texts[f"{section}.{code}.many"])),
                    _step(texts, f"{section}.{code}.do"),
                    who,
                )

    return table("code, severity, what is the case, what to do, who", rows())


def _step(texts: Words, key: str) -> str:
    """Return a step; of one that depends on a case, that of each case; any other fact is a dot-dot-dot."""
    facts = dict.fromkeys(texts.facts_of(key), "…")
    if not facts:
        return texts(key)
    # What is not always there is left out.
    template = re.sub(r"\{\w+:if [^}]*\}", "", str(texts.texts[key]))
    cases = re.findall(r"\{(\w+):name (\w+)\}", template)
    if not cases:
        return re.sub(r"\{[^{}]*\}", "…", template)
    field, section = cases[0]
    codes = [name.split(".")[1] for name in texts.texts if name.startswith(f"{section}.")]
    return "; ".join(texts(key, **{field: code}) for code in codes)


def _ledger() -> str:
    """Return a row for each status that needs nothing, then one for each finding of the others."""
    texts = words("en")

    def rows() -> Iterator[tuple[str, ...]]:
        for status in (status for status in STATUSES if status in ARRIVED):
            yield f"`{status}`", "", texts.name("status", status), "nothing", ""
        for code, (severity, role) in FINDINGS.items():
            case = plain(str(texts.texts[f"ledger.{code}.many"]))
            yield f"`{code}`", severity, case, _step(texts, f"ledger.{code}.do"), texts.name("role", role)

    return table("code, severity, what is the case, what to do, who", rows())


def _outcomes(meanings: dict[str, tuple[str, str | None]], states: Iterable[str]) -> str:
    released = ("a person found that nothing was booked, or a later plan replaced it", "export the entries again")
    return table(
        "outcome, what it means, what to do",
        ((f"`{state}`", *(text or "nothing" for text in meanings.get(state, released))) for state in states),
    )


# By its name in the comment.
BLOCKS: dict[str, Callable[[], str]] = {
    "fates": lambda: table("fate, meaning", ((f"`{fate}`", MEANING_OF_FATE[fate]) for fate in FATES)),
    "errors of entries": lambda: _checks("entry", OF_ENTRIES, SEVERITIES[:1]),
    "warnings of entries": lambda: _checks("entry", OF_ENTRIES, SEVERITIES[1:]),
    "findings of accounts": lambda: _checks("account", OF_ACCOUNTS),
    "statuses of the ledger": _ledger,
    "outcomes of export jobs": lambda: _outcomes(outcomes.MEANINGS, (*BATCH_STATES, "BLOCKED")),
    "outcomes of accounts": lambda: _outcomes(outcomes.OF_ACCOUNTS, ACCOUNT_STATES),
    "files of the folder": lambda: table(
        "file, what it is",
        ((f"`{name}`", ENGLISH(f"report.readme.{name.replace('.', '_')}")) for name in TABLES),
    ),
    "exit codes": lambda: table("code, meaning, what to do", ((f"{code:d}", code.text, code.to_do) for code in Exit)),
}


def made(text: str) -> str:
    """Return a page with its tables made from the code."""
    return BLOCK.sub(lambda block: f"{block[1]}{BLOCKS[block[2]]()}\n{block[3]}", text)


if __name__ == "__main__":
    for page in sorted(GUIDE.glob("*.md")):
        page.write_text(made(page.read_text(encoding="utf-8")), encoding="utf-8")
