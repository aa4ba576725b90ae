"""Rows from pages to columns: repeated ids are found, and types are those of the record."""

from __future__ import annotations

import uuid

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from caches import QUERY, rows_of

from bktools.contract.categories import CATEGORIES as NOUN
from bktools.contract.categories import Category
from bktools.contract.employees import Employee
from bktools.contract.paging import Page, Pagination
from bktools.errors import DriftError, UnreadableAnswerError
from bktools.frames.records import checked
from bktools.frames.schema import CATEGORIES, schema_of
from bktools.progress import SILENT
from bktools.snapshots.fetch import fetch

COMPANY = str(uuid.UUID(int=1))


def search_of(records, size):
    """Return a search over records, with a page size of its own."""

    def search(*, after=None, offset=None, limit=None):
        begin = int(after or offset or 0)
        end = min(begin + size, len(records))
        return Page(
            records[begin:end], Pagination(end < len(records), begin > 0, None, f"{begin + 1}", f"{end}")
        )

    return search


def records_of(ids):
    return [Category(text, COMPANY, COMPANY, f"Category {text}", archived=False) for text in ids]


@pytest.mark.parametrize("again", [[0], [0, 0], [4_999, 17, 17]])
def test_an_id_that_comes_again_is_counted(again):
    """A repeated row is an error with the count of repeats, in any case of the letters of its ID."""
    ids = [str(uuid.UUID(int=number * 0x9E3779B97F4A7C15 + 10**30)) for number in range(5_000)]
    records = records_of([*ids, *(ids[place].upper() for place in again)])
    with pytest.raises(
        DriftError, match=f"{5_000 + len(again)} rows came, {len(again)} of them a second time"
    ):
        fetch(NOUN, {}, search_of(records, 1_000), SILENT, threads=1)


@pytest.mark.parametrize("size", [7, 100, 999, 1_000, 2_500])
def test_the_rows_do_not_depend_on_the_pages(size):
    """Every row comes once and in order, whatever the size of the pages."""
    records = records_of(str(uuid.UUID(int=number + 1)) for number in range(2_500))
    rows, facts = fetch(NOUN, {}, search_of(records, size), SILENT, threads=1)
    assert rows["id"].to_pylist() == [record.id for record in records]
    assert rows["name"].to_pylist() == [record.name for record in records]
    assert (rows.schema, facts.rows) == (CATEGORIES, 2_500)


def test_the_columns_of_a_record_are_its_fields():
    """Names, types and which may be null follow from the record; a nested record is laid out flat."""
    text, flag = pa.large_string(), pa.bool_()
    required = [
        pa.field(name, text, nullable=False) for name in ("id", "company_id", "category_group_id", "name")
    ]
    optional = [pa.field(name, text) for name in ("account_id", "tax_code_id", "metadata")]
    assert pa.schema([*required, pa.field("archived", flag, nullable=False), *optional]) == CATEGORIES
    names = [
        "company_id",
        "email",
        "first_name",
        "last_name",
        "avatar_url",
        "code",
        "job_title",
        "phone",
        "role",
    ]
    assert pa.schema([required[0], *(pa.field(name, text) for name in names)]) == schema_of(Employee)


def test_what_is_no_uuid_is_refused_by_its_column():
    """An ID that is no UUID is an error that names the column; capitals become small letters."""
    good = {"id": str(uuid.UUID(int=10)).upper(), "company_id": COMPANY, "category_group_id": COMPANY}
    good |= {"name": "x", "archived": True, "account_id": None, "tax_code_id": None, "metadata": None}
    for name, value in (("id", "x"), ("account_id", f"{COMPANY}\n"), ("tax_code_id", "")):
        with pytest.raises(UnreadableAnswerError, match=f"value in {name} that is not a UUID"):
            checked(pa.Table.from_pylist([good | {name: value}], schema=CATEGORIES), "categories")
    assert checked(pa.Table.from_pylist([good], schema=CATEGORIES), "categories")["id"].to_pylist() == [
        str(uuid.UUID(int=10))
    ]


def test_only_ids_of_other_things_share_a_dictionary(cache):
    """Repeated ids are stored once; other text is written as it is, without a useless dictionary."""
    group = pq.read_metadata(cache.commit("x", query=QUERY).path).row_group(0)
    columns = [group.column(number) for number in range(group.num_columns)]
    shared = {column.path_in_schema for column in columns if column.has_dictionary_page}
    assert shared <= {name for name in rows_of("x").column_names if name.endswith("_id")}
    assert {"company_id", "category_group_id"} <= shared
