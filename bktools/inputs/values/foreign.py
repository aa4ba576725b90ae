"""The amount in another currency beside the amount of a posting, and whose currency stands beside both."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.inputs import cells, terms
from bktools.inputs.assignment import candidates
from bktools.inputs.reading import Reading
from bktools.inputs.table import Mask
from bktools.inputs.values.amounts import Figures

_PAIR = ("foreign_amount", "foreign_currency")
_FOREIGN = ("foreign_amount", "transaction_amount")
# Amounts that differ by less are equal.
_EQUAL = 0.005


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
    others, same = _codes(reading, differs), _codes(reading, ~differs)
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
        reading.table = replace(reading.table, currency=(home,))
    else:
        table, place = reading.table, reading.places["currency"]
        heading, currency = table.headings[own], table.headings[place]
        pair = {"foreign_amount": heading, "foreign_currency": currency}
        # Entries have no amount in another currency.
        others_own = {"columns": pair if reading.kind == "ledger" else {"currency": ""}}
        choices = [others_own, table.choice("currency", place)]
        reading.problems.ask("whose_currency", choices, heading=heading, currency=currency)


def _codes(reading: Reading, rows: Mask) -> set[str]:
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
