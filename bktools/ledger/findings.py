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
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import polars as pl
import pyarrow as pa

from bktools.findings.check import ERP, ERROR, INFO, PREPARER, SERVICE, SEVERITIES, WARNING
from bktools.frames.schema import IN_DOUBT
from bktools.ledger.inputs import EPOCH
from bktools.ledger.matched_tables import MatchedTables
from bktools.ledger.verdict import ARRIVED, ORDERS, THERE, OpenGroup, Reason, Status
from bktools.wording import Words

# Codes of findings that no status or reason has alone.
MISSING_IN_DOUBT = "missing_in_doubt"
ANOTHER_MONTH, CORRECTED_LATER = USUAL = ("another_month", "corrected_later")
ANOTHER_COST_CENTRE = "another_cost_centre"

# By code of a finding: how severe it is, and who acts.
FINDINGS: Mapping[str, tuple[str, str]] = {
    Status.MISSING.code: (ERROR, SERVICE),
    MISSING_IN_DOUBT: (ERROR, PREPARER),
    Status.BOOKED_TWICE.code: (ERROR, ERP),
    Status.REVERSED.code: (ERROR, ERP),
    Status.ANOTHER_AMOUNT.code: (ERROR, ERP),
    Status.ANOTHER_ACCOUNT.code: (WARNING, ERP),
    **dict.fromkeys(USUAL, (WARNING, ERP)),
    ANOTHER_COST_CENTRE: (INFO, ERP),
    **dict.fromkeys((*Reason, "not_shown", "sum_of_currencies", "currency_unknown"), (WARNING, PREPARER)),
}

ORDERED = [status.code for status in ORDERS]
# Postings that a finding names; the others are counted.
MOST_POSTINGS = 5
# Entries of an open group that a finding names, the likeliest first.
MOST_CANDIDATES = 3
# How a posting is named, by the columns that the ledger has.
NAMES = ("voucher_id", "document_number", "text")
# The columns that name what a person may say to hold no entry.
TO_EXPLAIN = ("voucher", "document")
# What an entry needs to be compared: the name of each field, and its column.
NEEDED = {"date": "day", "amount": "cents", "account": "account"}
# The columns of an entry and its posting that are facts of its finding.
FACTS = (
    *("amount", "currency", "date", "cost_centre"),
    *("booked_amount", "booked_date", "booked_cost_centre"),
)
JSON = json.JSONEncoder(ensure_ascii=False, default=str)


@dataclass(frozen=True)
class Finding:
    """What is found of one entry, of an open group, or of entries of which the same is true.

    Attributes
    ----------
    entries : tuple of int
        The rows of the entries.
    sentences : mapping
        Its codes, facts and sentences, by the columns of the findings.
    group : mapping or None
        Of an open group its row in their table.
    """

    entries: tuple[int, ...]
    sentences: Mapping[str, str]
    group: Mapping[str, Any] | None = None


def findings_of(matched: MatchedTables, words: Words) -> list[Finding]:
    """Return what is found of the entries that are shown, in the words of a language, most severe first."""
    maker = _Findings(matched, words)
    is_shown = matched.entries["is_shown"]
    groups = (group for group in matched.verdict.open_groups if is_shown[[*group.entries]].any())
    findings = [*maker.of_entries(), *maker.in_other_months(), *map(maker.of_group, groups)]
    findings += maker.not_compared()

    def place(one: Finding) -> tuple[int, str, tuple[int, ...]]:
        return SEVERITIES.index(one.sentences["severity"]), one.sentences["check"], one.entries[:1]

    return sorted(findings, key=place)


class _Findings:
    """Makes the findings of a match."""

    def __init__(self, matched: MatchedTables, words: Words) -> None:
        self._matched, self._verdict, self._words = matched, matched.verdict, words

    def _finding(
        self, check: str, reason: str, entries: Sequence[int], facts: Mapping[str, Any], about: str = ""
    ) -> Finding:
        """Return a finding; a person looks first at postings that may be the entry's after all."""
        severity, who = FINDINGS[reason]
        # The lines of a split entry are one.
        count = self._matched.entries[[*entries]]["id"].n_unique() if len(entries) > 1 else 1
        facts = {"currency": None, "named": None, "look_first": None, **facts, "entries": count}
        step = "ledger_part.look_first" if facts["look_first"] else f"ledger.{reason}.do"
        sentences = {
            "check": check,
            "severity": severity,
            "about": about,
            "message": self._words(f"ledger.{reason}.one", **facts),
            "to_do": self._words(step, **facts),
            "who": who,
            "reason": reason,
            "facts": JSON.encode(facts),
        }
        return Finding(tuple(entries), sentences)

    def of_entries(self) -> Iterator[Finding]:
        """Yield the findings that are about one entry each."""
        matched, verdict, status = self._matched, self._verdict, pl.col("status")
        wrong = matched.numbers(~status.is_in([*ARRIVED, Status.OPEN, Status.NOT_COMPARABLE]))
        own = [(entry, Status(int(verdict.status[entry])).code) for entry in wrong]
        own += [(entry, ANOTHER_COST_CENTRE) for entry in self._on_other_centres()]
        rows = matched.rows([entry for entry, _ in own])
        for (entry, code), row in zip(own, rows, strict=True):
            is_in_doubt = code == Status.MISSING.code and row.get("state") in IN_DOUBT
            reason = MISSING_IN_DOUBT if is_in_doubt else code
            look_first = verdict.look_first.get(entry, ()) if reason in ORDERED else ()
            amount, booked = row.get("amount"), row.get("booked_amount")
            facts = {name: row.get(name) for name in FACTS} | {
                "account": account_of(row),
                "booked_account": account_of(row, "booked_"),
                "difference": None if amount is None or booked is None else booked - amount,
                "job": row.get("job_id"),
                "batch": row.get("batch_id"),
                "of_batch": None if row.get("job_id") else row.get("batch_id"),
                "places": self._places(verdict.postings(entry)) or None,
                "named": self._named(look_first),
                "look_first": self._places(look_first) or None,
            }
            yield self._finding(code, reason, [entry], facts, about(row, self._words))

    def _on_other_centres(self) -> list[int]:
        """Return which booked entries have postings, but none on their cost centre."""
        entries, theirs = self._matched.entries, self._matched.postings.select("group", "centre")
        is_booked = pl.col("is_shown") & (pl.col("status") == Status.BOOKED) & pl.col("centre").is_not_null()
        booked = entries.with_row_index().filter(is_booked)
        theirs = theirs.drop_nulls().filter(pl.col("group") >= 0)
        others = booked.join(theirs, "group", "semi").join(theirs, ["group", "centre"], "anti")
        # A code alone is the cost centre of that code and name.
        code, is_code = pl.col("centre").str.split(" ").list.first(), ~pl.col("centre").str.contains(" ")
        own, there = (side.with_columns(code=code, is_code=is_code) for side in (others, theirs))
        same = own.join(there, ["group", "code"]).filter(pl.col("is_code") | pl.col("is_code_right"))
        others = others.join(same, "index", "anti")
        rows: list[int] = others["index"].sort().to_list()
        return rows

    def in_other_months(self) -> Iterator[Finding]:
        """Yield a finding of entries that are booked, and of those that are corrected, in another month."""
        matched, late = self._matched, self._verdict.days_late
        booked_month = matched.postings["month"].gather(matched.entries["posting"])
        is_moved = (pl.col("status") == Status.BOOKED) & (pl.col("month") != booked_month)
        of_group = matched.postings.filter(pl.col("group") >= 0).group_by("group").agg(pl.n_unique("month"))
        several = of_group.filter(pl.col("month") > 1)["group"]
        is_corrected = pl.col("group").is_in(several.implode()) & pl.col("status").is_in([*ARRIVED])
        for reason, condition in zip(USUAL, (is_moved, is_corrected & ~is_moved), strict=True):
            entries = sorted(matched.numbers(condition), key=lambda entry: -late[entry])
            if entries:
                booked_days = [row["booked_date"] for row in matched.rows(entries)]
                rows = [row for entry in entries for row in self._verdict.postings(entry)]
                facts = {
                    "booked_first": min(booked_days),
                    "booked_last": max(booked_days),
                    "late": int(late[entries].max()),
                    "places": self._places([*dict.fromkeys(rows)]),
                }
                yield self._of_several(Status.BOOKED.code, reason, entries, facts)

    def of_group(self, group: OpenGroup) -> Finding:
        """Return the finding of an open group, with its row in the table of these."""
        matched, words, reason = self._matched, self._words, str(group.reason)
        if group.reason is Reason.OTHER_CURRENCY:
            reason = "sum_of_currencies"
        elif group.reason is not Reason.STYLE_UNKNOWN and not group.postings:
            reason = "not_shown"
        rows = matched.rows(group.entries)
        days = [row["date"] for row in rows]
        exported = self._money(group.entries)
        difference = None
        if {*exported} <= {matched.currency, ""}:
            exported = {matched.currency or "": matched.money(group.exported)}
            difference = matched.money(group.difference)
        facts = {
            "accounts": [*dict.fromkeys(filter(None, map(account_of, rows)))],
            "first": min(days),
            "last": max(days),
            "exported": words.money(exported),
            "booked": matched.money(group.booked),
            "difference": difference,
            "currency": matched.currency,
            "places": self._places(group.postings) or None,
            "named": self._named(group.postings),
            "candidates": [about(row, words) for row in rows[:MOST_CANDIDATES]],
        }
        where = words("ledger_part.group", **facts)
        row = {
            "accounts": ", ".join(facts["accounts"]),
            "first_day": facts["first"],
            "last_day": facts["last"],
            "entries": len(rows),
            "exported": facts["exported"],
            "currency": matched.currency,
            "ledger": facts["booked"],
            "difference": facts["difference"],
            "reason": reason,
            "vouchers": "; ".join(facts["places"] or ()) or None,
            "likeliest": "; ".join(facts["candidates"]),
            "entry_ids": " ".join(row["entry_id"] for row in rows),
        }
        return replace(self._finding(Status.OPEN.code, reason, group.entries, facts, where), group=row)

    def not_compared(self) -> Iterator[Finding]:
        """Yield a finding for each reason why entries cannot be compared."""
        matched = self._matched
        by_reason: dict[str, list[int]] = defaultdict(list)
        for entry in matched.numbers(pl.col("status") == Status.NOT_COMPARABLE):
            by_reason[self._verdict.reasons[entry]].append(entry)
        for reason, entries in by_reason.items():
            own = matched.entries[entries]
            covered = self._verdict.covered
            first, last = map(day_of, covered) if covered else (None, None)
            facts = {
                "ledger_first": first,
                "ledger_last": last,
                "lag": self._verdict.habits.gate[1] or None,
                "currencies": sorted(own["currency"].drop_nulls().unique().to_list()),
                "ledger_currency": matched.currency,
                "ours": own["account"].drop_nulls().first(),
                "theirs": matched.postings["account"].drop_nulls().first(),
                "fields": [field for field, name in NEEDED.items() if own[name].null_count()],
            }
            is_unknown = reason == Reason.OTHER_CURRENCY and matched.currency is None
            code = "currency_unknown" if is_unknown else str(reason)
            yield self._of_several(Status.NOT_COMPARABLE.code, code, entries, facts)

    def _of_several(
        self, check: str, reason: str, entries: Sequence[int], facts: Mapping[str, Any]
    ) -> Finding:
        """Return the finding of entries of which the same is true, with their sums and days."""
        days = self._matched.entries[entries]["day"].drop_nulls().to_list()
        first, last = (day_of(end(days)) if days else None for end in (min, max))
        own = {
            "amounts": self._words.money(self._money(entries)),
            "first": first,
            "last": last,
            "candidates": [about(row, self._words) for row in self._matched.rows(entries[:MOST_POSTINGS])],
        }
        return self._finding(check, reason, entries, {**own, **facts})

    def _money(self, entries: Sequence[int]) -> dict[str, Decimal | None]:
        """Return the sum of some entries by currency."""
        own = self._matched.entries[[*entries]].select("currency", pl.col("cents").fill_null(0))
        sums = own.group_by("currency", maintain_order=True).agg(pl.sum("cents"))
        return {currency or "": self._matched.money(cents) for currency, cents in sums.iter_rows()}

    def _named(self, postings: Sequence[int]) -> str | None:
        """Return how a person names postings that hold no entry: by voucher, else by document, if at all."""
        for column, held in self._held.items() if postings else ():
            if {*self._matched.postings[column][[*postings]]} - held:
                return self._words("placeholder.voucher")
        return None

    @functools.cached_property
    def _held(self) -> dict[str, set[str | None]]:
        """The vouchers and documents with a posting that holds an entry: nobody explains these away."""
        is_held = self._verdict.posting_group >= 0
        for entry, rows in self._verdict.evidence.items():
            is_held[[*rows]] |= self._verdict.status[entry] in THERE
        held = self._matched.postings.filter(is_held)
        return {column: {None, *held[column].unique()} for column in TO_EXPLAIN}

    def _places(self, postings: Sequence[int]) -> list[str]:
        return places_of(self._matched.inputs.ledger, [*postings], self._words)


def places_of(
    ledger: pa.Table,
    postings: Sequence[int],
    words: Words,
    *,
    most: int = MOST_POSTINGS,
    names: int = len(NAMES) + 1,
) -> list[str]:
    """Return where the first of some postings are in the ledger, in words, by their first names.

    Lines of one voucher, document and text are one place.
    """
    columns = {name: ledger.column(name) for name in (*NAMES, "line") if name in ledger.column_names}
    places: dict[tuple[Any, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for row in postings[:most]:
        own = {name: column[row].as_py() for name, column in columns.items()}
        places[tuple(map(own.get, NAMES))].append(own)
    return [place_of(rows, words, names) for rows in places.values()]


def place_of(rows: Sequence[Mapping[str, Any]], words: Words, names: int = len(NAMES) + 1) -> str:
    """Return where postings of one name are in the ledger, by the first names that they have."""
    named = [words(f"posting.{name}", value=_line(rows[0][name])) for name in NAMES if rows[0].get(name)]
    lines = [row["line"] for row in rows if row.get("line")]
    named += [words("posting.line", value=lines)] if lines else []
    return ", ".join(named[:names]) or words("posting.nameless")


def about(row: Mapping[str, Any], words: Words) -> str:
    """Return the entry in a few words: its day, its supplier or text, its amount."""
    party = row.get("supplier") or row.get("description")
    return words.entry(row.get("date"), party, row.get("amount"), row.get("currency"))


def account_of(row: Mapping[str, Any], prefix: str = "") -> str | None:
    """Return the code and name of an account; a prefix is that of their columns."""
    names = [_line(row.get(f"{prefix}{name}")) for name in ("account_code", "account_name")]
    return " ".join(filter(None, names)) or None


def day_of(number: int) -> dt.date:
    """Return the day of a number of days since 1970-01-01."""
    return EPOCH + dt.timedelta(days=int(number))


def _line(value: object) -> str:
    return "" if value is None else " ".join(str(value).split())
