"""Spark Connect: a process that is connected to a Spark server gets what pandas gives."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from spark import NEEDS_SPARK, connect_port, session

pytestmark = [*NEEDS_SPARK, pytest.mark.long]


@pytest.mark.skipif(
    importlib.util.find_spec("grpc_status") is None, reason="Spark Connect comes with the extra spark"
)
def test_spark_connect():
    """A process that is connected to a Spark server composes and reconciles, shows and hands over frames."""
    session()
    script = Path(__file__).with_name("spark_connect.py")
    command = [sys.executable, script, f"sc://127.0.0.1:{connect_port()}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["compose", "reconcile", "collect"], done.stderr[-4000:]
