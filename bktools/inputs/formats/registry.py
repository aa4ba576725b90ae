"""The table of formats, each one line: how it is recognised, and the readers of its chart and its general ledger."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path

from bktools.caller import is_command, name_of
from bktools.errors import ArgumentError, InputError
from bktools.inputs.formats import datev, fec, gnucash, jpk, saft, sie
from bktools.inputs.formats.format import File, Format
from bktools.inputs.table import Table

FORMATS = (
    Format("SIE", sie.recognises, sie.chart, sie.ledger),
    Format("DATEV", datev.recognises, datev.chart, datev.ledger),
    Format("FEC", fec.recognises, fec.chart, fec.ledger),
    Format("SAF-T", saft.recognises, saft.chart, saft.ledger),
    Format("JPK_KR", jpk.recognises, jpk.chart, jpk.ledger),
    Format("GnuCash", gnucash.recognises, gnucash.chart, gnucash.ledger),
    Format(
        "GnuCash transactions",
        gnucash.recognises_transactions,
        "is GnuCash's export of transactions: for a chart, export the account tree, or read the GnuCash file itself",
        gnucash.transactions,
    ),
    Format(
        "GnuCash account tree",
        gnucash.recognises_tree,
        gnucash.tree,
        "is GnuCash's export of the account tree: for the ledger, export the transactions, or read the GnuCash file itself",
    ),
)


def recognised(path: str | PathLike[str], encoding: str | None = None) -> tuple[File, Format] | None:
    """Return the file and its format, None for a table of no format or a path that leads to no file."""
    file = File.at(Path(path), encoding)
    if file is None:
        return None
    found = next((one for one in FORMATS if one.recognises(file)), None)
    return None if found is None else (file, found)


def chart_table(path: str | PathLike[str], encoding: str | None = None, **of_tables: str | int | None) -> Table | None:
    """Return the accounts of a file of one of the formats, headed by field; None for a table of no format.

    Raises
    ------
    InputError
        When the file cannot be read, or holds no accounts.
    ArgumentError
        When one of the arguments that are for tables is given, and the file is of a format.
    """
    found = recognised(path, encoding)
    if found is None:
        return None
    file, format_found = found
    if isinstance(format_found.chart, str):
        raise InputError(format_found.chart, source=file.source)
    refuse_arguments(format_found, of_tables)
    return format_found.chart(file)


def refuse_ledgers(path: str | PathLike[str], encoding: str | None = None) -> None:
    """Raise an error for a file of one of the formats where entries are read."""
    found = recognised(path, encoding)
    if found is not None:
        file, form = found
        read = "bktools ledger" if is_command() else "read_general_ledger"
        raise InputError(
            f"is a general ledger or chart of the format {form.name}, not a file of entries: read it with {read}",
            source=file.source,
        )


def refuse_arguments(of: Format, arguments: Mapping[str, object]) -> None:
    """Raise an error for an argument that is for tables and is given for a file of a format, which states it itself."""
    for argument, value in arguments.items():
        if value is not None:
            raise ArgumentError(
                name_of(argument), f"does not apply to a file of the format {of.name}, which states it itself", value
            )
