"""`bktools snapshots`: what is kept of past loads."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from bktools.cli.loading import age
from bktools.cli.options import Environment, Sandbox, conversation
from bktools.errors import SnapshotNotFoundError

if TYPE_CHECKING:
    from bktools.tables.snapshots import Shelf

app = typer.Typer(help="Snapshots of past loads: list, show, prune, find the files.", no_args_is_help=True)

Key = Annotated[str, typer.Argument(help="Beginning of the key that `list` shows.")]

NAMED = 12
PRIVATE = {"email"}


@app.command("list")
def list_snapshots(environment: Environment = None, sandbox: Sandbox = False) -> None:
    """List what is kept for the environment and credential in force: how much, how large, how old.

    Example: bktools snapshots list
    """
    from bktools.tables.choice import told

    now = dt.datetime.now(dt.UTC)
    lines = [("key", "table", "filters", "snapshots", "rows", "size", "age")]
    for shelf in _shelves(environment, sandbox=sandbox):
        history = shelf.history()
        sizes = {item.file: item.size for item in history}
        newest = history[-1]
        about = (str(len(history)), str(newest.rows), _size(sum(sizes.values())), told(now - newest.time))
        lines.append((shelf.folder.name[:NAMED], _noun(shelf), _filters(shelf), *about))
    _print(lines)


@app.command("show")
def show(key: Key, environment: Environment = None, sandbox: Sandbox = False) -> None:
    """Show every snapshot of one question, oldest first.

    Example: bktools snapshots show 3f2a
    """
    shelf = _named(key, environment, sandbox=sandbox)
    typer.echo(f"{_noun(shelf)}, {_filters(shelf)}")
    heading = ("fetched at (UTC)", "rows", "size", "content")
    lines = [
        (f"{item.time:%Y-%m-%d %H:%M:%S}", str(item.rows), _size(item.size), item.file[:NAMED])
        for item in shelf.history()
    ]
    _print([heading, *lines])


@app.command("prune")
def prune(
    older_than: Annotated[str, typer.Option("--older-than", help="Age, such as 90d.")] = "90d",
    environment: Environment = None,
    sandbox: Sandbox = False,
) -> None:
    """Remove old snapshots; the newest and each month's last stay.

    Example: bktools snapshots prune --older-than 30d
    """
    limit = age("--older-than", older_than)
    gone = [shelf.prune(limit) for shelf in _shelves(environment, sandbox=sandbox)]
    count, size = sum(item.snapshots for item in gone), sum(item.size for item in gone)
    typer.echo(f"{count} snapshots removed, {_size(size)} freed; the newest and each month's last are kept")


@app.command("path")
def path(
    key: Annotated[str | None, typer.Argument(help="Beginning of a key; all of them by default.")] = None,
    environment: Environment = None,
    sandbox: Sandbox = False,
) -> None:
    """Print the newest Parquet files, one a line, for DuckDB, Polars, Spark or Dask to read as they are.

    Example: bktools snapshots path 3f2a
    """
    found = [_named(key, environment, sandbox=sandbox)] if key else _shelves(environment, sandbox=sandbox)
    for shelf in found:
        typer.echo(str(shelf.path(shelf.history()[-1])))


def _shelves(environment: str | None, *, sandbox: bool) -> list[Shelf]:
    """Return the shelves with something on them; the service is asked nothing."""
    from bktools.tables.snapshots import shelves

    # The sandbox alone has to be started, to know its credential.
    with conversation(environment, sandbox=sandbox) as service:
        return [shelf for shelf in shelves(service.settings) if shelf.history()]


def _named(key: str, environment: str | None, *, sandbox: bool) -> Shelf:
    found = [shelf for shelf in _shelves(environment, sandbox=sandbox) if shelf.folder.name.startswith(key)]
    if len(found) != 1:
        many = f"{len(found)} keys begin" if found else "no key begins"
        raise SnapshotNotFoundError(f"{many} with {key!r}: bktools snapshots list shows them")
    return found[0]


def _noun(shelf: Shelf) -> str:
    return shelf.question.operation.removeprefix("search_")


def _filters(shelf: Shelf) -> str:
    told = []
    for name, value in shelf.question.narrowed_to.items():
        # An e-mail is somebody's own, also on a screen that others see.
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
