"""XML → records of text, one at a time, however large the file is.

Python's own expat parses the stream. A document type is refused before it is parsed, because accounting formats have
none: entities are never expanded and addresses never opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import NamedTuple
from xml.parsers import expat

from bktools.errors import InputError
from bktools.inputs.formats.format import File, number

_DEEPEST = 64
_MOST_NAMES = 50_000
_LONGEST_TEXT = 1 << 20
_LONGEST_TAG = 1 << 23
_ROOT = re.compile(r"<(?![?!])(?:[\w.-]+:)?(?=[\w.-])")
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

    def number(self, path: str, file: File) -> Decimal:
        """Return a text that is a number; anything else is an `InputError` that names it."""
        return number(self.text(path), path, file, self.line)

    def text_around(self, name: str, *paths: str) -> str:
        """Return a text of the record of that name around this one."""
        return next((one.text(*paths) for one in self.around if one.name == name), "")


def from_first_element(file: File) -> str:
    """Return the head of an XML file from its first element on, whose prefix is left out; no text for another file."""
    text = file.text.lstrip()
    root = _ROOT.search(_COMMENT.sub("", text)) if text.startswith("<") else None
    return f"<{root.string[root.end() :]}" if root else ""


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
            if len(parser.intern) > _MOST_NAMES:
                raise reader.error(f"more than {_MOST_NAMES:,} kinds of elements: the file is damaged")
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
        # What the reader refuses is a ValueError, too.
        if isinstance(error, InputError):
            raise
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
        self._records: list[Record] = []
        # The open elements, each by its path below its record; none for a record itself.
        self._paths: list[str] = []
        self._text: list[str] | None = None
        self._length = 0
        self._depth_skipped = 0
        self.parser = parser = expat.ParserCreate(file.encoding)
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._refuse_doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._data

    def error(self, why: str) -> InputError:
        return InputError(why, source=self._file.source, line=self.parser.CurrentLineNumber)

    def _refuse_doctype(self, *_: object) -> None:
        raise self.error(
            "has a document type (<!DOCTYPE …>), which accounting formats do not have and which can make a small file grow"
            " without end: export it again, or delete it from the file"
        )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        own = name if self._prefixes else name.rpartition(":")[2]
        if self._depth_skipped or own in self._skipped:
            self._depth_skipped += 1
            return
        if len(self._paths) == _DEEPEST:
            raise self.error(f"elements are nested more than {_DEEPEST} deep: the file is damaged")
        if own in self._wanted:
            self._records.append(Record(own, self.parser.CurrentLineNumber, {}, tuple(self._records)))
            path = ""
        else:
            path = f"{self._paths[-1]}/{own}".lstrip("/") if self._records else own
        self._paths.append(path)
        wanted = self._wanted[self._records[-1].name] if self._records else frozenset()
        self._text = [] if path in wanted else None
        self._length = 0
        for attribute, value in attributes.items():
            key = f"{path}@{attribute.rpartition(':')[2]}"
            if key in wanted:
                self._records[-1].texts.setdefault(key, value)

    def _data(self, text: str) -> None:
        if self._text is not None and not self._depth_skipped:
            self._length += len(text)
            if self._length > _LONGEST_TEXT:
                raise self.error("a text has more than 1 MB: the file is damaged")
            self._text.append(text)

    def _end(self, _: str) -> None:
        if self._depth_skipped:
            self._depth_skipped -= 1
            return
        path = self._paths.pop()
        if self._text:
            self._records[-1].texts.setdefault(path, "".join(self._text).strip())
        self._text = None
        if not path:
            self.ended.append(self._records.pop())
