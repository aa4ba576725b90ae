"""The entries that wait for a step: their number and exact money, each entry once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import polars as pl
import pyarrow as pa

from bktools.export.checks import FATE_OF_REASON
from bktools.findings.check import HELD, IN_BOOKS, LEFT_OUT
from bktools.frames.arrow import to_arrow
from bktools.frames.sums import Money, Sum, money_of, sums_of, total

# No step is taken for these entries.
WITHOUT_STEPS = (LEFT_OUT, IN_BOOKS)
LINE = ("id", "split_line", "currency", "amount")

Row = Mapping[str, Any]

c = pl.col


def key_of(row: Row) -> str:
    """Return the key of the entry that a row is about: its ID, or its line where it has none."""
    return row["id"] or str(row.get("line"))


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
        lines = pl.DataFrame(entries).filter(~c.fate.is_in(WITHOUT_STEPS))
        self._lines = lines.with_columns(key=pl.coalesce(c.id.replace("", None), c.line.cast(pl.String)))
        self._own = own
        # The reasons at which the figures count an entry, one of each of its fates.
        self.reasons = {
            key: {*reasons} for key, reasons in self._lines.group_by("key").agg(c.reason.unique()).iter_rows()
        }

    def keys_with(self, column: str, value: str) -> tuple[str, ...]:
        """Return the keys of the entries with a value."""
        return tuple(self._lines.filter(c(column) == value)["key"].unique(maintain_order=True))

    def counted_elsewhere(self, keys: Iterable[str], reason: str) -> int:
        """Return how many entries the figures count at another reason than this one, which holds them back.

        The figures count an entry at its first error; each of its errors is a step.
        """
        if FATE_OF_REASON.get(reason) != HELD:
            return 0
        reasons = [self.reasons.get(key, set()) for key in {*keys}]
        return sum(bool(of_one - {None}) and reason not in of_one for of_one in reasons)

    def money(self, groups: Sequence[Iterable[str]]) -> list[tuple[Mapping[str, Money], tuple[str, ...]]]:
        """Return the money and the IDs of the entries of each group of keys."""
        pairs = [(place, key) for place, keys in enumerate(groups) for key in dict.fromkeys(keys)]
        wanted = pl.DataFrame(pairs, {"group": pl.Int64, "key": pl.String}, orient="row")
        lines = self._lines.join(wanted, on="key", maintain_order="left")
        sums = sums_of(to_arrow(lines.select(*LINE, "group")), "group", own=self._own)
        money = {part["group"]: part.money for part in sums}
        named = lines.filter(c.id != "").group_by("group").agg(c.id.unique(maintain_order=True))
        ids = dict(named.iter_rows())
        return [(money.get(place, {}), tuple(ids.get(place, ()))) for place in range(len(groups))]

    def change(self, keys: Iterable[str]) -> dict[str, dict[str, Decimal]]:
        """Return the amounts of changed entries as they were sent, as they are now, and the difference."""
        lines = self._lines.filter(c.key.is_in([*keys]))
        now = lines.with_columns(pl.coalesce(f"file_{name}", name).alias(name) for name in LINE[2:])
        sides = (money_of(to_arrow(rows.select(LINE)), self._own) for rows in (lines, now))
        sent, after = (Sum({}, money).amounts for money in sides)
        difference = {
            name: total([after.get(name), sent.get(name, Decimal(0)).copy_negate()])
            for name in dict.fromkeys([*sent, *after])
        }
        return {"sent": sent, "now": after, "difference": difference}
