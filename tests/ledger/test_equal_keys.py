"""Rows with equal keys, and texts as they are compared, against the plain way to find them."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bktools.frames.schema import TEXT
from bktools.ledger.pairs import comparable, in_numbers, paired
from bktools.ledger.text_columns import in_lower_case, numbered, trimmed

SCHEMA = {"day": pl.Int64, "key": pl.Int64, "total": pl.Int64, "said": pl.String}
WIDE = 2**60
AMOUNTS = st.sampled_from([None, 0, 1, -1, WIDE, -WIDE])
ROWS = st.lists(
    st.tuples(st.integers(-3, 400), st.integers(0, 2), AMOUNTS, st.sampled_from("ab")), max_size=30
)
TEXTS = ["a", "A", " a", "b ", "", "  ", "é", "É", "\u00a0x", "x\u2003", "\ta", "z\n", "a-0", "@", "_", None]


def by_definition(ours: pl.DataFrame, theirs: pl.DataFrame, key: list[str], *, surplus: bool):
    """Return the pairs, key by key."""
    sides = defaultdict(list), defaultdict(list)
    for rows, side in zip(sides, (ours, theirs), strict=True):
        for place, row in enumerate(side.iter_rows(named=True)):
            rows[tuple(row[name] for name in key)].append((row["day"], place))
    pairs = []
    for own, rows in sides[0].items():
        others = sides[1][own]
        if len(rows) <= len(others) if surplus else len(rows) == len(others):
            pairs += [(x, y) for (_, x), (_, y) in zip(sorted(rows), sorted(others), strict=False)]
    return sorted(pairs)


@pytest.mark.parametrize(
    "key", [["key", "total"], ["day", "key", "total"], ["said"], ["key", "total", "said"]]
)
@pytest.mark.parametrize("surplus", [True, False])
@given(rows=st.tuples(ROWS, ROWS))
def test_the_first_days_of_equal_keys_are_paired(rows, key, surplus):
    """A key with a null is equal to none."""
    sides = [pl.DataFrame(side, SCHEMA, orient="row") for side in rows]
    ours, theirs = comparable(*sides, key)
    found = paired(ours, theirs, key, surplus=surplus)
    assert [*zip(*(side.tolist() for side in found), strict=True)] == by_definition(
        ours, theirs, key, surplus=surplus
    )


def test_a_long_side_keeps_each_row_that_has_a_partner():
    """Most of the others are not compared."""
    long = pl.DataFrame({"day": np.arange(50_000), "key": 1, "total": 3 * np.arange(50_000)})
    short = long.gather_every(1_000)
    ours, theirs = comparable(short, long, ["key", "total"])
    assert theirs.height < 1_000
    x, y = paired(ours, theirs, ["key", "total"], surplus=True)
    assert ours[x].equals(theirs[y])
    assert ours[x].height == 50
    theirs, ours = comparable(long, short, ["key", "total"])
    assert theirs.height < 1_000
    assert ours.equals(short)


@given(st.lists(st.tuples(st.integers(0, 3), AMOUNTS, st.sampled_from([*TEXTS[:4], None])), min_size=1))
def test_equal_rows_have_one_number_in_all_frames(rows):
    """Nulls are equal to one another."""
    frame = pl.DataFrame(rows, ["key", "total", "said"], orient="row", schema_overrides=SCHEMA)
    numbers = in_numbers(["said", "total", "key"], frame, frame.reverse())
    assert numbers[0].tolist() == numbers[1][::-1].tolist()
    assert len({*numbers[0].tolist()}) == len({*rows})


@given(st.lists(st.sampled_from(TEXTS), min_size=1), st.integers(0, 2))
def test_texts_are_trimmed_in_small_letters_and_numbered(texts, start):
    """Also where a column is a part of another one."""
    column = pa.chunked_array([pa.array(texts[:start], TEXT), pa.array(["B", *texts], TEXT).slice(1 + start)])
    expected = [(text or "").strip() or None for text in texts]
    assert trimmed(column, len(texts)).to_list() == expected
    small = in_lower_case(column, len(texts))
    assert small.to_list() == [text and text.lower() for text in expected]
    numbers = dict(zip(small, numbered(small), strict=True))
    assert len({*numbers.values()}) == len(numbers)
    assert numbers.get(None) is None
