"""A file that is looked into, and read to raw tables once, however often it is tried with other options."""

from __future__ import annotations

import codecs
import hashlib
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from bktools.errors import ArgumentError, InputError
from bktools.frames.parquet import MIB
from bktools.inputs.notes import damaged
from bktools.inputs.options import Options
from bktools.inputs.raw.encoding import Reading
from bktools.inputs.table import RawTable
from bktools.wording import Sentence, reason_of

LARGEST = 2 << 30
_HEAD, _PIECE = 1 << 16, 1 << 24
_MAGIC = {b"PK\x03\x04": "workbook", b"\xd0\xcf\x11\xe0": "workbook", b"PAR1": "Parquet"}
# Options by what a file is made of.
_OPTIONS_OF: Mapping[str, tuple[str, ...]] = {
    "text": ("delimiter", "encoding"),
    "workbook": ("sheet",),
    "Parquet": (),
}
_ROOT = re.compile(r"<(?![?!])(?:[\w.-]+:)?(?=[\w.-])")
_COMMENT = re.compile(r"(?s)<!--.*?-->")


class Read(NamedTuple):
    """The raw tables of a file: the sheets of a workbook, or one; and how the bytes of a text were read."""

    raw_tables: list[RawTable]
    text: Reading | None = None


class Source:
    """A file that is read as one kind: chart, accounts, entries or ledger.

    One that is not there or cannot be read is an `InputError`.
    """

    def __init__(self, path: object, kind: str) -> None:
        if not isinstance(path, str | PathLike):
            raise ArgumentError("path", Sentence("rule.path_of_one"), path)
        self.path, self.kind, self.name = Path(path), kind, str(Path(path))
        self._read: dict[object, Read] = {}
        try:
            # A pipe would be waited for until somebody writes to it, and cannot be looked through first.
            is_special = self.path.exists() and not self.path.is_file()
            # The first 64 KiB.
            self.head = b"" if is_special else next(self.pieces(_HEAD), b"")
        except InputError:
            raise
        except ValueError as error:
            # A path with a NUL byte.
            raise self.error("unreadable", why=str(error)) from None
        if is_special:
            raise self.error("folder" if self.path.is_dir() else "pipe")

    def error(self, code: str, line: int | None = None, /, **facts: Any) -> InputError:
        """Return an error that names the file, and a line of it."""
        return damaged(self.name, code, line, **facts)

    @property
    def form(self) -> str:
        """What it is by its bytes: a workbook, Parquet or text."""
        return next((form for magic, form in _MAGIC.items() if self.head.startswith(magic)), "text")

    @cached_property
    def text(self) -> str:
        """The head as text to look for words in, not to keep."""
        if self.head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return self.head.decode("utf-16", errors="replace")
        return self.head.removeprefix(codecs.BOM_UTF8).decode("latin-1")

    @cached_property
    def first_element(self) -> str:
        """The head of an XML file from its first element, without prefix; "" for a file of another kind."""
        text = self.text.lstrip()
        root = _ROOT.search(_COMMENT.sub("", text)) if text.startswith("<") else None
        return f"<{root.string[root.end() :]}" if root else ""

    @cached_property
    def sha256(self) -> str:
        """Of the file's bytes."""
        with self.path.open("rb") as raw:
            return hashlib.file_digest(raw, "sha256").hexdigest()

    def pieces(self, size: int = _PIECE) -> Iterator[bytes]:
        """Yield the file's bytes; refuse a file that is larger than it may be."""
        try:
            with self.path.open("rb") as stream:
                if self.path.stat().st_size > LARGEST:
                    raise self.error("too_large", most=LARGEST // MIB)
                while piece := stream.read(size):
                    yield piece
        except FileNotFoundError:
            raise self.error("no_file") from None
        except OSError as error:
            raise self.error("unreadable", why=reason_of(error)) from None

    def data(self) -> bytes:
        """Return the file's bytes."""
        return b"".join(self.pieces())

    def refuse_not_read(self) -> None:
        """Raise an error for a file that is recognised and not read, which says what is read."""
        texts = [text.lstrip().replace("\r\n", "\n") for text in (self.first_element, self.text)]
        for name, look in _not_read().items():
            if any(map(look.match, texts)):
                of_books = self.kind in ("chart", "ledger")
                raise self.error("not_read" if of_books else "not_read_entries", name=name)

    def read(self, options: Options) -> Read:
        """Return the raw tables by the options that say how bytes become cells."""
        self.refuse_not_read()
        how = {name: options.get(name) for name in ("delimiter", "encoding", "sheet")}
        for name, value in how.items():
            if value is not None and name not in _OPTIONS_OF[self.form]:
                rule = Sentence("rule.of_another_form", name=self.name, form=self.form)
                raise ArgumentError(name, rule, value)
        key = (*how.values(),)
        if key not in self._read:
            self._read[key] = self._raw_tables(**how)
        return self._read[key]

    def _raw_tables(self, delimiter: str | None, encoding: str | None, sheet: str | int | None) -> Read:
        data = self.data()
        if not data or data.isspace():
            raise self.error("empty_file")
        if self.form == "workbook":
            from bktools.inputs.raw.workbook import read_workbook

            return Read(read_workbook(data, sheet, self.name))
        if self.form == "Parquet":
            from bktools.inputs.raw.parquet import read_parquet

            return Read([read_parquet(data, self.name)])
        from bktools.inputs.raw.delimited import read_delimited

        raw, text = read_delimited(data, self.kind, delimiter=delimiter, encoding=encoding, source=self.name)
        return Read([raw], text)


@cache
def _not_read() -> dict[str, re.Pattern[str]]:
    """Return how each kind of file that is not read begins, by its name."""
    text = files(__package__).joinpath("not_read.toml").read_text(encoding="utf-8")
    return {name: re.compile(look) for name, look in tomllib.loads(text).items()}
