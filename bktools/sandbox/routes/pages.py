"""The answer both searches give: rows and the pagination envelope (interface, section 2.3)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from bktools.sandbox.answers import text_answer
from bktools.sandbox.paging import Condition, Cursors, PageRequest, SortKey, Span, all_of, read_order
from bktools.sandbox.state import State


def page_answer(
    state: State, table: str, conditions: list[Condition], request: PageRequest, sortable: Mapping[str, SortKey]
) -> Response:
    """Return the page of a table that a request asks for."""
    matching = all_of(conditions)
    order = read_order(request, sortable)
    cursors = Cursors(state.store.settings["secret"], [table, matching, [key.sql for key in order]])
    span = Span(
        after=None if request.after is None else cursors.read("after", request.after),
        before=None if request.before is None else cursors.read("before", request.before),
        offset=request.offset,
    )
    limit = state.max_limit if request.limit is None else min(request.limit, state.max_limit)
    rows = state.store.page(table, matching, order, span, limit)
    pagination: dict[str, Any] = {
        "currentRequestPagination": request.echo(),
        "hasNextPage": rows.has_next,
        "hasPreviousPage": rows.has_previous,
        "total": rows.total,
    }
    if rows.keys:
        pagination |= {"startCursor": cursors.write(rows.keys[0]), "endCursor": cursors.write(rows.keys[-1])}
    envelope = json.dumps(pagination, ensure_ascii=False)
    return text_answer(f'{{"data": [{", ".join(rows.bodies)}], "pagination": {envelope}}}')
