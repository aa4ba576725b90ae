"""Which format a file is of, and the readers of its chart and its general ledger."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from os import PathLike
from pkgutil import iter_modules

from bktools.caller import is_command, name_of
from bktools.errors import ArgumentError
from bktools.inputs import formats
from bktools.inputs.formats.format import File, Format


@cache
def known_formats() -> tuple[Format, ...]:
    """Return the formats that this folder's files name in `FORMATS`, in the order of the files' names."""
    modules = (
        import_module(f"{formats.__name__}.{module.name}") for module in iter_modules(formats.__path__)
    )
    return tuple(one for module in modules for one in getattr(module, "FORMATS", ()))


def recognised(
    path: str | PathLike[str], encoding: str | None = None, **of_tables: object
) -> tuple[File, Format] | None:
    """Return the file and its format, None for a table of no format.

    An argument for tables is an `ArgumentError` for a file of a format, which states it itself.
    """
    file = File.at(path, encoding)
    form = next((one for one in known_formats() if one.recognises(file)), None)
    if form is None:
        return None
    for argument, value in of_tables.items():
        if value is not None:
            raise ArgumentError(
                name_of(argument),
                f"does not apply to a file of the format {form.name}, which states it itself",
                value,
            )
    return file, form


def refuse_ledgers(path: str | PathLike[str], encoding: str | None = None) -> None:
    """Raise an error for a file of one of the formats where entries are read."""
    of_format = recognised(path, encoding)
    if of_format is not None:
        file, form = of_format
        read = "bktools ledger" if is_command() else "read_general_ledger"
        raise file.error(
            f"is a general ledger or chart of the format {form.name}, not a file of entries: "
            f"read it with {read}"
        )
