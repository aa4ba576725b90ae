"""Which format a file is of, and what it says: accounts or postings."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Protocol

from bktools.caller import is_command
from bktools.errors import ArgumentError
from bktools.inputs.formats import datev, fec, jpk, saft, sie
from bktools.inputs.formats.format import Books
from bktools.inputs.headings import opened
from bktools.inputs.options import Options
from bktools.inputs.raw.source import Source
from bktools.inputs.reading import Reading
from bktools.wording import Sentence


class Format(Protocol):
    """The file of a format: how its first bytes look, and what reads it, with the caller's encoding."""

    def recognises(self, file: Source, /) -> bool:
        """Whether a file is of the format."""

    def read(self, file: Source, encoding: str | None, /) -> Books:
        """Return what a file says, as the kind that is asked for."""


FORMATS: Final[dict[str, Format]] = {"DATEV": datev, "FEC": fec, "JPK_KR": jpk, "SAF-T": saft, "SIE": sie}
# The options of files that state all else themselves.
_OF_FORMATS = ("encoding", "style", "reverse_sign", "verify")


def recognised(file: Source) -> str | None:
    """Return the format of a file, None for a table of no format."""
    return next((name for name, form in FORMATS.items() if form.recognises(file)), None)


def opened_books(source: Source, options: Options) -> Reading:
    """Return what a file of a format says, or the table of another file, with the columns of its fields.

    An option for tables is an `ArgumentError` for a file of a format, which states it itself.
    """
    form = recognised(source)
    if form is None:
        return opened(source, options)
    for name in options.keys() - {*_OF_FORMATS}:
        raise ArgumentError(name, Sentence("rule.of_a_format", form=form), options[name])
    books = FORMATS[form].read(source, options.get("encoding"))
    table = replace(books.table, currency=books.currency)
    return Reading(source, options, table, dict(table.places), books=books, about={"format": form})


def refuse_ledgers(source: Source) -> None:
    """Raise an error for a file of one of the formats where entries are read."""
    if form := recognised(source):
        reader = "bktools ledger" if is_command() else "read_general_ledger"
        raise source.error("is_ledger", form=form, reader=reader)
