"""Search of bookkeeping categories (interface, sections 2.1 to 2.3 and 4.1)."""

from __future__ import annotations

from functools import reduce
from operator import and_

from starlette.requests import Request
from starlette.responses import Response

from bktools.sandbox.auth import Caller
from bktools.sandbox.paging import Condition, any_of, equal, field, page_parameters
from bktools.sandbox.routes.pages import page_answer
from bktools.sandbox.store import State
from bktools.sandbox.validation import read_body

SORTABLE = ("id", "companyId", "categoryGroupId", "name", "archived", "accountId", "taxCodeId")

_LISTS = {"ids": "id", "accountIds": field("accountId"), "categoryGroupIds": field("categoryGroupId")}


async def search(request: Request, state: State, caller: Caller) -> Response:
    """Answer one page of the categories that all filters let through."""
    paging = page_parameters(request.query_params)
    sent = await read_body(request, "CategorySearch")
    caller.check_company(sent["companyId"], known=state.store.company(sent["companyId"]) is not None)
    conditions = [equal("company_id", sent["companyId"])]
    conditions += [any_of(column, sent[name]) for name, column in _LISTS.items() if sent[name]]
    if sent["archived"] is not None:
        conditions.append(equal(field("archived"), sent["archived"]))
    if sent["name"]:
        conditions.append(Condition(f"instr(folded({field('name')}), ?) > 0", (sent["name"].casefold(),)))
    return page_answer(state, "categories", reduce(and_, conditions), paging, SORTABLE)
