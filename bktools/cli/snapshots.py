"""`bktools snapshots`: cached versions of past loads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bktools.cli import options, results
from bktools.cli.options import REQUIRED, argument, connected
from bktools.contract import NOUNS, rules
from bktools.errors import ArgumentError, SnapshotNotFoundError
from bktools.progress import note

if TYPE_CHECKING:
    from bktools.snapshots.snapshot import Facts, Query

app = typer.Typer(help="Cached loads: list them, find the file of a table.", no_args_is_help=True)

TABLES = tuple(noun.name for noun in NOUNS)
PRIVATE = {"email"}


@app.command("list")
def list_snapshots(
    environment: options.Environment = None,
    sandbox: options.Sandbox = False,
    format: results.Table = results.TableFormat.TABLE,
    output: results.Output = None,
) -> None:
    """List the cached versions of each query.

    Those of the environment in force, the newest first, with their Parquet files. Each load removes old ones
    once a day (BKTOOLS_KEEP_DAYS).

    Example: bktools snapshots list
    """
    from bktools.snapshots.store import Store

    rows = []
    # Nothing is asked of the service; only the sandbox has to be started, to learn its credential.
    with connected(environment, sandbox) as service:
        store = Store(service.settings)
        for query in store.queries():
            for snapshot in reversed(store.history(query)):
                facts = snapshot.facts()
                complete = "damaged" if facts is None or snapshot.is_damaged else _complete(facts)
                rows.append(
                    (
                        query.table,
                        _filters(query),
                        snapshot.time,
                        None if facts is None else facts.rows,
                        snapshot.size(),
                        complete,
                        str(snapshot.path),
                    )
                )
    columns = ["table", "filters", "fetched_at", "rows", "bytes", "complete", "file"]
    results.hand_over(results.table_of(rows, columns), format, output)
    if not rows:
        note("no snapshots: the first load makes one")


@app.command("path")
def path(
    table: str = argument("TABLE", f"{' or '.join(TABLES)}, loaded without filters.", REQUIRED),
    environment: options.Environment = None,
    sandbox: options.Sandbox = False,
    company: options.Company = None,
    format: results.Format = results.TextFormat.TEXT,
) -> None:
    """Print the newest Parquet file of a table, one for each company.

    DuckDB, Polars and Spark read it as it is.

    Example: bktools snapshots path categories
    """
    from bktools.snapshots.store import Store

    if table not in TABLES:
        raise ArgumentError("TABLE", f"must be one of {', '.join(TABLES)}", table)
    with connected(environment, sandbox, company) as service:
        store, settings = Store(service.settings), service.settings
    own = settings.company and rules.company_id("--company", settings.company, settings.company_names)
    files: list[Path] = []
    for query in store.queries():
        is_whole = query.table == table and query.filters.keys() <= {"company_id"}
        if is_whole and own in {None, query.filters.get("company_id")}:
            files += [one.path for one in reversed(store.history(query)) if not one.is_damaged][:1]
    if not files:
        raise SnapshotNotFoundError(f"no snapshot of the {table} was found: bktools {table} makes one")
    results.report(format, *map(str, files), files=files)


def _complete(facts: Facts) -> str:
    return "yes" if facts.complete else "; ".join(facts.complaints) or "not shown"


def _filters(query: Query) -> str:
    # An e-mail is private, and others may see the screen.
    values = {name: "…" if name in PRIVATE else str(value).lower() for name, value in query.filters.items()}
    return " ".join(f"{name}={value}" for name, value in values.items()) or "everything"
