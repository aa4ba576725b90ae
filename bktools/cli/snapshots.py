"""`bktools snapshots`: cached versions of past loads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bktools.cli import options, results
from bktools.cli.loading import age
from bktools.cli.output import remark
from bktools.errors import SnapshotNotFoundError

if TYPE_CHECKING:
    from bktools.store import FolderStore, Query

app = typer.Typer(help="Cached loads: list, show, prune, find the files.", no_args_is_help=True)

Key = Annotated[str, typer.Argument(metavar="KEY", help="Beginning of the key that `list` shows.")]

NAMED = 12
PRIVATE = {"email"}


@app.command("list")
@results.table
def list_snapshots(environment: options.Environment = None, sandbox: options.Sandbox = False) -> None:
    """List the cached queries: rows, size and age.

    They are those of the environment and credential in force.

    Example: bktools snapshots list
    """
    from bktools.tables.options import age_of

    rows = []
    with _stored(environment, sandbox=sandbox) as (store, queries):
        for query in queries:
            snapshots = store.history(query).snapshots
            size = sum({item.file: item.size for item in snapshots}.values())
            newest = snapshots[-1]
            rows.append(
                (
                    store.folder(query).name[:NAMED],
                    _noun(query),
                    _filters(query),
                    len(snapshots),
                    newest.rows,
                    _size(size),
                    age_of(newest),
                    size,
                    newest.time,
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
        snapshots = store.history(query).snapshots
    remark(f"{_noun(query)}, {_filters(query)}")
    rows = [
        (
            item.time,
            item.rows,
            _size(item.size),
            item.file[:NAMED],
            "yes" if item.complete else "; ".join(item.complaints) or "not shown",
            item.size,
        )
        for item in snapshots
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
        gone = store.prune_all(limit)
    results.say(
        f"{gone.snapshots} snapshots removed, {_size(gone.size)} freed; the newest and each month's last are kept"
    )
    results.result(removed=gone.snapshots, bytes=gone.size)


@app.command("path")
@results.facts
def path(
    key: Annotated[
        str | None, typer.Argument(metavar="KEY", help="Beginning of a key; all of them by default.")
    ] = None,
    environment: options.Environment = None,
    sandbox: options.Sandbox = False,
) -> None:
    """Print the newest Parquet files, one a line.

    DuckDB, Polars and Spark read them as they are.

    Example: bktools snapshots path 3f2a
    """
    with _stored(environment, sandbox=sandbox) as (store, queries):
        asked = [_named(key, store, queries)] if key else queries
        files = [store.path(query, store.history(query).snapshots[-1]) for query in asked]
    for file in files:
        results.say(str(file))
    results.result(files=files)


@contextmanager
def _stored(environment: str | None, *, sandbox: bool) -> Iterator[tuple[FolderStore, list[Query]]]:
    """Open the store and list its cached queries, without a request to the service."""
    from bktools.store import FolderStore

    # Only the sandbox has to be started, to learn its credential.
    with options.connected(environment, sandbox=sandbox) as service:
        store = FolderStore(service.settings)
        yield store, [query for query in store.queries() if store.history(query).snapshots]


def _named(key: str, store: FolderStore, queries: list[Query]) -> Query:
    found = [query for query in queries if store.folder(query).name.startswith(key)]
    if len(found) != 1:
        many = f"{len(found)} keys begin" if found else "no key begins"
        raise SnapshotNotFoundError(f"{many} with {key!r}: bktools snapshots list shows them")
    return found[0]


def _noun(query: Query) -> str:
    return query.operation.removeprefix("search_")


def _filters(query: Query) -> str:
    told = []
    for name, value in query.narrowed_to.items():
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
