"""The tables of a match: what became of each entry and posting, totals of both sides, and the findings."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import partial
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames.currencies import shown
from bktools.frames.engine import engine
from bktools.frames.names import in_reading_order
from bktools.frames.schema import COUNT, TEXT, to_pandas
from bktools.ledger.checks import ARRIVED, SEVERITIES, Facts, check_of
from bktools.ledger.inputs import Inputs, columns_of, show
from bktools.ledger.keys import Numbers
from bktools.ledger.ledger_match import LedgerMatch
from bktools.ledger.steps import BY, BY_DAY, EXACTLY, NOBODY, Matches

# The posting's columns that an entry gets as evidence, with `booked_` in front.
EVIDENCE = (
    "date", "account_code", "account_name", "amount", "currency", "text", "document_number", "voucher_id", "line",
)  # fmt: skip
NOT_FROM_EXPORT = "not from an export"
SHOWN_VOUCHERS = 5
# How a posting is named, by the columns that the ledger has.
VOUCHER = {"voucher_id": "voucher {}", "document_number": "document {}", "text": '"{}"', "line": "line {}"}

# The entries that nothing tells apart, of which some are found and some are not.
AMBIGUOUS = """
SELECT list(no ORDER BY no) AS alike FROM entries SEMI JOIN tied USING (no)
GROUP BY account, amount, currency, date
ORDER BY 1
"""

# One row an entry that is not plainly booked, with the columns of its posting beside it.
STATUS = """
SELECT
    coalesce(booked_sum, posting_amount) AS booked_amount,
    bookings > 0 AND if(is_in_sum, is_elsewhere, entry_account IS DISTINCT FROM posting_account) AS account_differs,
    coalesce(entry_amount IS NOT NULL AND entry_currency = posting_currency, false) AS has_amounts,
    has_amounts AND coalesce(total, entry_amount) <> booked_amount AS amount_differs,
    coalesce(has_day AND entry_date <> posting_date, false) AS date_differs,
    CASE
        WHEN is_ambiguous THEN 'ambiguous'
        WHEN bookings = 0 THEN
            if(entry_amount IS NULL OR entry_date IS NULL OR entry_currency IN (FROM foreign_currencies),
                'not_comparable', 'missing')
        WHEN bookings > 1 THEN 'booked_twice'
        WHEN amount_differs THEN 'another_amount'
        WHEN account_differs THEN 'another_account'
        WHEN date_differs THEN 'another_date'
        WHEN is_in_sum THEN 'in_a_sum'
        ELSE 'booked'
    END AS status
FROM (SELECT booked_sum, total, bookings, is_in_sum, has_day, is_elsewhere, is_ambiguous, {columns} FROM beside)
-- Several threads write the rows in any order.
ORDER BY entry_no
"""

FOREIGN = """
CREATE TABLE foreign_currencies AS
SELECT DISTINCT currency FROM {entries}
WHERE currency NOT IN (SELECT currency FROM postings) AND EXISTS (FROM postings)
"""

# Postings on the accounts of the entries, in their months, that answer for none and name none.
OTHERS = """
SELECT open_postings.no FROM open_postings, (SELECT min(date) AS first, max(date) AS last FROM entries)
WHERE account IN (FROM entry_accounts) AND account <> '' AND id IS NULL
    AND date BETWEEN date_trunc('month', first) AND last_day(last)
ORDER BY open_postings.no
"""

TOTALS = """
WITH
    ours AS (
        SELECT account, strftime(date, '%Y-%m') AS month, currency, count(*) AS entries, sum(amount) AS exported
        FROM entries GROUP BY ALL
    ),
    theirs AS (
        SELECT
            account, strftime(date, '%Y-%m') AS month, currency, count(*) AS postings, sum(amount) AS ledger,
            sum(amount) FILTER (no IN (SELECT no FROM others)) AS not_from_export
        FROM postings, (SELECT min(date) AS first, max(date) AS last FROM entries)
        WHERE account IN (SELECT account FROM entries) AND date BETWEEN date_trunc('month', first) AND last_day(last)
        GROUP BY ALL
    )
SELECT
    account AS account_code, names.name AS account_name, month, currency, coalesce(entries, 0) AS entries, exported,
    coalesce(postings, 0) AS postings, ledger,
    if(currency IN (FROM foreign_currencies), NULL, coalesce(ledger, 0) - coalesce(exported, 0)) AS difference,
    not_from_export
FROM ours FULL JOIN theirs USING (account, month, currency)
LEFT JOIN names USING (account)
ORDER BY account NULLS FIRST, month, currency
"""

BATCHES = """
SELECT
    {keys}, count(*) AS entries, sum(amount) AS amount,
    count(*) FILTER (status = 'booked') AS booked,
    sum(amount) FILTER (status = 'booked') AS booked_amount,
    count(*) FILTER (status = 'in_a_sum') AS in_a_sum,
    sum(amount) FILTER (status = 'in_a_sum') AS in_a_sum_amount,
    count(*) FILTER (status = 'missing') AS missing,
    sum(amount) FILTER (status = 'missing') AS missing_amount,
    count(*) FILTER (status = 'booked_twice') AS booked_twice,
    count(*) FILTER (status = 'another_amount') AS another_amount,
    count(*) FILTER (status = 'another_account') AS another_account,
    count(*) FILTER (status = 'another_date') AS another_date,
    count(*) FILTER (status = 'ambiguous') AS ambiguous,
    count(*) FILTER (status = 'not_comparable') AS not_comparable
FROM result
GROUP BY {keys}
ORDER BY {keys}
"""


def result(connection: duckdb.DuckDBPyConnection, inputs: Inputs, matched: Matches, days: int) -> LedgerMatch:
    """Return the match; `connection` has the tables of `steps.matches`."""
    ambiguous = _without_ambiguous(connection, matched)
    connection.execute(FOREIGN.format(entries="open_entries"))
    others = np.asarray(connection.execute(OTHERS).fetchnumpy()["no"])
    entries, different, places = _with_status(connection, inputs, matched, _with_evidence(inputs, matched), ambiguous)
    facts = _Facts(inputs, matched, ambiguous, days)
    entries, findings = _with_findings(entries, different, places, facts)
    entries = entries.select(in_reading_order(entries.column_names))
    return LedgerMatch(
        entries=to_pandas(entries),
        findings=to_pandas(findings),
        unchecked=inputs.unchecked,
        not_from_export=len(others),
        lacking=sum(lacking for *_, lacking in {id(group): group for group in ambiguous.values()}.values()),
        ledger_from=facts.first_day,
        ledger_until=facts.last_day,
        _listed={
            "totals": partial(_totals, inputs, others),
            "postings": partial(
                _postings, inputs, matched, entries.column("status"), others, sorted(_postings_of(ambiguous))
            ),
            "batches": partial(_batches, entries),
        },
    )


# By ambiguous entry: all that are equal, the postings of some of them, and how many are missing.
Ambiguous = dict[int, tuple[list[int], list[int], int]]


def _without_ambiguous(connection: duckdb.DuckDBPyConnection, matched: Matches) -> Ambiguous:
    """Return the ambiguous entries, and take their postings from all of them."""
    connection.register("tied", pa.table({"no": pa.array(sorted(matched.tied), COUNT)}))
    ambiguous: Ambiguous = {}
    for (equal,) in connection.execute(AMBIGUOUS).fetchall():
        postings = [int(matched.posting[entry]) for entry in equal if matched.posting[entry] != NOBODY]
        if 0 < len(postings) < len(equal):
            group = (equal, postings, len(equal) - len(postings))
            ambiguous |= dict.fromkeys(equal, group)
    entries = list(ambiguous)
    matched.entry[np.isin(matched.entry, entries)] = NOBODY
    matched.posting[entries], matched.by[entries], matched.score[entries] = NOBODY, NOBODY, np.nan
    return ambiguous


def _postings_of(ambiguous: Ambiguous) -> set[int]:
    return {posting for _, postings, _ in ambiguous.values() for posting in postings}


def _with_status(
    connection: duckdb.DuckDBPyConnection, inputs: Inputs, matched: Matches, entries: pa.Table, ambiguous: Ambiguous
) -> tuple[pa.Table, pa.Table, Numbers]:
    """Return the entries with their status and bookings, and what differs of those that are not plainly booked.

    `entries` has the evidence. The third value is the places of those that are not plainly booked.
    """
    count, first = len(matched.posting), matched.first()
    doubles = np.bincount(matched.entry[matched.is_double & (matched.entry != NOBODY)], minlength=count)
    bookings = np.where(matched.posting == NOBODY, 0, 1 + doubles[first])
    is_plain = (bookings == 1) & (matched.by == BY.index(EXACTLY)) & _are_same(entries, inputs.compared)
    is_plain[list(matched.amount)] = False
    places = np.flatnonzero(~is_plain)
    of_places = first[places].tolist()
    given = {
        "booked_sum": pa.array([matched.amount.get(place) for place in of_places], inputs.money),
        "total": pa.array([matched.total.get(place) for place in of_places], inputs.money),
        "bookings": pa.array(bookings[places]),
        "is_in_sum": pa.array([place in matched.total for place in of_places], pa.bool_()),
        "is_elsewhere": pa.array([place in matched.elsewhere for place in of_places], pa.bool_()),
        "has_day": pa.array(~np.isin(first[places], list(matched.total)) | (matched.by[places] == BY.index(BY_DAY))),
        "is_ambiguous": pa.array(np.isin(places, list(ambiguous))),
    }
    for noun, side, rows in (("entry", "entries", places), ("posting", "postings", matched.posting[places])):
        taken = inputs.rows[side].take(_or_null(rows))
        given |= {f"{noun}_{name}": taken.column(name) for name in taken.column_names}
    connection.register("beside", pa.table(given))
    columns = [columns_of(inputs, side, f"{noun}_") for side, noun in (("entries", "entry"), ("postings", "posting"))]
    different = _table(connection, "different", STATUS.format(columns=", ".join(columns)))
    # The row of each entry in a table that begins with one for all that are plainly booked.
    row = np.zeros(count, dtype=np.int64)
    row[places] = np.arange(1, len(places) + 1)
    statuses = pa.concat_arrays([pa.array(["booked"], TEXT), different.column("status").combine_chunks().cast(TEXT)])
    entries = entries.append_column("status", statuses.take(pa.array(row)))
    if matched.amount:
        sums = different.column("booked_amount").combine_chunks()
        sums = pa.concat_arrays([pa.nulls(1, sums.type), sums]).take(pa.array(row))
        place = entries.column_names.index("booked_amount")
        amounts = pc.coalesce(sums, entries.column("booked_amount"))
        entries = entries.set_column(place, "booked_amount", amounts)
    return entries.append_column("bookings", pa.array(bookings)), different, places


def _are_same(entries: pa.Table, compared: frozenset[str]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Whether amount and date of entry and posting are the same: the digests of the columns alone are no proof."""
    same = np.ones(len(entries), dtype=bool)
    for name in ("amount", "date"):
        if name in compared:
            same &= pc.fill_null(pc.equal(entries.column(name), entries.column(f"booked_{name}")), False).to_numpy()
    return same


def _table(connection: duckdb.DuckDBPyConnection, name: str, query: str) -> pa.Table:
    # A table is planned once; a relation would be planned twice, for its columns and for its rows.
    connection.execute(f"CREATE TABLE {name} AS {query}")
    return connection.table(name).to_arrow_table()


def _or_null(places: Numbers) -> pa.Array:
    return pa.array(places, COUNT, mask=places == NOBODY)


def _with_evidence(inputs: Inputs, matched: Matches) -> pa.Table:
    """Return the entries with the columns of the posting of each, and how it was found."""
    entries, places = inputs.exported, _or_null(matched.posting)
    for name in EVIDENCE:
        if name in inputs.ledger.column_names:
            entries = entries.append_column(f"booked_{name}", inputs.ledger.column(name).take(places))
    entries = entries.append_column("matched_by", pa.array(BY, TEXT).take(_or_null(matched.by)))
    return entries.append_column("score", pa.array(matched.score, mask=np.isnan(matched.score)))


def _with_findings(entries: pa.Table, different: pa.Table, places: Numbers, facts: _Facts) -> tuple[pa.Table, pa.Table]:
    """Return the entries with what differs and what is to be done, and the findings: the most severe first."""
    rows, flags = entries.take(places).to_pylist(), different.to_pylist()
    facts.look_up(places.tolist())
    of_entries = [facts.of(int(place), row, flag) for place, row, flag in zip(places, rows, flags, strict=True)]
    checks = [None if fact["status"] in ARRIVED else check_of(fact) for fact in of_entries]
    texts = {
        "differences": [fact["differences"] or None for fact in of_entries],
        "to_do": [check and check.to_do.format_map(fact) for check, fact in zip(checks, of_entries, strict=True)],
        "who": [check and check.who for check in checks],
    }
    row_of = np.full(len(entries), NOBODY)
    row_of[places] = np.arange(len(places))
    for name, values in texts.items():
        entries = entries.append_column(name, pa.array(values, TEXT).take(_or_null(row_of)))
    order = sorted(
        (SEVERITIES.index(check.severity), check.status, place) for place, check in enumerate(checks) if check
    )
    chosen = [(of_entries[place], check) for *_, place in order if (check := checks[place])]
    findings = entries.take(places[[place for *_, place in order]])
    columns = {
        "check": [check.status for _, check in chosen],
        "severity": [check.severity for _, check in chosen],
        "about": [fact["about"] for fact, _ in chosen],
        "message": [check.message.format_map(fact) for fact, check in chosen],
    }
    for name, values in columns.items():
        findings = findings.append_column(name, pa.array(values, TEXT))
    findings = findings.drop_columns(["status"])
    first = ["check", "severity", "about", "message", "to_do", "who"]
    others = [name for name in in_reading_order(findings.column_names) if name not in first]
    return entries, findings.select([*first, *others])


class _Facts:
    """The facts of an entry as the messages name them."""

    def __init__(self, inputs: Inputs, matched: Matches, ambiguous: Ambiguous, days: int) -> None:
        self._ambiguous, self._days, self._matched = ambiguous, days, matched
        self._compares_accounts = "account_code" in inputs.compared
        self._compares_dates = "date" in inputs.compared
        self._doubles: dict[int, list[int]] = defaultdict(list)
        for posting in np.flatnonzero(matched.is_double & (matched.entry != NOBODY)).tolist():
            self._doubles[int(matched.entry[posting])].append(posting)
        self._first = matched.first()
        self._sizes = np.bincount(self._first, minlength=1)
        names = [name for name in VOUCHER if name in inputs.ledger.column_names]
        self._ledger = inputs.ledger.select(names) if names else None
        dates = pc.min_max(inputs.ledger.column("date")).as_py()
        self.first_day: dt.date | None = dates["min"]
        self.last_day: dt.date | None = dates["max"]
        currencies = inputs.ledger.column("currency") if "currency" in inputs.compared else None
        self._currencies = ", ".join(sorted(set(pc.unique(currencies).drop_null().to_pylist()))) if currencies else ""
        # By first entry of a sum: the postings are the same for all of its entries.
        self._vouchers_of: dict[int, str] = {}
        self._of_sum: dict[int, Facts] = {}

    def of(self, place: int, row: Mapping[str, Any], flags: Mapping[str, Any]) -> Facts:
        """Return the facts of an entry."""
        first = int(self._first[place])
        # No message is about an entry in a sum: what differs is the same for all of them.
        if row["status"] == "in_a_sum" and first in self._of_sum:
            return self._of_sum[first]
        equal, postings, lacking = self._ambiguous.get(place) or ([], self._postings(first), 0)
        if first not in self._vouchers_of or place in self._ambiguous:
            self._vouchers_of[first] = self._vouchers(first, postings)
        total, date = self._matched.total.get(first), row.get("date")
        money = _money(row.get("amount"), row.get("currency"))
        facts = {
            "status": row["status"],
            "money": money,
            "expected": money
            if total is None
            else f"{_money(total, row.get('currency'))} ({row['matched_by']}, {self._sizes[first]} entries)",
            "account": _account(row, "") if self._compares_accounts else "any account",
            "date": str(date or "an unknown day"),
            "days": self._days,
            "job": row.get("job_id") or f"of batch {row.get('batch_id') or 'unknown'}",
            "booked_money": _money(row["booked_amount"], row.get("booked_currency")),
            "booked_account": _account(row, "booked_"),
            "booked_date": str(row["booked_date"]),
            "bookings": row["bookings"],
            "vouchers": self._vouchers_of[first],
            "equal": len(equal),
            "found": len(postings),
            "lacking": f"{lacking} of them {'is' if lacking == 1 else 'are'}",
            "ledger_until": str(self.last_day or "no day"),
            "is_early": self.last_day is None or (date is not None and self.last_day < date),
            "why": self._why(row),
        }
        what = _line(row.get("supplier") or row.get("description"))
        about = ", ".join(filter(None, [str(date or ""), what, money]))
        facts |= {"about": about, "differences": self._differences(facts, flags, row)}
        if facts["status"] == "in_a_sum":
            self._of_sum[first] = facts
        return facts

    def look_up(self, places: Iterable[int]) -> None:
        """Read the postings of these entries, before their facts are asked for."""
        wanted = sorted(
            {
                posting
                for place in places
                for posting in (
                    self._ambiguous[place][1] if place in self._ambiguous else self._postings(int(self._first[place]))
                )[:SHOWN_VOUCHERS]
            }
        )
        rows = [{}] * len(wanted) if self._ledger is None else self._ledger.take(pa.array(wanted, COUNT)).to_pylist()
        self._names = {posting: _voucher(row) for posting, row in zip(wanted, rows, strict=True)}

    def _postings(self, first: int) -> list[int]:
        posting = int(self._matched.posting[first])
        return [] if posting == NOBODY else [posting, *self._doubles.get(first, [])]

    def _differences(self, facts: Facts, flags: Mapping[str, Any], row: Mapping[str, Any]) -> str:
        """Return each value of the ledger beside that of the entry."""
        if facts["status"] == "ambiguous":
            return f"{facts['equal']} equal entries, {facts['found']} found: {facts['vouchers']}"
        if facts["status"] == "in_a_sum":
            return f"booked in {facts['expected']}: {facts['vouchers']}"
        differences = [
            f"{noun} {booked} instead of {ours}"
            for flag, noun, booked, ours in (
                ("amount_differs", "amount", facts["booked_money"], facts["expected"]),
                ("account_differs", "account", facts["booked_account"], facts["account"]),
                ("date_differs", "date", facts["booked_date"], facts["date"]),
            )
            if flags[flag]
        ]
        if row["booked_amount"] is not None and not flags["has_amounts"]:
            differences.append(f"amount not compared: {facts['booked_money']} beside {facts['money']}")
        if row["bookings"] > 1:
            differences.append(f"booked {row['bookings']} times: {facts['vouchers']}")
        return "; ".join(differences)

    def _why(self, row: Mapping[str, Any]) -> str:
        if row.get("amount") is None:
            return "its amount is unknown here"
        if row.get("date") is None and self._compares_dates:
            return "its date is unknown here"
        return f"the ledger is in {self._currencies}"

    def _vouchers(self, first: int, places: list[int]) -> str:
        """Return where postings stand in the ledger."""
        more = [f"and {len(places) - SHOWN_VOUCHERS} more"] if len(places) > SHOWN_VOUCHERS else []
        listed = "; ".join([*(self._names[place] for place in places[:SHOWN_VOUCHERS]), *more])
        return f"{listed} (the sum of the voucher's postings)" if first in self._matched.amount else listed


def _voucher(row: Mapping[str, Any]) -> str:
    said = [form.format(_line(row[name])) for name, form in VOUCHER.items() if row.get(name) not in (None, "")]
    return ", ".join(said) or "a posting without voucher, document and text"


def _line(value: object) -> str:
    return "" if value is None else " ".join(str(value).split())


def _money(amount: Decimal | int | None, currency: str | None) -> str:
    return "an unknown amount" if amount is None else f"{_line(currency)} {shown(amount, currency)}".strip()


def _account(row: Mapping[str, Any], prefix: str) -> str:
    names = [_line(row.get(f"{prefix}{name}")) for name in ("account_code", "account_name")]
    return " ".join(filter(None, names)) or "no account"


def _totals(inputs: Inputs, others: Numbers) -> pd.DataFrame:
    """Return the sums of both sides by account, month and currency."""
    sources = [
        f"SELECT trim(account_code) AS account, account_name AS name FROM {noun}"
        for noun, table in (("exported", inputs.exported), ("ledger", inputs.ledger))
        if {"account_code", "account_name"} <= set(table.column_names)
    ]
    names = " UNION ALL ".join(sources) or "SELECT NULL::VARCHAR AS account, NULL::VARCHAR AS name"
    given = {"exported": inputs.exported, "ledger": inputs.ledger, "others": pa.table({"no": others})}
    with engine("match_ledger", **given) as connection:
        show(connection, inputs)
        connection.execute(FOREIGN.format(entries="entries"))
        connection.execute(f"CREATE TABLE names AS SELECT account, min(name) AS name FROM ({names}) GROUP BY account")
        return to_pandas(_table(connection, "totals", TOTALS))


def _postings(
    inputs: Inputs, matched: Matches, status: pa.ChunkedArray, others: Numbers, ambiguous: list[int]
) -> pd.DataFrame:
    """Return the postings with the entry of each (of a sum the first one), and its status."""
    places = _or_null(matched.entry)
    statuses = status.take(places).to_pandas().to_numpy(dtype=object)
    statuses[others] = NOT_FROM_EXPORT
    statuses[ambiguous] = "ambiguous"
    table = inputs.ledger.append_column("status", pa.array(statuses, TEXT, from_pandas=True))
    table = table.append_column("entry_id", inputs.exported.column("entry_id").take(places))
    return to_pandas(table.select(in_reading_order(table.column_names)))


def _batches(entries: pa.Table) -> pd.DataFrame:
    """Return what became of each batch, by currency."""
    keys = [name for name in ("batch_id", "state", "sent_at", "job_id", "currency") if name in entries.column_names]
    if "amount" not in entries.column_names:
        entries = entries.append_column("amount", pa.nulls(len(entries), pa.decimal128(38, 2)))
    if not keys:
        entries, keys = entries.append_column("currency", pa.nulls(len(entries), TEXT)), ["currency"]
    with engine("match_ledger", result=entries) as connection:
        return to_pandas(_table(connection, "batches", BATCHES.format(keys=", ".join(keys))))
