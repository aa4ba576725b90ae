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
_MOST_KINDS = 50_000
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

    def number(self, path: str, file: File) -> Decimal:
        """Return a text that is a number; anything else is an `InputError` that names it."""
        return number(self.text(path), path, file, self.line)

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
        # What the reader refuses is a ValueError, too.
        if isinstance(error, InputError):
            raise
        # An encoding that expat asks Python for, which Python does not know or cannot give it.
        raise InputError(
            f"its XML declaration names an encoding that cannot be read ({error})", source=file.source
        ) from None
    yield from reader.ended


class _Element:
    """A kind of element: where it is below its record, and what of it is kept. There is one of each, not one an element."""

    __slots__ = ("attributes", "below", "depth", "is_record", "is_text", "name", "path", "record")

    def __init__(self, name: str, wanted: Mapping[str, frozenset[str]], above: _Element | None) -> None:
        self.name = name
        self.below: dict[str, _Element | None] = {}
        self.depth: int = above.depth + 1 if above else 0
        self.is_record = name in wanted
        # Above the first record is none, and nothing is kept.
        self.record: str | None = name if self.is_record else above.record if above else None
        self.path: str = (
            "" if self.is_record or above is None or not self.record else f"{above.path}/{name}".lstrip("/")
        )
        kept = wanted[self.record] if self.record else frozenset()
        self.is_text = bool(self.record) and self.path in kept
        start = f"{self.path}@"
        self.attributes = {key.removeprefix(start): key for key in kept if key.startswith(start)} if self.record else {}


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
        self._elements = [_Element("", wanted, None)]
        self._kinds = 0
        self._text: list[str] | None = None
        self._length = 0
        self._depth_skipped = 0
        self.parser = parser = expat.ParserCreate(file.encoding)
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._refuse_doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._data

    def _refuse(self, why: str) -> InputError:
        return InputError(why, source=self._file.source, line=self.parser.CurrentLineNumber)

    def _refuse_doctype(self, *_: object) -> None:
        raise self._refuse(
            "has a document type (<!DOCTYPE …>), which accounting formats do not have and which can make a small file grow"
            " without end: export it again, or delete it from the file"
        )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if self._depth_skipped:
            self._depth_skipped += 1
            return
        above = self._elements[-1]
        try:
            element = above.below[name]
        except KeyError:
            element = self._entered(name, above)
        if element is None:
            self._depth_skipped = 1
            return
        self._elements.append(element)
        if element.is_record:
            self._records.append(Record(element.name, self.parser.CurrentLineNumber, {}, tuple(self._records)))
        self._text = [] if element.is_text else None
        self._length = 0
        if attributes and element.attributes:
            for attribute, value in attributes.items():
                key = element.attributes.get(attribute.rpartition(":")[2])
                if key is not None:
                    self._records[-1].texts.setdefault(key, value)

    def _entered(self, name: str, above: _Element) -> _Element | None:
        """Return the kind of an element that was not met at this place before; None for one that is passed over."""
        if above.depth == _DEEPEST:
            raise self._refuse(f"elements are nested more than {_DEEPEST} deep: the file is damaged")
        self._kinds += 1
        if self._kinds > _MOST_KINDS:
            raise self._refuse(f"more than {_MOST_KINDS:,} kinds of elements: the file is damaged")
        own = name if self._prefixes else name.rpartition(":")[2]
        above.below[name] = None if own in self._skipped else _Element(own, self._wanted, above)
        return above.below[name]

    def _data(self, text: str) -> None:
        if self._text is not None and not self._depth_skipped:
            self._length += len(text)
            if self._length > _LONGEST_TEXT:
                raise self._refuse("a text has more than 1 MB: the file is damaged")
            self._text.append(text)

    def _end(self, _: str) -> None:
        if self._depth_skipped:
            self._depth_skipped -= 1
            return
        element = self._elements.pop()
        if self._text is not None:
            if self._text:
                self._records[-1].texts.setdefault(element.path, "".join(self._text).strip())
            self._text = None
        if element.is_record:
            self.ended.append(self._records.pop())
