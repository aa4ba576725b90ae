"""Tables as CSV, Excel, JSON and Parquet: one function a format."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import bktools
from bktools.visible import visible
from bktools.wording import LANGUAGES, words
from bktools.wording.numbers import STYLES

if TYPE_CHECKING:
    import pandas as pd

ROWS_AT_ONCE = 50_000

# Line ends and tabs would split a row or a cell.
BREAKS = re.compile(r"[\t\n\v\f\r\x85\u2028\u2029]+")


def to_json(value: Any) -> bytes:
    """Return a value as JSON: decimals as text, so that no reader rounds them, and tables as rows."""
    import msgspec

    return msgspec.json.encode(value, enc_hook=_plain)


def _plain(value: Any) -> Any:
    if hasattr(value, "itertuples"):
        return list(_rows(value))
    if hasattr(value, "item"):
        return value.item()
    return str(value)


def _rows(frame: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the rows; times, days and decimals are text, as in a CSV file for programs."""
    import pyarrow as pa

    from bktools.frames.delimited import PROFILES, as_text, in_minor_units
    from bktools.frames.incoming import arrow_of

    def is_plain(kind: pa.DataType) -> bool:
        return any(
            is_kind(kind) for is_kind in (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating)
        )

    table = arrow_of(frame)
    columns = {
        name: column if is_plain(column.type) else as_text(column, PROFILES["machine"], name)
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    columns |= in_minor_units(table, columns, ".")
    for batch in pa.table(columns).to_batches(ROWS_AT_ONCE):
        yield from batch.to_pylist()


def _json(frame: pd.DataFrame, file: IO[bytes]) -> None:
    file.write(b"[")
    lead = b"\n"
    for row in _rows(frame):
        file.write(lead + to_json(row))
        lead = b",\n"
    file.write(b"\n]\n")


def _parquet(frame: pd.DataFrame, file: IO[bytes]) -> None:
    import pyarrow.parquet as pq

    from bktools.frames.incoming import arrow_of

    pq.write_table(arrow_of(frame), file, compression="zstd")


# By the suffix of the file. The writers of .csv and .xlsx are public.
WRITERS: dict[str, Callable[[pd.DataFrame, IO[bytes]], object]] = {
    ".json": _json,
    ".parquet": _parquet,
}
SUFFIXES = (".csv", ".xlsx", *WRITERS)


def write_table(frame: pd.DataFrame, target: Path | IO[bytes], suffix: str, profile: str) -> None:
    """Write a frame to a file or a buffer, in the format of a suffix; the profile is that of CSV."""
    from bktools.frames.delimited import written

    if suffix == ".csv":
        bktools.to_csv(frame, target, profile)
    elif suffix == ".xlsx":
        bktools.to_excel(frame, target)
    else:
        written(target, partial(WRITERS[suffix], frame))


def with_units(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame for people: amounts are decimals with the decimals of their currency."""
    import pandas as pd
    import pyarrow as pa

    from bktools.frames.incoming import arrow_of
    from bktools.frames.money import currency_column, in_units, is_money

    shown = {}
    for name in filter(is_money, map(str, frame.columns)):
        currency = currency_column(name, frame.columns)
        table = arrow_of(frame[[name] if currency is None else [name, currency]])
        if pa.types.is_decimal(table[name].type):
            shown[name] = in_units(table[name], None if currency is None else table[currency])
    return frame.assign(**{name: pd.Series(values, frame.index, "object") for name, values in shown.items()})


def texts_of(column: pd.Series, thousands: str, language: str = LANGUAGES[0]) -> list[str]:
    """Return the cells of a column as people read them; a column of midnights without a zone has days."""
    style = STYLES[language]
    marks = str.maketrans(",.", f"{style.thousands}{style.point}")
    texts = words(language)
    flags = {} if language == LANGUAGES[0] else {True: texts("report.yes"), False: texts("report.no")}
    values = [None if none else value for value, none in zip(column, column.isna(), strict=True)]
    are_days = all(
        value.tzinfo is None and value.time() == dt.time.min
        for value in values
        if isinstance(value, dt.datetime)
    )

    def text(value: Any) -> str:
        if isinstance(value, dt.datetime):
            day = f"{value:{style.day}}"
            return day if are_days else f"{day} {value:%H:%M:%S}{'Z' if value.tzinfo else ''}"
        if isinstance(value, Decimal | int) and not isinstance(value, bool):
            return f"{value:{thousands}}".translate(marks)
        if isinstance(value, float):
            return str(value).translate(marks)
        # In English a flag is shown as Python has it.
        shown = flags.get(value, value) if isinstance(value, bool) else value
        return visible(BREAKS.sub(" ", str(shown)))

    return ["" if value is None else text(value) for value in values]


def is_number(column: pd.Series) -> bool:
    """Whether a column is shown on the right."""
    import pandas as pd

    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
