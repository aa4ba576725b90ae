"""`bktools snapshots`: cached versions of past loads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bktools.cli import options, results
from bktools.cli.loading import age
from bktools.cli.output import remark
from bktools.contract import NOUNS, rules
from bktools.errors import SnapshotNotFoundError

if TYPE_CHECKING:
    from bktools.snapshots.snapshot import Facts, Query
    from bktools.snapshots.store import Store

app = typer.Typer(help="Cached loads: list, show, prune, find the files.", no_args_is_help=True)

Key = Annotated[str, typer.Argument(metavar="KEY", help="Beginning of the key that `list` shows.")]

NAMED = 12
TABLES = tuple(noun.name for noun in NOUNS)
PRIVATE = {"email"}


@app.command("list")
@results.table
def list_snapshots(environment: options.Environment = None, sandbox: options.Sandbox = False) -> None:
    """List the cached queries: rows, size and age.

    They are those of the environment and credential in force.

    Example: bktools snapshots list
    """
    from bktools.snapshots.options import age_of

    rows = []
    with _stored(environment, sandbox=sandbox) as (store, queries):
        for query in queries:
            snapshots = store.history(query)
            facts = snapshots[-1].facts()
            size = sum(snapshot.size() for snapshot in snapshots)
            rows.append(
                (
                    store.folder(query).name[:NAMED],
                    query.table,
                    _filters(query),
                    len(snapshots),
                    None if facts is None else facts.rows,
                    _size(size),
                    age_of(snapshots[-1].time),
                    size,
                    snapshots[-1].time,
                )
            )
    _hand_over(rows, ("key", "table", "filters", "snapshots", "rows", "size", "newest"), "bytes", "fetched_at")


@app.command("show")
@results.table
def show(key: Key, environment: options.Environment = None, sandbox: options.Sandbox = False) -> None:
    """Show all cached versions of one query, oldest first.

    Example: bktools snapshots show 3f2a
    """
    with _stored(environment, sandbox=sandbox) as (store, queries):
        query = _named(key, store, queries)
        versions = [(snapshot, snapshot.facts(), snapshot.size()) for snapshot in store.history(query)]
    remark(f"{query.table}, {_filters(query)}")
    rows = [
        (
            snapshot.time,
            None if facts is None else facts.rows,
            _size(size),
            snapshot.digest[:NAMED],
            "damaged" if facts is None or snapshot.is_damaged else _complete(facts),
            size,
        )
        for snapshot, facts, size in versions
    ]
    _hand_over(rows, ("fetched_at", "rows", "size", "content", "complete"), "bytes")


@app.command("prune")
@results.facts
def prune(
    older_than: Annotated[str, typer.Option("--older-than", metavar="AGE", help="Age, such as 90d.")] = "90d",
    environment: options.Environment = None,
    sandbox: options.Sandbox = False,
) -> None:
    """Remove old snapshots; the newest and each month's last stay.

    Every load does this once a day (BKTOOLS_KEEP_DAYS).

    Snapshots that a renewed token has left behind go, too, when all of them are old.

    Example: bktools snapshots prune --older-than 30d
    """
    limit = age("--older-than", older_than)
    with _stored(environment, sandbox=sandbox) as (store, _):
        gone = store.prune(limit)
    results.say(
        f"{gone.snapshots} snapshots removed, {_size(gone.size)} freed; the newest and each month's last are kept"
    )
    results.result(removed=gone.snapshots, bytes=gone.size)


@app.command("path")
@results.facts
def path(
    table: Annotated[
        str | None,
        typer.Argument(
            metavar="TABLE|KEY",
            help="categories or employees, loaded without filters; or the beginning of a key. Default: all.",
        ),
    ] = None,
    company: options.Company = None,
    environment: options.Environment = None,
    sandbox: options.Sandbox = False,
) -> None:
    """Print the newest Parquet file of a table or cached query.

    DuckDB, Polars and Spark read it as it is.

    Example: bktools snapshots path categories
    """
    with _stored(environment, sandbox=sandbox) as (store, queries):
        if table in TABLES:
            asked = _of_table(str(table), company or store.settings.company, store.settings.company_names, queries)
        else:
            asked = [_named(table, store, queries)] if table else queries
        files = [_newest(store, query) for query in asked]
    for file in files:
        results.say(str(file))
    results.result(files=files)


@contextmanager
def _stored(environment: str | None, *, sandbox: bool) -> Iterator[tuple[Store, list[Query]]]:
    """Open the store and list its cached queries, without a request to the service."""
    from bktools.snapshots.store import Store

    # Only the sandbox has to be started, to learn its credential.
    with options.connected(environment, sandbox=sandbox) as service:
        store = Store(service.settings)
        yield store, store.queries()


def _of_table(table: str, company: str | None, names: Mapping[str, str], queries: list[Query]) -> list[Query]:
    """Return the queries of a whole table, of one company or of all."""
    company_id = None if company is None else rules.company_id("--company", company, names)
    found = [query for query in queries if query.table == table and query.filters.keys() <= {"company_id"}]
    if company_id is not None:
        found = [query for query in found if query.filters.get("company_id") == company_id]
    if not found:
        raise SnapshotNotFoundError(f"no snapshot of the {table} was found: bktools {table} makes one")
    return found


def _newest(store: Store, query: Query) -> Path:
    """Return the newest file that is not damaged."""
    return next(snapshot.path for snapshot in reversed(store.history(query)) if not snapshot.is_damaged)


def _named(key: str, store: Store, queries: list[Query]) -> Query:
    found = [query for query in queries if store.folder(query).name.startswith(key)]
    if len(found) != 1:
        many = f"{len(found)} keys begin" if found else "no key begins"
        raise SnapshotNotFoundError(f"{many} with {key!r}: bktools snapshots list shows them")
    return found[0]


def _complete(facts: Facts) -> str:
    return "yes" if facts.complete else "; ".join(facts.complaints) or "not shown"


def _filters(query: Query) -> str:
    told = []
    for name, value in query.filters.items():
        # An e-mail is private, and others may see the screen.
        text = "…" if name in PRIVATE else f"{len(value)} of them" if isinstance(value, list) else str(value).lower()
        told.append(f"{name}={text}")
    return " ".join(told) or "everything"


def _size(count: int) -> str:
    return f"{count / 2**20:.1f} MiB" if count >= 2**20 else f"{count / 2**10:.1f} KiB"


def _hand_over(rows: Sequence[tuple[Any, ...]], shown: Sequence[str], *others: str) -> None:
    import pandas as pd

    results.hand_over(pd.DataFrame(rows, columns=[*shown, *others]), list(shown))
    if not rows:
        remark("no snapshots: the first load makes one")
