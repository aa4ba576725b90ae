"""`bktools versus`: what differs between two months, or a month and a budget."""

from __future__ import annotations

from pathlib import Path

import bktools
from bktools.cli import options, reading, results
from bktools.cli.compare import by_name, smaller_ones
from bktools.cli.options import REQUIRED, argument
from bktools.cli.spend import read_sides, shown_columns
from bktools.progress import note
from bktools.wording.numbers import counted

# The last columns of the result; those before them are the keys.
FIGURES = ("currency", "this", "that", "difference", "percent", "drivers")


def versus(
    entries: Path = argument("FILE", "The entries of a month.", REQUIRED),
    other: Path = argument(
        "OTHER", "Another month, or a budget: the columns of the keys, and an amount.", REQUIRED
    ),
    mapping: reading.Mapping = None,
    by: options.Keys = None,
    largest_first: options.LargestFirst = False,
    threshold: options.Threshold = None,
    environment: options.Environment = None,
    sandbox: options.Sandbox = False,
    company: options.Company = None,
    format: results.Table = results.TableFormat.TABLE,
    output: results.Output = None,
) -> None:
    """Compare two months of entries, or a month and a budget.

    Each difference has the entries that make it.

    Example: bktools versus november.csv october.csv --by supplier --from 5%
    """
    keys = by or ["category"]
    (this, that), names = read_sides([[entries], [other]], mapping, keys, environment, sandbox, company)
    changes = bktools.versus(this, that, by=keys, threshold=threshold, **names)
    note(f"{counted(len(changes), 'difference')}{smaller_ones(changes.attrs['bktools']['below_threshold'])}")
    if not largest_first:
        changes = by_name(changes, shown_columns(changes)[: -len(FIGURES)])
    results.hand_over(changes, format, output, columns=shown_columns(changes))
