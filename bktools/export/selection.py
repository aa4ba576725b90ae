"""What an analyst selected, as the rows of the entries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd

from bktools.errors import InputError

SHOWN = 3


def selected(entries: pd.DataFrame, selection: Any) -> pd.DataFrame:
    """Return the rows of the entries that a selection names.

    Parameters
    ----------
    entries : DataFrame
        With `id`.
    selection : DataFrame, Series or list of bool, Series or list of str, or None
        A filtered frame of entries, a mask with a value a row, or entry IDs. None selects all.

    Raises
    ------
    InputError
        When it names entries that are not there, or is a mask of another length.
    """
    if selection is None:
        return entries
    if isinstance(selection, pd.DataFrame):
        if "id" not in selection.columns:
            raise InputError("the selection has no column id: give a filtered frame of the entries, a mask or IDs")
        selection = selection["id"]
    values = pd.Series(selection) if not isinstance(selection, pd.Series) else selection
    if pd.api.types.is_bool_dtype(values) and len(values):
        return _masked(entries, values)
    return _named(entries, values.to_list())


def _masked(entries: pd.DataFrame, mask: pd.Series) -> pd.DataFrame:
    if len(mask) != len(entries):
        raise InputError(f"the selection is a mask of {len(mask)} rows, the entries have {len(entries)}")
    # By position: a mask made from the frame has its index, one made by hand has none.
    return entries.loc[mask.to_numpy()]


def _named(entries: pd.DataFrame, ids: Iterable[Any]) -> pd.DataFrame:
    wanted = {str(value).strip().lower() for value in ids}
    found = entries["id"].astype("str").str.lower()
    missing = sorted(wanted - set(found))
    if missing:
        more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
        raise InputError(f"the selection names entries that are not there: {', '.join(missing[:SHOWN])}{more}")
    return entries.loc[found.isin(wanted).to_numpy()]
