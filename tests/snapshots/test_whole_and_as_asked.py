"""A table is whole and has the rows that were asked for, or it is an error, or it says what was not shown."""

from __future__ import annotations

import base64
import itertools
import uuid

import pytest
from scripted_server import only_page
from small_service import COMPANY, SmallService, row

import bktools
from bktools.errors import DriftError, UnreadableAnswerError, UnverifiedTableWarning

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
    assert len(script.rows) == 355
    told = frame.attrs["bktools"]
    assert told["complete"]
    assert "joins" in told["verified"][0]


def test_a_table_that_never_stops_changing_is_an_error(served_by):
    """With positions as cursors and a row deleted at every page, no reading is whole."""
    script = ByPosition(360, meanwhile=lambda service: service.rows.pop(0))
    with pytest.raises(DriftError, match=r"2 times in a row.*load again"):
        bktools.load_categories(service=served_by(script))


def test_without_count_and_first_cursor_it_is_said_that_nothing_is_shown(served_by):
    """A service may leave out its count and its first cursor: the rows come, and are not called complete."""
    script = ByPosition(60, total=lambda _: None, start=False)
    frame = bktools.load_categories(service=served_by(script))
    assert len(frame) == 60
    assert frame.attrs["bktools"]["verified"] == [["ids", "filters"]]
    assert frame.attrs["bktools"]["complete"] is False


@pytest.mark.parametrize("latency", [0.0, 0.03])
def test_cursors_are_opaque(served_by, latency):
    """Cursors of any letters are sent back as they came, whether the service is fast or slow."""
    script = ByPosition(100)
    slow = (lambda asked: [latency, *script(asked)]) if latency else script
    found = bktools.load_categories(service=served_by(slow))["id"].tolist()
    assert found == [item["id"] for item in script.rows]


@pytest.mark.parametrize("total", [lambda _: 10_000, lambda _: 40, lambda rows: next(ESTIMATES) + len(rows)])
def test_a_count_that_is_an_estimate_needs_a_word(served_by, total):
    """An estimated count is an error with a way out; with that the rows come, with a warning."""
    service = served_by(ByPosition(60, total=total))
    said = r"\([\d,]+ rows came, but the service counts [\d,]+\).*verify='warn' loads it with a warn"
    with pytest.raises(DriftError, match=said):
        bktools.load_categories(service=service)
    with pytest.warns(UnverifiedTableWarning, match="60 rows came") as told:
        frame = bktools.load_categories(verify="warn", service=service)
    assert told[0].filename == __file__
    assert len(frame) == 60
    assert frame.attrs["bktools"]["complete"] is False
    assert "60 rows came" in frame.attrs["bktools"]["complaints"][0]
    assert "total" not in frame.attrs["bktools"]["verified"][0]
    # What was accepted once does not become the truth for somebody who did not accept it.
    with pytest.raises(DriftError):
        bktools.load_categories(service=service)
    with pytest.warns(UnverifiedTableWarning):
        assert len(bktools.load_categories(verify="warn", service=service)) == 60


def test_rows_that_come_twice_are_never_accepted(served_by):
    """An id stands for one row, also for somebody who accepts what is not shown."""

    def spoil(page, begin):
        if begin == 20:
            page["data"] = [row(0), *page["data"][1:]]

    service = served_by(SmallService([row(number) for number in range(43)], spoil=spoil))
    with pytest.raises(DriftError, match=r"second time.*load again$"):
        bktools.load_categories(verify="warn", service=service)


@pytest.mark.parametrize(
    ("company", "filters", "said"),
    [
        (None, {}, "company_id (sent as companyId): 20 of 30"),
        (OTHER, {"ids": [row(1)["id"], row(2)["id"]]}, "ids (sent as ids): 28 of 30"),
        (OTHER, {"account_ids": [OTHER]}, "account_ids (sent as accountIds): 30 of 30"),
        (OTHER, {"category_group_ids": [OTHER]}, "category_group_ids (sent as categoryGroupIds): 30 of 30"),
        (OTHER, {"archived": True}, "archived (sent as archived): 15 of 30"),
    ],
)
def test_categories_that_were_not_asked_for_are_an_error(served_by, company, filters, said):
    """A filter that the service ignores is named, with row count and way out; nothing is kept."""
    owners = [COMPANY if company is None and number % 3 == 0 else OTHER for number in range(30)]
    rows = [row(number) | {"companyId": owner} for number, owner in enumerate(owners)]
    service = served_by(lambda _: only_page(rows, total=30))
    with pytest.raises(UnreadableAnswerError) as caught:
        bktools.load_categories(company, **filters, service=service)
    assert said in str(caught.value)
    assert "verify='warn' loads it with a warning instead" in str(caught.value)
    assert not list(service.settings.cache_dir.rglob("*.parquet"))
    with pytest.warns(UnverifiedTableWarning, match=f"do not match the filter {said.split()[0]}"):
        frame = bktools.load_categories(company, **filters, verify="warn", service=service)
    assert len(frame) == 30
    assert frame.attrs["bktools"]["complete"] is False
    assert "filters" not in frame.attrs["bktools"]["verified"][0]


def employee(number, **fields):
    base = {"id": str(uuid.UUID(int=number + 1)), "companyId": COMPANY, "firstName": "A", "lastName": "B"}
    return base | {"email": f"P{number}@Example.com", "code": f"{number}"} | fields


def employees(*rows):
    return lambda _: only_page(rows, total=len(rows))


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ({"email": "p1@example.com"}, "email (sent as email): 2 of 3"),
        ({"external_id": "1"}, "external_id (sent as code): 2 of 3"),
        ({"company": OTHER}, "company_id (sent as companyId): 3 of 3"),
    ],
)
def test_employees_that_were_not_asked_for_are_an_error(served_by, filters, said):
    """The names of the employee filters are assumed, so a service may not know them."""
    service = served_by(employees(*map(employee, range(3))))
    with pytest.raises(UnreadableAnswerError) as caught:
        bktools.load_employees(**filters, service=service)
    assert said in str(caught.value)


def test_an_e_mail_is_one_address_in_any_case(served_by):
    """Services keep addresses in any case; a row without the field is no proof against the filter."""
    rows = [employee(1), employee(2, email="P1@EXAMPLE.COM"), employee(3, email=None)]
    frame = bktools.load_employees(email="p1@example.com", service=served_by(employees(*rows)))
    assert len(frame) == 3
    assert frame.attrs["bktools"]["complete"]


def test_a_load_that_keeps_nothing(served_by, tmp_path):
    """`cache=False` uses no snapshot and writes nothing to disk."""
    small = SmallService([row(number) for number in range(43)])
    service = served_by(small)
    for _ in range(2):
        frame = bktools.load_categories(cache=False, service=service)
        assert len(frame) == 43
    assert small.count == 2 * 5
    assert frame.attrs["bktools"]["complete"]
    assert not {path.name for path in tmp_path.rglob("*")} & {"snapshots", "key", "pruned"}
