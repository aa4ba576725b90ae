"""The OpenAPI document of the sandbox, for generators and fuzzers. A test compares it with the answers."""

from __future__ import annotations

from http import HTTPStatus

from bktools.contract import ENDPOINTS
from bktools.contract.endpoint import Endpoint
from bktools.sandbox.auth import SCOPES
from bktools.sandbox.nouns import NOUNS
from bktools.sandbox.schemas import SCHEMAS, UUID, Schema, record, ref

# Version of the bookkeeping API definition (interface, section 9).
VERSION = "24.14.0"


def _data(name: str) -> Schema:
    return record(data=("data!", ref(name)))


def _page(name: str) -> Schema:
    return record(rows=("data!", {"type": "array", "items": ref(name)}), page=("pagination!", ref("Pagination")))


_ERROR, _SCOPE = ref("Error"), ref("ScopeError")
# The bodies of answers by status: those that every operation may give, and those of each operation.
_REFUSALS = {400: _ERROR, 401: _SCOPE, 403: _SCOPE, 413: _ERROR, 415: _ERROR, 421: _ERROR, 429: _ERROR, 500: _ERROR}
_ANSWERS = {
    **{noun.operation: {200: _page(noun.name)} for noun in NOUNS},
    "create_account": {200: _data("Account"), 201: _data("Account"), 409: _ERROR},
    "create_export_job": {201: _data("ExportJob"), 404: _ERROR, 409: _ERROR},
    "get_employee": {200: _data("Employee"), 404: _ERROR},
    "get_balance": {200: ref("Balance"), 500: ref("PlainText")},
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
        "deprecated": endpoint.deprecated,
        "parameters": _parameters(name),
        "security": [{"balanceBearer" if on_balance else "bearer": []}],
        "responses": {
            str(status): {"description": HTTPStatus(status).phrase} | _content(schema)
            for status, schema in answers.items()
        },
    }
    if endpoint.takes_api_key:
        operation["security"].append({"apiKey": []})
    if name in _BODIES:
        operation["requestBody"] = {"required": True} | _content(ref(_BODIES[name]))
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
