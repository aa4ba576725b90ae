"""`bktools snapshots`: cached versions of past loads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bktools.cli import options, results
from bktools.progress import note
from bktools.wording import words

if TYPE_CHECKING:
    from bktools.snapshots.snapshot import Facts, Query

PRIVATE = {"email"}


def snapshots(books: options.Environment, table: results.Table) -> None:
    """List the cached versions of each query.

    Those of the environment in force, the newest first, with their Parquet files, which DuckDB, Polars and
    Spark read as they are. Once a day a load removes those older than 90 days, but not
    the last one of each month.

    Example: bktools snapshots
    """
    from bktools.snapshots.store import Store

    rows = []
    # Nothing is asked of the service; only the sandbox has to be started, to learn its credential.
    with books.connected() as service:
        store = Store(service.settings)
        for query in store.queries():
            for snapshot in reversed(store.history(query)):
                facts = snapshot.facts()
                complete = "damaged" if facts is None or snapshot.is_damaged else _complete(facts)
                count = None if facts is None else facts.rows
                path, size = str(snapshot.path), snapshot.size()
                rows.append((query.table, _filters(query), snapshot.time, count, size, complete, path))
    columns = "table filters fetched_at rows bytes complete file"
    table.hand_over_rows(columns, rows, names={"complete": "snapshot"})
    if not rows:
        note(words()("command.no_snapshots"))


def _complete(facts: Facts) -> str:
    return "yes" if facts.complete else "; ".join(facts.complaints) or "unknown"


def _filters(query: Query) -> str:
    # An e-mail is private, and others may see the screen.
    values = {name: "…" if name in PRIVATE else str(value).lower() for name, value in query.filters.items()}
    return " ".join(f"{name}={value}" for name, value in values.items())
