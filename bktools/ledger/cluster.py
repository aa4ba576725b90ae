"""Matches on a cluster: PySpark's workers match the ledger of one company at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bktools.errors import ArgumentError
from bktools.frames import cluster
from bktools.frames.cluster import KEY, Companies, OnCluster, native
from bktools.frames.schema import COUNT, DATE, TEXT, to_arrow
from bktools.ledger.ledger_match import LedgerMatch

TASK = "match_ledger"
TABLES = ("entries", "findings", "postings", "totals", "batches")
# One row a company: what the others do not tell.
ABOUT = "companies"


def matched(frames: Mapping[str, Any], match: Callable[[pa.Table, pa.Table], LedgerMatch]) -> OnCluster:
    """Return the tables of the match of each company as lazy PySpark frames, each with a company_id.

    Parameters
    ----------
    frames : mapping
        The frames "exported" and "ledger", at least one of which is a PySpark frame.
    match : callable
        Matches the two frames of one company.
    """
    from pyspark.sql import functions as sql

    session = next(native(frame) for frame in frames.values() if cluster.is_spark(frame)).sparkSession
    given = {noun: cluster.lifted(session, frame, noun) for noun, frame in frames.items()}
    parts = [
        cluster.packed(
            frame.withColumn("company_id", sql.lower("company_id") if "company_id" in frame.columns else _nothing()),
            noun,
            key=sql.lower("company_id") if "company_id" in frame.columns else _nothing(),
        )
        for noun, frame in given.items()
    ]
    kinds = {noun: _with_company(cluster.kinds_of(frame)) for noun, frame in given.items()}
    companies = _filled(Companies(cluster.together(parts), kinds))
    return OnCluster(TASK, (*TABLES, ABOUT), (), lambda name: companies.table(partial(_table, name, match)))


def _nothing() -> Any:
    from pyspark.sql import functions as sql

    return sql.lit(None).cast("string")


def _with_company(kind: pa.Schema) -> pa.Schema:
    return kind if "company_id" in kind.names else kind.append(pa.field("company_id", TEXT))


def _filled(companies: Companies) -> Companies:
    """Refuse rows without a company, unless there is only one."""
    found = companies.counts(TASK, "company")
    named = [row[KEY] for row in found if row[KEY] is not None]
    if len(named) == len(found):
        return companies
    if len(named) != 1:
        nameless = next(row for row in found if row[KEY] is None)
        noun = next(noun for noun in companies.kinds if nameless[noun])
        seen = f"{len(named)} companies" if named else "no company"
        raise ArgumentError(
            noun, f"has rows without a company, and the frames have {seen}: add a column company_id to it"
        )
    return companies.filled(str(named[0]))


def _table(name: str, match: Callable[[pa.Table, pa.Table], LedgerMatch], frames: cluster.Tables) -> pa.Table:
    """Return a table of the match of one company. Runs on a worker, where bktools must be installed."""
    ids = [pc.unique(frame.column("company_id")).drop_null() for frame in frames.values()]
    company = next((found[0].as_py() for found in ids if len(found)), None)
    exported, ledger = (frame.drop_columns(["company_id"]) for frame in frames.values())
    found = match(exported, ledger)
    if name == ABOUT:
        return pa.table(
            {
                "company_id": pa.array([company], TEXT),
                "unchecked": pa.array(["; ".join(found.unchecked)], TEXT),
                "not_from_export": pa.array([found.not_from_export], COUNT),
                "lacking": pa.array([found.lacking], COUNT),
                "ledger_from": pa.array([found.ledger_from], DATE),
                "ledger_until": pa.array([found.ledger_until], DATE),
            }
        )
    table = to_arrow(getattr(found, name))
    return table.append_column("company_id", pa.array([company] * len(table), TEXT))
