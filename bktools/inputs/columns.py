"""Which column of a file holds which field: by its heading, or as the caller says."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from difflib import get_close_matches

from bktools.caller import name_of, setting
from bktools.errors import ArgumentError, InputError
from bktools.inputs.headings import TOTALS, Tiers
from bktools.inputs.problems import kept, raise_all

Columns = Mapping[str, str | None]
# Columns whose values look like a field, where the columns of other fields are known.
Looks = Callable[[str, Mapping[str, int]], Sequence[int]]

# Fields without which a row is somebody else's: a column that holds none is not theirs.
IDENTITIES = ("id", "external_id")

_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe", "æ": "ae"})


def normal(heading: str) -> str:
    """Return a heading for comparison: no case, accents, spaces or punctuation; `%` stays, it tells a rate from a code."""
    folded = unicodedata.normalize("NFKD", heading.casefold())
    kept = "".join(character for character in folded if character.isalnum() or character == "%")
    # A heading of punctuation alone, such as #, is itself.
    return kept or heading.strip()


def is_total(name: str | None, code: str | None) -> bool:
    """Whether name and code are those of a row of sums. A name such as Total with a number is a company's account."""
    says_total = normal(name or "") in TOTALS and not any(character.isdigit() for character in code or "")
    return says_total or normal(code or "") in TOTALS


def _spellings(words: str) -> frozenset[str]:
    # Systems without umlauts write two letters instead.
    both = (*words.split("|"), *words.casefold().translate(_UMLAUTS).split("|"))
    return frozenset(normal(word) for word in both) - {""}


class Vocabulary:
    """The headings of one kind of file, ready for comparison.

    Parameters
    ----------
    fields : mapping
        Words per field, from `headings.py`.
    chosen : mapping, optional
        Field to heading, as the caller said; an empty heading leaves the field out.
    """

    def __init__(self, fields: Mapping[str, Tiers], chosen: Columns | None = None) -> None:
        self.fields = {field: tuple(_spellings(tier) for tier in tiers) for field, tiers in fields.items()}
        self.chosen = dict(chosen or {})
        for field, heading in self.chosen.items():
            if field not in self.fields:
                close = get_close_matches(field, self.fields, n=1, cutoff=0.7)
                meant = f" (did you mean {close[0]}?)" if close else ""
                raise ArgumentError(name_of("columns"), f"may map these fields{meant}: {', '.join(self.fields)}", field)
            if heading is not None and not isinstance(heading, str):
                raise ArgumentError(f"columns[{field!r}]", "must be a heading of the file", heading)
        self._known = frozenset().union(*(words for tiers in self.fields.values() for words in tiers))
        self._chosen = {normal(heading) for heading in self.chosen.values() if heading}

    def score(self, cells: Sequence[str]) -> int:
        """Return how many cells of a row are headings known here; those the caller named count most."""
        words = {normal(cell) for cell in cells}
        return len(words & self._known) + 100 * len(words & self._chosen)

    def assign(
        self,
        headings: Sequence[str],
        source: str,
        required: Sequence[str],
        *,
        empty: Collection[int] = (),
        looks: Looks | None = None,
        problems: list[InputError] | None = None,
        notes: list[str] | None = None,
    ) -> dict[str, int]:
        """Return the position of each field's column.

        Parameters
        ----------
        headings : sequence of str
            Of the file.
        source : str
            The file, for errors.
        required : sequence of str
            Fields that must have a column.
        empty : collection of int
            Columns without a value: taken where no other has the heading, and never as identities.
        looks : callable, optional
            Returns the columns whose values look like a field. A field without a known heading is taken from its only
            such column.
        problems : list of InputError, optional
            Gets what is wrong, so that the caller can add what is wrong with values; without it, it is raised.
        notes : list of str, optional
            Gets a line for each field that was looked for by values.

        Raises
        ------
        ArgumentError
            When a field that is none is required.
        InputError
            When required fields have no column, or fields have several. All of them are in one message.
        """
        found: list[InputError] = []
        places = self._by_heading(headings, source, required, set(empty), found)
        doubtful = {error.field for error in found} | places.keys()
        unsaid = [field for field in self.fields if field not in self.chosen]
        for field in dict.fromkeys([*required, *unsaid]):
            if field not in doubtful:
                alike = looks(field, places) if looks is not None and field in unsaid else []
                with kept(found):
                    self._by_look(field, alike, places, headings, source, required, [] if notes is None else notes)
        if problems is None:
            raise_all(found, source)
        else:
            problems += found
        return places

    def _by_heading(
        self, headings: Sequence[str], source: str, required: Sequence[str], empty: set[int], found: list[InputError]
    ) -> dict[str, int]:
        places: dict[str, int] = {}
        for field, heading in self.chosen.items():
            if heading:
                self._refuse_opposite(field, heading)
                with kept(found):
                    places[field] = _named(headings, heading, field, source)
        for field in self.fields:
            if field in self.chosen:
                continue
            with kept(found):
                taken = set(places.values())
                place = self._recognised(field, headings, taken | empty, source)
                if place is None and field not in IDENTITIES:
                    place = self._recognised(field, headings, taken, source)
                if place is None and field in required:
                    # A column that the caller gave to another field may serve twice: the code is an external ID, too.
                    place = self._recognised(field, headings, empty, source)
                if place is not None:
                    places[field] = place
        return places

    def _by_look(
        self,
        field: str,
        alike: Sequence[int],
        places: dict[str, int],
        headings: Sequence[str],
        source: str,
        required: Sequence[str],
        notes: list[str],
    ) -> None:
        """Add the only column that looks like a field, or a note of several; a required field without one is an error."""
        alike = [place for place in alike if place not in places.values()]
        if len(alike) == 1:
            places[field] = alike[0]
            notes.append(f"{headings[alike[0]]!r} taken as {field} by its values; if it is not, set {leave_out(field)}")
        elif field in required:
            raise self._missing(field, headings, source, alike)
        elif alike:
            both = ", ".join(repr(headings[place]) for place in alike)
            notes.append(
                f"no column found for {field!r}, {both} look like it: choose one with {option(field, headings[alike[0]])}"
            )

    def _missing(self, field: str, headings: Sequence[str], source: str, alike: Sequence[int]) -> InputError:
        if field not in self.fields:
            raise ArgumentError("required", f"may name these fields: {', '.join(self.fields)}", field)
        by_look = f" ({', '.join(repr(headings[place]) for place in alike)} look like it)" if alike else ""
        guess = headings[alike[0]] if alike else "HEADING"
        error = InputError(
            f"no column found for {field!r}; found: {_listed(headings)}{by_look}; choose one with {option(field, guess)}",
            source=source,
        )
        error.field, error.settings = field, (("columns", {field: guess}),)
        return error

    def _recognised(self, field: str, headings: Sequence[str], taken: set[int], source: str) -> int | None:
        for words in self.fields[field]:
            found = [place for place, text in enumerate(headings) if place not in taken and normal(text) in words]
            if len(found) > 1:
                raise _ambiguous(headings, found, field, source)
            if found:
                return found[0]
        return None

    def _refuse_opposite(self, field: str, heading: str) -> None:
        """Raise an error when a heading says the opposite of its field: every account would be turned round."""
        other = {"archived": "active", "active": "archived"}.get(field)
        if other in self.fields and normal(heading) in self.fields[other][0]:
            raise ArgumentError(
                option(field, heading), f"must not be a column that says {other}: use {option(other, heading)}"
            )


def option(field: str, heading: str = "HEADING") -> str:
    """Return the argument or option that maps a field to a heading."""
    return setting("columns", {field: heading})


def leave_out(field: str) -> str:
    """Return the argument or option that leaves a field out."""
    return option(field, "")


def _listed(headings: Sequence[str]) -> str:
    shown = [repr(heading) for heading in headings if heading.strip()]
    more = f" and {len(shown) - 20} more" if len(shown) > 20 else ""  # noqa: PLR2004 - what a line can hold
    return (", ".join(shown[:20]) or "none") + more


def _named(headings: Sequence[str], heading: str, field: str, source: str) -> int:
    exact = [place for place, text in enumerate(headings) if text == heading]
    found = exact or [place for place, text in enumerate(headings) if normal(text) == normal(heading)]
    if not found:
        error = InputError(
            f"no column has the heading {heading!r} for {field!r}; found: {_listed(headings)}", source=source
        )
        error.field, error.settings = field, (("columns", {field: "HEADING"}),)
        raise error
    if len(found) > 1:
        raise _ambiguous(headings, found, field, source)
    return found[0]


def _ambiguous(headings: Sequence[str], found: Sequence[int], field: str, source: str) -> InputError:
    both = " and ".join(f"{headings[place]!r} (column {place + 1})" for place in found)
    way = f"choose one with {option(field, headings[found[0]])}"
    if len({headings[place] for place in found}) < len(found):
        way = "rename one of them in the file"
    error = InputError(f"{both} could both be {field!r}: {way}", source=source)
    error.field, error.settings = field, (("columns", {field: headings[found[0]]}),)
    return error
