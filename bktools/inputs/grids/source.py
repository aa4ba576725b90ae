"""A file with its grids: each is read once, however often the reading is tried with other options."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import NamedTuple

from bktools.caller import name_of
from bktools.errors import ArgumentError
from bktools.inputs.formats.format import File
from bktools.inputs.formats.not_read import refuse_not_read
from bktools.inputs.grids.encoding import Reading
from bktools.inputs.options import Options
from bktools.inputs.table import Grid

_SUFFIXES = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt"), "text"),
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), "workbook"),
    **dict.fromkeys((".parquet", ".pq"), "Parquet"),
}
# Options by what a file is made of.
_OPTIONS_OF: Mapping[str, tuple[str, ...]] = {
    "text": ("delimiter", "encoding"),
    "workbook": ("sheet",),
    "Parquet": (),
}


class Read(NamedTuple):
    """The grids of a file: the sheets of a workbook, or one table; and how the bytes of a text were read."""

    grids: list[Grid]
    text: Reading | None


class Source:
    """A file that is read as one kind: chart, accounts, entries or ledger."""

    def __init__(self, path: str | PathLike[str], kind: str) -> None:
        self.file, self.kind = File.at(path), kind
        self.name = self.file.source
        self._read: dict[object, Read] = {}

    def read(self, options: Options) -> Read:
        """Return the grids by the options that say how bytes become cells."""
        self._check(options)
        how = (options.get("delimiter"), options.get("encoding"), options.get("sheet"))
        if how not in self._read:
            self._read[how] = self._parsed(options)
        return self._read[how]

    def _check(self, options: Options) -> None:
        file = self.file
        refuse_not_read(file)
        if file.path.suffix.casefold() not in _SUFFIXES:
            raise file.error("suffix", suffixes=" ".join(_SUFFIXES))
        for name in ("delimiter", "encoding", "sheet"):
            value = {**options}.get(name)
            if value is not None and name not in _OPTIONS_OF[file.kind]:
                rule = f"does not apply to {file.source}, a {file.kind} file by its content"
                raise ArgumentError(name_of(name), rule, value)

    def _parsed(self, options: Options) -> Read:
        file, data = self.file, self.file.data()
        if not data or data.isspace():
            raise file.error("empty_file")
        if file.kind == "workbook":
            from bktools.inputs.grids.workbook import read_workbook

            return Read(read_workbook(data, options.get("sheet"), self.name), None)
        if file.kind == "Parquet":
            from bktools.inputs.grids.parquet import read_parquet

            return Read([read_parquet(data, self.name)], None)
        from bktools.inputs.grids.delimited import read_delimited

        grid, reading = read_delimited(
            data,
            self.kind,
            delimiter=options.get("delimiter"),
            encoding=options.get("encoding"),
            source=self.name,
        )
        return Read([grid], reading)
