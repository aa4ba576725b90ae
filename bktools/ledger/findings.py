"""Findings about entries that are not plainly booked: codes with facts; wording makes the sentences.

An entry with an error has a finding of its own. What is open has one for each group, and what cannot be
compared one for each reason.
"""

from __future__ import annotations

import datetime as dt
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from bktools.findings.check import SEVERITIES
from bktools.frames.schema import IN_DOUBT, TEXT
from bktools.ledger.finding_codes import (
    ANOTHER_COST_CENTRE,
    ANOTHER_MONTH,
    CURRENCY_UNKNOWN,
    FINDINGS,
    MISSING_IN_DOUBT,
    NOT_SHOWN,
    ORDERS,
    SUM_OF_CURRENCIES,
)
from bktools.ledger.inputs import EPOCH
from bktools.ledger.judged import Judged
from bktools.ledger.lookalikes import Lookalikes
from bktools.ledger.outcome import OpenGroup, Reason, Status
from bktools.wording import Words

# Postings that a finding names; the others are counted.
MOST_POSTINGS = 5
# Entries of an open group that a finding names, the likeliest first.
MOST_CANDIDATES = 3
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
    "booked_cost_centre",
)
# The codes and facts of a finding, with its sentences.
OUTCOME = pa.schema(
    dict.fromkeys(("check", "reason", "severity", "who", "facts", "about", "message", "to_do"), TEXT)
)
# What an entry needs to be compared: the name of each field, and its column.
NEEDED = {"date": "day", "amount": "cents", "account": "account"}
JSON = json.JSONEncoder(ensure_ascii=False, default=str)


@dataclass(frozen=True)
class Finding:
    """What is found of one entry, of an open group, or of entries that cannot be compared."""

    check: str
    reason: str
    entries: tuple[int, ...]
    about: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    # Postings that may be the entry's after all: a person looks at them before anything is corrected.
    first: tuple[str, ...] = ()

    @property
    def severity(self) -> str:
        """One of SEVERITIES."""
        return FINDINGS[self.reason][0]

    @property
    def who(self) -> str:
        """Who acts, one of ROLES."""
        return FINDINGS[self.reason][1]

    def row(self, words: Words) -> dict[str, str]:
        """Return its codes, facts and sentences."""
        facts = {"currency": None, **self.facts, "entries": len(self.entries)}
        key = f"ledger.{self.reason}"
        to_do = (
            words("ledger_part.look_first", places=self.first) if self.first else words(f"{key}.do", **facts)
        )
        return {
            "check": self.check,
            "severity": self.severity,
            "about": self.about,
            "message": words(f"{key}.one", **facts),
            "to_do": to_do,
            "who": self.who,
            "reason": self.reason,
            "facts": JSON.encode({**facts, "look_first": [*self.first] or None}),
        }


def findings_of(judged: Judged, entries: pa.Table, words: Words) -> list[Finding]:
    """Return what is found of the entries that are shown, the most severe first.

    Parameters
    ----------
    judged : Judged
        Both tables and the verdict.
    entries : pyarrow.Table
        All entries with the columns of their postings.
    words : Words
        The language.
    """
    maker = _Findings(judged, entries, words)
    findings = [*maker.of_entries(), *maker.of_open_groups(), *maker.not_compared()]
    return sorted(findings, key=lambda one: (SEVERITIES.index(one.severity), one.check, one.entries[:1]))


class _Findings:
    """Makes the findings of a match."""

    def __init__(self, judged: Judged, entries: pa.Table, words: Words) -> None:
        self._judged, self._words = judged, words
        self._entries = entries
        self._lookalikes = Lookalikes(judged)

    # ---- entries

    def of_entries(self) -> Iterator[Finding]:
        """Yield the findings that are about one entry each."""
        codes = self._codes()
        for entry, row in zip(codes, self._rows([*codes]), strict=True):
            for code in codes[entry]:
                yield self._of_entry(entry, code, row)

    def _codes(self) -> dict[int, list[str]]:
        """Return by entry the codes of what is found of it alone, with the rows in their order."""
        judged, status = self._judged, self._judged.status
        quiet = (Status.BOOKED, Status.IN_A_SUM, Status.OPEN, Status.NOT_COMPARABLE)
        wrong = np.flatnonzero(judged.is_shown & ~np.isin(status, quiet))
        codes: dict[int, list[str]] = defaultdict(list)
        for entry in wrong.tolist():
            codes[entry].append(Status(int(status[entry])).code)
        for code, entries in (
            (ANOTHER_MONTH, self._in_other_months()),
            (ANOTHER_COST_CENTRE, self._on_other_centres()),
        ):
            for entry in entries:
                codes[entry].append(code)
        return dict(sorted(codes.items()))

    def _in_other_months(self) -> list[int]:
        """Return the entries that are booked on their own, in another month."""
        judged = self._judged
        own = judged.is_shown & (judged.status == Status.BOOKED) & (judged.posting >= 0)
        entries = np.flatnonzero(own)
        booked = judged.posting_month.gather(judged.posting[entries])
        is_other = (booked != judged.month.gather(entries)).fill_null(value=False)
        return entries[is_other.to_numpy()].tolist()  # type: ignore[no-any-return]

    def _on_other_centres(self) -> list[int]:
        """Return the entries that are booked on their own, on another cost centre."""
        names = {"cost_centre", "booked_cost_centre"}
        if not names <= {*self._entries.column_names}:
            return []
        own, booked = (self._entries.column(name) for name in ("cost_centre", "booked_cost_centre"))
        is_other = pc.fill_null(pc.not_equal(own, booked), False).to_numpy()
        is_own = self._judged.is_shown & (self._judged.status == Status.BOOKED)
        return np.flatnonzero(is_own & is_other).tolist()

    def _of_entry(self, entry: int, code: str, row: Mapping[str, Any]) -> Finding:
        is_in_doubt = code == Status.MISSING.code and row.get("state") in IN_DOUBT
        reason = MISSING_IN_DOUBT if is_in_doubt else code
        postings = self._judged.verdict.postings(entry)
        look_first = self._lookalikes.of(entry) if reason in ORDERS else []
        amount, booked = row.get("amount"), row.get("booked_amount")
        facts = {
            "amount": _text(amount),
            "currency": row.get("currency"),
            "date": _text(row.get("date")),
            "account": account_of(row),
            "booked_amount": _text(booked),
            "booked_date": _text(row.get("booked_date")),
            "booked_account": account_of(row, "booked_"),
            "difference": None if amount is None or booked is None else str(booked - amount),
            "job": row.get("job_id"),
            "batch": row.get("batch_id"),
            "of_batch": None if row.get("job_id") else row.get("batch_id"),
            "cost_centre": row.get("cost_centre"),
            "booked_cost_centre": row.get("booked_cost_centre"),
            "places": self._places(postings) or None,
        }
        status = Status(int(self._judged.status[entry])).code
        check = reason if reason == ANOTHER_COST_CENTRE else status
        return Finding(
            check, reason, (entry,), about(row, self._words), facts, tuple(self._places(look_first))
        )

    # ---- what is open

    def of_open_groups(self) -> Iterator[Finding]:
        """Yield a finding for each open group."""
        for group in self._judged.open_groups:
            named = of_group(self._judged, group, self._words)
            first, last = str(day_of(group.first_day)), str(day_of(group.last_day))
            facts = {
                "accounts": named.accounts,
                "first": first,
                "last": last,
                "exported": named.exported,
                "booked": _text(self._judged.money(group.booked)),
                "difference": _text(self._judged.money(group.difference)),
                "currency": self._judged.currency,
                "places": self._places(group.postings) or None,
                "candidates": named.candidates,
            }
            until = last if last != first else None
            where = self._words("ledger_part.group", accounts=named.accounts, first=first, until=until)
            yield Finding(Status.OPEN.code, named.reason, group.entries, where, facts)

    # ---- what cannot be compared

    def not_compared(self) -> Iterator[Finding]:
        """Yield a finding for each reason why entries cannot be compared."""
        judged = self._judged
        by_reason: dict[str, list[int]] = defaultdict(list)
        for entry in np.flatnonzero(judged.is_shown & (judged.status == Status.NOT_COMPARABLE)).tolist():
            by_reason[judged.verdict.reasons[entry]].append(entry)
        for reason, entries in by_reason.items():
            own = judged.entries[entries]
            days = own["day"].drop_nulls()
            covered = judged.verdict.covered or (None, None)
            facts = {
                "amounts": self._words.money(_money(judged, entries)),
                "first": _day_text(days.min()),
                "last": _day_text(days.max()),
                "ledger_first": _day_text(covered[0]),
                "ledger_last": _day_text(covered[1]),
                "currencies": sorted(own["currency"].drop_nulls().unique().to_list()),
                "ledger_currency": judged.currency,
                "fields": [field for field, name in NEEDED.items() if own[name].null_count()],
            }
            is_unknown = reason == Reason.OTHER_CURRENCY and facts["ledger_currency"] is None
            code = CURRENCY_UNKNOWN if is_unknown else str(reason)
            yield Finding(Status.NOT_COMPARABLE.code, code, tuple(entries), "", facts)

    # ---- values

    def _rows(self, entries: Sequence[int]) -> list[dict[str, Any]]:
        return _rows_of(self._entries, entries)

    def _places(self, postings: Sequence[int]) -> list[str]:
        return places_of(self._judged.inputs.ledger, [*postings], self._words)


@dataclass(frozen=True)
class NamedGroup:
    """An open group in words: its reason, its accounts, what was exported, and its likeliest entries."""

    reason: str
    accounts: list[str]
    exported: str
    candidates: list[str]


def of_group(judged: Judged, group: OpenGroup, words: Words) -> NamedGroup:
    """Return an open group in words."""
    reason = str(group.reason)
    if group.reason is Reason.OTHER_CURRENCY:
        reason = SUM_OF_CURRENCIES
    elif group.reason is not Reason.STYLE_UNKNOWN and not group.postings:
        reason = NOT_SHOWN
    rows = _rows_of(judged.inputs.entries, group.entries)
    names = {row["account_code"]: account_of(row) for row in rows if row.get("account_code")}
    accounts = [names.get(code) or code for code in group.accounts if code]
    currencies = {row.get("currency") for row in rows}
    home = judged.currency
    if currencies <= {home, None}:
        sums = {str(home or ""): judged.money(group.exported)}
    else:
        sums = _money(judged, group.entries)
    candidates = [about(row, words) for row in rows[:MOST_CANDIDATES]]
    return NamedGroup(reason, accounts, words.money(sums), candidates)


def _money(judged: Judged, entries: Sequence[int]) -> dict[str, Decimal | None]:
    """Return the sum of some entries by currency."""
    own = judged.entries[[*entries]].select("currency", pl.col("cents").fill_null(0))
    sums = own.group_by("currency", maintain_order=True).agg(pl.sum("cents"))
    return {currency or "": judged.money(cents) for currency, cents in sums.iter_rows()}


def _rows_of(table: pa.Table, entries: Sequence[int]) -> list[dict[str, Any]]:
    names = [name for name in NAMED if name in table.column_names]
    rows: list[dict[str, Any]] = table.select(names).take(pa.array([*entries], pa.int64())).to_pylist()
    return rows


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
    day = words.day(row["date"]) if row.get("date") else None
    return ", ".join(filter(None, [day, _line(row.get("supplier") or row.get("description")), money]))


def account_of(row: Mapping[str, Any], prefix: str = "") -> str | None:
    """Return the code and name of an account; a prefix is that of their columns."""
    names = [_line(row.get(f"{prefix}{name}")) for name in ("account_code", "account_name")]
    return " ".join(filter(None, names)) or None


def day_of(number: int) -> dt.date:
    """Return the day of a number of days since 1970-01-01."""
    return EPOCH + dt.timedelta(days=int(number))


def _day_text(number: Any) -> str | None:
    return None if number is None else str(day_of(number))


def _line(value: object) -> str:
    return "" if value is None else " ".join(str(value).split())


def _text(value: Decimal | dt.date | None) -> str | None:
    return None if value is None else str(value)
