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
TIME: Schema = {"type": "string", "format": "date-time"}
TEXT: Schema = {"type": "string"}
SHORT_TEXT = TEXT | {"maxLength": 255}
CURSOR = TEXT | {"pattern": CURSOR_PATTERN}
PAGE_ORDER = TEXT | {"enum": list(PAGE_ORDERS)}
FLAG: Schema = {"type": "boolean"}
WHOLE: Schema = {"type": "integer"}
INT32 = WHOLE | {"format": "int32"}
INT64 = WHOLE | {"format": "int64"}
ANYTHING: Schema = {"type": "object", "additionalProperties": True}


def list_of(schema: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": schema}


UUIDS = list_of(UUID) | {"uniqueItems": True}

# The parameters of a page (interface, section 4.1).
PAGING: dict[str, Schema] = {
    "before": CURSOR | {"description": "lower bound cursor; not with after or offset"},
    "after": CURSOR | {"description": "upper bound cursor; not with before or offset"},
    "offset": INT64 | {"minimum": 0, "maximum": 2**63 - 1},
    "limit": INT32 | {"minimum": 0, "maximum": 2**31 - 1, "description": "a page may have fewer rows"},
    "sorting_keys": list_of(TEXT) | {"uniqueItems": True},
    "sorting_order": list_of(PAGE_ORDER) | {"description": "one order per sorting key"},
}


def ref(name: str) -> Schema:
    """Return the reference to one of `SCHEMAS`."""
    return {"$ref": f"#/components/schemas/{name}"}


def nullable(schema: Schema) -> Schema:
    """Return a schema that null fits, too."""
    return schema | {"type": [schema["type"], "null"]}


def record(*fields: tuple[str, Schema], closed: bool = False) -> Schema:
    """Return an object's schema from fields with theirs; `!` marks a required, `?` a nullable field."""
    required, properties = [], {}
    for names, schema in fields:
        for marked in names.split():
            name = marked.rstrip("!?")
            required += [name] * ("!" in marked)
            properties[name] = nullable(schema) if "?" in marked else schema
    described: Schema = {"type": "object", "required": required, "properties": properties}
    return described | {"additionalProperties": False} if closed else described


def data_of(name: str) -> Schema:
    """Return the schema of an answer with one record."""
    return record(("data!", ref(name)))


def page_of(name: str) -> Schema:
    """Return the schema of a page of records."""
    return record(("data!", list_of(ref(name))), ("pagination!", ref("Pagination")))


SCHEMAS: dict[str, Schema] = {
    "PageOrder": PAGE_ORDER,
    "CurrentRequestPagination": record(
        ("parameters!", {"type": "object", "additionalProperties": list_of(TEXT)}),
        ("after before", TEXT),
        ("limit", INT32),
        ("offset", INT64),
        ("sortingKeys", list_of(TEXT)),
        ("sortingOrder", list_of(ref("PageOrder"))),
    ),
    "Pagination": record(
        ("currentRequestPagination!", ref("CurrentRequestPagination")),
        ("hasNextPage! hasPreviousPage!", FLAG),
        ("startCursor endCursor", CURSOR),
        ("total", INT64),
    ),
    "AccountCreate": record(
        ("archived!", FLAG),
        ("companyId!", UUID),
        ("externalId!", SHORT_TEXT | {"minLength": 1}),
        ("name! code?", SHORT_TEXT),
        ("metadata?", ANYTHING),
        ("taxCodeExternalId?", TEXT),
        closed=True,
    ),
    "Account": record(
        ("archived!", FLAG),
        ("id! companyId!", UUID),
        ("externalId!", SHORT_TEXT | {"minLength": 1}),
        ("name!", SHORT_TEXT),
        ("code!? taxCodeExternalId!?", TEXT),
        ("metadata!?", ANYTHING),
    ),
    "ExportJobCreate": record(
        ("accountingEntryIds!", list_of(UUID) | {"minItems": 1}),
        ("companyId! employeeId?", UUID),
        ("isInteractive?", FLAG | {"default": True}),
        ("options?", record(("vendorBasedBookkeeping?", FLAG | {"default": False}), closed=True)),
        closed=True,
    ),
    "ExportJob": record(
        ("id! companyId! createdBy!?", UUID),
        ("createdAt! lastUpdatedAt! startedAt completedAt expiredAt", TIME),
        ("expiresIn! numberOfItems!", WHOLE),
        ("isInteractive! vendorBasedBookkeeping!", FLAG),
        ("status! failureReason failureReasonType", TEXT),
    ),
    "Balance": record(("currency!", TEXT), ("current! available!", {"type": "number"})),
    "Error": record(("type! message!", TEXT)),
    "ScopeError": record(
        ("statusCode!", WHOLE | {"enum": [401, 403]}),
        ("error!", TEXT),
        ("message!", TEXT | {"enum": ["user_scope_insufficient"]}),
    ),
    "PlainText": TEXT,
}
