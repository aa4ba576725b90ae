"""Folders that a person named at the start: files are read below them, and results are written there."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from bktools import disk
from bktools.agents.answers import Facts
from bktools.errors import ArgumentError, InputError
from bktools.wording import Sentence

# The folder of all results, in the first of the named ones.
RESULTS = "bktools-prepared"
# Columns of codes, which an answer counts.
CODES = (
    "severity",
    "check",
    "outcome",
    "action",
    "state",
    "status",
    "fate",
    "reason",
    "archived",
    "approved",
)


@dataclass(frozen=True)
class Folders:
    """The named folders by their real paths."""

    roots: Sequence[Path]

    def file(self, path: str) -> Path:
        """Return the real path of a file below one of the folders; a relative one is of the first folder."""
        try:
            real = (self.roots[0] / path).resolve(strict=True)
        except (OSError, RuntimeError, ValueError):
            real = self.roots[0]
        # One sentence for all: an assistant may not ask which files exist elsewhere.
        is_below = any(real.is_relative_to(root) for root in self.roots)
        if not is_below or not real.is_file() or not str(real).isprintable():
            raise ArgumentError("path", Sentence("agent.outside"), path)
        return real

    def new(self, tool: str) -> Path:
        """Create a folder for the results of a call, which no link leads out of the named folders."""
        results = self.roots[0] / RESULTS
        with disk.storage_errors(results):
            results.mkdir(mode=disk.PRIVATE_FOLDER, exist_ok=True)
            if results.is_symlink():
                raise ArgumentError("folder", Sentence("agent.link"), str(results))
            return Path(tempfile.mkdtemp(prefix=f"{tool}-", dir=results))


def table_of(file: Path) -> pl.DataFrame:
    """Return the rows of a CSV file as text."""
    try:
        return pl.read_csv(file, infer_schema=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(Sentence("agent.no_csv", why=str(error)), source=file.name) from None


def summary(file: Path) -> Facts:
    """Return what a table of an answer holds, in figures."""
    table = table_of(file)
    facts: Facts = {"file": file, "rows": len(table), "columns": table.columns}
    for code in (code for code in CODES if code in table.columns):
        facts[f"by_{code}"] = dict(table[code].value_counts(sort=True).iter_rows())
    if {"amount", "currency"} <= {*table.columns}:
        scale = max((len(text.partition(".")[2]) for text in table["amount"].drop_nulls()), default=0)
        exact = pl.col("amount").cast(pl.Decimal(38, scale))
        facts["amounts"] = dict(table.group_by("currency", maintain_order=True).agg(exact.sum()).rows())
    return facts
