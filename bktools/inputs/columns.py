"""Which column of a file holds which field: by its heading, or as the caller says. What only looks like it is proposed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import partial
from itertools import combinations
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from bktools.caller import is_command, name_of
from bktools.contract.rules import UUID_REGEX
from bktools.errors import ArgumentError, InputError
from bktools.inputs import amounts, cells, dates, sides, words
from bktools.inputs.cells import as_options, collected, leave_out, option, question, raise_all
from bktools.inputs.heading_row import NAMED
from bktools.inputs.table import Table
from bktools.inputs.words import normal, without_extras

Columns = Mapping[str, str | None]
# Columns whose values look like a field, for fields that other tables know.
Looks = Mapping[str, Callable[[], Sequence[int]]]

# Fields without which a row is somebody else's: a column that holds none is not theirs.
IDENTITIES = ("id", "external_id")
# Of several columns that could be one of these, none is taken, and a note says so; others are asked for.
TEXTS = frozenset({"description", "supplier", "cost_centre", "type", "text", "document_number", "split_line"})

_MOST, _HALF, _FEW = 0.9, 0.5, 0.1
_FIRST_ROWS, _FEW_ROWS = 1000, 3
_LONG_NAMES = 60
_SHOWN_HEADINGS = 20
_CODE = r"^\s*\d[0-9A-Za-z]*(?:[.\-/ ]\d[0-9A-Za-z]*)*\s*$"
_CURRENCY = rf"^\s*(?:[A-Za-z]{{3}}|[{words.CURRENCY_SIGNS}])\s*$"
_EMAIL = r"^[^@\s]+@[^@\s]+\.[^@\s]+$"
# Days without a year, and codes with zeros in front, have the look of amounts.
_DAY = r"^(?:0?[1-9]|[12]\d|3[01])\.(?:0[1-9]|1[0-2])\.?$"
_ZEROS = r"^0\d"
_CENTS = r"[.,]\d\d\D*$"


class _OtherKind(NamedTuple):
    """The kind of file that one of another kind may be instead, and how it is read.

    `own` are the fields of which one settles that a file is what it is wanted to be; `shown_by` those of the other kind.
    """

    own: set[str]
    kind: str
    shown_by: tuple[str, str]
    what: str
    command: str
    function: str


_ENTRIES = ("entries", ("date", "amount"), "holds entries", "bktools spend", "read_entries")
_CHART = ("chart", ("code", "name"), "is a chart of accounts", "bktools reconcile", "read_chart_of_accounts")
_OTHER_KINDS = {"chart": _OtherKind({"code"}, *_ENTRIES)} | dict.fromkeys(
    ("entries", "ledger"), _OtherKind({"id", "date", "amount", "debit", "credit"}, *_CHART)
)


class Vocabulary:
    """The headings of one kind of file, and what the caller says of them.

    Parameters
    ----------
    kind : str
        chart, accounts, entries or ledger.
    chosen : mapping, optional
        Field to heading, as the caller said; an empty heading leaves the field out.
    """

    def __init__(self, kind: str, chosen: Columns | None = None) -> None:
        self.kind = kind
        self.fields = words.fields(kind)
        self.chosen = dict(chosen or {})
        for field, heading in self.chosen.items():
            if field not in self.fields:
                close = get_close_matches(field, self.fields, n=1, cutoff=0.7)
                meant = f" (did you mean {close[0]}?)" if close else ""
                raise ArgumentError(name_of("columns"), f"may map these fields{meant}: {', '.join(self.fields)}", field)
            if heading is not None and not isinstance(heading, str):
                raise ArgumentError(f"columns[{field!r}]", "must be a heading of the file", heading)
        self._words = frozenset().union(*(tier.words for tiers in self.fields.values() for tier in tiers))
        self._chosen = {normal(heading) for heading in self.chosen.values() if heading}

    def is_settled(self, *fields: str) -> bool:
        """Whether the caller said where each of the fields is, or that it is nowhere."""
        return self.chosen.keys() >= {*fields}

    def score(self, row: Sequence[str]) -> int:
        """Return how many cells of a row are headings known here; those the caller named count most."""
        texts = {normal(cell) for cell in row}
        cut = {without_extras(cell) for cell in row}
        return len((texts | cut) & self._words) + NAMED * len(texts & self._chosen)

    def assign(
        self,
        table: Table,
        required: Sequence[str],
        *,
        looks: Looks | None = None,
        problems: list[InputError] | None = None,
        notes: list[str] | None = None,
    ) -> dict[str, int]:
        """Return the position of each field's column.

        Parameters
        ----------
        table : Table
            The file. A column without a value is taken where no other has the heading, and never as an identity.
        required : sequence of str
            Fields that must have a column.
        looks : mapping, optional
            Field to a function that returns the columns whose values look like it, beside those known here.
        problems : list of InputError, optional
            Gets the problems, so that the caller can add those of values; without it, they are raised.
        notes : list of str, optional
            Gets a line for each field that is not required and has several columns, or one that only looks like it.

        Raises
        ------
        ArgumentError
            When a field that is none is required.
        InputError
            When required fields have no column, or fields have several. All of them are in one message.
        """
        refusals: list[InputError] = []
        notes = [] if notes is None else notes
        places = self._by_heading(table, required, refusals, notes)
        self._refuse_other_kind(table, places)
        refused = {error.field for error in refusals}
        for field in dict.fromkeys([*required, *(looks or ())]):
            if field not in self.fields:
                raise ArgumentError("required", f"may name these fields: {', '.join(self.fields)}", field)
            if field in places or field in refused:
                continue
            if field in required:
                refusals.append(self.missing(field, table, places, looks))
            elif field not in self.chosen and (candidates := self._candidates(field, table, places, looks)):
                shown = ", ".join(repr(table.headings[place]) for place in candidates)
                verb = "looks" if len(candidates) == 1 else "look"
                notes.append(
                    f"no column found for {field!r}, {shown} {verb} like it: choose one with"
                    f" {option(field, table.headings[candidates[0]])}"
                )
        if problems is None:
            raise_all(refusals, table)
        else:
            problems += refusals
        return places

    def _refuse_other_kind(self, table: Table, places: Mapping[str, int]) -> None:
        """Raise an error where a chart is wanted and the headings are those of entries, or the other way round."""
        other = _OTHER_KINDS.get(self.kind)
        if other is None or other.own & {*places, *self.chosen}:
            return
        known: list[int | None] = [None]
        with suppress(InputError):
            known = [Vocabulary(other.kind).recognised(field, table) for field in other.shown_by]
        if None not in known and ("date" in other.shown_by or not self._candidates("date", table, places)):
            shown = " and ".join(repr(table.headings[place]) for place in known if place is not None)
            reader = other.command if is_command() else other.function
            raise_all([InputError(f"{other.what}, as {shown} show: read it with {reader}", source=table.source)], table)

    def _by_heading(
        self, table: Table, required: Sequence[str], refusals: list[InputError], notes: list[str]
    ) -> dict[str, int]:
        places: dict[str, int] = {}
        for field, heading in self.chosen.items():
            if heading:
                self._refuse_opposite(field, heading)
                with collected(refusals):
                    places[field] = _named(table.headings, heading, field, table.source)
        empty = cells.empty_columns(table)
        for field in self.fields:
            if field in self.chosen:
                continue
            try:
                taken = {place for other, place in places.items() if other != "rows_with"}
                place = self.recognised(field, table, taken | empty)
                if place is None and field not in IDENTITIES:
                    place = self.recognised(field, table, taken)
                if place is None and field in required:
                    # A column that the caller gave to another field may serve twice: the code is an external ID, too.
                    place = self.recognised(field, table, empty)
                    place = self.recognised(field, table) if place is None else place
                if place is not None:
                    places[field] = place
            except InputError as error:
                if field in TEXTS and field not in required:
                    notes.append(str(error).removeprefix(f"{table.source}: "))
                else:
                    refusals.append(error)
        refusals += self._doubts(table, places, required)
        return places

    def _doubts(self, table: Table, places: dict[str, int], required: Sequence[str]) -> Iterator[InputError]:
        """Yield a problem where a heading that tells little was taken and other cells look like the field, too."""
        for field in {*required, "date", "amount"} & places.keys() - self.chosen.keys():
            place, tiers = places[field], self.fields[field]
            read_as = {normal(table.headings[place]), without_extras(table.headings[place])}
            tier = next(at for at, headings in enumerate(tiers) if read_as & headings.words)
            if tier > 0 and _count_rows(table, place):
                yield question(
                    f"{table.headings[place]!r} only counts the rows, so that it may not be {field!r}: name the column with",
                    table.source,
                    {field: table.headings[place]},
                )
                continue
            free = [other for other in range(len(table.headings)) if other not in places.values()]
            alike: list[int] = []
            if 0 < tier == len(tiers) - 1:
                alike = [other for other in columns_like(field, table, free) if not self._is_balance(table, other)]
            elif normal(table.headings[place]) not in tiers[tier].words:
                # `Amount USD` may stand beside the amount in another currency.
                alike = [other for other in free if words.are_inside(table.headings[other], tiers[tier].words)]
                alike = [other for other in alike if fits(field, table, other)]
            if alike:
                yield _ambiguous(
                    table.headings, _likeliest_first(field, table, places, [place, *alike]), field, table.source
                )

    def _is_balance(self, table: Table, place: int) -> bool:
        return without_extras(table.headings[place]) in words.headings("balance")

    def recognised(self, field: str, table: Table, taken: Collection[int] = ()) -> int | None:
        """Return the column whose heading says a field, if it is not taken; several are an `InputError`."""
        free = [place for place in range(len(table.headings)) if place not in taken]
        for tier in self.fields[field]:
            for reading in (normal, without_extras):
                matches = [
                    place
                    for place in free
                    if (word := reading(table.headings[place])) in tier.certain
                    or (word in tier.by_cells and fits(field, table, place))
                ]
                if len(matches) > 1:
                    raise _ambiguous(table.headings, matches, field, table.source)
                if matches:
                    return matches[0]
        return None

    def _candidates(self, field: str, table: Table, places: Mapping[str, int], looks: Looks | None = None) -> list[int]:
        """Return the columns that could be a field, the likeliest first: by a word in their headings, and by their cells."""
        empty = cells.empty_columns(table)
        free = [place for place in range(len(table.headings)) if place not in {*places.values(), *empty}]
        if field == "amount":
            free = [place for place in free if not self._is_balance(table, place)]
        if field in ("code", "account_code", "name"):
            money = frozenset().union(*map(words.headings, ("balance", "amount", "debit", "credit", "total_amount")))
            free = [place for place in free if not words.are_inside(table.headings[place], money)]
        alike = looks[field]() if looks and field in looks else columns_like(field, table, free)
        by_cells = [place for place in alike if place in free]
        known = frozenset().union(*(tier.words for tier in self.fields[field]))
        inside = [
            place for place in free if words.are_inside(table.headings[place], known) and fits(field, table, place)
        ]
        both = [place for place in inside if place in by_cells]
        # A ledger may know its accounts by their names alone.
        named = self.fields[field][0].by_cells if field == "account_code" else frozenset()
        headed = [place for place, heading in enumerate(table.headings) if normal(heading) in named]
        first, second = (inside, by_cells) if field in _FITS else (by_cells, inside)
        return [*dict.fromkeys([*headed, *both, *first, *second])]

    def may_lack(self, field: str, table: Table, places: Mapping[str, int]) -> bool:
        """Whether entries may be without a date or an amount: the caller says it, or no other column could hold it."""
        free = [place for place in range(len(table.headings)) if place not in places.values()]
        has_figures = any(cells.matches(_filled(table, place), r"^\W*\d").any() for place in free)
        return field in self.chosen or (bool(places) and not has_figures)

    def missing(self, field: str, table: Table, places: Mapping[str, int], looks: Looks | None = None) -> InputError:
        """Return the problem that a field has no column, with the columns that look like it.

        Parameters
        ----------
        field : str
            The field.
        table : Table
            The file.
        places : mapping
            The columns of other fields.
        looks : mapping, optional
            As for `assign`.
        """
        candidates = self._candidates(field, table, places, looks)
        verb = "looks" if len(candidates) == 1 else "look"
        alike = (
            f" ({', '.join(repr(table.headings[place]) for place in candidates)} {verb} like it)" if candidates else ""
        )
        columns = {field: table.headings[candidates[0]] if candidates else "HEADING"}
        if field == "amount" and len(candidates) != 1 and (pair := _complementary(table, places)):
            columns = {side: table.headings[place] for side, place in zip(("debit", "credit"), pair, strict=True)}
            alike = f" ({' and '.join(map(repr, columns.values()))} could be debit and credit)"
        settings = (("columns", columns),)
        instead = ", nor for both 'debit' and 'credit'" if field == "amount" else ""
        is_needed = self.kind != "entries" or field not in ("date", "amount")
        way_out = "" if is_needed else f", or read the file without with {leave_out(field)}"
        joined = [
            repr(table.headings[place]) for place in range(len(table.headings)) if _hold_codes_and_names(table, place)
        ]
        if joined and field in ("code", "account_code"):
            alike += f" ({joined[0]} holds a code and a name in one cell: split it into two columns)"
        error = InputError(
            f"no column found for {field!r}{instead}; found: {listed(table.headings)}{alike}; choose one with"
            f" {as_options(settings)}{way_out}",
            source=table.source,
        )
        error.field, error.settings = field, settings
        return error

    def _refuse_opposite(self, field: str, heading: str) -> None:
        """Raise an error when a heading says the opposite of its field: every account would be turned round."""
        other = {"archived": "active", "active": "archived"}.get(field, "")
        if other in self.fields and normal(heading) in self.fields[other][0].words:
            raise ArgumentError(
                option(field, heading), f"must not be a column that says {other}: use {option(other, heading)}"
            )


def fits(field: str, table: Table, place: int) -> bool:
    """Whether the cells of a column can be those of a field; of a field that may hold anything, and without cells, they can."""
    check = _FITS.get(field)
    return check is None or not len(_filled(table, place)) or check(table, place)


def are_codes(table: Table, place: int) -> bool:
    """Whether most cells have a digit and hardly any has words behind it; they are neither UUIDs nor dates.

    Titles of sections may stand among codes.
    """
    column = _filled(table, place)
    if dates.are_dates(column) or cells.matches(column, UUID_REGEX).any():
        return False
    has_digits = cells.matches(column, r"\d").mean() >= _HALF
    return bool(has_digits and cells.matches(column, r"\d\S*\s.*\pL{2}").mean() <= _FEW) or _are_identifiers(column)


def _are_identifiers(column: pa.ChunkedArray) -> bool:
    """Whether cells are words such as loans_receivable, once each."""
    is_one_word = cells.matches(column, r"^[a-z0-9]+(?:_[a-z0-9]+)*$")
    is_varied = pc.count_distinct(column).as_py() == len(column)
    return bool(is_one_word.all() and cells.matches(column, "_").any() and is_varied)


def _are_names(table: Table, place: int) -> bool:
    column = _filled(table, place)
    has_words = cells.matches(column, r"\pL").mean() >= _MOST and cells.matches(column, r"^\s*\d{2}").mean() <= _FEW
    return bool(has_words) and not are_codes(table, place)


def _are_dates(table: Table, place: int) -> bool:
    return dates.are_dates(_filled(table, place), short=True)


def _are_currencies(table: Table, place: int) -> bool:
    column = _filled(table, place)
    return bool(cells.matches(column, _CURRENCY).mean() >= _MOST)


def _say_approval(table: Table, place: int) -> bool:
    known = frozenset().union(*map(words.values, ("approved", "not_approved", "yes", "no")))
    return bool(cells.mask(words.are(_filled(table, place), known)).any())


def _are_no_words(table: Table, place: int) -> bool:
    return not cells.matches(_filled(table, place), r"^\D*\pL{3}\D*$").all()


def _are_amounts(table: Table, place: int) -> bool:
    column = _filled(table, place)
    if dates.are_dates(column, short=True) or cells.matches(column, _DAY).all():
        return False
    unread: list[InputError] = []
    with collected(unread):
        amounts.amounts(table, place, None)
    # An amount that could be read in two ways is one.
    return not unread or bool(unread[0].settings)


_FITS: Mapping[str, Callable[[Table, int], bool]] = {
    "code": are_codes,
    "account_code": are_codes,
    "name": _are_names,
    "account_name": _are_names,
    "date": _are_dates,
    "currency": _are_currencies,
    "amount": _are_amounts,
    # Names of accounts may stand under debit and credit.
    "debit": _are_no_words,
    "credit": _are_no_words,
    "approved": _say_approval,
    "sign": sides.say_sides,
    "side": partial(sides.say_sides, of_money=False),
}
# Fields that two meanings of a word may be: the cells tell them apart.
TOLD_BY_CELLS = frozenset(_FITS) | {"external_id", "id"}


def columns_like(field: str, table: Table, free: Sequence[int]) -> list[int]:
    """Return the columns whose cells look like a field, though their headings do not say it."""
    head = table.head(_FIRST_ROWS)
    alike = [place for place in free if _looks(field, head, place)]
    if field == "amount":
        # Amounts without cents are looked for where no column has any.
        alike = alike or [place for place in free if _are_figures(head, place)]
    alike = _likeliest_first(field, head, {}, alike)
    # Codes stand before names.
    return alike[:1] if field in ("code", "account_code") else alike


def _likeliest_first(field: str, table: Table, places: Mapping[str, int], candidates: Sequence[int]) -> list[int]:
    """Return candidates in their order, but last long texts as names, and amounts in one currency beside a currency's column."""

    def is_unlikely(place: int) -> bool:
        if field == "name":
            return bool(pc.mean(pc.utf8_length(table.columns[place])).as_py() > _LONG_NAMES)
        heading = table.headings[place]
        return field == "amount" and "currency" in places and normal(heading) != without_extras(heading)

    return sorted(candidates, key=is_unlikely)


def _looks(field: str, table: Table, place: int) -> bool:
    column = _filled(table, place)
    is_full = len(column) >= max(1, (_HALF if field in ("code", "name") else _MOST) * len(table.lines))
    # Codes and names of a chart are there once each, but for a few; one row shows nothing.
    least = (_HALF if field == "name" else _MOST) * len(column)
    is_varied = len(column) > 1 and pc.count_distinct(column).as_py() >= least
    looks: Mapping[str, Callable[[], bool]] = {
        "code": lambda: is_varied and _all_are(column, _CODE) and not dates.are_dates(column),
        "account_code": lambda: _all_are(column, _CODE) and not dates.are_dates(column),
        "name": lambda: is_varied and _all_are(column, r"\pL{2}") and not _all_are(column, UUID_REGEX),
        "date": lambda: dates.are_dates(column),
        "amount": lambda: _has_cents(column) and _are_amounts(table, place),
        "employee_id": lambda: bool(cells.matches(column, _EMAIL).all()),
    }
    return is_full and field in looks and looks[field]()


def _are_figures(table: Table, place: int) -> bool:
    column = _filled(table, place)
    is_full = len(column) >= max(1, _MOST * len(table.lines))
    is_id = words.are_inside(table.headings[place], frozenset({"id", "no", "nr", "year", "month"}))
    return is_full and not is_id and _all_are(column, r"^[-+]?[1-9][\d ,.]*$") and not _count_rows(table, place)


def _has_cents(column: pa.ChunkedArray) -> bool:
    return bool(cells.matches(column, _CENTS).any() and not cells.matches(column, _ZEROS).any())


def _complementary(table: Table, places: Mapping[str, int]) -> tuple[int, int] | None:
    """Return the only two columns of numbers of which each row has one, as columns for debit and credit do."""
    filled = {
        place: cells.matches(column, "[1-9]")
        for place, column in enumerate(table.columns)
        if place not in places.values() and _are_amounts(table, place)
    }
    pairs = [
        (one, other)
        for one, other in combinations(filled, 2)
        if (filled[one] ^ filled[other]).mean() >= _MOST and filled[one].any() and filled[other].any()
    ]
    if len(pairs) != 1:
        return None
    (one, other), of_credit = pairs[0], words.headings("money_in")
    return (other, one) if words.are_inside(table.headings[one], of_credit) else (one, other)


def _all_are(column: pa.ChunkedArray, pattern: str) -> bool:
    return bool(cells.matches(column, pattern).mean() >= _MOST)


def _count_rows(table: Table, place: int) -> bool:
    """Whether a column numbers the rows from 1, or from 0."""
    texts = _filled(table, place).to_pylist()
    return len(texts) > _FEW_ROWS and any(texts == [str(row + first) for row in range(len(texts))] for first in (0, 1))


def _hold_codes_and_names(table: Table, place: int) -> bool:
    column = _filled(table, place)
    return len(column) > 0 and bool(cells.matches(column, r"^\s*\d[\d.-]*[\s:\x{B7}-]+\pL{2}").mean() >= _HALF)


def _filled(table: Table, place: int) -> pa.ChunkedArray:
    column = cells.trimmed(table.columns[place])
    return column.filter(pc.not_equal(column, ""))


def listed(headings: Sequence[str]) -> str:
    """Return the headings of a file for a message."""
    shown = [repr(heading) for heading in headings if heading.strip()]
    more = f" and {len(shown) - _SHOWN_HEADINGS} more" if len(shown) > _SHOWN_HEADINGS else ""
    return (", ".join(shown[:_SHOWN_HEADINGS]) or "none") + more


def _named(headings: Sequence[str], heading: str, field: str, source: str) -> int:
    exact = [place for place, text in enumerate(headings) if text == heading]
    matches = exact or [place for place, text in enumerate(headings) if normal(text) == normal(heading)]
    if not matches:
        error = InputError(
            f"no column has the heading {heading!r} for {field!r}; found: {listed(headings)}", source=source
        )
        error.field, error.settings = field, (("columns", {field: "HEADING"}),)
        raise error
    if len(matches) > 1:
        raise _ambiguous(headings, matches, field, source)
    return matches[0]


def _ambiguous(headings: Sequence[str], matches: Sequence[int], field: str, source: str) -> InputError:
    both = " and ".join(f"{headings[place]!r} (column {place + 1})" for place in matches)
    settings: tuple[tuple[str, dict[str, str]], ...] = (("columns", {field: headings[matches[0]]}),)
    way = f"choose one with {as_options(settings)}"
    if len({headings[place] for place in matches}) < len(matches):
        way, settings = "rename one of them in the file", ()
    error = InputError(f"{both} could both be {field!r}: {way}", source=source)
    error.field, error.settings = field, settings
    return error
