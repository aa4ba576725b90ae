"""What must agree in a step, as one number a row: digests of columns, and the pairs and groups that have the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.ledger.inputs import Inputs

Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
Digests: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]
Flags: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]

# The longer side of a step is first cut down to the rows that may agree, where it is so many times as long.
MANY_TIMES = 8
# An odd number whose bits are spread evenly.
SPREAD = np.uint64(0x9E3779B97F4A7C15)
# Columns whose texts repeat.
CODED = {"account": "account_code", "currency": "currency"}


@dataclass(frozen=True)
class Keys:
    """The places of some rows, a digest of the columns that must agree, and the days, 0 where they need not agree."""

    rows: Numbers
    digests: Digests
    days: Numbers

    def where(self, matched: Numbers, value: int) -> Keys:
        """Return the rows of which `matched` has a value."""
        return self.only(matched[self.rows] == value)

    def only(self, wanted: Flags) -> Keys:
        """Return some rows."""
        return self if wanted.all() else Keys(self.rows[wanted], self.digests[wanted], self.days[wanted])

    def on(self, offset: int) -> Digests:
        """Return digests with the days, some days earlier; two's complement wraps around."""
        return self.digests + (self.days - offset).astype(np.uint64) * SPREAD


class Columns:
    """The digests of the columns of entries and postings, each read once."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, inputs: Inputs) -> None:
        self._connection, self._rows = connection, inputs.rows
        self._known: dict[tuple[str, str], tuple[Digests, Flags]] = {}

    def keys(self, names: Sequence[str], table: str, rows: Numbers) -> Keys:
        """Return the keys of some rows of "entries" or "postings", without those that lack one."""
        for key in names:
            rows = rows[self._of(table, key)[1][rows]]
        digests = _combined([self._of(table, key)[0][rows] for key in names if key != "date"], len(rows))
        days = self._of(table, "date")[0][rows].astype(np.int64) if "date" in names else np.zeros(len(rows), np.int64)
        return Keys(rows, digests, days)

    def is_filled(self, table: str, column: str) -> Flags:
        """Return for each row whether it has a value in a column."""
        return self._of(table, column)[1]

    def keys_of_sums(self, names: Sequence[str], table: str, *, named: bool) -> Keys:
        """Return the keys of a table whose rows stand for several entries or postings."""
        columns = ", ".join(f"{_digest(key)} AS key{number}" for number, key in enumerate(names))
        filled = " AND ".join(f"({key}) IS NOT NULL" for key in names)
        unnamed = "" if named else " AND id IS NULL"
        values = self._connection.execute(f"SELECT no, {columns} FROM {table} WHERE {filled}{unnamed}").fetchnumpy()
        rows, parts = np.asarray(values["no"]), [np.asarray(values[f"key{number}"]) for number in range(len(names))]
        digests = _combined([part for part, key in zip(parts, names, strict=True) if key != "date"], len(rows))
        days = dict(zip(names, parts, strict=True)).get("date", np.zeros(len(rows)))
        return Keys(rows, digests, days.astype(np.int64))

    def _of(self, table: str, key: str) -> tuple[Digests, Flags]:
        if (table, key) not in self._known:
            source, codes = table, None
            if CODED.get(key) in self._rows[table].column_names:
                # A text that repeats is read once: in the first row that has it.
                column = self._rows[table].column(CODED[key]).combine_chunks()
                codes = pc.fill_null(column.indices, len(column.dictionary)).to_numpy()
                first = np.zeros(len(column.dictionary) + 1, np.int64)
                first[codes[::-1]] = np.arange(len(codes))[::-1]
                self._connection.register("first_rows", pa.table({"no": np.unique(first)}))
                source = f"{table} SEMI JOIN first_rows USING (no)"
            values = self._connection.execute(
                f"SELECT no, {_digest(key)} AS digest, ({key}) IS NOT NULL AS is_filled FROM {source}"
            ).fetchnumpy()
            count = len(self._rows[table])
            digests, is_filled = np.zeros(count, np.uint64), np.zeros(count, bool)
            digests[values["no"]] = values["digest"]
            is_filled[values["no"]] = values["is_filled"]
            if codes is not None and count:
                digests, is_filled = digests[first[codes]], is_filled[first[codes]]
            self._known[table, key] = digests, is_filled
        return self._known[table, key]


def _digest(key: str) -> str:
    """Return the SQL of a digest; that of a day is its number, so that days can be counted."""
    return "coalesce(date_diff('day', DATE '1970-01-01', date), 0)::UBIGINT" if key == "date" else f"hash({key})"


def _combined(parts: Iterable[Digests], count: int) -> Digests:
    digests = np.zeros(count, np.uint64)
    for part in parts:
        digests = digests * SPREAD + part
    return digests


def cut(many: Keys, few: Keys) -> Keys:
    """Return the rows of a much longer side that may agree with one of the other."""
    if len(few.rows) * MANY_TIMES >= len(many.rows):
        return many
    digests = np.sort(few.digests)
    place = np.minimum(np.searchsorted(digests, many.digests), len(digests) - 1)
    return many.only(digests[place] == many.digests if len(digests) else np.zeros(len(many.rows), dtype=bool))


def groups(
    entries: Numbers, entry_keys: Digests, postings: Numbers, posting_keys: Digests
) -> tuple[tuple[Numbers, Numbers], list[tuple[Numbers, Numbers]]]:
    """Return the pairs whose key both sides have once, and the entries and postings of each other common key."""
    one, other = _sorted(entries, entry_keys), _sorted(postings, posting_keys)
    place = np.minimum(np.searchsorted(other.keys, one.keys), max(len(other.keys) - 1, 0))
    is_common = other.keys[place] == one.keys if len(other.keys) else np.zeros(len(one.keys), dtype=bool)
    left, right = np.flatnonzero(is_common), place[is_common]
    alone = (one.counts[left] == 1) & (other.counts[right] == 1)
    pairs = (one.rows[one.first[left[alone]]], other.rows[other.first[right[alone]]])
    tangled = [(one.group(a), other.group(b)) for a, b in zip(left[~alone], right[~alone], strict=True)]
    return pairs, sorted(tangled, key=lambda group: int(group[0][0]))


@dataclass(frozen=True)
class _Sorted:
    """Rows by their key: the keys once each, and the first place and count of each in `rows`."""

    rows: Numbers
    keys: Digests
    first: Numbers
    counts: Numbers

    def group(self, place: int) -> Numbers:
        return np.sort(self.rows[self.first[place] : self.first[place] + self.counts[place]])


def _sorted(rows: Numbers, keys: Digests) -> _Sorted:
    order = np.argsort(keys)
    ordered = keys[order]
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(ordered) else order
    return _Sorted(rows[order], ordered[first], first, np.diff(np.append(first, len(ordered))))
