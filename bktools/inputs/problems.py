"""What is wrong with a file, all of it in one refusal, with one line of options that settles it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from bktools.caller import setting
from bktools.errors import InputError


@contextmanager
def kept(problems: list[InputError]) -> Iterator[None]:
    """Add the error that is raised meanwhile to the problems and go on."""
    try:
        yield
    except InputError as error:
        problems.append(error)


def raise_all(problems: Sequence[InputError], source: str, other_sheets: str = "") -> None:
    """Raise the one problem as it is, or several as one error; do nothing when there is none.

    Parameters
    ----------
    problems : sequence of InputError
        What is wrong.
    source : str
        The file.
    other_sheets : str
        Of a workbook, see `Table`: told where a column was not found, which may be on another sheet.
    """
    if not problems:
        return
    sheets = (
        f"; {other_sheets}" if other_sheets and any("columns" in dict(error.settings) for error in problems) else ""
    )
    if len(problems) == 1:
        # The error stays what it is, with its fields.
        problems[0].args = (f"{problems[0]}{sheets}",)
        raise problems[0]
    listed = "; ".join(
        f"({number}) {str(error).removeprefix(f'{source}: ').removeprefix(f'{source}, ')}"
        for number, error in enumerate(problems, 1)
    )
    settings = [one for error in problems for one in error.settings]
    settled = [f"({number})" for number, error in enumerate(problems, 1) if error.settings]
    which = "all" if len(settled) == len(problems) else " and ".join(settled)
    columns = {
        field: heading for name, value in settings if name == "columns" for field, heading in dict(value).items()
    }
    ways = [setting("columns", {field: heading}) for field, heading in columns.items()]
    if columns and not ways[0].startswith("-"):
        ways = [setting("columns", columns)]
    ways += dict.fromkeys(setting(name, value) for name, value in settings if name != "columns")
    way = f"; settle {which} with: {' '.join(ways) if ways[0].startswith('-') else ', '.join(ways)}" if ways else ""
    error = InputError(f"{len(problems)} problems: {listed}{way}{sheets}", source=source)
    error.settings = tuple(settings)
    raise error
