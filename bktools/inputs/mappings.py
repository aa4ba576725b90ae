"""Mappings: options that read a file, kept as a TOML file for files with the same headings, or named."""

from __future__ import annotations

import json
import re
import tomllib
import unicodedata
import warnings
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pandas as pd

from bktools.caller import command
from bktools.disk import PRIVATE_FOLDER, file_name, storage_errors, write_whole
from bktools.errors import ArgumentError, FileNoteWarning, InputError
from bktools.inputs.fields import options_of
from bktools.inputs.notes import damaged
from bktools.inputs.options import OF_KIND, Options, checked, of_any_file, plus
from bktools.inputs.raw.source import Source
from bktools.settings import config_path
from bktools.wording import Sentence, reason_of, words

_NAME = re.compile(r"\w[\w -]{0,62}", re.ASCII)
_SUFFIX = ".toml"
_Kind = Annotated[str, msgspec.Meta(pattern=f"^({'|'.join(OF_KIND)})$")]


class FileMapping(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How files with the same headings are read; the order of the headings does not matter."""

    # The name of the mapping's file, without the suffix.
    name: str
    kind: _Kind
    headings: tuple[str, ...]
    options: dict[str, Any] = msgspec.field(default_factory=dict)
    # SHA-256 of the file that they read: lines of `skip_rows` and a year hold for it alone.
    made_for: str = ""

    def toml(self) -> str:
        """Return the mapping as its file has it."""
        plain = {name: value for name, value in self.options.items() if not isinstance(value, Mapping)}
        tables = {f"options.{name}": value for name, value in self.options.items() if name not in plain}
        lines = [f"kind = {_quoted(self.kind)}"]
        lines += [f"made_for = {_quoted(self.made_for)}"] if self.made_for else []
        lines += ["headings = ["]
        lines += [*(f"    {_quoted(text)}," for text in self.headings), "]"]
        for title, values in {"options": plain, **tables}.items():
            lines += ["", f"[{title}]"] if values else []
            lines += [f"{_quoted(name)} = {_quoted(value)}" for name, value in values.items()]
        return "\n".join([*lines, ""])


def folder() -> Path:
    """Return the folder of the mappings, beside the config file; it need not exist."""
    return config_path().parent / "mappings"


def path_of(name: str) -> Path:
    """Return the file of a mapping: by its name, or a TOML file that a team keeps beside its scripts."""
    if name.endswith(_SUFFIX):
        return Path(name)
    if not _NAME.fullmatch(name):
        raise ArgumentError(words()("thing.name_of_mapping"), Sentence("rule.name_of_mapping"), name)
    if file_name(name) != name:
        # On every system, because mappings are handed on to colleagues.
        raise ArgumentError(words()("thing.name_of_mapping"), Sentence("rule.name_of_windows"), name)
    return folder() / f"{name}{_SUFFIX}"


def all_mappings() -> tuple[list[FileMapping], list[InputError]]:
    """Return the mappings of the folder by name, and the errors of those that cannot be read."""
    mappings, errors = [], []
    for path in sorted(folder().glob(f"*{_SUFFIX}")):
        try:
            mappings.append(read_mapping(path))
        except InputError as error:
            errors.append(error)
    return mappings, errors


def read_mapping(path: Path) -> FileMapping:
    """Return the mapping of a file; one that is missing, damaged or no mapping is an `InputError`."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        mapping = msgspec.convert({**content, "name": path.stem}, FileMapping)
        # A mapping has the names of arguments, also where a command reads it.
        with command({}):
            options_of(mapping.kind, mapping.options)
    except FileNotFoundError:
        raise damaged(str(path), "no_mapping") from None
    except (OSError, ValueError, msgspec.ValidationError, ArgumentError, TypeError) as error:
        raise damaged(str(path), "mapping_unreadable", why=reason_of(error)) from None
    return mapping


def write_mapping(mapping: FileMapping, path: Path | None = None) -> Path:
    """Write a mapping for its owner alone, instead of an earlier one of its name or of the same headings."""
    replaced = [] if path else [path_of(other.name) for other in replaced_by(mapping)]
    path = path or path_of(mapping.name)
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
        write_whole(path, lambda file: file.write(mapping.toml().encode()))
        for other in replaced:
            other.unlink(missing_ok=True)
    return path


def replaced_by(mapping: FileMapping) -> list[FileMapping]:
    """Return the saved mappings of other names for the same headings, or for the same file with them."""
    headings = _comparable(mapping.headings)
    return [
        other
        for other in (all_mappings()[0] if headings else ())
        if (other.kind, _comparable(other.headings), other.made_for)
        == (mapping.kind, headings, mapping.made_for)
        and other.name != mapping.name
    ]


def mapping_for(
    path: str | PathLike[str], kind: str, named: Sequence[str] = (), *, must_fit: bool = False
) -> FileMapping | None:
    """Return the mapping of a name, else the one whose headings a file has; None without one.

    Of several names, and where it `must_fit`, it is the mapping whose headings the file has; one that was
    made for the file goes first. A named mapping that is damaged or of another kind, and several that say
    different things are an `InputError`; a damaged one that is not named is a `FileNoteWarning`.
    """
    mappings = [read_mapping(path_of(name)) for name in named]
    for mapping, name in zip(mappings, named, strict=True):
        if mapping.kind != kind:
            raise damaged(name, "mapping_of_another_kind", kind=mapping.kind, wanted=kind)
    # A pipe is not opened: the reader refuses it.
    if not named and Path(path).is_file():
        mappings, errors = all_mappings()
        for error in errors:
            # Python shows a warning once, also where a command reads several files.
            text = words()("command.mapping_not_used", error=str(error))
            warnings.warn(text, FileNoteWarning, stacklevel=1)
    mappings = [one for one in mappings if one.kind == kind]
    source = Source(path, kind) if mappings else None
    fitting = [_for_file(own, path) for one in mappings if source and (own := _placed(one, source))]
    fitting = [one for one in fitting if one.made_for] or [one for one in fitting if one.options]
    if any(one.options != fitting[0].options for one in fitting):
        names = [mapping.name for mapping in fitting]
        raise damaged(str(path), "several_mappings", names=names, folder=str(folder()))
    if not fitting and len(named) == 1 and not must_fit:
        fitting = mappings
    return _for_file(fitting[0], path) if fitting else None


def _for_file(mapping: FileMapping, path: str | PathLike[str]) -> FileMapping:
    """Return a mapping without the lines to skip and the year where they are of another file."""
    if not mapping.made_for or mapping.made_for == Source(path, mapping.kind).sha256:
        return mapping
    return msgspec.structs.replace(mapping, options=of_any_file(mapping.options), made_for="")


def _placed(mapping: FileMapping, source: Source) -> FileMapping | None:
    """Return a mapping whose headings are a row of the file's first rows, with the line of that row.

    A title above the table moves the headings, so that their line is looked for in each file.
    """
    form: dict[str, Any] = {name: mapping.options.get(name) for name in ("delimiter", "encoding", "sheet")}
    wanted = _comparable(mapping.headings)
    try:
        raw_tables = source.read(checked(form)).raw_tables
    except (InputError, ArgumentError, OSError, ValueError):
        # The reader says what is wrong with the file, whatever mappings there are.
        return None
    for raw in raw_tables if wanted else ():
        for line, row in zip(raw.head_lines, raw.head, strict=True):
            if _comparable(row) == wanted:
                own = {"headings": line} if mapping.options.get("headings") else {}
                return msgspec.structs.replace(mapping, options={**mapping.options, **own})
    return None


def arguments(mapping: FileMapping, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that read a file with a mapping; the given options go before its own."""
    return {**given, **plus(mapping.options, checked(given))}


def options_with(
    name: str | PathLike[str] | None, path: str | PathLike[str], kind: str, options: Mapping[str, Any]
) -> Options:
    """Return the options of a kind's reader, which go before those of a saved mapping."""
    mapping = mapping_for(path, kind, [str(name)]) if name else None
    return options_of(kind, arguments(mapping, options) if mapping else options)


def made_from(frame: pd.DataFrame, name: str, kind: str) -> FileMapping | None:
    """Return the mapping that reads files as a frame was read; None where it was read without any option.

    That of a file without headings, such as SIE, is found by its name alone.
    """
    about = frame.attrs["bktools"]
    options = about["options"]
    if not options:
        return None
    made_for = about["sha256"] if of_any_file(options) != options else ""
    return FileMapping(name, kind, tuple(about["headings"]), options, made_for)


def _comparable(texts: Iterable[str]) -> list[str]:
    spaced = (" ".join(unicodedata.normalize("NFC", text).split()) for text in texts)
    return sorted(filter(None, spaced))


def _quoted(value: Any) -> str:
    # Values of JSON are values of TOML, but for one control character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
