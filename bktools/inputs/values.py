"""Text of cells → flags, UUIDs and text that may be null; a value that breaks its rule is named with its line."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bktools.contract import rules
from bktools.errors import InputError
from bktools.frames import schema
from bktools.inputs.table import Table

Mask = npt.NDArray[np.bool_]

YES = frozenset(
    "yes y true t 1 x ✓ ✔ on ja j wahr oui o vrai sí si s verdadero waar sant sand tak prawda sì vero".split()
)
NO = frozenset(
    "no n false f 0 - ✗ off nein falsch non faux falso nee onwaar nej falskt falsk nei usann nie fałsz".split()
)
ACTIVE = frozenset(
    "active aktiv activo activa actif active enabled open actief aktivt aktywne aktywny aktywna attivo attiva"
    " in\u00a0use offen ouvert abierta freigegeben current".replace("\u00a0", "_").split()
)
ARCHIVED = frozenset(
    "archived inactive blocked disabled deleted closed archiviert gesperrt inaktiv gelöscht geschlossen stillgelegt"
    " archivé inactif bloqué désactivé fermé archivado inactivo inactiva bloqueado cerrado archivada cerrada"
    " gearchiveerd inactief geblokkeerd arkiverad inaktivt spärrad spärrat arkiveret spærret lukket arkivert sperret"
    " zarchiwizowane zablokowane nieaktywne nieaktywny nieaktywna archiviato inattivo bloccato chiuso".split()
)


def trimmed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return text without white space at its ends, for comparison only."""
    return pc.utf8_trim_whitespace(column)


def blank(column: pa.ChunkedArray) -> Mask:
    """Return where a cell holds nothing but white space."""
    return mask(pc.equal(pc.utf8_trim_whitespace(column), ""))


def mask(values: pa.ChunkedArray) -> Mask:
    """Return Arrow flags without nulls as numpy's."""
    result: Mask = values.to_numpy(zero_copy_only=False).astype(bool)
    return result


def or_null(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return text whose empty cells are null."""
    return pc.if_else(pc.equal(pc.utf8_trim_whitespace(column), ""), pa.scalar(None, schema.TEXT), column)


def lines_of(table: Table, rows: Mask) -> str:
    """Return the lines of rows in words: the first three and how many there are."""
    lines = table.lines[rows]
    shown = ", ".join(str(line) for line in lines[:3])
    more = f" and {len(lines) - 3} more" if len(lines) > 3 else ""  # noqa: PLR2004 - the three that are shown
    return f"line{'s' if len(lines) > 1 else ''} {shown}{more}"


def refuse(table: Table, place: int, rows: Mask, rule: str) -> None:
    """Raise an error that names the first of the rows, its value and how many there are; nothing when there is none."""
    if not rows.any():
        return
    first = int(np.argmax(rows))
    value = repr(table.columns[place][first].as_py())
    shown = value if len(value) <= 60 else f"{value[:57]}…"  # noqa: PLR2004 - one line of a terminal
    many = f" ({lines_of(table, rows)})" if rows.sum() > 1 else ""
    raise InputError(
        f"{table.headings[place]!r} {rule}, got {shown}{many}", source=table.source, line=int(table.lines[first])
    )


def uuids(table: Table, place: int, *, required: bool) -> pa.ChunkedArray:
    """Return a column of UUIDs in lower case; empty cells are null where they may be."""
    column = table.columns[place]
    if required:
        refuse(table, place, blank(column), "must not be empty")
    else:
        column = or_null(column)
    fits = pc.fill_null(pc.match_substring_regex(column, rules.UUID_REGEX), True)  # noqa: FBT003 - Arrow's own
    refuse(table, place, ~mask(fits), "must hold UUIDs such as 123e4567-e89b-42d3-a456-426614174000")
    return pc.utf8_lower(column)


def flags(table: Table, place: int, *, yes: bool, empty: bool) -> pa.ChunkedArray:
    """Return a column of flags: `yes` is what a yes says, `empty` what an empty cell says."""
    words = pc.dictionary_encode(trimmed(table.columns[place])).combine_chunks()
    meaning = {"": empty}
    meaning |= dict.fromkeys(YES, yes) | dict.fromkeys(NO, not yes)
    meaning |= dict.fromkeys(ACTIVE, False) | dict.fromkeys(ARCHIVED, True)
    values = [meaning.get(word.casefold()) for word in words.dictionary.to_pylist()]
    result = pa.chunked_array([pc.take(pa.array(values, type=pa.bool_()), words.indices)])
    refuse(table, place, mask(pc.is_null(result)), "must say yes or no, active or archived, in a word known here")
    return result
