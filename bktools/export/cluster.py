"""Composes on a cluster: PySpark's workers run the same function, one company at a time."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bktools.export import checks, findings
from bktools.export.tables import KEPT, REQUIRED, require
from bktools.frames import cluster
from bktools.frames.cluster import KEY, OnCluster
from bktools.frames.schema import TEXT

NAMES = ("entries", "not_ready", "batches", "totals", "findings")

# The company of a line that stands for all lines of other companies with the same entry ID.
ANOTHER = "another company"
SHARED = pa.schema({"id": TEXT})


def composed(
    entries: Any,
    frames: Mapping[str, Any],
    asked: Mapping[str, Any],
    table_of: Callable[..., pa.Table],
) -> OnCluster:
    """Return the tables of a plan as lazy PySpark frames.

    Parameters
    ----------
    entries : PySpark frame
        The entries.
    frames : mapping
        The other frames by name, of any tool.
    asked : mapping
        The arguments of the checks.
    table_of : callable
        Returns a table by name, from entries, the other frames, and `asked`.
    """
    from pyspark.sql import functions as sql

    rows = cluster.native(entries)
    session = rows.sparkSession
    require(rows.columns, "entries")
    others = {
        name: cluster.lifted(session, frame, f"the {name}", (*REQUIRED[name][0], *KEPT.get(name, ())))
        for name, frame in frames.items()
    }
    for name, frame in others.items():
        require(frame.columns, name)
    company = sql.coalesce(sql.lower("company_id"), sql.lit(""))
    packed = cluster.packed(rows, "entries", key=company)
    known = cluster.references(rows.withColumn(KEY, company), others, with_shared=True)
    kinds = {name: cluster.kinds_of(frame) for name, frame in {"entries": rows, **others}.items()}
    companies = cluster.Companies(cluster.together([packed, *known]), {**kinds, "shared": SHARED})
    found = _counted(packed, kinds["entries"], others.get("accounts"))
    told = {**asked, "list": _last_list(found) if "accounts" in others else ""}
    companies = companies.bundled(sum(row["entries"] for row in found))
    names = findings.names_of(kinds["entries"].empty_table(), others, asked)

    def listed(name: str) -> Any:
        return companies.table(partial(_of_company, name, tuple(others), told, table_of))

    return OnCluster("compose_export_jobs", NAMES, checks.unchecked(names), listed)


def _counted(entries: Any, kind: pa.Schema, accounts: Any) -> list[dict[str, Any]]:
    """Refuse a company that is too large; return the number of entries by company, and what the accounts say of lists."""
    from pyspark.sql import functions as sql

    if accounts is None:
        return cluster.Companies(entries, {"entries": kind}).counts("compose_export_jobs", "company")
    state, updated = (
        cluster.column(name).cast("string" if name == "state" else "timestamp")
        if name in accounts.columns
        else sql.lit(None)
        for name in ("state", "updated_at")
    )
    listed = accounts.select(
        sql.lit("").alias(KEY),
        state.alias("state"),
        sql.when(state == "IMPORTED", updated.cast("bigint")).alias("last"),
    ).withColumn("account", sql.lit(1))
    both = cluster.Companies(cluster.together([entries, listed]), {"entries": kind})
    counted = {"accounts": sql.count("account"), "states": sql.count("state"), "last": sql.max("last")}
    return both.counts("compose_export_jobs", "company", counted)


def _last_list(found: list[dict[str, Any]]) -> str:
    """Return when a list of accounts was last imported, as `findings.list_of`."""
    last = max((row["last"] for row in found if row["last"] is not None), default=None)
    day = None if last is None else dt.datetime.fromtimestamp(last, dt.UTC)
    return findings.list_text(sum(row["accounts"] for row in found), sum(row["states"] for row in found), day)


def _of_company(
    name: str,
    nouns: tuple[str, ...],
    asked: Mapping[str, Any],
    table_of: Callable[..., pa.Table],
    tables: cluster.Tables,
) -> pa.Table:
    """Return a table of the plan of one company. Runs on a worker, where bktools must be installed."""
    shared = pc.unique(tables["shared"].column("id"))
    others = pa.table({"id": shared, "company_id": pa.array([ANOTHER] * len(shared), TEXT)})
    entries = pa.concat_tables([tables["entries"], others], promote_options="default")
    table = table_of(name, entries, {noun: tables[noun] for noun in nouns}, asked)
    return table.filter(pc.fill_null(pc.not_equal(table.column("company_id"), ANOTHER), True))
