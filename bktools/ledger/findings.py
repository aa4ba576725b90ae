"""The entries that are not plainly booked: status, differences, and the words of their findings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames.schema import COUNT, IN_DOUBT, TEXT
from bktools.ledger.checks import CHECKS, DIFFERENCES, STATUSES
from bktools.ledger.columns import UNKNOWN_CURRENCY, Numbers, Sides
from bktools.ledger.matches import NOBODY, Matches
from bktools.ledger.steps import BY, BY_DAY
from bktools.visible import first_of
from bktools.wording.numbers import shown

MOST_VOUCHERS = 5
# How a posting is named, by the columns that the ledger has.
VOUCHER = {"voucher_id": "voucher {}", "document_number": "document {}", "text": '"{}"', "line": "line {}"}
NAMELESS = "a posting without voucher, document and text"
# The columns of an entry that messages name, and its posting's columns in the same row.
NAMED = (
    "date", "supplier", "description", "account_code", "account_name", "amount", "currency", "state", "batch_id",
    "job_id", "matched_by", "booked_date", "booked_account_code", "booked_account_name", "booked_amount", "booked_currency",
)  # fmt: skip
COMPARED = ("account", "amount", "currency", "date")
# What is said of an entry that is not plainly booked.
OUTCOME = pa.schema(dict.fromkeys(("status", "differences", "severity", "about", "message", "to_do", "who"), TEXT))


@dataclass(frozen=True)
class Equals:
    """Entries that nothing tells apart, of which some are booked: all of them, and the postings."""

    entries: list[int]
    postings: list[int]


class Evidence:
    """Everything that a match knows of its entries, for the words of their findings."""

    def __init__(
        self,
        sides: Sides,
        matched: Matches,
        ambiguous: Mapping[int, Equals],
        days: int,
    ) -> None:
        self._sides = sides
        self._matched, self._ambiguous, self._days = matched, ambiguous, days
        self.first = matched.first()
        self._sizes = np.bincount(self.first, minlength=1)
        self._doubles: dict[int, list[int]] = defaultdict(list)
        for posting in np.flatnonzero(matched.is_double & (matched.entry != NOBODY)).tolist():
            self._doubles[int(matched.entry[posting])].append(posting)
        self.first_day, self.last_day = pc.min_max(sides.ledger.column("date")).as_py().values()
        self._currencies = {*pc.unique(self._sides.postings.column("currency")).to_pylist()}

    def outcomes(self, numbers: Numbers, shown_entries: pa.Table) -> pa.Table:
        """Return what is said of some entries; `shown_entries` are all entries with the columns of their postings."""
        names = [name for name in NAMED if name in shown_entries.column_names]
        rows = shown_entries.select(names).take(pa.array(numbers)).to_pylist()
        ours = self._sides.entries.select(COMPARED).take(pa.array(numbers)).to_pylist()
        theirs = self._sides.postings.select(COMPARED).take(or_null(self._matched.posting[numbers])).to_pylist()
        postings = [self._postings_of(number) for number in numbers.tolist()]
        vouchers = self._vouchers(dict(zip(self.first[numbers].tolist(), postings, strict=True)))
        of_entries = [vouchers[first] for first in self.first[numbers].tolist()]
        cases = zip(numbers.tolist(), of_entries, postings, rows, ours, theirs, strict=True)
        texts = [_texts(self._words(*case)) for case in cases]
        return pa.Table.from_pylist([{"status": "booked"}, *texts], OUTCOME)

    def _postings_of(self, number: int) -> list[int]:
        """Return the posting of an entry and its doubles; of an ambiguous one those of all its equals."""
        if number in self._ambiguous:
            return self._ambiguous[number].postings
        first = int(self.first[number])
        posting = int(self._matched.posting[first])
        return [] if posting == NOBODY else [posting, *self._doubles.get(first, [])]

    def _vouchers(self, postings_of: Mapping[int, list[int]]) -> dict[int, str]:
        """Return where postings are in the ledger, by the first entry of their sum: the same for all its entries."""
        wanted = sorted({posting for postings in postings_of.values() for posting in postings[:MOST_VOUCHERS]})
        columns = [name for name in VOUCHER if name in self._sides.ledger.column_names]
        rows = self._sides.ledger.select(columns).take(pa.array(wanted, COUNT)).to_pylist() if columns else ()
        named = dict(zip(wanted, map(posting_of, rows), strict=False))
        vouchers = {}
        for first, postings in postings_of.items():
            texts = [named.get(posting, NAMELESS) for posting in postings[:MOST_VOUCHERS]]
            places = first_of(texts, MOST_VOUCHERS, between="; ", of=len(postings))
            of_sum = (
                " (the sum of the voucher's postings, such as net and tax)" if first in self._matched.amount else ""
            )
            vouchers[first] = f"{places}{of_sum}"
        return vouchers

    def _words(
        self,
        number: int,
        vouchers: str,
        postings: list[int],
        row: Mapping[str, Any],
        ours: Mapping[str, Any],
        theirs: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Return the words of an entry by name, and which statuses fit.

        `row` has the entry and its posting as people see them; `ours` and `theirs` have the columns that are compared.
        """
        first, equals = int(self.first[number]), self._ambiguous.get(number, Equals([], []))
        bookings = 0 if equals.entries else len(postings)
        total = self._matched.total.get(first) if bookings else None
        is_sum = total is not None
        has_amounts = ours["amount"] is not None and ours["currency"] == theirs["currency"]
        is_elsewhere = first in self._matched.elsewhere if is_sum else ours["account"] != theirs["account"]
        has_days = None not in (ours["date"], theirs["date"]) and (not is_sum or BY[self._matched.by[number]] == BY_DAY)
        booked = self._matched.amount.get(first, theirs["amount"])
        why = "" if bookings else self._why(ours)
        differs = {
            "another_amount": has_amounts and booked != (total if is_sum else ours["amount"]),
            "another_account": bookings > 0 and is_elsewhere,
            "another_date": has_days and ours["date"] != theirs["date"],
            "booked_twice": bookings > 1,
        }
        fits = differs | {
            "booked": True,
            "in_a_sum": is_sum and not any(differs.values()),
            "not_comparable": why != "",
            "ambiguous": len(equals.entries) > 0,
            "missing": not (bookings or why or equals.entries),
            "has_other_currency": row["booked_amount"] is not None and not has_amounts,
        }
        currency, day, job = (row.get(name) for name in ("currency", "date", "job_id"))
        of_sum = f"{money_of(total, currency)} ({row['matched_by']}, {self._sizes[first]} entries)"
        if fits["in_a_sum"]:
            # These may be nearly all entries, and nothing else is said of them.
            return fits | {"expected": of_sum, "vouchers": vouchers}
        batch, money = row.get("batch_id") or "unknown", money_of(row.get("amount"), currency)
        missing_equal = len(equals.entries) - len(equals.postings)
        return fits | {
            "about": ", ".join(
                filter(None, [str(day or ""), _line(row.get("supplier") or row.get("description")), money])
            ),
            "account": account_of(row) if "account_code" in self._sides.compared else "any account",
            "batch": batch,
            "booked_account": account_of(row, "booked_"),
            "booked_date": str(row["booked_date"]),
            "booked_equal": len(postings),
            "booked_money": money_of(row["booked_amount"], row.get("booked_currency")),
            "bookings": bookings,
            "date": str(day or "an unknown day"),
            "days": self._days,
            "equal": len(equals.entries),
            "expected": of_sum if is_sum else money,
            "is_early": self.last_day is None or (day is not None and self.last_day < day),
            "is_in_another_month": str(row["booked_date"])[:7] != str(day)[:7],
            "is_in_doubt": row.get("state") in IN_DOUBT,
            "job": f"job {job}" if job else f"the job of batch {batch}",
            "ledger_until": str(self.last_day or "no day"),
            "missing_equal": f"{missing_equal} of them {'is' if missing_equal == 1 else 'are'} missing",
            "money": money,
            "vouchers": vouchers,
            "why": why,
        }

    def _why(self, ours: Mapping[str, Any]) -> str:
        """Return why an entry without a posting cannot be compared, "" where it can."""
        unknown = next((name for name in ("amount", "date") if ours[name] is None), None)
        if unknown:
            return f"its {unknown} is unknown here"
        is_foreign = self._currencies and ours["currency"] not in self._currencies
        return f"the ledger is in {', '.join(sorted(self._currencies - {UNKNOWN_CURRENCY}))}" if is_foreign else ""


def _texts(words: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the outcome of an entry, with the columns of OUTCOME, by its words."""
    status = next(status for status in reversed(STATUSES) if words[status])
    differences = "; ".join(text.format_map(words) for name, text in DIFFERENCES.items() if words[name])
    outcome = {"status": status, "differences": differences or None}
    check = next((check for check in CHECKS if check.status == status and words[check.where]), None)
    if check is None:
        return outcome
    said = {name: getattr(check, name).format_map(words) for name in ("message", "to_do")}
    return outcome | said | {"about": words["about"], "severity": check.severity, "who": check.who}


def or_null(numbers: Numbers) -> pa.Array:
    """Return numbers of rows for Arrow's `take`: null for NOBODY."""
    return pa.array(numbers, COUNT, mask=numbers == NOBODY)


def posting_of(row: Mapping[str, Any]) -> str:
    """Return where a posting is in the ledger."""
    named = [form.format(_line(row[name])) for name, form in VOUCHER.items() if row.get(name) not in (None, "")]
    return ", ".join(named) or NAMELESS


def _line(value: object) -> str:
    return "" if value is None else " ".join(str(value).split())


def money_of(amount: Decimal | int | None, currency: str | None) -> str:
    """Return an amount with its currency, in words where it is unknown."""
    return "an unknown amount" if amount is None else f"{_line(currency)} {shown(amount, currency)}".strip()


def account_of(row: Mapping[str, Any], prefix: str = "") -> str:
    """Return the code and name of an account; a prefix is that of their columns."""
    names = [_line(row.get(f"{prefix}{name}")) for name in ("account_code", "account_name")]
    return " ".join(filter(None, names)) or "no account"
