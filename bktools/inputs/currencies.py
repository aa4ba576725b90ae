"""The currency of each amount: of a column, a heading, the cells or above the table; then the option's or company's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bktools.errors import ConfigurationError
from bktools.frames import schema
from bktools.inputs import cells, words
from bktools.inputs.notes import Note, note
from bktools.inputs.options import Options
from bktools.inputs.question import Problems
from bktools.inputs.table import Mask, Table
from bktools.settings import load_settings

Codes = npt.NDArray[np.object_]


class Stated(NamedTuple):
    """What the file says about currencies in one place: which, by its heading, and the text of each row."""

    code: str
    heading: str
    texts: pa.ChunkedArray


def heading_currency(headings: Sequence[str]) -> tuple[str, ...]:
    """Return what the one currency can be that headings of amounts name, nothing where they name several."""
    named = {words.currencies_in(heading) for heading in headings} - {()}
    return named.pop() if len(named) == 1 else ()


def read_currencies(
    table: Table,
    stated: Sequence[Stated],
    options: Options,
    own: str | None,
    problems: Problems,
    notes: list[Note],
    *,
    is_needed: bool,
) -> pa.ChunkedArray | None:
    """Return the code of each row, None without any; contradictions and unknown currencies are problems."""
    count = len(table.lines)
    result: Codes = np.full(count, "", dtype=object)
    for source in stated:
        texts = source.texts.combine_chunks().dictionary_encode()
        units = texts.dictionary.to_pylist()
        named = [unit for unit in units if (unit or "").strip()]
        for place, unit in enumerate(units):
            if unit in named:
                rows = texts.indices.to_numpy(zero_copy_only=False) == place
                _take(table, source, unit, rows, result, options, problems, is_only=len(named) == 1)
    empty = result == ""
    default = options.currency or own
    if empty.any() and default:
        notes.append(note("currency_stated" if options.currency else "currency_of_company", currency=default))
        result[empty] = default
    elif empty.any() and is_needed and not problems.has("currency"):
        _ask(table, empty, problems)
    if not is_needed and not any(result):
        return None
    return pa.chunked_array([pa.array([code or None for code in result], schema.TEXT)])


def _take(
    table: Table,
    source: Stated,
    unit: str,
    rows: Mask,
    result: Codes,
    options: Options,
    problems: Problems,
    *,
    is_only: bool,
) -> None:
    """Write the currency that a text of a place is into its rows."""
    can_be = words.currencies_of(unit) or tuple(one for one in unit.split() if one in words.codes())
    asked = options.currency
    others = {code for code in result[rows] if code} - {*can_be}
    others |= {asked} - {*can_be} - {None} if is_only else set()
    facts = {
        "lines": table.lines_of(rows)[:4],
        "count": int(rows.sum()),
        "value": unit,
        "heading": source.heading,
    }
    if not can_be:
        problems.ask("currency_unknown", [table.skip(rows)], word=unit, **facts)
    elif others:
        problems.ask("currency_contradiction", word=unit, others=sorted(map(str, others)), **facts)
    elif len(can_be) > 1 and asked not in can_be and not all(result[rows]):
        problems.ask("currency", [{"currency": code} for code in can_be], codes=list(can_be), **facts)
    code = asked if asked in can_be else can_be[0] if can_be else "?"
    result[rows & (result == "")] = code


def _ask(table: Table, empty: Mask, problems: Problems) -> None:
    if not empty.all():
        lines = table.lines_of(empty)
        problems.ask("currency_missing", option="currency", lines=lines[:4], count=len(lines))
        return
    columns = [place for place in range(len(table.columns)) if holds_currencies(table.samples[place])]
    choices = [table.choice("currency", place) for place in columns]
    problems.ask("currency_nowhere", choices, option="" if choices else "currency")


def holds_currencies(sample: Sequence[str]) -> bool:
    """Whether nearly all cells of a column are currencies."""
    filled = [cell for cell in dict.fromkeys(sample) if cell.strip()]
    return bool(filled) and sum(bool(words.currencies_of(cell)) for cell in filled) >= 0.8 * len(filled)


def column_of(table: Table, place: int, code: str = "column") -> Stated:
    """Return what a column says about currencies."""
    return Stated(code, table.headings[place], cells.trimmed(table.columns[place]))


def everywhere(table: Table, can_be: Sequence[str], code: str, heading: str) -> Stated:
    """Return what stands once for all rows."""
    texts = pa.chunked_array([pa.repeat(pa.scalar(" ".join(can_be), schema.TEXT), len(table.lines))])
    return Stated(code, heading, texts)


def own_currency() -> str | None:
    """Return the currency of the settings; None where no environment is configured, or none is set."""
    try:
        return load_settings().currency
    except ConfigurationError:
        # A file can be read without a service.
        return None
