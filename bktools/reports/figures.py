"""The figures of a close: what became of each entry, and exact sums by currency."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from bktools.export.plan import as_exported
from bktools.frames.schema import COUNT, MONEY, TEXT, split_lines, to_arrow
from bktools.reports.close import Close

# What became of an entry, by the outcome of its batch, or by the reason for which it is not ready.
BY_OUTCOME = {
    "ACCEPTED": "exported", "UNKNOWN": "in doubt", "SENDING": "in doubt", "REJECTED": "refused by the service",
    "BLOCKED": "not sent", "PLANNED": "ready, not sent",
}  # fmt: skip
HELD = "held back"
BY_REASON = {
    "exported": "exported earlier",
    "changed_since_export": "exported earlier",
    "later_period": "of a later month",
}
# All of them, in the order of the figures.
STATES = (
    "exported", "exported earlier", "in doubt", "refused by the service", "not sent", "ready, not sent", HELD,
    "of a later month",
)  # fmt: skip

NO_CURRENCY = "no currency"

# Number of entries and their exact amount by currency, the one with most entries first; None without any amount.
Money: TypeAlias = dict[str, tuple[int, Any]]


def entries_of(close: Close) -> pa.Table:
    """Return all entries of a close, ready and held back, with `state`: what became of each."""
    outcomes = dict(zip(close.jobs["batch_id"], close.jobs["outcome"], strict=True))
    rows, waiting = close.plan.rows, as_exported(to_arrow(close.plan.not_ready, "the entries"))
    states = [BY_OUTCOME[outcomes.get(batch, "PLANNED")] for batch in rows.column("batch_id").to_pylist()]
    reasons = [BY_REASON.get(reason, HELD) for reason in waiting.column("reason").to_pylist()]
    parts = [
        rows.append_column("state", pa.array(states, TEXT)),
        waiting.append_column("state", pa.array(reasons, TEXT)),
    ]
    table = pa.concat_tables(parts, promote_options="permissive")
    return (
        table if "category_id" in table.column_names else table.append_column("category_id", pa.nulls(len(table), TEXT))
    )


def sums_of(entries: pa.Table, *keys: str) -> dict[tuple[Any, ...], Money]:
    """Return the number of entries and their exact amount by currency, for each group of the keys."""
    nothing = {"amount": pa.nulls(len(entries), MONEY), "currency": pa.nulls(len(entries), TEXT)}
    columns = {name: entries.column(name) for name in (*keys, *nothing) if name in entries.column_names}
    table = pa.table(nothing | columns | {"entry": _entry_of(entries)})
    # As wide as decimals get: no sum of amounts of 38 digits overflows.
    exact = pc.cast(table.column("amount"), pa.decimal256(76, getattr(table.schema.field("amount").type, "scale", 0)))
    table = table.set_column(table.column_names.index("amount"), "amount", exact)
    grouped = table.group_by([*keys, "currency"], use_threads=False).aggregate(
        [("entry", "count_distinct"), ("amount", "sum")]
    )
    found: dict[tuple[Any, ...], Money] = defaultdict(dict)
    for row in grouped.sort_by([("entry_count_distinct", "descending"), ("currency", "ascending")]).to_pylist():
        found[tuple(row[name] for name in keys)][row["currency"] or NO_CURRENCY] = (
            row["entry_count_distinct"],
            row["amount_sum"],
        )
    return dict(found)


def _entry_of(rows: pa.Table) -> pa.Array:
    """Return the place of the first line of each row's entry: the lines of a split entry are one entry."""
    places = pa.array(range(len(rows)), COUNT)
    if "split_line" not in rows.column_names:
        return places
    own = rows.column("entry_id" if "entry_id" in rows.column_names else "id")
    ids = pc.if_else(pc.greater(split_lines(rows), 0), own, pa.scalar(None, TEXT)).combine_chunks()
    return pc.coalesce(pc.cast(pc.index_in(ids, ids, skip_nulls=True), places.type), places)


def number(money: Money) -> int:
    """Return the number of entries of all currencies."""
    return sum(count for count, _ in money.values())
