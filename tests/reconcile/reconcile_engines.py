"""The engines that a reconciliation runs on, each with how frames come in and rows come out."""

import itertools

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bktools.frames import schema

_ACCOUNT = ["company_id", "external_id", "code", "name", "archived", "tax_code_external_id"]
COLUMNS = {
    "chart": _ACCOUNT,
    "accounts": [*_ACCOUNT, "state", "id"],
    "categories": ["id", "company_id", "category_group_id", "name", "archived", "account_id", "tax_code_id"],
}
SCHEMAS = {"chart": schema.CHART, "accounts": schema.ACCOUNTS, "categories": schema.CATEGORIES}


def arrow(noun, rows):
    """Return rows (dicts) as an Arrow table of the noun's types, every one of which may be null."""
    kinds = pa.schema([pa.field(name, SCHEMAS[noun].field(name).type) for name in COLUMNS[noun]])
    return pa.Table.from_pylist(rows, schema=kinds)


class InProcess:
    """Frames that DuckDB reads in this process; the results are DataFrames whatever was given."""

    def __init__(self, frame):
        self.frame = frame

    def frames(self, tables):
        """Return Arrow tables, by noun, as frames of the engine."""
        return {noun: self.frame(table) for noun, table in tables.items()}

    def rows(self, frame):
        """Return the rows of a frame as tuples."""
        assert isinstance(frame, pd.DataFrame)
        return [tuple(row.values()) for row in schema.to_arrow(frame).to_pylist()]


def relation(table):
    """Return a relation of a connection of its own."""
    return duckdb.connect(":memory:").from_arrow(table)


def polars(table):
    return pytest.importorskip("polars", reason="polars comes with bktools[bench]").from_arrow(table)


def parquet(folder):
    """Return what makes tables into paths of files in a folder."""
    numbers = itertools.count()

    def written(table):
        path = folder / f"{next(numbers)}.parquet"
        pq.write_table(table, path)
        return path

    return written


IN_PROCESS = {
    "pandas": schema.to_pandas,
    "arrow": lambda table: table,
    "duckdb": relation,
    "polars": polars,
    "lazy-polars": lambda table: polars(table).lazy(),
    "parquet": None,
}


def in_process(name, folder):
    """Return the engine of a name of IN_PROCESS."""
    return InProcess(IN_PROCESS[name] or parquet(folder))


def in_pandas():
    """Return the engine of pandas."""
    return InProcess(schema.to_pandas)
