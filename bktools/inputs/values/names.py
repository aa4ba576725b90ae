"""Names, codes and e-mails in a file → the identifiers that the service knows them by."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from rapidfuzz import process

from bktools.contract.rules import UUID_PATTERN
from bktools.frames import schema
from bktools.inputs import cells
from bktools.inputs.reading import Reading

_SHOWN = 10
_FIRST_ROWS = 100
_SUGGESTIONS = 3
_SIMILAR = 60
# Columns of a frame that name its rows, the most telling first.
KEYS = {
    "category_id": ("id", "name", "code", "account_code"),
    "employee_id": ("id", "email", "code", "name"),
}

# Columns of a frame that tell rows of one name apart; the account is the code of the category's.
_TELL_APART = ("account", "category_group_id", "email")


def key(text: str) -> str:
    """Return a name for comparison: without case, and with single spaces."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def identifiers(reading: Reading, field: str, frame: pd.DataFrame, company: str | None) -> pa.ChunkedArray:
    """Return the identifier of the row that each cell names; empty cells are null, unknown names stay.

    The frame is one of categories or employees. An entry with an unknown name is held back by the plan, as
    one with an unknown ID is; the notes get a line that lists such names, with suggestions. Where no cell
    names a row, the column, the company or the frame is another one: an `InputError`.
    """
    table, heading = reading.table, reading.heading(field)
    column = cells.or_null(cells.trimmed(reading.column(field)))
    encoded = pc.dictionary_encode(column).combine_chunks()
    # An ID that is not among them stays: the plan says why it cannot be exported.
    ids_of, wrong = looked_up(encoded.dictionary.to_pylist(), field, frame, company)
    if wrong:
        remarks = [*wrong.values()][:_SHOWN]
        more = len(wrong) - _SHOWN if len(wrong) > _SHOWN else None
        rows = cells.mask(pc.is_in(column, value_set=pa.array([*wrong], schema.TEXT)))
        if len(wrong) == len(ids_of):
            error = {"heading": heading, "names": remarks, "more": more}
            raise table.error("unknown_names", table.lines_of(rows)[0], **error)
        reading.note_rows("unknown_names", rows, heading=heading, names=remarks, more=more)
    values = [*ids_of.values()]
    return pa.chunked_array([pc.take(pa.array(values, schema.TEXT), encoded.indices)])


def looked_up(
    texts: Iterable[str], field: str, frame: pd.DataFrame, company: str | None = None
) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
    """Return the ID that each text names, and facts about those that name no row or several of the frame.

    An ID is its own; a text that names none or several stays.
    """
    known, named = _known(frame, field, company)
    ids: dict[str, str] = {}
    wrong: dict[str, dict[str, Any]] = {}
    for text in texts:
        named_ids = _ids_of(text, known)
        is_id = UUID_PATTERN.match(text) is not None
        ids[text] = next(iter(named_ids)) if len(named_ids) == 1 else text.lower() if is_id else text
        if len(named_ids) > 1 or not (named_ids or is_id):
            wrong[text] = _remark(text, named_ids, named, frame)
    return ids, wrong


def columns_of(reading: Reading, field: str, frame: pd.DataFrame, company: str | None) -> list[int]:
    """Return the free columns whose values all name one of a frame's rows each, whatever their headings."""
    kinds, _ = _known(frame, field, company)

    def name_rows(column: pa.ChunkedArray) -> bool:
        texts = {text.strip() for text in pc.unique(column).to_pylist()} - {""}
        return bool(texts) and all(len(_ids_of(text, kinds)) == 1 for text in texts)

    # The first rows tell nearly every other column apart, however long the file is.
    columns = {place: reading.table.columns[place] for place in reading.free()}
    likely = [place for place, column in columns.items() if name_rows(column.slice(0, _FIRST_ROWS))]
    return [place for place in likely if name_rows(columns[place])]


def _known(
    frame: pd.DataFrame, field: str, company: str | None
) -> tuple[list[dict[str, set[str]]], dict[str, str]]:
    """Return the identifiers by each kind of key, and what the keys are as written."""
    rows = frame
    if company is not None and "company_id" in frame.columns:
        rows = frame[frame["company_id"].str.lower() == company]
    if field == "employee_id" and {"first_name", "last_name"} <= set(rows.columns):
        rows = rows.assign(name=rows["first_name"].fillna("") + " " + rows["last_name"].fillna(""))
    kinds: list[dict[str, set[str]]] = []
    written: dict[str, str] = {}
    for name in (name for name in KEYS[field] if name in rows.columns):
        kinds.append({})
        for text, identifier in zip(rows[name], rows["id"], strict=True):
            if isinstance(text, str) and text.strip():
                kinds[-1].setdefault(key(text), set()).add(identifier.lower())
                written |= {key(text): text} if name != "id" else {}
    return kinds, written


def _ids_of(text: str, kinds: list[dict[str, set[str]]]) -> set[str]:
    return next((kind[key(text)] for kind in kinds if key(text) in kind), set())


def _remark(text: str, ids: set[str], named: Mapping[str, str], frame: pd.DataFrame) -> dict[str, Any]:
    own = frame[frame["id"].str.lower().isin(ids)].sort_values("id")
    close = process.extract(key(text), [*named], limit=_SUGGESTIONS, score_cutoff=_SIMILAR) if not ids else ()
    return {
        "text": text,
        "ids": [
            {"id": row["id"].lower()} | {name: row.get(name) or None for name in _TELL_APART}
            for row in own.astype(object).where(own.notna(), None).to_dict("records")
        ]
        or None,
        "similar": [named[name] for name, _, _ in close] or None,
    }
