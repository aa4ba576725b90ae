"""Rows on their way to the disk: ids that come twice are found in bounded memory, portions are always the same."""

from __future__ import annotations

import uuid

import numpy as np
import pyarrow as pa
import pytest

from bktools.contract.categories import CATEGORIES as NOUN
from bktools.contract.categories import Category
from bktools.contract.employees import Employee
from bktools.contract.paging import Page, Pagination
from bktools.errors import UnreadableAnswerError
from bktools.frames.records import checked, schema_of, uuid_numbers
from bktools.frames.schema import CATEGORIES, EMPLOYEES
from bktools.tables import ids as ids_module
from bktools.tables.ids import Ids
from bktools.tables.rows import RowWriter

COMPANY = str(uuid.UUID(int=1))


def column(texts):
    return pa.chunked_array([pa.array(texts, pa.large_string())])


def test_uuids_are_told_apart_by_their_numbers():
    """Different UUIDs have different numbers, equal ones equal numbers, wherever in a column they stand."""
    texts = [str(uuid.uuid4()) for _ in range(3000)] + [str(uuid.UUID(int=0)), str(uuid.UUID(int=2**128 - 1))]
    numbers = uuid_numbers(column(texts))
    assert numbers.shape == (3002, 2)
    assert len(np.unique(numbers, axis=0)) == 3002
    assert (uuid_numbers(column(texts).slice(7, 5)) == numbers[7:12]).all()
    # One digit makes another number, at each of the 32 places.
    digits = [place for place in range(36) if texts[-2][place] == "0"]
    ones = [texts[-2][:place] + "f" + texts[-2][place + 1 :] for place in digits]
    assert len(np.unique(uuid_numbers(column(ones)), axis=0)) == 32


@pytest.mark.parametrize("held", [10, 1_000, 1_000_000])
@pytest.mark.parametrize("again", [[], [0], [0, 0], [4_999, 17, 17]])
def test_an_id_that_comes_again_is_counted(tmp_path, monkeypatch, held, again):
    """In memory or from the file: the same answer, and the file leaves nothing behind."""
    monkeypatch.setattr(ids_module, "MOST_HELD", held)
    numbers = np.random.default_rng(3).integers(0, 2**63, size=(5_000, 2), dtype=np.uint64)
    with Ids(tmp_path) as found:
        for begin in range(0, 5_000, 700):
            found.add(numbers[begin : begin + 700])
        found.add(numbers[again])
        assert found.count == 5_000 + len(again)
        assert found.repeated() == len(again)
    assert not list(tmp_path.iterdir())


def test_ids_that_share_a_hash_are_no_repetition(tmp_path):
    """Only the whole id decides: one number is chosen so that its hash is that of another."""
    odd = int(ids_module._ODD)
    first = (12_345, 678)
    second = (first[0] ^ (first[1] * odd % 2**64) ^ (999 * odd % 2**64), 999)
    numbers = np.array([first, second], dtype=np.uint64)
    assert len(set(ids_module._hashes(numbers).tolist())) == 1
    with Ids(tmp_path) as found:
        found.add(numbers)
        assert found.repeated() == 0
    with Ids(tmp_path) as found:
        found.add(np.concatenate([numbers, numbers[:1]]))
        assert found.repeated() == 1


def written(folder, size, count=2_500):
    """Return the bytes of a table that came in pages of a size."""
    records = [
        Category(str(uuid.UUID(int=number + 1)), COMPANY, COMPANY, f"Category {number}", archived=False)
        for number in range(count)
    ]
    folder.mkdir()
    with RowWriter(NOUN, {}, folder / "rows.parquet", None) as rows:
        for begin in range(0, count, size):
            page = Page(records[begin : begin + size], Pagination(has_next_page=True, has_previous_page=True))
            rows.add(page, joined=True)
        rows.finish()
        assert (rows.repeated(), rows.drift(), rows.unasked()) == ("", "", [])
    return (folder / "rows.parquet").read_bytes()


def test_the_same_table_is_the_same_file_on_any_page_size(tmp_path, monkeypatch):
    """Portions do not depend on the pages, so that unchanged content takes no second file."""
    monkeypatch.setattr("bktools.tables.rows.ROW_GROUP", 700)
    files = {written(tmp_path / str(size), size) for size in (1, 7, 100, 699, 1_000, 2_500)}
    assert len(files) == 1


def test_the_columns_of_a_record_are_its_fields():
    """Schemas of frames and fields of records are one thing said twice; here they are compared."""
    assert schema_of(Category) == CATEGORIES
    assert schema_of(Employee) == EMPLOYEES


def test_what_is_no_uuid_is_refused_by_its_column():
    good = {"id": str(uuid.UUID(int=10)).upper(), "company_id": COMPANY, "category_group_id": COMPANY}
    good |= {"name": "x", "archived": True, "account_id": None, "tax_code_id": None, "metadata": None}
    for name, value in (("id", "x"), ("account_id", f"{COMPANY}\n"), ("tax_code_id", "")):
        with pytest.raises(UnreadableAnswerError, match=f"value in {name} that is no UUID"):
            checked(pa.Table.from_pylist([good | {name: value}], schema=CATEGORIES), "categories")
    assert checked(pa.Table.from_pylist([good], schema=CATEGORIES), "categories")["id"].to_pylist() == [
        str(uuid.UUID(int=10))
    ]
