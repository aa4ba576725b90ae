"""`bktools snapshots`: cached versions of past loads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bktools.cli import options, results
from bktools.cli.loading import age
from bktools.cli.options import REQUIRED, argument, option
from bktools.contract import NOUNS, rules
from bktools.errors import SnapshotNotFoundError
from bktools.progress import note

if TYPE_CHECKING:
    from bktools.snapshots.snapshot import Facts, Query
    from bktools.snapshots.store import Store

app = typer.Typer(help="Cached loads: list, show, prune, find the files.", no_args_is_help=True)

NAMED = 12
TABLES = tuple(noun.name for noun in NOUNS)
PRIVATE = {"email"}


@app.command("list")
@results.table
def list_snapshots(connection: options.Connects) -> None:
    """List the cached queries: rows, size and age.

    They are those of the environment in force.

    Example: bktools snapshots list
    """
    rows = []
    store = _store(connection)
    for query in store.queries():
        snapshots = store.history(query)
        facts, size = snapshots[-1].facts(), sum(snapshot.size() for snapshot in snapshots)
        key = store.folder(query).name[:NAMED]
        count = facts and facts.rows
        rows.append((key, query.table, _filters(query), len(snapshots), count, size, snapshots[-1].time))
    results.hand_over_rows(rows, ["key", "table", "filters", "snapshots", "rows", "bytes", "fetched_at"])
    if not rows:
        note("no snapshots: the first load makes one")


@app.command("show")
@results.table
def show(
    connection: options.Connects,
    key: str = argument("KEY", "Beginning of the key that `list` shows.", REQUIRED),
) -> None:
    """Show all cached versions of one query, oldest first.

    Example: bktools snapshots show 3f2a
    """
    store = _store(connection)
    query = _named(key, store)
    snapshots = store.history(query)
    note(f"{query.table}, {_filters(query)}")
    rows = []
    for snapshot in snapshots:
        facts = snapshot.facts()
        complete = "damaged" if facts is None or snapshot.is_damaged else _complete(facts)
        count = facts and facts.rows
        rows.append((snapshot.time, count, snapshot.size(), snapshot.digest[:NAMED], complete))
    results.hand_over_rows(rows, ["fetched_at", "rows", "bytes", "content", "complete"])


@app.command("prune")
@results.text
def prune(
    connection: options.Connects, older_than: str = option("--older-than AGE", "Age, such as 90d.", "90d")
) -> None:
    """Remove old snapshots; the newest and each month's last stay.

    Every load does this once a day (BKTOOLS_KEEP_DAYS).

    Example: bktools snapshots prune --older-than 30d
    """
    limit = age("--older-than", older_than)
    gone = _store(connection).prune(limit)
    line = (
        f"{gone.snapshots} snapshots removed, {gone.size:,} bytes freed; "
        "the newest and each month's last are kept"
    )
    results.report(line, removed=gone.snapshots, bytes=gone.size)


@app.command("path")
@results.text
def path(
    connection: options.ConnectsToCompany,
    table: str | None = argument(
        "TABLE|KEY",
        "categories or employees, loaded without filters; or the beginning of a key. By default all.",
    ),
) -> None:
    """Print the newest Parquet file of a table or cached query.

    DuckDB, Polars and Spark read it as it is.

    Example: bktools snapshots path categories
    """
    store = _store(connection)
    if table is None:
        wanted = store.queries()
    else:
        wanted = _of_table(table, store) if table in TABLES else [_named(table, store)]
    files = [_newest(store, query) for query in wanted]
    results.report(*map(str, files), files=files)


def _store(connection: options.ServiceOptions) -> Store:
    from bktools.snapshots.store import Store

    # Nothing is asked of the service; only the sandbox has to be started, to learn its credential.
    return Store(connection.service.settings)


def _of_table(table: str, store: Store) -> list[Query]:
    """Return the queries of a whole table, of one company or of all."""
    company, names = store.settings.company, store.settings.company_names
    company_id = None if company is None else rules.company_id("--company", company, names)
    matches = [
        query
        for query in store.queries()
        if query.table == table
        and query.filters.keys() <= {"company_id"}
        and company_id in {None, query.filters.get("company_id")}
    ]
    if not matches:
        raise SnapshotNotFoundError(f"no snapshot of the {table} was found: bktools {table} makes one")
    return matches


def _newest(store: Store, query: Query) -> Path:
    """Return the newest file that is not damaged."""
    return next(snapshot.path for snapshot in reversed(store.history(query)) if not snapshot.is_damaged)


def _named(key: str, store: Store) -> Query:
    matches = [query for query in store.queries() if store.folder(query).name.startswith(key)]
    if len(matches) != 1:
        many = f"{len(matches)} keys begin" if matches else "no key begins"
        raise SnapshotNotFoundError(f"{many} with {key!r}: bktools snapshots list shows them")
    return matches[0]


def _complete(facts: Facts) -> str:
    return "yes" if facts.complete else "; ".join(facts.complaints) or "not shown"


def _filters(query: Query) -> str:
    texts = []
    for name, value in query.filters.items():
        # An e-mail is private, and others may see the screen.
        text = (
            "…"
            if name in PRIVATE
            else f"{len(value)} of them"
            if isinstance(value, list)
            else str(value).lower()
        )
        texts.append(f"{name}={text}")
    return " ".join(texts) or "everything"
