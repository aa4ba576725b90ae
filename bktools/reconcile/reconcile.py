"""Reconciling: frames in, a reconciliation out; nothing is asked of the service and nothing is changed."""

from __future__ import annotations

import functools
from typing import Any

import pandas as pd

from bktools.frames.schema import to_pandas
from bktools.reconcile import inputs, tables
from bktools.reconcile.reconciliation import Reconciliation


def reconcile_accounts(chart: Any, accounts: Any, categories: Any) -> Reconciliation:
    frames = inputs.read({"chart": chart, "accounts": accounts, "categories": categories})
    findings, coverage = tables.results(frames, "findings", "coverage")
    return Reconciliation(to_pandas(findings), to_pandas(coverage), functools.partial(_later, frames))


def _later(frames, name) -> pd.DataFrame:
    return to_pandas(*tables.results(frames, name))
