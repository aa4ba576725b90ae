"""`Check`: an expression that is true for a row that fails, and what is known of such a row.

One shape for entries, accounts and categories. To add a check, add an item to
the list of its room, its words to each file of `wording`, and its test.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import polars as pl

# error: it must not go on as it is. warning: a person should look. info: nothing is to be done.
SEVERITIES = ERROR, WARNING, INFO = ("error", "warning", "info")
# The people who act: the same four roles in every report, whatever check it is.
ROLES = ERP, SERVICE, EMPLOYEE, PREPARER = ("erp", "service", "employee", "preparer")
# What becomes of an entry in a close. The plan of its export leaves all but the ready ones out.
EXPORTED, BEFORE, IN_BOOKS, IN_DOUBT, READY, HELD, LEFT_OUT = FATES = (
    "exported",
    "exported_before",
    "in_books",
    "in_doubt",
    "ready",
    "held_back",
    "left_out",
)


@dataclass(frozen=True, eq=False)
class Check:
    """One check.

    Parameters
    ----------
    code : str
        Its name in findings and in the files of `wording`; several items may share one.
    fails : polars.Expr
        True for a row that fails. False and null mean that it passes.
    severity : str
        One of SEVERITIES.
    who : str
        Who acts, one of ROLES.
    facts : tuple of str
        The columns that its sentences name.
    ends : bool
        Whether the checks below it say nothing about such a row.
    fate : str
        What becomes of an entry whose first error it is, one of FATES. A fate other than HELD ends, too.
    """

    code: str
    fails: pl.Expr
    severity: str = ERROR
    who: str = SERVICE
    facts: tuple[str, ...] = ()
    ends: bool = False
    fate: str = HELD

    @cached_property
    def needs(self) -> frozenset[str]:
        """The columns that it reads: it is skipped where one is missing."""
        return frozenset({*self.fails.meta.root_names(), *self.facts})


Kind = TypeVar("Kind", bound=Check)


def applicable(checks: Iterable[Check], columns: Collection[str]) -> tuple[Check, ...]:
    """Return the checks whose columns are there."""
    there = frozenset(columns)
    return tuple(check for check in checks if check.needs <= there)


def with_first_errors(rows: pl.DataFrame, checks: Iterable[Check]) -> pl.DataFrame:
    """Return rows with the first error of each: its code, `reason`, and its facts as JSON, `facts`.

    Both are null for a row without an error. `checks` are as `applicable` returns them.
    """
    errors = [check for check in checks if check.severity == ERROR]
    numbers = [pl.when(check.fails).then(pl.lit(number, pl.UInt8)) for number, check in enumerate(errors)]
    first = rows.select(number=pl.coalesce(*numbers, pl.lit(None, pl.UInt8))).to_series()
    facts = pl.Series([None], dtype=pl.String).new_from_index(0, len(rows))
    for number in first.unique().drop_nulls():
        places = (first == number).fill_null(value=False).arg_true()
        names = errors[number].facts
        facts = facts.scatter(places, rows.select(_facts_at(places, names)).to_series() if names else "{}")
    codes = pl.Series([check.code for check in errors], dtype=pl.String)
    return rows.with_columns(reason=codes.gather(first) if errors else pl.lit(None, pl.String), facts=facts)


def find(
    rows: pl.DataFrame, checks: Sequence[Kind], beside: Callable[[Kind], Mapping[str, pl.Expr]] = lambda _: {}
) -> pl.DataFrame:
    """Return the findings of checks in rows, in the order of the checks, then of the rows.

    Parameters
    ----------
    rows : DataFrame
        With all columns that the checks need.
    checks : sequence of Check
        As `applicable` returns them.
    beside : callable, optional
        Returns other facts of a row that fails a check: expressions by name, the same for each check.

    Returns
    -------
    DataFrame
        One row per finding: row (number of the row), number (of the check among `checks`), check (code),
        severity, who, facts (JSON, in which decimals are text and days ISO 8601); then what stands beside
        them.
    """
    if not checks or rows.is_empty():
        return _NONE
    flags = rows.select(
        check.fails.fill_null(value=False).alias(f"{number}") for number, check in enumerate(checks)
    )
    hidden = np.zeros(len(rows), dtype=bool)
    parts = []
    failing = flags.select(pl.all().any()).row(0)
    for number, check in enumerate(checks):
        if not failing[number]:
            continue
        fails = flags[f"{number}"].to_numpy()
        places = pl.Series(np.flatnonzero(fails & ~hidden), dtype=pl.UInt32)
        if check.ends or check.fate != HELD:
            hidden |= fails
        parts.append(
            rows.select(
                row=pl.lit(places),
                number=pl.lit(number, pl.UInt32),
                check=pl.lit(check.code),
                severity=pl.lit(check.severity),
                who=pl.lit(check.who),
                facts=_facts_at(places, check.facts) if check.facts else pl.lit("{}"),
                # A constant has no rows.
                **{
                    name: it.gather(places) if it.meta.root_names() else it
                    for name, it in beside(check).items()
                },
            )
        )
    return pl.concat(parts) if parts else _NONE


def _facts_at(places: pl.Series, facts: Sequence[str]) -> pl.Expr:
    return pl.struct(facts).gather(places).struct.json_encode()


_NONE = pl.DataFrame(
    schema={
        "row": pl.UInt32,
        "number": pl.UInt32,
        "check": pl.String,
        "severity": pl.String,
        "who": pl.String,
        "facts": pl.String,
    }
)
