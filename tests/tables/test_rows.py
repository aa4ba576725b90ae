"""Rows on their way to the disk: ids that come twice are found, portions are always the same."""

from __future__ import annotations

import resource
import signal
import threading
import time
import uuid

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bktools.contract.categories import CATEGORIES as NOUN
from bktools.contract.categories import Category
from bktools.contract.paging import Page, Pagination
from bktools.errors import UnreadableAnswerError
from bktools.frames.records import checked
from bktools.frames.schema import CATEGORIES, EMPLOYEES
from bktools.tables.rows import RowWriter

COMPANY = str(uuid.UUID(int=1))


@pytest.mark.parametrize("group", [10, 700, 50_000])
@pytest.mark.parametrize("again", [[], [0], [0, 0], [4_999, 17, 17]])
def test_an_id_that_comes_again_is_counted(tmp_path, monkeypatch, group, again):
    """In one row group or over many, in any case of its letters: the same answer, and only the file is left."""
    monkeypatch.setattr("bktools.tables.rows.ROW_GROUP", group)
    ids = [str(uuid.UUID(int=number * 0x9E3779B97F4A7C15 + 10**30)) for number in range(5_000)]
    records = [
        Category(text, COMPANY, COMPANY, "x", archived=False)
        for text in [*ids, *(ids[place].upper() for place in again)]
    ]
    folder = tmp_path / "cache [of *]"
    folder.mkdir()
    with RowWriter(NOUN, {}, folder / "rows.parquet", None) as rows:
        rows.add(Page(records, Pagination(has_next_page=False, has_previous_page=False)), joined=True)
        rows.finish()
        assert rows.count == 5_000 + len(again)
        said = rows.repeated()
    assert said == (f"{5_000 + len(again)} rows came, {len(again)} of them a second time" if again else "")
    assert [path.name for path in folder.iterdir()] == ["rows.parquet"]


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
        assert (rows.repeated(), rows.checks.drift(), rows.checks.unfiltered()) == ("", "", [])
    return (folder / "rows.parquet").read_bytes()


def test_the_same_table_is_the_same_file_on_any_page_size(tmp_path, monkeypatch):
    """Portions do not depend on the pages, so that unchanged content takes no second file."""
    monkeypatch.setattr("bktools.tables.rows.ROW_GROUP", 700)
    files = {written(tmp_path / str(size), size) for size in (1, 7, 100, 699, 1_000, 2_500)}
    assert len(files) == 1


def test_the_columns_of_a_record_are_its_fields():
    """Names, types and which may be null follow from the record; a nested record is laid out flat."""
    text, flag = pa.large_string(), pa.bool_()
    required = [pa.field(name, text, nullable=False) for name in ("id", "company_id", "category_group_id", "name")]
    optional = [pa.field(name, text) for name in ("account_id", "tax_code_id", "metadata")]
    assert pa.schema([*required, pa.field("archived", flag, nullable=False), *optional]) == CATEGORIES
    names = ["company_id", "email", "first_name", "last_name", "avatar_url", "code", "job_title", "phone", "role"]
    assert pa.schema([required[0], *(pa.field(name, text) for name in names)]) == EMPLOYEES


def test_what_is_no_uuid_is_refused_by_its_column():
    good = {"id": str(uuid.UUID(int=10)).upper(), "company_id": COMPANY, "category_group_id": COMPANY}
    good |= {"name": "x", "archived": True, "account_id": None, "tax_code_id": None, "metadata": None}
    for name, value in (("id", "x"), ("account_id", f"{COMPANY}\n"), ("tax_code_id", "")):
        with pytest.raises(UnreadableAnswerError, match=f"value in {name} that is not a UUID"):
            checked(pa.Table.from_pylist([good | {name: value}], schema=CATEGORIES), "categories")
    assert checked(pa.Table.from_pylist([good], schema=CATEGORIES), "categories")["id"].to_pylist() == [
        str(uuid.UUID(int=10))
    ]


def test_only_ids_of_other_things_share_a_dictionary(tmp_path):
    """Ids that repeat are kept once; text that is its own is written as it is, without a dictionary that never helps."""
    written(tmp_path / "rows", 100)
    group = pq.read_metadata(tmp_path / "rows" / "rows.parquet").row_group(0)
    columns = [group.column(number) for number in range(group.num_columns)]
    shared = {column.path_in_schema for column in columns if column.has_dictionary_page}
    assert shared == {"company_id", "category_group_id", "account_id", "tax_code_id"}


@pytest.mark.parametrize("error", [None, KeyError("of the body")])
def test_a_file_that_cannot_be_closed_is_an_error(tmp_path, error):
    """A drive that is full at the end is not passed over in silence, and does not hide an error that came before."""

    def write_until(error):
        with RowWriter(NOUN, {}, tmp_path / "rows.parquet", None):
            resource.setrlimit(resource.RLIMIT_FSIZE, (2, usual[1]))
            if error:
                raise error

    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with pytest.raises(KeyError if error else OSError, match="of the body" if error else "too large"):
            write_until(error)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
        signal.signal(signal.SIGXFSZ, previous)


def test_the_writer_has_ended_when_an_error_leaves_the_table(tmp_path, monkeypatch):
    """A row group that is being written is not written on behind the back of whoever removes the file."""

    def slowly(*arguments):
        begun.set()
        time.sleep(0.2)
        return checked(*arguments)

    begun = threading.Event()
    monkeypatch.setattr("bktools.tables.rows.ROW_GROUP", 1)
    monkeypatch.setattr("bktools.tables.rows.SLICE", 1)
    monkeypatch.setattr("bktools.tables.rows.checked", slowly)
    page = Page(
        [Category(COMPANY, COMPANY, COMPANY, "x", archived=False)],
        Pagination(has_next_page=True, has_previous_page=False),
    )

    def write_until_an_error():
        with RowWriter(NOUN, {}, tmp_path / "rows.parquet", None) as rows:
            rows.add(page, joined=True)
            assert begun.wait(10)
            raise KeyError

    with pytest.raises(KeyError):
        write_until_an_error()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("bktools-writer")]
