"""`bktools mappings`: what was settled once for files with the same headings."""

from __future__ import annotations

import typer

from bktools.cli import results
from bktools.cli.options import REQUIRED, argument
from bktools.cli.output import tell
from bktools.progress import note

app = typer.Typer(help="Remembered columns and options of files: list, show.", no_args_is_help=True)


@app.command("list")
@results.table
def list_mappings() -> None:
    """List the mappings. Each is a TOML file; a colleague can copy it into the same folder and use it.

    Example: bktools mappings list
    """
    from bktools.inputs.mappings import all_mappings, folder
    from bktools.wording.numbers import counted

    rows = []
    for one in all_mappings():
        settled = (f"{name}={value}" for name, value in (*one.columns.items(), *one.options.items()))
        rows.append((one.name, one.kind, len(one.headings), ", ".join(settled)))
    results.hand_over_rows(rows, ["name", "kind", "headings", "settled"])
    note(f"{counted(len(rows), 'mapping')} in {folder()}")


@app.command("show")
@results.text
def show(name: str = argument("NAME", "Name of the mapping.", REQUIRED)) -> None:
    """Show a mapping as its file has it.

    Example: bktools mappings show card
    """
    from bktools.inputs.mappings import path_of, read_mapping

    path = path_of(name)
    mapping = read_mapping(path)
    results.report(
        mapping.toml().rstrip("\n"),
        name=mapping.name,
        kind=mapping.kind,
        headings=mapping.headings,
        columns=mapping.columns,
        options=mapping.options,
        file=path,
    )
    tell(str(path))
