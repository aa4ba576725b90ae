"""Findings about entries that are not plainly booked: codes with facts; wording makes the sentences.

An entry with an error has a finding of its own. What is open has one for each group, and what cannot be
compared one for each reason.
"""

from __future__ import annotations

import datetime as dt
import functools
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

from bktools.findings.check import ERP, ERROR, INFO, PREPARER, SERVICE, SEVERITIES, WARNING
from bktools.frames.schema import IN_DOUBT
from bktools.ledger.inputs import EPOCH
from bktools.ledger.judged import Judged, values_at
from bktools.ledger.verdict import ARRIVED, THERE, OpenGroup, Reason, Status
from bktools.ledger.whole_numbers import Flags, Numbers
from bktools.wording import Words

# Codes of findings that no status or reason has alone.
MISSING_IN_DOUBT, ANOTHER_MONTH, ANOTHER_COST_CENTRE = (
    "missing_in_doubt",
    "another_month",
    "another_cost_centre",
)
NOT_SHOWN, SUM_OF_CURRENCIES, CURRENCY_UNKNOWN = "not_shown", "sum_of_currencies", "currency_unknown"

# By code of a finding: how severe it is, and who acts.
FINDINGS: Mapping[str, tuple[str, str]] = {
    Status.MISSING.code: (ERROR, SERVICE),
    MISSING_IN_DOUBT: (ERROR, PREPARER),
    Status.BOOKED_TWICE.code: (ERROR, ERP),
    Status.REVERSED.code: (ERROR, ERP),
    Status.ANOTHER_AMOUNT.code: (ERROR, ERP),
    Status.ANOTHER_ACCOUNT.code: (WARNING, ERP),
    ANOTHER_MONTH: (WARNING, ERP),
    ANOTHER_COST_CENTRE: (INFO, ERP),
    Reason.SEVERAL_STORIES: (WARNING, PREPARER),
    Reason.MAY_BE_IN: (WARNING, PREPARER),
    Reason.STYLE_UNKNOWN: (WARNING, PREPARER),
    NOT_SHOWN: (WARNING, PREPARER),
    SUM_OF_CURRENCIES: (WARNING, PREPARER),
    Reason.OTHER_CURRENCY: (WARNING, PREPARER),
    CURRENCY_UNKNOWN: (WARNING, PREPARER),
    Reason.NOT_COVERED: (WARNING, PREPARER),
    Reason.VALUE_UNKNOWN: (WARNING, PREPARER),
}
# Findings that order a correction of the books: only where no other posting may be the entry's.
ORDERS = ("missing", "booked_twice", "another_amount", "another_account")

# Postings that a finding names; the others are counted.
MOST_POSTINGS = 5
# Entries of an open group that a finding names, the likeliest first.
MOST_CANDIDATES = 3
# How a posting is named, by the columns that the ledger has.
NAMES = ("voucher_id", "document_number", "text", "line")
# How the sentences call what a person may name to say that it holds no entry, by its column.
TO_EXPLAIN = {"voucher_id": "VOUCHER", "document_number": "DOCUMENT"}
# What an entry needs to be compared: the name of each field, and its column.
NEEDED = {"date": "day", "amount": "cents", "account": "account"}
JSON = json.JSONEncoder(ensure_ascii=False, default=str)


@dataclass(frozen=True)
class Finding:
    """What is found of one entry, of an open group, or of entries of which the same is true."""

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

    def row(self, words: Words) -> dict[str, str]:
        """Return its codes, facts and sentences."""
        facts = {"currency": None, "named": None, **self.facts, "entries": len(self.entries)}
        key = f"ledger.{self.reason}"
        to_do = (
            words("ledger_part.look_first", places=self.first, named=facts["named"])
            if self.first
            else words(f"{key}.do", **facts)
        )
        return {
            "check": self.check,
            "severity": self.severity,
            "about": self.about,
            "message": words(f"{key}.one", **facts),
            "to_do": to_do,
            "who": FINDINGS[self.reason][1],
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
    findings = [*maker.of_entries(), *maker.in_other_months()]
    findings += [*map(maker.of_group, judged.open_groups), *maker.not_compared()]
    return sorted(findings, key=lambda one: (SEVERITIES.index(one.severity), one.check, one.entries[:1]))


class _Findings:
    """Makes the findings of a match."""

    def __init__(self, judged: Judged, entries: pa.Table, words: Words) -> None:
        self._judged, self._words = judged, words
        self._entries = entries

    def of_entries(self) -> Iterator[Finding]:
        """Yield the findings that are about one entry each."""
        status, is_shown = self._judged.verdict.status, self._judged.is_shown
        is_quiet = self._judged.verdict.has(*ARRIVED, Status.OPEN, Status.NOT_COMPARABLE)
        wrong = np.flatnonzero(is_shown & ~is_quiet).tolist()
        own = [(entry, Status(int(status[entry])).code) for entry in wrong]
        is_booked = is_shown & (status == Status.BOOKED)
        own += [
            (entry, ANOTHER_COST_CENTRE)
            for entry in np.flatnonzero(is_booked & self._on_other_centres()).tolist()
        ]
        rows = self._entries.take(pa.array([entry for entry, _ in own], pa.int64())).to_pylist()
        for (entry, code), row in zip(own, rows, strict=True):
            yield self._of_entry(entry, code, row)

    def in_other_months(self) -> Iterator[Finding]:
        """Yield one finding for all entries whose posting is in another month, the latest first."""
        judged = self._judged
        booked = np.flatnonzero(judged.is_shown & (judged.verdict.status == Status.BOOKED))
        if not len(booked):
            return
        months = values_at(judged.posting_month, judged.posting[booked])
        is_other: Flags = (months != judged.month.gather(booked)).fill_null(value=False).to_numpy()
        late: Numbers = booked[is_other]
        entries: list[int] = late[np.argsort(-judged.verdict.days_late[late], kind="stable")].tolist()
        if not entries:
            return
        days = judged.entries[entries]["day"].drop_nulls()
        booked_days = self._entries["booked_date"].take(pa.array(entries, pa.int64()))
        facts = {
            "amounts": self._words.money(_money(judged, entries)),
            "first": _day_text(days.min()),
            "last": _day_text(days.max()),
            "booked_first": _text(pc.min(booked_days).as_py()),
            "booked_last": _text(pc.max(booked_days).as_py()),
            "late": int(judged.verdict.days_late[entries].max()),
            "places": self._places([each for entry in entries for each in judged.verdict.postings(entry)]),
        }
        yield Finding(Status.BOOKED.code, ANOTHER_MONTH, tuple(entries), "", facts)

    def _on_other_centres(self) -> Flags:
        """Return which entries have a posting on another cost centre, and none of their group on theirs."""
        names = ("cost_centre", "booked_cost_centre")
        if not {*names} <= {*self._entries.column_names}:
            return np.zeros(len(self._entries), dtype=bool)
        verdict, ledger = self._judged.verdict, self._judged.inputs.ledger
        is_other = pc.fill_null(pc.not_equal(*map(self._entries.column, names)), False).to_numpy().copy()
        own = pl.DataFrame({"group": verdict.group, "centre": pl.from_arrow(self._entries["cost_centre"])})
        theirs = pl.DataFrame(
            {"group": verdict.posting_group, "centre": pl.from_arrow(ledger["cost_centre"])}
        )
        there = own.with_row_index().join(theirs.filter(pl.col("group") >= 0), ["group", "centre"], "semi")
        is_other[there["index"].to_numpy()] = False
        return np.asarray(is_other)

    def _of_entry(self, entry: int, code: str, row: Mapping[str, Any]) -> Finding:
        is_in_doubt = code == Status.MISSING.code and row.get("state") in IN_DOUBT
        reason = MISSING_IN_DOUBT if is_in_doubt else code
        look_first = self._judged.verdict.look_first.get(entry, ()) if reason in ORDERS else ()
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
            "places": self._places(self._judged.verdict.postings(entry)) or None,
            "named": self._named(look_first),
        }
        check = code if reason == ANOTHER_COST_CENTRE else row["status"]
        where = about(row, self._words)
        return Finding(check, reason, (entry,), where, facts, tuple(self._places(look_first)))

    def of_group(self, group: OpenGroup) -> Finding:
        """Return the finding of an open group."""
        judged, words, reason = self._judged, self._words, str(group.reason)
        if group.reason is Reason.OTHER_CURRENCY:
            reason = SUM_OF_CURRENCIES
        elif group.reason is not Reason.STYLE_UNKNOWN and not group.postings:
            reason = NOT_SHOWN
        rows = judged.inputs.exported.take(pa.array(group.entries, pa.int64())).to_pylist()
        names = {row["account_code"]: account_of(row) for row in rows if row.get("account_code")}
        accounts = [names.get(code) or code for code in group.accounts if code]
        is_home = {row.get("currency") for row in rows} <= {judged.currency, None}
        exported = {judged.currency or "": judged.money(group.exported)}
        first, last = str(day_of(group.first_day)), str(day_of(group.last_day))
        facts = {
            "accounts": accounts,
            "first": first,
            "last": last,
            "exported": words.money(exported if is_home else _money(judged, group.entries)),
            "booked": _text(judged.money(group.booked)),
            "difference": _text(judged.money(group.difference)),
            "currency": judged.currency,
            "places": self._places(group.postings) or None,
            "named": self._named(group.postings),
            "candidates": [about(row, words) for row in rows[:MOST_CANDIDATES]],
        }
        until = last if last != first else None
        where = words("ledger_part.group", accounts=accounts, first=first, until=until)
        return Finding(Status.OPEN.code, reason, group.entries, where, facts)

    def not_compared(self) -> Iterator[Finding]:
        """Yield a finding for each reason why entries cannot be compared."""
        judged = self._judged
        by_reason: dict[str, list[int]] = defaultdict(list)
        is_shown = judged.is_shown & (judged.verdict.status == Status.NOT_COMPARABLE)
        for entry in np.flatnonzero(is_shown).tolist():
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
                "lag": judged.verdict.habits.gate[1] or None,
                "currencies": sorted(own["currency"].drop_nulls().unique().to_list()),
                "ledger_currency": judged.currency,
                "fields": [field for field, name in NEEDED.items() if own[name].null_count()],
            }
            is_unknown = reason == Reason.OTHER_CURRENCY and judged.currency is None
            code = CURRENCY_UNKNOWN if is_unknown else str(reason)
            yield Finding(Status.NOT_COMPARABLE.code, code, tuple(entries), "", facts)

    def _named(self, postings: Sequence[int]) -> str | None:
        """Return how a person names postings that hold no entry: by voucher, else by document, if at all."""
        for column, held in self._held.items() if postings else ():
            names = self._judged.inputs.ledger[column].take(pa.array(postings, pa.int64()))
            if {*names.to_pylist()} - held:
                return TO_EXPLAIN[column]
        return None

    @functools.cached_property
    def _held(self) -> dict[str, set[str | None]]:
        """The vouchers and documents with a posting that holds an entry: nobody explains these away."""
        verdict, ledger = self._judged.verdict, self._judged.inputs.ledger
        is_held = verdict.posting_group >= 0
        for entry, rows in verdict.evidence.items():
            if verdict.status[entry] in THERE:
                is_held[[*rows]] = True
        ledger = ledger.filter(pa.array(is_held)).select(
            [name for name in TO_EXPLAIN if name in ledger.column_names]
        )
        return {
            column: {None, *pl.Series(pl.from_arrow(ledger[column])).unique()}
            for column in ledger.column_names
        }

    def _places(self, postings: Sequence[int]) -> list[str]:
        return places_of(self._judged.inputs.ledger, [*postings], self._words)


def _money(judged: Judged, entries: Sequence[int]) -> dict[str, Decimal | None]:
    """Return the sum of some entries by currency."""
    own = judged.entries[[*entries]].select("currency", pl.col("cents").fill_null(0))
    sums = own.group_by("currency", maintain_order=True).agg(pl.sum("cents"))
    return {currency or "": judged.money(cents) for currency, cents in sums.iter_rows()}


def places_of(
    ledger: pa.Table,
    postings: Sequence[int],
    words: Words,
    *,
    most: int = MOST_POSTINGS,
    names: int = len(NAMES),
) -> list[str]:
    """Return where the first of some postings are in the ledger, in words, by their first names."""
    columns = {name: ledger.column(name) for name in NAMES if name in ledger.column_names}
    rows = ({name: column[row].as_py() for name, column in columns.items()} for row in postings[:most])
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
