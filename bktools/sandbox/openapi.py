"""The OpenAPI document of the sandbox, for generators and fuzzers. A test compares it with the answers."""

from __future__ import annotations

from http import HTTPStatus

from bktools.contract import ENDPOINTS
from bktools.contract.endpoint import Endpoint
from bktools.sandbox.nouns import NOUNS
from bktools.sandbox.routes import SERVED
from bktools.sandbox.schemas import SCHEMAS, Schema, ref

# Version of the bookkeeping API definition (interface, section 9).
VERSION = "24.14.0"

_ERROR, _SCOPE = ref("Error"), ref("ScopeError")
# Answers that any operation may give.
_REFUSALS = {400: _ERROR, 401: _SCOPE, 403: _SCOPE, 415: _ERROR, 421: _ERROR, 429: _ERROR, 500: _ERROR}


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
    operation, on_balance = SERVED[endpoint.operation], endpoint.on_balance_host
    without = ({400} if on_balance else set()) | (set() if operation.body else {415})
    answers = {
        status: answer for status, answer in _REFUSALS.items() if status not in without
    } | operation.answers
    parameters = operation.parameters
    described: Schema = {
        "operationId": endpoint.operation,
        "description": f"Needs the scope {operation.scope}.",
        "deprecated": endpoint.deprecated,
        "parameters": [
            {
                "name": name,
                "in": "path" if f"{{{name}}}" in endpoint.path else "query",
                "required": name in parameters["required"],
                "schema": schema,
            }
            for name, schema in parameters["properties"].items()
        ],
        "security": [{"balanceBearer" if on_balance else "bearer": []}],
        "responses": {
            str(status): {"description": HTTPStatus(status).phrase} | _content(schema)
            for status, schema in answers.items()
        },
    }
    if endpoint.takes_api_key:
        described["security"].append({"apiKey": []})
    if operation.body:
        described["requestBody"] = {"required": True} | _content(ref(operation.body))
    return described


def _content(schema: Schema) -> Schema:
    return {"content": {"application/json": {"schema": schema}}}
