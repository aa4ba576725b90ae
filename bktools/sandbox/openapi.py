"""The description of the sandbox in OpenAPI, for generators and fuzzers. A test holds it against what is answered."""

from __future__ import annotations

from bktools.contract import ENDPOINTS
from bktools.contract.accounts import CREATE_ACCOUNT
from bktools.contract.balance import GET_BALANCE
from bktools.contract.categories import SEARCH_CATEGORIES
from bktools.contract.employees import GET_EMPLOYEE, SEARCH_EMPLOYEES
from bktools.contract.endpoint import Credential, Endpoint, Host
from bktools.contract.export_jobs import CREATE_EXPORT_JOB
from bktools.sandbox.auth import SCOPES
from bktools.sandbox.routes import categories, employees
from bktools.sandbox.schemas import CURSOR, SCHEMAS, TEXT, UUID, Schema, record, ref
from bktools.sandbox.validation import INT32_MAX, INT64_MAX

# Version of the bookkeeping API definition (interface, section 9).
VERSION = "24.14.0"

_REFUSALS = {
    400: "a rule of the request is broken",
    413: "the body is too large",
    415: "the body is of another media type",
    421: "the Host header is of another host",
    429: "too many requests; Retry-After says when to come again",
    500: "a failure of the server",
}
_SCOPE_REFUSALS = {401: "the credential is missing, wrong or expired", 403: "the credential may not do this"}


def openapi_document(base_url: str, balance_url: str, max_limit: int) -> Schema:
    """Return the OpenAPI document of a running sandbox."""
    described = _operations(max_limit)
    paths: dict[str, Schema] = {}
    for endpoint in ENDPOINTS:
        operation = _common(endpoint) | described[endpoint.operation]
        responses = _refusals(endpoint, with_body="requestBody" in operation) | operation["responses"]
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = operation | {"responses": responses}
        if endpoint.host is Host.BALANCE:
            paths[endpoint.path]["servers"] = [{"url": balance_url}]
    return {
        "openapi": "3.1.0",
        "info": {"title": "bktools sandbox", "version": VERSION},
        "servers": [{"url": base_url}],
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
                "apiKey": {"type": "http", "scheme": "basic"},
                "balanceBearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
            },
        },
    }


def _operations(max_limit: int) -> dict[str, Schema]:
    found = {
        "200": _response("an employee", _data(ref("Employee"))),
        "404": _response("there is no such employee", ref("Error")),
    }
    return {
        SEARCH_CATEGORIES.operation: {
            "parameters": _paging_parameters(list(categories.SORTABLE), max_limit),
            "requestBody": _body("CategorySearch"),
            "responses": {"200": _response("a page of categories", _page("BookkeepingCategory"))},
        },
        CREATE_ACCOUNT.operation: {
            "requestBody": _body("AccountCreate"),
            "responses": {
                "200": _response("the account existed as sent", _data(ref("Account"))),
                "201": _response("the account was created", _data(ref("Account"))),
                "409": _response("the account exists otherwise", ref("Error")),
            },
        },
        CREATE_EXPORT_JOB.operation: {
            "requestBody": _body("ExportJobCreate"),
            "responses": {
                "201": _response("the job, pending", _data(ref("ExportJob"))),
                "400": _response("a rule is broken, or MISSING_CONTRA_ACCOUNTS", ref("Error")),
                "404": _response("ACCOUNTING_INTEGRATION_NOT_FOUND", ref("Error")),
                "409": _response("EXPORT_ALREADY_IN_PROGRESS", ref("Error")),
            },
        },
        SEARCH_EMPLOYEES.operation: {
            "parameters": [
                _query("companyId", UUID),
                *(_query(name, TEXT) for name in employees.FILTERS if name != "companyId"),
                *_paging_parameters(list(employees.SORTABLE), max_limit),
            ],
            "responses": {"200": _response("a page of employees", _page("Employee"))},
        },
        GET_EMPLOYEE.operation: {
            "parameters": [{"name": "employeeId", "in": "path", "required": True, "schema": UUID}],
            "responses": found,
        },
        GET_BALANCE.operation: {"responses": {"200": _response("the balance", ref("Balance"))}},
    }


def _common(endpoint: Endpoint) -> Schema:
    security: list[Schema] = [{"balanceBearer" if endpoint.host is Host.BALANCE else "bearer": []}]
    if Credential.API_KEY in endpoint.credentials:
        security.append({"apiKey": []})
    common: Schema = {
        "operationId": endpoint.operation,
        "description": f"Needs the scope {SCOPES[endpoint.operation]}.",
        "security": security,
    }
    return common | {"deprecated": True} if endpoint.deprecated else common


def _refusals(endpoint: Endpoint, *, with_body: bool) -> Schema:
    balance = endpoint.host is Host.BALANCE
    left_out = ({400} if balance else set()) | (set() if with_body else {413, 415})
    found = {
        str(status): _response(text, ref("PlainText" if balance and status == 500 else "Error"))  # noqa: PLR2004 - HTTP
        for status, text in _REFUSALS.items()
        if status not in left_out
    }
    return found | {str(status): _response(text, ref("ScopeError")) for status, text in _SCOPE_REFUSALS.items()}


def _paging_parameters(sorting_keys: list[str], max_limit: int) -> list[Schema]:
    key = {"type": "string", "enum": sorting_keys}
    limit = {"type": "integer", "format": "int32", "minimum": 0, "maximum": INT32_MAX}
    return [
        _query("before", CURSOR, "lower bound cursor; not with after or offset"),
        _query("after", CURSOR, "upper bound cursor; not with before or offset"),
        _query("offset", {"type": "integer", "format": "int64", "minimum": 0, "maximum": INT64_MAX}),
        _query("limit", limit, f"a page has at most {max_limit} rows, whatever is asked"),
        _query("sorting_keys", {"type": "array", "items": key, "uniqueItems": True}),
        _query("sorting_order", {"type": "array", "items": ref("PageOrder")}, "one order per sorting key"),
    ]


def _query(name: str, schema: Schema, description: str = "") -> Schema:
    parameter: Schema = {"name": name, "in": "query", "required": False, "schema": schema}
    return parameter | {"description": description} if description else parameter


def _body(name: str) -> Schema:
    return {"required": True, "content": {"application/json": {"schema": ref(name)}}}


def _response(description: str, schema: Schema) -> Schema:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _data(schema: Schema) -> Schema:
    return record(data=("data!", schema))


def _page(name: str) -> Schema:
    return record(rows=("data!", {"type": "array", "items": ref(name)}), page=("pagination!", ref("Pagination")))
