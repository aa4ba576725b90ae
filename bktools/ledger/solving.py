"""Open groups that compete for pieces of the ledger are told together, with the fewest mistakes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bktools.ledger.candidates import Group, Piece, PieceId
from bktools.ledger.stories import Story
from bktools.ledger.verdict import Status

# Steps of the search; with more, the groups are open.
MOST_STEPS = 40_960
Solution = Mapping[int, Story]


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
