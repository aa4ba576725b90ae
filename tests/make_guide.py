"""Write the tables of the guide that are made from the code: `python tests/make_guide.py`, after the code has changed.

Each stands between two comments of its page, the first of which names it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import bktools
from bktools.cli.exits import Exit
from bktools.close.entries import FATES
from bktools.export.checks import CHECKS as OF_ENTRIES
from bktools.journal.schema import ACCOUNT_STATES, BATCH_STATES
from bktools.ledger.checks import CHECKS as OF_LEDGERS
from bktools.ledger.checks import STATUSES
from bktools.reconcile.checks import CHECKS as OF_ACCOUNTS
from bktools.reports.folder import TABLES
from bktools.submit import outcomes
from bktools.wording import words
from bktools.wording.numbers import capitalized

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
OF_A_LEDGER = VALUES | {
    "account": "its account", "booked_account": "an account", "money": "the amount", "booked_money": "an amount",
    "expected": "its own", "ledger_until": "an earlier day", "booked_date": "another day", "date": "its day",
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
MEANING_OF_STATUS = {
    "booked": "booked once, as exported",
    "in_a_sum": "booked in one sum with other entries, to the cent",
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


def _entries(severities: str) -> Callable[[], str]:
    def rows() -> Iterator[tuple[str, ...]]:
        for check in OF_ENTRIES:
            if check.severity in severities:
                yield f"`{check.name}`", plain(check.fact), plain(check.to_do), check.who

    return lambda: table("reason, what is the case, what to do, who", rows())


def _accounts() -> str:
    rows = (
        (f"`{check.code}`", check.severity, *worded(f"account.{check.code}"), ENGLISH.name("role", check.who))
        for check in {check.code: check for check in OF_ACCOUNTS}.values()
    )
    return table("finding, severity, what is the case, what to do, who", rows)


def worded(key: str) -> tuple[str, str]:
    """Return the fact and the step of a code without their values, for a command."""
    texts = [ENGLISH.texts[f"{key}.{form}"] for form in ("one", "do")]
    fact, step = (text if isinstance(text, str) else text["command"] for text in texts)
    return without_values(fact), without_values(step)


def without_values(text: str) -> str:
    """Return a text in which a noun stands for an account or a category, and a dot-dot-dot for any other value."""
    without_parts = re.sub(r"\{\w+:if [^}]*\}", "", text)
    filled = re.sub(r"\{(\w+)(?::[^}]*)?\}", lambda fact: NOUNS.get(fact[1], "…"), without_parts)
    return capitalized(filled).replace("account an account", "account").replace("|", "\\|")


def _ledger() -> str:
    def rows() -> Iterator[tuple[str, str, str]]:
        for status in STATUSES:
            checks = [check for check in OF_LEDGERS if check.status == status]
            if not checks:
                yield f"`{status}`", MEANING_OF_STATUS[status], "nothing"
            for check in checks:
                yield f"`{status}`", plain(check.message, OF_A_LEDGER), plain(check.to_do, OF_A_LEDGER)

    return table("status, what is the case, what to do", rows())


def _outcomes(meanings: dict[str, tuple[str, str | None]], states: Iterable[str]) -> str:
    released = ("a person found that nothing was booked, or a later plan replaced it", "export the entries again")
    return table(
        "outcome, what it means, what to do",
        ((f"`{state}`", *(text or "nothing" for text in meanings.get(state, released))) for state in states),
    )


# By its name in the comment.
BLOCKS: dict[str, Callable[[], str]] = {
    "fates": lambda: table("fate, meaning", ((f"`{fate}`", MEANING_OF_FATE[fate]) for fate in FATES)),
    "errors of entries": _entries("error"),
    "warnings of entries": _entries("warning, info"),
    "findings of accounts": _accounts,
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
