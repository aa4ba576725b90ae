"""The OpenAPI document of the sandbox, for generators and fuzzers. A test compares it with the answers."""

from __future__ import annotations

from bktools.contract import ENDPOINTS
from bktools.contract.endpoint import Endpoint
from bktools.sandbox.auth import SCOPES
from bktools.sandbox.nouns import NOUNS
from bktools.sandbox.schemas import SCHEMAS, UUID, Schema, record, ref

# Version of the bookkeeping API definition (interface, section 9).
VERSION = "24.14.0"

_Answers = dict[int, tuple[str, Schema]]


def _data(name: str) -> Schema:
    return record(data=("data!", ref(name)))


def _page(name: str) -> Schema:
    return record(rows=("data!", {"type": "array", "items": ref(name)}), page=("pagination!", ref("Pagination")))


_ERROR = ref("Error")
# Answers that every operation may give, and those of each operation: by status, the meaning and the body.
_REFUSALS: _Answers = {
    400: ("the request breaks a rule", _ERROR),
    401: ("the credential is missing, wrong or expired", ref("ScopeError")),
    403: ("the credential may not do this", ref("ScopeError")),
    413: ("the body is too large", _ERROR),
    415: ("the body has the wrong media type", _ERROR),
    421: ("the Host header names another host", _ERROR),
    429: ("too many requests; Retry-After tells when to retry", _ERROR),
    500: ("a failure of the server", _ERROR),
}
_ANSWERS: dict[str, _Answers] = {
    **{noun.operation: {200: (f"a page of {noun.table}", _page(noun.name))} for noun in NOUNS},
    "create_account": {
        200: ("the account exists with the same data", _data("Account")),
        201: ("the account was created", _data("Account")),
        409: ("the account exists with different data", _ERROR),
    },
    "create_export_job": {
        201: ("the job, pending", _data("ExportJob")),
        400: ("the request breaks a rule, or MISSING_CONTRA_ACCOUNTS", _ERROR),
        404: ("ACCOUNTING_INTEGRATION_NOT_FOUND", _ERROR),
        409: ("EXPORT_ALREADY_IN_PROGRESS", _ERROR),
    },
    "get_employee": {200: ("an employee", _data("Employee")), 404: ("no such employee", _ERROR)},
    "get_balance": {
        200: ("the balance", ref("Balance")),
        500: ("a failure of the server", ref("PlainText")),
    },
}
_BODIES = {
    **{noun.operation: noun.body for noun in NOUNS if noun.body is not None},
    "create_account": "AccountCreate",
    "create_export_job": "ExportJobCreate",
}


def openapi_document(base_url: str, balance_url: str) -> Schema:
    """Return the OpenAPI document of a running sandbox."""
    paths: dict[str, Schema] = {}
    for endpoint in ENDPOINTS:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
        if endpoint.on_balance_host:
            paths[endpoint.path]["servers"] = [{"url": balance_url}]
    records = {noun.name: noun.schema for noun in NOUNS}
    searches = {noun.body: noun.search for noun in NOUNS if noun.body is not None}
    bearer = {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}
    schemes = {"bearer": bearer, "apiKey": {"type": "http", "scheme": "basic"}, "balanceBearer": bearer}
    return {
        "openapi": "3.1.0",
        "info": {"title": "bktools sandbox", "version": VERSION},
        "servers": [{"url": base_url}],
        "paths": paths,
        "components": {"schemas": SCHEMAS | records | searches, "securitySchemes": schemes},
    }


def _operation(endpoint: Endpoint) -> Schema:
    name, on_balance = endpoint.operation, endpoint.on_balance_host
    without = ({400} if on_balance else set()) | (set() if name in _BODIES else {413, 415})
    answers = {status: answer for status, answer in _REFUSALS.items() if status not in without} | _ANSWERS[name]
    operation: Schema = {
        "operationId": name,
        "description": f"Needs the scope {SCOPES[name]}.",
        "security": [{"balanceBearer" if on_balance else "bearer": []}],
        "responses": {
            str(status): {"description": text} | _content(schema) for status, (text, schema) in answers.items()
        },
    }
    if endpoint.takes_api_key:
        operation["security"].append({"apiKey": []})
    if endpoint.deprecated:
        operation["deprecated"] = True
    if name in _BODIES:
        operation["requestBody"] = {"required": True} | _content(ref(_BODIES[name]))
    if parameters := _parameters(name):
        operation["parameters"] = parameters
    return operation


def _parameters(operation: str) -> list[Schema]:
    noun = next((noun for noun in NOUNS if noun.operation == operation), None)
    if noun is not None:
        required, properties = noun.query["required"], noun.query["properties"]
        return [{"name": n, "in": "query", "required": n in required, "schema": s} for n, s in properties.items()]
    if operation == "get_employee":
        return [{"name": "employeeId", "in": "path", "required": True, "schema": UUID}]
    return []


def _content(schema: Schema) -> Schema:
    return {"content": {"application/json": {"schema": schema}}}
