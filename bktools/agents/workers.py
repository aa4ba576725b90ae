"""Work in processes of their own, which can be killed: the computing of a close, and SQL of an assistant.

The process of the server has credentials and no code that sends. That of a close has the code, because
`close_month` has it, and no credentials.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.from_thread
import anyio.to_process

import bktools
from bktools.agents.answers import MOST_ROWS, Answer, Facts
from bktools.agents.reading import ReadingService
from bktools.caller import command
from bktools.errors import ArgumentError, BktoolsError
from bktools.settings import Secret, Settings

Result = TypeVar("Result")

# A query of a month takes less than a second. Its memory is for joins of a few million rows.
QUERY_SECONDS = 30.0
QUERY_MIB = 1024
MOST_COLUMNS = 100
LONGEST_VALUE = 300
# A close of 100,000 entries takes about a minute.
CLOSE_SECONDS = 1800.0


def in_process(seconds: float, work: Callable[..., Result], *values: Any) -> Result:
    """Return the result of a function that another process runs; a late or cancelled call kills it."""

    async def run() -> Result:
        with anyio.fail_after(seconds):
            return await anyio.to_process.run_sync(_bare, work, *values, cancellable=True)

    try:
        return anyio.from_thread.run(run)
    except TimeoutError:
        raise BktoolsError(f"took longer than {seconds:g} s and was ended: ask for less at once") from None
    except anyio.BrokenWorkerProcess:
        why = "its process ended without an answer, such as for lack of memory: ask for less at once"
        raise BktoolsError(why) from None


def _bare(work: Callable[..., Result], *values: Any) -> Result:
    """Run a function in a process that has forgotten the variables of its parent, tokens among them."""
    for name in [name for name in os.environ if name.startswith("BKTOOLS_")]:
        del os.environ[name]
    return work(*values)


def dry_close(settings: Settings, chart: Any, entries: Any, **options: Any) -> Answer:
    """Return figures and tables of a month that is planned in a process without credentials."""
    # The address of a journal that is a database, which a secret would not carry to another process.
    journal = settings.journal.reveal() if settings.journal is not None else None
    bare = replace(settings, token=None, api_key=None, balance_token=None, proxy=None, journal=None)
    return in_process(CLOSE_SECONDS, _close, bare, journal, chart, entries, options)


def _close(bare: Settings, journal: str | None, chart: Any, entries: Any, options: Facts) -> Answer:
    settings = replace(bare, journal=Secret(journal) if journal else None)
    # Advice names commands, because a person follows it in a terminal.
    with ReadingService(settings) as service, command({}):
        close = bktools.close_month(chart, entries, service=service, **options)
        return Answer(
            {"to_do": bktools.to_arrow(close.to_do), "entries": bktools.to_arrow(close.entries)},
            {
                "month": close.period,
                "state": close.state,
                "accounts_to_create": sum(close.run.outcomes("created").values()),
                "folder": close.folder,
                **close.for_programs,
            },
            not_known=close.run.unchecked,
        )


def query(sql: str, tables: Mapping[str, Path]) -> Facts:
    """Return the rows of a statement over tables, from a process that can open their files alone."""
    files = {name: str(path) for name, path in tables.items()}
    columns, rows = in_process(QUERY_SECONDS, _rows, sql, files)
    count = len(rows) if len(rows) <= MOST_ROWS else f"more than {MOST_ROWS}, of which these are the first"
    return {"columns": columns, "rows_in_all": count, "rows": rows[:MOST_ROWS]}


def _rows(sql: str, files: Mapping[str, str]) -> tuple[list[str], list[tuple[str | None, ...]]]:
    import duckdb

    with _bounded_memory(), duckdb.connect() as database:
        _lock(database, files)
        try:
            statements = database.extract_statements(sql)
            if [each.type for each in statements] != [duckdb.StatementType.SELECT]:
                raise ArgumentError("sql", "must be one statement that begins with SELECT or WITH")
            result = database.sql(sql)
            if len(result.columns) > MOST_COLUMNS:
                raise ArgumentError("sql", f"must select at most {MOST_COLUMNS} columns")
            # Cut inside, so that a huge text never becomes one of Python.
            cut = result.limit(MOST_ROWS + 1).project(f"left(CAST(COLUMNS(*) AS VARCHAR), {LONGEST_VALUE})")
            return list(result.columns), cut.fetchall()
        except (duckdb.Error, MemoryError) as error:
            reason = str(error).partition("\n")[0] or "too little memory"
            raise ArgumentError("sql", f"cannot be answered: {reason}") from None


def _lock(database: Any, files: Mapping[str, str]) -> None:
    """Give an empty database the tables as views, and take all else from it: files, network, settings."""
    paths = {name: "'" + path.replace("'", "''") + "'" for name, path in files.items()}
    database.execute(f"SET allowed_paths = [{', '.join(paths.values())}]")
    database.execute("SET enable_external_access = false")
    database.execute("SET allow_persistent_secrets = false")
    database.execute("SET python_enable_replacements = false")
    database.execute(f"SET memory_limit = '{QUERY_MIB // 2}MiB'")
    database.execute("SET max_temp_directory_size = '0MiB'")
    database.execute("SET TimeZone = 'UTC'")
    for name, path in paths.items():
        database.execute(f"CREATE VIEW {name} AS FROM read_parquet({path})")
    database.execute("SET lock_configuration = true")


@contextmanager
def _bounded_memory() -> Iterator[None]:
    """Bound the memory of this process, where the system does: DuckDB does not count every text."""
    try:
        import resource
    except ImportError:  # on Windows
        yield
        return
    if sys.platform != "linux":
        yield
        return
    # The process may have made a close before.
    used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (used + QUERY_MIB * 2**20, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
