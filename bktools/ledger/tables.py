"""The tables of a match: entries and postings with their outcome, findings, and control totals of both sides."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames.columns import with_column
from bktools.frames.engine import engine, kept
from bktools.frames.names import in_reading_order
from bktools.frames.schema import COUNT, TEXT, to_pandas
from bktools.ledger.checks import SEVERITIES
from bktools.ledger.columns import Flags, Numbers, Sides
from bktools.ledger.findings import Equals, Evidence, or_null
from bktools.ledger.inputs import OF_POSTING
from bktools.ledger.ledger_match import LedgerMatch
from bktools.ledger.matches import NOBODY, Matches
from bktools.ledger.steps import BY, EXACTLY

# The posting's columns that an entry gets as evidence, with OF_POSTING in front.
EVIDENCE = (
    "date", "account_code", "account_name", "amount", "currency", "text", "document_number", "voucher_id", "line",
)  # fmt: skip
NOT_FROM_EXPORT = "not from an export"

# The entries that nothing tells apart, of which some are booked and some are not.
AMBIGUOUS = """
SELECT list(no ORDER BY no) AS equals FROM entries SEMI JOIN tied USING (no)
GROUP BY account, amount, currency, date
ORDER BY 1
"""

# Postings on the accounts of the entries, in their months, that are matched with no entry and name none.
NOT_EXPORTED = """
SELECT open_postings.no FROM open_postings, (SELECT min(date) AS first, max(date) AS last FROM entries)
WHERE account IN (FROM entry_accounts) AND account <> '' AND id IS NULL
    AND date BETWEEN date_trunc('month', first) AND last_day(last)
ORDER BY open_postings.no
"""

# An entry is gross, and its cost may be booked net: `beside` has the other postings of its voucher, such as tax.
TOTALS = """
WITH
    span AS (SELECT date_trunc('month', min(date)) AS first, last_day(max(date)) AS last FROM entries),
    currencies AS (
        SELECT DISTINCT currency, currency IN (SELECT currency FROM postings) OR NOT EXISTS (FROM postings) AS is_comparable
        FROM (SELECT currency FROM entries UNION ALL SELECT currency FROM postings)
    ),
    names AS (
        SELECT account, min(account_name) AS account_name
        FROM (SELECT account, account_name FROM entries UNION ALL SELECT account, account_name FROM postings)
        WHERE account <> '' GROUP BY account
    ),
    exported AS (
        SELECT account, strftime(date, '%Y-%m') AS month, currency, count(*) AS entries, sum(amount) AS exported
        FROM entries GROUP BY ALL
    ),
    booked AS (
        SELECT
            account, strftime(date, '%Y-%m') AS month, currency, count(*) AS postings, sum(amount) AS ledger,
            sum(amount) FILTER (no IN (SELECT no FROM not_exported)) AS not_from_export
        FROM postings, span
        WHERE account IN (SELECT account FROM entries) AND date BETWEEN first AND last
        GROUP BY ALL
    ),
    on_others AS (
        SELECT cost.account, strftime(cost.date, '%Y-%m') AS month, cost.currency, sum(postings.amount) AS on_other_accounts
        FROM postings JOIN beside USING (no) JOIN postings AS cost ON cost.no = beside.cost
        WHERE postings.account NOT IN (SELECT account FROM entries WHERE account IS NOT NULL)
        GROUP BY ALL
    )
SELECT
    account AS account_code, account_name, month, currency, coalesce(entries, 0) AS entries, exported,
    coalesce(postings, 0) AS postings, ledger, coalesce(on_other_accounts, 0) AS on_other_accounts,
    if(is_comparable, coalesce(ledger, 0) - coalesce(exported, 0), NULL) AS difference,
    coalesce(not_from_export, 0) AS not_from_export,
    difference + coalesce(on_other_accounts, 0) - coalesce(not_from_export, 0) AS unexplained
FROM exported FULL JOIN booked USING (account, month, currency)
LEFT JOIN on_others USING (account, month, currency)
LEFT JOIN names USING (account)
JOIN currencies USING (currency)
ORDER BY account NULLS FIRST, month, currency
"""


def result(connection: duckdb.DuckDBPyConnection, sides: Sides, matched: Matches, days: int) -> LedgerMatch:
    """Return the match; `connection` has the tables of `matches`."""
    ambiguous = _without_ambiguous(connection, matched)
    not_exported = np.asarray(connection.execute(NOT_EXPORTED).fetchnumpy()["no"])
    doubles = np.bincount(matched.entry[matched.is_double & (matched.entry != NOBODY)], minlength=len(matched.posting))
    bookings = np.where(matched.posting == NOBODY, 0, 1 + doubles[matched.first()])
    evidence = Evidence(sides, matched, ambiguous, days)
    entries = _with_evidence(sides, matched, evidence.first)
    is_plain = (bookings == 1) & (matched.by == BY.index(EXACTLY)) & _are_same(entries, sides.compared)
    is_plain[list(matched.amount)] = False
    numbers = np.flatnonzero(~is_plain)
    texts = evidence.outcomes(numbers, entries)
    entries = _with_outcome(entries, bookings, numbers, texts)
    findings = _findings(entries, numbers, texts)
    entries = entries.select(in_reading_order(entries.column_names))
    return LedgerMatch(
        entries=to_pandas(entries),
        findings=to_pandas(findings),
        unchecked=sides.unchecked,
        not_from_export=len(not_exported),
        ledger_from=evidence.first_day,
        ledger_until=evidence.last_day,
        _listed={
            "totals": partial(_totals, sides, matched, not_exported),
            "postings": partial(_postings, sides, matched, entries.column("status"), not_exported, ambiguous),
        },
    )


def _without_ambiguous(connection: duckdb.DuckDBPyConnection, matched: Matches) -> dict[int, Equals]:
    """Return the ambiguous entries, and take their postings from all of them."""
    connection.register("tied", pa.table({"no": pa.array(sorted(matched.tied), COUNT)}))
    ambiguous: dict[int, Equals] = {}
    for (entries,) in connection.execute(AMBIGUOUS).fetchall() if matched.tied else ():
        postings = [int(matched.posting[entry]) for entry in entries if matched.posting[entry] != NOBODY]
        if 0 < len(postings) < len(entries):
            ambiguous |= dict.fromkeys(entries, Equals(entries, postings))
    numbers = list(ambiguous)
    matched.entry[np.isin(matched.entry, numbers)] = NOBODY
    matched.posting[numbers], matched.by[numbers], matched.score[numbers] = NOBODY, NOBODY, np.nan
    for number in numbers:
        matched.amount.pop(number, None)
    return ambiguous


def _with_evidence(sides: Sides, matched: Matches, first: Numbers) -> pa.Table:
    """Return the entries with the columns of the posting of each, and how it was matched."""
    entries, numbers = sides.exported, or_null(matched.posting)
    for name in EVIDENCE:
        if name in sides.ledger.column_names:
            entries = entries.append_column(f"{OF_POSTING}{name}", sides.ledger.column(name).take(numbers))
    if matched.amount:
        # A voucher books the sum of its postings.
        is_sum = np.isin(first, list(matched.amount))
        sums = pa.array([matched.amount[entry] for entry in first[is_sum].tolist()], sides.money)
        amounts = pc.replace_with_mask(entries.column("booked_amount"), pa.array(is_sum), sums)
        entries = entries.set_column(entries.column_names.index("booked_amount"), "booked_amount", amounts)
    entries = entries.append_column("matched_by", pa.array(BY, TEXT).take(or_null(matched.by)))
    return entries.append_column("score", pa.array(matched.score, mask=np.isnan(matched.score)))


def _are_same(entries: pa.Table, compared: frozenset[str]) -> Flags:
    """Whether amount and date of entry and posting are the same: the digests of the columns alone are no proof."""
    same = np.ones(len(entries), dtype=bool)
    for name in ("amount", "date"):
        if name in compared:
            same &= pc.fill_null(pc.equal(entries.column(name), entries.column(f"booked_{name}")), False).to_numpy()
    return same


def _with_outcome(entries: pa.Table, bookings: Numbers, numbers: Numbers, texts: pa.Table) -> pa.Table:
    """Return the entries with their status, the differences and the next step; `texts` begins with a plain booking."""
    row = np.zeros(len(entries), dtype=np.int64)
    row[numbers] = np.arange(1, len(numbers) + 1)
    for name in ("status", "bookings", "differences", "to_do", "who"):
        column = pa.array(bookings) if name == "bookings" else texts.column(name).take(pa.array(row))
        entries = entries.append_column(name, column)
    return entries


def _findings(entries: pa.Table, numbers: Numbers, texts: pa.Table) -> pa.Table:
    """Return the findings: the most severe first."""
    rows = enumerate(texts.select(["severity", "status"]).to_pylist())
    ranks = sorted((SEVERITIES.index(row["severity"]), row["status"], at) for at, row in rows if row["severity"])
    order = np.array([at for *_, at in ranks], dtype=np.int64)
    findings = entries.take(pa.array(numbers[order - 1], COUNT)).drop_columns(["status"])
    for column, name in {"check": "status", "severity": "severity", "about": "about", "message": "message"}.items():
        findings = findings.append_column(column, texts.column(name).take(pa.array(order)))
    first = ["check", "severity", "about", "message", "to_do", "who"]
    return findings.select([*dict.fromkeys([*first, *in_reading_order(findings.column_names)])])


def _totals(sides: Sides, matched: Matches, not_exported: Numbers) -> pd.DataFrame:
    """Return the sums of both sides by account, month and currency."""
    # The postings of vouchers that are matched as a sum, each with the one on the account of the cost.
    beside = np.flatnonzero(np.isin(matched.entry, list(matched.amount)) & ~matched.is_double)
    cost = matched.posting[matched.entry[beside]]
    tables = {
        "entries": sides.entries,
        "postings": sides.postings,
        "not_exported": pa.table({"no": not_exported}),
        "beside": pa.table({"no": beside, "cost": cost}),
    }
    with engine("match_ledger", **tables) as connection:
        return to_pandas(kept(connection, "totals", TOTALS))


def _postings(
    sides: Sides, matched: Matches, status: pa.ChunkedArray, not_exported: Numbers, ambiguous: Mapping[int, Equals]
) -> pd.DataFrame:
    """Return the postings with the entry of each (of a sum the first one), and its status."""
    entries = or_null(matched.entry)
    statuses = status.take(entries).to_pandas().to_numpy(dtype=object)
    statuses[not_exported] = NOT_FROM_EXPORT
    for number, equals in ambiguous.items():
        # All equal entries have the same postings.
        if number == equals.entries[0]:
            statuses[equals.postings] = "ambiguous"
    table = with_column(sides.ledger, "status", pa.array(statuses, TEXT, from_pandas=True))
    table = with_column(table, "entry_id", sides.exported.column("entry_id").take(entries))
    return to_pandas(table.select(in_reading_order(table.column_names)))
