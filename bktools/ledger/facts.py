"""What a file of entries adds to the journal's facts, for entries that were sent before the journal kept any."""

from __future__ import annotations

from typing import Any

import pandas as pd

from bktools.frames.engine import Scannable, engine, scannable
from bktools.frames.schema import FACTS, to_pandas


def with_facts(exported: pd.DataFrame, entries: Any) -> pd.DataFrame:
    """Return exported entries with the facts that they lack, from entries with names, by the entry's ID.

    Parameters
    ----------
    exported : DataFrame
        As `load_export_jobs(entries=True)` returns it.
    entries : DataFrame or pyarrow.Table
        With `id` and any of the facts; `document_number` is added where there is one.
    """
    ours, theirs = scannable(exported, "exported"), scannable(entries, "entries")
    there = [name for name in FACTS if name in theirs.schema.names]
    facts = [
        f"coalesce({', '.join(_cast(side, name, ours, theirs) for side in sides)}) AS {name}"
        for name in there
        for sides in [("ours", "theirs") if name in ours.schema.names else ("theirs",)]
    ]
    kept = [f"ours.{name}" for name in ours.schema.names if name not in there]
    more = ["theirs.document_number"] * ("document_number" in theirs.schema.names)
    with engine("verify", ours=ours, theirs=theirs) as connection:
        connection.execute(
            f"""
            CREATE TABLE filled AS
            SELECT {", ".join([*kept, *facts, *more])}
            FROM (SELECT *, row_number() OVER () AS place FROM ours) AS ours
            LEFT JOIN (SELECT * FROM theirs QUALIFY row_number() OVER (PARTITION BY lower(id)) = 1) AS theirs
                ON lower(ours.entry_id) = lower(theirs.id)
            ORDER BY place
            """
        )
        return to_pandas(connection.table("filled").to_arrow_table())


def _cast(side: str, name: str, ours: Scannable, theirs: Scannable) -> str:
    """Return a column; an amount with the decimals of the finest one: the engine would round it to those of the coarsest."""
    if name != "amount":
        return f"{side}.{name}"
    kinds = [table.schema.field(name).type for table in (ours, theirs) if name in table.schema.names]
    return f"CAST({side}.{name} AS DECIMAL(38, {max(getattr(kind, 'scale', 0) for kind in kinds)}))"
