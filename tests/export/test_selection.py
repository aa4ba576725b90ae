"""Selections of every kind an analyst has."""

from __future__ import annotations

import uuid

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hand_made import entry_id

from bktools import compose_export_jobs
from bktools.errors import InputError

SELECTIONS = {
    "frame": lambda frame: frame[frame["currency"] == "EUR"],
    "mask": lambda frame: frame["currency"] == "EUR",
    "list of bool": lambda frame: (frame["currency"] == "EUR").to_list(),
    "array": lambda frame: (frame["currency"] == "EUR").to_numpy(),
    "list of ids": lambda _: [entry_id(0), entry_id(2)],
    "series of ids": lambda _: pd.Series([entry_id(2), entry_id(0)]),
    "upper case": lambda _: [entry_id(0).upper(), entry_id(2)],
    "a nullable mask": lambda _: pd.array([True, False, True], dtype="boolean"),
    "a mask of objects": lambda frame: pd.Series([True, False, True], index=frame.index, dtype="object"),
    "a mask of Arrow": lambda _: pa.chunked_array([[True], [False, True]]),
    "UUIDs": lambda _: [uuid.UUID(entry_id(0)), uuid.UUID(entry_id(2))],
    "twice": lambda _: [entry_id(0), entry_id(2), entry_id(0)],
}


@pytest.mark.parametrize("kind", SELECTIONS)
def test_each_kind_selects_the_same(entries, kind):
    """A frame, a mask and IDs mean the same rows."""
    frame = entries(3, currency=["EUR", "USD", "EUR"]).set_index(pd.Index([7, 3, 5]))
    plan = compose_export_jobs(frame, selection=SELECTIONS[kind](frame))
    assert plan.entries["id"].to_list() == [entry_id(0), entry_id(2)]


def test_nothing_selected_is_an_empty_plan(entries):
    """An empty selection is no entries, not all of them."""
    frame = entries(2)
    for nothing in ([], frame.head(0), [False, False]):
        plan = compose_export_jobs(frame, selection=nothing)
        assert (len(plan.entries), len(plan.not_ready), len(plan.batches)) == (0, 0, 0)


def test_ids_that_are_not_there_are_refused(entries):
    """A selection that names other entries was made from something else."""
    with pytest.raises(InputError, match="names unknown entries"):
        compose_export_jobs(entries(2), selection=[entry_id(0), entry_id(9)])


def test_a_mask_of_another_length_is_refused(entries):
    """A mask has a value a row."""
    with pytest.raises(InputError, match="mask of 3 rows, the entries have 2"):
        compose_export_jobs(entries(2), selection=[True, False, True])


def test_a_mask_of_pandas_means_labels(entries):
    """A mask in another order selects the rows it was made for; one of another index is refused."""
    frame = entries(3, currency=["EUR", "USD", "EUR"]).set_index(pd.Index([7, 3, 5]))
    mask = frame.sort_index()["currency"] == "EUR"
    assert compose_export_jobs(frame, selection=mask).entries["id"].to_list() == [entry_id(0), entry_id(2)]
    with pytest.raises(InputError, match="another index"):
        compose_export_jobs(frame, selection=mask.reset_index(drop=True))


def test_a_mask_with_empty_values_is_refused(entries):
    """Neither yes nor no is no selection."""
    with pytest.raises(InputError, match="empty values"):
        compose_export_jobs(entries(2), selection=pd.Series([True, None], dtype="boolean"))


@pytest.mark.parametrize("text", ["{0}\n{2}\n", "\ufeff{0}\r\n{2}\r\n", "entry_id;note\n{0};a\n{2};b\n"])
def test_a_file_selects(entries, tmp_path, text):
    """A list of IDs, one a line, or a table with a column of them."""
    path = tmp_path / "chosen.csv"
    path.write_text(text.format(*[entry_id(number) for number in range(3)]), encoding="utf-8")
    for chosen in (path, str(path)):
        plan = compose_export_jobs(entries(3), selection=chosen)
        assert plan.entries["id"].to_list() == [entry_id(0), entry_id(2)]


def test_a_list_in_another_encoding(entries, tmp_path):
    """A list of IDs with a byte that is not UTF-8 is refused by file and line."""
    path = tmp_path / "chosen.txt"
    path.write_bytes(b"\xef\xbb\xbf" + entry_id(0).encode() + b"\n\n\xe4 note\n")
    with pytest.raises(InputError, match=r"chosen\.txt, line 3: is not UTF-8 here: save the list as UTF-8"):
        compose_export_jobs(entries(3), selection=path)


@pytest.mark.parametrize(
    ("selection", "said"),
    [("nowhere.csv", "nowhere.csv"), (7, "is a int"), (pd.DataFrame({"x": [1]}), "no column id")],
)
def test_what_selects_nothing_is_refused(entries, selection, said):
    """A selection of a kind that is not known, or that is not there, is one clear line."""
    with pytest.raises(InputError, match=said) as caught:
        compose_export_jobs(entries(2), selection=selection)
    assert "\n" not in str(caught.value)


def test_one_uuid_selects_one_entry(entries):
    """A single ID, as text or as a UUID, is a selection."""
    for one in (entry_id(1), uuid.UUID(entry_id(1))):
        assert compose_export_jobs(entries(3), selection=one).entries["id"].to_list() == [entry_id(1)]


def test_masks_that_select_nothing_that_is_known_are_refused(entries):
    """A table of flags has no row for an entry, and rows of a lazy frame have no order."""
    with pytest.raises(InputError, match="the selection has 2 dimensions"):
        compose_export_jobs(entries(2), selection=np.array([[True], [False]]))
    for mask in ([True, False], pd.Series([True, False]), np.array([True, False])):
        with pytest.raises(InputError, match="a mask cannot select from a LazyFrame"):
            compose_export_jobs(pl.from_pandas(entries(2)).lazy(), selection=mask)


@pytest.mark.parametrize(
    ("missing", "told"),
    [
        ([7], ["7"]),
        ([9, 7, 8], ["7", "8", "9"]),
        ([9, 7, 8, 10], ["7", "8", "9", " and 1 more"]),
        ([11, 9, 7, 8, 10], ["7", "8", "9", " and 2 more"]),
    ],
)
def test_the_first_three_missing_ids_are_named(entries, missing, told):
    """IDs that are not among the entries are named in their order, three at most, and the rest counted."""
    expected = ", ".join(entry_id(int(one)) for one in told if one.isdigit())
    expected += "".join(one for one in told if not one.isdigit())
    with pytest.raises(InputError) as caught:
        compose_export_jobs(entries(3), selection=[entry_id(number) for number in [1, *missing]])
    assert str(caught.value).endswith(f"names unknown entries: {expected}")


@pytest.mark.parametrize("empty", [None, "", " "])
def test_an_empty_id_selects_nothing(entries, empty):
    """A gap in a column of IDs is not passed over: something was meant there."""
    with pytest.raises(InputError, match="names unknown entries"):
        compose_export_jobs(entries(3), selection=pd.DataFrame({"id": [entry_id(0), empty]}))


def test_spaces_around_an_id_are_none_of_it(entries):
    """An ID that was copied with its spaces selects its entry."""
    assert compose_export_jobs(entries(3), selection=[f" {entry_id(1)}\t"]).entries["id"].to_list() == [
        entry_id(1)
    ]


@pytest.mark.parametrize("values", [[1, 0, 1], ["True", "False", "True"], [True, False, 1.0]])
def test_what_only_looks_like_a_mask_is_none(entries, values):
    """Numbers and words are no mask: they are IDs, and name no entry."""
    with pytest.raises(InputError, match="names unknown entries"):
        compose_export_jobs(entries(3), selection=values)


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA])
def test_a_list_of_flags_with_a_gap_is_a_mask(entries, gap):
    """A gap among flags is told as a gap, not as an entry that is not there."""
    with pytest.raises(InputError, match="a mask with empty values: fill them with True or False"):
        compose_export_jobs(entries(3), selection=[True, gap, False])


def test_ids_that_are_no_text_are_refused(entries):
    """A column of IDs that cannot be text is named with its frame and what it holds."""
    table = pa.Table.from_pandas(entries(2), preserve_index=False)
    table = table.append_column("category_id", pa.array([b"\xff", b"\xfe"], pa.binary_view()))
    with pytest.raises(InputError, match="entries: column category_id must be text, is large_binary"):
        compose_export_jobs(table)


def test_a_file_that_is_not_there_is_named(entries):
    """The line says which selection, then why it cannot be read."""
    with pytest.raises(
        InputError, match=r"^the selection nowhere\.csv cannot be read: No such file or directory$"
    ):
        compose_export_jobs(entries(2), selection="nowhere.csv")
