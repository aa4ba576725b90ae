"""The two tables as the model reads them: days, cents and texts."""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa


ENTRIES = {
    "id": "entry_id", "batch": "batch_id", "account": "account_code", "currency": "currency",
    "code": "tax_code",
    "supplier": "supplier", "description": "description", "document": "document_number", "employee": "employee_id",
}  # fmt: skip
LINES = {
    "voucher": "voucher_id", "account": "account_code", "currency": "currency", "text": "text",
    "document": "document_number", "fcurrency": "foreign_currency", "centre": "cost_centre",
}  # fmt: skip


def table_of(frame: Any, names: Mapping[str, str], **more: pl.Expr) -> pl.DataFrame:
    """Days, whole cents and texts under the names used here; a column that the frame lacks is empty."""
    if not isinstance(frame, pl.DataFrame):
        arrow = frame if isinstance(frame, pa.Table) else pa.Table.from_pandas(frame, preserve_index=False)
        frame = pl.from_arrow(arrow)
    there = {name for name, kind in frame.schema.items() if kind != pl.Null}

    def own(name: str, kind: Any) -> pl.Expr:
        return pl.col(name).cast(kind) if name in there else pl.lit(None, kind)

    texts = {new: own(old, pl.String) for new, old in names.items()}
    if "id" in names and "entry_id" not in there:
        texts["id"] = own("id", pl.String)
    for name in texts.keys() & {"currency", "fcurrency"}:
        texts[name] = texts[name].str.to_uppercase()
    cents = {new: (own(old, pl.Decimal(38, 2)) * 100).cast(pl.Int64) for new, old in MONEY.items()}
    day = own("date", pl.Date)
    if "id" in names:
        is_text = frame.schema.get("sent_at") == pl.String
        sent = (
            own("sent_at", pl.String).str.head(10).str.to_date(strict=False)
            if is_text
            else own("sent_at", pl.Date)
        )
        more["sent_day"] = sent.cast(pl.Int32).cast(pl.Int64)
        # What is of a closed month is booked on the first day of the month for which it was sent.
        period = own("period", pl.String).str.to_date("%Y-%m", strict=False)
        opened = pl.max_horizontal(day, period)
        more["open_day"] = opened.cast(pl.Int32).cast(pl.Int64)
    else:
        opened = day
    weekend = pl.when(day.dt.weekday() > 5).then(8 - day.dt.weekday()).otherwise(0)
    ends = {
        "work_day": day + pl.duration(days=weekend),
        "month_end": opened.dt.month_end(),
        "week_end": day.dt.truncate("1w") + pl.duration(days=6),
    }
    days = {name: at.cast(pl.Int32).cast(pl.Int64) for name, at in {"day": day, **ends}.items()}
    return frame.select(**texts, **cents, **days, **more)


MONEY = {"cents": "amount", "fcents": "foreign_amount"}  # (the room takes the larger scale of both frames)


def entries_of(frame: Any, *, sent: bool = True) -> pl.DataFrame:
    return table_of(frame, ENTRIES, sent=pl.lit(sent))


def postings_of(frame: Any) -> pl.DataFrame:
    return table_of(frame, LINES)
