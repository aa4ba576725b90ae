"""The two tables as the engine reads them: whole cents (or smaller units), days since 1970-01-01, texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
import pyarrow as pa

ENTRY_TEXTS = {
    "id": "entry_id",
    "batch": "batch_id",
    "account": "account_code",
    "currency": "currency",
    "code": "tax_code",
    "supplier": "supplier",
    "description": "description",
    "document": "document_number",
    "employee": "employee_id",
}
POSTING_TEXTS = {
    "voucher": "voucher_id",
    "account": "account_code",
    "currency": "currency",
    "text": "text",
    "document": "document_number",
    "fcurrency": "foreign_currency",
    "centre": "cost_centre",
}
AMOUNTS = {"cents": "amount", "fcents": "foreign_amount"}
FRIDAY = 5


def entries_of(entries: pa.Table, *, sent: bool = True) -> pl.DataFrame:
    """Return exported entries as the engine reads them; a column that the table lacks is empty.

    Parameters
    ----------
    entries : pyarrow.Table
        entry_id, and optionally batch_id, account_code, date, amount, currency, tax_code, supplier,
        description, document_number, employee_id, sent_at and period.
    sent : bool
        Whether the entries were sent.
    """
    table = pl.DataFrame(pl.from_arrow(entries))
    columns = _Source(table)
    day = columns.own("date", pl.Date)
    sent_at = columns.own("sent_at", pl.String)
    if table.schema.get("sent_at") == pl.String:
        sent_day = sent_at.str.head(10).str.to_date(strict=False)
    else:
        sent_day = columns.own("sent_at", pl.Date)
    # What is of a closed month is booked in the month for which it was sent.
    opened = pl.max_horizontal(day, columns.own("period", pl.String).str.to_date("%Y-%m", strict=False))
    weekend = pl.when(day.dt.weekday() > FRIDAY).then(8 - day.dt.weekday()).otherwise(0)
    return table.select(
        **columns.texts(ENTRY_TEXTS),
        **columns.amounts(),
        day=_number(day),
        work_day=_number(day + pl.duration(days=weekend)),
        open_day=_number(opened),
        week_end=_number(day.dt.truncate("1w") + pl.duration(days=6)),
        month_end=_number(opened) + opened.dt.days_in_month() - opened.dt.day(),
        sent_day=_number(sent_day),
        sent=pl.lit(sent),
    )


def postings_of(ledger: pa.Table) -> pl.DataFrame:
    """Return the postings of a ledger as the engine reads them; a column that the table lacks is empty.

    Parameters
    ----------
    ledger : pyarrow.Table
        account_code, date and amount (debit is positive), and optionally voucher_id, document_number, text,
        currency, foreign_amount, foreign_currency and cost_centre.
    """
    table = pl.DataFrame(pl.from_arrow(ledger))
    columns = _Source(table)
    day = _number(columns.own("date", pl.Date))
    return table.select(**columns.texts(POSTING_TEXTS), **columns.amounts(), day=day)


class _Source:
    """The columns of a table, empty where it lacks one."""

    def __init__(self, table: pl.DataFrame) -> None:
        self.names = {name for name, kind in table.schema.items() if kind != pl.Null}
        self.scale = getattr(table.schema.get("amount"), "scale", 2)

    def own(self, name: str, kind: Any) -> pl.Expr:
        return pl.col(name).cast(kind) if name in self.names else pl.lit(None, kind)

    def texts(self, names: Mapping[str, str]) -> dict[str, pl.Expr]:
        texts = {new: self.own(old, pl.String) for new, old in names.items()}
        for name in texts.keys() & {"currency", "fcurrency"}:
            texts[name] = texts[name].str.to_uppercase()
        return texts

    def amounts(self) -> dict[str, pl.Expr]:
        own = pl.Decimal(38, self.scale)
        return {new: (self.own(old, own) * 10**self.scale).cast(pl.Int64) for new, old in AMOUNTS.items()}


def _number(day: pl.Expr) -> pl.Expr:
    return day.cast(pl.Int32).cast(pl.Int64)
