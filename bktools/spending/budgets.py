"""A budget: amounts by keys, in which each name is that of one category or employee."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
import pyarrow as pa

from bktools.errors import InputError
from bktools.frames.names import with_names
from bktools.frames.schema import TEXT
from bktools.frames.tables import in_memory, text_of, with_column
from bktools.inputs.values.names import key as name_key
from bktools.inputs.values.names import looked_up
from bktools.spending.sums import KEYS, missing_text
from bktools.wording import Sentence

# Rows with a day are entries, and rows with their number are sums of `spend`.
NO_BUDGET = {"date", "entries"}


def in_currency(rows: pa.Table, currency: str | None) -> pa.Table:
    """Return rows whose amounts are all in one currency."""
    return with_column(rows, "currency", pa.repeat(pa.scalar(currency, TEXT), len(rows)))


def keys_of_budget(budget: pa.Table) -> list[str]:
    """Return the keys that a budget has columns of; refuse one without."""
    columns = {*budget.column_names}
    keys = [name for name, key in KEYS.items() if {key.names[0], key.identifier} & columns]
    if not keys:
        raise InputError(Sentence("error.budget_without_key", keys=", ".join(KEYS)))
    return keys


def with_ids(
    rows: pa.Table,
    keys: Sequence[str],
    *,
    source: str = "",
    categories: Any = None,
    accounts: Any = None,
    employees: Any = None,
) -> pa.Table:
    """Return a budget with the IDs of the categories and employees that it names; other rows stay.

    Raises
    ------
    InputError
        When a name is that of none or of several: it would be compared with the wrong entries.
    """
    columns = {*rows.column_names}
    if NO_BUDGET & columns:
        return rows
    for key, frame in (("category", _with_accounts(categories, accounts)), ("employee", employees)):
        (column,), identifier, _ = KEYS[key]
        if frame is None or key not in keys or column not in columns or identifier in columns:
            continue
        names, lines = text_of(rows, column).to_pylist(), text_of(rows, "line").to_pylist()
        known = [
            name for name in dict.fromkeys(names) if name and name_key(name) != name_key(missing_text(key))
        ]
        ids, wrong = looked_up(known, str(identifier), in_memory(frame, key).to_pandas())
        if wrong:
            for name, line in zip(names, lines, strict=True):
                if name in wrong and line:
                    wrong[name].setdefault("lines", []).append(line)
            facts = {"names": [{"lines": None, **about} for about in wrong.values()], "column": column}
            raise InputError(Sentence("error.budget_names", identifier=identifier, **facts), source=source)
        rows = with_column(rows, str(identifier), pa.array(map(ids.get, names), TEXT))
    if accounts is not None and "account_code" in columns and "account_name" not in columns:
        chart = pl.DataFrame(in_memory(accounts, "accounts").select(["code", "external_id", "name"]))
        names_of = dict(chart.select(pl.coalesce("code", "external_id"), "name").iter_rows())
        codes = text_of(rows, "account_code").to_pylist()
        rows = with_column(rows, "account_name", pa.array(map(names_of.get, codes), TEXT))
    return rows


def _with_accounts(categories: Any, accounts: Any) -> pa.Table | None:
    """Return categories with the codes of their accounts, which tell equal names apart."""
    if categories is None or accounts is None:
        return categories
    rows = in_memory(categories, "categories")
    named = with_names(pa.table({"category_id": rows["id"]}), categories=rows, accounts=accounts)
    return with_column(rows, "account", named["account_code"])
