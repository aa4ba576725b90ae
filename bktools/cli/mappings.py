"""`bktools mappings`: what was settled once for files with the same headings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from bktools.cli import results
from bktools.cli.output import remark, tell

app = typer.Typer(help="Remembered columns and options of files: list, show.", no_args_is_help=True)


@app.command("list")
@results.table
def list_mappings() -> None:
    """List the mappings. Each is a TOML file; a colleague can copy it into the same folder and use it.

    Example: bktools mappings list
    """
    import pandas as pd

    from bktools.inputs.mappings import all_mappings, folder

    found = all_mappings()
    settled = [
        ", ".join(f"{field}={heading}" for field, heading in (*one.columns.items(), *one.options.items()))
        for one in found
    ]
    rows = [(one.name, one.kind, len(one.headings), text) for one, text in zip(found, settled, strict=True)]
    results.hand_over(pd.DataFrame(rows, columns=["name", "kind", "headings", "settled"]))
    remark(f"{len(found)} mappings in {folder()}")


@app.command("show")
@results.facts
def show(name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the mapping.")]) -> None:
    """Show a mapping as its file has it.

    Example: bktools mappings show card
    """
    from bktools.inputs.mappings import path_of, read_mapping

    path = path_of(name)
    mapping = read_mapping(path)
    results.say(mapping.toml().rstrip("\n"))
    results.result(
        name=mapping.name, kind=mapping.kind, headings=mapping.headings, columns=mapping.columns,
        options=mapping.options, file=path,
    )  # fmt: skip
    tell(str(path))


@contextmanager
def remembered(
    kind: str, path: Path, given: Mapping[str, Any], save: str | None, option: str = "--save-mapping"
) -> Iterator[dict[str, Any]]:
    """Yield the arguments that read a file, with those of its mapping; save them when it was read, if asked.

    Parameters
    ----------
    kind : str
        One of `bktools.inputs.mappings.KINDS`.
    path : Path
        The file.
    given : mapping
        Arguments of the reader from the command's options; None for those that were not given.
    save : str, optional
        Name to save them by.
    option : str
        The option that gave the name, for messages.
    """
    from bktools.errors import ArgumentError
    from bktools.inputs import mappings

    if save is not None:
        mappings.path_of(save)
    found = mappings.mapping_for(path, kind, given)
    if found is not None and save not in {None, found.name}:
        raise ArgumentError(option, f"must be {found.name}, the mapping that is for these headings already", save)
    arguments = dict(given)
    if found is not None:
        arguments = mappings.arguments(path, found, given)
        remark(f"mapping {found.name!r} used for {path.name}")
    yield arguments
    if save is None:
        return
    made = mappings.made_from(path, save, kind, arguments)
    if made is None or not (made.columns or made.options):
        why = "has no headings to know it by" if made is None else "is read without any option"
        tell(f"mapping {save!r} not saved: {path.name} {why}")
    else:
        remark(f"mapping {save!r} saved as {mappings.write_mapping(made)}")
