"""The search: takes the steps in turn, and matches the entries and postings that are still open."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.ledger.columns import Digests, Flags, Keys, Numbers, Rows
from bktools.ledger.inputs import Inputs
from bktools.ledger.steps import BY, BY_TEXT, DOUBLES, SEVERAL, STEPS, TABLES, WHOLE_SIDES, WHOLE_SUMS, Step
from bktools.ledger.texts import Row, Scores, best_pairs, similar, words

NOBODY = -1
# Wide enough for every amount.
EXACT_DIGITS = Context(prec=80)
# The columns that both sides must have for a sum, by column of its group.
NEEDED = {"account": "account_code", "date": "date", "month": "date", "amount": "amount"}


@dataclass
class Matches:
    """Which posting is matched with which entry, both by the numbers of their rows.

    Attributes
    ----------
    posting : array
        For each entry its posting; NOBODY where there is none. The entries of a sum have the same one.
    by : array
        For each entry the number in BY of the columns that agree; NOBODY where there is no posting.
    score : array
        For each entry, how similar the texts are, 0 to 100, where they were compared; otherwise NaN.
    entry : array
        For each posting its entry: alone, as part of a voucher's sum, or as a double; of a sum the first one.
    is_double : array of bool
        For each posting.
    amount : dict
        For an entry that several postings of a voucher are matched with, their sum; of a sum for its first entry.
    total : dict
        For the first entry of each sum the total of its entries.
    elsewhere : set of int
        The first entries of sums that are on other accounts.
    tied : set of int
        Entries of which no text tells those with a posting from those without.
    """

    posting: Numbers
    by: Numbers
    score: Scores
    entry: Numbers
    is_double: Flags
    amount: dict[int, Decimal] = field(default_factory=dict)
    total: dict[int, Decimal] = field(default_factory=dict)
    elsewhere: set[int] = field(default_factory=set)
    tied: set[int] = field(default_factory=set)

    def first(self) -> Numbers:
        """Return for each entry the first one of its sum; for an entry that is in no sum the entry itself."""
        first = np.arange(len(self.posting))
        is_matched = self.posting != NOBODY
        first[is_matched] = self.entry[self.posting[is_matched]]
        return first


def matches(
    connection: duckdb.DuckDBPyConnection, inputs: Inputs, entries: pa.Table, postings: pa.Table, days: int
) -> Matches:
    """Match entries with postings, as `comparable` returns them; `connection` has both by these names."""
    search = _Search(connection, inputs, entries, postings, days)
    search.take(STEPS)
    search.add_doubles()
    search.take(BY_TEXT)
    return search.matched


class _Search:
    """The entries and postings, those that are still open, and the matches so far."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, inputs: Inputs, entries: pa.Table, postings: pa.Table, days: int
    ) -> None:
        self._connection, self._inputs, self._days = connection, inputs, days
        self._entries, self._postings = Rows(connection, entries), Rows(connection, postings)
        self.matched = Matches(
            np.full(len(entries), NOBODY),
            np.full(len(entries), NOBODY),
            np.full(len(entries), np.nan),
            np.full(len(postings), NOBODY),
            np.zeros(len(postings), dtype=bool),
        )
        accounts = pc.unique(entries.column("account").drop_null()).cast(pa.large_string())
        connection.register("entry_accounts", pa.table({"account": accounts}))
        self._open()

    def _open(self) -> None:
        """Show the entries and postings that are not matched; tables of the open ones before are dropped."""
        self._connection.register("matched_postings", pa.table({"no": np.flatnonzero(self.matched.entry != NOBODY)}))
        self._tables = {
            "open_entries": self._some(self._entries, self.matched.posting == NOBODY),
            "open_postings": self._some(self._postings, self.matched.entry == NOBODY),
        }
        for name, rows in self._tables.items():
            self._connection.register(name, rows.table)

    def _some(self, rows: Rows, wanted: Flags) -> Rows:
        return rows if wanted.all() else Rows(self._connection, rows.table.take(pa.array(np.flatnonzero(wanted))))

    def _table(self, name: str) -> Rows:
        """Return a table of open rows, which is made when a step first needs it."""
        if name not in self._tables:
            self._connection.execute(TABLES[name])
            self._tables[name] = Rows(self._connection, self._connection.table(name).to_arrow_table())
        return self._tables[name]

    def take(self, steps: Iterable[Step]) -> None:
        """Take each step in turn."""
        for step in steps:
            if not self._is_possible(step):
                continue
            left, right = self._table(step.left), self._table(step.of)
            keys = self._keys(step, left, right)
            is_new = False
            for offset in self._offsets(step):
                still_open = (
                    keys[0].only(self.matched.posting[keys[0].rows] == NOBODY),
                    keys[1].only(self.matched.entry[keys[1].rows] == NOBODY),
                )
                pairs = self._pairs(step, (left, right), still_open, offset, self.matched.tied)
                if step.group:
                    pairs = self._whole_sums(step, *pairs)
                is_new |= self._add(step, (left, right), *pairs)
            if is_new:
                self._open()

    def add_doubles(self) -> None:
        """Match open postings with entries that have another posting like them."""
        matched = self.matched
        is_first = np.zeros(len(matched.entry), dtype=bool)
        is_first[matched.posting[matched.posting != NOBODY]] = True
        for step in DOUBLES:
            if not self._is_possible(step):
                continue
            open_postings = self._table(step.of)
            right = open_postings.keys(step.keys, None if step.named else ~open_postings.has("id"))
            left = self._postings.keys(step.keys, is_first).cut(right)
            is_new = False
            for offset in self._offsets(step):
                # Each time a posting gets one double at most, so that the doubles of equal entries are theirs in turn.
                while True:
                    still_open = left, right.only(matched.entry[right.rows] == NOBODY)
                    first, double, _ = self._pairs(step, (self._postings, open_postings), still_open, offset, set())
                    if not len(first):
                        break
                    matched.entry[double], matched.is_double[double] = matched.entry[first], True
                    is_new = True
            if is_new:
                self._open()

    def _is_possible(self, step: Step) -> bool:
        """Whether there are open rows with these columns, and totals; a total that differs must be told from others."""
        open_entries, open_postings = self._table("open_entries"), self._table("open_postings")
        if not len(open_postings) or (step not in DOUBLES and not len(open_entries)):
            return False
        if not all(open_postings.has_any(name) for name in {"id", "document"} & {*step.keys}):
            return False
        if not step.group:
            return True
        needed = {NEEDED[key] for key in {*step.group, "amount"} & NEEDED.keys()}
        is_told = not step.differs or bool((self.matched.by == BY.index(step.by)).any())
        return needed <= self._inputs.compared and is_told

    def _offsets(self, step: Step) -> Sequence[int]:
        """Return how many days the posting may be later than the entry: the nearest first, later before earlier."""
        days = self._days
        return sorted(range(-days, days + 1), key=lambda day: (abs(day), -day)) if step.nearby else (0,)

    def _keys(self, step: Step, left: Rows, right: Rows) -> tuple[Keys, Keys]:
        """Return the keys of both sides, without rows that cannot agree."""
        ours = left.keys(step.keys, None if step.named else left.has("amount"))
        theirs = right.keys(step.keys, None if step.named else ~right.has("id"))
        ours, theirs = ours.cut(theirs), theirs.cut(ours)
        if step.of in SEVERAL and len(ours.rows) and len(theirs.rows):
            theirs = theirs.only(np.isin(theirs.digests, ours.digests))
            whole = self._chosen(WHOLE_SIDES.format(table=step.of), theirs.rows)
            theirs = theirs.only(np.isin(theirs.rows, whole))
        return ours, theirs

    def _chosen(self, query: str, wanted: Numbers) -> Numbers:
        """Return those of the wanted numbers that a query chooses."""
        self._connection.register("wanted", pa.table({"no": wanted}))
        return np.asarray(self._connection.execute(query).fetchnumpy()["no"])

    def _pairs(
        self, step: Step, sides: tuple[Rows, Rows], keys: tuple[Keys, Keys], offset: int, tied: set[int]
    ) -> tuple[Numbers, Numbers, Scores]:
        """Return the pairs of one step, with the similarity of their texts where it was compared."""
        ours, theirs = keys
        if not (len(ours.rows) and len(theirs.rows)):
            return ours.rows[:0], theirs.rows[:0], np.empty(0)
        pairs, tangled = groups(ours.rows, ours.on(0), theirs.rows, theirs.on(offset))
        if step.group:
            # Fewer postings than equal totals: nothing tells whose they are. A total that differs has the only posting.
            equal = [
                (entries, postings[: len(entries)])
                for entries, postings in tangled
                if len(entries) <= len(postings) and not step.differs
            ]
            entries, postings = (np.concatenate([pairs[side], *(group[side] for group in equal)]) for side in (0, 1))
            return entries, postings, np.full(len(entries), np.nan)
        wanted = [np.concatenate([pairs[side][:0], *(group[side] for group in tangled)]) for side in (0, 1)]
        if step.text != "orders":
            wanted = [np.concatenate([*parts]) for parts in zip(wanted, pairs, strict=True)]
        rows = [self._rows(side, numbers) for side, numbers in zip(sides, wanted, strict=True)]
        chosen = [(*pairs, np.full(len(pairs[0]), np.nan)) if step.text == "orders" else similar(pairs, rows)]
        chosen += [best_pairs(group, rows, step.text, tied) for group in tangled]
        entries, postings, scores = (np.concatenate(parts) for parts in zip(*chosen, strict=True))
        return entries, postings, scores

    def _rows(self, side: Rows, wanted: Numbers) -> Mapping[int, Row]:
        """Return text, amount and date of rows, by their numbers."""
        columns = side.some(wanted, "no", "amount", "date")
        texts = self._inputs.texts("exported" if "batch" in side.table.column_names else "ledger", columns["no"])
        scale = self._inputs.money.scale
        return {
            no: Row(
                words(text),
                None if amount is None else int(amount.scaleb(scale, EXACT_DIGITS)),
                date and date.toordinal(),
            )
            for no, text, amount, date in zip(columns["no"], texts, columns["amount"], columns["date"], strict=True)
        }

    def _whole_sums(
        self, step: Step, entries: Numbers, postings: Numbers, scores: Scores
    ) -> tuple[Numbers, Numbers, Scores]:
        """Return the pairs of sums that have everything that was exported under their key, and nothing ambiguous."""
        if len(entries):
            is_whole = np.isin(
                entries, self._chosen(WHOLE_SUMS.format(table=step.left, group=", ".join(step.group)), entries)
            )
            if self.matched.tied:
                sums = self._table(step.left).some(entries, "no", "members")
                members = dict(zip(sums["no"], sums["members"], strict=True))
                is_whole &= [self.matched.tied.isdisjoint(members[entry]) for entry in entries.tolist()]
            entries, postings, scores = entries[is_whole], postings[is_whole], scores[is_whole]
        return entries, postings, scores

    def _add(self, step: Step, sides: tuple[Rows, Rows], entries: Numbers, postings: Numbers, scores: Scores) -> bool:
        """Add the pairs of a step: of a voucher every posting, of a sum every entry. Return whether there are any."""
        matched, by = self.matched, BY.index(step.by)
        matched.posting[entries], matched.entry[postings] = postings, entries
        matched.by[entries], matched.score[entries] = by, scores
        accounts: dict[int, Collection[str | None]] = {}
        if step.of in SEVERAL:
            entry_of = dict(zip(postings.tolist(), entries.tolist(), strict=True))
            names = ["no", "amount", "members", *(["accounts"] if step.of == "sides" else [])]
            for posting, amount, members, *on in zip(*sides[1].some(postings, *names).values(), strict=True):
                entry = entry_of[posting]
                matched.entry[members] = entry
                accounts |= {entry: on[0]} if on else {}
                if len(members) > 1:
                    matched.amount[entry] = amount
        if step.group:
            sums = sides[0].some(entries, "no", "amount", "members", "accounts")
            posting_of = dict(zip(entries.tolist(), postings.tolist(), strict=True))
            for entry, total, members, on in zip(*sums.values(), strict=True):
                matched.posting[members], matched.by[members] = posting_of[entry], by
                matched.total[entry] = total
                if entry in accounts and not {*on} <= {*accounts[entry]}:
                    matched.elsewhere.add(entry)
        return bool(len(entries))


def groups(
    entries: Numbers, entry_keys: Digests, postings: Numbers, posting_keys: Digests
) -> tuple[tuple[Numbers, Numbers], list[tuple[Numbers, Numbers]]]:
    """Return the pairs whose key both sides have once, and the entries and postings of each other common key."""
    ours, theirs = _sorted(entries, entry_keys), _sorted(postings, posting_keys)
    place = np.minimum(np.searchsorted(theirs.keys, ours.keys), max(len(theirs.keys) - 1, 0))
    is_common = theirs.keys[place] == ours.keys if len(theirs.keys) else np.zeros(len(ours.keys), dtype=bool)
    left, right = np.flatnonzero(is_common), place[is_common]
    alone = (ours.counts[left] == 1) & (theirs.counts[right] == 1)
    pairs = ours.rows[ours.first[left[alone]]], theirs.rows[theirs.first[right[alone]]]
    tangled = [(ours.group(a), theirs.group(b)) for a, b in zip(left[~alone], right[~alone], strict=True)]
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
