"""Frames of several engines are reconciled together."""

import pyarrow.parquet as pq
import pytest
import reconcile_reference as reference
import reconcile_world as world
from reconcile_engines import in_pandas, relation

from bktools.errors import ArgumentError, InputError
from bktools.reconcile import reconcile_accounts


def test_frames_of_several_engines_give_the_same_findings(engine):
    """A frame of pandas beside one of another engine, and relations of two connections, are reconciled as one world."""
    rows = world.seeded(3, 12)
    tables = world.tables(rows)
    given = in_pandas().frames(tables)
    given |= {"chart": engine.frame(tables["chart"]), "accounts": relation(tables["accounts"])}
    result = reconcile_accounts(**given)
    findings, _, _ = reference.reconcile(**rows)
    found = in_pandas().rows(result.findings)
    assert len(found) > 10
    assert reference.in_order(row[:-4] for row in found) == reference.in_order(findings)


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
