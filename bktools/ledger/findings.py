"""Findings about entries that are not plainly booked: codes with facts; wording makes the sentences."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from bktools.findings.check import SEVERITIES
from bktools.frames.schema import IN_DOUBT, TEXT
from bktools.ledger.checks import FINDINGS
from bktools.ledger.inputs import Inputs
from bktools.ledger.statuses import Reason, Status
from bktools.ledger.verdict import Verdict
from bktools.wording import Words

# Postings that a finding names; the others are counted.
MOST_POSTINGS = 5
# How a posting is named, by the columns that the ledger has.
NAMES = ("voucher_id", "document_number", "text", "line")
# The columns of an entry that sentences name, and those of its posting in the same row.
NAMED = (
    "date",
    "supplier",
    "description",
    "account_code",
    "account_name",
    "amount",
    "currency",
    "state",
    "batch_id",
    "job_id",
    "cost_centre",
    "booked_date",
    "booked_account_code",
    "booked_account_name",
    "booked_amount",
    "booked_currency",
)
JSON = json.JSONEncoder(ensure_ascii=False)
# The facts of a finding, and beside them its sentences.
OUTCOME = pa.schema(
    dict.fromkeys(("check", "reason", "severity", "who", "facts", "about", "message", "to_do"), TEXT)
)


def found(
    inputs: Inputs, verdict: Verdict, entries: pa.Table, numbers: np.ndarray, words: Words
) -> tuple[pa.Table, np.ndarray]:
    """Return what is found of some entries, by their rows, and their rows: the most severe first.

    `entries` are all entries with the columns of their postings.
    """
    names = [name for name in NAMED if name in entries.column_names]
    rows = entries.select(names).take(pa.array(numbers)).to_pylist()
    cases = [
        case
        for number, row in zip(numbers.tolist(), rows, strict=True)
        for case in _cases(verdict, number, row)
    ]
    facts = _Facts(inputs, verdict, words, [number for number, *_ in cases])
    findings = [facts.finding(number, code, row) for number, code, row in cases]
    order = sorted(
        range(len(findings)),
        key=lambda at: (SEVERITIES.index(findings[at]["severity"]), findings[at]["check"], at),
    )
    return (
        pa.Table.from_pylist([findings[at] for at in order], OUTCOME),
        np.array([cases[at][0] for at in order], dtype=np.int64),
    )


def _cases(
    verdict: Verdict, number: int, row: Mapping[str, Any]
) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    """Yield the codes of what is found of an entry."""
    status = Status(int(verdict.status[number]))
    note = verdict.notes.get(number)
    if status in (Status.NOT_DECIDED, Status.NOT_COMPARABLE):
        yield number, note.reason.code if note else Reason.STYLE_UNKNOWN.code, row
    elif status is Status.MISSING:
        yield number, "missing_in_doubt" if row.get("state") in IN_DOUBT else "missing", row
    elif status is Status.ANOTHER_DATE:
        yield (
            number,
            "another_date" if _month(row["booked_date"]) == _month(row["date"]) else "another_month",
            row,
        )
    elif status not in (Status.BOOKED, Status.IN_A_SUM):
        yield number, status.code, row
    if number in verdict.other_cost_centres:
        yield number, "another_cost_centre", row


def _month(day: Any) -> str:
    return str(day)[:7]


class _Facts:
    """The facts of findings, with the places of postings."""

    def __init__(self, inputs: Inputs, verdict: Verdict, words: Words, entries: Sequence[int]) -> None:
        self.verdict, self._words = verdict, words
        wanted = sorted({posting for entry in entries for posting in self._postings_of(entry)})
        # The places of all postings at once: rows of a table are taken slowly one by one.
        named = places_of(inputs.ledger, wanted, words, most=len(wanted))
        self._places = dict(zip(wanted, named, strict=True))
        self._names: dict[str, list[str]] = {}

    def finding(self, number: int, code: str, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return a finding with its sentences."""
        words = self._words
        severity, who = FINDINGS[code]
        facts = {name: FACTS[name](self, number, row) for name in self._named_by(code)}
        return {
            "check": Status(int(self.verdict.status[number])).code if code != "another_cost_centre" else code,
            "reason": code,
            "severity": severity,
            "who": who,
            "facts": JSON.encode(facts),
            "about": about(row, words),
            "message": words(f"ledger.{code}.one", **facts),
            "to_do": words(f"ledger.{code}.do", **facts),
        }

    def _postings_of(self, entry: int) -> list[int]:
        """Return the first postings to look at for an entry, its own one first."""
        own, note = int(self.verdict.posting[entry]), self.verdict.notes.get(entry)
        others = note.postings if note else ()
        return list(dict.fromkeys(posting for posting in (own, *others) if posting >= 0))[:MOST_POSTINGS]

    def _named_by(self, code: str) -> list[str]:
        """Return the facts that the sentences of a code name."""
        if code not in self._names:
            forms = (self._words.facts_of(f"ledger.{code}.{form}") for form in ("one", "do"))
            self._names[code] = sorted(frozenset({"currency"}).union(*forms))
        return self._names[code]

    def places(self, number: int) -> list[str] | None:
        """Return where the postings of an entry are, in words."""
        return [self._places[posting] for posting in self._postings_of(number)] or None

    def difference(self, number: int, row: Mapping[str, Any]) -> str | None:
        """Return how far a group, or a posting, is off, with the sign of the entries."""
        note = self.verdict.notes.get(number)
        if note and note.difference is not None:
            return self.verdict.money(note.difference)
        if (
            Status(int(self.verdict.status[number])) is Status.ANOTHER_AMOUNT
            and row.get("amount") is not None
        ):
            return str(row["booked_amount"] - row["amount"])
        return None


# The facts that sentences may name, by the row of an entry.
FACTS: Mapping[str, Callable[[_Facts, int, Mapping[str, Any]], Any]] = {
    "amount": lambda _, __, row: _text(row.get("amount")),
    "currency": lambda _, __, row: row.get("currency"),
    "date": lambda _, __, row: _text(row.get("date")),
    "account": lambda _, __, row: account_of(row),
    "booked_amount": lambda _, __, row: _text(row.get("booked_amount")),
    "booked_date": lambda _, __, row: _text(row.get("booked_date")),
    "booked_account": lambda _, __, row: account_of(row, "booked_"),
    "job": lambda _, __, row: row.get("job_id"),
    "batch": lambda _, __, row: row.get("batch_id"),
    "of_batch": lambda _, __, row: None if row.get("job_id") else row.get("batch_id"),
    "cost_centre": lambda _, __, row: row.get("cost_centre"),
    "booked_cost_centre": lambda facts, number, _: facts.verdict.other_cost_centres.get(number),
    "difference": lambda facts, number, row: facts.difference(number, row),
    "places": lambda facts, number, _: facts.places(number),
}


def places_of(
    ledger: pa.Table,
    postings: Sequence[int],
    words: Words,
    *,
    most: int = MOST_POSTINGS,
    names: int = len(NAMES),
) -> list[str]:
    """Return where the first of some postings are in the ledger, in words, by their first names."""
    columns = [name for name in NAMES if name in ledger.column_names]
    first = pa.array(postings[:most], pa.int64())
    rows = ledger.select(columns).take(first).to_pylist() if columns else [{}] * len(first)
    return [place_of(row, words, names) for row in rows]


def place_of(row: Mapping[str, Any], words: Words, names: int = len(NAMES)) -> str:
    """Return where a posting is in the ledger, by the first names that it has."""
    named = [
        words(f"posting.{name}", value=_line(row[name])) for name in NAMES if row.get(name) not in (None, "")
    ]
    return ", ".join(named[:names]) or words("posting.nameless")


def about(row: Mapping[str, Any], words: Words) -> str:
    """Return the entry in a few words: its day, its supplier or text, its amount."""
    money = (
        words("posting.money", amount=row["amount"], currency=row.get("currency"))
        if row.get("amount") is not None
        else ""
    )
    return ", ".join(
        filter(None, [_text(row.get("date")), _line(row.get("supplier") or row.get("description")), money])
    )


def account_of(row: Mapping[str, Any], prefix: str = "") -> str | None:
    """Return the code and name of an account; a prefix is that of their columns."""
    names = [_line(row.get(f"{prefix}{name}")) for name in ("account_code", "account_name")]
    return " ".join(filter(None, names)) or None


def _line(value: object) -> str:
    return "" if value is None else " ".join(str(value).split())


def _text(value: object) -> str | None:
    return None if value is None else str(value)
