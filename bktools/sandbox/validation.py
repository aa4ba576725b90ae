"""Checks of requests: bodies against the schemas, and query parameters."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NoReturn

from starlette.datastructures import QueryParams
from starlette.requests import Request

from bktools.sandbox.answers import Refusal, invalid
from bktools.sandbox.schemas import Schema

# Largest body of a request, in bytes.
LARGEST_BODY = 64 * 2**20

UUID_TEXT = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_DIGITS = re.compile(r"-?[0-9]{1,40}")


async def body_of(request: Request) -> bytes:
    """Return the bytes of a body; refuse one larger than `LARGEST_BODY` before it is in memory."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > LARGEST_BODY:
            message = f"the body is larger than {LARGEST_BODY // 2**20} MiB"
            raise Refusal(413, "REQUEST_TOO_LARGE", message, {"Connection": "close"})
    return bytes(body)


async def read_body(request: Request, schema: Schema) -> dict[str, Any]:
    """Return the value of every field, None for missing and null ones; refuse a body that breaks a rule.

    UUIDs are in lower case; an object of any content is its JSON text, in the order of its fields' names.
    `request.state.fields` has the names of the fields that the body has.
    """
    _check_media_type(request.headers.get("content-type", ""))
    try:
        text = (await body_of(request)).decode("utf-8")
        sent = json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise invalid("the body is nested too deeply") from None
    except ValueError as error:
        raise invalid(f"the body is no JSON object: {error}") from None
    if not isinstance(sent, dict):
        raise invalid(f"the body must be a JSON object, got {text[:60]}")
    values = _object("", schema, sent)
    request.state.fields = frozenset(sent)
    for name, rule in schema["properties"].items():
        if values[name] is not None and rule.get("additionalProperties") is True:
            values[name] = _canonical(name, values[name])
    return values


def read_query(query: QueryParams, schema: Schema) -> tuple[dict[str, list[str]], dict[str, Any]]:
    """Return a query's parameters as sent, and each value in the schema, as `read_body` does."""
    sent = {name: query.getlist(name) for name in query}
    values: dict[str, Any] = {}
    for name, texts in sent.items():
        type_ = schema["properties"].get(name, {}).get("type")
        if type_ != "array" and len(texts) > 1:
            raise invalid(f"query parameter {name} was given {len(texts)} times; give it once")
        is_number = type_ == "integer" and _DIGITS.fullmatch(texts[0])
        values[name] = texts if type_ == "array" else int(texts[0]) if is_number else texts[0]
    return sent, _object("", schema, values)


def _value(name: str, schema: Schema, sent: Any) -> Any:
    # A nullable one has two types; null was left out before.
    kind, words, rule = _TYPES[schema["type"] if isinstance(schema["type"], str) else schema["type"][0]]
    if not isinstance(sent, kind):
        raise invalid(f"{name} must be {words}, got {json.dumps(sent)[:60]}")
    return rule(name, schema, sent)


def _object(name: str, schema: Schema, sent: dict[str, Any]) -> dict[str, Any]:
    if "properties" not in schema:
        return sent
    prefix = f"{name}." if name else ""
    for field in sent:
        if field not in schema["properties"]:
            raise invalid(f"{prefix + field!r} is unknown; known are {', '.join(schema['properties'])}")
    values = {}
    for field, rule in schema["properties"].items():
        value = sent.get(field)
        if value is None and field in schema["required"]:
            raise invalid(f"{prefix}{field} is required")
        values[field] = None if value is None else _value(prefix + field, rule, value)
    return values


def _list(name: str, schema: Schema, sent: list[Any]) -> list[Any]:
    if len(sent) < schema.get("minItems", 0):
        raise invalid(f"{name} must have at least {schema['minItems']} item")
    values = [_value(f"{name}[{index}]", schema["items"], item) for index, item in enumerate(sent)]
    first: dict[str, int] = {}
    for index, value in enumerate(values if schema.get("uniqueItems") else ()):
        if first.setdefault(value, index) != index:
            raise invalid(f"{name}[{index}] repeats {value}; items must be unique")
    return values


def _text(name: str, schema: Schema, sent: str) -> str:
    if any("\ud800" <= character <= "\udfff" for character in sent):
        raise invalid(f"{name} must be Unicode text, has half of a surrogate pair")
    shortest, longest = schema.get("minLength", 0), schema.get("maxLength", len(sent))
    if not shortest <= len(sent) <= longest:
        raise invalid(f"{name} must have {shortest} to {longest} characters, has {len(sent)}")
    if sent not in schema.get("enum", [sent]):
        raise invalid(f"{name} must be one of {', '.join(schema['enum'])}, got {sent[:60]!r}")
    if "pattern" in schema and not re.fullmatch(schema["pattern"], sent):
        raise invalid(f"{name} must match {schema['pattern']}, got {sent[:60]!r}")
    return uuid_text(name, sent) if schema.get("format") == "uuid" else sent


def _number(name: str, schema: Schema, sent: int) -> int:
    if not schema["minimum"] <= sent <= schema["maximum"]:
        raise invalid(f"{name} must be from {schema['minimum']} to {schema['maximum']}, got {sent}")
    return sent


# By type of a schema: the type in Python, its name in messages, and the rule of its values.
_TYPES: dict[str, tuple[type, str, Callable[[str, Schema, Any], Any]]] = {
    "string": (str, "text", _text),
    "boolean": (bool, "true or false", lambda _name, _schema, sent: sent),
    "integer": (int, "a whole number", _number),
    "array": (list, "a list of UUIDs", _list),
    "object": (dict, "an object", _object),
}


def uuid_text(name: str, text: str) -> str:
    """Return a UUID in lower case."""
    if not UUID_TEXT.fullmatch(text):
        raise invalid(f"{name} must be a UUID, got {text[:60]!r}")
    return text.lower()


def _check_media_type(given: str) -> None:
    if given.partition(";")[0].strip().lower() != "application/json":
        rule = f"send the body as application/json;charset=UTF-8, got {given or 'no content type'}"
        raise Refusal(415, "UNSUPPORTED_MEDIA_TYPE", rule)


def _canonical(name: str, value: object) -> str:
    try:
        return json.dumps(value, sort_keys=True, allow_nan=False)
    except ValueError:
        raise invalid(f"{name} has a number that is too large") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
