"""What the service takes: the rules of fields in bodies and of parameters in queries, written from the interface."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from starlette.datastructures import QueryParams
from starlette.requests import Request

from bktools.sandbox.answers import Refusal, invalid

LARGEST_BODY = 4 * 1024 * 1024
_LARGEST_READ = 16 * LARGEST_BODY
INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_SPACE = re.compile(r"[ \t\n\r]*")
_DIGITS = re.compile(r"-?[0-9]{1,40}")


class Sent(NamedTuple):
    """A value of a body, and its JSON to the letter."""

    value: Any
    text: str


class Number(NamedTuple):
    """A number of a body as it was written: no field of a body is one, metadata keep theirs."""

    text: str


@dataclass(frozen=True)
class Field:
    """A field of a body: how it is read, and whether it must be there."""

    read: Callable[[str, Sent], Any]
    required: bool = False


async def read_body(request: Request, fields: Mapping[str, Field]) -> dict[str, Any]:
    """Return every field's value, None where it was left out or null; refuse what breaks a rule."""
    _check_media_type(request.headers.get("content-type"))
    sent = _json_object(await _whole_body(request))
    for name in sent:
        if name not in fields:
            raise invalid(f"unknown field {name!r}; known are {', '.join(fields)}")
    values: dict[str, Any] = {}
    for name, field in fields.items():
        given = sent.get(name)
        if given is None or given.value is None:
            if field.required:
                raise invalid(f"{name} is required")
            values[name] = None
        else:
            values[name] = field.read(name, given)
    return values


def known_parameters(query: QueryParams, known: tuple[str, ...], lists: tuple[str, ...] = ()) -> dict[str, list[str]]:
    """Return the query's parameters with their values; refuse unknown ones and a repeat of what is no list."""
    found: dict[str, list[str]] = {}
    for name, value in query.multi_items():
        if name not in known:
            raise invalid(f"unknown query parameter {name!r}; known are {', '.join(known)}")
        found.setdefault(name, []).append(value)
    for name, values in found.items():
        if len(values) > 1 and name not in lists:
            raise invalid(f"query parameter {name} was given {len(values)} times; give it once")
    return found


def whole_number(name: str, text: str, largest: int) -> int:
    """Return a query parameter that must be a number from 0 up."""
    if not _DIGITS.fullmatch(text):
        raise invalid(f"{name} must be a whole number, got {text[:60]!r}")
    number = int(text)
    if not 0 <= number <= largest:
        raise invalid(f"{name} must be from 0 to {largest}, got {number}")
    return number


def uuid_text(name: str, text: str) -> str:
    """Return a UUID in lower case."""
    if not _UUID.fullmatch(text):
        raise invalid(f"{name} must be a UUID, got {text[:60]!r}")
    return text.lower()


def read_uuid(name: str, sent: Sent) -> str:
    """Read a UUID."""
    return uuid_text(name, read_text(name, sent))


def read_text(name: str, sent: Sent) -> str:
    """Read text of any length."""
    if not isinstance(sent.value, str):
        raise invalid(f"{name} must be text, got {sent.text[:60]}")
    if any("\ud800" <= character <= "\udfff" for character in sent.value):
        raise invalid(f"{name} must be Unicode text, has half of a surrogate pair")
    return sent.value


def text_of(shortest: int, longest: int) -> Callable[[str, Sent], str]:
    """Return a reader of text whose length in characters lies within the bounds."""

    def read(name: str, sent: Sent) -> str:
        text = read_text(name, sent)
        if not shortest <= len(text) <= longest:
            raise invalid(f"{name} must have {shortest} to {longest} characters, has {len(text)}")
        return text

    return read


def read_flag(name: str, sent: Sent) -> bool:
    """Read true or false."""
    if not isinstance(sent.value, bool):
        raise invalid(f"{name} must be true or false, got {sent.text[:60]}")
    return sent.value


def read_uuids(name: str, sent: Sent) -> list[str]:
    """Read a list of UUIDs."""
    if not isinstance(sent.value, list):
        raise invalid(f"{name} must be a list of UUIDs, got {sent.text[:60]}")
    return [read_uuid(f"{name}[{index}]", Sent(item, _shown(item))) for index, item in enumerate(sent.value)]


def read_unique_uuids(name: str, sent: Sent) -> list[str]:
    """Read a list of UUIDs in which none comes twice."""
    values = read_uuids(name, sent)
    seen: set[str] = set()
    for index, value in enumerate(values):
        if value in seen:
            raise invalid(f"{name}[{index}] repeats {value}; items must be unique")
        seen.add(value)
    return values


def read_object(name: str, sent: Sent) -> str:
    """Read an object of any content and return its JSON as it was sent."""
    if not isinstance(sent.value, dict):
        raise invalid(f"{name} must be an object, got {sent.text[:60]}")
    return sent.text


def same_json(one: str | None, other: str | None) -> bool:
    """Whether two objects, as they were sent, are the same but for spaces and the order of their fields."""
    return one == other or (one is not None and other is not None and _DECODER.decode(one) == _DECODER.decode(other))


def _shown(item: object) -> str:
    return item.text if isinstance(item, Number) else json.dumps(item)


def _check_media_type(given: str | None) -> None:
    media_type, *parameters = [part.strip().lower() for part in (given or "").split(";")]
    charset = next((part[8:].strip('"') for part in parameters if part.startswith("charset=")), "utf-8")
    if media_type != "application/json" or charset not in {"utf-8", "utf8"}:
        rule = f"send the body as application/json;charset=UTF-8, got {given or 'no content type'}"
        raise Refusal(415, "UNSUPPORTED_MEDIA_TYPE", rule)


async def _whole_body(request: Request) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size <= LARGEST_BODY:
            parts.append(part)
        # What is too much is read on for a while without being kept: a client that still sends would see the
        # connection break instead of the answer.
        elif size > _LARGEST_READ:
            break
    if size > LARGEST_BODY:
        rule = f"a body may have at most {LARGEST_BODY} bytes"
        raise Refusal(413, "PAYLOAD_TOO_LARGE", rule, {"Connection": "close"})
    return b"".join(parts)


def _json_object(body: bytes) -> dict[str, Sent]:
    try:
        return _fields(body.decode("utf-8"))
    except RecursionError:
        raise invalid("the body is nested too deeply") from None
    except ValueError as error:
        raise invalid(f"the body is no JSON object: {error}") from None


def _fields(text: str) -> dict[str, Sent]:
    """Return the fields of an object, each with its JSON as it stands in the text."""
    fields: dict[str, Sent] = {}
    at, _ = _past(text, 0, "{")
    closed = text.startswith("}", at)
    if closed:
        at, _ = _past(text, at, "}")
    while not closed:
        if not text.startswith('"', at):
            raise _unexpected(text, at)
        name, at = _decoded(text, at)
        start, _ = _past(text, at, ":")
        value, end = _decoded(text, start)
        fields[name] = Sent(value, text[start:end])
        at, sign = _past(text, end, ",}")
        closed = sign == "}"
    if at != len(text):
        raise _unexpected(text, at)
    return fields


def _decoded(text: str, at: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except StopIteration:
        raise _unexpected(text, at) from None


def _past(text: str, at: int, signs: str) -> tuple[int, str]:
    """Return the place after one of the signs and the spaces around it, and the sign."""
    at = _after_space(text, at)
    sign = text[at : at + 1]
    if not sign or sign not in signs:
        raise _unexpected(text, at)
    return _after_space(text, at + 1), sign


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _unexpected(text: str, at: int) -> ValueError:
    return ValueError(f"unexpected {text[at : at + 10]!r} at character {at}" if text[at:] else "it ends too early")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


# Numbers stay text: metadata may hold ones that no Python number keeps as they were written.
_DECODER = json.JSONDecoder(parse_int=Number, parse_float=Number, parse_constant=_no_constant)
