"""Every bound, pattern and rule of the interface stops a bad argument before anything is sent."""

from __future__ import annotations

import json
import uuid

import pytest

from bktools.contract import accounts, categories, export_jobs
from bktools.contract.paging import PAGE_ORDERS, page_query
from bktools.errors import ArgumentError
from bktools.service.companies import company_ids
from bktools.settings import load_settings

ID = "123e4567-e89b-42d3-a456-426614174000"
OTHER = "9b2f9a3e-3f0c-4d62-8f0e-0d6f3a1c2b4d"

# What the cases of the wire cannot show: values that JSON or a query cannot hold, and the words.
BAD_PAGES = [
    ({"before": "A", "after": "B"}, "after cannot be combined with before"),
    ({"after": b"AB"}, "after must be a cursor"),
    ({"after": "A\x1b[0m"}, "after must be a cursor"),
    ({"before": "A\n"}, "before must be a cursor"),
    ({"offset": 2**63}, "offset must be at most"),
    ({"limit": 1.5}, "limit must be a whole number"),
    ({"limit": True}, "limit must be a whole number"),
    ({"sorting_keys": "name"}, "sorting_keys must be a list of texts"),
    ({"sorting_keys": ["name"]}, r"sorting_order must have one entry per sorting key \(1\), has 0"),
    ({"sorting_keys": ["name"], "sorting_order": ["UP"]}, r"sorting_order\[0\] must be one of ASC"),
]


def request_of(noun, given):
    """Return query parameters and body of a search with filters as a caller gives them."""
    query, body = noun.request(noun.checked(given))
    return query, None if body is None else json.loads(body)


def test_good_pages():
    """The bounds themselves are allowed, and lists become repeated keys."""
    assert page_query(offset=0, limit=0) == [("offset", "0"), ("limit", "0")]
    assert page_query(offset=2**63 - 1, limit=2**31 - 1)[0] == ("offset", str(2**63 - 1))
    # Opaque: what a service gave is sent back as it came, whatever alphabet it is written in.
    for cursor in ("AZ27=~", "eyJpZCI6IDd9-_", "a+/b==", "7", "é b"):
        assert page_query(after=cursor) == [("after", cursor)]
    order = {"sorting_keys": ["name", "id"], "sorting_order": ["ASC", "DESC_NULLS_LAST"]}
    assert page_query(**order) == [(name, value) for name, values in order.items() for value in values]
    for order in PAGE_ORDERS:
        page_query(sorting_keys=["name"], sorting_order=[order])


BAD_CATEGORY_FILTERS = [
    ({"company_id": None}, "company_id must be a UUID"),
    ({"company_id": f"{ID}\n"}, "company_id must be a UUID"),
    ({"ids": ID}, "ids must be a list of UUIDs"),
    ({"account_ids": ["x"]}, r"account_ids\[0\] must be a UUID"),
    ({"archived": 1}, "archived must be True or False"),
    ({"name": 5}, "name must be text"),
]


def test_a_company_of_several_that_is_none():
    """It is told by its place in the list."""
    with pytest.raises(ArgumentError, match=r"company\[1\] must be a UUID or a company of the config file"):
        company_ids([ID, "acme"], load_settings("sandbox", env={}))


BANK = {"company_id": ID, "external_id": "0400", "name": "Bank", "archived": False}
BAD_ACCOUNTS = [
    ({"external_id": "x" * 256}, "external_id must have at most 255 characters, has 256"),
    ({"external_id": 400}, "external_id must be text"),
    ({"name": None}, "name must be text"),
    ({"metadata": {"x": float("nan")}}, "metadata must hold only values that JSON supports"),
]


def test_account_body_keeps_text_to_the_letter():
    """Leading zeros, trailing spaces and the longest texts go out as they are."""
    fields = {"company_id": ID, "external_id": "0" * 255, "name": "Büro ", "archived": False, "code": "0400"}
    body = accounts.create_body(**fields, metadata={"a": [1, None]}, tax_code_external_id="V")
    sent = {"archived": False, "companyId": ID, "externalId": "0" * 255, "name": "Büro ", "code": "0400"}
    assert body == sent | {"metadata": {"a": [1, None]}, "taxCodeExternalId": "V"}


BAD_JOBS = [
    ({"accounting_entry_ids": [ID, ID]}, r"accounting_entry_ids\[1\] must not repeat"),
    ({"accounting_entry_ids": ["x"]}, r"accounting_entry_ids\[0\] must be a UUID"),
    ({"vendor_based_bookkeeping": 1}, "vendor_based_bookkeeping must be True or False"),
]


def test_export_job_body_is_the_same_bytes_each_time():
    """The same arguments give the same bytes, with the interface's names and defaults."""
    body = export_jobs.create_body([ID], OTHER)
    assert body == export_jobs.create_body([uuid.UUID(ID)], OTHER.upper())
    sent = {"accountingEntryIds": [ID], "companyId": OTHER, "employeeId": None, "isInteractive": True}
    assert json.loads(body) == sent | {"options": {"vendorBasedBookkeeping": False}}


CALLS = (
    (page_query, BAD_PAGES),
    (lambda **given: request_of(categories.CATEGORIES, {"company_id": ID} | given), BAD_CATEGORY_FILTERS),
    (lambda **given: accounts.create_body(**BANK | given), BAD_ACCOUNTS),
    (
        lambda **given: export_jobs.create_body(
            **{"accounting_entry_ids": [ID], "company_id": OTHER} | given
        ),
        BAD_JOBS,
    ),
)


@pytest.mark.parametrize(
    ("call", "arguments", "message"), [(call, *case) for call, cases in CALLS for case in cases]
)
def test_bad_arguments(call, arguments, message):
    """A page, a filter, an account or a job that breaks a rule names the argument and the rule, in a line."""
    with pytest.raises(ArgumentError, match=message) as caught:
        call(**arguments)
    assert "\n" not in str(caught.value)
