"""The entries that are not plainly booked: status, differences, and the words of their findings."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames.currencies import shown
from bktools.frames.schema import COUNT, IN_DOUBT, TEXT
from bktools.ledger.checks import CHECKS
from bktools.ledger.columns import UNKNOWN_CURRENCY, Numbers
from bktools.ledger.inputs import Inputs
from bktools.ledger.matches import NOBODY, Matches
from bktools.ledger.steps import BY, BY_DAY

MOST_VOUCHERS = 5
# How a posting is named, by the columns that the ledger has.
VOUCHER = {"voucher_id": "voucher {}", "document_number": "document {}", "text": '"{}"', "line": "line {}"}
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
    """Everything that a match knows of its entries, for the words of each case."""

    def __init__(
        self,
        inputs: Inputs,
        compared: tuple[pa.Table, pa.Table],
        matched: Matches,
        ambiguous: Mapping[int, Equals],
        days: int,
    ) -> None:
        self._inputs, (self._entries, self._postings) = inputs, compared
        self.matched, self.ambiguous, self.days = matched, ambiguous, days
        self.compared = inputs.compared
        self.first = matched.first()
        self.sizes = np.bincount(self.first, minlength=1)
        self.doubles: dict[int, list[int]] = defaultdict(list)
        for posting in np.flatnonzero(matched.is_double & (matched.entry != NOBODY)).tolist():
            self.doubles[int(matched.entry[posting])].append(posting)
        dates = pc.min_max(inputs.ledger.column("date")).as_py()
        self.first_day: dt.date | None = dates["min"]
        self.last_day: dt.date | None = dates["max"]
        self.currencies = {*pc.unique(self._postings.column("currency")).to_pylist()}
        # The same for all entries of a sum: by its first entry.
        self._vouchers: dict[int, str] = {}

    def cases(self, numbers: Numbers, shown_entries: pa.Table) -> list[Case]:
        """Return the cases of some entries; `shown_entries` are all entries with the columns of their postings."""
        names = [name for name in NAMED if name in shown_entries.column_names]
        rows = shown_entries.select(names).take(pa.array(numbers)).to_pylist()
        ours = self._entries.select(COMPARED).take(pa.array(numbers)).to_pylist()
        postings = self.matched.posting[numbers]
        theirs = self._postings.select(COMPARED).take(or_null(postings)).to_pylist()
        cases = [
            Case(self, number, row, our, their)
            for number, row, our, their in zip(numbers.tolist(), rows, ours, theirs, strict=True)
        ]
        wanted = sorted({posting for case in cases for posting in case.postings[:MOST_VOUCHERS]})
        columns = [name for name in VOUCHER if name in self._inputs.ledger.column_names]
        named = self._inputs.ledger.select(columns).take(pa.array(wanted, COUNT)).to_pylist() if columns else ()
        self._named = dict(zip(wanted, named, strict=False))
        return cases

    def postings_of(self, number: int) -> list[int]:
        """Return the posting of an entry and its doubles; of an ambiguous one those of all its equals."""
        if number in self.ambiguous:
            return self.ambiguous[number].postings
        first = int(self.first[number])
        posting = int(self.matched.posting[first])
        return [] if posting == NOBODY else [posting, *self.doubles.get(first, [])]

    def vouchers(self, number: int, postings: list[int]) -> str:
        """Return where the postings of an entry are in the ledger."""
        first = int(self.first[number])
        if first not in self._vouchers:
            more = [f"and {len(postings) - MOST_VOUCHERS} more"] if len(postings) > MOST_VOUCHERS else []
            text = "; ".join([*(posting_of(self._named.get(one, {})) for one in postings[:MOST_VOUCHERS]), *more])
            of_sum = " (the sum of the voucher's postings, such as net and tax)" if first in self.matched.amount else ""
            self._vouchers[first] = f"{text}{of_sum}"
        return self._vouchers[first]


class Case:
    """One entry that is not plainly booked: its status, what differs, and by name the words of the messages.

    `row` has the entry and its posting as people see them; `ours` and `theirs` have the columns that are compared.
    """

    def __init__(
        self,
        evidence: Evidence,
        number: int,
        row: Mapping[str, Any],
        ours: Mapping[str, Any],
        theirs: Mapping[str, Any],
    ) -> None:
        self.evidence, self.number, self.row, self.ours = evidence, number, row, ours
        matched, first = evidence.matched, int(evidence.first[number])
        self.postings = evidence.postings_of(number)
        self.bookings = 0 if number in evidence.ambiguous else len(self.postings)
        self.equals = evidence.ambiguous.get(number, Equals([], []))
        self.total = matched.total.get(first) if self.bookings else None
        self.size = int(evidence.sizes[first])
        is_sum = self.total is not None
        booked = matched.amount.get(first, theirs["amount"]) if self.bookings else None
        self.has_amounts = ours["amount"] is not None and ours["currency"] == theirs["currency"]
        is_elsewhere = first in matched.elsewhere if is_sum else ours["account"] != theirs["account"]
        has_days = None not in (ours["date"], theirs["date"]) and (not is_sum or BY[matched.by[number]] == BY_DAY)
        self.differs = {
            "amount": self.has_amounts and booked != (self.total if is_sum else ours["amount"]),
            "account": self.bookings > 0 and is_elsewhere,
            "date": has_days and ours["date"] != theirs["date"],
        }
        # The first that is so.
        statuses = {
            "ambiguous": len(self.equals.entries) > 0,
            "not_comparable": not self.bookings and self["why"] != "",
            "missing": not self.bookings,
            "booked_twice": self.bookings > 1,
            "another_amount": self.differs["amount"],
            "another_account": self.differs["account"],
            "another_date": self.differs["date"],
            "in_a_sum": is_sum,
        }
        self.status = next((status for status, is_so in statuses.items() if is_so), "booked")

    def __getitem__(self, name: str) -> Any:
        return WORDS[name](self)

    def texts(self) -> dict[str, str | None]:
        """Return what is said of the entry, with the columns of OUTCOME."""
        texts = {"status": self.status, "differences": self["differences"] or None}
        check = next((check for check in CHECKS if check.status == self.status and check.where(self)), None)
        if check is None:
            return texts
        said = {name: getattr(check, name).format_map(self) for name in ("message", "to_do")}
        return texts | said | {"about": self["about"], "severity": check.severity, "who": check.who}


def _why(case: Case) -> str:
    """Return why an entry without a posting cannot be compared, "" where it can."""
    unknown = next((name for name in ("amount", "date") if case.ours[name] is None), None)
    if unknown:
        return f"its {unknown} is unknown here"
    currencies = case.evidence.currencies
    is_foreign = currencies and case.ours["currency"] not in currencies
    return f"the ledger is in {', '.join(sorted(currencies - {UNKNOWN_CURRENCY}))}" if is_foreign else ""


def _differences(case: Case) -> str:
    """Return each value of the ledger beside that of the entry."""
    if case.status == "ambiguous":
        return "{equal} equal entries, {booked_equal} booked: {vouchers}".format_map(case)
    if case.status == "in_a_sum":
        return "booked in {expected}: {vouchers}".format_map(case)
    is_not_compared = case.row["booked_amount"] is not None and not case.has_amounts
    sentences = {
        "amount {booked_money} instead of {expected}": case.differs["amount"],
        "account {booked_account} instead of {account}": case.differs["account"],
        "date {booked_date} instead of {date}": case.differs["date"],
        "amount not compared: {booked_money} beside {money}": is_not_compared,
        "booked {bookings} times: {vouchers}": case.bookings > 1,
    }
    return "; ".join(sentence.format_map(case) for sentence, is_so in sentences.items() if is_so)


def _about(case: Case) -> str:
    subject = _line(case.row.get("supplier") or case.row.get("description"))
    return ", ".join(filter(None, [str(case.row.get("date") or ""), subject, case["money"]]))


def _expected(case: Case) -> str:
    if case.total is None:
        return str(case["money"])
    return f"{money_of(case.total, case.row.get('currency'))} ({case.row['matched_by']}, {case.size} entries)"


def _job(case: Case) -> str:
    job = case.row.get("job_id")
    return f"job {job}" if job else f"the job of batch {case['batch']}"


def _is_early(case: Case) -> bool:
    last, day = case.evidence.last_day, case.row.get("date")
    return last is None or (day is not None and last < day)


def _missing_equal(case: Case) -> str:
    count = len(case.equals.entries) - len(case.equals.postings)
    return f"{count} of them {'is' if count == 1 else 'are'} missing"


# The words of the messages, by name.
WORDS: Mapping[str, Callable[[Case], Any]] = {
    "about": _about,
    "account": lambda case: account_of(case.row) if "account_code" in case.evidence.compared else "any account",
    "batch": lambda case: case.row.get("batch_id") or "unknown",
    "booked_account": lambda case: account_of(case.row, "booked_"),
    "booked_date": lambda case: str(case.row["booked_date"]),
    "booked_equal": lambda case: len(case.postings),
    "booked_money": lambda case: money_of(case.row["booked_amount"], case.row.get("booked_currency")),
    "bookings": lambda case: case.bookings,
    "date": lambda case: str(case.row.get("date") or "an unknown day"),
    "days": lambda case: case.evidence.days,
    "differences": _differences,
    "equal": lambda case: len(case.equals.entries),
    "expected": _expected,
    "is_early": _is_early,
    "is_in_doubt": lambda case: case.row.get("state") in IN_DOUBT,
    "job": _job,
    "ledger_until": lambda case: str(case.evidence.last_day or "no day"),
    "missing_equal": _missing_equal,
    "money": lambda case: money_of(case.row.get("amount"), case.row.get("currency")),
    "status": lambda case: case.status,
    "vouchers": lambda case: case.evidence.vouchers(case.number, case.postings),
    "why": _why,
}


def or_null(numbers: Numbers) -> pa.Array:
    """Return numbers of rows for Arrow's `take`: null for NOBODY."""
    return pa.array(numbers, COUNT, mask=numbers == NOBODY)


def posting_of(row: Mapping[str, Any]) -> str:
    """Return where a posting is in the ledger."""
    named = [form.format(_line(row[name])) for name, form in VOUCHER.items() if row.get(name) not in (None, "")]
    return ", ".join(named) or "a posting without voucher, document and text"


def _line(value: object) -> str:
    return "" if value is None else " ".join(str(value).split())


def money_of(amount: Decimal | int | None, currency: str | None) -> str:
    """Return an amount with its currency, in words where it is unknown."""
    return "an unknown amount" if amount is None else f"{_line(currency)} {shown(amount, currency)}".strip()


def account_of(row: Mapping[str, Any], prefix: str = "") -> str:
    """Return the code and name of an account; a prefix is that of their columns."""
    names = [_line(row.get(f"{prefix}{name}")) for name in ("account_code", "account_name")]
    return " ".join(filter(None, names)) or "no account"
