"""Which column of a file holds which field, by its heading or the caller's word; others are only proposed."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.caller import is_command, name_of, setting
from bktools.errors import ArgumentError, FileNoteWarning, InputError
from bktools.frames import schema
from bktools.inputs import cells, looks, words
from bktools.inputs.cells import leave_out, option, question, raise_all
from bktools.inputs.file import read_table
from bktools.inputs.heading_row import NAMED, is_figure
from bktools.inputs.refusals import way_out
from bktools.inputs.running_sums import balance_by, running_sums
from bktools.inputs.table import Table
from bktools.inputs.words import normal, without_extras
from bktools.visible import first_of

Columns = Mapping[str, str | None]
# Columns whose values look like a field, for fields that other tables know.
Looks = Mapping[str, Callable[[], Sequence[int]]]

# Fields without which a row is somebody else's: a column that holds none is not theirs.
IDENTITIES = ("id", "external_id")
# If several columns could be one of these fields, none is taken, with a note; for other fields it is a
# question.
TEXTS = frozenset({"description", "supplier", "cost_centre", "type", "text", "document_number", "split_line"})

_SHOWN_HEADINGS, _SHOWN_CANDIDATES = 20, 4
_LONGEST_HEADING = 200
# Columns beside the codes and names of accounts that are neither: money, and codes of other accounts.
_NOT_OF_ACCOUNT = ("balance", "amount", "debit", "credit", "total_amount", "of_another")
# Tables of headings by field: one such word inside a heading tells the field where no other column has the
# look of it. Beside them stand the tables of words with which a heading names something else.
_TOLD_BY = {
    "code": ("account_code", ("of_another", "balance")),
    "account_code": ("account_code", ("of_another", "balance")),
    "date": ("booking_date", ("other_day",)),
    "amount": ("amount", ("other_amount", "without_tax", "tax", "balance")),
}
# Two fields with opposite meanings: the wrong one would turn every account round.
_OPPOSITES = {"archived": "active", "active": "archived"}


_ENTRIES = ("entries", ("date", "amount"), "holds entries", "bktools spend", "read_entries")
_CHART = ("chart", ("code", "name"), "is a chart of accounts", "bktools reconcile", "read_chart_of_accounts")
# The kind of file that one of another kind may be instead: fields of which one settles that it is not, then
# that kind, the fields that show it, what the file is, and how it is read.
_OTHER_KINDS = {
    "chart": ({"code"}, *_ENTRIES),
    **dict.fromkeys(("entries", "ledger"), ({"id", "date", "amount", "debit", "credit"}, *_CHART)),
}


class Vocabulary:
    """The headings of one kind of file (chart, accounts, entries or ledger), and the caller's choices.

    `chosen` has field to heading; an empty heading leaves the field out.
    """

    def __init__(self, kind: str, chosen: Columns | None = None) -> None:
        self.kind = kind
        self.fields = words.fields(kind)
        self.chosen = dict(chosen or {})
        for field, heading in self.chosen.items():
            if field not in self.fields:
                close = get_close_matches(field, self.fields, n=1, cutoff=0.7)
                meant = f" (did you mean {close[0]}?)" if close else ""
                raise ArgumentError(
                    name_of("columns"), f"may map these fields{meant}: {', '.join(self.fields)}", field
                )
            if heading is not None and not isinstance(heading, str):
                raise ArgumentError(f"columns[{field!r}]", "must be a heading of the file", heading)
            self._refuse_opposite(field, heading)
        # How sheets of a workbook are called that hold this kind.
        self.sheet_names = words.values("chart_sheet") if kind == "chart" else frozenset()
        self._words = frozenset().union(*map(self.words_of, self.fields))
        self._chosen = {normal(heading) for heading in self.chosen.values() if heading}

    def words_of(self, field: str) -> frozenset[str]:
        """Return all headings of a field."""
        return frozenset().union(*(tier.words for tier in self.fields[field]))

    def score(self, row: Sequence[str]) -> int:
        """Return how many cells of a row are headings known here; those the caller named count most."""
        # Lines that were not cut into cells, and figures, are no known headings.
        short = [cell for cell in row if len(cell) <= _LONGEST_HEADING]
        texts = {normal(cell) for cell in short}
        cut = {without_extras(cell) for cell in short if not is_figure(cell)}
        return len((texts | cut) & self._words) + NAMED * len(texts & self._chosen)

    def _refuse_opposite(self, field: str, heading: str | None) -> None:
        other = _OPPOSITES.get(field, "")
        if heading and other in self.fields and normal(heading) in self.fields[other][0].words:
            raise ArgumentError(
                option(field, heading),
                f"must not be a column that says {other}: use {option(other, heading)}",
            )


class Reading:
    """A file that is being read: its rows, each field's column and values, its problems, and its notes.

    Readers leave out the rows that are none of theirs.
    """

    def __init__(self, table: Table, vocabulary: Vocabulary) -> None:
        self.table = table
        self.vocabulary = vocabulary
        # A format says which column is which, unless the caller does.
        self.places = {} if vocabulary.chosen else dict(table.places)
        # A format's own statement counts as the caller's.
        self.chosen = {**dict.fromkeys(self.places), **vocabulary.chosen}
        self.problems: list[InputError] = []
        self.notes: list[str] = []
        # The notes of rows that were left out.
        self.skipped: list[str] = []
        # Fields that a check needs and that only look like a column.
        self.in_question: dict[str, str] = {}
        self.result: dict[str, pa.ChunkedArray] = {}
        # The column of which rows that hold nothing in it are left out.
        self.rows_with: int | None = None
        self._looks: Looks = {}

    def has(self, *fields: str) -> bool:
        """Whether each of the fields has a column."""
        return {*fields} <= self.places.keys()

    def is_settled(self, *fields: str) -> bool:
        """Whether the caller named a column for each of the fields, or left the field out."""
        return {*fields} <= self.chosen.keys()

    def column(self, field: str) -> pa.ChunkedArray:
        """Return the cells of a field."""
        return self.table.columns[self.places[field]]

    def heading(self, field: str) -> str:
        """Return the heading over the cells of a field."""
        return self.table.headings[self.places[field]]

    def blank(self, field: str) -> cells.Mask:
        """Return where the cells of a field hold nothing."""
        return cells.blank(self.column(field))

    def or_null(self, field: str) -> pa.ChunkedArray:
        """Return a field's text with nulls for empty cells, or only nulls if the file has no such column."""
        if field in self.places:
            return cells.or_null(self.column(field))
        return self.constant(None, schema.TEXT)

    def constant(self, value: object, kind: pa.DataType) -> pa.ChunkedArray:
        """Return a column that says the same in every row."""
        return pa.chunked_array([pa.repeat(pa.scalar(value, kind), len(self.table.lines))])

    def lines(self) -> pa.ChunkedArray:
        """Return the line of the file that each row starts on."""
        return pa.chunked_array([pa.array(self.table.lines, type=schema.COUNT)])

    @contextmanager
    def trying(self) -> Iterator[None]:
        """Add the error that is raised meanwhile to the problems and go on."""
        try:
            yield
        except InputError as error:
            self.problems.append(error)

    def read(self, field: str, make: Callable[..., pa.ChunkedArray], *arguments: Any, **options: Any) -> None:
        """Keep the values that a function reads from the field's column, if any; an error is a problem."""
        if field in self.places:
            with self.trying():
                self.result[field] = make(self.table, self.places[field], *arguments, **options)

    def refuse(self, field: str, wrong: cells.Mask, rule: str, **instead: Any) -> None:
        """Raise an error that names the first wrong cell of a field, as `cells.refuse` does."""
        cells.refuse(self.table, self.places[field], wrong, rule, **instead)

    def settle(self, **places: int) -> None:
        """Give columns to fields as the caller's own choice."""
        self.places |= places
        self.chosen |= dict.fromkeys(places)

    def leave(self, *fields: str) -> None:
        """Take these fields' columns for no field."""
        for field in fields:
            self.places.pop(field, None)

    def skip(self, rows_by_remark: Mapping[str, cells.Mask], what: str) -> None:
        """Leave out rows, which notes count; if no row is left, raise that none is one of `what`."""
        table = self.table
        self.note_skipped(rows_by_remark)
        others = ~np.logical_or.reduce([*rows_by_remark.values()])
        if not others.any():
            raise table.error(f"no row below the headings is one of {what}", table.heading_line)
        self.table = table.rows(others)

    def note_skipped(self, rows_by_remark: Mapping[str, cells.Mask]) -> None:
        """Note rows that are left out."""
        remarks = cells.counted(self.table, rows_by_remark)
        self.notes += remarks
        self.skipped += remarks

    def provenance(self, rows: int, places: Mapping[str, int], *notes: str, **others: str) -> dict[str, Any]:
        """Return the provenance of a frame, as `Table.provenance` does, with what this reading knows."""
        about = self.table.provenance(rows, places, [*self.notes, *notes], **others)
        return {**about, "skipped": self.skipped, "in_question": self.in_question}

    def warn_of_notes(self) -> None:
        """Warn the caller of a reader of its notes; a command prints them."""
        if self.notes and not is_command():
            shown = "".join(f"\n- {note}" for note in self.notes)
            # From here: the reader, the function that proposes options, and its caller.
            warnings.warn(f"{self.table.source}:{shown}", FileNoteWarning, stacklevel=4)

    def skip_broken(self) -> None:
        """Leave out rows with a broken cell, so that they cause no second problem; the first is a problem."""
        places = self.places.values()
        with self.trying():
            cells.refuse_broken(self.table, places)
        whole = ~np.isin(self.table.lines, [cell.line for cell in self.table.broken if cell.place in places])
        self.table = self.table.rows(whole) if whole.any() else self.table

    def free(self) -> list[int]:
        """Return the columns that are no field."""
        return [place for place in range(len(self.table.headings)) if place not in self.places.values()]

    def assign(self, required: Sequence[str], looks_of: Looks | None = None) -> None:
        """Find the column of each field, before rows are left out.

        A required field without a column, and a field with several, is a problem; a note tells of fields that
        are not required and have several columns, or one that only looks like it. A column without a value is
        taken where no other has the heading, and never as an identity.

        `looks_of` has functions by field, which return the columns whose values look like it. Headings of
        another kind of file are an error.
        """
        self._looks = looks_of or {}
        for field, heading in self.chosen.items():
            if heading:
                with self.trying():
                    self.places[field] = self._named(field, heading)
        for field in self.vocabulary.fields:
            if field not in self.chosen:
                self._take(field, is_required=field in required)
        self.problems += self._doubts(required)
        for field in _TOLD_BY:
            if field in self.vocabulary.fields and not self.is_settled(field):
                self._take_told(field)
        self._refuse_other_kind()
        self._look_for_others(required)
        if any("split_account" in dict(error.settings) for error in self.problems):
            # The names come with the codes.
            self.problems = [error for error in self.problems if error.field not in ("name", "account_name")]
        self.rows_with = self.places.pop("rows_with", None)

    def _look_for_others(self, required: Sequence[str]) -> None:
        """Add a problem for each required field without a column, and a note for others with a candidate."""
        settled = self.places.keys() | {error.field for error in self.problems}
        for field in dict.fromkeys([*required, *self._looks]):
            if field not in self.vocabulary.fields:
                raise ArgumentError(
                    "required", f"may name these fields: {', '.join(self.vocabulary.fields)}", field
                )
            if field in settled:
                continue
            if field in required:
                self.problems.append(self.missing(field))
            elif field not in self.chosen and (candidates := self._candidates(field)):
                way = option(field, cells.heading_of(self.table, candidates[0]))
                look = "looks" if len(candidates) == 1 else "look"
                self.in_question[field] = cells.heading_of(self.table, candidates[0])
                self.notes.append(
                    f"no column found for {field!r}, {self._listed(candidates)} {look} like it: "
                    f"choose one with {way}, or leave it out with {leave_out(field)}"
                )

    def missing(self, field: str) -> InputError:
        """Return the problem that a field has no column, with the columns that look like it."""
        table = self.table
        candidates = self._candidates(field)
        # A word that names one of the two sides is no amount of both.
        free = [place for place in self.free() if self._is_amount(place)]
        pair = looks.debit_and_credit(table, free, candidates) if field == "amount" else None
        if field in ("code", "account_code") and (joined := self._codes_and_names()) is not None:
            why = f"{table.headings[joined]!r} holds the code and the name of an account in one cell"
            return table.error(why, field=field, split_account=True)
        if pair:
            columns = {
                side: cells.heading_of(table, place)
                for side, place in zip(("debit", "credit"), pair, strict=True)
            }
        else:
            # Entries may have no date at all; that is said, not guessed.
            nothing = "" if field == "date" and self.vocabulary.kind == "entries" else "HEADING"
            columns = {field: cells.heading_of(table, candidates[0]) if candidates else nothing}
        details = [f"Its headings: {_listed(table.headings)}"]
        if len(candidates) > 1 and not pair:
            details.append(f"Several columns look like {field!r}: {self._listed(candidates)}")
        if self.vocabulary.kind == "entries" and field in ("date", "amount") and "" not in columns.values():
            details.append(f"Without it: {leave_out(field)}")
        return table.error(f"no column found for {field!r}", field=field, details=details, columns=columns)

    def _codes_and_names(self) -> int | None:
        """Return the first column that holds the code and the name of an account in each of its cells."""
        places = self.free()
        return next((place for place in places if looks.hold_codes_and_names(self.table, place)), None)

    def names_of_accounts(self) -> int | None:
        """Return the one column that says the accounts by their names, where none could hold their codes."""
        table, (telling, *_) = self.table, self.vocabulary.fields["account_code"]
        free = [place for place in self.free() if place not in self._empty]
        free = [place for place in free if not looks.count_rows(table, place)]
        codes = {
            *looks.all_like("account_code", table, free),
            *self._with_word_inside("account_code", free, telling.words),
        }
        headed = [place for place in free if normal(table.headings[place]) in telling.by_cells]
        named = [self.places["account_name"]] if self.has("account_name") else headed
        is_clear = not codes and len(named) == 1 and looks.is_full(table, named[0])
        return named[0] if is_clear and looks.fits("account_name", table, named[0]) else None

    def may_lack(self, field: str) -> bool:
        """Whether entries may lack a date or an amount: the caller says so, or no column could hold it."""
        if field == "date" and self.has("amount") and not any(map(self._may_say_day, self.free())):
            return True
        figures = (cells.matches(looks.filled(self.table, place), r"^\W*\d").any() for place in self.free())
        return field in self.chosen or (bool(self.places) and not any(figures))

    def _may_say_day(self, place: int) -> bool:
        """Whether heading or cells may say the day of an entry, or a part of it."""
        of_days = frozenset().union(*map(words.headings, ("booking_date", "part_of_day")))
        heading = self.table.headings[place]
        return (
            not heading.strip() or words.are_inside(heading, of_days) or looks.may_say_days(self.table, place)
        )

    def _take(self, field: str, *, is_required: bool) -> None:
        """Take the column with a field's heading; several are a problem, or a note for a field of text."""
        taken = {place for other, place in self.places.items() if other != "rows_with"}
        passed_over = [taken | self._empty]
        if field not in IDENTITIES:
            passed_over.append(taken)
        if is_required:
            # A column that the caller gave to another field may serve twice: the code is an external ID, too.
            passed_over += [self._empty, set()]
        try:
            places = (self.recognised(field, others) for others in passed_over)
            place = next((place for place in places if place is not None), None)
        except InputError as error:
            if field in TEXTS and not is_required:
                self.notes.append(f"{error.why}{way_out(error.settings)}")
            else:
                self.problems.append(error)
        else:
            self.places |= {} if place is None else {field: place}

    def _take_told(self, field: str) -> None:
        """Take the one column whose heading has a word of the field inside, if no other looks like the field.

        Columns with a word for something else, such as a due date or a budget, are neither.
        """
        if field in self.places or field in {error.field for error in self.problems}:
            return
        if field == "amount" and {"debit", "credit"} & self.places.keys():
            return
        table, (known, others) = self.table, _TOLD_BY[field]
        not_it = frozenset().union(*map(words.headings, others))
        free = [place for place in self.free() if not words.are_inside(table.headings[place], not_it)]
        if field == "amount":
            free = [place for place in free if place not in self._running_sums]
        told = self._with_word_inside(field, free, words.headings(known))
        alike = {*looks.all_like(field, table, free), *told}
        if len(told) == len(alike) == 1 and looks.is_full(table, place := told[0]):
            self.places[field] = place
            self.notes.append(
                f"{table.headings[place]!r} is taken for {field!r}: no other column looks like it"
            )

    def recognised(self, field: str, passed_over: Collection[int] = ()) -> int | None:
        """Return the column whose heading says a field, None without one; several are an `InputError`."""
        headings = self.table.headings
        free = [place for place in range(len(headings)) if place not in passed_over]
        for tier in self.vocabulary.fields[field]:
            for reading in (normal, without_extras):
                matches = [
                    place
                    for place in free
                    if (word := reading(headings[place])) in tier.certain
                    or (word in tier.by_cells and looks.fits(field, self.table, place))
                ]
                if len(matches) > 1:
                    raise self._ambiguous(field, matches)
                if matches:
                    return matches[0]
        return None

    def _named(self, field: str, heading: str) -> int:
        """Return the column that the caller named."""
        headings = self.table.headings
        exact = [place for place, text in enumerate(headings) if text == heading]
        matches = exact
        # Punctuation does not count, but a sign would: it is never taken in silence.
        if not exact and not heading.lstrip().startswith("-"):
            matches = [place for place, text in enumerate(headings) if normal(text) == normal(heading)]
        number = re.fullmatch(r"column (\d+)", heading.strip(), re.ASCII | re.IGNORECASE)
        if not matches and number and 0 < int(number[1]) <= len(headings):
            return int(number[1]) - 1
        if not matches:
            details = [f"Its headings: {_listed(headings)}"]
            if heading.startswith("-"):
                details.append(
                    f"A heading has no sign; where spending is negative: {setting('spending', 'negative')}"
                )
            raise self.table.error(
                f"no column has the heading {heading!r} for {field!r}", field=field, details=details
            )
        if len(matches) > 1:
            raise self._ambiguous(field, matches)
        return matches[0]

    def _doubts(self, required: Sequence[str]) -> Iterator[InputError]:
        """Yield a problem where a vague heading was taken and other cells look like the field, too."""
        table = self.table
        settled: dict[str, int] = {}
        for field, place in self.places.items():
            if field in self.chosen or field not in {*required, "date", "amount", "account_code"}:
                continue
            if field in ("code", "account_code") and looks.hold_codes_and_names(table, place):
                yield table.error(
                    f"{table.headings[place]!r} holds the code and the name of an account in one cell",
                    split_account=True,
                )
                continue
            tiers, heading = self.vocabulary.fields[field], table.headings[place]
            read_as = {normal(heading), without_extras(heading)}
            tier = next(at for at, headings in enumerate(tiers) if read_as & headings.words)
            if tier > 0 and looks.count_rows(table, place):
                message = f"{heading!r} only counts the rows, so that it may not be {field!r}"
                yield question(table, message, {field: cells.heading_of(table, place)})
                continue
            alike: list[int] = []
            # Among several columns, those with a more telling word in their headings come first.
            telling = frozenset[str]().union(*(earlier.words for earlier in tiers[:tier]))
            if 0 < tier == len(tiers) - 1:
                alike = [
                    other for other in looks.columns_like(field, table, self.free()) if self._is_amount(other)
                ]
            elif normal(heading) not in tiers[tier].words:
                # `Amount USD` may stand beside the amount in another currency.
                alike = self._with_word_inside(field, self.free(), tiers[tier].words)
            if alike:
                order = dict.fromkeys([*self._with_word_inside(field, alike, telling), place, *alike])
                both = looks.likeliest_first(field, table, [*order], beside_currency=self.has("currency"))
                both = self._different(both) if field == "amount" else both
                if field == "name" and len(named := self._with_word_inside(field, both, tiers[0].words)) == 1:
                    both = named
                if len(both) > 1:
                    yield self._ambiguous(field, both)
                else:
                    settled[field] = both[0]
        self.places |= settled

    def _different(self, amounts: Sequence[int]) -> list[int]:
        """Return columns of amounts that may be the amount, without copies of the first one.

        None is one in a currency that its heading names where the column of currencies has another one, too.
        """
        columns = self.table.columns
        if self.has("currency"):
            stated = {text.strip().upper() for text in pc.unique(self.column("currency")).to_pylist()} - {""}
            named = {place: words.currency_in(self.table.headings[place]) for place in amounts}
            amounts = [
                place for place in amounts if named[place] is None or stated <= {named[place]}
            ] or amounts
        return [
            amounts[0],
            *(place for place in amounts[1:] if not columns[place].equals(columns[amounts[0]])),
        ]

    def _refuse_other_kind(self) -> None:
        """Refuse a file of entries where a chart is wanted, or a chart where entries are wanted."""
        if self.vocabulary.kind not in _OTHER_KINDS:
            return
        own, kind, shown_by, what, command, function = _OTHER_KINDS[self.vocabulary.kind]
        if own & {*self.places, *self.chosen}:
            return
        known: list[int | None] = [None]
        with suppress(InputError):
            known = [*map(Reading(self.table, Vocabulary(kind)).recognised, shown_by)]
        if None not in known and ("date" in shown_by or not self._candidates("date")):
            shown = " and ".join(repr(self.table.headings[place]) for place in known if place is not None)
            reader = command if is_command() else function
            raise_all([self.table.error(f"{what}, as {shown} show: read it with {reader}")], self.table)

    def _candidates(self, field: str) -> list[int]:
        """Return the columns that could be a field, the likeliest first: by words in headings, and cells."""
        table = self.table
        free = [place for place in self.free() if place not in self._empty]
        free = [place for place in free if table.headings[place].strip()]
        if field == "amount":
            free = [place for place in free if self._is_amount(place)]
        if field in ("code", "account_code", "name"):
            others = frozenset().union(*map(words.headings, _NOT_OF_ACCOUNT))
            free = [place for place in free if not words.are_inside(table.headings[place], others)]
        if field in ("code", "account_code"):
            free = [place for place in free if not looks.count_rows(table, place)]
        if field == "account_code" and self.has("debit", "credit"):
            sides = self.places["debit"], self.places["credit"]
            free = [place for place in free if not balance_by(table, place, sides)]
        alike = self._looks[field]() if field in self._looks else looks.columns_like(field, table, free)
        by_cells = [place for place in alike if place in free]
        known = self.vocabulary.words_of(field)
        by_word = self._with_word_inside(field, free, known)
        # A heading says more than cells do, also where some of its cells cannot be read.
        by_cells.sort(key=lambda place: not words.are_inside(table.headings[place], known))
        both = [place for place in by_word if place in by_cells]
        # A ledger may know its accounts by their names alone.
        named = self.vocabulary.fields[field][0].by_cells if field == "account_code" else frozenset()
        headed = [place for place, heading in enumerate(table.headings) if normal(heading) in named]
        own_names = [self.places["account_name"]] if named and self.has("account_name") else []
        first, second = (by_word, by_cells) if field in looks.FITS else (by_cells, by_word)
        candidates = dict.fromkeys([*headed, *both, *first, *second, *own_names])
        return looks.likeliest_first(field, table, [*candidates])

    def _with_word_inside(self, field: str, free: Sequence[int], known: frozenset[str]) -> list[int]:
        """Return columns with one of the words inside their headings, and cells that suit the field."""
        inside = (place for place in free if words.are_inside(self.table.headings[place], known))
        return [place for place in inside if looks.fits(field, self.table, place)]

    def _is_amount(self, place: int) -> bool:
        """Whether a column may hold amounts: neither heading nor values are those of a running balance."""
        heading = self.table.headings[place]
        return not words.are_inside(heading, words.headings("balance")) and place not in self._running_sums

    @cached_property
    def _running_sums(self) -> set[int]:
        return running_sums(self.table, range(len(self.table.headings)))

    @cached_property
    def _empty(self) -> set[int]:
        """The columns that hold nothing in any row, where another one holds something."""
        empty = {place for place, column in enumerate(self.table.columns) if cells.are_blank(column)}
        return empty if len(empty) < len(self.table.columns) else set()

    def _listed(self, candidates: Sequence[int]) -> str:
        shown = [cells.quoted(self.table.headings[place]) for place in candidates]
        return first_of(shown, _SHOWN_CANDIDATES)

    def _ambiguous(self, field: str, matches: Sequence[int]) -> InputError:
        shown = [f"{cells.quoted(self.table.headings[place])} (column {place + 1})" for place in matches]
        both = first_of(shown, _SHOWN_CANDIDATES, between=" and ")
        columns = {field: cells.heading_of(self.table, matches[0])}
        return self.table.error(f"{both} could each be {field!r}", field=field, columns=columns)


def opened(path: str | PathLike[str], vocabulary: Vocabulary, **form: Any) -> Reading:
    """Return a table that is to be read; `form` is the arguments of `read_table`."""
    return Reading(read_table(path, vocabulary.score, sheet_names=vocabulary.sheet_names, **form), vocabulary)


def _listed(headings: Sequence[str]) -> str:
    """Return the headings of a file for a message."""
    return first_of([heading for heading in headings if heading.strip()], _SHOWN_HEADINGS, repr) or "none"
