"""XML → records of text, one at a time, however large the file is.

Python's own expat reads it: it streams, and it asks here before it takes a document type. Accounting formats have none,
so whatever entities, bombs or addresses stand in one never come to pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from xml.parsers import expat

from bktools.errors import InputError
from bktools.inputs.formats.format import File

_DEEPEST = 64
_LONGEST_TEXT = 1 << 20
_LONGEST_TAG = 1 << 23
_ROOT = re.compile(r"<(?![?!])(?:([\w.-]+):)?([\w.-]+)([^<>]*)")
_COMMENT = re.compile(r"(?s)<!--.*?-->")

# What expat says of a file that ends too early.
_CUT_OFF = {
    expat.errors.codes[text] for text in (expat.errors.XML_ERROR_NO_ELEMENTS, expat.errors.XML_ERROR_UNCLOSED_TOKEN)
}


class Record(NamedTuple):
    """An element with the texts that were asked for by their path below it, and the records around it, outermost first."""

    name: str
    line: int
    texts: dict[str, str]
    around: tuple[Record, ...]

    def text(self, *paths: str) -> str:
        """Return the first of these texts that is not empty."""
        return next((self.texts[path] for path in paths if self.texts.get(path)), "")

    def text_around(self, name: str, *paths: str) -> str:
        """Return a text of the record of that name around this one."""
        return next((one.text(*paths) for one in self.around if one.name == name), "")


def root_of(file: File) -> tuple[str, str]:
    """Return the local name and the attributes of the first element; empty texts for a file that is not XML."""
    text = file.text.lstrip()
    found = _ROOT.search(_COMMENT.sub("", text)) if text.startswith("<") else None
    return (found[2], found[3]) if found else ("", "")


def records(
    file: File, wanted: Mapping[str, frozenset[str]], *, skipped: frozenset[str] = frozenset(), prefixes: bool = False
) -> Iterator[Record]:
    """Yield the records of a file as they end.

    Parameters
    ----------
    file : File
        The XML.
    wanted : mapping
        Name of an element to the paths below it whose text is kept, the first where there are several. A path ends with
        `@name` for an attribute, and is empty for the element's own text.
    skipped : frozenset of str
        Elements that are passed over with all that is in them.
    prefixes : bool
        Whether names keep the prefix of their namespace.

    Raises
    ------
    InputError
        When it is not well-formed, ends too early, has a document type, or is larger or deeper than it may be.
    """
    reader = _Reader(file, wanted, skipped, prefixes=prefixes)
    parser = reader.parser
    fed = 0
    try:
        for piece in file.pieces():
            parser.Parse(piece, False)
            fed += len(piece)
            if fed - parser.CurrentByteIndex > _LONGEST_TAG:
                raise InputError("a tag has more than 8 MB: the file is damaged", source=file.source)
            yield from reader.ended
            reader.ended.clear()
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        if error.code in _CUT_OFF:
            why = "the XML ends too early: the file is cut off, export it again"
        else:
            why = f"is not well-formed XML ({expat.ErrorString(error.code)}): export it again"
        raise InputError(why, source=file.source, line=error.lineno) from None
    except (LookupError, ValueError) as error:
        # An encoding that expat asks Python for, which Python does not know or cannot give it.
        raise InputError(
            f"its XML declaration names an encoding that cannot be read ({error})", source=file.source
        ) from None
    yield from reader.ended


class _Reader:
    """What expat calls. A record is open between its start and its end; texts go to the innermost one."""

    def __init__(
        self, file: File, wanted: Mapping[str, frozenset[str]], skipped: frozenset[str], *, prefixes: bool
    ) -> None:
        self.ended: list[Record] = []
        self._file = file
        self._wanted = wanted
        self._skipped = skipped
        self._prefixes = prefixes
        self._open: list[tuple[Record, frozenset[str]]] = []
        # The path of each open element below its record; None outside of records.
        self._paths: list[str | None] = []
        self._text: list[str] = []
        self._length = 0
        self._is_leaf = False
        self._depth_skipped = 0
        self.parser = parser = expat.ParserCreate(file.encoding)
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._refuse_doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._data

    def _refuse_doctype(self, *_: object) -> None:
        raise InputError(
            "has a document type (<!DOCTYPE …>), which accounting formats do not have and which can make a small file"
            " grow without end: export it again, or delete it from the file",
            source=self._file.source,
            line=self.parser.CurrentLineNumber,
        )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = name if self._prefixes else name.rpartition(":")[2]
        if self._depth_skipped or name in self._skipped:
            self._depth_skipped += 1
            return
        if len(self._paths) == _DEEPEST:
            raise InputError(
                f"elements are nested more than {_DEEPEST} deep: the file is damaged",
                source=self._file.source,
                line=self.parser.CurrentLineNumber,
            )
        paths = self._wanted.get(name)
        if paths is not None:
            around = tuple(record for record, _ in self._open)
            self._open.append((Record(name, self.parser.CurrentLineNumber, {}, around), paths))
            path: str | None = ""
        elif self._open:
            above = self._paths[-1]
            path = f"{above}/{name}" if above else name
        else:
            path = None
        self._paths.append(path)
        self._text.clear()
        self._length = 0
        self._is_leaf = True
        if attributes and self._open:
            record, kept = self._open[-1]
            for attribute, value in attributes.items():
                key = f"{path}@{attribute.rpartition(':')[2]}"
                if key in kept:
                    record.texts.setdefault(key, value)

    def _data(self, text: str) -> None:
        if self._open and self._is_leaf and not self._depth_skipped:
            self._length += len(text)
            if self._length > _LONGEST_TEXT:
                raise InputError(
                    "a text has more than 1 MB: the file is damaged",
                    source=self._file.source,
                    line=self.parser.CurrentLineNumber,
                )
            self._text.append(text)

    def _end(self, _: str) -> None:
        if self._depth_skipped:
            self._depth_skipped -= 1
            return
        path = self._paths.pop()
        if path is None:
            return
        record, kept = self._open[-1]
        if self._is_leaf and path in kept:
            record.texts.setdefault(path, "".join(self._text).strip())
        self._is_leaf = False
        if not path:
            self._open.pop()
            self.ended.append(record)
