"""What requests hold (interface, sections 2.2 and 4), and how they are read."""

from __future__ import annotations

import re
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from starlette.requests import Request

from bktools.sandbox.answers import Refusal, invalid

# Largest body of a request, in bytes.
LARGEST_BODY = 64 * 2**20

_UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_DIGITS = re.compile("-?[0-9]{1,40}")


class Uuid(str):
    """A UUID in lower case."""

    __slots__ = ()


def _uuid(kind: type[Uuid], sent: object) -> Uuid:
    if not isinstance(sent, str) or not _UUID.fullmatch(sent.lower()):
        raise ValueError("Expected a UUID")
    return kind(sent.lower())


Cursor = Annotated[str, Meta(pattern=r"^[A-Z2-7=~]+\Z")]
ShortText = Annotated[str, Meta(max_length=255)]
Sent = TypeVar("Sent", bound=Struct)


class Paging(Struct, kw_only=True, forbid_unknown_fields=True):
    """The query parameters of a page."""

    before: Cursor | None = None
    after: Cursor | None = None
    offset: Annotated[int, Meta(ge=0, le=2**63 - 1)] | None = None
    limit: Annotated[int, Meta(ge=0, le=2**31 - 1)] | None = None
    sorting_keys: list[str] = []
    sorting_order: list[str] = []


class EmployeeSearch(Paging):
    """The query parameters of the search for employees."""

    company_id: Uuid | None = msgspec.field(default=None, name="companyId")
    email: str | None = None
    code: str | None = None


class _Body(Struct, rename="camel", forbid_unknown_fields=True):
    pass


class CategorySearch(_Body):
    """The body of the search for categories."""

    company_id: Uuid
    ids: list[Uuid] | None = None
    account_ids: list[Uuid] | None = None
    category_group_ids: list[Uuid] | None = None
    archived: bool | None = None
    name: str | None = None


class AccountCreate(_Body):
    """The body that creates an account."""

    archived: bool
    company_id: Uuid
    external_id: Annotated[str, Meta(min_length=1, max_length=255)]
    name: ShortText
    code: ShortText | None = None
    metadata: dict[str, Any] | None = None
    tax_code_external_id: str | UnsetType | None = UNSET


class JobOptions(_Body):
    """The options of an export job."""

    vendor_based_bookkeeping: bool | None = False


class ExportJobCreate(_Body):
    """The body that creates an export job."""

    accounting_entry_ids: Annotated[list[Uuid], Meta(min_length=1)]
    company_id: Uuid
    employee_id: Uuid | None = None
    is_interactive: bool | None = True
    options: JobOptions | None = None


# Made here, because two threads must not make one at the same time.
_DECODERS: dict[type[Struct], msgspec.json.Decoder[Any]] = {
    kind: msgspec.json.Decoder(kind, dec_hook=_uuid)
    for kind in (CategorySearch, AccountCreate, ExportJobCreate)
}


async def body_of(request: Request) -> bytes:
    """Return the bytes of a body; refuse one larger than `LARGEST_BODY` before it is in memory."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > LARGEST_BODY:
            message = f"the body is larger than {LARGEST_BODY // 2**20} MiB"
            raise Refusal(413, "REQUEST_TOO_LARGE", message, {"Connection": "close"})
    return bytes(body)


async def read_body(request: Request, kind: type[Sent]) -> Sent:
    """Return the body of a request; refuse one that breaks a rule of the interface."""
    given = request.headers.get("content-type", "")
    if given.partition(";")[0].strip().lower() != "application/json":
        rule = f"send the body as application/json;charset=UTF-8, got {given or 'no content type'}"
        raise Refusal(415, "UNSUPPORTED_MEDIA_TYPE", rule)
    try:
        sent: Sent = _DECODERS[kind].decode(await body_of(request))
    except (msgspec.DecodeError, RecursionError) as error:
        raise invalid(f"the body cannot be used: {error}") from None
    return _without_repetitions(sent)


def read_query(request: Request, kind: type[Sent]) -> tuple[dict[str, list[str]], Sent]:
    """Return the parameters of a query as sent, and as they are read."""
    sent = {name: request.query_params.getlist(name) for name in request.query_params}
    values: dict[str, Any] = {}
    for name, texts in sent.items():
        is_list = name.startswith("sorting")
        if len(texts) > 1 and not is_list:
            raise invalid(f"query parameter {name} was given {len(texts)} times; give it once")
        is_number = name in {"offset", "limit"} and _DIGITS.fullmatch(texts[0])
        values[name] = texts if is_list else int(texts[0]) if is_number else texts[0]
    try:
        return sent, msgspec.convert(values, kind, dec_hook=_uuid)
    except msgspec.ValidationError as error:
        raise invalid(f"the query cannot be used: {error}") from None


def _without_repetitions(sent: Sent) -> Sent:
    """Refuse a list of identifiers that has one twice (interface, section 2.2)."""
    for name in ("ids", "account_ids", "category_group_ids"):
        values = getattr(sent, name, None) or []
        if len({*values}) < len(values):
            raise invalid(f"{name} repeats an identifier; items must be unique")
    return sent
