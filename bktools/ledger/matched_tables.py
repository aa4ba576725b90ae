"""Both tables of a match with what became of each row: what its tables and findings are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames.schema import COUNT, TEXT
from bktools.ledger.inputs import OF_POSTING, Inputs
from bktools.ledger.verdict import THERE, Reason, Status, Verdict
from bktools.ledger.whole_numbers import first_rows, sums

CODES = pa.array([status.code for status in Status], TEXT)
OF_GROUP = ["group", "account"]
# The posting's columns that an entry gets as evidence, with OF_POSTING in front.
EVIDENCE = (
    *("date", "account_code", "account_name", "amount", "text"),
    *("document_number", "voucher_id", "cost_centre", "line"),
)


@dataclass(frozen=True)
class MatchedTables:
    """Both tables, and what became of each entry.

    Parameters
    ----------
    inputs, verdict : Inputs, Verdict
        Both tables as they were given and as the engine reads them, and what it says of them.
    entries, postings : DataFrame
        The engine's tables with the month of each row, its group, and whether it is in the ledger's currency
        (is_home). Of an entry also status, posting (the first row that has it), booked (what the ledger has
        for it, with its tax; of a sum all of it), and whether it is shown. Of a posting its amount with the
        sign of the entries, also gross, and whether it is only looked at, or from no export.
    table : pyarrow.Table
        The entries with status, delay, reason, and the columns of the posting of each.
    months : Expr or None
        Which months are shown; None for all.
    """

    inputs: Inputs
    verdict: Verdict
    entries: pl.DataFrame
    postings: pl.DataFrame
    table: pa.Table
    months: pl.Expr | None

    @property
    def currency(self) -> str | None:
        """The ledger's own currency, None where it is not known."""
        return self.verdict.habits.currency

    def numbers(self, condition: pl.Expr) -> list[int]:
        """Return the entries that are shown and meet a condition."""
        rows: list[int] = (
            self.entries.select((pl.col("is_shown") & condition).arg_true()).to_series().to_list()
        )
        return rows

    def rows(self, entries: Sequence[int]) -> list[dict[str, Any]]:
        """Return entries with the columns of their postings."""
        rows: list[dict[str, Any]] = self.table.take(pa.array(entries, pa.int64())).to_pylist()
        return rows

    def money(self, cents: int | None) -> Decimal | None:
        """Return whole numbers as an exact amount."""
        return None if cents is None else Decimal(cents).scaleb(-self.inputs.scale)


def matched_tables(inputs: Inputs, verdict: Verdict, months: pl.Expr | None) -> MatchedTables:
    """Return both tables with what became of each row; `months`: which months are shown, None for all."""
    postings = _postings(inputs, verdict)
    entries = _entries(inputs, verdict, postings).with_columns(
        is_shown=pl.lit(value=True) if months is None else months.fill_null(value=False)
    )
    # Postings on the entries' accounts, in their months, that are of no entry and named for none.
    of_months = pl.col("month").is_between(entries["month"].min(), entries["month"].max())
    is_own = pl.col("account").is_in(entries["account"].unique().implode()) & (pl.col("group") < 0)
    is_other = is_own & (of_months if months is None else months) & ~pl.col("is_looked_at")
    postings = postings.with_columns(is_from_no_export=is_other.fill_null(value=False))
    return MatchedTables(inputs, verdict, entries, postings, _table(inputs, verdict, entries), months)


def month_of(*days: str) -> pl.Expr:
    """Return the first day of the month of the first day that is known."""
    return pl.coalesce(days).cast(pl.Int32).cast(pl.Date).dt.month_start()


def _is_home(currency: str | None) -> pl.Expr:
    own = pl.col("currency")
    return own.is_null() | own.eq_missing(pl.lit(currency))


def _postings(inputs: Inputs, verdict: Verdict) -> pl.DataFrame:
    is_looked_at = np.zeros(inputs.postings.height, np.bool_)
    named = (*verdict.evidence.values(), *(group.postings for group in verdict.open_groups))
    for rows in named:
        is_looked_at[[*rows]] = True
    return inputs.postings.with_columns(
        month=month_of("day"),
        cents=pl.col("cents").fill_null(0) * verdict.habits.sign,
        gross=pl.Series(verdict.gross),
        group=pl.Series(verdict.posting_group),
        is_home=_is_home(verdict.habits.currency),
        is_looked_at=pl.Series(is_looked_at & (verdict.posting_group < 0)),
    )


def _entries(inputs: Inputs, verdict: Verdict, postings: pl.DataFrame) -> pl.DataFrame:
    group, count = verdict.group, verdict.groups + 1  # what is in no group counts as the last
    posting = first_rows(verdict.posting_group, verdict.groups)[group]
    # Of a group on several accounts, an entry has the first posting on its own one.
    on = postings["account"].gather(pl.Series(posting).replace(-1, None))
    elsewhere = np.flatnonzero((posting >= 0) & (on != inputs.entries["account"]).fill_null(True).to_numpy())
    if len(elsewhere):
        rows = postings.with_row_index("row").filter(pl.col("group") >= 0).unique(OF_GROUP, keep="first")
        own = pl.DataFrame({"group": group[elsewhere], "account": inputs.entries["account"][elsewhere]})
        own = own.join(rows, on=OF_GROUP, how="left", maintain_order="left").select("row")
        posting[elsewhere] = own["row"].fill_null(pl.Series(posting[elsewhere])).to_numpy()
    for entry, looked_at in verdict.evidence.items():
        if verdict.status[entry] in THERE:
            posting[entry] = looked_at[0]
    entries = inputs.entries.with_columns(
        # The month of an entry is that of its close, else of its date.
        month=month_of("period_day", "day"),
        is_home=_is_home(verdict.habits.currency),
        status=pl.Series(verdict.status),
        group=pl.Series(group),
    )
    exported = sums(group, count, entries["cents"].fill_null(0).to_numpy())
    foreign = sums(group, count, ~entries["is_home"].to_numpy())
    booked = sums(verdict.posting_group, count, postings["cents"].to_numpy())
    own = np.append(verdict.gross, 0)[posting]
    amounts = np.where(group >= 0, np.where(foreign == 0, exported, booked)[group], own)
    is_posted = pl.Series(posting >= 0)
    return entries.with_columns(
        posting=pl.when(is_posted).then(pl.Series(posting)),
        booked=pl.when(is_posted | pl.Series(group >= 0)).then(pl.Series(amounts)),
    )


def _table(inputs: Inputs, verdict: Verdict, entries: pl.DataFrame) -> pa.Table:
    table, ledger, at = inputs.exported, inputs.ledger, entries["posting"].to_arrow()
    for name in EVIDENCE:
        if name == "amount":
            table = table.append_column(f"{OF_POSTING}amount", as_money(entries["booked"], inputs.scale))
        elif name in ledger.column_names:
            table = table.append_column(f"{OF_POSTING}{name}", ledger.column(name).take(at))
    reasons = np.full(len(table), -1)
    reasons[[*verdict.reasons]] = [*map([*Reason].index, verdict.reasons.values())]
    late = pa.array(verdict.days_late, COUNT, mask=verdict.status != Status.BOOKED)
    table = table.append_column("status", CODES.take(pa.array(verdict.status)))
    table = table.append_column("days_late", late)
    return table.append_column("reason", pa.array([*Reason], TEXT).take(rows_of(reasons)))


def rows_of(numbers: Any) -> pa.Array:
    """Return rows to take; one below 0 is null."""
    return pa.array(numbers, pa.int64(), mask=numbers < 0)


def as_money(cents: pl.Series, scale: int) -> pa.Array:
    """Return whole numbers as exact amounts."""
    whole = cents.cast(pl.Int64).to_arrow().cast(pa.decimal128(19, 0))
    return pc.multiply(whole, Decimal(1).scaleb(-scale)).cast(pa.decimal128(38, scale))
