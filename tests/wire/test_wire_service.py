"""The client against the cases typed from the interface: a raw server answers each as it is written."""

from __future__ import annotations

import base64
import json
import re
import warnings
from decimal import Decimal

import msgspec
import pytest
import wire
from scripted_server import ScriptedServer, answer

from bktools import errors
from bktools.contract import ENDPOINTS, NOUNS, rules
from bktools.service import Service
from bktools.service.retry import RetryPolicy
from bktools.settings import load_settings

OPERATIONS = {re.sub(r"\{(\w+)Id\}", r"$\1", endpoint.path): endpoint.operation for endpoint in ENDPOINTS}
# Where the argument of the client is not the name in the request in snake_case.
ARGUMENTS = {("search_employees", "code"): "external_id"}
FILTERS = [item for noun in NOUNS for item in noun.filters]
LISTS = (
    "sorting_keys",
    "sorting_order",
    *(item.sent_as for item in FILTERS if item.rule is rules.unique_uuids),
)

# What a body says that leaves them out (section 4.2): the client writes it.
DEFAULTS = {"create_export_job": {"isInteractive": True, "options": {"vendorBasedBookkeeping": False}}}

ID = "123e4567-e89b-42d3-a456-426614174000"
NAMES = {
    "company": ID.replace("4000", "4001"),
    "company_without_contra_accounts": ID.replace("4000", "4002"),
    "company_without_integration": ID.replace("4000", "4003"),
    "company_with_job": ID.replace("4000", "4004"),
    "account": ID.replace("4000", "4005"),
    "category": ID.replace("4000", "4006"),
    "category_group": ID.replace("4000", "4007"),
    "employee": ID.replace("4000", "4008"),
    "external_id": "0400",
    "account_name": "Bürobedarf",
    "cursor": "ABC234=~",
    "email": "anna+1@b.example",
    "code": "0001",
}

# A request of each operation that the client can make, for the answers to those that it cannot.
ANY = {noun.search.operation: {"company_id": ID} if noun.needs_company else {} for noun in NOUNS} | {
    "create_account": {"company_id": ID, "external_id": "1", "name": "x"},
    "create_export_job": {"accounting_entry_ids": [ID], "company_id": ID},
    "get_employee": {"employee_id": ID},
    "get_balance": {},
}


class Host(ScriptedServer):
    """Answers whatever comes with `status` and `body`."""

    status, body = 200, b""

    def __init__(self):
        kind = "application/json;charset=UTF-8"
        super().__init__(lambda _: answer(self.body, self.status, content_type=kind))


@pytest.fixture(scope="module")
def hosts():
    """Two hosts: the main one and the balance's."""
    opened = {"main": Host(), "balance": Host()}
    yield opened
    for host in opened.values():
        host.stop()


@pytest.fixture
def talk(hosts, _own_folders):
    """Give a client with one kind of credential; nothing is repeated."""
    opened = []

    def begin(**credentials):
        for host in hosts.values():
            host.asked.clear()
        urls = {"base_url": hosts["main"].url, "balance_url": hosts["balance"].url}
        settings = load_settings(**urls, **credentials, requests_per_minute=1_000_000)
        opened.append(Service(settings, retry=RetryPolicy(attempts=1)))
        return opened[-1]

    yield begin
    for service in opened:
        service.close()


def service_of(case, talk):
    if case["request"]["credential"] == "basic":
        return talk(api_key="the-key")
    return talk(token="the-token", balance_token="the-balance-token")


def call_of(case):
    """Return the operation and the arguments that make a case's request."""
    request = case["request"]
    operation = OPERATIONS.get(request["path"].replace(ID, "$employee"), "get_balance")
    sent = wire.filled(request, NAMES)
    arguments = {}
    for name, text in sent["query"]:
        is_number = name in ("limit", "offset") and text.lstrip("-").isdigit()
        value = json.loads(text) if is_number or text in ("true", "false") else text
        arguments[name] = [*arguments.get(name, []), value] if name in LISTS else value
    arguments |= sent.get("body", {})
    options = arguments.pop("options", None)
    if options is not None:
        arguments["vendor_based_bookkeeping"] = options["vendorBasedBookkeeping"]
    if operation == "get_employee":
        arguments["employee_id"] = sent["path"].rpartition("/")[2]
    return operation, {argument_of(name, operation): value for name, value in arguments.items()}


def argument_of(name, operation):
    return ARGUMENTS.get((operation, name)) or re.sub("[A-Z]", lambda capital: f"_{capital[0].lower()}", name)


def ask(service, operation, arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return getattr(service, operation)(**arguments)


@pytest.mark.parametrize("case", wire.cases(), ids=wire.name_of)
def test_client_asks_and_reads_as_the_interface_says(case, hosts, talk):
    """The client sends what a case shows, or refuses before that; it reads the answer or raises."""
    host = hosts[case["request"]["host"]]
    host.status = case["response"]["status"]
    host.body = json.dumps(wire.filled(case["response"]["example"], NAMES), ensure_ascii=False).encode()
    service = service_of(case, talk)
    expected, _, when = case["client"].partition(" before ")
    if expected.startswith("cannot ask"):
        operation = OPERATIONS[case["request"]["path"]]
        with pytest.raises(errors.StatusError, match="x must be y") as raised:
            ask(service, operation, ANY[operation])
        assert (raised.value.status, raised.value.type) == (case["response"]["status"], "INVALID_REQUEST")
        return
    operation, arguments = call_of(case)
    if when:
        with pytest.raises(getattr(errors, expected)):
            ask(service, operation, arguments)
        assert host.asked == []
        return
    if expected == "decodes":
        answer = ask(service, operation, arguments)
        assert differences(wire.filled(case["response"]["example"], NAMES), answer) == []
    else:
        with pytest.raises(getattr(errors, expected)) as raised:
            ask(service, operation, arguments)
        assert type(raised.value) is getattr(errors, expected)
        assert raised.value.status == case["response"]["status"]
        assert raised.value.body == host.body
    assert [sent for other in hosts.values() for sent in other.asked] == host.asked
    assert_sent(case, operation, host)


def assert_sent(case, operation, host):
    """Check the one request that came: method, path, query, headers and body."""
    [sent] = host.asked
    request = wire.filled(case["request"], NAMES)
    assert sent.method == request["method"]
    if (
        operation != "get_balance"
    ):  # the client has one address there, and another one's answer is served at it
        assert sent.path == request["path"]
    query = [(name, value) for name, values in sent.query.items() for value in values]
    assert sorted(query) == sorted(map(tuple, request["query"]))
    assert sent.headers["authorization"] == authorization(request)
    if "body" in request:
        assert sent.headers["content-type"] == "application/json;charset=UTF-8"
        default = DEFAULTS.get(operation, {})
        assert meaning(json.loads(sent.body), default) == meaning(request["body"], default)
    else:
        assert sent.body == b""


def authorization(request):
    """Return the header by section 5; a credential that is wrong is one that the service does not know."""
    if request["credential"] == "basic":
        return "Basic " + base64.b64encode(b"the-key:").decode()
    return "Bearer the-balance-token" if request["host"] == "balance" else "Bearer the-token"


def meaning(body, default):
    """Return a body without nulls, which mean a missing field, and with the documented defaults."""
    return default | {name: value for name, value in body.items() if value is not None}


def differences(example, answer):
    """Return the fields of an answer that the client did not read as they were sent."""
    if isinstance(answer, msgspec.Struct):
        names = {field.encode_name: field.name for field in msgspec.structs.fields(answer)}
        example = example["data"] if "data" in example and "data" not in names else example
        return [
            line
            for name, value in example.items()
            for line in differences(value, getattr(answer, names[name]))
        ]
    if isinstance(example, list):
        assert len(example) == len(answer)
        return [line for pair in zip(example, answer, strict=True) for line in differences(*pair)]
    if isinstance(answer, msgspec.Raw):
        answer = json.loads(bytes(answer))
    if isinstance(answer, Decimal):
        answer, example = str(answer), json.dumps(example)
    return [] if answer == example else [f"{answer!r} instead of {example!r}"]


def test_every_operation_has_a_case():
    """Each operation of the contract is called and read in a case typed from the interface."""
    shown = {OPERATIONS[case["request"]["path"]] for case in wire.cases() if case["client"] == "decodes"}
    assert shown == {endpoint.operation for endpoint in ENDPOINTS}


@pytest.mark.parametrize("operation", ANY)
def test_without_a_credential_nothing_is_sent(operation, hosts, talk):
    """Every operation takes an Authorization header, so the client sends no request without one."""
    service = talk()
    with pytest.raises(errors.ConfigurationError, match="TOKEN"):
        ask(service, operation, ANY[operation])
    assert [host.asked for host in hosts.values()] == [[], []]
