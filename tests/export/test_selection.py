"""Selections of every kind an analyst has: the same rows, or one line that says why not."""

from __future__ import annotations

import uuid

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hand_made import entries_of, entry_id

from bktools import compose_export_jobs
from bktools.errors import InputError

FIRST, SECOND, THIRD = (entry_id(number) for number in range(3))

# Each selects the first and the third of three entries.
SELECTIONS = {
    "frame": lambda frame: frame[frame["currency"] == "EUR"],
    "mask": lambda frame: frame["currency"] == "EUR",
    "mask in another order": lambda frame: frame.sort_index()["currency"] == "EUR",
    "list of bool": lambda frame: (frame["currency"] == "EUR").to_list(),
    "list of ids": lambda _: [FIRST, THIRD, FIRST],
    "series of ids": lambda _: pd.Series([THIRD, FIRST]),
    "capitals and spaces": lambda _: [f" {FIRST.upper()}\t", THIRD],
    "a nullable mask": lambda _: pd.array([True, False, True], dtype="boolean"),
    "a mask of objects": lambda frame: pd.Series([True, False, True], index=frame.index, dtype="object"),
    "a mask of Arrow": lambda _: pa.chunked_array([[True], [False, True]]),
    "UUIDs": lambda _: [uuid.UUID(FIRST), uuid.UUID(THIRD)],
}


@pytest.fixture
def three() -> pd.DataFrame:
    """Three entries with an index in no order."""
    return entries_of(3, currency=["EUR", "USD", "EUR"]).set_index(pd.Index([7, 3, 5]))


def selected(entries, selection) -> list[str]:
    """Return the IDs of the entries that a selection leaves."""
    return compose_export_jobs(entries, selection=selection).entries["id"].to_list()


@pytest.mark.parametrize("kind", SELECTIONS)
def test_each_kind_selects_the_same(three, kind):
    """A frame, a mask and IDs mean the same rows."""
    assert selected(three, SELECTIONS[kind](three)) == [FIRST, THIRD]


@pytest.mark.parametrize("text", ["{0}\n{2}\n", "\ufeff{0}\r\n{2}\r\n", "entry_id;note\n{0};a\n{2};b\n"])
def test_a_file_selects(three, tmp_path, text):
    """A list of IDs, one a line, or a table with a column of them; bytes that are no text are named."""
    path = tmp_path / "chosen.csv"
    path.write_text(text.format(FIRST, SECOND, THIRD), encoding="utf-8")
    assert selected(three, str(path)) == [FIRST, THIRD]
    path.write_bytes(f"{FIRST}\n{THIRD}\n".encode() + b"\xe9\n")
    with pytest.raises(InputError, match=r"chosen\.csv, line 3: is not UTF-8 here"):
        selected(three, path)


def test_a_mask_selects_a_split_entry_as_a_whole():
    """Where one line of an entry is selected, its other lines are, too."""
    lines = entries_of(3, split_line=[1, 2, 0], split_lines=[2, 2, 0])
    lines.loc[1, "id"] = lines["id"][0]
    assert selected(lines, [True, False, False]) == [FIRST, FIRST]


@pytest.mark.parametrize("nothing", [[], pd.DataFrame({"id": []}, dtype="str"), [False, False, False]])
def test_nothing_selected_is_an_empty_plan(three, nothing):
    """An empty selection is no entries, not all of them."""
    plan = compose_export_jobs(three, selection=nothing)
    assert (len(plan.entries), len(plan.not_ready), len(plan.batches)) == (0, 0, 0)


GAPS, UNKNOWN = "a mask with empty values: fill them with True or False", "names unknown entries: "
# Each selection that is refused, and the line: neither gaps nor what only looks like a mask is guessed.
REFUSED = {
    "one unknown": ([SECOND, entry_id(7)], f"{UNKNOWN}{entry_id(7)}$"),
    "five unknown": ([entry_id(number) for number in (11, 9, 7, 8, 10)], f"{entry_id(9)} and 2 more$"),
    "a gap among IDs": (pd.DataFrame({"id": [FIRST, None]}), UNKNOWN),
    "a blank ID": ([FIRST, " "], UNKNOWN),
    "numbers": ([1, 0, 1], UNKNOWN),
    "words": (["True", "False", "True"], UNKNOWN),
    "flags and a number": ([True, False, 1.0], UNKNOWN),
    "flags and None": ([True, None, False], GAPS),
    "flags and NaN": ([True, np.nan, False], GAPS),
    "a nullable mask with a gap": (pd.Series([True, None, False], dtype="boolean"), "empty values"),
    "a shorter mask": ([True, False], "mask of 2 rows, the entries have 3"),
    "another index": (pd.Series([True, False, True]), "another index"),
    "no file": ("nowhere.csv", r"^the selection nowhere\.csv cannot be read: no such file or folder$"),
    "a number": (7, "is a int"),
    "no column of IDs": (pd.DataFrame({"x": [1]}), "no column id"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_selects_no_entry_is_refused(three, kind):
    """A selection of something else, or that names no entry for certain, is one clear line."""
    selection, line = REFUSED[kind]
    with pytest.raises(InputError, match=line) as caught:
        selected(three, selection)
    assert "\n" not in str(caught.value)


def test_a_mask_of_a_lazy_frame_is_refused():
    """Rows of a lazy frame have no order."""
    with pytest.raises(InputError, match="a mask cannot select from a LazyFrame"):
        selected(pl.from_pandas(entries_of(2)).lazy(), [True, False])
