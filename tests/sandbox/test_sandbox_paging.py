"""Pages lead through a table exactly, whatever the sorting and whatever changes meanwhile."""

from __future__ import annotations

import itertools

import pytest
from sandbox_clients import client_of, page_of

from bktools.sandbox import Server

ORDERS = ("ASC", "ASC_NULLS_FIRST", "ASC_NULLS_LAST", "DESC", "DESC_NULLS_FIRST", "DESC_NULLS_LAST")


@pytest.fixture(scope="session")
def table(shared):
    """All categories in the order of the table, read in one page by a server that allows it."""
    with Server(shared.file.parent, max_limit=1000) as wide, client_of(wide) as client:
        rows = page_of(client, wide, limit=1000)["data"]
    assert len(rows) == 240
    return rows


def forwards(search, **paging):
    rows, cursor = [], None
    while True:
        page = search(**paging, **({"after": cursor} if cursor else {}))
        rows += page["data"]
        envelope = page["pagination"]
        assert envelope["hasPreviousPage"] == (cursor is not None)
        assert envelope["total"] == 240
        if not envelope["hasNextPage"]:
            return rows, envelope
        cursor = envelope["endCursor"]


def backwards(search, last, **paging):
    """Read from the last page towards the first."""
    pages, envelope = [], last
    while envelope["hasPreviousPage"]:
        page = search(**paging, before=envelope["startCursor"])
        envelope = page["pagination"]
        assert envelope["hasNextPage"] is True
        pages.append(page["data"])
    return list(itertools.chain.from_iterable(reversed(pages)))


def expected_order(table, keys, orders):
    rows = [(number, row) for number, row in enumerate(table)]
    descending_ties = orders[-1].startswith("DESC")
    rows.sort(key=lambda pair: pair[0], reverse=descending_ties)
    for key, order in reversed(list(zip(keys, orders, strict=True))):
        descending = order.startswith("DESC")
        nulls_first = order in {"ASC_NULLS_FIRST", "DESC", "DESC_NULLS_FIRST"}
        with_value = [pair for pair in rows if pair[1][key] is not None]
        without = [pair for pair in rows if pair[1][key] is None]
        with_value.sort(key=lambda pair: pair[1][key], reverse=descending)
        rows = without + with_value if nulls_first else with_value + without
    return [row["id"] for _, row in rows]


@pytest.mark.parametrize("order", ORDERS)
def test_cursors_lead_both_ways(search, table, order):
    """Through a column with nulls in each of the six orders, and back."""
    rows, last = forwards(search, sorting_keys="taxCodeId", sorting_order=order, limit=70)
    assert [row["id"] for row in rows] == expected_order(table, ["taxCodeId"], [order])
    assert backwards(search, last, sorting_keys="taxCodeId", sorting_order=order, limit=70) == rows[:210]


@pytest.mark.parametrize("offset", [0, 1, 99, 100, 101, 199, 200, 239, 240, 241, 2**63 - 1])
def test_offset(search, table, offset):
    """An offset skips exactly so many rows, and the flags say what lies on either side."""
    page = search(offset=offset, limit=30)
    envelope = page["pagination"]
    assert page["data"] == table[offset : offset + 30]
    assert envelope["hasPreviousPage"] == (offset > 0)
    assert envelope["hasNextPage"] == (offset + 30 < 240)
    assert ("startCursor" in envelope) == ("endCursor" in envelope) == (offset < 240)


def test_limit_is_capped_silently(search):
    """More than the cap is answered with the cap; no limit at all means the cap."""
    page = search(limit=1000)
    assert len(page["data"]) == 100
    assert page["pagination"]["currentRequestPagination"]["limit"] == 1000
    assert len(search()["data"]) == 100


def test_cursor_belongs_to_its_query(search, refusal):
    """A cursor is refused with other filters or sorting, when it was changed, and when nobody wrote it."""
    cursor = search(limit=5)["pagination"]["endCursor"]
    assert "another search" in refusal({"archived": False}, after=cursor)
    assert "another search" in refusal(after=cursor, sorting_keys="name", sorting_order="ASC")
    changed = ("B" if cursor[0] == "A" else "A") + cursor[1:]
    assert "no cursor" in refusal(after=changed)
    assert "no cursor" in refusal(before="AAAA====")
    assert "no cursor" in refusal(before="~~=A2")
    # The size of a page and an order that is spelled out belong to no query.
    assert len(search(limit=7, after=cursor)["data"]) == 7


def test_cursors_hold_while_rows_come_and_go(server, client):
    """Rows come and go during paging: no other is lost or repeated, and the cursor's row may go."""
    before = server.category_ids()
    seen, cursor = [], None
    while True:
        page = page_of(client, server, limit=30, **({"after": cursor} if cursor else {}))
        seen += [row["id"] for row in page["data"]]
        if not page["pagination"]["hasNextPage"]:
            break
        cursor = page["pagination"]["endCursor"]
        server.remove_category(seen[0] if len(seen) < 60 else seen[-1])
        if len(seen) < 150:
            before.append(server.add_category("added while paging"))
    assert seen == before
    assert page["pagination"]["total"] == len(server.category_ids()) < len(before)
