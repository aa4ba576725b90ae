"""The column of each field: by option, else by a heading of the dictionary; cells veto, or propose."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import permutations
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames import schema
from bktools.inputs import cells, terms
from bktools.inputs.fields import Column, Field, Test, fields_of, most, of_kind
from bktools.inputs.question import Choice
from bktools.inputs.reading import Reading
from bktools.inputs.table import Table
from bktools.inputs.values.amounts import is_not_zero
from bktools.inputs.values.days import same_days

# The share of rows that have a code of their own, or a cell, but for a few titles.
_NEARLY_ALL = 0.9
_PARTS_OF_A_DAY = ("year", "month", "day")
MONEY: Final[tuple[str, ...]] = ("amount", "debit", "credit")


def assign(reading: Reading) -> None:
    """Find the column of each field; several columns of one group of headings are a question."""
    table, places = reading.table, reading.places
    for name, heading in reading.asked.items():
        if (place := _named(table, heading)) is not None:
            places[name] = place
        elif heading:
            headings = list(table.headings)
            reading.problems.ask("no_such_heading", field=name, value=heading, headings=headings)
    for field in of_kind(reading.kind).values():
        if field.name in reading.asked or any(map(reading.asked.get, field.instead)):
            continue
        tells = field.holds.tells or (lambda _: True)
        by_group = (_matching(reading, field, group) for group in field.groups)
        matches = [matching for matching in by_group if matching]
        # A heading that says less counts before one above other cells: codes, one for each name.
        first = reading.seen(matches[0][0]) if matches else None
        telling = (own for own in matches if first and _tells_more(first, reading.seen(own[0]), tells))
        if matching := next(telling, matches[0] if matches else []):
            several = len(matching) > 1 and field.sole
            places[field.name] = (_one_of(reading, field, matching) if several else matching)[0]
    for field in of_kind(reading.kind).values():
        _ask_of_weak_heading(reading, field)
    _join_days(reading)


def _join_days(reading: Reading) -> None:
    """Join the columns of year, month and day where no other one has the days."""
    if reading.has(*_PARTS_OF_A_DAY) and not reading.has("date") and not reading.is_asked("date"):
        parts = [cells.trimmed(reading.column(name)) for name in _PARTS_OF_A_DAY]
        headings = [reading.heading(name) for name in _PARTS_OF_A_DAY]
        joined = pc.binary_join_element_wise(*parts, pa.scalar("-", schema.TEXT))
        reading.add("date", pc.if_else(pc.equal(joined, "--"), "", joined), "-".join(headings))
        reading.note("day_of_parts", names=headings)
    else:
        reading.leave(*_PARTS_OF_A_DAY)


def _ask_of_weak_heading(reading: Reading, field: Field) -> None:
    """Ask which column counts where the heading of the known one is weak, and another one can be it.

    That one is full, tells more of the field than the known one, and its heading is not known and has no weak
    word: a description in another language is none. Of accounts, it has one code for each name.
    """
    weak, tells = field.weak.split(), field.holds.tells
    own = reading.seen(reading.places[field.name]) if reading.has(field.name) else None
    strong = [table for group in field.groups for table in group if table not in weak]
    # A name that several accounts have is that of their group, where another column has one for each.
    is_of_group = field.type == "name" and own is not None and len(own.kinds) < _NEARLY_ALL * len(own.sample)
    is_certain = own is None or reading.is_asked(field.name) or (own.is_headed(*strong) and not is_of_group)
    if own is None or is_certain or not weak or (tells and tells(own)):
        return
    others = [
        place
        for place in candidates(reading, field.name)
        if (column := reading.seen(place)).share > _NEARLY_ALL
        and not column.says(*weak)
        and (tells or not fields_of(column.heading, reading.kind))
        and not (is_of_group and column.repeats)
        and not (tells and len({*zip(own.sample, column.sample, strict=True)}) != len(own.kinds))
    ]
    if others:
        ask_which(reading, field.name, [*others, reading.places[field.name]])


def _tells_more(first: Column, other: Column, tells: Test) -> bool:
    """Whether the cells of a column tell a field, one for each cell of the first column."""
    return tells(other) and len({*zip(first.sample, other.sample, strict=True)}) == len(first.kinds)


def _named(table: Table, heading: str) -> int | None:
    """Return the column that an option names by its heading or its number."""
    wanted = terms.normal(heading)
    if heading in table.named:
        return table.named[heading]
    by_normal = [place for place, own in enumerate(table.headings) if terms.normal(own) == wanted]
    number = re.fullmatch(r"column (\d+)", heading.strip(), re.ASCII | re.IGNORECASE)
    if not by_normal and number and 0 < int(number[1]) <= len(table.headings):
        return int(number[1]) - 1
    return by_normal[0] if by_normal else None


def _matching(reading: Reading, field: Field, group: Sequence[str]) -> list[int]:
    """Return the free columns with a heading of a group; cells decide where it has two meanings."""
    columns = reading.table.columns
    certain = [table for table in group if table not in terms.two_meanings()]
    matching = [
        place
        for place in reading.free()
        if (column := reading.seen(place)).is_headed(*group)
        and (column.is_headed(*certain) or not column.filled or field.holds.fits(column))
    ]
    if field.identity or field.needed or len(matching) > 1:
        filled = [place for place in matching if not cells.are_blank(columns[place])]
        # An empty column of IDs, or of a needed field, is none; another one counts where it stands alone.
        matching = filled if field.identity or field.needed else filled or matching
    if field.type == "words":
        # What differs most from row to row says most.
        matching.sort(key=lambda place: -len(reading.seen(place).kinds))
    # The same column twice is one, also where one of them has times behind its days.
    first = same_days(columns[matching[0]]) if len(matching) > 1 else None
    are_same = all(same_days(columns[place]).equals(first) for place in matching[1:])
    return matching[:1] if are_same else matching


def _one_of(reading: Reading, field: Field, matching: Sequence[int]) -> list[int]:
    is_it = field.holds.tells or field.holds.fits
    fitting = [place for place in matching if is_it(reading.seen(place))]
    if field.name == "currency" and reading.has("amount"):
        fitting = _twins(reading, reading.places["amount"], fitting) or fitting
    if field.needed and field.identity:
        # A column that says it of each row is the whole one.
        columns = reading.table.columns
        fitting = [place for place in fitting if not cells.blank(columns[place]).any()] or fitting
    several = fitting or list(matching)
    if len(fitting) != 1:
        ask_which(reading, field.name, several)
    return several


def ask_which(reading: Reading, name: str, several: Sequence[int]) -> None:
    """Ask which of several columns is a field's."""
    choices: list[Choice] = [reading.table.choice(name, place) for place in several]
    if name == "amount" and not reading.is_asked("currency"):
        columns = range(len(reading.table.headings))
        beside = [place for place in columns if reading.seen(place).is_headed("currency")]
        choices = [_with_its_currency(reading, place, beside) for place in several]
    headings = [reading.table.headings[place] for place in several]
    if reading.kind == "chart" and len({*map(terms.bare, headings)}) == 1:
        # Tables side by side: no command reads one of them alone.
        choices = []
    reading.problems.ask("several_columns", choices, field=name, headings=headings)


def candidates(
    reading: Reading, name: str, also: Collection[int] = (), without: Collection[int] = ()
) -> list[int]:
    """Return the free columns that can be a field's by the type of their cells: what a question names."""
    kind, offered = of_kind(reading.kind)[name].holds, list[int]()
    for place in (*reading.free(), *also):
        column = reading.seen(place)
        offered += [place] if place not in without and kind.offers(column) else []
    for is_preferred in kind.prefers:
        offered = [place for place in offered if is_preferred(reading.seen(place))] or offered
    return offered


def other_days(reading: Reading) -> list[Choice]:
    """Return the options for other columns that have a day in each row, unless an option names one."""
    places = candidates(reading, "date") if not reading.is_asked("date") else []
    return [reading.table.choice("date", place) for place in places if reading.seen(place).share == 1]


def ask_column(reading: Reading, name: str) -> None:
    """Ask for a field that no heading names, with the columns that can be it."""
    ask_for(reading, name, [reading.table.choice(name, place) for place in candidates(reading, name)])


def ask_for(reading: Reading, name: str, choices: Sequence[Choice], *, is_doubtful: bool = False) -> None:
    """Ask for the column of a field by choices; the first one counts meanwhile.

    So its cells are asked about in the same question.
    """
    headings = [" + ".join(dict.fromkeys(choice["columns"].values())) for choice in choices]
    code = "no_column" if headings else "no_column_like_it"
    reading.problems.ask(code, choices, is_doubtful=is_doubtful, field=name, headings=headings)
    for own, heading in (choices[0]["columns"] if choices else {}).items():
        if heading:
            reading.places[own] = reading.table.named[heading]


def ask_amount(reading: Reading, *, is_doubtful: bool = False) -> None:
    """Ask for the amount: two columns, or one."""
    table, both = reading.table, _pairs(reading)
    choices: list[Choice] = [
        {"columns": {"debit": table.headings[debit], "credit": table.headings[credit]}}
        for debit, credit in both
    ]
    in_pairs = {place for pair in both for place in pair}
    alone = [place for place in candidates(reading, "amount") if place not in in_pairs]
    beside = [] if reading.has("currency") else candidates(reading, "currency")
    choices += [_with_its_currency(reading, place, beside) for place in alone]
    offered = {*alone, *in_pairs}
    is_doubtful |= bool(offered) and all(reading.seen(place).says_another_amount for place in offered)
    ask_for(reading, "amount", choices, is_doubtful=is_doubtful)


def pairs_with_currency(reading: Reading) -> list[Choice]:
    """Return the options for other amounts with a currency of their own, beside them or in the heading."""
    beside = candidates(reading, "currency")
    own = terms.currencies_in(reading.heading("amount")) if reading.has("amount") else ()
    ways = list[Choice]()
    for place in candidates(reading, "amount"):
        way, column = _with_its_currency(reading, place, beside), reading.seen(place)
        if "currency" in way["columns"]:
            ways.append(way)
        elif terms.currencies_in(column.heading) not in ((), own) and not column.says_another_amount:
            ways.append({"columns": {"amount": column.heading, "currency": ""}})
    return ways


def _with_its_currency(reading: Reading, place: int, beside: Sequence[int]) -> Choice:
    """Return the option that takes a column for the amount, with the currency whose heading goes with it."""
    headings = reading.table.headings
    behind = [own for own in beside if own == place + 1 and own in reading.free()]
    twins = _twins(reading, place, beside) or behind
    currency = {"currency": headings[twins[0]]} if len(twins) == 1 else {}
    return {"columns": {"amount": headings[place], **currency}}


def _twins(reading: Reading, place: int, beside: Sequence[int]) -> list[int]:
    """Return the columns of currencies whose headings go with an amount's, as in Fee amount, Fee currency."""
    wanted, *others = (
        terms.without(reading.table.headings[own], "amount", "currency") for own in (place, *beside)
    )
    is_named = (wanted or len(beside) > 1) and reading.table.heading_line > 0
    return [own for own, other in zip(beside, others, strict=True) if is_named and other == wanted]


def _pairs(reading: Reading) -> list[tuple[int, int]]:
    """Return pairs of columns of which each full row has exactly one filled."""
    filled = {
        place: [is_not_zero(cell) for cell in reading.seen(place).sample]
        for place in candidates(reading, "credit")
    }
    both = []
    for debit, credit in permutations(filled, 2):
        counts = Counter(zip(filled[debit], filled[credit], strict=True))
        neither = counts[False, False] * 20 <= len(filled[debit])
        are_sides = counts[True, False] and counts[False, True]
        if not counts[True, True] and neither and are_sides:
            both.append((debit, credit))
    # Of several pairs, those are offered that stand side by side, from the left.
    beside: list[tuple[int, int]] = []
    for pair in sorted(both, key=min):
        is_free = all({*pair} == {*other} or {*pair}.isdisjoint(other) for other in beside)
        beside += [pair] if abs(pair[0] - pair[1]) == 1 and is_free else []
    return beside or both


def ask_of_totals(reading: Reading) -> None:
    """Ask which column is the amount where another one may be the whole of it.

    That is a total beside an amount, any amount beside a net or a paid one, or what is left of an amount
    behind a fee; of an amount with its tax, the gross one is known.
    """
    own = reading.places["amount"]
    free = [*map(reading.seen, reading.free())]
    parts = ["total_amount", "paid_amount"]
    parts += ["net_amount"] * any(one.is_headed("fee") and any(map(is_not_zero, one.filled)) for one in free)
    if reading.seen(own).is_headed("net_amount", "paid_amount"):
        others = [
            place for place in candidates(reading, "amount") if not reading.seen(place).says_another_amount
        ]
    else:
        others = [
            place
            for place in reading.free()
            if (column := reading.seen(place)).is_headed(*parts)
            and column.are_amounts()
            and not column.cells.equals(reading.column("amount"))
        ]
    if others and not reading.is_asked("amount"):
        ask_which(reading, "amount", [own, *others])


# A code, then a name: 466300 Travel, 1-1110 BNZ Cheque Account, 400: Rent; or behind it: Travel (420).
_CODE_FIRST = re.compile(r"(?s)\s*(\d[\d.\-/]*)(?:\s*[:·–]\s*|\s+-\s+|\s+)(\S.*)")
_CODE_BEHIND = re.compile(r"(?s)(.*?[^\W\d_]{2}.*?)\s*\((\d[\d.\-]*)\)\s*")
_CODE_ALONE = re.compile(r"\s*\d[\d.\-/]*\s*")
_PATH = re.compile(r"(?s)(.*\S):(\S.*)")
_NAME = re.compile(r"\S*[^\W\d_]{2}")


@lru_cache(1 << 14)
def code_and_name(text: str) -> tuple[str, str]:
    """Return the code and the name of an account that stand in one cell, "" for what it lacks.

    Of a path, such as Income:3910 Grants, the last account has them: the code of another one is not its own.
    """
    path = _PATH.fullmatch(text)
    if path and not _CODE_ALONE.fullmatch(path[1]):
        code, name = code_and_name(path[2])
        return (code, name) if code and name else ("", text)
    if match := _CODE_FIRST.fullmatch(text):
        return match[1].rstrip("."), match[2]
    if match := _CODE_BEHIND.fullmatch(text):
        return match[2], match[1]
    return (text.strip(), "") if _CODE_ALONE.fullmatch(text) else ("", text)


def has_code_and_name(text: str) -> bool:
    """Whether a cell has the code and the name of an account; a day is no code."""
    code, name = code_and_name(text)
    return bool(code and _NAME.match(name))


def split_accounts(reading: Reading, code: str, name: str) -> None:
    """Split the cells of an account that have its code and its name, unless options name both columns."""
    place = next((reading.places[field] for field in (code, name) if reading.has(field)), None)
    if place is None or {code, name} <= reading.asked.keys():
        return
    heading, column = reading.table.headings[place], reading.table.columns[place]
    if heading in reading.file_headings:
        # A column that was made of titles has both.
        if not most(reading.table.samples[place], has_code_and_name, 0.5):
            return
        reading.note("code_and_name", heading=heading)

    parts = _codes_and_names(cells.unique(column), are_paths=heading in reading.file_headings)
    sides = zip(*parts.values(), strict=True)
    codes, names = (
        cells.each(column, dict(zip(parts, side, strict=True)).get, schema.TEXT) for side in sides
    )
    if reading.kind == "ledger":
        # A posting's account may have no code. In a chart, such a row is a title.
        lacks_code = cells.blank(codes) & ~cells.blank(column)
        if not lacks_code.all():
            reading.note_rows("accounts_without_code", lacks_code, heading=heading)
        codes = pc.if_else(pa.array(lacks_code), column, codes)
    reading.places[code] = place
    reading.put(code, codes)
    reading.add(name, names, f"{heading} (name)")


def _codes_and_names(texts: Sequence[str], *, are_paths: bool) -> dict[str, tuple[str, str]]:
    """Return the code and the name in each text.

    The code in front of a path is its own where no other account has it.
    """
    parts = {text: code_and_name(text) for text in texts}
    in_front = {text: match for text in texts if are_paths and (match := _CODE_FIRST.fullmatch(text))}
    counts = Counter(parts[text][0] or (in_front[text][1] if text in in_front else "") for text in texts)
    own = {text: (match[1], match[2]) for text, match in in_front.items() if counts[match[1]] == 1}
    return {text: parts[text] if parts[text][0] else own.get(text, parts[text]) for text in texts}
