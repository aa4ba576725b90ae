"""What results with several tables have in common: they hand them over as CSV files, or as Arrow tables."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from bktools import disk
from bktools.frames.delimited import profile_named, to_csv
from bktools.frames.tables import to_arrow


class Result:
    """A result whose tables are attributes with these names."""

    _TABLES: ClassVar[tuple[str, ...]]
    _PREFIX: ClassVar[str] = ""

    def to_csv(self, folder: str | Path, profile: str = "excel") -> list[Path]:
        """Write each table as a CSV file of its name, such as findings.csv; return their paths.

        The names of a plan's files begin with export_, those of a ledger match with ledger_.

        Parameters
        ----------
        folder : path
            Created if missing. Files of these names in it are replaced; only you can read them.
        profile : str
            As in `bktools.to_csv`: "excel", "excel-eu" or "machine".

        Raises
        ------
        ArgumentError
            When the profile is unknown.
        InputError
            When a column cannot be written as text.
        StorageError
            When a file cannot be written. Each file is then complete or unchanged.
        """
        profile_named(profile)
        folder = Path(folder)
        with disk.storage_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        paths = [folder / f"{self._PREFIX}{name}.csv" for name in self._TABLES]
        for name, path in zip(self._TABLES, paths, strict=True):
            to_csv(getattr(self, name), path, profile)
        return paths

    def to_arrow(self) -> dict[str, pa.Table]:
        """Return each table by its name, as `bktools.to_arrow` does."""
        return {name: to_arrow(getattr(self, name)) for name in self._TABLES}
