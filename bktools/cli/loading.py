"""`bktools categories` and `bktools employees`: all rows of one noun, to the terminal or to a file."""

from __future__ import annotations

import datetime as dt
import inspect
import re
from collections.abc import Callable
from typing import Annotated, Any

from bktools.cli import options, results
from bktools.cli.exits import Exit
from bktools.cli.options import keyword, option, shared, with_shared_options
from bktools.cli.output import tell
from bktools.contract import rules
from bktools.contract.noun import Noun
from bktools.errors import ArgumentError
from bktools.wording import Sentence

_HELP = """Load all {title}. Uses the cache when newer than --max-age; never returns a partial table,
    except with --on-error collect, which exits with 12 and names each company that failed on standard error.

    Example: {example}
    """

UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def age(option: str, text: str) -> dt.timedelta:
    """Return an age such as 90s, 30m, 12h or 7d."""
    parts = re.fullmatch(r"(\d{1,5})([smhd])", text, re.ASCII)
    if parts is None:
        raise ArgumentError(option, Sentence("rule.age"), text)
    return dt.timedelta(seconds=int(parts[1]) * UNITS[parts[2]])


def loader(noun: Noun[Any]) -> Callable[..., Exit]:
    """Return the command that loads a noun; the noun's filters are options, as the contract has them."""

    def load(
        books: options.Environment,
        table: results.Table,
        company: list[str] | None = option("--company COMPANY", 'UUID or short name, or "all"; repeatable.'),
        on_error: str = option("--on-error raise|collect", "collect: write the others, exit 12.", "raise"),
        as_of: str | None = option("--as-of YYYY-MM-DD", "The newest snapshot at the end of this day (UTC)."),
        max_age: str = option("--max-age AGE", "Use a cached copy younger than this: 90s, 30m, 12h.", "1h"),
        refresh: bool = option("--refresh", "Always ask the service and ignore the cache.", False),
        verify: str = option("--verify strict|warn", "warn: a failed check is only a warning.", "strict"),
        **filters: Any,
    ) -> Exit:
        from bktools.snapshots.options import Options
        from bktools.snapshots.tables import load_table

        freshness = Options(
            as_of=as_of, max_age=age("--max-age", max_age), refresh=refresh, verify=verify, on_error=on_error
        )
        with books.connected() as service:
            companies: Any = "all" if company == ["all"] else company or None
            frame = load_table(noun, companies, filters, freshness, service=service)
        table.hand_over(frame, columns=list(noun.shown))
        failures = frame.attrs["bktools"].get("failures", [])
        for failure in failures:
            tell(f"bktools: company {failure['company']}: {failure['message']}; {failure['to_do']}")
        return Exit.SOME_COMPANIES if failures else Exit.DONE

    load.__name__, load.__doc__ = noun.name, _HELP.format(title=noun.title, example=noun.example)
    return with_shared_options(load, _filters_of(noun))


def _filters_of(noun: Noun[Any]) -> list[inspect.Parameter]:
    """Return the options for the filters of a noun."""
    kinds: dict[Any, Any] = {rules.unique_uuids: (list[str] | None, "UUID"), rules.flag: (bool | None, "")}
    filters = []
    for item in noun.filters:
        kind, value = kinds.get(item.rule, (str | None, "TEXT"))
        declared = shared(f"{item.option} {value}", item.help, show_default=False)
        if item.option:
            filters.append(keyword(item.argument, Annotated[kind, declared]))
    return filters
