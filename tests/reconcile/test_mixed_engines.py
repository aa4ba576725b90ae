"""Frames of several engines are reconciled together."""

import pyarrow.parquet as pq
import pytest
import reconcile_world as world
from reconcile_engines import in_pandas, relation

from bktools.errors import ArgumentError, InputError
from bktools.frames import schema
from bktools.reconcile import reconcile_accounts
from bktools.reconcile.results import RESULTS


def test_frames_of_several_engines_give_the_same_tables(engine):
    """A frame of any engine, beside pandas and another relation, gives what pandas gives."""
    rows = world.side_by_side({seed: world.seeded(seed, 12) for seed in range(3)})
    rows["chart"].append(
        {**world.plain()["chart"][0], "external_id": "Summe", "code": "Summe", "name": "Summe"}
    )
    for noun, more in world.side_by_side({"nasty": world.nasty()}).items():
        rows[noun] += more
    tables = world.tables(rows)
    expected = reconcile_accounts(**in_pandas().frames(tables))
    alone = reconcile_accounts(**engine.frames(tables))
    beside = reconcile_accounts(
        engine.frame(tables["chart"]), relation(tables["accounts"]), schema.to_pandas(tables["categories"])
    )
    for name in RESULTS:
        assert alone.table(name).equals(expected.table(name)), name
        assert beside.table(name).equals(expected.table(name)), name
    assert len(expected.findings) > 100


def test_frames_of_other_libraries_are_refused_with_those_that_are_taken():
    """What is no frame is named with its argument."""
    given = in_pandas().frames(world.tables(world.plain()))
    with pytest.raises(ArgumentError, match=r"^chart must be a pandas, pyarrow, Polars, .*, is a list$"):
        reconcile_accounts(**given | {"chart": [1, 2]})


def test_a_file_that_is_no_parquet_is_one_line(tmp_path):
    """The file and the argument are named."""
    (tmp_path / "chart.parquet").write_text("no")
    given = in_pandas().frames(world.tables(world.plain()))
    for path in (tmp_path / "chart.parquet", str(tmp_path / "missing.parquet")):
        with pytest.raises(InputError, match=f"^chart {path}: cannot be read as Parquet") as caught:
            reconcile_accounts(**given | {"chart": path})
        assert "\n" not in str(caught.value)


def test_a_damaged_file_is_one_line(tmp_path):
    """Damage that shows only while rows are read is an error that names the frame."""
    tables = world.tables(world.plain())
    path = tmp_path / "chart.parquet"
    pq.write_table(tables["chart"], path)
    data = bytearray(path.read_bytes())
    place = data.index(b"Machines")
    data[place - 20 : place] = bytes(20)
    path.write_bytes(data)
    with pytest.raises(InputError, match=f"^chart {path}: cannot be read as Parquet") as caught:
        reconcile_accounts(path, tables["accounts"], tables["categories"])
    assert "\n" not in str(caught.value)
