"""`bktools snapshots`: cached versions of past loads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from bktools.cli import options
from bktools.cli.loading import age
from bktools.errors import SnapshotNotFoundError

if TYPE_CHECKING:
    from bktools.store import FolderStore, Query

app = typer.Typer(help="Snapshots of past loads: list, show, prune, publish, find the files.", no_args_is_help=True)

Key = Annotated[str, typer.Argument(help="Beginning of the key that `list` shows.")]

NAMED = 12
PRIVATE = {"email"}


@app.command("list")
def list_snapshots(environment: options.Environment = None, sandbox: options.Sandbox = False) -> None:
    """List the cached queries of the environment and credential in force: rows, size and age.

    Example: bktools snapshots list
    """
    from bktools.tables.options import age_of

    lines = [("key", "table", "filters", "snapshots", "rows", "size", "newest")]
    with _stored(environment, sandbox=sandbox) as (store, queries):
        for query in queries:
            snapshots = store.history(query).snapshots
            size = sum({item.file: item.size for item in snapshots}.values())
            about = (str(len(snapshots)), str(snapshots[-1].rows), _size(size), age_of(snapshots[-1]))
            lines.append((store.folder(query).name[:NAMED], _noun(query), _filters(query), *about))
    _print(lines)


@app.command("show")
def show(key: Key, environment: options.Environment = None, sandbox: options.Sandbox = False) -> None:
    """Show all cached versions of one query, in the order they were committed.

    Example: bktools snapshots show 3f2a
    """
    with _stored(environment, sandbox=sandbox) as (store, queries):
        query = _named(key, store, queries)
        snapshots = store.history(query).snapshots
    typer.echo(f"{_noun(query)}, {_filters(query)}")
    heading = ("fetched at (UTC)", "rows", "size", "content", "complete")
    lines = [
        (
            f"{item.time:%Y-%m-%d %H:%M:%S}",
            str(item.rows),
            _size(item.size),
            item.file[:NAMED],
            "yes" if item.complete else "; ".join(item.complaints) or "not shown",
        )
        for item in snapshots
    ]
    _print([heading, *lines])


@app.command("prune")
def prune(
    older_than: Annotated[str, typer.Option("--older-than", help="Age, such as 90d.")] = "90d",
    environment: options.Environment = None,
    sandbox: options.Sandbox = False,
) -> None:
    """Remove old snapshots; the newest and each month's last stay. Every load does this once a day (BKTOOLS_KEEP_DAYS).

    Snapshots that a renewed token has left behind go, too, when all of them are old.

    Example: bktools snapshots prune --older-than 30d
    """
    limit = age("--older-than", older_than)
    with _stored(environment, sandbox=sandbox) as (store, _):
        gone = store.prune_all(limit)
    typer.echo(
        f"{gone.snapshots} snapshots removed, {_size(gone.size)} freed; the newest and each month's last are kept"
    )


@app.command("publish")
def publish(
    uri: Annotated[
        str | None,
        typer.Argument(help="s3://bucket/prefix, gs://, az://, abfss://, or a folder. Default: BKTOOLS_SNAPSHOTS."),
    ] = None,
    environment: options.Environment = None,
    sandbox: options.Sandbox = False,
) -> None:
    """Publish the cached snapshots to shared Delta tables, for Spark, DuckDB, Polars and --as-of.

    Safe to re-run: adds only the snapshots that are not there yet. Credentials of the storage come from its own variables,
    such as AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_ENDPOINT_URL.

    Example: bktools snapshots publish s3://bucket/prefix
    """
    with options.connected(environment, sandbox=sandbox) as service:
        from bktools.cli.tables import counted
        from bktools.tables.shared import to_delta

        published = to_delta(uri, service=service)
    for row in published.to_dict("records"):
        new = f"{counted(row['snapshots'], 'snapshot')} with {counted(row['rows'], 'row')}"
        typer.echo(f"{row['table']}: {new} published to {row['uri']}, {row['already_there']:,} already there")
    if published.empty:
        typer.echo("no snapshots to publish: the first load makes one")


@app.command("path")
def path(
    key: Annotated[str | None, typer.Argument(help="Beginning of a key; all of them by default.")] = None,
    environment: options.Environment = None,
    sandbox: options.Sandbox = False,
) -> None:
    """Print the newest Parquet files, one a line, for DuckDB, Polars or Spark to read as they are.

    Example: bktools snapshots path 3f2a
    """
    with _stored(environment, sandbox=sandbox) as (store, queries):
        for query in [_named(key, store, queries)] if key else queries:
            typer.echo(str(store.path(query, store.history(query).snapshots[-1])))


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


def _print(lines: Sequence[tuple[str, ...]]) -> None:
    if len(lines) == 1:
        typer.echo("no snapshots: the first load makes one")
        return
    widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
    for line in lines:
        typer.echo("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())
