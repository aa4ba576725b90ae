"""`Check`: an expression that is true for a row that fails, and what is known of such a row.

One shape for entries, accounts, categories, ledgers and the files of a close. To add a check, add an item to the list of
its room, its words to each file of `wording`, and its test.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

# error: it must not go on as it is. warning: a person should look. info: nothing is to be done.
SEVERITIES = ERROR, WARNING, INFO = ("error", "warning", "info")
# Who acts: the same four roles in every report, whatever found it.
ROLES = ERP, SERVICE, EMPLOYEE, PREPARER = ("erp", "service", "employee", "preparer")


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
    """

    code: str
    fails: pl.Expr
    severity: str = ERROR
    who: str = SERVICE
    facts: tuple[str, ...] = ()
    ends: bool = False

    @cached_property
    def needs(self) -> frozenset[str]:
        """The columns that it reads: it is skipped where one is missing."""
        return frozenset({*self.fails.meta.root_names(), *self.facts})


def applicable(checks: Iterable[Check], columns: Collection[str]) -> tuple[Check, ...]:
    """Return the checks whose columns are there."""
    there = frozenset(columns)
    return tuple(check for check in checks if check.needs <= there)


def first_error(checks: Iterable[Check]) -> pl.Expr:
    """Return the code of the first error of each row, null for a row without one."""
    errors = [pl.when(check.fails).then(pl.lit(check.code)) for check in checks if check.severity == ERROR]
    return pl.coalesce(*errors, pl.lit(None, pl.String))


def find(rows: pl.DataFrame, checks: Sequence[Check]) -> pl.DataFrame:
    """Return what checks find in rows, the most severe first, then in the order of the checks and of the rows.

    Parameters
    ----------
    rows : DataFrame
        With all columns that the checks need.
    checks : sequence of Check
        As `applicable` returns them.

    Returns
    -------
    DataFrame
        One row per finding: row (number of the row), number (of the check among `checks`), check (code), severity, who,
        facts (JSON, in which decimals are text and days ISO 8601).
    """
    flags = rows.select(check.fails.fill_null(value=False).alias(f"{number}") for number, check in enumerate(checks))
    hidden = pl.repeat(value=False, n=len(rows), dtype=pl.Boolean, eager=True)
    parts = [_NONE]
    for number, check in enumerate(checks):
        fails = flags[f"{number}"]
        if not fails.any():
            continue
        places = (fails & ~hidden).arg_true()
        if check.ends:
            hidden |= fails
        parts.append(
            pl.DataFrame({"row": places.cast(pl.UInt32), "facts": facts_of(rows, places, check)}).select(
                "row",
                number=pl.lit(number, pl.UInt32),
                check=pl.lit(check.code),
                severity=pl.lit(check.severity),
                who=pl.lit(check.who),
                facts="facts",
            )
        )
    found = pl.concat(parts)
    order = pl.col("severity").replace_strict(dict(zip(SEVERITIES, range(3), strict=True)), return_dtype=pl.UInt8)
    return found.sort(order, "number", "row", maintain_order=True)


def facts_of(rows: pl.DataFrame, places: pl.Series, check: Check) -> pl.Series:
    """Return the facts that a check knows of some rows as JSON, in which decimals are text and days ISO 8601."""
    if not check.facts:
        return pl.repeat("{}", len(places), dtype=pl.String, eager=True)
    return rows.select(check.facts)[places].select(pl.struct(pl.all()).struct.json_encode()).to_series()


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
