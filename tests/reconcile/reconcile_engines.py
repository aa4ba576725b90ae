"""The engines that a reconciliation runs on, each with how frames come in and rows come out."""

import importlib.util
import itertools
import os
import shutil
import sys

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
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


class PySpark:
    """Frames of a local Spark session."""

    def __init__(self):
        from pyspark.sql import SparkSession

        # Workers are started with the first python3 on the path otherwise, which may not have bktools.
        os.environ["PYSPARK_PYTHON"] = sys.executable
        settings = {
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "1",
            "spark.default.parallelism": "1",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            # A few rows run once: compiling a query takes longer than running it.
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        }
        self._session = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()

    def frame(self, table):
        """Return an Arrow table as a frame of the engine."""
        return self._session.createDataFrame(table).coalesce(1)

    def frames(self, tables):
        """Return Arrow tables, by noun, as frames of the engine."""
        return {noun: self.frame(table) for noun, table in tables.items()}

    def rows(self, frame):
        """Return the rows of a frame as tuples."""
        return [tuple(row) for row in frame.collect()]

    def jobs(self):
        """Return how many jobs have run."""
        return len(self._session.sparkContext.statusTracker().getJobIdsForGroup())


NEEDS_SPARK = (
    pytest.mark.skipif(importlib.util.find_spec("pyspark") is None, reason="pyspark comes with bktools[spark]"),
    pytest.mark.skipif(shutil.which("java") is None, reason="PySpark needs Java 17 or newer on the path"),
    # pyspark says so of itself when it is handed Arrow tables.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.xdist_group("pyspark"),
    # Java and the workers start in it.
    pytest.mark.timeout(300),
)

PYSPARK = pytest.param("pyspark", marks=NEEDS_SPARK)
