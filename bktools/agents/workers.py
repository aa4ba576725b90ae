"""Work in processes of their own, which can be killed: what a close computes, and SQL of an assistant.

The process of the server has credentials and no code that sends. That of a close has the code, because
`close_month` has it, and no credentials.
"""

from __future__ import annotations

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
from bktools.agents.reading import ReadingService
from bktools.caller import command
from bktools.errors import ArgumentError, BktoolsError
from bktools.settings import Secret, Settings

Result = TypeVar("Result")

# A query of a month takes less than a second. Its memory is for joins of a few million rows.
QUERY_SECONDS = 30.0
QUERY_MIB = 1024
MOST_ROWS = 200
LONGEST_VALUE = 300
# A close of 100,000 entries takes about a minute.
CLOSE_SECONDS = 1800.0
SECRETS = ("token", "api_key", "balance_token", "proxy", "journal")


def in_process(seconds: float, work: Callable[..., Result], *values: Any) -> Result:
    """Return the result of a function that another process runs; a late or cancelled call kills it."""

    async def run() -> Result:
        with anyio.fail_after(seconds):
            return await anyio.to_process.run_sync(work, *values, cancellable=True)

    try:
        return anyio.from_thread.run(run)
    except TimeoutError:
        raise BktoolsError(f"took longer than {seconds:g} s and was ended: ask for less at once") from None
    except anyio.BrokenWorkerProcess:
        raise BktoolsError(
            "its process ended without an answer, such as for lack of memory: ask for less at once"
        ) from None


def without_secrets(settings: Settings) -> tuple[Settings, str | None]:
    """Return settings with which nothing can be sent, and the address of a journal that is a database."""
    journal = settings.journal.reveal() if settings.journal is not None else None
    none: dict[str, Any] = dict.fromkeys(SECRETS)
    return replace(settings, **none), journal


def dry_close(
    settings: Settings, journal: str | None, chart: Any, entries: Any, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return figures and tables of a month, planned without a credential."""
    settings = replace(settings, journal=Secret(journal) if journal else None)
    with ReadingService(settings) as service, command({}):
        close = bktools.close_month(chart, entries, service=service, **options)
        return {
            "month": close.period,
            "state": close.state,
            "figures": close.for_programs,
            "plan_id": close.run.plan.plan_id,
            "accounts_to_create": sum(close.run.outcomes("created").values()),
            "folder": close.folder,
            "not_known": list(close.run.unchecked),
            "to_do": bktools.to_arrow(close.to_do),
            "entries": bktools.to_arrow(close.entries),
        }


def rows_of(sql: str, files: Mapping[str, str]) -> tuple[list[str], list[tuple[str | None, ...]]]:
    """Return the columns of a statement's result and its first rows as text; one row more if there are more.

    The database is empty, in memory, and can open the given files alone.
    """
    import duckdb

    with _bounded_memory(), duckdb.connect() as database:
        try:
            _lock(database, files)
            statements = database.extract_statements(sql)
            if [each.type for each in statements] != [duckdb.StatementType.SELECT]:
                raise ArgumentError("sql", "must be one statement that begins with SELECT or WITH")
            result = database.sql(sql)
            # Cut inside, so that a huge text never becomes one of Python.
            cut = result.limit(MOST_ROWS + 1).project(f"left(CAST(COLUMNS(*) AS VARCHAR), {LONGEST_VALUE})")
            return list(result.columns), cut.fetchall()
        except (duckdb.Error, MemoryError) as error:
            reason = str(error).partition("\n")[0] or "too little memory"
            raise ArgumentError("sql", f"cannot be answered: {reason}") from None


def _lock(database: Any, files: Mapping[str, str]) -> None:
    settings = {
        "allowed_paths": list(files.values()),
        "enable_external_access": False,
        "python_enable_replacements": False,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "memory_limit": f"{QUERY_MIB // 2}MiB",
        "max_temp_directory_size": "0MiB",
        "threads": 2,
        "TimeZone": "UTC",
    }
    for name, value in settings.items():
        database.execute(f"SET {name} = {_literal(value)}")
    for name, path in files.items():
        database.execute(f"CREATE VIEW {name} AS FROM read_parquet({_literal(path)})")
    database.execute("SET lock_configuration = true")


def _literal(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value).lower()


@contextmanager
def _bounded_memory() -> Iterator[None]:
    """Bound the memory of this process, on Linux alone: DuckDB does not count every text."""
    if sys.platform != "linux":
        yield
        return
    import resource

    # The process may have made a close before.
    used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (used + QUERY_MIB * 2**20, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
