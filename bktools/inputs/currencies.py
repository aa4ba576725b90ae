"""The currency of each amount: what the file says of it, then the option's or the company's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from bktools.errors import ConfigurationError
from bktools.frames import schema
from bktools.inputs import cells, words
from bktools.inputs.notes import Note, note
from bktools.inputs.options import Options
from bktools.inputs.question import Problems
from bktools.inputs.table import Mask, Table
from bktools.settings import load_settings

# Words of headings that say another amount than the entry's.
FOREIGN = frozenset({"foreign", "original", "instructed", "asset", "local", "fremd", "origine"})


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
    result = pa.chunked_array([pa.nulls(len(table.lines), schema.TEXT)])
    for source in stated:
        units = [unit for unit in cells.unique(source.texts) if (unit or "").strip()]
        taken = {
            unit: _taken(table, source, unit, result, options, problems, is_only=len(units) == 1)
            for unit in units
        }
        codes = cells.each(source.texts, taken.get, schema.TEXT)
        result = pc.coalesce(result, codes)
    empty = cells.mask(pc.is_null(result))
    # The company's own currency is that of files which name none; a row among others lacks its cell.
    beside = _columns_of_others(table, own) if empty.all() and not stated else []
    default = options.currency or (own if empty.all() and not beside else None)
    if empty.any() and default:
        notes.append(note("currency_stated" if options.currency else "currency_of_company", currency=default))
        result = pc.fill_null(result, default)
    elif empty.any() and is_needed and not problems.has("currency"):
        _ask(table, empty, beside, own, problems)
    elif empty.any() and not empty.all() and not is_needed:
        notes += cells.noted(table, {"no_currency": empty})
    return None if not is_needed and result.null_count == len(result) else result


def _taken(
    table: Table,
    source: Stated,
    unit: str,
    before: pa.ChunkedArray,
    options: Options,
    problems: Problems,
    *,
    is_only: bool,
) -> str:
    """Return the currency that a text is; what contradicts it, and what else it may be, are problems."""
    can_be = words.currencies_of(unit) or tuple(one for one in unit.split() if one in words.codes())
    asked = options.currency
    if len(can_be) == 1 and before.null_count == len(before) and not asked:
        return can_be[0]
    rows = cells.mask(pc.equal(source.texts, unit))
    earlier = before.filter(pa.array(rows))
    others = {*cells.unique(earlier.drop_null())} - {*can_be}
    if is_only and asked and asked not in can_be:
        others.add(asked)
    facts: dict[str, Any] = {"lines": table.lines_of(rows)[:4], "count": int(rows.sum()), "value": unit}
    facts |= {"heading": source.heading}
    if not can_be:
        choice = {"columns": {"currency": ""}} if rows.all() else table.skip(rows)
        problems.ask("currency_unknown", [choice], word=unit, **facts)
    elif others:
        # Where an amount's heading names its currency, a column may be of another amount.
        choices = [{"columns": {"currency": ""}}] if source.code == "column" and not asked else []
        facts |= {"others": sorted(map(str, others))}
        problems.ask("currency_contradiction", choices, word=source.heading or unit, **facts)
    elif len(can_be) > 1 and asked not in can_be and earlier.null_count:
        problems.ask("currency", [{"currency": code} for code in can_be], codes=list(can_be), **facts)
    return asked if asked in can_be else can_be[0] if can_be else "?"


def _columns_of_others(table: Table, own: str | None) -> list[int]:
    """Return the columns that hold currencies under an unknown heading, others than the company's own."""
    return [
        place
        for place, heading in enumerate(table.headings)
        if holds_currencies(table.samples[place])
        and not words.are_inside(heading, FOREIGN)
        and {text.strip() for text in table.samples[place] if text.strip()} != {own}
    ]


def _ask(table: Table, empty: Mask, columns: list[int], own: str | None, problems: Problems) -> None:
    if not empty.all():
        lines = table.lines_of(empty)
        problems.ask("currency_missing", option="currency", lines=lines[:4], count=len(lines))
        return
    choices = [
        *(table.choice("currency", place) for place in columns),
        *([{"currency": own}] if own and columns else []),
    ]
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
