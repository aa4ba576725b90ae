"""The engines that a reconciliation runs on, each with how frames come in and rows come out."""

import importlib.util
import os
import shutil
import sys

import duckdb
import pyarrow as pa
import pytest

from bktools.frames import schema

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
        """Return Arrow tables, by noun, as frames of the engine."""
        return {noun: schema.to_pandas(table) for noun, table in tables.items()}

    def rows(self, frame):
        """Return the rows of a frame as tuples."""
        return [tuple(row.values()) for row in schema.to_arrow(frame).to_pylist()]


class Polars:
    """Lazy frames of Polars."""

    def frames(self, tables):
        """Return Arrow tables, by noun, as frames of the engine."""
        import polars as pl

        return {noun: pl.from_arrow(table).lazy() for noun, table in tables.items()}

    def rows(self, frame):
        """Return the rows of a frame as tuples."""
        return frame.collect().rows()


class DuckDB:
    """Relations of one connection."""

    def frames(self, tables):
        """Return Arrow tables, by noun, as frames of the engine."""
        connection = duckdb.connect(":memory:")
        return {noun: connection.from_arrow(table) for noun, table in tables.items()}

    def rows(self, frame):
        """Return the rows of a frame as tuples."""
        return frame.fetchall()


class PySpark:
    """Frames of a local Spark session."""

    def frames(self, tables):
        """Return Arrow tables, by noun, as frames of the engine."""
        from pyspark.sql import SparkSession

        # Workers are started with the first python3 on the path otherwise, which may not have bktools.
        os.environ["PYSPARK_PYTHON"] = sys.executable
        settings = {
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "1",
            "spark.default.parallelism": "1",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            # A few rows run once: compiling and replanning a query takes longer than running it.
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
            "spark.sql.adaptive.enabled": "false",
        }
        session = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
        return {noun: session.createDataFrame(table).coalesce(1) for noun, table in tables.items()}

    def rows(self, frame):
        """Return the rows of a frame as tuples."""
        return [tuple(row) for row in frame.collect()]


def _needs(engine, module, extra):
    missing = importlib.util.find_spec(module) is None
    return pytest.param(engine, marks=pytest.mark.skipif(missing, reason=f"{module} comes with bktools[{extra}]"))


IN_PROCESS = [Pandas, DuckDB, _needs(Polars, "polars", "bench")]

PYSPARK = pytest.param(
    PySpark,
    marks=[
        pytest.mark.skipif(importlib.util.find_spec("pyspark") is None, reason="pyspark comes with bktools[spark]"),
        pytest.mark.skipif(shutil.which("java") is None, reason="PySpark needs Java 17 or newer on the path"),
        # pyspark says so of itself when it is handed Arrow tables.
        pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
        pytest.mark.xdist_group("pyspark"),
    ],
)
