"""The currency of each amount: what the file says of it, then the option's or the company's.

An amount in another currency may stand beside that of a posting, and one column of currencies with both.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.errors import ConfigurationError
from bktools.frames import schema
from bktools.inputs import cells, terms
from bktools.inputs.assignment import candidates, pairs_with_currency
from bktools.inputs.columns import most
from bktools.inputs.question import Choice
from bktools.inputs.reading import Reading
from bktools.inputs.table import Mask
from bktools.inputs.values.amounts import Figures
from bktools.inputs.values.days import is_day
from bktools.settings import load_settings
from bktools.settings.values import read_setting

_PAIR = ("foreign_amount", "foreign_currency")
_FOREIGN = ("foreign_amount", "transaction_amount")
# Amounts that differ by less are equal.
_EQUAL = 0.005


class _Stated(NamedTuple):
    """What the file says about currencies in one place: its heading, and the text of each row."""

    heading: str
    texts: pa.ChunkedArray
    is_column: bool = False
    is_everywhere: bool = False


def own_currency() -> str | None:
    """Return the currency of the settings, or of its variable alone; None where neither is set."""
    try:
        return load_settings().currency
    except ConfigurationError:
        # A file can be read without a service.
        own = os.environ.get("BKTOOLS_CURRENCY")
        return read_setting("currency", "BKTOOLS_CURRENCY", own) if own else None


def _of_headings(reading: Reading, fields: Iterable[str]) -> tuple[str, ...]:
    """Return what the one currency can be that headings of amounts name, nothing where they name several."""
    named = {terms.currencies_in(reading.heading(field)) for field in fields} - {()}
    return named.pop() if len(named) == 1 else ()


def only_of_headings(reading: Reading, fields: Iterable[str]) -> str | None:
    """Return the one currency that headings of amounts name, None without one."""
    return next(iter(_of_headings(reading, fields)), None)


def only_currency(reading: Reading, fields: Iterable[str], own: str | None) -> str:
    """Return the one currency of a file, whose decimals settle what 1.255 is; "" for several."""
    if headings := _of_headings(reading, fields):
        return headings[0]
    if reading.has("currency"):
        named = {text.strip().upper() for text in cells.unique(reading.column("currency"))}
        return named.pop() if len(named) == 1 else ""
    return reading.options.get("currency") or own or ""


def read_currency(reading: Reading, figures: Mapping[str, Figures], own: str | None) -> None:
    """Read the code of each row, where there is any; contradictions and unknown currencies are problems."""
    options = reading.options
    is_needed = reading.kind == "entries" and "currency" not in reading.may_lack
    is_needed &= reading.asked.get("currency") != ""
    stated = [*_stated(reading, figures)]
    result = reading.constant(None, schema.TEXT)
    for source in stated:
        units = [unit for unit in cells.unique(source.texts) if (unit or "").strip()]
        codes = {unit: _code(reading, source, unit, result, own, is_only=len(units) == 1) for unit in units}
        result = pc.coalesce(result, cells.each(source.texts, codes.get, schema.TEXT))
    if len(only := terms.currencies_of(reading.table.currency)) == 1 and result.null_count == len(result):
        # The one currency of the rows that are left out, such as the first one of a settlement.
        result = pc.fill_null(result, only[0])
    empty = cells.mask(pc.is_null(result))
    # The company's own currency is that of files which name none; a row among others lacks its cell.
    beside = [] if stated else _columns_of_others(reading, own)
    default = options.get("currency") or (own if empty.all() and not beside else None)
    if empty.any() and default:
        reading.note(
            "currency_stated" if options.get("currency") else "currency_of_company", currency=default
        )
        result = pc.fill_null(result, default)
    elif empty.all() and is_needed and not reading.problems.has("currency"):
        choices: list[Choice] = [reading.table.choice("currency", place) for place in beside]
        choices += [{"currency": own}] if own and beside else []
        reading.problems.ask("currency_nowhere", choices, option="" if choices else "currency")
    elif is_needed and not reading.problems.has("currency"):
        reading.ask_of_rows("currency_missing", empty, option="currency")
    elif beside or not empty.all():
        reading.note_rows("no_currency", empty)
    if is_needed or result.null_count < len(result):
        reading.result["currency"] = result


def _stated(reading: Reading, figures: Mapping[str, Figures]) -> Iterator[_Stated]:
    """Yield what headings, a column and the cells of amounts say; without these, what stands above."""
    is_stated = False
    if headings := _of_headings(reading, figures):
        is_stated = True
        yield _everywhere(reading, headings, reading.heading(next(iter(figures))))
    if reading.has("currency"):
        filled = [text for text in cells.unique(reading.column("currency").slice(0, 3000)) if text.strip()]
        if filled and most(filled, is_day, 0.5) and not reading.is_asked("currency"):
            # In some languages its heading also says a date.
            reading.leave("currency")
        else:
            is_stated = True
            yield _Stated(reading.heading("currency"), cells.trimmed(reading.column("currency")), True)
    for name, own in figures.items():
        if (units := own.texts_of("currency")) is not None:
            is_stated = True
            yield _Stated(reading.heading(name), units)
    if not is_stated and reading.table.currency:
        yield _everywhere(reading, terms.currencies_of(reading.table.currency), reading.table.currency)


def _everywhere(reading: Reading, can_be: Sequence[str], heading: str) -> _Stated:
    return _Stated(heading, reading.constant(" ".join(can_be), schema.TEXT), is_everywhere=True)


def _code(
    reading: Reading,
    source: _Stated,
    unit: str,
    before: pa.ChunkedArray,
    own: str | None,
    *,
    is_only: bool,
) -> str:
    """Return the currency that a text is; what contradicts it, and what else it may be, are problems."""
    can_be = terms.currencies_of(unit) or tuple(one for one in unit.split() if one in terms.codes())
    asked = reading.options.get("currency")
    if len(can_be) == 1 and before.null_count == len(before) and not asked:
        return can_be[0]
    rows = cells.mask(pc.equal(source.texts, unit))
    earlier = before.filter(pa.array(rows))
    others = {*cells.unique(earlier.drop_null())} - {*can_be}
    if is_only and asked and asked not in can_be:
        others.add(asked)
    facts: dict[str, Any] = {
        "value": source.heading if source.is_everywhere else unit,
        "heading": source.heading,
    }
    nothing: Choice = {"columns": {"currency": ""}}
    if not can_be and is_only and asked:
        return asked
    if not can_be:
        # No command drops an entry for its currency.
        choices = pairs_with_currency(reading)
        choices += [nothing] if rows.all() and choices else []
        option = "" if choices or not is_only else "currency"
        reading.ask_of_rows("currency_unknown", rows, choices, word=unit, option=option, **facts)
    elif others:
        # Where an amount's heading names its currency, a column may be of another amount.
        facts |= {"others": sorted(map(str, others)), "word": source.heading or unit}
        choices = [nothing] if source.is_column and not asked else []
        choices += [
            reading.table.choice("amount", place)
            for place in candidates(reading, "amount")
            if choices and not terms.currencies_in(reading.table.headings[place])
        ]
        reading.ask_of_rows("currency_contradiction", rows, choices, **facts)
    elif len(can_be) > 1 and asked not in can_be and earlier.null_count and own in can_be:
        # A sign of several currencies is the company's own where that is one of them.
        reading.note("currency_of_company", currency=own)
        return str(own)
    elif len(can_be) > 1 and asked not in can_be and earlier.null_count:
        choices = [{"currency": code} for code in can_be]
        reading.ask_of_rows("currency", rows, choices, codes=list(can_be), **facts)
    return asked if asked in can_be else can_be[0] if can_be else "?"


def _columns_of_others(reading: Reading, own: str | None) -> list[int]:
    """Return the columns that hold currencies under an unknown heading, others than the company's own.

    One whose heading says a foreign currency counts where each row has the same.
    """
    likely = candidates(reading, "currency")
    foreign = [
        place
        for place in reading.free()
        if (column := reading.seen(place)).share == 1 and len(column.kinds) == 1 and column.are_currencies()
    ]
    return [
        place
        for place in dict.fromkeys((*likely, *foreign))
        if {text.strip() for text in reading.seen(place).filled} != {own}
    ]


def settle_foreign(reading: Reading, home: str | None) -> None:
    """Decide whether a column of currencies is that of the amounts, or of amounts in other currencies.

    It is of the others where no amount that differs from them is in the home currency, and all that are
    equal or lack the other amount are. Where this does not show it, it is asked.
    """
    is_settled = reading.has("foreign_currency") or any(
        map(reading.is_asked, ("currency", "foreign_currency"))
    )
    if reading.has("currency") and not is_settled:
        own = reading.places.get("foreign_amount")
        if own is None and not reading.is_asked("foreign_amount"):
            own = _second_amount(reading)
        if own is not None:
            _decide(reading, own, reading.options.get("currency") or home)
    if not reading.has(*_PAIR):
        if reading.has("foreign_amount") and not reading.blank("foreign_amount").all():
            reading.note("foreign_without_currency", heading=reading.heading("foreign_amount"))
        # One without the other says nothing.
        reading.leave(*_PAIR)


def _second_amount(reading: Reading) -> int | None:
    """Return a column of amounts that is not read: by its heading, or beside the column of currencies."""
    is_ledger = reading.kind == "ledger"
    # The amount of a transaction is that of an entry itself.
    for tables in (_FOREIGN, ("amount",)) if is_ledger else (_FOREIGN[:1],):
        for place in reading.free():
            if reading.seen(place).is_headed(*tables) and reading.seen(place).are_amounts():
                return place
    for place in candidates(reading, "credit") if is_ledger else ():
        column = reading.seen(place)
        is_beside = abs(place - reading.places["currency"]) == 1
        if is_beside and column.has_cents() and not column.says("tax", "rate"):
            return place
    return None


def _decide(reading: Reading, own: int, home: str | None) -> None:
    differs = _differs(reading, own)
    if not differs.any():
        return
    others, same = _codes_of(reading, differs), _codes_of(reading, ~differs)
    only = next(iter(same)) if len(same) == 1 else None
    home = home or only
    if home and (others | same) <= {home}:
        return
    # Under another heading it may also be the amount in the home currency.
    is_foreign = reading.is_asked("foreign_amount") or reading.seen(own).is_headed(*_FOREIGN)
    is_foreign &= reading.kind == "ledger"
    if is_foreign and home and home not in others and same <= {home}:
        place = reading.places.pop("currency")
        reading.places |= {"foreign_amount": own, "foreign_currency": place}
        reading.table = replace(reading.table, currency=home)
    else:
        table, place = reading.table, reading.places["currency"]
        heading, currency = table.headings[own], table.headings[place]
        pair = {"foreign_amount": heading, "foreign_currency": currency}
        # Entries have no amount in another currency.
        others_own = {"columns": pair if reading.kind == "ledger" else {"currency": ""}}
        choices = [others_own, table.choice("currency", place)]
        reading.problems.ask("whose_currency", choices, heading=heading, currency=currency)


def _codes_of(reading: Reading, rows: Mask) -> set[str]:
    texts = cells.unique(reading.column("currency").filter(pa.array(rows)))
    return {code for text in texts if text.strip() for code in terms.currencies_of(text)[:1] or (text,)}


def _differs(reading: Reading, own: int) -> Mask:
    """Return the rows with another amount beside the posting's than this itself."""
    figures = Figures.of(reading.table.columns[own], is_numeric=own in reading.table.numeric)
    values, _ = figures.values(reading.options.get("decimal") or figures.own_mark)
    other, amount = (
        np.abs(pc.fill_null(column.cast(pa.float64()), 0.0).to_numpy())
        for column in (values, reading.result["amount"])
    )
    differs: Mask = (other > 0) & (np.abs(other - amount) >= _EQUAL)
    return differs
