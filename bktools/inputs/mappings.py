"""Mappings: options that read a file, remembered as a TOML file for files with the same headings."""

from __future__ import annotations

import json
import re
import tomllib
import unicodedata
import warnings
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

import msgspec

from bktools.disk import PRIVATE_FOLDER, file_name, storage_errors, write_whole
from bktools.errors import ArgumentError, GuessedEncodingWarning, InputError
from bktools.inputs import words
from bktools.inputs.columns import Vocabulary
from bktools.inputs.file import OPTIONS_OF, is_unicode, read_headings
from bktools.inputs.formats.format import File
from bktools.inputs.heading_row import made_headings
from bktools.inputs.table import Score
from bktools.settings import config_path

KINDS = ("chart", "entries", "accounts", "ledger")
_FLAGS = ("split_lines", "split_account")
# A flag whose False is an answer, too.
_EITHER = "reverse_sign"
OPTIONS = (
    *(
        "delimiter",
        "encoding",
        "sheet",
        "decimal",
        "date_format",
        "currency",
        "spending",
        "approved_values",
        "fill_down",
        "report_rows",
        "style",
    ),
    *_FLAGS,
    _EITHER,
)

_NAME = re.compile(r"\w[\w -]{0,62}", re.ASCII)
_LARGEST = 1 << 20
_Kind = Annotated[str, msgspec.Meta(pattern=f"^({'|'.join(KINDS)})$")]
_Option = Annotated[str, msgspec.Meta(pattern=f"^({'|'.join(OPTIONS)})$")]


class FileMapping(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How files with the same headings are read; the order of the headings does not matter."""

    # The name of the mapping's file, without the suffix.
    name: str
    kind: _Kind
    headings: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    columns: dict[str, str] = msgspec.field(default_factory=dict)
    options: dict[_Option, str] = msgspec.field(default_factory=dict)

    def toml(self) -> str:
        """Return the mapping as its file has it."""
        lines = [
            f"kind = {_quoted(self.kind)}",
            "headings = [",
            *(f"    {_quoted(text)}," for text in self.headings),
            "]",
        ]
        for table, values in (("columns", self.columns), ("options", self.options)):
            if values:
                lines += ["", f"[{table}]", *(f"{name} = {_quoted(value)}" for name, value in values.items())]
        return "\n".join([*lines, ""])


def folder() -> Path:
    """Return the folder of the mappings, beside the config file; it need not exist."""
    return config_path().parent / "mappings"


def path_of(name: str) -> Path:
    """Return the file of a mapping; a name that is none is an `ArgumentError`."""
    if not _NAME.fullmatch(name):
        raise ArgumentError(
            "the name of a mapping", "must be letters, digits, spaces, - and _ (at most 63)", name
        )
    if file_name(name) != name:
        # On every system, because mappings are handed on to colleagues.
        raise ArgumentError("the name of a mapping", "must not be one that Windows reserves or changes", name)
    return folder() / f"{name}.toml"


def all_mappings() -> list[FileMapping]:
    """Return all mappings by name; a damaged one is an `InputError` that names its file."""
    return [read_mapping(path) for path in sorted(folder().glob("*.toml"))]


def read_mapping(path: Path) -> FileMapping:
    """Return the mapping of a file; one that is missing, damaged or no mapping is an `InputError`."""
    try:
        if path.stat().st_size > _LARGEST:
            raise InputError("is too large for a mapping: delete it", source=str(path))
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        mapping = msgspec.convert({**content, "name": path.stem}, FileMapping)
    except FileNotFoundError:
        raise InputError("there is no such mapping; see: bktools mappings list", source=str(path)) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise _unreadable(path, error.strerror if isinstance(error, OSError) else error) from None
    fields = words.fields(mapping.kind)
    for field in mapping.columns.keys() - fields.keys():
        raise _unreadable(path, f"[columns] has {field!r}; there are {', '.join(fields)}")
    return mapping


def _unreadable(path: Path, why: object) -> InputError:
    return InputError(f"is not a readable mapping ({why}): correct it or delete it", source=str(path))


def write_mapping(mapping: FileMapping) -> Path:
    """Write a mapping for its owner alone, instead of an earlier one of its name."""
    path = path_of(mapping.name)
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
    return write_whole(path, lambda file: file.write(mapping.toml().encode()))


def mapping_for(
    path: str | PathLike[str], kind: str, reader_options: Mapping[str, Any]
) -> FileMapping | None:
    """Return the mapping whose headings a file has; None without one.

    Of the reader's arguments, those that are not None go before the mapping's. A damaged mapping, and several
    for these headings, are an `InputError`.
    """
    # A pipe is not opened: the reader refuses it.
    known = all_mappings() if Path(path).is_file() else []
    fitting = [mapping for mapping in known if mapping.kind == kind and _fits(path, mapping, reader_options)]
    if len(fitting) > 1:
        names = " and ".join(repr(mapping.name) for mapping in fitting)
        raise InputError(
            f"the mappings {names} are for the same headings: delete one of them in {folder()}",
            source=str(path),
        )
    return fitting[0] if fitting else None


def arguments(
    path: str | PathLike[str], mapping: FileMapping, reader_options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments that read a file with a mapping; the options of a person go before its own."""
    unknown = {name for names in OPTIONS_OF.values() for name in names} - set(OPTIONS_OF[File.at(path).kind])
    if "encoding" in mapping.options and is_unicode(path):
        # The file says it itself: another encoding would spoil every letter beyond ASCII.
        unknown.add("encoding")
    own: dict[str, Any] = {
        name: value
        for name, value in mapping.options.items()
        if name not in unknown and name in reader_options
    }
    own |= {flag: own[flag] == str(True) for flag in (*_FLAGS, _EITHER) if flag in own}
    chosen = _answers(reader_options)
    columns = {**mapping.columns, **(chosen.get("columns") or {})}
    return {**reader_options, **own, **chosen, "columns": columns or None}


def made_from(
    path: str | PathLike[str], name: str, kind: str, reader_options: Mapping[str, Any]
) -> FileMapping | None:
    """Return the mapping of a file that was read with these arguments; None for a file without headings."""
    columns = reader_options.get("columns") or {}
    vocabulary = Vocabulary(kind, columns)
    headings = _headings(path, vocabulary.score, reader_options, vocabulary.sheet_names)
    if headings == made_headings(len(headings)):
        return None
    answers = _answers(reader_options)
    options = {option: str(answers[option]) for option in OPTIONS if option in answers}
    return FileMapping(name, kind, tuple(filter(str.strip, headings)), columns, options)


def _answers(reader_options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that a person gave."""
    return {
        name: value
        for name, value in reader_options.items()
        if value is not None and (value is not False or name == _EITHER)
    }


def _fits(path: str | PathLike[str], mapping: FileMapping, reader_options: Mapping[str, Any]) -> bool:
    wanted = _comparable(mapping.headings)
    try:
        headings = _headings(
            path,
            lambda row: len({*wanted}.intersection(_comparable(row))),
            arguments(path, mapping, reader_options),
        )
    except (InputError, ArgumentError, OSError, ValueError):
        # The reader says what is wrong with the file, whatever mappings there are.
        return False
    return _comparable(headings) == wanted


def _headings(
    path: str | PathLike[str],
    score: Score,
    reader_options: Mapping[str, Any],
    sheet_names: frozenset[str] = frozenset(),
) -> tuple[str, ...]:
    form = {name: reader_options.get(name) for name in ("delimiter", "encoding", "sheet")}
    with warnings.catch_warnings():
        # The reader warns of its own guess.
        warnings.simplefilter("ignore", GuessedEncodingWarning)
        return read_headings(path, score, sheet_names=sheet_names, **form)


def _comparable(texts: Iterable[str]) -> list[str]:
    spaced = (" ".join(unicodedata.normalize("NFC", text).split()) for text in texts)
    return sorted(filter(None, spaced))


def _quoted(text: str) -> str:
    # Strings of JSON are strings of TOML, but for one control character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
