"""`bktools categories` and `bktools employees`: all rows of one noun, to the terminal or to a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bktools.cli import options, results
from bktools.cli.exits import Exit
from bktools.cli.options import option
from bktools.cli.output import tell
from bktools.contract.noun import Noun

_HELP = """Load all {title}. Uses the cache when newer than --max-age; never returns a partial table,
    except with --on-error collect, which exits with 12 and names each company that failed on standard error.

    Example: {example}
    """


def loader(noun: Noun[Any]) -> Callable[..., Exit]:
    """Return the command that loads a noun."""

    def load(
        books: options.Environment,
        table: results.Table,
        company: list[str] | None = option("--company COMPANY", 'UUID or short name, or "all"; repeatable.'),
        on_error: str = option("--on-error raise|collect", "collect: write the others, exit 12.", "raise"),
        as_of: str | None = option("--as-of YYYY-MM-DD", "The newest snapshot at the end of this day (UTC)."),
        max_age: float = option("--max-age SECONDS", "Use a cached copy younger than this.", 3600.0, min=0),
        refresh: bool = option("--refresh", "Always ask the service and ignore the cache.", False),
        verify: str = option("--verify strict|warn", "warn: a failed check is only a warning.", "strict"),
    ) -> Exit:
        from bktools.snapshots.options import Options
        from bktools.snapshots.tables import load_table

        freshness = Options(as_of=as_of, max_age=max_age, refresh=refresh, verify=verify, on_error=on_error)
        with books.connected() as service:
            companies: Any = "all" if company == ["all"] else company or None
            frame = load_table(noun, companies, {}, freshness, service=service)
        table.hand_over(frame, columns=list(noun.shown))
        failures = frame.attrs["bktools"].get("failures", [])
        for failure in failures:
            tell(f"bktools: company {failure['company']}: {failure['message']}; {failure['to_do']}")
        return Exit.SOME_COMPANIES if failures else Exit.DONE

    load.__name__, load.__doc__ = noun.name, _HELP.format(title=noun.title, example=noun.example)
    return load
