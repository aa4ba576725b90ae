"""The description of the sandbox in OpenAPI, for generators and fuzzers. A test holds it against what is answered."""

from __future__ import annotations

from typing import Any

from bktools.contract import ENDPOINTS
from bktools.contract.accounts import CREATE_ACCOUNT
from bktools.contract.balance import GET_BALANCE
from bktools.contract.categories import SEARCH_CATEGORIES
from bktools.contract.employees import GET_EMPLOYEE, SEARCH_EMPLOYEES
from bktools.contract.endpoint import Credential, Endpoint, Host
from bktools.contract.export_jobs import CREATE_EXPORT_JOB
from bktools.sandbox.auth import SCOPES
from bktools.sandbox.paging import CURSOR_PATTERN, PAGE_ORDERS
from bktools.sandbox.routes import categories, employees
from bktools.sandbox.validation import INT32_MAX, INT64_MAX

# Version of the bookkeeping API definition (interface, section 9).
VERSION = "24.14.0"

Schema = dict[str, Any]

_UUID: Schema = {"type": "string", "format": "uuid"}
_TEXT: Schema = {"type": "string"}
_FLAG: Schema = {"type": "boolean"}
_TIME: Schema = {"type": "string", "format": "date-time"}


def _nullable(schema: Schema) -> Schema:
    return schema | {"type": [schema["type"], "null"]}


def _object(required: str, /, *, closed: bool = False, **properties: Schema) -> Schema:
    schema: Schema = {"type": "object", "required": required.split(), "properties": properties}
    return schema | {"additionalProperties": False} if closed else schema


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


_UUIDS: Schema = {"type": "array", "items": _UUID}
_UNIQUE_UUIDS = _nullable(_UUIDS | {"uniqueItems": True})
_METADATA = _nullable({"type": "object", "additionalProperties": True})

SCHEMAS: dict[str, Schema] = {
    "BookkeepingCategory": _object(
        "id companyId categoryGroupId name archived",
        id=_UUID,
        companyId=_UUID,
        categoryGroupId=_UUID,
        name=_TEXT,
        archived=_FLAG,
        accountId=_nullable(_UUID),
        taxCodeId=_nullable(_UUID),
        metadata=_METADATA,
    ),
    "CategorySearch": _object(
        "companyId",
        closed=True,
        companyId=_UUID,
        ids=_UNIQUE_UUIDS,
        accountIds=_UNIQUE_UUIDS,
        categoryGroupIds=_UNIQUE_UUIDS,
        archived=_nullable(_FLAG),
        name=_nullable(_TEXT),
    ),
    "PageOrder": {"type": "string", "enum": list(PAGE_ORDERS)},
    "CurrentRequestPagination": _object(
        "parameters",
        parameters={"type": "object", "additionalProperties": {"type": "array", "items": _TEXT}},
        after=_TEXT,
        before=_TEXT,
        limit={"type": "integer", "format": "int32"},
        offset={"type": "integer", "format": "int64"},
        sortingKeys={"type": "array", "items": _TEXT},
        sortingOrder={"type": "array", "items": _ref("PageOrder")},
    ),
    "Pagination": _object(
        "currentRequestPagination hasNextPage hasPreviousPage",
        currentRequestPagination=_ref("CurrentRequestPagination"),
        hasNextPage=_FLAG,
        hasPreviousPage=_FLAG,
        startCursor=_TEXT | {"pattern": CURSOR_PATTERN},
        endCursor=_TEXT | {"pattern": CURSOR_PATTERN},
        total={"type": "integer", "format": "int64"},
    ),
    "AccountCreate": _object(
        "archived companyId externalId name",
        closed=True,
        archived=_FLAG,
        companyId=_UUID,
        externalId=_TEXT | {"minLength": 1, "maxLength": 255},
        name=_TEXT | {"maxLength": 255},
        code=_nullable(_TEXT | {"maxLength": 255}),
        metadata=_METADATA,
        taxCodeExternalId=_nullable(_TEXT),
    ),
    "Account": _object(
        "archived code companyId externalId id name taxCodeExternalId metadata",
        archived=_FLAG,
        code=_nullable(_TEXT),
        companyId=_UUID,
        externalId=_TEXT | {"minLength": 1, "maxLength": 255},
        id=_UUID,
        name=_TEXT | {"maxLength": 255},
        taxCodeExternalId=_nullable(_TEXT),
        metadata=_METADATA,
    ),
    "ExportJobCreate": _object(
        "accountingEntryIds companyId",
        closed=True,
        accountingEntryIds=_UUIDS | {"minItems": 1},
        companyId=_UUID,
        employeeId=_nullable(_UUID),
        isInteractive=_nullable(_FLAG | {"default": True}),
        options=_nullable(
            _object("", closed=True, vendorBasedBookkeeping=_nullable(_FLAG | {"default": False})),
        ),
    ),
    "ExportJob": _object(
        "id companyId createdAt expiresIn isInteractive numberOfItems status vendorBasedBookkeeping createdBy lastUpdatedAt",
        id=_UUID,
        companyId=_UUID,
        createdAt=_TIME,
        expiresIn={"type": "integer"},
        isInteractive=_FLAG,
        numberOfItems={"type": "integer"},
        status=_TEXT,
        vendorBasedBookkeeping=_FLAG,
        completedAt=_TIME,
        createdBy=_nullable(_UUID),
        expiredAt=_TIME,
        failureReason=_TEXT,
        failureReasonType=_TEXT,
        lastUpdatedAt=_TIME,
        startedAt=_TIME,
    ),
    "Employee": _object(
        "id companyId email firstName lastName",
        id=_UUID,
        companyId=_UUID,
        email=_TEXT,
        firstName=_TEXT,
        lastName=_TEXT,
        avatar=_object("url", url=_TEXT),
        code=_TEXT,
        jobTitle=_TEXT,
        phone=_TEXT,
        role=_TEXT,
    ),
    "Balance": _object(
        "currency current available", currency=_TEXT, current={"type": "number"}, available={"type": "number"}
    ),
    "Error": _object("type message", type=_TEXT, message=_TEXT),
    "ScopeError": _object(
        "statusCode error message",
        statusCode={"type": "integer", "enum": [401, 403]},
        error=_TEXT,
        message={"type": "string", "enum": ["user_scope_insufficient"]},
    ),
    "PlainText": _TEXT,
}

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
        "200": _response("an employee", _data(_ref("Employee"))),
        "404": _response("there is no such employee", _ref("Error")),
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
                "200": _response("the account existed as sent", _data(_ref("Account"))),
                "201": _response("the account was created", _data(_ref("Account"))),
                "409": _response("the account exists otherwise", _ref("Error")),
            },
        },
        CREATE_EXPORT_JOB.operation: {
            "requestBody": _body("ExportJobCreate"),
            "responses": {
                "201": _response("the job, pending", _data(_ref("ExportJob"))),
                "400": _response("a rule is broken, or MISSING_CONTRA_ACCOUNTS", _ref("Error")),
                "404": _response("ACCOUNTING_INTEGRATION_NOT_FOUND", _ref("Error")),
                "409": _response("EXPORT_ALREADY_IN_PROGRESS", _ref("Error")),
            },
        },
        SEARCH_EMPLOYEES.operation: {
            "parameters": [
                _query("companyId", _UUID),
                *(_query(name, _TEXT) for name in employees.FILTERS if name != "companyId"),
                *_paging_parameters(list(employees.SORTABLE), max_limit),
            ],
            "responses": {"200": _response("a page of employees", _page("Employee"))},
        },
        GET_EMPLOYEE.operation: {
            "parameters": [{"name": "employeeId", "in": "path", "required": True, "schema": _UUID}],
            "responses": found,
        },
        GET_BALANCE.operation: {"responses": {"200": _response("the balance", _ref("Balance"))}},
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
        str(status): _response(text, _ref("PlainText" if balance and status == 500 else "Error"))  # noqa: PLR2004 - HTTP
        for status, text in _REFUSALS.items()
        if status not in left_out
    }
    return found | {str(status): _response(text, _ref("ScopeError")) for status, text in _SCOPE_REFUSALS.items()}


def _paging_parameters(sorting_keys: list[str], max_limit: int) -> list[Schema]:
    cursor = {"type": "string", "pattern": CURSOR_PATTERN}
    key = {"type": "string", "enum": sorting_keys}
    limit = {"type": "integer", "format": "int32", "minimum": 0, "maximum": INT32_MAX}
    return [
        _query("before", cursor, "lower bound cursor; not with after or offset"),
        _query("after", cursor, "upper bound cursor; not with before or offset"),
        _query("offset", {"type": "integer", "format": "int64", "minimum": 0, "maximum": INT64_MAX}),
        _query("limit", limit, f"a page has at most {max_limit} rows, whatever is asked"),
        _query("sorting_keys", {"type": "array", "items": key, "uniqueItems": True}),
        _query("sorting_order", {"type": "array", "items": _ref("PageOrder")}, "one order per sorting key"),
    ]


def _query(name: str, schema: Schema, description: str = "") -> Schema:
    parameter: Schema = {"name": name, "in": "query", "required": False, "schema": schema}
    return parameter | {"description": description} if description else parameter


def _body(name: str) -> Schema:
    return {"required": True, "content": {"application/json": {"schema": _ref(name)}}}


def _response(description: str, schema: Schema) -> Schema:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _data(schema: Schema) -> Schema:
    return _object("data", data=schema)


def _page(name: str) -> Schema:
    return _object("data pagination", data={"type": "array", "items": _ref(name)}, pagination=_ref("Pagination"))
