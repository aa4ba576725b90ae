"""What became of the entries that are not plainly booked: status, differences, and the findings in words."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames.currencies import shown
from bktools.frames.schema import COUNT
from bktools.ledger.checks import ARRIVED, IN_DOUBT, Check, check_of
from bktools.ledger.columns import Numbers
from bktools.ledger.inputs import Inputs
from bktools.ledger.matches import NOBODY, Matches
from bktools.ledger.steps import BY, BY_DAY

MOST_VOUCHERS = 5
# How a posting is named, by the columns that the ledger has.
VOUCHER = {"voucher_id": "voucher {}", "document_number": "document {}", "text": '"{}"', "line": "line {}"}
# The columns of an entry that messages name, and its posting's columns in the same row.
NAMED = (
    "date", "supplier", "description", "account_code", "account_name", "amount", "currency", "state", "batch_id", "job_id",
    "matched_by", "booked_date", "booked_account_code", "booked_account_name", "booked_amount", "booked_currency",
)  # fmt: skip
COMPARED = ("account", "amount", "currency", "date")


@dataclass(frozen=True)
class Equals:
    """Entries that nothing tells apart, of which some are booked: all of them, and the postings."""

    entries: list[int]
    postings: list[int]

    @property
    def missing(self) -> int:
        return len(self.entries) - len(self.postings)


class Evidence:
    """What the match says of each entry, for the words of its case.

    Parameters
    ----------
    inputs : Inputs
        The frames.
    entries, postings : pyarrow.Table
        The columns that are compared, as `comparable` returns them.
    matched : Matches
        Which posting is matched with which entry.
    ambiguous : mapping
        The equal entries of each ambiguous one.
    bookings : array
        How often each entry is booked.
    days : int
        How many days a posting may be apart from its entry.
    """

    def __init__(
        self, inputs: Inputs, entries: pa.Table, postings: pa.Table, matched: Matches, ambiguous: Mapping[int, Equals],
        bookings: Numbers, days: int,
    ) -> None:  # fmt: skip
        self._inputs, self._entries, self._postings = inputs, entries, postings
        self.matched, self.ambiguous, self.bookings, self.days = matched, ambiguous, bookings, days
        self.compared = inputs.compared
        self.first = matched.first()
        self.sizes = np.bincount(self.first, minlength=1)
        self._doubles: dict[int, list[int]] = defaultdict(list)
        for posting in np.flatnonzero(matched.is_double & (matched.entry != NOBODY)).tolist():
            self._doubles[int(matched.entry[posting])].append(posting)
        dates = pc.min_max(inputs.ledger.column("date")).as_py()
        self.first_day: dt.date | None = dates["min"]
        self.last_day: dt.date | None = dates["max"]
        self.currencies = set(pc.unique(postings.column("currency")).to_pylist())
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
        named = self._inputs.ledger.select(columns).take(pa.array(wanted, COUNT)).to_pylist() if columns else [{}] * len(wanted)
        self._names = {posting: _voucher(row) for posting, row in zip(wanted, named, strict=True)}
        return cases

    def postings_of(self, number: int) -> list[int]:
        """Return the posting of an entry and its doubles; of an ambiguous one those of all its equals."""
        if number in self.ambiguous:
            return self.ambiguous[number].postings
        first = int(self.first[number])
        posting = int(self.matched.posting[first])
        return [] if posting == NOBODY else [posting, *self._doubles.get(first, [])]

    def vouchers(self, number: int, postings: list[int]) -> str:
        """Return where the postings of an entry are in the ledger."""
        first = int(self.first[number])
        if first not in self._vouchers:
            more = [f"and {len(postings) - MOST_VOUCHERS} more"] if len(postings) > MOST_VOUCHERS else []
            text = "; ".join([*(self._names[posting] for posting in postings[:MOST_VOUCHERS]), *more])
            is_sum = first in self.matched.amount
            self._vouchers[first] = f"{text} (the sum of the voucher's postings, such as net and tax)" if is_sum else text
        return self._vouchers[first]


class Case:
    """One entry that is not plainly booked: what differs, and the words of the messages by name."""

    def __init__(
        self, evidence: Evidence, number: int, row: Mapping[str, Any], ours: Mapping[str, Any], theirs: Mapping[str, Any]
    ) -> None:
        self._evidence, self._number, self._row, self._ours = evidence, number, row, ours
        first = int(evidence.first[number])
        self.bookings = int(evidence.bookings[number])
        self.postings = evidence.postings_of(number)
        self._equals = evidence.ambiguous.get(number)
        self._total = evidence.matched.total.get(first) if self.bookings else None
        self._size = int(evidence.sizes[first])
        is_sum = self._total is not None
        booked = evidence.matched.amount.get(first, theirs["amount"]) if self.bookings else None
        self._has_amounts = ours["amount"] is not None and ours["currency"] == theirs["currency"]
        self._amount_differs = self._has_amounts and booked != (self._total if is_sum else ours["amount"])
        self._account_differs = bool(self.bookings) and (
            first in evidence.matched.elsewhere if is_sum else ours["account"] != theirs["account"]
        )
        has_day = not is_sum or BY[evidence.matched.by[number]] == BY_DAY
        self._date_differs = has_day and None not in (ours["date"], theirs["date"]) and ours["date"] != theirs["date"]
        self.status = self._status(is_sum=is_sum)
        self.check: Check | None = None if self.status in ARRIVED else check_of(self)

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def _status(self, *, is_sum: bool) -> str:
        if self._equals:
            return "ambiguous"
        if not self.bookings:
            return "not_comparable" if self.why else "missing"
        statuses = {
            "booked_twice": self.bookings > 1,
            "another_amount": self._amount_differs,
            "another_account": self._account_differs,
            "another_date": self._date_differs,
            "in_a_sum": is_sum,
        }
        return next((status for status, is_so in statuses.items() if is_so), "booked")

    @property
    def why(self) -> str:
        """Why an entry without a posting cannot be compared, "" where it can."""
        if self._ours["amount"] is None:
            return "its amount is unknown here"
        if self._ours["date"] is None:
            return "its date is unknown here"
        is_foreign = self._evidence.currencies and self._ours["currency"] not in self._evidence.currencies
        return f"the ledger is in {', '.join(sorted(self._evidence.currencies))}" if is_foreign else ""

    @property
    def about(self) -> str:
        subject = _line(self._row.get("supplier") or self._row.get("description"))
        return ", ".join(filter(None, [str(self._row.get("date") or ""), subject, self.money]))

    @property
    def differences(self) -> str:
        """Each value of the ledger beside that of the entry."""
        if self.status == "ambiguous":
            return f"{self.equal} equal entries, {self.booked_equal} booked: {self.vouchers}"
        if self.status == "in_a_sum":
            return f"booked in {self.expected}: {self.vouchers}"
        differences = []
        if self._amount_differs:
            differences.append(f"amount {self.booked_money} instead of {self.expected}")
        if self._account_differs:
            differences.append(f"account {self.booked_account} instead of {self.account}")
        if self._date_differs:
            differences.append(f"date {self.booked_date} instead of {self.date}")
        if self._row["booked_amount"] is not None and not self._has_amounts:
            differences.append(f"amount not compared: {self.booked_money} beside {self.money}")
        if self.bookings > 1:
            differences.append(f"booked {self.bookings} times: {self.vouchers}")
        return "; ".join(differences)

    @cached_property
    def money(self) -> str:
        return _money(self._row.get("amount"), self._row.get("currency"))

    @property
    def expected(self) -> str:
        if self._total is None:
            return self.money
        return f"{_money(self._total, self._row.get('currency'))} ({self._row['matched_by']}, {self._size} entries)"

    @property
    def account(self) -> str:
        return _account(self._row, "") if "account_code" in self._evidence.compared else "any account"

    @property
    def date(self) -> str:
        return str(self._row.get("date") or "an unknown day")

    @property
    def days(self) -> int:
        return self._evidence.days

    @property
    def batch(self) -> str:
        return self._row.get("batch_id") or "unknown"

    @property
    def job(self) -> str:
        number = self._row.get("job_id")
        return f"job {number}" if number else f"the job of batch {self.batch}"

    @property
    def is_in_doubt(self) -> bool:
        return self._row.get("state") in IN_DOUBT

    @property
    def booked_money(self) -> str:
        return _money(self._row["booked_amount"], self._row.get("booked_currency"))

    @property
    def booked_account(self) -> str:
        return _account(self._row, "booked_")

    @property
    def booked_date(self) -> str:
        return str(self._row["booked_date"])

    @property
    def vouchers(self) -> str:
        return self._evidence.vouchers(self._number, self.postings)

    @property
    def equal(self) -> int:
        return len(self._equals.entries) if self._equals else 0

    @property
    def booked_equal(self) -> int:
        return len(self.postings)

    @property
    def missing_equal(self) -> str:
        missing = self._equals.missing if self._equals else 0
        return f"{missing} of them {'is' if missing == 1 else 'are'} missing"

    @property
    def ledger_until(self) -> str:
        return str(self._evidence.last_day or "no day")

    @property
    def is_early(self) -> bool:
        last, day = self._evidence.last_day, self._row.get("date")
        return last is None or (day is not None and last < day)


def or_null(numbers: Numbers) -> pa.Array:
    """Return numbers of rows for Arrow's `take`: null for NOBODY."""
    return pa.array(numbers, COUNT, mask=numbers == NOBODY)


def _voucher(row: Mapping[str, Any]) -> str:
    named = [form.format(_line(row[name])) for name, form in VOUCHER.items() if row.get(name) not in (None, "")]
    return ", ".join(named) or "a posting without voucher, document and text"


def _line(value: object) -> str:
    return "" if value is None else " ".join(str(value).split())


def _money(amount: Decimal | int | None, currency: str | None) -> str:
    return "an unknown amount" if amount is None else f"{_line(currency)} {shown(amount, currency)}".strip()


def _account(row: Mapping[str, Any], prefix: str) -> str:
    names = [_line(row.get(f"{prefix}{name}")) for name in ("account_code", "account_name")]
    return " ".join(filter(None, names)) or "no account"
