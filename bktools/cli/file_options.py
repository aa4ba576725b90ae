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
from typer import Argument

from bktools.caller import in_shell
from bktools.cli import reading, results
from bktools.cli.options import shared
from bktools.cli.output import tell
from bktools.cli.tables import show
from bktools.consoles import listed
from bktools.errors import ArgumentError
from bktools.progress import note

if TYPE_CHECKING:
    import pandas as pd

File = Annotated[Path, Argument(metavar="FILE", help="CSV, TSV, Excel or Parquet.")]
Columns = Annotated[
    list[str] | None,
    shared("--column FIELD=HEADING", "Heading of a field; FIELD= leaves the field out. May be repeated."),
]
Headings = Annotated[int | None, shared("--headings LINE", "Line of the headings; 0: there are none.", min=0)]
SkipRows = Annotated[
    list[str] | None,
    shared(
        "--skip-rows ROWS",
        'Leave out rows: lines such as 52,54-60, or a pattern such as "SALDO|Total". May be repeated.',
    ),
]
Delimiter = Annotated[str | None, shared("--delimiter CHARACTER", "Character between two cells, such as ;")]
Encoding = Annotated[str | None, shared("--encoding NAME", "Encoding, such as cp1252.")]
Sheet = Annotated[str | None, shared("--sheet NAME", "Sheet of a workbook.")]
Decimal = Annotated[str | None, shared("--decimal MARK", "Decimal mark of the amounts: . or , or each.")]
DateFormat = Annotated[
    str | None,
    shared("--date-format FORMAT", "Format of the dates, such as %d/%m/%Y, or serial."),
]
Year = Annotated[int | None, shared("--year YYYY", "Year of dates that have none, such as 2026.")]
Currency = Annotated[
    str | None,
    shared("--currency CODE", "Currency of the amounts, such as EUR, if no column has it."),
]
Sides = Annotated[
    list[str] | None,
    shared("--side WORD=SIDE", "What a word beside an amount means: debit, credit or skip. May be repeated."),
]
Negate = Annotated[bool, shared("--negate", "Turn the sign of the amounts.")]
Net = Annotated[bool, shared("--net", "A row with debit and credit is their difference.")]
FillDown = Annotated[
    str | None,
    shared(
        "--fill-down FIELDS", "Fields that stand only in the first of their rows, such as date,account_code."
    ),
]
SplitAccount = Annotated[
    bool,
    shared("--split-account", "One column has the code and the name of an account."),
]
ByMapping = Annotated[
    str | None,
    shared(
        "--mapping NAME",
        "Begin with a saved mapping, or its .toml file. By default the one with the file's headings.",
    ),
]
SaveMapping = Annotated[
    str | None,
    shared(
        "--save-mapping NAME", "Keep these options for files with the same headings; a name, or a .toml file."
    ),
]

# Rows that are shown from each end of a table.
SHOWN_ROWS = 3


def pairs(argument: str, texts: list[str] | None) -> dict[str, str] | None:
    """Return the values of an option such as FIELD=HEADING as a mapping."""
    made = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals:
            raise ArgumentError(argument, "must be a name and a value, such as code=Konto", text)
        made[name.strip()] = value
    return made or None


def show_file(reader: Callable[..., pd.DataFrame], kind: str, given: Facts[str, Any]) -> None:
    """Read a file, and show how it was read; write it as a table, and save the options, where asked for.

    `given` are the parameters of the command, among them the options of the reader.
    """
    from bktools.inputs.options import OF_KIND

    options = {name: given[name] for name in (*OF_KIND[kind], *OF_LEDGERS) if given.get(name) is not None}
    options |= {name: pairs(name, options[name]) for name in ("columns", "sides") if name in options}
    if "skip_rows" in options:
        options["skip_rows"] = ";".join(options["skip_rows"])
    named = given["mapping"]
    frame = reading.read(reader, kind, given["file"], [named] if named else None, options=options)
    about = frame.attrs["bktools"]
    facts = {name: about.get(name) for name in ("source", "rows", *FORM, "columns", "notes")}
    facts |= {"days": _days(frame), "sums": _sums(frame)}
    if given["text"].is_for_people:
        _say_reading(facts)
        _say_rows(frame)
    given["text"].report(**facts)
    if given["output"] is not None:
        results.Table(output=given["output"]).hand_over(frame)
    if given["save_mapping"] is not None:
        _save(given["save_mapping"], kind, frame)


# Options of the reader of ledgers that say nothing of the file's form.
OF_LEDGERS = ("style", "reverse_sign", "verify")
FORM = ("format", "sheet", "heading_line", "delimiter", "encoding")


def _say_reading(facts: Facts[str, Any]) -> None:
    # Formats with a grammar have no line of headings: it is 0 there.
    form = [f"{name.replace('_', ' ')} {facts[name]}" for name in FORM if facts[name]]
    typer.echo(f"{facts['rows']:,} rows of {Path(facts['source']).name} ({', '.join(form)})\n")
    typer.echo("\n".join(listed([(field, "←", heading) for field, heading in facts["columns"].items()])))
    if facts["days"]:
        typer.echo(f"\nDays: {facts['days']['first']} to {facts['days']['last']}")
    for row in facts["sums"]:
        rows = "1 row" if row["rows"] == 1 else f"{row['rows']:,} rows"
        typer.echo(f"Sum: {row['currency']} {row['amount']} in {rows}")
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


def _save(name: str, kind: str, frame: pd.DataFrame) -> None:
    """Save the options that a file was read with as a mapping."""
    from bktools.inputs.mappings import made_from, path_of, write_mapping

    path = path_of(name)
    mapping = made_from(frame, path.stem, kind)
    if mapping is None:
        source = Path(frame.attrs["bktools"]["source"]).name
        tell(f"mapping {name!r} not saved: {source} is read without any option")
        return
    named = "" if mapping.headings else f"; the file has no headings, so name it: --mapping {in_shell(name)}"
    note(f"mapping {name!r} saved as {write_mapping(mapping, path)}{named}")
