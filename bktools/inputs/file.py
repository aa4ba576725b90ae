"""A file → a table; its kind is recognised by its bytes, not by its name."""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path

from bktools.caller import name_of
from bktools.errors import ArgumentError
from bktools.inputs.delimited import read_delimited
from bktools.inputs.encoding import to_utf8, utf8_error
from bktools.inputs.formats.format import HEAD, File
from bktools.inputs.formats.not_read import refuse_not_read
from bktools.inputs.heading_row import read_head
from bktools.inputs.table import Score, Table

_SUFFIXES = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt"), "text"),
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), "workbook"),
    **dict.fromkeys((".parquet", ".pq"), "Parquet"),
}
# Arguments by what a file is made of.
OPTIONS_OF: Mapping[str, tuple[str, ...]] = {
    "text": ("delimiter", "encoding"),
    "workbook": ("sheet",),
    "Parquet": (),
}


def read_table(
    path: str | PathLike[str],
    score: Score,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | int | None = None,
    sheet_names: frozenset[str] = frozenset(),
) -> Table:
    """Return the cells of a CSV, TSV, Excel or Parquet file as text; the kind is recognised by the bytes.

    Delimiter and encoding are of a text, the sheet (its name, or its position from 0) is of a workbook; an
    argument for another kind of file is an `ArgumentError`. Without them, they are found: the sheet is one
    with one of `sheet_names`, or the one with most known headings, which `score` counts in a row. What is no
    table that can be read is an `InputError`.
    """
    file = File.at(path)
    refuse_not_read(file)
    source, suffix, kind = file.source, file.path.suffix.casefold(), file.kind
    if suffix not in _SUFFIXES:
        raise file.error(
            f"has none of the suffixes {' '.join(_SUFFIXES)}: save it as CSV (UTF-8), XLSX or Parquet"
        )
    for argument, value in {"delimiter": delimiter, "encoding": encoding, "sheet": sheet}.items():
        if value is not None and argument not in OPTIONS_OF[kind]:
            raise ArgumentError(
                name_of(argument), f"does not apply to {source}, a {kind} file by its content", value
            )
    data = file.data()
    if not data or data.isspace():
        raise file.error("the file is empty: export it again")
    if kind == "workbook":
        from bktools.inputs.workbook import read_workbook

        table = read_workbook(data, score, sheet=sheet, sheet_names=sheet_names, source=source)
    elif kind == "Parquet":
        from bktools.inputs.parquet import read_parquet

        table = read_parquet(data, source)
    else:
        prefer = _usual_delimiter(path)
        table = read_delimited(
            data, score, delimiter=delimiter, encoding=encoding, prefer=prefer, source=source
        )
    if not len(table.lines):
        raise file.error("the file has headings but no rows below them")
    notes = [f"read as a {kind} file by its content, despite its suffix {suffix}"] * (
        kind != _SUFFIXES[suffix]
    )
    return replace(table, sha256=hashlib.sha256(data).hexdigest(), notes=(*notes, *table.notes))


def read_headings(
    path: str | PathLike[str],
    score: Score,
    *,
    delimiter: str | None,
    encoding: str | None,
    sheet: str | int | None,
    sheet_names: frozenset[str] = frozenset(),
) -> tuple[str, ...]:
    """Return only the headings, of a text from its first lines; arguments and errors are `read_table`'s."""
    file = File.at(path)
    if file.kind != "text":
        table = read_table(
            path, score, delimiter=delimiter, encoding=encoding, sheet=sheet, sheet_names=sheet_names
        )
        return table.headings
    # A line that was cut could end in half a letter; in UTF-16 a NUL byte belongs to the line feed.
    end = file.head.rfind(b"\n") + 1
    sample = file.head[: end + file.head[end:].startswith(b"\0")] if len(file.head) == HEAD else file.head
    text, _ = to_utf8(sample, encoding, file.source)
    return read_head(
        text, score, delimiter=delimiter, prefer=_usual_delimiter(path), source=file.source
    ).cells


def is_unicode(path: str | PathLike[str]) -> bool:
    """Whether a text proves to be Unicode: by its mark, or by letters that only UTF-8 writes like this."""
    data = File.at(path).data()
    has_mark = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return has_mark or (not data.isascii() and utf8_error(data) is None)


def _usual_delimiter(path: str | PathLike[str]) -> str:
    # ERPs name text with tabs .txt or .xls.
    return "," if Path(path).suffix.casefold() == ".csv" else "\t"
