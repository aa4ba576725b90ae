"""A file → a table; its kind is recognised by its bytes, not by its name."""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Mapping
from dataclasses import replace
from io import BufferedReader
from os import SEEK_END, PathLike
from pathlib import Path

from bktools.caller import name_of
from bktools.errors import ArgumentError, InputError
from bktools.inputs.delimited import read_delimited
from bktools.inputs.encoding import to_utf8
from bktools.inputs.formats.not_read import refuse_not_read
from bktools.inputs.heading_row import read_head
from bktools.inputs.table import Score, Table

_SUFFIXES = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt"), "text"),
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), "workbook"),
    **dict.fromkeys((".parquet", ".pq"), "Parquet"),
}
_MAGIC = {
    b"PK\x03\x04": "workbook",
    b"\xd0\xcf\x11\xe0": "workbook",
    b"PAR1": "Parquet",
    b"%PDF": "PDF",
    b"\x1f\x8b": "gzip archive",
}
# Arguments by what a file is made of.
OPTIONS_OF: Mapping[str, tuple[str, ...]] = {"text": ("delimiter", "encoding"), "workbook": ("sheet",), "Parquet": ()}
# Of a file; a spreadsheet holds 32,767 characters in a cell and 16,384 columns.
LARGEST = 2 << 30
LONGEST_LINE = 16 << 20
_PIECE = 1 << 20
_WAY_OUT = "save it as CSV (UTF-8), XLSX or Parquet"


def read_table(
    path: str | PathLike[str],
    score: Score,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | int | None = None,
    longest_line: int = LONGEST_LINE,
) -> Table:
    """Return the cells of a CSV, TSV, Excel or Parquet file as text; the kind is recognised by the bytes.

    Parameters
    ----------
    path : str or path
        The file.
    score : callable
        How many cells of a row are known headings.
    delimiter, encoding : str, optional
        Of a text; found where they are not given.
    sheet : str or int, optional
        Of a workbook; the one with most known headings where it is not given.
    longest_line : int
        Bytes of a line of a text at most; a file is read into memory only when none is longer.

    Raises
    ------
    InputError
        When there is no such file, or it cannot be read as a table.
    ArgumentError
        When an argument is not what it must be, or is for another kind of file.
    """
    refuse_not_read(path)
    source = str(path)
    suffix = Path(path).suffix.casefold()
    data = _bytes(Path(path), suffix, source, longest_line)
    kind = _kind(data)
    if kind not in _SUFFIXES.values():
        raise InputError(f"is a {kind}, not a table: {_WAY_OUT}", source=source)
    _refuse_options_of_another_kind(kind, source, {"delimiter": delimiter, "encoding": encoding, "sheet": sheet})
    if kind == "workbook":
        from bktools.inputs.workbook import read_workbook

        table = read_workbook(data, score, sheet=sheet, source=source)
    elif kind == "Parquet":
        from bktools.inputs.parquet import read_parquet

        table = read_parquet(data, source)
    else:
        table = read_delimited(
            data, score, delimiter=delimiter, encoding=encoding, prefer=_usual_delimiter(path), source=source
        )
    if not len(table.lines):
        raise InputError("the file has headings but no rows below them", source=source)
    notes = [f"read as a {kind} file by its content, despite its suffix {suffix}"] * (kind != _SUFFIXES[suffix])
    return replace(table, sha256=hashlib.sha256(data).hexdigest(), notes=(*notes, *table.notes))


def read_headings(
    path: str | PathLike[str], score: Score, *, delimiter: str | None, encoding: str | None, sheet: str | int | None
) -> tuple[str, ...]:
    """Return the headings alone, of a text from its first lines; arguments and errors are those of `read_table`."""
    if kind_of(path) != "text":
        return read_table(path, score, delimiter=delimiter, encoding=encoding, sheet=sheet).headings
    with Path(path).open("rb") as file:
        sample = file.read(_PIECE)
        if file.read(1):
            # A line that was cut could end in half a letter; in UTF-16 a NUL byte belongs to the line feed.
            end = sample.rfind(b"\n") + 1
            sample = sample[: end + sample[end:].startswith(b"\0")]
    text, _ = to_utf8(sample, encoding, str(path))
    return read_head(text, score, delimiter=delimiter, prefer=_usual_delimiter(path), source=str(path)).cells


def kind_of(path: str | PathLike[str]) -> str:
    """Return the kind of a file, such as text, workbook or Parquet."""
    with Path(path).open("rb") as file:
        return _kind(file.read(8))


def is_unicode(path: str | PathLike[str]) -> bool:
    """Whether a text shows by itself that it is Unicode: by its mark, or by letters that are written as UTF-8 alone."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    is_ascii = True
    with Path(path).open("rb") as file:
        while piece := file.read(_PIECE):
            if file.tell() == len(piece) and piece.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                return True
            is_ascii = is_ascii and piece.isascii()
            try:
                decoder.decode(piece)
            except UnicodeDecodeError:
                return False
    return not is_ascii and not decoder.getstate()[0]


def _usual_delimiter(path: str | PathLike[str]) -> str:
    # ERPs name text with tabs .txt or .xls.
    return "," if Path(path).suffix.casefold() == ".csv" else "\t"


def _refuse_options_of_another_kind(kind: str, source: str, options: Mapping[str, object]) -> None:
    for argument, value in options.items():
        if value is not None and argument not in OPTIONS_OF[kind]:
            raise ArgumentError(name_of(argument), f"does not apply to {source}, a {kind} file by its content", value)


def _kind(data: bytes) -> str:
    return next((kind for magic, kind in _MAGIC.items() if data.startswith(magic)), "text")


def _bytes(path: Path, suffix: str, source: str, longest_line: int) -> bytes:
    if path.is_dir():
        raise InputError("is a directory, not a file", source=source)
    if path.exists() and suffix not in _SUFFIXES:
        raise InputError(f"has none of the suffixes {' '.join(_SUFFIXES)}: {_WAY_OUT}", source=source)
    # A pipe would be waited for until somebody writes to it, and cannot be looked through first.
    if path.exists() and not path.is_file():
        raise InputError("is a device or a pipe, not a file: save it first", source=source)
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise InputError("there is no such file", source=source) from None
    except (OSError, ValueError) as error:
        # A path with a NUL byte is a ValueError.
        raise InputError(f"cannot be read ({getattr(error, 'strerror', None) or error})", source=source) from None
    with file:
        _refuse_large(file, longest_line, source)
        data = file.read()
    if not data or data.isspace():
        raise InputError("the file is empty", source=source)
    return data


def _refuse_large(file: BufferedReader, longest_line: int, source: str) -> None:
    """Raise an error for a file that would not be read as a table, before it is in memory; go back to its beginning."""
    size = file.seek(0, SEEK_END)
    if size > LARGEST:
        raise InputError(
            f"has {size >> 20:,} MB, {LARGEST >> 20:,} MB can be read: split it, by month or company", source=source
        )
    file.seek(0)
    begin = at = 0
    line = 1
    piece = file.read(_PIECE)
    if _kind(piece) == "text":
        while piece:
            first = piece.find(b"\n")
            # Lines within a piece are shorter than it.
            if (len(piece) if first < 0 else first) + at - begin > longest_line:
                raise InputError(
                    f"the line has more than {longest_line >> 20:,} MB: this is no table, or its lines end in a way that"
                    " is not known here",
                    source=source,
                    line=line,
                )
            if first >= 0:
                begin = at + piece.rfind(b"\n") + 1
                line += piece.count(b"\n")
            at += len(piece)
            piece = file.read(_PIECE)
    file.seek(0)
