"""The search: takes the steps in turn, and matches the entries and postings that are still open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from bktools.ledger.columns import Flags, Numbers, Sides
from bktools.ledger.keys import Keys, groups
from bktools.ledger.steps import BY, SEVERAL, STEPS, TABLES, WHOLE_SIDES, WHOLE_SUMS, Step
from bktools.ledger.texts import Row, Scores, best_pairs, similar, words

NOBODY = -1
# Wide enough for every amount.
EXACT_DIGITS = Context(prec=80)
# The columns that both sides must have for a sum, by column of its group.
NEEDED = {"account": "account_code", "date": "date", "month": "date", "amount": "amount"}
# The columns of keys that are made of another one.
MADE = {"size": "abs(amount)", "is_credit": "amount < 0", "month": "date_trunc('month', date)"}


@dataclass
class Matches:
    """Which posting is matched with which entry, both by the numbers of their rows."""

    # For each entry its posting; NOBODY where there is none. The entries of a sum have the same one.
    posting: Numbers
    # For each entry the number in BY of the columns that agree; NOBODY where there is no posting.
    by: Numbers
    # For each entry, how similar the texts are, 0 to 100, where they were compared; otherwise NaN.
    score: Scores
    # For each posting its entry: alone, as part of a voucher's sum, or as a double; of a sum the first one.
    entry: Numbers
    is_double: Flags
    # For an entry that several postings of a voucher are matched with, their sum; of a sum for its first entry.
    amount: dict[int, Decimal] = field(default_factory=dict)
    # For the first entry of each sum the total of its entries.
    total: dict[int, Decimal] = field(default_factory=dict)
    # The first entries of sums that are on other accounts.
    elsewhere: set[int] = field(default_factory=set)
    # Entries of which no text tells those with a posting from those without.
    tied: set[int] = field(default_factory=set)

    def first(self) -> Numbers:
        """Return for each entry the first one of its sum; for an entry that is in no sum the entry itself."""
        first = np.arange(len(self.posting))
        is_matched = self.posting != NOBODY
        first[is_matched] = self.entry[self.posting[is_matched]]
        return first


def matches(connection: duckdb.DuckDBPyConnection, sides: Sides, days: int) -> Matches:
    """Match entries with postings, as `comparable` returns them; `connection` has both by these names."""
    search = _Search(connection, sides, days)
    for step in STEPS:
        if search.is_possible(step):
            search.take(step)
    return search.matched


class _Search:
    """The entries and postings, those that are still open, and the matches so far."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, sides: Sides, days: int) -> None:
        self._connection, self._sides = connection, sides
        entries, postings = sides.entries, sides.postings
        # How many days a posting may be later than its entry: the nearest first, later before earlier.
        self._offsets = sorted(range(-days, days + 1), key=lambda day: (abs(day), -day))
        self._unknown = {name for name in ("id", "document") if postings[name].null_count == len(postings)}
        self.matched = Matches(
            np.full(len(entries), NOBODY),
            np.full(len(entries), NOBODY),
            np.full(len(entries), np.nan),
            np.full(len(postings), NOBODY),
            np.zeros(len(postings), dtype=bool),
        )
        connection.execute(
            "CREATE TABLE entry_accounts AS SELECT DISTINCT account FROM entries WHERE account IS NOT NULL"
        )
        self._open()

    def _open(self) -> None:
        """Show the entries and postings that are not matched; tables of the open ones before are made again."""
        has_entry, has_posting = self.matched.entry != NOBODY, self.matched.posting != NOBODY
        tables = {
            "matched_postings": pa.table({"no": np.flatnonzero(has_entry)}),
            "open_entries": self._sides.entries.filter(pa.array(~has_posting))
            if has_posting.any()
            else self._sides.entries,
            "open_postings": self._sides.postings.filter(pa.array(~has_entry))
            if has_entry.any()
            else self._sides.postings,
        }
        for name, table in tables.items():
            self._connection.register(name, table)
        self._made = {"postings", *tables}
        self._has_open = not has_posting.all(), not has_entry.all()

    def is_possible(self, step: Step) -> bool:
        """Whether there are open rows, the columns, and totals; a total that differs must be told from others."""
        has_entries, has_postings = self._has_open
        if not has_postings or not (step.is_double or has_entries) or self._unknown.intersection(step.keys):
            return False
        if not step.group:
            return True
        needed = {NEEDED[key] for key in {*step.group, "amount"} & NEEDED.keys()}
        is_told = not step.differs or bool((self.matched.by == BY.index(step.by)).any())
        return needed <= self._sides.compared and is_told

    def take(self, step: Step) -> None:
        """Match the open entries and postings that agree in the columns of a step."""
        ours, theirs = self._keys(step)
        is_new = False
        for offset in self._offsets if step.nearby else (0,):
            while True:
                open_keys = self._still_open(step, ours, theirs)
                if not all(len(keys.rows) for keys in open_keys):
                    break
                pairs = self._pairs(step, *open_keys, offset)
                if not len(pairs[0]):
                    break
                is_new = True
                self._add(step, *pairs)
                # Each time a posting gets one double at most, so that the doubles of equal entries are theirs in turn.
                if not step.is_double:
                    break
        if is_new:
            self._open()

    def _keys(self, step: Step) -> tuple[Keys, Keys]:
        """Return the keys of both sides, without rows that cannot agree."""
        # The postings are many, and few of them are like an open one.
        wanted = "AND amount IN (SELECT amount FROM open_postings)" if step.is_double else ""
        ours = self._keys_of(step.left, step.keys, wanted if step.is_named else f"AND amount IS NOT NULL {wanted}")
        theirs = self._keys_of(step.of, step.keys, "" if step.is_named else "AND id IS NULL")
        ours, theirs = ours.cut(theirs), theirs.cut(ours)
        if step.is_double:
            ours = ours.only(np.isin(ours.rows, self.matched.posting))
        if step.of in SEVERAL and len(ours.rows):
            theirs = theirs.only(np.isin(theirs.digests, ours.digests))
            whole = self._rows_of(WHOLE_SIDES.format(table=step.of), theirs.rows)
            theirs = theirs.only(np.isin(theirs.rows, [no for (no,) in whole]))
        return ours, theirs

    def _keys_of(self, table: str, names: Sequence[str], condition: str) -> Keys:
        """Return the keys of the rows of a table that have a value in each column; it is made when first needed."""
        if table not in self._made:
            self._connection.execute(TABLES[table])
            self._made.add(table)
        values = [MADE.get(name, name) for name in names]
        digested = ", ".join(value for value in values if value != "date")
        day = "date - DATE '1970-01-01'" if "date" in names else "0::BIGINT"
        there = " AND ".join(f"{value} IS NOT NULL" for value in values)
        query = f"SELECT no, hash({digested}) AS digest, {day} AS day FROM {table} WHERE {there} {condition}"
        columns: dict[str, Any] = self._connection.execute(query).fetchnumpy()
        return Keys(columns["no"], columns["digest"], columns["day"])

    def _rows_of(self, query: str, wanted: Numbers) -> list[Any]:
        """Return the rows of a query that reads the table `wanted`."""
        if not len(wanted):
            return []
        self._connection.register("wanted", pa.table({"no": wanted}))
        return self._connection.execute(query).fetchall()

    def _still_open(self, step: Step, ours: Keys, theirs: Keys) -> tuple[Keys, Keys]:
        if not step.is_double:
            ours = ours.only(self.matched.posting[ours.rows] == NOBODY)
        return ours, theirs.only(self.matched.entry[theirs.rows] == NOBODY)

    def _pairs(self, step: Step, ours: Keys, theirs: Keys, offset: int) -> tuple[Numbers, Numbers, Scores]:
        """Return the pairs of one step, with the similarity of their texts where it was compared."""
        pairs, tangled = groups(ours, theirs, offset)
        if step.group:
            # Fewer postings than equal totals: nothing tells whose they are. A total that differs has the only posting.
            equal = [
                (entries, postings[: len(entries)])
                for entries, postings in tangled
                if len(entries) <= len(postings) and not step.differs
            ]
            return self._whole_sums(step, *map(np.concatenate, zip(pairs, *equal, strict=True)))
        orders = step.text == "orders"
        compared = tangled if orders else [pairs, *tangled]
        rows = []
        for side, table in enumerate((step.left, step.of)):
            numbers = [pairs[side][:0], *(group[side] for group in compared)]
            rows.append(self._rows(table, np.concatenate(numbers)))
        tied: set[int] = set() if step.is_double else self.matched.tied
        chosen = [(*pairs, np.full(len(pairs[0]), np.nan)) if orders else similar(pairs, rows)]
        chosen += [best_pairs(group, rows, step.text, tied) for group in tangled]
        entries, postings, scores = (np.concatenate(parts) for parts in zip(*chosen, strict=True))
        return entries, postings, scores

    def _rows(self, table: str, wanted: Numbers) -> Mapping[int, Row]:
        """Return text, amount and date of rows, by their numbers."""
        rows = self._rows_of(f"SELECT no, amount, date FROM {table} SEMI JOIN wanted USING (no)", wanted)
        texts = (self._sides.entries if table == "open_entries" else self._sides.postings).column("text")
        scale = self._sides.money.scale
        return {
            no: Row(
                words(texts[no].as_py() or ""),
                None if amount is None else int(amount.scaleb(scale, EXACT_DIGITS)),
                date and date.toordinal(),
            )
            for no, amount, date in rows
        }

    def _whole_sums(self, step: Step, entries: Numbers, postings: Numbers) -> tuple[Numbers, Numbers, Scores]:
        """Return the pairs of sums that have everything that was exported under their key, and nothing ambiguous."""
        sums = self._rows_of(WHOLE_SUMS.format(table=step.left, group=", ".join(step.group)), entries)
        is_whole = np.isin(entries, [no for no, members in sums if self.matched.tied.isdisjoint(members)])
        return entries[is_whole], postings[is_whole], np.full(int(is_whole.sum()), np.nan)

    def _add(self, step: Step, entries: Numbers, postings: Numbers, scores: Scores) -> None:
        """Add the pairs of a step: of a voucher every posting, of a sum every entry."""
        matched = self.matched
        if step.is_double:
            matched.entry[postings], matched.is_double[postings] = matched.entry[entries], True
            return
        by = BY.index(step.by)
        matched.posting[entries], matched.entry[postings] = postings, entries
        matched.by[entries], matched.score[entries] = by, scores
        accounts: dict[int, list[str | None]] = {}
        members_of = "SELECT no, amount, members, accounts FROM {} SEMI JOIN wanted USING (no)"
        if step.of in SEVERAL:
            for posting, amount, members, on in self._rows_of(members_of.format(step.of), postings):
                entry = int(matched.entry[posting])
                matched.entry[members] = entry
                accounts[entry] = on
                if len(members) > 1:
                    matched.amount[entry] = amount
        if step.group:
            for entry, total, members, on in self._rows_of(members_of.format(step.left), entries):
                matched.posting[members], matched.by[members] = matched.posting[entry], by
                matched.total[entry] = total
                if step.of in SEVERAL and not {*on} <= {*accounts[entry]}:
                    matched.elsewhere.add(entry)
