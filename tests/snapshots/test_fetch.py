"""Rows from pages to columns: repeated ids are found, and types are those of the record."""

from __future__ import annotations

import uuid

import pyarrow as pa
import pytest

from bktools.contract.categories import CATEGORIES as NOUN
from bktools.contract.categories import Category
from bktools.contract.employees import Employee
from bktools.contract.paging import Page, Pagination
from bktools.errors import DriftError
from bktools.frames.schema import CATEGORIES, schema_of
from bktools.progress import SILENT
from bktools.snapshots.fetch import fetch

COMPANY = str(uuid.UUID(int=1))


def search_of(records, size):
    """Return a search over records, with a page size of its own."""

    def search(*, after=None, offset=None, limit=None):
        begin = int(after or offset or 0)
        end = min(begin + size, len(records))
        pagination = Pagination(end < len(records), begin > 0, None, f"{begin + 1}", f"{end}")
        return Page(records[begin:end], pagination)

    return search


def records_of(ids):
    return [
        Category(
            id=text, company_id=COMPANY, category_group_id=COMPANY, name=f"Category {text}", archived=False
        )
        for text in ids
    ]


@pytest.mark.parametrize("again", [[0], [0, 0], [4_999, 17, 17]])
def test_an_id_that_comes_again_is_counted(again):
    """A repeated row is an error with the count of repeats, in any case of the letters of its ID."""
    ids = [str(uuid.UUID(int=number * 0x9E3779B97F4A7C15 + 10**30)) for number in range(5_000)]
    records = records_of([*ids, *(ids[place].upper() for place in again)])
    said = f"{5_000 + len(again)} rows came, {len(again)} of them a second time"
    with pytest.raises(DriftError, match=said):
        fetch(NOUN, {}, search_of(records, 1_000), SILENT, threads=1)


def test_the_columns_of_a_record_are_its_fields():
    """Names, types, order and which may be null follow from the record; a nested record is laid out flat."""
    text, flag = pa.large_string(), pa.bool_()
    first = [pa.field("name", text, nullable=False), pa.field("archived", flag, nullable=False)]
    optional = [pa.field(name, text) for name in ("metadata", "account_id", "tax_code_id")]
    last = [pa.field(name, text, nullable=False) for name in ("category_group_id", "company_id", "id")]
    assert pa.schema([*first, *optional, *last]) == CATEGORIES
    names = "first_name last_name email code job_title role phone avatar_url company_id"
    assert pa.schema([*(pa.field(name, text) for name in names.split()), last[-1]]) == schema_of(Employee)
