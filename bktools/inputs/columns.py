"""The column of each field: by option, else by a heading of the dictionary; cells veto, or propose."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import permutations
from typing import Final

from bktools.contract import rules
from bktools.inputs import cells, words
from bktools.inputs.amounts import has_digits, is_not_zero, mark_of, money
from bktools.inputs.days import is_day, is_serial
from bktools.inputs.options import Options
from bktools.inputs.question import Choice
from bktools.inputs.reading import Reading
from bktools.inputs.table import Table

MONEY: Final[tuple[str, ...]] = ("amount", "debit", "credit")
# Fields of which two columns of one group are a question; of others the first one counts.
_ASKED = {"date", *MONEY, "currency", "account_code", "code", "side", "id"}
_IDENTITIES = {"id", "external_id", "company_id", "account_code", "side", "currency"}
# The share of a column's cells that have the type of a field.
_MOST = 0.8
# Cells that tell the type of a column.
_TELLING = 400
_FIGURES_OF_CODES = 9
# Headings of what an amount may be a part of.
_TOTALS = ("total_amount", "paid_amount")


def most(texts: Iterable[str], test: Callable[[str], object], share: float = _MOST) -> bool:
    """Whether the test holds for such a share of the different filled cells; False without any."""
    filled = [text for text in dict.fromkeys(texts) if text.strip()][:_TELLING]
    return bool(filled) and sum(bool(test(text)) for text in filled) >= share * len(filled)


def are_amounts(texts: Sequence[str], share: float = _MOST) -> bool:
    """Whether cells are amounts."""
    return most(texts, lambda text: money(text) is not None and (has_digits(text) or not is_day(text)), share)


def holds_currencies(texts: Sequence[str]) -> bool:
    """Whether nearly all cells of a column are currencies."""
    return most(texts, words.currencies_of)


def side_of(text: str) -> str:
    """Return debit or credit where a cell says it, "" elsewhere."""
    return "" if text.strip() in ("-", "/", "") else words.sides().get(words.normal(text), "")


def fits(field: str, texts: Sequence[str]) -> bool:
    """Whether the cells of a column can be a field's, which settles a heading with two meanings."""
    test = _TYPES.get(field)
    return test is None or test(texts)


def _are_flags(texts: Sequence[str]) -> bool:
    known = words.values("approved", "not_approved", "yes", "no")
    return most(texts, lambda text: words.normal(text) in known)


def _are_days(texts: Sequence[str]) -> bool:
    return most(texts, lambda text: is_day(text) or is_serial(text))


def has_cents(texts: Iterable[str]) -> bool:
    """Whether an amount among cells has a mark."""
    return any((amount := money(text)) and mark_of(amount.digits) for text in texts)


# Fields by the type that their cells must have.
_TYPES: Mapping[str, Callable[[Sequence[str]], bool]] = {
    "date": _are_days,
    **dict.fromkeys(MONEY, are_amounts),
    "currency": holds_currencies,
    "side": lambda texts: most(texts, side_of, 1),
    "debit_account": lambda texts: not has_cents(texts),
    "credit_account": lambda texts: not has_cents(texts),
    "approved": _are_flags,
}


def are_codes(texts: Sequence[str]) -> bool:
    """Whether figures are codes: days, long or with zeros in front, without marks."""
    some = texts[:300]
    if sum(map(is_day, some)) * 2 > len(some):
        return True
    plain = [text.strip() for text in some if text.strip().isdigit()]
    return len(plain) * 10 > len(some) * 9 and any(
        len(text) > _FIGURES_OF_CODES or (text[0] == "0" and len(text) > 1) for text in plain
    )


def assign(reading: Reading) -> None:
    """Find the column of each field; several columns of one group of headings are a question."""
    table, options, places = reading.table, reading.options, reading.places
    for field, heading in options.columns.items():
        place = named(table, heading) if heading else None
        if place is not None:
            places[field] = place
        elif heading:
            headings = list(table.headings)
            reading.problems.ask("no_such_heading", field=field, value=heading, headings=headings)
    for field, groups in words.fields(reading.kind).items():
        if field in options.columns or _is_other_way(field, options):
            continue
        for group in groups:
            matching = _matching(reading, field, group)
            if len(matching) > 1 and field in _ASKED:
                matching = _one_of(reading, field, matching)
            if matching:
                places[field] = matching[0]
                break


def named(table: Table, heading: str) -> int | None:
    """Return the column that an option names by its heading or its number."""
    wanted = words.normal(heading)
    if heading in table.named:
        return table.named[heading]
    by_normal = [place for place, own in enumerate(table.headings) if words.normal(own) == wanted]
    number = re.fullmatch(r"column (\d+)", heading.strip(), re.ASCII | re.IGNORECASE)
    if not by_normal and number and 0 < int(number[1]) <= len(table.headings):
        return int(number[1]) - 1
    return by_normal[0] if by_normal else None


def _is_other_way(field: str, options: Options) -> bool:
    """Whether an option chose another way to say the amount than by this field."""
    pair = {"debit", "credit"}
    if field == "amount":
        return any(options.columns.get(side) for side in pair)
    return field in pair and bool(options.columns.get("amount"))


def has_heading(heading: str, group: Collection[str]) -> bool:
    """Whether a heading is one of a group of tables."""
    base = re.sub(r" \(column \d+\)$", "", heading)
    return not words.headings(*group).isdisjoint(words.forms(base))


def _matching(reading: Reading, field: str, group: Sequence[str]) -> list[int]:
    table = reading.table
    certain = [table_name for table_name in group if table_name not in words.two_meanings()]
    matching = [
        place
        for place in reading.free()
        if has_heading(table.headings[place], group)
        and (has_heading(table.headings[place], certain) or _may_be(field, table.samples[place]))
    ]
    if field in _IDENTITIES or len(matching) > 1:
        filled = [place for place in matching if not cells.are_blank(table.columns[place])]
        # An empty column of IDs is none; another one counts where no other has the heading.
        matching = filled if field in _IDENTITIES else filled or matching
    # The same column twice is one.
    are_same = all(table.columns[place].equals(table.columns[matching[0]]) for place in matching[1:])
    return matching[:1] if are_same else matching


def _may_be(field: str, texts: Sequence[str]) -> bool:
    return not any(map(str.strip, texts)) or fits(field, texts)


def _one_of(reading: Reading, field: str, matching: Sequence[int]) -> list[int]:
    table = reading.table
    fitting = [place for place in matching if fits(field, table.samples[place])]
    several = fitting or list(matching)
    if len(fitting) != 1:
        choices = [table.choice(field, place) for place in several]
        headings = [table.headings[place] for place in several]
        reading.problems.ask("several_columns", choices, field=field, headings=headings)
    return several


def can_be(field: str, reading: Reading, *, with_cents: bool = True) -> list[int]:
    """Return the free columns that can be a field by the type of their cells: what a question names.

    Of columns that can be money, those with cents go first, unless both sides of a pair are looked for.
    """
    # Few rows may have a credit.
    least = {"amount": _MOST, "credit": 0.02}.get(field, 0.2)
    candidates = []
    for place in reading.free():
        sample = reading.table.samples[place]
        filled = [cell for cell in sample if cell.strip()]
        if not filled or len(filled) < least * len(sample):
            continue
        is_balance = says_balance(reading.table.headings[place]) and field != "date"
        is_other = (field == "date" and most(filled, is_serial)) or (field in MONEY and are_codes(filled))
        is_other |= field in MONEY and words.are_inside(
            reading.table.headings[place], words.headings("no_amount", "no_code")
        )
        if not is_balance and not is_other and fits(field, filled):
            candidates.append(place)
    if field in MONEY and with_cents:
        return [place for place in candidates if has_cents(reading.table.samples[place])] or candidates
    return candidates


def _pairs(reading: Reading) -> list[tuple[int, int]]:
    """Return pairs of columns of which each full row has exactly one filled."""
    samples = reading.table.samples
    candidates = can_be("credit", reading, with_cents=False)
    filled = {place: [is_not_zero(cell) for cell in samples[place]] for place in candidates}
    both = []
    for debit, credit in permutations(filled, 2):
        counts = Counter(zip(filled[debit], filled[credit], strict=True))
        neither = counts[False, False] * 20 <= len(filled[debit])
        if not counts[True, True] and neither and counts[True, False] and counts[False, True]:
            both.append((debit, credit))
    return both


def says_balance(heading: str) -> bool:
    """Whether a heading says a balance, which is neither an amount of an entry nor an account."""
    return has_heading(heading, ["balance"]) or words.are_inside(heading, words.headings("balance"))


def _says_another(heading: str) -> bool:
    """Whether a heading says a price, a rate or the like, which is no amount of an entry."""
    words_of_others = words.headings("other_amount", "tax") - words.headings("debit", "credit")
    return words.are_inside(heading, words_of_others)


def ask_of_totals(reading: Reading) -> None:
    """Ask which column is the amount where another one may be the whole of it.

    That is a total beside an amount, or any amount beside a net one; a gross amount beside it is known.
    """
    table, own = reading.table, reading.places["amount"]
    if has_heading(table.headings[own], ["net_amount"]):
        others = [place for place in can_be("amount", reading) if not _says_another(table.headings[place])]
    else:
        others = [
            place
            for place in reading.free()
            if has_heading(table.headings[place], _TOTALS)
            and are_amounts(table.samples[place])
            and not table.columns[place].equals(table.columns[own])
        ]
    if others and not reading.is_asked("amount"):
        choices = [table.choice("amount", place) for place in (own, *others)]
        headings = [table.headings[place] for place in (own, *others)]
        reading.problems.ask("several_columns", choices, field="amount", headings=headings)


def ask_amount(reading: Reading) -> None:
    """Ask for the amount: two columns, or one."""
    table, both = reading.table, _pairs(reading)
    choices: list[Choice] = [
        {"columns": {"debit": table.headings[debit], "credit": table.headings[credit]}}
        for debit, credit in both
    ]
    in_pairs = {place for pair in both for place in pair}
    choices += [table.choice("amount", place) for place in can_be("amount", reading) if place not in in_pairs]
    headings = [heading for choice in choices for heading in choice["columns"].values()]
    is_doubtful = bool(headings) and all(map(_says_another, headings))
    ask_for(reading, "amount", choices, is_doubtful=is_doubtful)


def ask_column(field: str, reading: Reading) -> None:
    """Ask for a field that no heading names, with the columns that can be it."""
    table, candidates = reading.table, can_be(field, reading)
    if field == "date" and not candidates:
        candidates = [place for place in reading.free() if most(table.samples[place], is_day, 0.6)]
    ask_for(reading, field, [table.choice(field, place) for place in candidates])


def ask_for(reading: Reading, field: str, choices: Sequence[Choice], *, is_doubtful: bool = False) -> None:
    """Ask for the column of a field by choices; the first one counts meanwhile.

    So its cells are asked about in the same question.
    """
    headings = ["/".join(choice["columns"].values()) for choice in choices]
    code = "no_column" if headings else "no_column_like_it"
    if field == "date" and not choices and reading.kind == "entries" and {*MONEY} & reading.places.keys():
        # What has no heading of amounts either is no file of entries.
        choices, is_doubtful = [{"columns": {field: ""}}], True
    reading.problems.ask(code, choices, is_doubtful=is_doubtful, field=field, headings=headings)
    for own, heading in (choices[0]["columns"] if choices else {}).items():
        if heading:
            reading.places[own] = reading.table.named[heading]


def is_uuid_column(table: Table, place: int) -> bool:
    """Whether each row of a column has a UUID of its own."""
    column = table.columns[place]
    return (
        len(column) > 0
        and bool(cells.matches(column.slice(0, 100), rules.UUID_REGEX).all())
        and bool(cells.matches(column, rules.UUID_REGEX).all())
        and len(cells.unique(column)) == len(column)
    )
