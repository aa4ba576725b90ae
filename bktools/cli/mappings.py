"""`bktools mappings`: options that read files, saved for files with the same headings."""

from __future__ import annotations

from pathlib import Path

from bktools.cli import results
from bktools.progress import note
from bktools.wording import words


def mappings(table: results.Table) -> None:
    """List the saved mappings.

    A mapping keeps the options that read files with the same headings; one that cannot be read has the
    reason in their place. bktools chart, entries and ledger save one with --save-mapping. Each is a TOML
    file, to give to colleagues for the same folder, or to keep beside your scripts and name with
    --mapping FILE.

    Example: bktools mappings
    """
    from bktools.inputs.mappings import all_mappings, folder, path_of

    mappings, errors = all_mappings()
    rows: list[tuple[object, ...]] = []
    for mapping in mappings:
        settled = ", ".join(f"{name}={value}" for name, value in mapping.options.items())
        path = str(path_of(mapping.name))
        rows.append((mapping.name, mapping.kind, len(mapping.headings), settled, path))
    rows += [(Path(error.source).stem, None, None, error.why, error.source) for error in errors]
    table.hand_over_rows("name kind headings options file", rows)
    note(words()("command.mappings", count=len(rows), folder=folder()))
