"""The currency of each amount: what the file says of it, then the option's or the company's.

An amount in another currency may stand beside that of a posting, and one column of currencies with both.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.caller import running
from bktools.errors import ConfigurationError
from bktools.frames import schema
from bktools.inputs import cells, terms
from bktools.inputs.assignment import candidates, pairs_with_currency
from bktools.inputs.fields import Column
from bktools.inputs.question import Choice
from bktools.inputs.reading import Reading
from bktools.inputs.values.amounts import Figures
from bktools.settings import load_settings
from bktools.settings.values import read_setting

_NONE: Choice = {"columns": {"currency": ""}}
# Amounts that differ by less are equal.
_EQUAL = 0.005
_CODE = re.compile("[A-Z]{3}")
# So many currencies of a sign have a command; the sentence names all.
_MOST_CHOICES = 3


class _Stated(NamedTuple):
    """What the file says of currencies in one place: its heading, the text of each row, its meaning."""

    heading: str
    texts: pa.ChunkedArray
    currencies: Callable[[str], Sequence[str]] = terms.currencies_of
    is_column: bool = False


def own_currency() -> str | None:
    """Return the currency of the environment in use, or of its variable alone; None where neither is set."""
    try:
        return load_settings(running().environment).currency
    except ConfigurationError:
        # A file can be read without a service.
        own = os.environ.get("BKTOOLS_CURRENCY")
        return read_setting("currency", "BKTOOLS_CURRENCY", own) if own else None


def only_of_headings(reading: Reading, fields: Iterable[str]) -> str | None:
    """Return the one currency that headings of amounts name, None without one."""
    named = {terms.currencies_in(reading.heading(field)) for field in fields} - {()}
    return named.pop()[0] if len(named) == 1 else None


def only_currency(reading: Reading, fields: Iterable[str], own: str | None) -> str:
    """Return the one currency of a file, whose decimals settle what 1.255 is; "" for several."""
    stated = reading.table.currency.upper() if reading.has("currency") else reading.options.get("currency")
    return only_of_headings(reading, fields) or stated or (not reading.has("currency") and own) or ""


def read_currency(reading: Reading, figures: Mapping[str, Figures], own: str | None) -> None:
    """Read the code of each row, where there is any; contradictions and unknown currencies are problems."""
    asked, problems = reading.options.get("currency"), reading.problems
    is_needed = reading.kind == "entries" and "currency" not in reading.may_lack
    is_needed &= reading.asked.get("currency") != ""
    stated = _stated(reading, figures)
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
    default = own if empty.all() and not beside else None
    if asked and (empty.all() or not reading.has("currency")):
        default = asked
    if empty.any() and default:
        reading.note("currency_stated" if asked else "currency_of_company", currency=default)
        result = pc.fill_null(result, default)
    elif is_needed and empty.all() and not problems.has("currency"):
        choices: list[Choice] = [reading.table.choice("currency", place) for place in beside]
        choices += [{"currency": own}] if own and beside else []
        problems.ask("currency_nowhere", choices, option="" if choices else "currency")
    elif is_needed and not (reading.has("currency") or problems.has("currency")):
        reading.ask_of_rows("currency_missing", empty, option="currency")
    elif beside or not empty.all():
        reading.note_rows("no_currency", empty)
    if is_needed or result.null_count < len(result):
        reading.result["currency"] = result


def _stated(reading: Reading, figures: Mapping[str, Figures]) -> list[_Stated]:
    """Return what headings, a column and the cells of amounts say; without these, what stands above."""
    stated = list[_Stated]()
    if only_of_headings(reading, figures):
        heading = next(one for one in map(reading.heading, figures) if terms.currencies_in(one))
        stated.append(_Stated(heading, reading.constant(heading, schema.TEXT), terms.currencies_in))
    if reading.has("currency"):
        column = cells.trimmed(reading.column("currency"))
        stated.append(_Stated(reading.heading("currency"), column, is_column=True))
    for name, own in figures.items():
        if (units := own.texts_of("currency")) is not None:
            stated.append(_Stated(reading.heading(name), units))
    above = reading.table.currency
    return stated or [_Stated(above, reading.constant(above, schema.TEXT))] * bool(above)


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
    can_be, asked = source.currencies(unit), reading.options.get("currency")
    rows = cells.mask(pc.equal(source.texts, unit))
    facts = {"value": unit, "heading": source.heading, "word": unit}
    if not can_be and source.is_column and _CODE.fullmatch(unit):
        # A code that is none of ISO 4217: the plan holds such entries back.
        reading.note_rows("currency_not_listed", rows, value=unit)
        can_be = (unit,)
    elif not can_be and not (is_only and asked):
        # No command drops an entry for its currency.
        choices = pairs_with_currency(reading)
        choices += [_NONE] if rows.all() and choices else []
        option = "" if choices or not is_only else "currency"
        reading.ask_of_rows("currency_unknown", rows, choices, option=option, **facts)
        return "?"
    can_be, earlier = can_be or (str(asked),), before.filter(pa.array(rows))
    others = ({*cells.unique(earlier.drop_null())} | ({asked} - {None} if is_only else set())) - {*can_be}
    is_open = len(can_be) > 1 and asked not in can_be and earlier.null_count
    if others:
        # Where an amount's heading names its currency, a column may be of another amount.
        choices = [_NONE] if source.is_column and not asked else []
        facts["word"] = source.heading
        reading.ask_of_rows("currency_contradiction", rows, choices, others=sorted(others), **facts)
    elif is_open and own in can_be:
        # A sign of several currencies is the company's own where that is one of them.
        reading.note("currency_of_company", currency=own)
        return str(own)
    elif is_open:
        choices = [{"currency": code} for code in can_be[:_MOST_CHOICES]]
        reading.ask_of_rows("currency", rows, choices, codes=list(can_be), **facts)
    return str(asked) if asked in can_be else can_be[0]


def _columns_of_others(reading: Reading, own: str | None) -> list[int]:
    """Return the columns that hold currencies under an unknown heading, others than the company's own.

    One whose heading says a foreign currency counts where each row has the same; one whose heading has a word
    for a currency, whatever its words are.
    """
    others = [
        place
        for place in reading.free()
        if (column := reading.seen(place)).share == 1
        and ((len(column.kinds) == 1 and column.are_currencies()) or _says_currency(column))
    ]
    likely = dict.fromkeys((*candidates(reading, "currency"), *others))
    return [place for place in likely if {text.strip() for text in reading.seen(place).filled} != {own}]


def _says_currency(column: Column) -> bool:
    return column.says("currency") and column.most(str.isalpha, 1)


def settle_foreign(reading: Reading, home: str | None) -> None:
    """Ask whose a column of currencies is, where another amount stands beside that of an entry or a posting.

    It is settled where the other amount never differs, or where all currencies are that of the books.
    """
    is_open = reading.has("amount") and not {"amount", "currency"} & reading.asked.keys()
    of_heading = only_of_headings(reading, ["amount"]) if is_open else None
    if reading.kind == "entries" and is_open and (reading.has("currency") or of_heading):
        ways = pairs_with_currency(reading)
        ways = [way for way in ways if _differs(reading, reading.table.named[way["columns"]["amount"]])]
        own = filter(reading.has, ("amount", "currency"))
        ways.insert(0, {"columns": {name: reading.heading(name) for name in own}})
        if len(ways) > 1:
            headings = [way["columns"]["amount"] for way in ways]
            reading.problems.ask("several_columns", ways, field="amount", headings=headings)
    is_settled = reading.has("foreign_currency") or {"currency", "foreign_currency"} & reading.asked.keys()
    if reading.has("currency") and not is_settled:
        others = [place for place in _second_amounts(reading) if _differs(reading, place)][:1]
        codes = {*map(str.strip, cells.unique(reading.column("currency")))} - {""}
        home = reading.options.get("currency") or home
        if others and (len(codes) > 1 or codes != {home or next(iter(codes), None)}):
            heading, currency = reading.table.headings[others[0]], reading.heading("currency")
            pair = {"foreign_amount": heading, "foreign_currency": currency}
            # Entries have no amount in another currency.
            choices: list[Choice] = [{"columns": pair} if reading.kind == "ledger" else _NONE]
            choices.append(reading.table.choice("currency", reading.places["currency"]))
            reading.problems.ask("whose_currency", choices, heading=heading, currency=currency)
    if not reading.has("foreign_amount", "foreign_currency"):
        # One without the other says nothing.
        reading.leave("foreign_amount", "foreign_currency")


def _second_amounts(reading: Reading) -> list[int]:
    """Return columns of amounts that are not read: by their headings, or beside the column of currencies."""
    if reading.has("foreign_amount"):
        return [reading.places["foreign_amount"]]
    if reading.is_asked("foreign_amount"):
        return []
    # The amount of a transaction is that of an entry itself.
    tables = (
        ("foreign_amount", "transaction_amount", "amount")
        if reading.kind == "ledger"
        else ("foreign_amount",)
    )
    free = {place: reading.seen(place) for place in reading.free()}
    headed = [place for place, one in free.items() if one.is_headed(*tables) and one.are_amounts()]
    beside = [
        place
        for place in (candidates(reading, "credit") if reading.kind == "ledger" else ())
        if abs(place - reading.places["currency"]) == 1
        and free[place].has_cents()
        and not free[place].says("tax", "fee", "rate")
    ]
    return headed + beside


def _differs(reading: Reading, own: int) -> bool:
    """Whether another amount than its own stands beside that of an entry or a posting."""
    figures = Figures.at(reading.table, own)
    values, _ = figures.values(reading.options.get("decimal") or figures.own_mark)
    other, amount = (
        np.abs(pc.fill_null(column.cast(pa.float64()), 0.0).to_numpy())
        for column in (values, reading.result["amount"])
    )
    return bool(((other > 0) & (np.abs(other - amount) >= _EQUAL)).any())
