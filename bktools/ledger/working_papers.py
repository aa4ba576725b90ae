"""What is known while a ledger is judged: both sides, the matching of its booking unit, and its habits."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

import numpy as np

from bktools.ledger.annotated_postings import AnnotatedPostings
from bktools.ledger.booking_units import FEW, Gate
from bktools.ledger.candidates import FIELDS, Entry, Group, Piece
from bktools.ledger.matching import SOME, Matching
from bktools.ledger.practice import Practice
from bktools.ledger.tax_rates import Rates
from bktools.ledger.verdict import Verdict
from bktools.ledger.whole_numbers import (
    NONE,
    Columns,
    Flags,
    Numbers,
    among,
    first_rows,
    lots_of,
    number,
    sums,
)

# So many entries are made into objects at once; of more, those that are looked at.
MANY = 20_000
# Postings to look at.
SHOWN = 5


class WorkingPapers:
    """What is known while a ledger is judged.

    Attributes
    ----------
    entries : Columns
        The entries that can be compared, each with its number `e`.
    books : AnnotatedPostings
        The ledger.
    matching : Matching
        The pairs of its booking unit.
    covered : tuple of int
        The first and the last day that it shows.
    is_outside : array of bool
        Of each entry: whether its voucher is due on days that the ledger does not show.
    practice : Practice
        Its habits, for the stories.
    draft : Verdict
        The statuses.
    """

    def __init__(
        self, draft: Verdict, entries: Columns, books: AnnotatedPostings, matching: Matching, covered: Gate
    ) -> None:
        self.draft, self.books, self.matching, self.covered = draft, books, matching, covered
        due = matching.groups.due[matching.groups.of_entry]
        # A delay that is not learned tells nothing of what is booked day by day.
        self._is_learned = matching.is_singular.sum() >= FEW or matching.clock in ("week_end", "month_end")
        self.is_outside: Flags = self._is_learned & (
            (due + matching.gate[1] < covered[0]) | (due + matching.gate[0] > covered[1])
        )
        self.practice = Practice(
            matching.gate,
            covered,
            matching.unit.is_sum,
            frozenset(books.lines.account[books.is_used].tolist()),
            Rates(),
            books.slack,
            books.rates or (0,),
        )
        self.use(entries)

    def is_not_overdue(self, group: Group) -> bool:
        """Whether the voucher of a group may yet come: its last usual day is after those of the ledger."""
        return bool(self._is_learned) and group.due + self.matching.gate[1] > self.covered[1]

    def use(self, entries: Columns, *, describes: bool = False) -> None:
        """Use entries, such as those with the amounts that the ledger has for them.

        `describes`: whether a description names an entry without its supplier.
        """
        self.entries, self._describes = entries, describes
        self._objects: dict[int, Entry] = {}
        for name in ("receipts", "_are_own"):
            self.__dict__.pop(name, None)
        if len(entries) <= MANY:
            self.of(entries.e.tolist())

    # ---- entries

    @property
    def compared(self) -> Flags:
        """Of each entry: whether it shows how the ledger books. Those that were sent do, if there are any.

        A batch of which next to nothing has arrived shows nothing, unless most entries are of such batches.
        """
        groups = self.matching.groups
        can_be: Flags = groups.is_home[groups.of_entry] & ~self.is_outside
        sent: Flags = can_be & self.entries.sent
        can_be = sent if sent.any() else can_be
        batch, first = number(self.entries.batch)
        there = sums(batch, len(first), can_be & self.matching.has_pair)
        of_batch = sums(batch, len(first), can_be)
        arrived: Flags = can_be & ((there > 0) & (there >= SOME * of_batch))[batch]
        return arrived if 2 * arrived.sum() >= can_be.sum() else can_be

    @property
    def share(self) -> float:
        """How many of the compared entries have a voucher of the booking unit."""
        compared = self.compared
        shown = self.matching.is_shown[self.matching.groups.of_entry]
        return float(shown[compared].mean()) if compared.any() else 0.0

    def of(self, numbers: Sequence[int]) -> list[Entry]:
        """Return entries by their numbers."""
        wanted = [e for e in numbers if e not in self._objects]
        if wanted:
            at, entries = np.searchsorted(self.entries.e, wanted), self.entries
            names = ("account", "day", "cents", "is_original", "sent", "code")
            columns = [getattr(entries, name)[at].tolist() for name in names]
            texts = entries.table.select(*FIELDS, "id", "cents")[at].rows()
            names_alone = np.full(len(at), self._describes)
            facts = (*(are_own[at] for are_own in self._are_own), names_alone)
            rows = zip(wanted, *columns, texts, *(fact.tolist() for fact in facts), strict=True)
            for e, account, day, cents, is_original, sent, code, text, *own in rows:
                self._objects[e] = Entry(e, account, day, cents, is_original, sent, code, *text, *own)
        return [self._objects[e] for e in numbers]

    def equal(self, x: Entry) -> list[Entry]:
        """Return the other entries with an entry's amount on its account."""
        entries = self.entries
        is_equal = (entries.account == x.account) & (entries.cents == x.cents) & (entries.e != x.e)
        return [] if x.is_single else self.of(entries.e[is_equal].tolist())

    def members(self, group: int) -> list[Entry]:
        """Return the entries of a group."""
        return self.of(self.matching.groups.members(group))

    def load(self, groups: Iterable[int]) -> None:
        """Make the entries of groups at once."""
        wanted = among(len(self.matching.groups.size), [*groups])[self.matching.groups.of_entry]
        self.of(self.entries.e[wanted].tolist())

    @functools.cached_property
    def receipts(self) -> Numbers:
        """Of each entry: the sum of its receipt."""
        entries = self.entries
        receipt, first = number(entries.id if (entries.id >= 0).all() else entries.e)
        return sums(receipt, len(first), entries.cents)[receipt]

    @functools.cached_property
    def _are_own(self) -> tuple[Flags, Flags, Flags]:
        """By entry: whether its description, its document, and its amount on its account are its own."""
        lot, first = number(lots_of(self.entries.account, np.abs(self.entries.cents)))
        is_single = (sums(lot, len(first)) == 1)[lot]
        return self._is_own("description"), self._is_own("document"), is_single

    def _is_own(self, name: str) -> Flags:
        """Return by entry whether its text is of no other receipt."""
        code, receipt = np.maximum(getattr(self.entries, name), -1), self.entries.id
        first = first_rows(code, int(code.max(initial=0)) + 1)
        has_other = among(len(first), code[receipt != receipt[first[code]]])
        return np.asarray((code >= 0) & ~has_other[code])

    # ---- postings

    def first_rows(self, pieces: Iterable[Piece], account: int = NONE) -> list[int]:
        """Return a posting of each of a few pieces: on an account, else on one that entries have."""
        lines, rows = self.books.lines, list[int]()
        for v, of in [*dict.fromkeys(piece.id for piece in pieces)][:SHOWN]:
            own = self.books.rows_of_part(v, of)
            at = np.searchsorted(lines.row, own)
            order = np.lexsort((~self.books.is_used[at], lines.account[at] != account))
            rows += own[order[:1]].tolist()
        return rows

    def row_on_another(self, pieces: Iterable[Piece], x: Entry) -> list[int]:
        """Return the posting of pieces on another account than an entry's, on its side, nearest to it."""
        lines = self.books.lines
        rows = np.concatenate([self.books.rows_of_part(*piece.id) for piece in pieces])
        at = np.searchsorted(lines.row, rows)
        at = at[(lines.account[at] != x.account) & (lines.cents[at] * x.cents > 0)]
        nearest = at[np.argsort(np.abs(lines.cents[at] - x.cents), kind="stable")][:1]
        return [*map(int, lines.row[nearest])]

    def free_rows(self, entries: Sequence[Entry]) -> list[int]:
        """Return the postings of no matched group on the accounts of entries, near their days."""
        lines, gate = self.books.lines, self.matching.gate
        on_accounts = np.isin(lines.account, [x.account for x in entries])
        days = [x.day for x in entries]
        is_near = (lines.day >= min(days) + gate[0]) & (lines.day <= max(days) + gate[1])
        rows = lines.row[on_accounts & is_near]
        return [*map(int, rows[self.draft.posting_group[rows] < 0])]

    def sum(self, rows: Sequence[int]) -> int:
        """Return the sum of postings."""
        lines = self.books.lines
        return int(lines.cents[np.searchsorted(lines.row, rows)].sum())

    def exported(self, entries: Sequence[Entry]) -> int:
        """Return the sum of entries as they were exported; of foreign ones what the ledger has for them."""
        is_foreign = self.entries.is_foreign[np.searchsorted(self.entries.e, [x.e for x in entries])]
        return sum(x.cents if foreign else x.exported for x, foreign in zip(entries, is_foreign, strict=True))

    def voucher_of_entry(self) -> Numbers:
        """Return the voucher of each entry that is in a pair, NONE of any other one."""
        v = np.full(len(self.matching.groups.size), NONE)
        v[self.matching.group] = self.matching.vouchers
        return v[self.matching.groups.of_entry]

    def group(self, number: int, entries: Iterable[Entry]) -> Group:
        """Return entries as a group, with the day from which its delay counts."""
        return Group(number, tuple(entries), int(self.matching.groups.due[number]))
