"""The answer both searches give: rows and the pagination envelope (interface, section 2.3)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from starlette.responses import Response

from bktools.sandbox.answers import text_answer
from bktools.sandbox.paging import Condition, Cursors, Span, read_order
from bktools.sandbox.store import State


def page_answer(
    state: State, table: str, matching: Condition, sent: dict[str, list[str]], sortable: Sequence[str]
) -> Response:
    """Return the page of a table that a request's parameters ask for."""
    single = {name: values[0] for name, values in sent.items()}
    numbers: dict[str, int] = {name: int(single[name]) for name in ("limit", "offset") if name in single}
    order = read_order(sent, sortable)
    cursors = Cursors(state.store.settings["secret"], [table, matching, order])
    bounds = {name: cursors.read(name, single[name]) for name in ("after", "before") if name in single}
    span = Span(**bounds, offset=numbers.get("offset", 0))
    rows = state.store.page(table, matching, order, span, min(numbers.get("limit", state.max_limit), state.max_limit))
    echo: dict[str, object] = {"parameters": sent, **{name: single[name] for name in bounds}, **numbers}
    if "sorting_keys" in sent:
        echo |= {"sortingKeys": sent["sorting_keys"], "sortingOrder": sent["sorting_order"]}
    pagination = {
        "currentRequestPagination": echo,
        "hasNextPage": rows.has_next,
        "hasPreviousPage": rows.has_previous,
        "total": rows.total,
    }
    if rows.keys:
        pagination |= {"startCursor": cursors.write(rows.keys[0]), "endCursor": cursors.write(rows.keys[-1])}
    envelope = json.dumps(pagination, ensure_ascii=False)
    return text_answer(f'{{"data": [{", ".join(rows.bodies)}], "pagination": {envelope}}}')
