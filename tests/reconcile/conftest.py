import importlib.util
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from bktools.frames import schema

sys.path.insert(0, str(Path(__file__).parent))

COLUMNS = {
    "chart": ["company_id", "external_id", "code", "name", "archived", "tax_code_external_id"],
    "accounts": ["company_id", "external_id", "state", "id", "name", "code", "tax_code_external_id", "archived"],
    "categories": ["id", "company_id", "category_group_id", "name", "archived", "account_id", "tax_code_id"],
}
SCHEMAS = {"chart": schema.CHART, "accounts": schema.ACCOUNTS, "categories": schema.CATEGORIES}


def arrow(noun, rows):
    """Return rows (dicts) as an Arrow table of the noun's types, every one of which may be null."""
    kinds = pa.schema([pa.field(name, SCHEMAS[noun].field(name).type) for name in COLUMNS[noun]])
    return pa.Table.from_pylist(rows, schema=kinds)


class Pandas:
    """Frames in memory, collected by the reconciliation."""

    def frames(self, tables):
        return {noun: schema.to_pandas(table) for noun, table in tables.items()}

    def rows(self, frame):
        return [tuple(row.values()) for row in schema.to_arrow(frame).to_pylist()]


class Polars:
    def frames(self, tables):
        import polars as pl

        return {noun: pl.from_arrow(table).lazy() for noun, table in tables.items()}

    def rows(self, frame):
        return frame.collect().rows()


class DuckDB:
    def frames(self, tables):
        connection = duckdb.connect(":memory:")
        return {noun: connection.from_arrow(table) for noun, table in tables.items()}

    def rows(self, frame):
        return frame.fetchall()


class PySpark:
    session = None

    def frames(self, tables):
        from pyspark.sql import SparkSession

        settings = {
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "1",
            "spark.default.parallelism": "1",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
        }
        session = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
        return {noun: session.createDataFrame(table).coalesce(1) for noun, table in tables.items()}

    def rows(self, frame):
        return [tuple(row) for row in frame.collect()]


def _needs(engine, module, extra):
    missing = importlib.util.find_spec(module) is None
    return pytest.param(engine, marks=pytest.mark.skipif(missing, reason=f"{module} comes with bktools[{extra}]"))


IN_PROCESS = [Pandas, DuckDB, _needs(Polars, "polars", "bench")]


@pytest.fixture(params=IN_PROCESS, ids=["pandas", "duckdb", "polars"])
def engine(request):
    """An engine that answers within a second."""
    return request.param()


@pytest.fixture(params=[*IN_PROCESS, _needs(PySpark, "pyspark", "spark")], ids=["pandas", "duckdb", "polars", "pyspark"])
def any_engine(request):
    """Any engine; Spark takes most of a minute for one reconciliation."""
    return request.param()
