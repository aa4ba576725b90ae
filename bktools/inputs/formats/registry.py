"""Which format a file is of, and the readers of its chart and its general ledger."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib import import_module
from os import PathLike
from pkgutil import iter_modules

from bktools.caller import is_command, name_of
from bktools.errors import ArgumentError
from bktools.inputs import formats
from bktools.inputs.formats.format import File, Format, Ledger
from bktools.inputs.options import Options
from bktools.inputs.source import Source


@cache
def _modules() -> tuple[object, ...]:
    names = [module.name for module in iter_modules(formats.__path__)]
    return tuple(import_module(f"{formats.__name__}.{name}") for name in names)


def known_formats() -> tuple[Format, ...]:
    """Return the formats that this folder's files name in `FORMATS`, in the order of the files' names."""
    return tuple(one for module in _modules() for one in getattr(module, "FORMATS", ()))


def recognised(file: File, options: Options) -> Format | None:
    """Return the format of a file, None for a table of no format.

    An option for tables is an `ArgumentError` for a file of a format, which states it itself.
    """
    form = next((one for one in known_formats() if one.recognises(file)), None)
    if form is not None:
        for name, value in options.stated().items():
            if name != "encoding":
                rule = f"does not apply to a file of the format {form.name}, which states it itself"
                raise ArgumentError(name_of(name), rule, value)
    return form


def ledger_of(source: Source, options: Options) -> tuple[str, Ledger] | None:
    """Return the format's name and the postings of a file of a format, None for any other table."""
    file = replace(source.file, encoding=options.encoding)
    if (form := recognised(file, options)) is not None:
        return form.name, form.ledger(file)
    if options.columns or options.headings is not None:
        # A person says how the table is read.
        return None
    reports = [one for module in _modules() for one in getattr(module, "TABLE_FORMATS", ())]
    for grid in source.read(options).grids:
        for report in reports:
            if (ledger := report.ledger(source.file, grid)) is not None:
                about = {"sheet": grid.sheet, "encoding": grid.encoding, "delimiter": grid.delimiter}
                return report.name, replace(ledger, table=replace(ledger.table, **about))
    return None


def refuse_ledgers(path: str | PathLike[str], encoding: str | None = None) -> None:
    """Raise an error for a file of one of the formats where entries are read."""
    file = File.at(path, encoding)
    form = next((one for one in known_formats() if one.recognises(file)), None)
    if form is not None:
        read = "bktools ledger" if is_command() else "read_general_ledger"
        raise file.error(
            f"is a general ledger or chart of the format {form.name}, not a file of entries: "
            f"read it with {read}"
        )
