"""The entries that wait for a step: their number and exact money, each entry once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from bktools.close.entries import OF_REASON
from bktools.export.checks import FATE_OF_REASON
from bktools.findings.check import HELD, IN_BOOKS, LEFT_OUT
from bktools.frames.columns import split_lines
from bktools.frames.sums import NO_CURRENCY, Money, money_of, total, with_one_reason

# No step is taken for these entries.
WITHOUT_STEPS = (LEFT_OUT, IN_BOOKS)

_COLUMNS = ("id", "line", "fate", "reason", "batch_id", "currency", "amount", "file_currency", "file_amount")

Row = Mapping[str, Any]


def key_of(row: Row) -> Any:
    """Return the key of the entry that a row is about: its ID, or its line where it has none."""
    return row["id"] or row.get("line")


class WaitingEntries:
    """A month's entries by their keys.

    Parameters
    ----------
    entries : pyarrow.Table
        The entries with their fates; the lines of a split entry are one.
    own : str, optional
        The company's own currency.
    """

    def __init__(self, entries: pa.Table, own: str | None) -> None:
        table = with_one_reason(entries, OF_REASON)
        columns = table.select(_COLUMNS).append_column("split", split_lines(table))
        self._lines: list[Row] = columns.to_pylist()
        # All currencies: the company's own first, then by number of entries.
        self._currencies = list(money_of(entries, own))
        self._places: dict[Any, list[int]] = defaultdict(list)
        for place, row in enumerate(self._lines):
            if row["fate"] not in WITHOUT_STEPS:
                self._places[key_of(row)].append(place)

    def keys_with(self, column: str, value: str) -> tuple[Any, ...]:
        """Return the keys of the entries with a value."""
        return tuple(dict.fromkeys(key_of(row) for row in self._lines if row[column] == value))

    def reasons_of(self, key: Any) -> set[str | None]:
        """Return the reasons at which the figures count an entry, one of each of its fates."""
        return {self._lines[place]["reason"] for place in self._places.get(key, ())}

    def counted_elsewhere(self, keys: Iterable[Any], reason: str) -> int:
        """Return how many entries the figures count at another reason than this one, which holds them back.

        The figures count an entry at its first error; each of its errors is a step.
        """
        if FATE_OF_REASON.get(reason) != HELD:
            return 0
        reasons = [self.reasons_of(key) for key in {*keys}]
        return sum(bool(of_one - {None}) and reason not in of_one for of_one in reasons)

    def money(self, keys: Iterable[Any]) -> tuple[dict[str, Money], tuple[str, ...]]:
        """Return the money and the IDs of entries."""
        places = self._of(keys)
        rows = [self._lines[place] for place in places]
        entries = defaultdict(set)
        for place, row in zip(places, rows, strict=True):
            # The lines of a split entry are one.
            entries[row["currency"] or NO_CURRENCY].add(row["id"] if row["split"] else place)
        amounts = _totals((row["currency"], row["amount"]) for row in rows)
        money = {
            name: Money(len(entries[name]), amounts.get(name)) for name in self._currencies if name in entries
        }
        return money, tuple(dict.fromkeys(row["id"] for row in rows if row["id"]))

    def change(self, keys: Iterable[Any]) -> dict[str, dict[str, Decimal]]:
        """Return the amounts of changed entries as they were sent, as they are now, and the difference."""
        rows = [self._lines[place] for place in self._of(keys)]
        sent = _totals((row["currency"], row["amount"]) for row in rows)
        now = _totals(
            (
                row["file_currency"] or row["currency"],
                row["amount"] if row["file_amount"] is None else row["file_amount"],
            )
            for row in rows
        )
        difference = {
            name: total([now.get(name), sent.get(name, Decimal(0)).copy_negate()])
            for name in dict.fromkeys([*sent, *now])
        }
        return {"sent": sent, "now": now, "difference": difference}

    def _of(self, keys: Iterable[Any]) -> Sequence[int]:
        """Return the places of the lines of entries, each once."""
        return sorted({place for key in keys for place in self._places.get(key, ())})


def _totals(amounts: Iterable[tuple[str | None, Decimal | None]]) -> dict[str, Decimal]:
    """Return the exact sum of each currency that has an amount."""
    parts: dict[str, list[Decimal]] = defaultdict(list)
    for currency, amount in amounts:
        if amount is not None:
            parts[currency or NO_CURRENCY].append(amount)
    return {currency: total(values) for currency, values in parts.items()}
