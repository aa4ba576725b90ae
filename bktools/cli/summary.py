"""The summary of a table: the number of its rows and the sums of amounts, in all and by values of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

# A column with more values is one of names or texts.
MOST_VALUES = 12


def summary_of(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the counts of a table: one row for all of it, then one for each column and value.

    A column counts when it holds neither identifiers nor numbers, has at most 12 values, and some rows share
    one. A table with amount and currency has a row for each currency, with the exact sum.
    """
    import pandas as pd

    from bktools.frames.incoming import arrow_of
    from bktools.frames.schema import to_pandas

    money = ["currency", "amount"] if {"currency", "amount"} <= {*frame.columns} else []
    if money:
        exact = to_pandas(arrow_of(frame[money]), money="decimal")
        frame = frame.assign(amount=exact.set_index(frame.index)["amount"])
    numbers = {*frame.select_dtypes("number").columns}
    others = frame[
        [name for name in frame.columns if name not in {*money, *numbers} and not name.endswith("id")]
    ]
    texts = others.astype("str").where(others.notna())
    parts = [_counted("rows", pd.Series("all", index=frame.index), frame, money)]
    for name in texts.columns:
        values = texts[name].nunique(dropna=False)
        if values <= MOST_VALUES and values < len(frame):
            parts.append(_counted(name, texts[name], frame, money))
    return pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)


def _counted(name: str, values: pd.Series, frame: pd.DataFrame, money: list[str]) -> pd.DataFrame:
    """Return the rows of a column's values, the most frequent first."""
    table = frame[money].assign(value=values)
    groups = table.groupby(["value", *money[:1]], dropna=False, sort=False)
    sums = {"amount": ("amount", "sum")} if money else {}
    counts = (
        groups.agg(rows=("value", "size"), **sums)
        .reset_index()
        .sort_values("rows", ascending=False, kind="stable")
    )
    return counts.assign(column=name)[["column", "value", "rows", *money]]
