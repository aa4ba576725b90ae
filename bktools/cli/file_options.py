"""Options that say how a file is read, and the page that shows how it was read.

They stand on `bktools chart`, `bktools entries` and `bktools ledger` alone; a saved mapping takes them to all
other commands.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping as Facts
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from bktools.cli import reading, results
from bktools.cli.output import tell
from bktools.cli.tables import show
from bktools.consoles import listed
from bktools.errors import ArgumentError
from bktools.progress import note

if TYPE_CHECKING:
    import pandas as pd

File = Annotated[Path, Argument(metavar="FILE", help="CSV, TSV, Excel or Parquet.")]
Column = Annotated[
    list[str] | None,
    Option(
        "--column",
        metavar="FIELD=HEADING",
        help="Heading of a field; FIELD= leaves the field out. May be repeated.",
    ),
]
Headings = Annotated[
    int | None, Option("--headings", metavar="LINE", help="Line of the headings; 0: there are none.", min=0)
]
SkipRows = Annotated[
    list[str] | None,
    Option(
        "--skip-rows",
        metavar="ROWS",
        help='Leave out rows: lines such as 52,54-60, or a pattern such as "SALDO|Total". May be repeated.',
    ),
]
Delimiter = Annotated[
    str | None, Option("--delimiter", metavar="CHARACTER", help="Character between two cells, such as ;")
]
Encoding = Annotated[str | None, Option("--encoding", metavar="NAME", help="Encoding, such as cp1252.")]
Sheet = Annotated[str | None, Option("--sheet", metavar="NAME", help="Sheet of a workbook.")]
Decimal = Annotated[
    str | None, Option("--decimal", metavar="MARK", help="Decimal mark of the amounts: . or , or each.")
]
DateFormat = Annotated[
    str | None,
    Option("--date-format", metavar="FORMAT", help="Format of the dates, such as %d/%m/%Y, or serial."),
]
Year = Annotated[
    int | None, Option("--year", metavar="YYYY", help="Year of dates that have none, such as 2026.")
]
Currency = Annotated[
    str | None,
    Option("--currency", metavar="CODE", help="Currency of the amounts, such as EUR, if no column has it."),
]
Side = Annotated[
    list[str] | None,
    Option(
        "--side",
        metavar="WORD=SIDE",
        help="What a word beside an amount means: debit, credit or skip. May be repeated.",
    ),
]
Negate = Annotated[bool, Option("--negate", help="Turn the sign of the amounts.")]
Net = Annotated[bool, Option("--net", help="A row with debit and credit is their difference.")]
FillDown = Annotated[
    str | None,
    Option(
        "--fill-down",
        metavar="FIELDS",
        help="Fields that stand only in the first of their rows, such as date,account_code.",
    ),
]
SplitAccount = Annotated[
    bool,
    Option("--split-account", help="One column has the code and the name of an account."),
]
ByMapping = Annotated[
    str | None,
    Option(
        "--mapping",
        metavar="NAME",
        help="Begin with a saved mapping, or its .toml file. By default the one with the file's headings.",
    ),
]
SaveMapping = Annotated[
    str | None,
    Option(
        "--save-mapping",
        metavar="NAME",
        help="Keep these options for files with the same headings; a name, or a .toml file.",
    ),
]

# Rows that are shown from each end of a table.
SHOWN_ROWS = 3


def pairs(option: str, texts: list[str] | None) -> dict[str, str] | None:
    """Return the values of an option such as FIELD=HEADING as a mapping."""
    made = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals:
            raise ArgumentError(option, "must be a name and a value, such as code=Konto", text)
        made[name.strip()] = value
    return made or None


def show_file(
    reader: Callable[..., pd.DataFrame],
    kind: str,
    file: Path,
    options: Facts[str, Any],
    mapping: str | None,
    save_mapping: str | None,
    format: results.TextFormat,
    output: Path | None,
    profile: str | None,
    **others: Any,
) -> None:
    """Read a file with options, and show how it was read; write it as a table, save the options."""
    frame = reading.read(reader, kind, file, mapping and [mapping], options=options, **others)
    about = frame.attrs["bktools"]
    facts = {name: about.get(name) for name in ("source", "rows", *FORM, "columns", "notes")}
    facts |= {"days": _days(frame), "sums": _sums(frame)}
    results.report(format, **facts)
    if format is results.TextFormat.TEXT:
        _say_reading(facts)
        _say_rows(frame)
    if output is not None:
        results.hand_over(frame, results.TableFormat.TABLE, output, profile)
    if save_mapping is not None:
        _save(save_mapping, kind, file, options)


FORM = ("format", "sheet", "heading_line", "delimiter", "encoding")


def _say_reading(facts: Facts[str, Any]) -> None:
    form = [f"{name.replace('_', ' ')} {facts[name]}" for name in FORM if facts[name] is not None]
    typer.echo(f"{facts['rows']:,} rows of {Path(facts['source']).name} ({', '.join(form)})\n")
    typer.echo("\n".join(listed([(field, "←", heading) for field, heading in facts["columns"].items()])))
    if facts["days"]:
        typer.echo(f"\nDays: {facts['days']['first']} to {facts['days']['last']}")
    for row in facts["sums"]:
        typer.echo(f"Sum: {row['amount']} of {row['rows']:,} rows")
    for text in facts["notes"]:
        typer.echo(f"Note: {text}")


def _say_rows(frame: pd.DataFrame) -> None:
    import pandas as pd

    is_long = len(frame) > 2 * SHOWN_ROWS
    typer.echo("\nFirst and last rows:" if is_long else "\nRows:")
    part = pd.concat([frame.head(SHOWN_ROWS), frame.tail(SHOWN_ROWS)]) if is_long else frame
    show(part.dropna(axis="columns", how="all"), whole="--output FILE")


def _days(frame: pd.DataFrame) -> dict[str, str] | None:
    """Return the first and the last day of a table; None without days."""
    days = frame["date"].dropna() if "date" in frame else ()
    return {"first": f"{min(days):%Y-%m-%d}", "last": f"{max(days):%Y-%m-%d}"} if len(days) else None


def _sums(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the number of rows and the sum of each currency."""
    if "amount" not in frame:
        return []
    from bktools.wording.numbers import shown

    groups = frame.assign(currency=frame.get("currency", "no currency")).groupby(
        "currency", dropna=False, sort=True
    )["amount"]
    return [
        {"currency": str(currency), "rows": len(amounts), "amount": shown(amounts.sum(), str(currency))}
        for currency, amounts in groups
    ]


def _save(name: str, kind: str, file: Path, options: Facts[str, Any]) -> None:
    """Save the options of a file as a mapping."""
    from bktools.inputs import mappings

    mappings.path_of(name)
    mapping = mappings.made_from(file, name, kind, options)
    if mapping is None or not (mapping.columns or mapping.options):
        why = "has no headings to know it by" if mapping is None else "is read without any option"
        tell(f"mapping {name!r} not saved: {file.name} {why}")
    else:
        note(f"mapping {name!r} saved as {mappings.write_mapping(mapping)}")
