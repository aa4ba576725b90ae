"""The order in which postings are found for entries: exact matches first, one posting for one entry at most."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, TypeAlias

import duckdb
import numpy as np
import pyarrow as pa
from rapidfuzz import fuzz, process, utils

from bktools.ledger.inputs import Inputs, view_of

# Texts that are at least so similar, of 100, are of one matter; a text decides where it is so much more similar.
SIMILAR = 70
CLEARLY = 10
# Texts of larger groups of equal entries and postings are not compared: entries are taken in their order.
LARGEST_GROUP = 10_000

NOBODY = -1

Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
Scores: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
# Text, amount and date.
Row: TypeAlias = tuple[str | None, Decimal | None, dt.date | None]
Rows: TypeAlias = Mapping[int, Row]


@dataclass(frozen=True)
class Rung:
    """Entries and postings that agree in some columns answer for each other, if both are still open.

    Parameters
    ----------
    by : str
        The columns that agree, for the evidence.
    keys : tuple of str
        SQL of these columns, the same for both sides.
    of : str
        "postings", or "vouchers": the sums of vouchers, such as net and tax.
    nearby : bool
        Whether the date of the posting may be some days off; the nearest first.
    text : str
        "orders": texts decide who answers for whom among equals. "agrees": texts must also be similar where both sides
        have one. "decides": they must be similar, or be missing where no other pair is possible.
    named : bool
        Whether postings that name an entry by its ID take part: they answer for no other entry.
    """

    by: str
    keys: tuple[str, ...]
    of: str = "postings"
    nearby: bool = False
    text: str = "orders"
    named: bool = False


EXACT = ("account", "amount", "currency")
EXACTLY = "account, amount and date"

RUNGS = (
    Rung("entry ID", ("id", *EXACT), named=True),
    Rung("entry ID", ("id", *EXACT), of="vouchers", named=True),
    Rung("entry ID", ("id", "account"), named=True),
    Rung("entry ID", ("id", "amount", "currency"), named=True),
    # The side of the amount, because the other side of the voucher has the same number.
    Rung("entry ID", ("id", "amount < 0"), named=True),
    Rung("document number", ("document", *EXACT)),
    Rung(EXACTLY, (*EXACT, "date")),
    Rung("document number", ("document", *EXACT), of="vouchers"),
    Rung(EXACTLY, (*EXACT, "date"), of="vouchers"),
    Rung("account and amount", (*EXACT, "date"), nearby=True, text="agrees"),
    Rung("account and amount", (*EXACT, "date"), of="vouchers", nearby=True, text="agrees"),
    Rung("document number and account", ("document", "account", "currency", "date"), nearby=True),
    Rung("document number and amount", ("document", "amount", "currency", "date"), nearby=True),
)
BY_TEXT = (
    Rung("amount and date", ("amount", "currency", "date"), of="uncommon", text="decides"),
    Rung("account and date", ("account", "currency", "date"), text="decides"),
)

# The sides of the vouchers whose amount stands in several postings: net and tax, or several cost centres. Only one
# account of the side is one that entries have, and no posting of it answers for an entry yet.
VOUCHERS = """
CREATE OR REPLACE TABLE vouchers AS
SELECT
    min(no) FILTER (is_expected) AS no, min(id) AS id, min(document) AS document,
    min(account) FILTER (is_expected) AS account, sum(amount) AS amount, currency, date, list(no ORDER BY no) AS members
FROM (
    SELECT *, account IN (SELECT account FROM entries) AS is_expected, no IN (SELECT no FROM open_postings) AS is_open
    FROM postings
    WHERE voucher IN (SELECT voucher FROM open_postings WHERE account IN (SELECT account FROM open_entries))
)
GROUP BY voucher, currency, date, amount < 0
HAVING count(*) > 1 AND count(DISTINCT account) FILTER (is_expected) = 1 AND bool_and(is_open)
"""

# Without the other accounts of the vouchers that are found, such as creditors, bank and tax: the payment of an entry has
# its amount too, and is no booking of it.
UNCOMMON = """
CREATE OR REPLACE TABLE uncommon AS
FROM open_postings
WHERE account NOT IN (
    SELECT DISTINCT account FROM postings
    WHERE voucher IN (SELECT voucher FROM postings SEMI JOIN answering USING (no))
    AND account NOT IN (SELECT account FROM entries WHERE account IS NOT NULL)
)
"""

PREPARED = {"vouchers": VOUCHERS, "uncommon": UNCOMMON}


# What agrees, by its place in `Answers.by`.
BY = tuple(dict.fromkeys(rung.by for rung in (*RUNGS, *BY_TEXT)))

# Another posting like one that answers for an entry is a double of it. Doubles are found before `BY_TEXT`.
DOUBLES = (
    Rung("entry ID", ("id", *EXACT), named=True),
    Rung("document number", ("document", *EXACT, "date"), nearby=True),
    Rung(EXACTLY, (*EXACT, "date"), text="agrees"),
)


@dataclass
class Answers:
    """Which posting answers for which entry.

    Attributes
    ----------
    posting : array
        For each entry the place of its posting; NOBODY where there is none.
    by : array
        For each entry the place in BY of the columns that agree; NOBODY where there is no posting.
    score : array
        For each entry, how similar the texts are, 0 to 100, where they were compared; otherwise NaN.
    entry : array
        For each posting the entry it answers for: alone, as part of a voucher's sum, or as a double.
    is_double : array of bool
        For each posting.
    amount : dict
        For an entry that a voucher's sum answers for, the sum.
    tied : set of int
        Entries of which no text tells those with a posting from those without.
    """

    posting: Numbers
    by: Numbers
    score: Scores
    entry: Numbers
    is_double: np.ndarray[Any, np.dtype[np.bool_]]
    amount: dict[int, Any] = field(default_factory=dict)
    tied: set[int] = field(default_factory=set)


def answers(connection: duckdb.DuckDBPyConnection, inputs: Inputs, days: int) -> Answers:
    """Return the answers of the postings; `connection` has the views of `inputs.show`."""
    entries, postings = len(inputs.exported), len(inputs.ledger)
    found = Answers(
        np.full(entries, NOBODY),
        np.full(entries, NOBODY),
        np.full(entries, np.nan),
        np.full(postings, NOBODY),
        np.zeros(postings, dtype=bool),
    )
    connection.register("answering", pa.table({"no": found.entry[:0]}))
    inputs.rows.update(open_entries=inputs.rows["entries"], open_postings=inputs.rows["postings"])
    connection.execute("CREATE VIEW open_entries AS FROM entries; CREATE VIEW open_postings AS FROM postings")
    _climb(connection, inputs, found, RUNGS, days)
    _add_doubles(connection, inputs, found, days)
    _climb(connection, inputs, found, BY_TEXT, days)
    return found


def _climb(
    connection: duckdb.DuckDBPyConnection, inputs: Inputs, found: Answers, rungs: Iterable[Rung], days: int
) -> None:
    """Add the answers of each rung in turn."""
    for rung in rungs:
        if not _can_find(inputs, rung, "open_entries"):
            continue
        if rung.of in PREPARED:
            connection.execute(PREPARED[rung.of])
        for offset in _offsets(rung, days):
            left, right, scores = _pairs(connection, inputs, rung, "open_entries", offset, found.tied)
            if not len(left):
                continue
            found.posting[left], found.entry[right] = right, left
            found.by[left], found.score[left] = BY.index(rung.by), scores
            if rung.of == "vouchers":
                _add_members(connection, found, left, right)
            _open(connection, inputs, found)


def _add_doubles(connection: duckdb.DuckDBPyConnection, inputs: Inputs, found: Answers, days: int) -> None:
    _some_rows(connection, inputs, "postings", "first", found.posting[found.posting != NOBODY])
    for rung in DOUBLES:
        for offset in _offsets(rung, days):
            # Each time every posting gets one double at most, so that the doubles of equal entries are theirs in turn.
            while _can_find(inputs, rung, "first_postings"):
                left, right, _ = _pairs(connection, inputs, rung, "first_postings", offset, set())
                if not len(left):
                    break
                found.entry[right], found.is_double[right] = found.entry[left], True
                _open(connection, inputs, found)


def _offsets(rung: Rung, days: int) -> Sequence[int]:
    """Return how many days the posting may be later than the entry: the nearest first, later before earlier."""
    return sorted(range(-days, days + 1), key=lambda day: (abs(day), -day)) if rung.nearby else (0,)


def _can_find(inputs: Inputs, rung: Rung, left: str) -> bool:
    """Whether both sides have open rows, and any value of a column that few have."""
    rows = inputs.rows[left], inputs.rows["open_postings"]
    if rung.keys[0] == "id":
        return all(
            len(side) and side.column("named" if "named" in side.column_names else "entry_id").null_count < len(side)
            for side in rows
        )
    return all(len(side) for side in rows) and (
        rung.keys[0] != "document" or all("document_number" in side.column_names for side in rows)
    )


def _open(connection: duckdb.DuckDBPyConnection, inputs: Inputs, found: Answers) -> None:
    """Make the views of the entries and postings without an answer."""
    connection.register("answering", pa.table({"no": np.flatnonzero(found.entry != NOBODY)}))
    _some_rows(connection, inputs, "entries", "open", np.flatnonzero(found.posting == NOBODY))
    _some_rows(connection, inputs, "postings", "open", np.flatnonzero(found.entry == NOBODY))


def _some_rows(connection: duckdb.DuckDBPyConnection, inputs: Inputs, side: str, name: str, places: Numbers) -> None:
    """Make a view of some rows of a side, such as `open_entries`."""
    inputs.rows[f"{name}_{side}"] = rows = inputs.rows[side].take(places)
    connection.register(f"{name}_{side}_rows", rows)
    connection.execute(f"CREATE OR REPLACE VIEW {name}_{side} AS {view_of(inputs, side, f'{name}_{side}_rows')}")


def _pairs(
    connection: duckdb.DuckDBPyConnection, inputs: Inputs, rung: Rung, left: str, offset: int, tied: set[int]
) -> tuple[Numbers, Numbers, Scores]:
    """Return the pairs of one rung, with the similarity of their texts where it was compared."""
    right = "open_postings" if rung.of == "postings" else rung.of
    ours = _keys(connection, left, rung, "true" if rung.named else "amount IS NOT NULL", 0)
    theirs = _keys(connection, right, rung, "true" if rung.named else "id IS NULL", offset)
    pairs, tangled = _groups(*ours, *theirs)
    sides = [np.concatenate([pairs[side][:0], *(group[side] for group in tangled)]) for side in (0, 1)]
    if rung.text != "orders":
        sides = [np.concatenate([*parts]) for parts in zip(sides, pairs, strict=True)]
    rows = [_rows(connection, inputs, table, places) for table, places in zip((left, right), sides, strict=True)]
    found = [(*pairs, np.full(len(pairs[0]), np.nan)) if rung.text == "orders" else _similar(pairs, rows)]
    found += [_told_apart(group, rows, rung, tied) for group in tangled]
    one, other, scores = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return one, other, scores


def _keys(
    connection: duckdb.DuckDBPyConnection, table: str, rung: Rung, where: str, offset: int
) -> tuple[Numbers, Numbers]:
    """Return the places of the rows, and a digest of the columns that must agree; the status is told by the values."""
    keys = [f"date - {offset}" if key == "date" and offset else key for key in rung.keys]
    filled = " AND ".join(f"({key}) IS NOT NULL" for key in rung.keys)
    # A voucher stays in its table when it was found on an earlier day.
    rows = f"{table} ANTI JOIN answering USING (no)" if table == "vouchers" else table
    columns = connection.execute(
        f"SELECT no, hash({', '.join(keys)}) AS digest FROM {rows} WHERE {where} AND {filled}"
    ).fetchnumpy()
    return np.asarray(columns["no"]), np.asarray(columns["digest"])


def _groups(
    entries: Numbers, entry_keys: Numbers, postings: Numbers, posting_keys: Numbers
) -> tuple[tuple[Numbers, Numbers], list[tuple[Numbers, Numbers]]]:
    """Return the pairs whose key both sides have once, and the entries and postings of each other common key."""
    one, other = _sorted(entries, entry_keys), _sorted(postings, posting_keys)
    _, left, right = np.intersect1d(one.keys, other.keys, assume_unique=True, return_indices=True)
    alone = (one.counts[left] == 1) & (other.counts[right] == 1)
    pairs = (one.rows[one.first[left[alone]]], other.rows[other.first[right[alone]]])
    tangled = [(one.group(a), other.group(b)) for a, b in zip(left[~alone], right[~alone], strict=True)]
    return pairs, sorted(tangled, key=lambda group: int(group[0][0]))


@dataclass(frozen=True)
class _Sorted:
    """Rows by their key: the keys once each, and the first place and count of each in `rows`."""

    rows: Numbers
    keys: Numbers
    first: Numbers
    counts: Numbers

    def group(self, place: int) -> Numbers:
        return np.sort(self.rows[self.first[place] : self.first[place] + self.counts[place]])


def _sorted(rows: Numbers, keys: Numbers) -> _Sorted:
    order = np.argsort(keys)
    ordered = keys[order]
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(ordered) else order
    return _Sorted(rows[order], ordered[first], first, np.diff(np.append(first, len(ordered))))


def _rows(connection: duckdb.DuckDBPyConnection, inputs: Inputs, table: str, places: Numbers) -> Rows:
    """Return text, amount and date of rows, by their places."""
    if not len(places):
        return {}
    connection.register("wanted", pa.table({"no": places}))
    rows = connection.execute(f"SELECT no, amount, date FROM {table} SEMI JOIN wanted USING (no)").fetchall()
    texts = inputs.texts("exported" if table == "open_entries" else "ledger", [row[0] for row in rows])
    return {no: (words(texts[no]), amount, date) for no, amount, date in rows}


def words(text: str | None) -> str | None:
    """Return a text as it is compared: letters and digits alone, in lower case; None without any."""
    return (utils.default_process(text) or None) if text else None


def similarity(one: str | None, other: str | None) -> float | None:
    """Return how similar two texts as `words` returns them are, 0 to 100; None where one is missing."""
    return fuzz.token_set_ratio(one, other) if one and other else None


def _similar(pairs: tuple[Numbers, Numbers], rows: Sequence[Rows]) -> tuple[Numbers, Numbers, Scores]:
    """Return those pairs without any other candidate whose texts do not speak against it."""
    ours, theirs = ([known[no][0] or "" for no in side.tolist()] for side, known in zip(pairs, rows, strict=True))
    scores = process.cpdist(ours, theirs, scorer=fuzz.token_set_ratio, dtype=np.float64)
    has_both = np.array([bool(one and other) for one, other in zip(ours, theirs, strict=True)], dtype=bool)
    kept = ~has_both | (scores >= SIMILAR)
    return pairs[0][kept], pairs[1][kept], np.where(has_both, scores, np.nan)[kept]


def _told_apart(
    group: tuple[Numbers, Numbers], rows: Sequence[Rows], rung: Rung, tied: set[int]
) -> tuple[Numbers, Numbers, Scores]:
    """Return the pairs of a group in which all rows agree in the columns of the rung."""
    entries, postings = group
    few = min(len(entries), len(postings))
    if len(entries) * len(postings) > LARGEST_GROUP:
        if rung.text == "decides":
            few = 0
        elif len(entries) > few:
            tied.update(entries.tolist())
        return entries[:few], postings[:few], np.full(few, np.nan)
    ours, theirs = ([known[no] for no in side.tolist()] for side, known in zip(group, rows, strict=True))
    scores = [[similarity(one[0], other[0]) for other in theirs] for one in ours]
    pairs = list(_greedy(ours, theirs, scores, rung.text))
    taken = {one for one, _ in pairs}
    left = [one for one in range(len(ours)) if one not in taken]
    undecided = [one for one, other in pairs if not _is_clear(one, other, left, scores)]
    if rung.text != "decides" and left and undecided:
        tied.update(int(entries[one]) for one in (*left, *undecided))
    chosen = [scores[one][other] for one, other in pairs]
    return (
        entries[[one for one, _ in pairs]],
        postings[[other for _, other in pairs]],
        np.array([np.nan if score is None else score for score in chosen], dtype=float),
    )


def _greedy(
    ours: Sequence[Row],
    theirs: Sequence[Row],
    scores: Sequence[Sequence[float | None]],
    text: str,
) -> Iterator[tuple[int, int]]:
    """Yield pairs of places: the most similar texts first, then the nearest amount and day, then the order of the frames."""
    candidates = sorted(
        (-(scores[one][other] or 0), *_apart(ours[one], theirs[other]), one, other)
        for one in range(len(ours))
        for other in range(len(theirs))
        if _may_pair(scores[one][other], text)
    )
    taken: tuple[set[int], set[int]] = (set(), set())
    for *_, one, other in candidates:
        if one not in taken[0] and other not in taken[1]:
            taken[0].add(one)
            taken[1].add(other)
            yield one, other


def _may_pair(score: float | None, text: str) -> bool:
    return text == "orders" or (text == "agrees" if score is None else score >= SIMILAR)


def _apart(ours: Row, theirs: Row) -> tuple[Any, int]:
    """Return how far amounts and days are apart; 0 where one is unknown."""
    amount = 0 if ours[1] is None or theirs[1] is None else abs(ours[1] - theirs[1])
    return amount, 0 if ours[2] is None or theirs[2] is None else abs((ours[2] - theirs[2]).days)


def _is_clear(one: int, other: int, left: Iterable[int], scores: Sequence[Sequence[float | None]]) -> bool:
    """Whether a text tells an entry with a posting from each entry left without one."""
    score = scores[one][other]
    return all(
        score is not None and score >= SIMILAR and (scores[rest][other] or 0) <= score - CLEARLY for rest in left
    )


def _add_members(
    connection: duckdb.DuckDBPyConnection, found: Answers, entry_places: Numbers, posting_places: Numbers
) -> None:
    """Let every posting of the vouchers answer for the entry, and keep the sums."""
    connection.register("wanted", pa.table({"no": posting_places, "entry": entry_places}))
    for entry, amount, members in connection.execute(
        "SELECT entry, amount, members FROM vouchers JOIN wanted USING (no)"
    ).fetchall():
        found.entry[members] = entry
        found.amount[entry] = amount
