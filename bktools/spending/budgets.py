"""A budget: amounts by keys, in which each name is that of one category or employee."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from bktools.contract.rules import UUID_PATTERN
from bktools.errors import InputError
from bktools.frames.columns import text_of, with_column
from bktools.frames.names import named_ids
from bktools.frames.schema import TEXT
from bktools.spending.sums import KEYS, missing_text
from bktools.wording import Sentence

# Rows with a day are entries, and rows with their number are sums of `spend`.
NO_BUDGET = {"date", "entries"}


def keys_of_budget(budget: pa.Table) -> list[str]:
    """Return the keys that a budget has columns of; refuse one without."""
    columns = {*budget.column_names}
    keys = [key for key, (names, identifier) in KEYS.items() if {names[0], identifier} & columns]
    if not keys:
        raise InputError(Sentence("error.budget_without_key", keys=", ".join(KEYS)))
    return keys


def with_ids(rows: pa.Table, keys: Sequence[str], *, source: str = "", **frames: Any) -> pa.Table:
    """Return a budget with the IDs of the categories and employees that it names; other rows stay.

    `frames` are the categories and employees, None where they are not known.

    Raises
    ------
    InputError
        When a name is that of none or of several: it would be compared with the wrong entries.
    """
    if NO_BUDGET & {*rows.column_names}:
        return rows
    for key, frame in (("category", frames["categories"]), ("employee", frames["employees"])):
        (column,), identifier = KEYS[key]
        is_named = key in keys and column in rows.column_names and identifier not in rows.column_names
        if frame is None or not is_named:
            continue
        ids: dict[str | None, list[str | None]] = defaultdict(list)
        for name, row_id in named_ids(frame, f"{key}_id"):
            ids[comparable(name)].append(row_id)
        ids[comparable(missing_text(key))], ids[None] = [None], [None]
        names = text_of(rows, column).to_pylist()
        # An ID stands for itself, as `spend` shows a category without a name.
        ids |= {comparable(name): [comparable(name)] for name in names if name and UUID_PATTERN.match(name)}
        wrong = [name for name in dict.fromkeys(names) if len(ids[comparable(name)]) != 1]
        if wrong:
            facts = {"column": column, "names": wrong, "identifier": identifier}
            raise InputError(Sentence("error.budget_names", **facts), source=source)
        chosen = [ids[comparable(name)][0] for name in names]
        rows = with_column(rows, str(identifier), pa.array(chosen, TEXT))
    return rows


def comparable(text: str | None) -> str | None:
    """Return a name for comparison: without capitals, and with single spaces."""
    return None if text is None else " ".join(text.casefold().split())
