"""A local Spark session for the tests of any room, and what a test needs to use it.

By default the tests run with the installed PySpark and 20,000 rows. An environment of its own has another
version:

    python -m venv spark && spark/bin/pip install uv && spark/bin/uv pip install --python spark/bin/python -e
    . --group lowest 'pyspark[connect]==4.0.1' BKTOOLS_TEST_SPARK_ROWS=100000 spark/bin/python -m pytest -n 0
    tests/test_frames_of_spark.py
"""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import socket
import sys
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

ROWS = int(os.environ.get("BKTOOLS_TEST_SPARK_ROWS", "20000"))

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Java that lives for a minute starts in half the time without long optimisation and class checks.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote",
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    # A few rows run once: compiling a query takes longer than running it.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}

NEEDS_SPARK = (
    pytest.mark.skipif(
        importlib.util.find_spec("pyspark") is None, reason="pyspark comes with bktools[spark]"
    ),
    pytest.mark.skipif(shutil.which("java") is None, reason="PySpark needs Java 17 or newer on the path"),
    # pyspark says so of itself when it is handed Arrow tables.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    # PySpark 4.0 leaves the sockets that it collects rows through to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.filterwarnings(
        "ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning"
    ),
    # Java and the workers start in it.
    pytest.mark.timeout(300),
)


@functools.cache
def connect_port() -> int:
    """Return the port on which the session of this process is a server of Spark Connect, too."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@functools.cache
def session() -> Any:
    """Return the session of this process."""
    from pyspark.sql import SparkSession

    # Workers are started with the first python3 on the path otherwise, which may not have bktools.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    server = {
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(connect_port()),
    }
    return SparkSession.builder.master("local[1]").config(map=SETTINGS | server).getOrCreate()


def lifted(frame: pd.DataFrame | pa.Table) -> Any:
    """Return a frame as one of the session."""
    table = frame if isinstance(frame, pa.Table) else pa.Table.from_pandas(frame, preserve_index=False)
    return session().createDataFrame(table)
