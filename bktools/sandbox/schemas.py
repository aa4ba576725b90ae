"""The objects of the service, besides those of `nouns`. Request bodies are checked against them."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

CURSOR_PATTERN = "^[A-Z2-7=~]+$"

# Whether an order is descending and has nulls first. By default a null is larger than every value.
PAGE_ORDERS = {
    "ASC": (False, False),
    "ASC_NULLS_FIRST": (False, True),
    "ASC_NULLS_LAST": (False, False),
    "DESC": (True, True),
    "DESC_NULLS_FIRST": (True, True),
    "DESC_NULLS_LAST": (True, False),
}

UUID: Schema = {"type": "string", "format": "uuid"}
TEXT: Schema = {"type": "string"}
CURSOR = TEXT | {"pattern": CURSOR_PATTERN}
PAGE_ORDER = TEXT | {"enum": list(PAGE_ORDERS)}
FLAG: Schema = {"type": "boolean"}
UUIDS: Schema = {"type": "array", "items": UUID, "uniqueItems": True}

# The parameters of a page (interface, section 4.1).
PAGING: dict[str, Schema] = {
    "before": CURSOR | {"description": "lower bound cursor; not with after or offset"},
    "after": CURSOR | {"description": "upper bound cursor; not with before or offset"},
    "offset": {"type": "integer", "format": "int64", "minimum": 0, "maximum": 2**63 - 1},
    "limit": {
        "type": "integer",
        "format": "int32",
        "minimum": 0,
        "maximum": 2**31 - 1,
        "description": "a page may have fewer rows",
    },
    "sorting_keys": {"type": "array", "items": TEXT, "uniqueItems": True},
    "sorting_order": {"type": "array", "items": PAGE_ORDER, "description": "one order per sorting key"},
}


def ref(name: str) -> Schema:
    """Return the reference to one of `SCHEMAS`."""
    return {"$ref": f"#/components/schemas/{name}"}


def data_of(name: str) -> Schema:
    """Return the schema of an answer with one record."""
    return record(data=("data!", ref(name)))


def page_of(name: str) -> Schema:
    """Return the schema of a page of records."""
    return record(rows=("data!", {"type": "array", "items": ref(name)}), page=("pagination!", ref("Pagination")))


def nullable(schema: Schema) -> Schema:
    """Return a schema that null fits, too."""
    return schema | {"type": [schema["type"], "null"]}


def record(*, closed: bool = False, **names_by_type: str | tuple[str, Schema]) -> Schema:
    """Return the schema of an object from its fields' names by type: `!` marks a required one, `?` a nullable one.

    A type that `_TYPES` lacks is described as a schema beside the names.
    """
    required, properties = [], {}
    for type_, described in names_by_type.items():
        names, schema = (described, _TYPES[type_]) if isinstance(described, str) else described
        for marked in names.split():
            name = marked.rstrip("!?")
            required += [name] * ("!" in marked)
            properties[name] = nullable(schema) if "?" in marked else schema
    schema_: Schema = {"type": "object", "required": required, "properties": properties}
    return schema_ | {"additionalProperties": False} if closed else schema_


_TYPES: dict[str, Schema] = {
    "uuid": UUID,
    "text": TEXT,
    "flag": FLAG,
    "time": {"type": "string", "format": "date-time"},
    "whole": {"type": "integer"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "number": {"type": "number"},
    "short_text": TEXT | {"maxLength": 255},
    "external_id": TEXT | {"minLength": 1, "maxLength": 255},
    "texts": {"type": "array", "items": TEXT},
    "some_uuids": {"type": "array", "items": UUID, "minItems": 1},
    "anything": {"type": "object", "additionalProperties": True},
    "cursor": CURSOR,
}

SCHEMAS: dict[str, Schema] = {
    "PageOrder": PAGE_ORDER,
    "CurrentRequestPagination": record(
        parameters=("parameters!", {"type": "object", "additionalProperties": _TYPES["texts"]}),
        text="after before",
        int32="limit",
        int64="offset",
        texts="sortingKeys",
        orders=("sortingOrder", {"type": "array", "items": ref("PageOrder")}),
    ),
    "Pagination": record(
        echo=("currentRequestPagination!", ref("CurrentRequestPagination")),
        flag="hasNextPage! hasPreviousPage!",
        cursor="startCursor endCursor",
        int64="total",
    ),
    "AccountCreate": record(
        closed=True,
        flag="archived!",
        uuid="companyId!",
        external_id="externalId!",
        short_text="name! code?",
        anything="metadata?",
        text="taxCodeExternalId?",
    ),
    "Account": record(
        flag="archived!",
        uuid="id! companyId!",
        external_id="externalId!",
        short_text="name!",
        text="code!? taxCodeExternalId!?",
        anything="metadata!?",
    ),
    "ExportJobCreate": record(
        closed=True,
        some_uuids="accountingEntryIds!",
        uuid="companyId! employeeId?",
        interactive=("isInteractive?", FLAG | {"default": True}),
        options=("options?", record(closed=True, vendor=("vendorBasedBookkeeping?", FLAG | {"default": False}))),
    ),
    "ExportJob": record(
        uuid="id! companyId! createdBy!?",
        time="createdAt! lastUpdatedAt! startedAt completedAt expiredAt",
        whole="expiresIn! numberOfItems!",
        flag="isInteractive! vendorBasedBookkeeping!",
        text="status! failureReason failureReasonType",
    ),
    "Balance": record(text="currency!", number="current! available!"),
    "Error": record(text="type! message!"),
    "ScopeError": record(
        status=("statusCode!", {"type": "integer", "enum": [401, 403]}),
        text="error!",
        message=("message!", TEXT | {"enum": ["user_scope_insufficient"]}),
    ),
    "PlainText": TEXT,
}
