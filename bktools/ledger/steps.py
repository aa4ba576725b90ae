"""The steps of a match: which postings are found for which entries, exact ones first, then sums of whole groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Context, Decimal

import duckdb
import numpy as np
import pyarrow as pa

from bktools.ledger.inputs import Inputs, view_of
from bktools.ledger.keys import Columns, Flags, Keys, Numbers, cut, groups
from bktools.ledger.texts import Row, Scores, similar, told_apart, words

NOBODY = -1
# Wide enough for every amount.
EXACT_DIGITS = Context(prec=80)


@dataclass(frozen=True)
class Step:
    """Entries and postings that agree in some columns are matched, if both are still open.

    Parameters
    ----------
    by : str
        The columns that agree, for the evidence.
    keys : tuple of str
        SQL of these columns, the same for both sides.
    of : str
        "open_postings"; "vouchers", the sums of vouchers, such as net and tax; "sides", all postings of one side of a
        voucher, on any account; or "uncommon", postings on other accounts than the usual contra accounts.
    nearby : bool
        Whether the date of the posting may be some days off; the nearest first.
    text : str
        "orders": texts decide which of several equal ones are matched. "agrees": texts must also be similar where both
        sides have one. "decides": they must be similar, or be missing where no other pair is possible.
    named : bool
        Whether postings that name an entry by its ID take part: they are matched with no other entry.
    group : tuple of str
        For a sum: all entries with the same values of these columns are matched together, with their total.
    differs : bool
        Whether the total may differ, for a group of which other totals were found.
    """

    by: str
    keys: tuple[str, ...]
    of: str = "open_postings"
    nearby: bool = False
    text: str = "orders"
    named: bool = False
    group: tuple[str, ...] = ()
    differs: bool = False


EXACT = ("account", "amount", "currency")
EXACTLY = "account, amount and date"
MONTH = "date_trunc('month', date)"

OF_DOCUMENT = Step("sum of the document", ("document", *EXACT), group=("document", "account", "currency"))
OF_DAY = Step("sum of account and day", (*EXACT, "date"), group=("account", "currency", "date"))
OF_BATCH = Step("sum of batch and account", EXACT, group=("batch", "account", "currency"))
OF_MONTH = Step("sum of account and month", (*EXACT, MONTH), group=("account", "currency", MONTH))
OF_WHOLE_BATCH = Step("sum of the batch", ("amount", "currency"), of="sides", group=("batch", "currency"))
OF_WHOLE_DOCUMENT = Step(
    "sum of the document", ("document", "amount", "currency"), of="sides", group=("document", "currency")
)
BY_DAY = OF_DAY.by


def _also_of_vouchers(*steps: Step) -> tuple[Step, ...]:
    return tuple(replace(step, of=of) for step in steps for of in ("open_postings", "vouchers"))


def _with_another_total(step: Step) -> Step:
    return replace(step, keys=tuple(key for key in step.keys if key != "amount"), differs=True)


STEPS = (
    Step("entry ID", ("id", *EXACT), named=True),
    Step("entry ID", ("id", *EXACT), of="vouchers", named=True),
    Step("entry ID", ("id", "account"), named=True),
    Step("entry ID", ("id", "amount", "currency"), named=True),
    # The side of the amount, because the other side of the voucher has the same number.
    Step("entry ID", ("id", "amount < 0"), named=True),
    Step("document number", ("document", *EXACT)),
    *_also_of_vouchers(OF_DOCUMENT),
    Step(EXACTLY, (*EXACT, "date")),
    Step("document number", ("document", *EXACT), of="vouchers"),
    Step(EXACTLY, (*EXACT, "date"), of="vouchers"),
    *_also_of_vouchers(OF_DAY, OF_BATCH, OF_MONTH),
    OF_WHOLE_BATCH,
    OF_WHOLE_DOCUMENT,
    Step("account and amount", (*EXACT, "date"), nearby=True, text="agrees"),
    Step("account and amount", (*EXACT, "date"), of="vouchers", nearby=True, text="agrees"),
    *_also_of_vouchers(replace(OF_DAY, nearby=True)),
    *map(_with_another_total, _also_of_vouchers(OF_DOCUMENT, OF_DAY, OF_MONTH)),
    Step("document number and account", ("document", "account", "currency", "date"), nearby=True),
    Step("document number and amount", ("document", "amount", "currency", "date"), nearby=True),
    # A refund booked as a cost, or a cost as a refund.
    Step("account and date", ("account", "abs(amount)", "currency", "date"), text="agrees"),
)
BY_TEXT = (
    Step("amount and date", ("amount", "currency", "date"), of="uncommon", text="decides"),
    Step("account and date", ("account", "currency", "date"), text="decides"),
)

# Another posting like one that is matched is a double of it. Doubles are found before `BY_TEXT`.
DOUBLES = (
    Step("entry ID", ("id", *EXACT), named=True),
    Step("document number", ("document", *EXACT, "date"), nearby=True),
    Step(EXACTLY, (*EXACT, "date"), text="agrees"),
)

# What agrees, by its place in `Matches.by`.
BY = tuple(dict.fromkeys(step.by for step in (*STEPS, *BY_TEXT)))

# The sides of the vouchers whose amount stands in several postings: net and tax, or several cost centres. Only one
# account of the side is one that entries have.
VOUCHERS = """
CREATE OR REPLACE TABLE vouchers AS
SELECT
    min(no) FILTER (is_expected) AS no, min(id) AS id, min(document) AS document,
    min(account) FILTER (is_expected) AS account, sum(amount) AS amount, currency, date, list(no ORDER BY no) AS members,
    voucher, amount < 0 AS is_credit
FROM (SELECT *, account IN (FROM entry_accounts) AS is_expected FROM open_postings)
WHERE voucher IN (SELECT voucher FROM open_postings WHERE account IN (SELECT account FROM open_entries))
GROUP BY voucher, currency, date, is_credit
HAVING count(*) > 1 AND count(DISTINCT account) FILTER (is_expected) = 1
"""

# A posting without a voucher is a side of its own.
SIDES = """
CREATE OR REPLACE TABLE sides AS
SELECT
    min(no) AS no, min(id) AS id, min(document) AS document, sum(amount) AS amount, currency, date,
    list(no ORDER BY no) AS members, list(DISTINCT account) AS accounts, any_value(voucher) AS voucher,
    amount < 0 AS is_credit
FROM open_postings
GROUP BY coalesce(voucher, no::VARCHAR), voucher IS NULL, currency, date, is_credit
"""

# Those of some sides of which no posting is matched already.
WHOLE_SIDES = """
SELECT no FROM {table} SEMI JOIN wanted USING (no) WHERE voucher IS NULL
UNION ALL
SELECT sides.no FROM (FROM {table} SEMI JOIN wanted USING (no)) AS sides
JOIN postings ON postings.voucher = sides.voucher AND postings.currency = sides.currency AND postings.date = sides.date
    AND (postings.amount < 0) = is_credit
GROUP BY sides.no HAVING count(*) = any_value(len(members))
"""

# Without the other accounts of the vouchers that are found, such as creditors, bank and tax: the payment of an entry has
# its amount too, and is no booking of it.
UNCOMMON = """
CREATE OR REPLACE TABLE others AS
SELECT account, voucher FROM postings
WHERE account IN (SELECT account FROM open_postings)
    AND account NOT IN (FROM entry_accounts WHERE account IS NOT NULL);
CREATE OR REPLACE TABLE matched_vouchers AS
SELECT voucher FROM postings SEMI JOIN answering USING (no) WHERE voucher IN (SELECT voucher FROM others);
CREATE OR REPLACE TABLE uncommon AS
FROM open_postings WHERE account NOT IN (SELECT account FROM others WHERE voucher IN (FROM matched_vouchers))
"""

# Tables whose rows are several postings.
SEVERAL = ("vouchers", "sides")
PREPARED = {"vouchers": VOUCHERS, "uncommon": UNCOMMON, "sides": SIDES}

# The totals of the groups of entries; the first entry stands for all. A group that an amount is unknown of, or whose total
# is zero, cannot be told from none.
SUMS = """
CREATE OR REPLACE TABLE sums AS
SELECT
    min(no) AS no, NULL::VARCHAR AS id, min(document) AS document, min(account) AS account, min(currency) AS currency,
    min(date) AS date, min(batch) AS batch, sum(amount) AS amount, list(no ORDER BY no) AS members,
    list(DISTINCT account) AS accounts
FROM open_entries
WHERE {filled}
GROUP BY {group}
HAVING count(*) > 1 AND count(amount) = count(*) AND sum(amount) <> 0
"""

# Those of some groups to which no other entry belongs.
WHOLE_SUMS = """
SELECT sums.no FROM sums SEMI JOIN wanted USING (no)
JOIN entries ON {same}
GROUP BY sums.no HAVING count(*) = any_value(len(members))
"""


@dataclass
class Matches:
    """Which posting is matched with which entry.

    Attributes
    ----------
    posting : array
        For each entry the place of its posting; NOBODY where there is none. The entries of a sum have the same one.
    by : array
        For each entry the place in BY of the columns that agree; NOBODY where there is no posting.
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
        """Return for each entry the one that stands for it: the first one of its sum, or itself."""
        first = np.arange(len(self.posting))
        is_matched = self.posting != NOBODY
        first[is_matched] = self.entry[self.posting[is_matched]]
        return first


def matches(connection: duckdb.DuckDBPyConnection, inputs: Inputs, days: int) -> Matches:
    """Match entries with postings; `connection` has the views of `inputs.show`."""
    entries, postings = len(inputs.exported), len(inputs.ledger)
    matched = Matches(
        np.full(entries, NOBODY),
        np.full(entries, NOBODY),
        np.full(entries, np.nan),
        np.full(postings, NOBODY),
        np.zeros(postings, dtype=bool),
    )
    connection.register("answering", pa.table({"no": matched.entry[:0]}))
    inputs.rows.update(open_entries=inputs.rows["entries"], open_postings=inputs.rows["postings"])
    connection.execute("CREATE VIEW open_entries AS FROM entries; CREATE VIEW open_postings AS FROM postings")
    connection.execute("CREATE TABLE entry_accounts AS SELECT DISTINCT account FROM entries")
    columns = Columns(connection, inputs)
    _take(connection, inputs, columns, matched, STEPS, days)
    _add_doubles(connection, inputs, columns, matched, days)
    _take(connection, inputs, columns, matched, BY_TEXT, days)
    return matched


def _take(
    connection: duckdb.DuckDBPyConnection,
    inputs: Inputs,
    columns: Columns,
    matched: Matches,
    steps: Iterable[Step],
    days: int,
) -> None:
    """Take each step in turn."""
    # The tables that are those of the open postings, and the columns of the groups in `sums`.
    prepared: set[str] = set()
    summed: tuple[str, ...] = ()
    for step in steps:
        if not _can_find(inputs, step, "open_entries") or not _can_sum(inputs, matched, step):
            continue
        if step.of in PREPARED and step.of not in prepared:
            connection.execute(PREPARED[step.of])
            prepared.add(step.of)
        if step.group != summed and step.group:
            filled = " AND ".join(f"{key} IS NOT NULL" for key in step.group)
            connection.execute(SUMS.format(group=", ".join(step.group), filled=filled))
            summed = step.group
        left = "sums" if step.group else "open_entries"
        sides = _keys(connection, columns, matched, step)
        has_new = False
        for offset in _offsets(step, days):
            still_open = sides[0].where(matched.posting, NOBODY), sides[1].where(matched.entry, NOBODY)
            entries, postings, scores = _pairs(connection, inputs, step, left, still_open, offset, matched.tied)
            if step.group:
                entries, postings, scores = _whole(connection, matched, step, entries, postings)
            has_new |= _add(connection, matched, step, entries, postings, scores)
        if has_new:
            prepared, summed = set(), ()
            _open(connection, inputs, matched)


def _can_sum(inputs: Inputs, matched: Matches, step: Step) -> bool:
    """Whether there can be totals by the columns of a step, and a total that differs can be told from another posting."""
    if not step.group:
        return True
    needed = {"account": "account_code", "date": "date", MONTH: "date", "amount": "amount"}
    if not {needed[key] for key in {*step.group, "amount"} & needed.keys()} <= inputs.compared:
        return False
    if "batch" in step.group and "batch_id" not in inputs.rows["entries"].column_names:
        return False
    return not step.differs or bool((matched.by == BY.index(step.by)).any())


def _add_doubles(
    connection: duckdb.DuckDBPyConnection, inputs: Inputs, columns: Columns, matched: Matches, days: int
) -> None:
    is_first = np.zeros(len(matched.entry), dtype=bool)
    is_first[matched.posting[matched.posting != NOBODY]] = True
    for step in DOUBLES:
        if not _can_find(inputs, step, "postings"):
            continue
        first, others = _keys(connection, columns, matched, step, np.flatnonzero(is_first))
        for offset in _offsets(step, days):
            # Each time every posting gets one double at most, so that the doubles of equal entries are theirs in turn.
            while True:
                still_open = first, others.where(matched.entry, NOBODY)
                left, right, _ = _pairs(connection, inputs, step, "postings", still_open, offset, set())
                if not len(left):
                    break
                matched.entry[right], matched.is_double[right] = matched.entry[left], True
        _open(connection, inputs, matched)


def _offsets(step: Step, days: int) -> Sequence[int]:
    """Return how many days the posting may be later than the entry: the nearest first, later before earlier."""
    return sorted(range(-days, days + 1), key=lambda day: (abs(day), -day)) if step.nearby else (0,)


def _can_find(inputs: Inputs, step: Step, left: str) -> bool:
    """Whether both sides have open rows, and any value of a column that few have."""
    rows = inputs.rows[left], inputs.rows["open_postings"]
    if step.keys[0] == "id":
        return all(
            len(side) and side.column("named" if "named" in side.column_names else "entry_id").null_count < len(side)
            for side in rows
        )
    return all(len(side) for side in rows) and (step.keys[0] != "document" or all(map(_has_documents, rows)))


def _has_documents(rows: pa.Table) -> bool:
    # The number of an entry's document may be in a text of the ledger.
    has_words = "word" in rows.column_names and rows.column("word").null_count < len(rows)
    return has_words or "document_number" in rows.column_names


def _open(connection: duckdb.DuckDBPyConnection, inputs: Inputs, matched: Matches) -> None:
    """Make the views of the entries and postings that are not matched."""
    connection.register("answering", pa.table({"no": np.flatnonzero(matched.entry != NOBODY)}))
    _some_rows(connection, inputs, "entries", "open", np.flatnonzero(matched.posting == NOBODY))
    _some_rows(connection, inputs, "postings", "open", np.flatnonzero(matched.entry == NOBODY))


def _some_rows(connection: duckdb.DuckDBPyConnection, inputs: Inputs, side: str, name: str, places: Numbers) -> None:
    """Make a view of some rows of a side, such as `open_entries`."""
    inputs.rows[f"{name}_{side}"] = rows = inputs.rows[side].take(places)
    connection.register(f"{name}_{side}_rows", rows)
    connection.execute(f"CREATE OR REPLACE VIEW {name}_{side} AS {view_of(inputs, side, f'{name}_{side}_rows')}")


def _keys(
    connection: duckdb.DuckDBPyConnection, columns: Columns, matched: Matches, step: Step, first: Numbers | None = None
) -> tuple[Keys, Keys]:
    """Return the keys of both sides, without rows that cannot agree; the status is told by the values.

    The left side is the open entries, or `first`, the postings that doubles are looked for of.
    """
    if first is not None:
        left = columns.keys(step.keys, "postings", first)
    elif step.group:
        left = columns.keys_of_sums(step.keys, "sums", named=step.named)
    else:
        is_open = matched.posting == NOBODY
        has_amount = is_open if step.named else is_open & columns.is_filled("entries", "amount")
        left = columns.keys(step.keys, "entries", np.flatnonzero(has_amount))
    if step.of in SEVERAL:
        right = columns.keys_of_sums(step.keys, step.of, named=step.named)
    else:
        is_open = matched.entry == NOBODY
        if step.of == "uncommon":
            uncommon = np.zeros(len(is_open), bool)
            uncommon[connection.execute("SELECT no FROM uncommon").fetchnumpy()["no"]] = True
            is_open &= uncommon
        unnamed = is_open if step.named else is_open & ~columns.is_filled("postings", "id")
        right = columns.keys(step.keys, "postings", np.flatnonzero(unnamed))
    left, right = cut(left, right), cut(right, left)
    if step.of in SEVERAL and len(left.rows) and len(right.rows):
        candidates = right.only(np.isin(right.digests, left.digests))
        connection.register("wanted", pa.table({"no": candidates.rows}))
        whole = connection.execute(WHOLE_SIDES.format(table=step.of)).fetchnumpy()["no"]
        right = candidates.only(np.isin(candidates.rows, whole))
    return left, right


def _pairs(
    connection: duckdb.DuckDBPyConnection,
    inputs: Inputs,
    step: Step,
    left: str,
    sides: tuple[Keys, Keys],
    offset: int,
    tied: set[int],
) -> tuple[Numbers, Numbers, Scores]:
    """Return the pairs of one step, with the similarity of their texts where it was compared."""
    ours, theirs = sides
    if not (len(ours.rows) and len(theirs.rows)):
        return ours.rows[:0], theirs.rows[:0], np.empty(0)
    pairs, tangled = groups(ours.rows, ours.on(0), theirs.rows, theirs.on(offset))
    if step.group:
        # Fewer postings than equal totals: nothing tells whose they are. A total that differs has the only posting.
        equal = [(one, other[: len(one)]) for one, other in tangled if len(one) <= len(other) and not step.differs]
        one, other = (np.concatenate([pairs[side], *(group[side] for group in equal)]) for side in (0, 1))
        return one, other, np.full(len(one), np.nan)
    places = [np.concatenate([pairs[side][:0], *(group[side] for group in tangled)]) for side in (0, 1)]
    if step.text != "orders":
        places = [np.concatenate([*parts]) for parts in zip(places, pairs, strict=True)]
    rows = [_rows(connection, inputs, table, wanted) for table, wanted in zip((left, step.of), places, strict=True)]
    chosen = [(*pairs, np.full(len(pairs[0]), np.nan)) if step.text == "orders" else similar(pairs, rows)]
    chosen += [told_apart(group, rows, step.text, tied) for group in tangled]
    one, other, scores = (np.concatenate(parts) for parts in zip(*chosen, strict=True))
    return one, other, scores


def _rows(connection: duckdb.DuckDBPyConnection, inputs: Inputs, table: str, places: Numbers) -> Mapping[int, Row]:
    """Return text, amount and date of rows, by their places."""
    if not len(places):
        return {}
    connection.register("wanted", pa.table({"no": places}))
    rows = connection.execute(f"SELECT no, amount, date FROM {table} SEMI JOIN wanted USING (no)").fetchall()
    texts = inputs.texts("exported" if table == "open_entries" else "ledger", [row[0] for row in rows])
    scale = inputs.money.scale
    return {
        no: (
            words(texts[no]),
            None if amount is None else int(amount.scaleb(scale, EXACT_DIGITS)),
            date and date.toordinal(),
        )
        for no, amount, date in rows
    }


def _whole(
    connection: duckdb.DuckDBPyConnection, matched: Matches, step: Step, entries: Numbers, postings: Numbers
) -> tuple[Numbers, Numbers, Scores]:
    """Return the pairs of those sums that have everything that was exported under their key, and nothing ambiguous."""
    if len(entries):
        same = " AND ".join(f"{_of('sums', key)} = {_of('entries', key)}" for key in step.group)
        connection.register("wanted", pa.table({"no": entries}))
        whole = connection.execute(WHOLE_SUMS.format(same=same)).fetchnumpy()["no"]
        kept = np.isin(entries, whole)
        if matched.tied:
            members = connection.execute("SELECT no, members FROM sums SEMI JOIN wanted USING (no)").fetchall()
            kept &= ~np.isin(entries, [no for no, list_ in members if not matched.tied.isdisjoint(list_)])
        entries, postings = entries[kept], postings[kept]
    return entries, postings, np.full(len(entries), np.nan)


def _of(table: str, key: str) -> str:
    return key.replace("date)", f"{table}.date)") if key == MONTH else f"{table}.{key}"


def _add(
    connection: duckdb.DuckDBPyConnection,
    matched: Matches,
    step: Step,
    entries: Numbers,
    postings: Numbers,
    scores: Scores,
) -> bool:
    """Add the pairs of a step: of a voucher every posting, of a sum every entry. Return whether there are any."""
    if not len(entries):
        return False
    matched.posting[entries], matched.entry[postings] = postings, entries
    matched.by[entries], matched.score[entries] = BY.index(step.by), scores
    connection.register("wanted", pa.table({"entry": entries, "posting": postings}))
    if step.of in SEVERAL:
        for entry, amount, members in connection.execute(
            f"SELECT entry, amount, members FROM {step.of} JOIN wanted ON no = posting"
        ).fetchall():
            matched.entry[members] = entry
            if len(members) > 1:
                matched.amount[entry] = amount
    if step.group:
        is_there = "list_has_all(sides.accounts, sums.accounts)" if step.of == "sides" else "true"
        beside = "JOIN sides ON sides.no = posting" if step.of == "sides" else ""
        for entry, posting, total, members, has_accounts in connection.execute(
            f"SELECT entry, posting, sums.amount, sums.members, {is_there} FROM sums JOIN wanted ON sums.no = entry {beside}"
        ).fetchall():
            matched.posting[members], matched.by[members] = posting, BY.index(step.by)
            matched.total[entry] = total
            if not has_accounts:
                matched.elsewhere.add(entry)
    return True
