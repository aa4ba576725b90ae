"""Fills in a workbook as a person does: writes cells into a copy and leaves the rest of the file."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import xlsxwriter
from python_calamine import CalamineWorkbook

Rows = list[list[Any]]


class Formula(NamedTuple):
    """A formula whose value the program that wrote it did not save."""

    text: str


def filled(source: Path, target: Path, change: Callable[[Rows], None], sheet: str = "to do") -> Path:
    """Copy a workbook's cells after `change` of a sheet's rows; the first row has the headings."""
    book = CalamineWorkbook.from_path(source)
    with xlsxwriter.Workbook(target) as copy:
        for name in book.sheet_names:
            rows = book.get_sheet_by_name(name).to_python()
            if name == sheet:
                change(rows)
            written = copy.add_worksheet(name)
            for number, row in enumerate(rows):
                for place, value in enumerate(row):
                    text = value.isoformat() if isinstance(value, dt.date | dt.datetime) else value
                    if isinstance(text, Formula):
                        written.write_formula(number, place, text.text, None, "")
                    elif isinstance(text, str):
                        written.write_string(number, place, text)
                    else:
                        written.write(number, place, text)
    return target


def column(rows: Rows, heading: str) -> int:
    """Return the place of a column."""
    return rows[0].index(heading)


def write(heading: str, value: str | Formula, about: str) -> Callable[[Rows], None]:
    """Return the change that writes a value into the line about a thing."""

    def change(rows: Rows) -> None:
        line = next(row for row in rows if row[column(rows, "about")] == about)
        line[column(rows, heading)] = value

    return change
