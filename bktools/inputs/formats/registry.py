"""Which format a file is of, and what it says: accounts or postings."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib import import_module
from os import PathLike
from pkgutil import iter_modules

from bktools.caller import is_command, name_of
from bktools.errors import ArgumentError
from bktools.inputs import formats
from bktools.inputs.formats.format import Books, File, Format
from bktools.inputs.grids.source import Source
from bktools.inputs.headings import opened
from bktools.inputs.options import Options
from bktools.inputs.reading import Reading

# The options of files that state all else themselves.
_OF_FORMATS = ("encoding", "style", "reverse_sign", "verify")


@cache
def listed() -> tuple[Format, ...]:
    """Return what this folder's files name in `FORMATS`, in the order of the files."""
    modules = (
        import_module(f"{formats.__name__}.{module.name}") for module in iter_modules(formats.__path__)
    )
    return tuple(one for module in modules for one in getattr(module, "FORMATS", ()))


def recognised(file: File) -> Format | None:
    """Return the format of a file, None for a table of no format."""
    return next((form for form in listed() if form.recognises(file)), None)


def opened_books(source: Source, options: Options) -> Reading:
    """Return what a file of a format says, or the table of another file, with the columns of its fields."""
    read = books_of(source, options)
    if read is None:
        return opened(source, options)
    name, books = read
    places = dict(books.table.places)
    return Reading(source, options, books.table, places, books=books, about={"format": name})


def books_of(source: Source, options: Options) -> tuple[str, Books] | None:
    """Return the name of a file's format, and what the file says; None for a table of no format.

    An option for tables is an `ArgumentError` for a file of a format, which states it itself.
    """
    file = replace(source.file, encoding=options.get("encoding"))
    if (form := recognised(file)) is not None:
        for name, value in options.items():
            if name not in _OF_FORMATS:
                rule = f"does not apply to a file of the format {form.name}, which states it itself"
                raise ArgumentError(name_of(name), rule, value)
        return form.name, form.read(file, source.kind)
    return None


def refuse_ledgers(path: str | PathLike[str], encoding: str | None = None) -> None:
    """Raise an error for a file of one of the formats where entries are read."""
    file = File.at(path, encoding)
    if form := recognised(file):
        reader = "bktools ledger" if is_command() else "read_general_ledger"
        raise file.error("is_ledger", form=form.name, reader=reader)
