"""XML → records of text, one at a time, however large the file is.

Python's own expat parses the stream. A document type is refused before it is parsed, because accounting
formats have none: entities are never expanded and addresses never opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.parsers import expat

from bktools.errors import InputError
from bktools.inputs.formats.format import File, Record

_DEEPEST = 64
_ROOT = re.compile(r"<(?![?!])(?:[\w.-]+:)?(?=[\w.-])")
_COMMENT = re.compile(r"(?s)<!--.*?-->")

# The messages of expat for a file that ends too early.
_CUT_OFF = {
    expat.errors.codes[text]
    for text in (expat.errors.XML_ERROR_NO_ELEMENTS, expat.errors.XML_ERROR_UNCLOSED_TOKEN)
}


def from_first_element(file: File) -> str:
    """Return an XML file's head from its first element, without prefix; "" for a file of another kind."""
    text = file.text.lstrip()
    root = _ROOT.search(_COMMENT.sub("", text)) if text.startswith("<") else None
    return f"<{root.string[root.end() :]}" if root else ""


def records(file: File, wanted: frozenset[str], *, skipped: frozenset[str] = frozenset()) -> Iterator[Record]:
    """Yield the wanted records of a file as they end, with the texts of the elements below them.

    A text is named by the path of its element without prefixes, and of several the first one is kept. The
    name of an attribute stands behind `@`; the record's own text has no name. Records are wanted with or
    without the prefix of their namespace; elements that are skipped are passed over with all that is in them.
    A file that is not well-formed, ends too early, has a document type, or is larger or deeper than it may be
    is an `InputError`.
    """
    reader = _Reader(file, wanted, skipped)
    parser = reader.parser
    try:
        for piece in file.pieces():
            parser.Parse(piece, False)
            yield from reader.ended
            reader.ended.clear()
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        why = f"is not well-formed XML ({expat.ErrorString(error.code)}): export it again"
        if error.code in _CUT_OFF:
            why = "the XML ends too early: the file is cut off, export it again"
        raise file.error(why, error.lineno) from None
    except InputError:
        raise
    except (LookupError, ValueError) as error:
        # An encoding that expat asks Python for, which Python does not know or cannot give it.
        raise file.error(f"its XML declaration names an encoding that cannot be read ({error})") from None
    yield from reader.ended


class _Reader:
    """What expat calls. A record is open between its start and its end; texts go to the innermost one."""

    def __init__(self, file: File, wanted: frozenset[str], skipped: frozenset[str]) -> None:
        self.ended: list[Record] = []
        self._source, self._wanted, self._skipped = file.source, wanted, skipped
        self.opened: list[Record] = []
        # The open elements, each by its path below its record; none for a record itself.
        self._paths: list[str] = []
        self._text = ""
        self._depth_skipped = 0
        self.parser = parser = expat.ParserCreate(file.encoding)
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._refuse_doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._data

    def error(self, why: str) -> InputError:
        return InputError(why, source=self._source, line=self.parser.CurrentLineNumber)

    def _refuse_doctype(self, *_: object) -> None:
        raise self.error(
            "has a document type (<!DOCTYPE …>), which accounting formats do not have and which can make a "
            "small file grow without end: export it again, or delete it from the file"
        )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        own = name.rpartition(":")[2]
        if self._depth_skipped or own in self._skipped:
            self._depth_skipped += 1
            return
        if len(self._paths) == _DEEPEST:
            raise self.error(f"elements are nested more than {_DEEPEST} deep: the file is damaged")
        path = f"{self._paths[-1]}/{own}".lstrip("/") if self.opened else own
        kind = name if name in self._wanted else own
        if kind in self._wanted:
            path = ""
            around = tuple(self.opened)
            self.opened.append(Record(kind, self._source, self.parser.CurrentLineNumber, {}, around))
        self._paths.append(path)
        self._text = ""
        if self.opened:
            for attribute, value in attributes.items():
                self.opened[-1].texts.setdefault(f"{path}@{attribute.rpartition(':')[2]}", value)

    def _data(self, text: str) -> None:
        if self.opened and not self._depth_skipped:
            self._text += text

    def _end(self, _: str) -> None:
        if self._depth_skipped:
            self._depth_skipped -= 1
            return
        path = self._paths.pop()
        if text := self._text.strip():
            self.opened[-1].texts.setdefault(path, text)
        self._text = ""
        if not path:
            self.ended.append(self.opened.pop())
