"""Frames become Arrow tables, or one line that names the frame and the column that cannot."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest

from bktools.errors import InputError
from bktools.frames.schema import TEXT, to_pandas
from bktools.frames.tables import amounts_of, in_memory

ID = "123e4567-e89b-42d3-a456-426614174000"


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (
            pd.DataFrame({"fine": [1, 2], "code": ["0400", 400]}),
            "column code of the chart holds values of mixed",
        ),
        (pd.DataFrame({"code": [2**70]}), "the column code of the chart .*too large"),
        (pd.DataFrame({"code": [1j]}), "the column code of the chart holds values of mixed or unknown types"),
        (pd.DataFrame({"code": ["\ud800"]}, dtype="object"), "the column code of the chart .*surrogates"),
        (pd.DataFrame([[1, 2]], columns=["code", "code"]), "2 columns of the chart are named 'code'"),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), "2 columns of the chart are named '1'"),
        (pa.table([[1], [2]], names=["code", "code"]), "2 columns of the chart are named 'code'"),
    ],
)
def test_what_is_no_table_is_one_line(frame: object, said: str):
    """The frame, the column and the way out, whatever Arrow says of it."""
    with pytest.raises(InputError, match=said) as caught:
        in_memory(frame, "the chart")
    assert "\n" not in str(caught.value)


def test_the_way_out_fits_the_column():
    """Amounts that are text have no sums."""
    with pytest.raises(InputError, match="column amount must be an exact number, is text: make it numbers"):
        amounts_of(pa.table({"amount": ["1,5"]}))


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_days_are_told_from_times(unit: str):
    """Midnight and nothing are days, in any unit and before 1970; one second later is a time."""
    days = pd.to_datetime(["1969-12-31", None, "2026-10-31"]).as_unit(unit)
    table = in_memory(
        pd.DataFrame({"day": days, "time": days + pd.Timedelta(seconds=1), "none": [pd.NaT] * 3})
    )
    assert [pa.types.is_date(kind) for kind in table.schema.types] == [True, False, True]


TEXTS = pa.table(
    {"external_id": pa.array(["0400", "7"], TEXT), "code": ["0400", None], "name": ["None", "nan"]}
).append_column("tax_code_external_id", pa.nulls(2, TEXT))


@pytest.mark.parametrize("rows", [2, 0])
def test_text_is_text_and_null_is_null(rows: int):
    """With pandas 2 and 3 text has one type and nulls are missing, also without rows or with nulls alone."""
    frame = to_pandas(TEXTS[:rows])
    assert {str(kind) for kind in frame.dtypes} == {"str"}
    assert frame.isna().sum().to_list() == ([0, 1, 0, 2] if rows else [0] * 4)
    again = in_memory(frame)
    assert set(again.schema.types) == {TEXT}
    assert again.to_pydict() == TEXTS[:rows].to_pydict()


def test_counts_beside_a_null_stay_whole_numbers():
    """A line of a file is 62, not 62.0, where another one is missing."""
    frame = to_pandas(pa.table({"line": pa.array([62, None], pa.int64()), "count": [1, 2]}))
    assert [str(kind) for kind in frame.dtypes] == ["Int64", "int64"]
    assert in_memory(frame).to_pydict() == {"line": [62, None], "count": [1, 2]}
