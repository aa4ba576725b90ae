"""`Service.pages`: the rows of a load, page by page; the loop's end says whether they are all."""

from __future__ import annotations

import pytest
from small_service import SmallService, row

import bktools
from bktools.errors import ArgumentError, DriftError, UnreadableAnswerError, UnverifiedTableWarning


def test_pages_are_the_table(sandbox, service):
    """Pages of companies have a load's rows in its order; so have filtered pages and employees."""
    companies = [company.id for company in sandbox.server.companies()][:2]
    for table, load, filters, company in [
        ("categories", bktools.load_categories, {}, companies),
        ("categories", bktools.load_categories, {"archived": True}, companies),
        ("categories", bktools.load_categories, {}, "all"),
        ("employees", bktools.load_employees, {}, companies),
    ]:
        pages = list(service.pages(table, company, limit=7, **filters))
        assert len(pages) > 2
        assert max(map(len, pages)) <= 7
        loaded = load(company, service=service, cache=False, **filters)
        columns = ["id", "company_id", "name" if table == "categories" else "email"]
        rows = [[getattr(record, name) for name in columns] for page in pages for record in page]
        assert rows == loaded[columns].astype(object).where(loaded[columns].notna(), None).to_numpy().tolist()
    assert list(service.pages("categories", name="no such name")) == []


def test_a_page_is_requested_when_it_is_asked_for(served_by):
    """A loop that stops asks for no more."""
    script = SmallService([row(number) for number in range(500)])
    for number, page in enumerate(served_by(script).pages("categories"), 1):
        names = [f"Category {place}" for place in range(10 * number - 10, 10 * number)]
        assert [record.name for record in page] == names
        if number == 20:
            break
    assert script.count == 20


def test_the_end_says_whether_the_pages_are_the_table(served_by):
    """A wrong count, a repeated row and rows against a filter are errors, or warnings."""
    rows = [row(number) for number in range(25)]

    def counts_more(page, begin):
        page["pagination"]["total"] = 26

    def sends_twice(page, begin):
        page["data"] = [*page["data"][:-1], rows[0]] if begin else page["data"]

    service = served_by(SmallService(rows, spoil=counts_more))
    pages = service.pages("categories")
    assert [len(next(pages)) for _ in range(3)] == [10, 10, 5]
    said = r"25 rows came, but the service counts 26\): the pages are not the whole table"
    with pytest.raises(DriftError, match=said):
        next(pages)
    with pytest.warns(UnverifiedTableWarning, match="the service counts 26"):
        assert len(list(service.pages("categories", verify="warn"))) == 3
    with pytest.raises(DriftError, match="25 rows came, 2 of them a second time"):
        list(served_by(SmallService(rows, spoil=sends_twice)).pages("categories", verify="warn"))
    with pytest.raises(UnreadableAnswerError, match=r"did not apply the filter archived .* 5 of 10"):
        next(served_by(SmallService(rows)).pages("categories", archived=True))


def test_arguments_are_checked_at_the_call(service):
    """A wrong table, filter or limit is an error before the loop begins."""
    filters = "archived is not a filter of the employees: choose from email, external_id"
    for arguments, options, said in (
        (("accounts",), {}, "table must be one of categories, employees"),
        (("categories", "x"), {}, "company must be a UUID"),
        (("employees",), {"archived": True}, filters),
        (("employees",), {"limit": 0}, "limit must be at least 1"),
    ):
        with pytest.raises(ArgumentError, match=said):
            service.pages(*arguments, **options)
