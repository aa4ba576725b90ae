"""XML → records of text, one at a time, however large the file is.

Python's own expat parses the stream. A document type is refused before it is parsed, because accounting
formats have none: entities are never expanded and addresses never opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple
from xml.parsers import expat

from bktools.errors import InputError
from bktools.inputs.formats.format import NUMBER, Total
from bktools.inputs.notes import damaged
from bktools.inputs.raw.source import Source

_DEEPEST = 64
# The messages of expat for a file that ends too early.
_CUT_OFF = {
    expat.errors.codes[text]
    for text in (expat.errors.XML_ERROR_NO_ELEMENTS, expat.errors.XML_ERROR_UNCLOSED_TOKEN)
}


class Record(NamedTuple):
    """A record of a file with its texts by their paths, and the records around it, outermost first."""

    name: str
    source: str = ""
    line: int = 0
    texts: dict[str, str] = {}  # noqa: RUF012 - a record without texts stays without
    around: tuple[Record, ...] = ()

    def text(self, *names: str) -> str:
        """Return the first of these texts that is not empty."""
        return next((self.texts[name] for name in names if self.texts.get(name)), "")

    def text_around(self, record: str, *names: str) -> str:
        """Return a text of the record of that name around this one."""
        return next((one.text(*names) for one in self.around if one.name == record), "")

    def number(self, name: str) -> Decimal:
        """Return a text of the form 1234.50; anything else is an `InputError` that names it."""
        text = self.text(name)
        if not re.fullmatch(NUMBER, text):
            raise self.error("no_number", name=name, value=text[:40])
        return Decimal(text)

    def totals(self, **counted: str | Decimal) -> list[Total]:
        """Return those of these totals that the record states."""
        return [Total(name, self.number(name), value) for name, value in counted.items() if self.text(name)]

    def error(self, code: str, **facts: Any) -> InputError:
        """Return an error that names the record's line."""
        return damaged(self.source, code, self.line, **facts)


def records(
    file: Source, encoding: str | None, wanted: frozenset[str], skipped: frozenset[str] = frozenset()
) -> Iterator[Record]:
    """Yield the wanted records of a file as they end, with the texts of the elements below them.

    A text is named by the path of its element without prefixes, and of several the first one is kept.
    Elements that are skipped are passed over with all that is in them. A file that is not well-formed, ends
    too early, has a document type, or is larger or deeper than it may be is an `InputError`.
    """
    reader = _Reader(file, encoding, wanted, skipped)
    try:
        for piece in file.pieces():
            reader.parser.Parse(piece, False)
            yield from reader.ended
            reader.ended.clear()
        reader.parser.Parse(b"", True)
    except expat.ExpatError as error:
        code = "xml_cut_off" if error.code in _CUT_OFF else "xml_wrong"
        raise file.error(code, error.lineno, why=expat.ErrorString(error.code)) from None
    except InputError:
        raise
    except (LookupError, ValueError) as error:
        # An encoding that expat asks Python for, which Python does not know or cannot give it.
        raise file.error("xml_encoding", why=str(error)) from None
    yield from reader.ended


class _Reader:
    """What expat calls. A record is open between its start and its end; texts go to the innermost one."""

    def __init__(
        self, file: Source, encoding: str | None, wanted: frozenset[str], skipped: frozenset[str]
    ) -> None:
        self.ended: list[Record] = []
        self._file, self._wanted, self._skipped = file, wanted, skipped
        self._opened: list[Record] = []
        # The open elements, each by its path below its record; none for a record itself.
        self._paths: list[str] = []
        self._text = ""
        self._depth_skipped = 0
        self.parser = parser = expat.ParserCreate(encoding)
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._refuse_doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._data

    def _refuse_doctype(self, *_: object) -> None:
        raise self._file.error("xml_document_type", self.parser.CurrentLineNumber)

    def _start(self, name: str, _: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        if self._depth_skipped or name in self._skipped:
            self._depth_skipped += 1
            return
        if len(self._paths) == _DEEPEST:
            raise self._file.error("xml_deep", self.parser.CurrentLineNumber, most=_DEEPEST)
        path = f"{self._paths[-1]}/{name}".lstrip("/") if self._opened else name
        if name in self._wanted:
            path, around = "", tuple(self._opened)
            line = self.parser.CurrentLineNumber
            self._opened.append(Record(name, self._file.name, line, {}, around))
        self._paths.append(path)
        self._text = ""

    def _data(self, text: str) -> None:
        if self._opened and not self._depth_skipped:
            self._text += text

    def _end(self, _: str) -> None:
        if self._depth_skipped:
            self._depth_skipped -= 1
            return
        path = self._paths.pop()
        if text := self._text.strip():
            self._opened[-1].texts.setdefault(path, text)
        self._text = ""
        if not path:
            self.ended.append(self._opened.pop())
