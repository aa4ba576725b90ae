"""The six operations over real HTTP against the sandbox."""

from __future__ import annotations

import uuid

import pytest
from scripted_server import answer
from small_service import COMPANY

from bktools.errors import (
    ArgumentError,
    ConfigurationError,
    ConnectionLostError,
)
from bktools.sandbox import Fault


def test_a_search_gives_typed_records_and_the_envelope(service):
    """A page holds categories with the interface's fields and says where the next one begins."""
    page = service.search_categories(service.settings.company, limit=7)
    assert len(page.data) == 7
    assert page.pagination.has_next_page
    assert {record.company_id for record in page.data} == {service.settings.company}
    following = service.search_categories(service.settings.company, limit=7, after=page.pagination.end_cursor)
    assert {record.id for record in page.data}.isdisjoint({record.id for record in following.data})

    at_offset = service.search_categories(service.settings.company, limit=7, offset=7)
    assert at_offset.data == following.data


@pytest.mark.parametrize("operation", ["create_account", "create_export_job"])
def test_what_creates_is_sent_once(sandbox, service, operation):
    """Where the answer is lost, nothing is sent again: only what reads the journal may repeat it."""
    sandbox.server.inject(Fault("drop", operation, times=1))
    arguments = (service.settings.company, "0400-y", "Tools"), ([str(uuid.uuid4())], service.settings.company)
    with pytest.raises(ConnectionLostError):
        getattr(service, operation)(*arguments[operation == "create_export_job"])


def test_a_balance_without_its_host(converse):
    """With the main host alone, the message names the other's setting, and nothing is sent."""
    service = converse("https://books.example.com")
    error = pytest.raises(ConfigurationError, match="get_balance has its own host: set BKTOOLS_BALANCE_URL")
    with pytest.warns(DeprecationWarning, match="deprecated"), error:
        service.get_balance()


CALLS = {
    "search_categories": lambda service: service.search_categories(COMPANY),
    "create_account": lambda service: service.create_account(COMPANY, "0400", "Bank"),
    "create_export_job": lambda service: service.create_export_job([COMPANY], COMPANY),
    "search_employees": lambda service: service.search_employees(),
    "get_employee": lambda service: service.get_employee(COMPANY),
    "get_balance": lambda service: service.get_balance(),
}


@pytest.mark.filterwarnings("ignore:the service has deprecated")
@pytest.mark.parametrize("operation", CALLS)
def test_a_closed_service_does_nothing(serve, converse, operation):
    """Every operation says that the connection is closed, and how to connect again; nothing is sent."""
    server = serve(lambda _: answer({}))
    service = converse(server, balance_url=server.url, balance_token="the-balance-token")
    service.close()
    service.close()
    with pytest.raises(ArgumentError, match=r"service is closed, nothing was sent.*bktools\.connect"):
        CALLS[operation](service)
    assert server.asked == []
