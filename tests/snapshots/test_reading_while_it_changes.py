"""Rows come, go and change between pages: the result is complete, or there is a DriftError."""

# ruff: noqa: D102, FBT001 - the rules say by their names what they do

from __future__ import annotations

import os
import uuid
from typing import Any

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from bktools.contract.categories import CATEGORIES, Category
from bktools.contract.paging import Page, Pagination
from bktools.errors import DriftError
from bktools.progress import progress
from bktools.service import pages
from bktools.snapshots.fetch import fetch

COMPANY = str(uuid.UUID(int=1))
RUNS = int(os.environ.get("BKTOOLS_TEST_RUNS", "80"))
SYMBOLS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


def category(number: int, version: int = 0) -> Category:
    own = {"id": str(uuid.UUID(int=number)), "company_id": COMPANY, "category_group_id": COMPANY}
    return Category(**own, name=f"{number} v{version}", archived=False)


class ChangingTable(RuleBasedStateMachine):
    """A table with all its past states; each page of a reading is answered from one of them.

    Cursors are followed one after another, so their pages see later and later states. Pages side by side are
    answered in any order. Rows are in an order of their own (`by_update` False: they come anywhere and stay
    where they are) or in that of their last change (they come and are moved to the end).
    """

    by_update = False
    by_position = False
    readings = 0
    drifts = 0
    quick = 0

    @initialize(rows=st.integers(0, 14), cap=st.integers(1, 5))
    def begin(self, rows: int, cap: int) -> None:
        # A row is its place in the order and its record.
        self.states = [[(float(number), category(number)) for number in range(1, rows + 1)]]
        self.cap = cap
        self.made = rows
        self.cursors: dict[str, tuple[float, int]] = {}

    @rule(where=st.floats(0, 1))
    def insert(self, where: float) -> None:
        now = self.states[-1]
        self.made += 1
        place = self._end() if self.by_update else self._between(int(where * len(now)))
        self._next([*now, (place, category(self.made))])

    @rule(which=st.integers(0, 30))
    def delete(self, which: int) -> None:
        now = list(self.states[-1])
        if now:
            del now[which % len(now)]
            self._next(now)

    @rule(which=st.integers(0, 30))
    def touch(self, which: int) -> None:
        now = list(self.states[-1])
        if now:
            place, record = now.pop(which % len(now))
            changed = msgspec.structs.replace(record, name=f"{record.name}+")
            self._next([*now, (self._end() if self.by_update else place, changed)])

    @rule(times=st.lists(st.integers(0, 50), min_size=1, max_size=12), slow=st.booleans())
    def read(self, times: list[int], slow: bool) -> None:
        """Read the table while it goes through its states; judge what came."""
        seen: list[list[int]] = []
        at = [0]

        def search(*, after=None, offset=None, limit=None) -> Page[Any]:
            if after is None and offset is None:
                seen.append([])
            if offset is None:
                # Later and later, as far as the states go.
                at[0] = min(at[0] + times[len(seen[-1]) % len(times)] % 3, len(self.states) - 1)
                moment = at[0]
            else:
                moment = at[0] + times[offset % len(times)] % (len(self.states) - at[0])
                ChangingTable.quick += 1
            seen[-1].append(moment)
            return self._page(self.states[moment], after, offset, min(limit or self.cap, self.cap))

        ChangingTable.readings += 1
        with progress("categories", shown=False) as bar:
            try:
                rows, facts = fetch(CATEGORIES, {}, search, bar, threads=2 if slow else 1)
            except DriftError:
                ChangingTable.drifts += 1
                return
        assert facts.complete
        found = rows.column("id").to_pylist()
        states = self.states[min(seen[-1]) : max(seen[-1]) + 1]
        lived = [{record.id for _, record in state} for state in states]
        assert len(found) == len(set(found))
        assert set.intersection(*lived) <= set(found) <= set.union(*lived)
        # What was seen is what the next readings begin with: time does not go back.
        self.states = self.states[max(seen[-1]) :]

    def _page(
        self, rows: list[tuple[float, Category]], after: str | None, offset: int | None, limit: int
    ) -> Page[Any]:
        begin = offset or 0
        if after is not None:
            begin = self._after(rows, after)
        page = rows[begin : begin + limit]
        start = end = None
        if page:
            end = "=" + "".join(SYMBOLS[len(self.cursors) >> shift & 31] for shift in (15, 10, 5, 0))
            self.cursors[end] = (page[-1][0], begin + len(page))
            start = f"~{end}"
            self.cursors[start] = (page[0][0], begin + 1)
        envelope = Pagination(begin + limit < len(rows), begin > 0, None, start, end, len(rows))
        return Page([record for _, record in page], envelope)

    def _after(self, rows: list[tuple[float, Category]], cursor: str) -> int:
        """Return where the rows after a cursor begin: behind the row it was made of, or at its position."""
        place, position = self.cursors[cursor]
        return position if self.by_position else sum(there <= place for there, _ in rows)

    def _next(self, rows: list[tuple[float, Category]]) -> None:
        self.states.append(sorted(rows, key=lambda row: row[0]))

    def _end(self) -> float:
        return max((place for state in self.states for place, _ in state), default=0.0) + 1.0

    def _between(self, index: int) -> float:
        # Never a place that another row ever had: rows that were deleted do not come back.
        taken = sorted({place for state in self.states for place, _ in state})
        now = [place for place, _ in self.states[-1]]
        low = now[index - 1] if index else 0.0
        high = next((place for place in taken if place > low), low + 1.0)
        return (low + high) / 2


class ChangingTableByUpdate(ChangingTable):
    """The same in the order of the last change."""

    by_update = True


class ShrinkingTableByPosition(ChangingTable):
    """Cursors are positions, and rows go: the rows behind them move to places that were read already.

    No row comes: one that replaces a lost one hides both from a reader, as the service's count stays.
    """

    by_position = True

    def insert(self, where: float) -> None:  # type: ignore[override]
        """Insert nothing."""


@pytest.mark.parametrize("machine", [ChangingTable, ChangingTableByUpdate, ShrinkingTableByPosition])
def test_the_result_is_complete_or_there_is_a_drift_error(machine, monkeypatch):
    """Every row of the whole time is there once, and no other (BKTOOLS_TEST_RUNS=… gives more runs)."""
    monkeypatch.setattr(pages, "LATENCY", 0.0)
    monkeypatch.setattr(pages, "FEWEST_PAGES", 1)
    monkeypatch.setattr(pages, "SMALLEST_PAGE", 2)
    ChangingTable.readings = ChangingTable.drifts = ChangingTable.quick = 0
    checks = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
    steps = {"max_examples": RUNS, "stateful_step_count": 14, "database": None}
    # Few runs are the same ones each time: what they must have met is not left to chance.
    steps |= {"derandomize": RUNS < 160, "suppress_health_check": checks}
    run_state_machine_as_test(machine, settings=settings(**steps))
    assert ChangingTable.readings >= RUNS
    assert ChangingTable.quick > 0
    # In the order of the last change a row may come a second time. In an order that stays, it takes rows that
    # come and go so that the count fits no total, twice in a row.
    share = ChangingTable.drifts / ChangingTable.readings
    # Few runs are a rough sample.
    few = 0.05 if RUNS >= 160 else 0.2
    assert share < (0.5 if machine.by_update else few)
