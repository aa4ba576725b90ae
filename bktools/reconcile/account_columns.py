"""The columns that `Tables.accounts` adds to its rows, as data: expressions by name, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from bktools.contract.accounts import LONGEST_TEXT
from bktools.reconcile.spelling import without_zeros
from bktools.reconcile.verbs import RULES

c = pl.col
# In an imported list an empty value is unknown, because the list may lack the column.
IS_FROM_SERVICE = c.id.is_not_null() & (c.state != "IMPORTED")


@dataclass(frozen=True)
class Difference:
    """How a field is compared: its values on both sides, and whether the service's value is known."""

    field: str
    erp: pl.Expr
    service: pl.Expr
    is_known: pl.Expr


# By the column that says whether the values differ. The service always has a name and a flag, so a missing
# value is unknown; code and tax code may be empty there.
DIFFERENCES: Mapping[str, Difference] = {
    "name_differs": Difference("name", c.erp_name, c.name, c.name.is_not_null()),
    "archived_differs": Difference("archived", c.erp_archived, c.archived, c.archived.is_not_null()),
    "code_differs": Difference("code", c.erp_code, c.code, c.is_from_service | c.code.is_not_null()),
    "tax_code_differs": Difference(
        "tax_code_external_id", c.erp_tax, c.tax, c.is_from_service | c.tax.is_not_null()
    ),
}


def named(code: pl.Expr, external_id: pl.Expr, name: pl.Expr) -> pl.Expr:
    """Return how a person calls an account: its code, or without one its external ID, and its name."""
    return pl.concat_str(pl.coalesce(code, external_id), name, separator=" ", ignore_nulls=True)


def is_long(text: pl.Expr) -> pl.Expr:
    """Return whether a text is too long for the service."""
    return (text.str.len_chars() > LONGEST_TEXT).fill_null(value=False)


# Rows of repeated external IDs have no values, and rows of other ones no counts.
FILLED: Mapping[str, pl.Expr] = {
    **{rows: pl.col(rows).fill_null(1) for rows in ("chart_rows", "service_rows")},
    **{name: pl.col(name).fill_null(value=False) for name in DIFFERENCES},
}

_CODES = without_zeros(c.erp_code), without_zeros(c.code)
FLAGS: Mapping[str, pl.Expr] = {
    "code_differs": c.code_differs & _CODES[0].ne_missing(_CODES[1]),
    "code_lost_zeros": c.code_differs & (_CODES[0] == _CODES[1]).fill_null(value=False),
    "is_new": c.in_chart & ~c.in_service,
    "is_gone": c.in_service & ~c.in_chart & c.is_charted,
    "is_single": (c.chart_rows <= 1) & (c.service_rows <= 1),
    "is_long_id": is_long(c.external_id) & c.in_chart,
    "is_long_name": is_long(c.erp_name),
    "is_long_code": is_long(c.erp_code),
}

# The number of the rule that decides the action.
RULE = pl.coalesce(pl.when(rule.when).then(pl.lit(number)) for number, rule in enumerate(RULES))

_IS_SHORT = c.is_new & c.zeros_like.is_not_null()
_OURS, _THEIRS = named(c.erp_code, c.external_id, c.erp_name), named(c.code, c.external_id, c.name)
DETAILS: Mapping[str, pl.Expr] = {
    "action": pl.lit(pl.Series([rule.action for rule in RULES])).gather(c.rule),
    "account": pl.coalesce(c.account, pl.when(c.in_chart).then(_OURS).otherwise(_THEIRS)),
    "twin": pl.coalesce(c.looks_like, c.zeros_like),
    # An external ID or a code that differs in leading zeros alone, as both sides have it.
    "zeros_in": pl.when(_IS_SHORT).then(pl.lit("external_id")).when(c.code_lost_zeros).then(pl.lit("code")),
    "erp_zeros": pl.when(_IS_SHORT).then(c.external_id).otherwise(c.erp_code),
    "service_zeros": pl.when(_IS_SHORT).then(c.zeros_like).otherwise(c.code),
    # The limit that sentences name for a text that is too long.
    "most": pl.lit(LONGEST_TEXT),
    "external_id_length": c.external_id.str.len_chars(),
    "name_length": c.erp_name.str.len_chars(),
    "code_length": c.erp_code.str.len_chars(),
}
