"""The exported entries that a ledger is compared with: those of its months, with what their file says of them."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa

from bktools.errors import InputError
from bktools.frames.columns import tables_in_one_scale, with_column, with_missing
from bktools.frames.engine import engine, in_memory, kept
from bktools.frames.schema import ENTRY_DATA, split_lines, to_pandas
from bktools.wording.numbers import counted

# The columns that are compared, each with its noun, what is compared, and the text that is shown.
COMPARED = {
    "amount": ("amount", "{}.amount", "{}.amount"),
    "currency": ("currency", "{}.currency", "{}.currency"),
    "date": ("date", "{}.date", "{}.date"),
    "category_id": ("category", "lower({}.category_id)", "coalesce({0}.category_name, {0}.category_id)"),
    "tax_code": ("tax code", "{}.tax_code", "{}.tax_code"),
    "supplier": ("supplier", "{}.supplier", "{}.supplier"),
}

# An entry that was sent before the journal kept amounts has all lines of the file.
JOINED = """
SELECT {columns}, coalesce(theirs.split_line, ours.split_line) AS split_line,
    nullif(concat_ws('; ', {changes}), '') AS changed_since_export
FROM ours LEFT JOIN file_rows AS theirs ON lower(ours.entry_id) = lower(theirs.id)
    AND (ours.split_line = theirs.split_line OR ours.split_line = 0 AND ours.amount IS NULL)
ORDER BY ours.no, theirs.split_line
"""


def entries_of_months(
    exported: pd.DataFrame, postings: pd.DataFrame, month: str | None = None
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the entries of a month, or of the months in the ledger, and a phrase about the others that are left out.

    The month of an entry is that of its close, or of its date where the journal has no close.
    """
    months: pd.Series = exported["period"].fillna(exported["date"].dt.strftime("%Y-%m"))
    if month is not None:
        unknown = int(months.isna().sum())
        phrases = (
            (f"{counted(unknown, 'entry', 'entries')} without a month: give their file with --entries",)
            if unknown
            else ()
        )
        return exported[(months == month).fillna(value=False)], phrases
    days = postings["date"].dt.strftime("%Y-%m")
    is_covered = months.between(days.min(), days.max()) if len(days) else months.isna()
    is_covered = is_covered.fillna(value=False) | months.isna()
    others = months[~is_covered].value_counts().sort_index()
    span = f"which has postings of {days.min()} to {days.max()}" if len(days) else "which has no postings"
    return exported[is_covered], tuple(
        f"{count:,} entries of {other}, a month that is not in the ledger, {span}" for other, count in others.items()
    )


def with_file(exported: pd.DataFrame, entries: Any) -> pd.DataFrame:
    """Return exported entries with the values that the journal lacks, from the file of the entries, by ID and line.

    An entry that the journal has without an amount gets all its lines of the file; `document_number` is added where the
    file has one, and `changed_since_export` has each value of the journal beside another one of the file.
    """
    ours, theirs = _numbered(in_memory(exported, "exported")), _numbered(in_memory(entries, "entries"))
    # The engine would round the finest amount to the decimals of the coarsest.
    ours, theirs = tables_in_one_scale(_complete(ours), _complete(theirs))
    columns = [f"ours.{name}" for name in exported.columns if name not in {*ENTRY_DATA, "split_line"}]
    columns += [f"coalesce(ours.{name}, theirs.{name}) AS {name}" for name in ENTRY_DATA]
    columns += ["theirs.document_number"] * ("document_number" in theirs.column_names)
    changes = [
        f"if({value.format('ours')} <> {value.format('theirs')},"
        f" concat('{noun} ', {text.format('ours')}, ' → ', {text.format('theirs')}), NULL)"
        for noun, value, text in COMPARED.values()
    ]
    with engine("verify", ours=ours, theirs=theirs) as connection:
        _refuse_repeated(connection)
        query = JOINED.format(columns=", ".join(columns), changes=", ".join(changes))
        return to_pandas(kept(connection, "joined", query))


def _numbered(table: pa.Table) -> pa.Table:
    table = with_column(table, "split_line", split_lines(table))
    return table.append_column("no", pa.array(range(len(table))))


def _complete(table: pa.Table) -> pa.Table:
    """Return a table with all columns that the journal has of an entry; null where it lacks one."""
    table = with_missing(table, pa.schema(ENTRY_DATA))
    for name, kind in ENTRY_DATA.items():
        if name != "amount":
            table = with_column(table, name, table.column(name).cast(kind))
    return table


def _refuse_repeated(connection: Any) -> None:
    values = ", ".join(COMPARED)
    rows = connection.execute(
        f"""
        CREATE TABLE file_rows AS FROM theirs
        QUALIFY row_number() OVER (PARTITION BY lower(id), split_line, {values} ORDER BY no) = 1;
        SELECT id FROM file_rows SEMI JOIN ours ON lower(file_rows.id) = lower(ours.entry_id)
        GROUP BY lower(id), id, split_line HAVING count(*) > 1 ORDER BY id
        """
    ).fetchall()
    if rows:
        count = counted(len(rows), "exported entry is", "exported entries are")
        raise InputError(
            f"{count} on several lines with different data, such as {rows[0][0]}: give --split-lines where the lines are"
            " the parts of one entry, otherwise keep the line that was exported",
            source="entries",
        )
