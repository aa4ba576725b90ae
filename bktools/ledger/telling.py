"""Open groups are told: a status is given where all stories with the fewest mistakes agree on it."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from bktools.ledger.booking_units import UNDER_A_WEEK
from bktools.ledger.candidates import Entry, Group, Piece, PieceId
from bktools.ledger.practice import may_hold
from bktools.ledger.stories import Story, stories_of
from bktools.ledger.tax_rates import WHOLE, net_of
from bktools.ledger.verdict import ARRIVED, OpenGroup, Reason, Status
from bktools.ledger.working_papers import SHOWN, WorkingPapers

# Steps of the search; with more, the groups are open.
MOST_STEPS = 40_960
# Groups that are decided together; the search goes as deep, and more are open.
DEEPEST = 500
# How often an entry is on its account, by its status; not at all with any other one.
TIMES = {Status.BOOKED: 1, Status.IN_A_SUM: 1, Status.BOOKED_TWICE: 2}
Solution = Mapping[int, Story]


class Telling:
    """The stories of open groups, and what they leave.

    Each entry gets a status where all cheapest stories agree, OPEN where they do not. An entry that is
    missing in all of them has no status yet.

    Attributes
    ----------
    groups : sequence of Group
        The groups that are told.
    used : set
        The pieces that each solution uses: they are of no other entry.
    differences : mapping
        What the pieces of an open group have more than the group, where it is known.
    """

    def __init__(self, papers: WorkingPapers, groups: Sequence[Group]) -> None:
        self.papers, self.practice, self.groups = papers, papers.practice, groups
        self.used: set[PieceId] = set()
        self.differences: dict[int, int | None] = {}
        self._holds = {group.number: may_hold(self.practice, group) for group in groups}
        self._stories = {
            group.number: stories_of(self.practice, group, self._holds[group.number]) for group in groups
        }
        for together in components(groups, self._holds):
            self._decide(together)

    def _decide(self, groups: Sequence[Group]) -> None:
        """Decide groups that compete for pieces."""
        pieces = {piece.id: piece for group in groups for piece in self._holds[group.number]}
        prices = {number: self._price(groups, piece) for number, piece in pieces.items()}
        search = Search(groups, self._stories, prices)
        possible = search.possible() if search.is_complete else {}
        always = search.always_used() if search.is_complete else frozenset()
        # No entry is decided while a piece that names it, or takes it alone away, is left unexplained.
        unexplained = [piece for number, piece in pieces.items() if number not in always]
        named = {e: piece for piece in unexplained for e in self.practice.free.named.get(piece.id, ())}
        singles = [x for group in groups for x in group.entries if x.is_single]
        named |= {x.e: piece for x in singles for piece in unexplained if piece.takes_away(x)}
        for group in groups:
            shown = [pieces[one] for one in search.used(group.number)] if possible else []
            opened = []
            for x in group.entries:
                states = possible.get(x.e, set())
                is_named = x.e in named and self.practice.is_near(group, named[x.e], x)
                if len(states) != 1 or Status.OPEN in states or is_named:
                    opened.append(x)
                elif Status.MISSING not in states:
                    self._give(x, states, shown)
            chosen = [one[group.number].pieces for one in search.solutions if possible]
            versions = [[pieces[own] for own in sorted(some)] for some in chosen]
            if opened:
                self._leave(group, opened, shown, [own for own in versions if own])
                continue
            self._hold(group, versions[0])
            if abs(sum(piece.gross for piece in shown) - group.total) <= 1:  # a cent of tax
                self._match(group, shown)
        # A piece of another amount may hold more than the one entry.
        off = {
            number
            for chosen in search.solutions
            for one in chosen.values()
            if one.off
            for number in one.pieces
        }
        self.used |= always - off

    def _give(self, x: Entry, states: set[Status], shown: Sequence[Piece]) -> None:
        draft = self.papers.draft
        (status,) = states
        draft.decide(x.e, status)
        shown = self._own_first(x, shown)
        rows = self.papers.first_rows(shown, x.account)
        if status == Status.ANOTHER_ACCOUNT:  # the posting on that account first
            other = self.papers.row_on_another(shown, x)
            draft.is_held[other] = True
            if self.papers.sum(other) == x.cents and not x.is_original:
                draft.gross[other] = x.exported
            rows = [*other, *rows]
        draft.look(x.e, [*dict.fromkeys(rows)])
        if status == Status.BOOKED and shown:
            draft.days_late[x.e] = shown[0].day - x.day

    def _own_first(self, x: Entry, shown: Sequence[Piece]) -> Sequence[Piece]:
        """Return pieces: first those not reversed, of these the entry's own one, then the largest."""
        is_single = x.is_single

        def place(piece: Piece) -> tuple[bool, bool, int]:
            is_back = any(one.takes_back(piece) and one.id > piece.id for one in shown)
            return (
                is_back or piece.gross * x.cents < 0,
                not is_single or piece.gross != x.cents,
                -abs(piece.gross),
            )

        return sorted(shown, key=place)

    def _hold(self, group: Group, pieces: Sequence[Piece], booked: int | None = None) -> None:
        rows = [self.papers.books.rows_of_part(*piece.id).tolist() for piece in pieces]
        hold(self.papers, group, [*itertools.chain(*rows)], booked)

    def _match(self, group: Group, shown: Sequence[Piece]) -> None:
        """Make a group, and what is booked of it in all stories, a matched one."""
        draft, numbers = self.papers.draft, [x.e for x in group.entries]
        if all(status in ARRIVED for status in draft.status[numbers]):
            rows_of = [self.papers.books.rows_of_part(*piece.id) for piece in shown]
            rows = np.unique(np.concatenate(rows_of)) if rows_of else np.zeros(0, np.int64)
            # The other end of a move may be of another group.
            draft.match(numbers, 0, rows[draft.posting_group[rows] < 0].tolist(), 0)

    def _leave(
        self,
        group: Group,
        opened: Sequence[Entry],
        shown: Sequence[Piece],
        versions: Sequence[Sequence[Piece]],
    ) -> None:
        """Leave entries open, with the difference of their group where its postings are known.

        `versions`: what each of the stories has of the ledger. An entry with a finding of its own is not in
        the difference.
        """
        held, status = self._holds[group.number], self.papers.draft.status
        on_time = [piece for piece in held if self.practice.is_on_time(group, piece)]
        same = versions[:1] if all(other == versions[0] for other in versions) else []
        counted = next(iter(same), on_time if len(on_time) == 1 else [])
        wrong = [x for x in group.entries if x not in opened and status[x.e] not in ARRIVED]
        others = self.papers.group(group.number, (x for x in group.entries if x not in wrong))
        off = booked = None
        if any(group.accounts & piece.nets.keys() for piece in counted):
            expected = others.total + sum(x.cents * TIMES.get(status[x.e], 0) for x in wrong)
            off = sum(piece.gross for piece in counted) - expected
        # What the ledger has is not known where explanations have other sums, or is in another currency.
        sums = {sum(self._posted(group, piece) for piece in some) for some in versions or [counted]}
        if off is not None and len(sums) == 1:
            booked = sums.pop()
            self._hold(group, counted, booked)
            booked -= sum(x.exported * TIMES.get(status[x.e], 0) for x in wrong)
        if any(x.is_original for x in group.entries):
            booked = None
        self.differences[group.number] = off
        rows = self.papers.first_rows((*counted, *shown, *held))
        leave_open(self.papers, others, likeliest(opened, off), Reason.SEVERAL_STORIES, rows, booked)

    def _posted(self, group: Group, piece: Piece) -> int:
        """Return what a piece has, with its tax also where nets are compared.

        A posting of the exported amount has no tax to be added.
        """
        amount = piece.gross or sum(net for account, net in piece.nets.items() if account in group.accounts)
        is_net = self.papers.books.has_nets and amount != self.papers.exported(group.entries)
        return with_tax(self.papers, group, amount) if is_net else amount

    # ---- what a piece costs that no story explains

    def _price(self, groups: Sequence[Group], piece: Piece) -> int:
        """Return 2 for a piece that names an entry or can only be of one, 1 for one of the entries' kind.

        One of another kind that names an entry is as likely of somebody else, such as a sister company.
        """
        if any(
            x.is_named_in(piece.text) and self.practice.is_near(group, piece, x)
            for group in groups
            for x in group.entries
        ):
            return 1 + (piece.is_kind or piece.is_move)
        own = [group for group in groups if abs(piece.gross) in group.amounts]
        if not piece.is_kind or (
            not own and all(self.practice.denies(one.entries, piece.text) for one in groups)
        ):
            return 0
        return 1 + any(self._can_only_be_of(group, piece) for group in groups)

    def _can_only_be_of(self, group: Group, piece: Piece) -> bool:
        """Whether a piece has a receipt's amount, or its opposite, on its accounts, and is not denied."""
        practice = self.practice
        if practice.is_of_sums:  # it takes back the one entry of its amount
            own = [
                part
                for part in group.parts
                if abs(sum(x.cents for x in part) + piece.gross) <= practice.slack
            ]
            return (
                bool(piece.gross)
                and len(own) == 1
                and all(x.is_single and x.account in piece.nets for x in own[0])
            )
        if (
            not piece.gross
            or abs(piece.gross) != abs(group.total)
            or practice.denies(group.entries, piece.text)
        ):
            return False
        if piece.gross * group.total > 0:  # a second one comes soon, and its text is of the entry
            late = piece.day - group.due
            is_soon = practice.gate[0] <= late < practice.gate[1] + UNDER_A_WEEK
            is_own = practice.carried is not None and is_soon
        else:
            is_own = practice.carried is not None or all(x.is_single for x in group.entries)
        return is_own and group.accounts <= piece.nets.keys()


@dataclass
class Search:
    """The solutions with the fewest mistakes: a story for each group, each piece used once.

    Attributes
    ----------
    solutions : list of mapping
        By group, its story.
    is_complete : bool
        Whether all were tried.
    """

    groups: Sequence[Group]
    stories: Mapping[int, Sequence[Story]]
    # What it costs to leave a piece unexplained.
    prices: Mapping[PieceId, int]
    solutions: list[Solution] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._order = sorted(self.groups, key=lambda group: len(self.stories[group.number]))
        self._fewest = sum(self.prices.values()) + 3 * len(self.groups) + 1
        self._steps = 0
        self.is_complete = len(self.groups) <= DEEPEST
        if self.is_complete:
            self._step(0, frozenset(), 0, {})
            self.is_complete = self._steps <= MOST_STEPS

    def _step(self, place: int, used: frozenset[PieceId], mistakes: int, chosen: dict[int, Story]) -> None:
        self._steps += 1
        if mistakes > self._fewest or self._steps > MOST_STEPS:
            return
        if place == len(self._order):
            self._keep(used, mistakes, chosen)
            return
        number = self._order[place].number
        for story in self.stories[number]:
            if not story.pieces & used:
                self._step(
                    place + 1, used | story.pieces, mistakes + story.mistakes, {**chosen, number: story}
                )

    def _keep(self, used: frozenset[PieceId], mistakes: int, chosen: dict[int, Story]) -> None:
        """Keep a solution with as few mistakes as any."""
        total = mistakes + sum(price for piece, price in self.prices.items() if piece not in used)
        if total < self._fewest:
            self._fewest = total
            self.solutions.clear()
        if total == self._fewest:
            self.solutions.append(chosen)

    def possible(self) -> dict[int, set[Status]]:
        """Return the statuses of each entry in the solutions."""
        possible: dict[int, set[Status]] = defaultdict(set)
        for chosen in self.solutions:
            for story in chosen.values():
                for e, status in story.status.items():
                    possible[e].add(status)
        return possible

    def used(self, number: int) -> list[PieceId]:
        """Return the pieces that a group has in all solutions; else those that it has in any."""
        some = [chosen[number].pieces for chosen in self.solutions]
        return sorted(frozenset.intersection(*some) or frozenset().union(*some))

    def always_used(self) -> frozenset[PieceId]:
        """Return the pieces that are explained in all solutions."""
        used = [
            frozenset[PieceId]().union(*(one.pieces for one in chosen.values())) for chosen in self.solutions
        ]
        return frozenset.intersection(*used) if used else frozenset()


def components(groups: Sequence[Group], holds: Mapping[int, Sequence[Piece]]) -> list[list[Group]]:
    """Return the groups that one piece may belong to, together."""
    parent = {group.number: group.number for group in groups}

    def root(number: int) -> int:
        while parent[number] != number:
            parent[number] = number = parent[parent[number]]
        return number

    first: dict[PieceId, int] = {}
    for group in groups:
        for piece in holds[group.number]:
            parent[root(group.number)] = root(first.setdefault(piece.id, group.number))
    together = defaultdict(list)
    for group in groups:
        together[root(group.number)].append(group)
    return [*together.values()]


# ---- what stays open


def leave_open(
    papers: WorkingPapers,
    group: Group,
    opened: Sequence[Entry],
    reason: Reason,
    rows: Sequence[int] = (),
    booked: int | None = None,
) -> None:
    """Give entries of a group the status OPEN, with the postings to look at, and the sum of these.

    They are not covered where no posting may be theirs and the ledger ends before their voucher is overdue.
    Where no posting shows them, in a ledger of an unknown style, they are left by account.
    """
    draft, numbers = papers.draft, [x.e for x in opened]
    if not numbers:
        return
    if not rows and papers.is_not_overdue(group):
        draft.decide(numbers, Status.NOT_COMPARABLE, Reason.NOT_COVERED)
        return
    rows = rows[:SHOWN]
    for number in numbers:
        draft.look(number, rows)
    exported = papers.exported(group.entries)
    if reason is Reason.OTHER_CURRENCY:
        rows = papers.free_rows(group.entries)
        booked = papers.sum(rows)
        draft.is_held[rows] = True
    elif not rows and not papers.practice.is_known:
        reason = Reason.STYLE_UNKNOWN
    draft.decide(numbers, Status.OPEN, reason)
    if reason is not Reason.STYLE_UNKNOWN:
        draft.open_groups.append(OpenGroup(tuple(numbers), reason, exported, booked, tuple(rows)))


def hold(papers: WorkingPapers, group: Group, rows: Sequence[int], booked: int | None) -> None:
    """Let postings hold a group: with their tax, those of an account have together what its findings say.

    `booked`: what they have together, where that is known of open entries.
    """
    lines, draft = papers.books.lines, papers.draft
    at = np.searchsorted(lines.row, np.unique(np.array(rows, np.int64)))
    for account in group.accounts:
        here = at[lines.account[at] == account]
        own = [x for x in group.entries if x.account == account]
        draft.is_held[lines.row[here]] = True
        if any(x.is_original for x in own) or not len(here):
            continue
        nets, gross = lines.cents[here], draft.gross[lines.row[here]]
        amounts = {sign * x.cents: sign * x.exported for sign in (1, -1) for x in own}
        taxed = [amounts.get(net) or with_tax(papers, group, net) for net in nets.tolist()]
        gross = np.where(gross == nets, taxed, gross)
        status = [draft.status[x.e] for x in own]
        total: int | None = sum(papers.exported([x]) * TIMES.get(draft.status[x.e], 0) for x in own)
        if booked is not None or Status.ANOTHER_AMOUNT in status:
            total = booked if len(group.accounts) == 1 else None
        if total is not None:
            gross[np.abs(nets).argmax()] += total - gross.sum()
        draft.gross[lines.row[here]] = gross


def with_tax(papers: WorkingPapers, group: Group, cents: int) -> int:
    """Return an amount with the tax of a group: at the one rate of its entries, or in proportion."""
    exported = papers.exported(group.entries)
    rate = min(papers.practice.taxes, key=lambda one: abs(net_of(exported, one) - group.total))
    if abs(net_of(exported, rate) - group.total) <= len(group.entries):
        return round(cents * (WHOLE + rate) / WHOLE)
    return round(cents * exported / group.total) if group.total else cents


def leave_by_account(papers: WorkingPapers) -> None:
    """Leave an open group an account of the entries of which the ledger does not show how it books them."""
    by_account = defaultdict(list)
    reasons = papers.draft.reasons
    for x in papers.of(sorted(e for e in reasons if reasons[e] is Reason.STYLE_UNKNOWN)):
        by_account[x.account].append(x)
    for own in by_account.values():
        rows, exported = papers.free_rows(own), papers.exported(own)
        booked = papers.sum(rows)
        papers.draft.is_held[rows] = True
        numbers = tuple(x.e for x in likeliest(own, booked - exported))
        group = OpenGroup(numbers, Reason.STYLE_UNKNOWN, exported, booked, tuple(rows))
        papers.draft.open_groups.append(group)


def likeliest(opened: Sequence[Entry], off: int | None) -> list[Entry]:
    """Return entries in question, those first whose mistakes explain what their group has more.

    First those that explain it alone, then those that do with another one, then those of a similar size.
    """
    if off is None:
        return sorted(opened, key=lambda x: -abs(x.cents))
    # Left out, there twice, or with a decimal point that slipped.
    more = [(x.e, cents) for x in opened for cents in (-x.cents, x.cents, 9 * x.cents)]
    alone = {e for e, cents in more if cents == off}
    by_cents = defaultdict(set)
    for e, cents in more:
        by_cents[cents].add(e)
    in_pair = {e for e, cents in more if by_cents[off - cents] - {e}}

    def distance(x: Entry) -> tuple[bool, bool, bool, int]:
        left = min(abs(off + x.cents), abs(off - x.cents))
        # Digits that are changed over differ by a multiple of nine.
        is_odd = off % 9 != 0 or left > 9 * abs(x.cents)
        return (x.e not in alone, bool(alone) or x.e not in in_pair, is_odd, left)

    return sorted(opened, key=distance)
