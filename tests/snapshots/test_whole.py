"""A table is whole and has the rows that were asked for, or it is an error, or it says what was not shown."""

from __future__ import annotations

import base64
import itertools
import uuid

import pytest
from scripted_server import only_page
from small_service import COMPANY, SmallService, row

import bktools
from bktools.errors import ArgumentError, DriftError, UnreadableAnswerError, UnverifiedTableWarning

OTHER = str(uuid.UUID(int=99))

# What a service that estimates says beyond its rows: never the same twice.
ESTIMATES = itertools.cycle([5, 9, 17, 30])


class ByPosition:
    """A service whose cursors are positions, in base64url; `meanwhile` runs before a page is made."""

    def __init__(self, count, cap=20, total=len, *, start=True, meanwhile=lambda _: None):
        self.rows = [row(number) for number in range(count)]
        self.cap, self.total, self.start, self.meanwhile = cap, total, start, meanwhile
        self.asked = 0

    def __call__(self, asked):
        """Answer a search."""
        self.asked += 1
        self.meanwhile(self)
        after, offset = asked.one("after"), asked.one("offset")
        begin = int(base64.urlsafe_b64decode(after)[5:]) if after else int(offset or 0)
        page = self.rows[begin : begin + self.cap]
        end = begin + len(page)
        envelope = {"hasNextPage": end < len(self.rows), "hasPreviousPage": begin > 0}
        envelope |= {"endCursor": cursor(end)} | ({"startCursor": cursor(begin + 1)} if self.start else {})
        total = self.total(self.rows)
        return only_page(page, **envelope | ({} if total is None else {"total": total}))


def cursor(position):
    return base64.urlsafe_b64encode(f"rows>{position}".encode()).decode()


def delete_at(*requests):
    """Delete the first row at these requests."""

    def meanwhile(service):
        if service.asked in requests:
            del service.rows[0]

    return meanwhile


@pytest.mark.parametrize("total", [len, lambda _: None], ids=["counted", "not counted"])
def test_no_row_is_lost_where_cursors_are_positions(served_by, monkeypatch, total):
    """Rows that are deleted during a load move others; the table is read again, with proof."""
    # A machine under load is slow, and pages side by side would see the rows go in an order of their own.
    monkeypatch.setattr("bktools.service.pages.LATENCY", 60.0)
    script = ByPosition(360, total=total, meanwhile=delete_at(4, 7, 9, 11, 15))
    frame = bktools.load_categories(service=served_by(script))
    assert set(frame["id"]) >= {item["id"] for item in script.rows}
    about = frame.attrs["bktools"]
    assert (len(script.rows), about["complete"], "joins" in about["verified"][0]) == (355, True, True)


def test_a_table_that_never_stops_changing_is_an_error(served_by):
    """With positions as cursors and a row deleted at every page, no reading is whole."""
    script = ByPosition(360, meanwhile=lambda service: service.rows.pop(0))
    with pytest.raises(DriftError, match=r"2 times in a row.*load again"):
        bktools.load_categories(service=served_by(script))


def test_without_count_and_first_cursor_nothing_is_called_complete(served_by):
    """A service may leave out its count and its first cursor: the rows come, and the frame says so."""
    frame = bktools.load_categories(service=served_by(ByPosition(60, total=lambda _: None, start=False)))
    about = frame.attrs["bktools"]
    assert (len(frame), about["verified"], about["complete"]) == (60, [["ids", "filters"]], False)


@pytest.mark.parametrize("total", [lambda _: 40, lambda rows: next(ESTIMATES) + len(rows)])
def test_a_count_that_is_an_estimate_needs_a_word(served_by, total):
    """An estimated count is an error with a way out; with that the rows come, with a warning."""
    service = served_by(ByPosition(60, total=total))
    line = r"\([\d,]+ rows came, but the service counts [\d,]+\).*verify='warn' loads it with a warn"
    # What was accepted once does not become the truth for somebody who did not accept it.
    for _ in range(2):
        with pytest.raises(DriftError, match=line):
            bktools.load_categories(service=service)
        with pytest.warns(UnverifiedTableWarning, match="60 rows came") as warned:
            frame = bktools.load_categories(verify="warn", service=service)
        about = frame.attrs["bktools"]
        assert (warned[0].filename, len(frame), about["complete"]) == (__file__, 60, False)
        assert ("60 rows came" in about["complaints"][0], "total" in about["verified"][0]) == (True, False)


def test_rows_that_come_twice_are_never_accepted(served_by):
    """An ID stands for one row, also for somebody who accepts what is not shown."""

    def spoil(page, begin):
        if begin == 20:
            page["data"] = [row(0), *page["data"][1:]]

    service = served_by(SmallService([row(number) for number in range(43)], spoil=spoil))
    with pytest.raises(DriftError, match=r"second time.*load again$"):
        bktools.load_categories(verify="warn", service=service)


def employee(number, **fields):
    base = {"id": str(uuid.UUID(int=number + 1)), "companyId": COMPANY, "firstName": "A", "lastName": "B"}
    return base | {"email": f"P{number}@Example.com", "code": f"{number}"} | fields


OF_TWO = [row(number) | {"companyId": OTHER if number % 3 else COMPANY} for number in range(30)]
OF_OTHER = [each | {"companyId": OTHER} for each in OF_TWO]
EMPLOYEES = [*map(employee, range(3))]
IGNORED = [
    ("categories", OF_TWO, {}, "company_id (sent as companyId): 20 of 30"),
    ("categories", OF_OTHER, {"company": OTHER, "ids": [row(1)["id"]]}, "ids (sent as ids): 29 of 30"),
    (
        "categories",
        OF_OTHER,
        {"company": OTHER, "account_ids": [OTHER]},
        "account_ids (sent as accountIds): 30",
    ),
    ("categories", OF_OTHER, {"company": OTHER, "archived": True}, "archived (sent as archived): 15 of 30"),
    ("employees", EMPLOYEES, {"email": "p1@example.com"}, "email (sent as email): 2 of 3"),
    ("employees", EMPLOYEES, {"external_id": "1"}, "external_id (sent as code): 2 of 3"),
    ("employees", EMPLOYEES, {"company": OTHER}, "company_id (sent as companyId): 3 of 3"),
]


@pytest.mark.parametrize(("table", "rows", "filters", "line"), IGNORED)
def test_rows_that_were_not_asked_for_are_an_error(served_by, table, rows, filters, line):
    """A filter that the service ignores is named, with row count and way out; nothing is kept."""
    service, load = served_by(lambda _: only_page(rows, total=len(rows))), getattr(bktools, f"load_{table}")
    with pytest.raises(UnreadableAnswerError) as caught:
        load(**filters, service=service)
    assert line in str(caught.value)
    assert "verify='warn' loads it with a warning instead" in str(caught.value)
    assert not list(service.settings.cache_dir.rglob("*.parquet"))
    with pytest.warns(UnverifiedTableWarning, match=f"do not match the filter {line.split()[0]}"):
        frame = load(**filters, verify="warn", service=service)
    about = frame.attrs["bktools"]
    assert (len(frame), about["complete"], "filters" in about["verified"][0]) == (len(rows), False, False)


def test_an_e_mail_is_one_address_in_any_case(served_by):
    """Services keep addresses in any case; a row without the field is no proof against the filter."""
    rows = [employee(1), employee(2, email="P1@EXAMPLE.COM"), employee(3, email=None)]
    service = served_by(lambda _: only_page(rows, total=3))
    frame = bktools.load_employees(email="p1@example.com", service=service)
    assert (len(frame), frame.attrs["bktools"]["complete"]) == (3, True)


def test_a_load_that_keeps_nothing(served_by, tmp_path):
    """`cache=False` uses no snapshot and writes nothing to disk."""
    small = SmallService([row(number) for number in range(43)])
    service = served_by(small)
    for _ in range(2):
        frame = bktools.load_categories(cache=False, service=service)
        assert (len(frame), frame.attrs["bktools"]["complete"]) == (43, True)
    assert small.count == 2 * 5
    assert not {path.name for path in tmp_path.rglob("*")} & {"snapshots", "key", "pruned"}


# `Service.pages`: the rows of a load, page by page


def test_pages_are_the_table(sandbox, service):
    """Pages of companies have a load's rows in its order; so have filtered pages and employees."""
    companies = [company.id for company in sandbox.server.companies()][:2]
    for table, filters, company in [
        ("categories", {"archived": True}, companies),
        ("categories", {}, "all"),
        ("employees", {}, companies),
    ]:
        pages = list(service.pages(table, company, limit=7, **filters))
        assert (len(pages) > 2, max(map(len, pages)) <= 7) == (True, True)
        loaded = getattr(bktools, f"load_{table}")(company, service=service, cache=False, **filters)
        columns = ["id", "company_id", "name" if table == "categories" else "email"]
        rows = [[getattr(record, name) for name in columns] for page in pages for record in page]
        assert rows == loaded[columns].astype(object).where(loaded[columns].notna(), None).to_numpy().tolist()
    assert list(service.pages("categories", name="no such name")) == []


def test_a_page_is_requested_when_it_is_asked_for(served_by):
    """A loop that stops asks for no more; wrong arguments are errors before it begins."""
    script = SmallService([row(number) for number in range(500)])
    service = served_by(script)
    for number, _ in enumerate(service.pages("categories"), 1):
        if number == 20:
            break
    assert script.count == 20
    for arguments, options, line in (
        (("accounts",), {}, "table must be one of categories, employees"),
        (("employees",), {"archived": True}, "archived is not a filter of the employees: choose from email"),
        (("employees",), {"limit": 0}, "limit must be at least 1"),
    ):
        with pytest.raises(ArgumentError, match=line):
            service.pages(*arguments, **options)


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
    line = r"25 rows came, but the service counts 26\): the pages are not the whole table"
    with pytest.raises(DriftError, match=line):
        next(pages)
    with pytest.warns(UnverifiedTableWarning, match="the service counts 26"):
        assert len(list(service.pages("categories", verify="warn"))) == 3
    with pytest.raises(DriftError, match="25 rows came, 2 of them a second time"):
        list(served_by(SmallService(rows, spoil=sends_twice)).pages("categories", verify="warn"))
    with pytest.raises(UnreadableAnswerError, match=r"did not apply the filter archived .* 5 of 10"):
        next(served_by(SmallService(rows)).pages("categories", archived=True))
