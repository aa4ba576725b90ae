"""A local Spark session for the tests of any room, and what a test needs to use it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from typing import Any

import pytest

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # A few rows run once: compiling a query takes longer than running it.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}

NEEDS_SPARK = (
    pytest.mark.skipif(importlib.util.find_spec("pyspark") is None, reason="pyspark comes with bktools[spark]"),
    pytest.mark.skipif(shutil.which("java") is None, reason="PySpark needs Java 17 or newer on the path"),
    # pyspark says so of itself when it is handed Arrow tables.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.xdist_group("pyspark"),
    # Java and the workers start in it.
    pytest.mark.timeout(300),
)


def session() -> Any:
    """Return the session of this process."""
    from pyspark.sql import SparkSession

    # Workers are started with the first python3 on the path otherwise, which may not have bktools.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    return SparkSession.builder.master("local[1]").config(map=SETTINGS).getOrCreate()


def jobs(spark: Any) -> int:
    """Return how many jobs have run."""
    return len(spark.sparkContext.statusTracker().getJobIdsForGroup())
