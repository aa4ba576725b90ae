"""Search of bookkeeping categories (interface, sections 2.1 to 2.3 and 4.1)."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from bktools.sandbox.auth import Caller
from bktools.sandbox.paging import Condition, SortKey, read_page_request
from bktools.sandbox.routes.pages import page_answer
from bktools.sandbox.schema import OF_COMPANY
from bktools.sandbox.state import State
from bktools.sandbox.store import any_of, folded
from bktools.sandbox.validation import Field, read_body, read_flag, read_text, read_unique_uuids, read_uuid

FIELDS = {
    "companyId": Field(read_uuid, required=True),
    "ids": Field(read_unique_uuids),
    "accountIds": Field(read_unique_uuids),
    "categoryGroupIds": Field(read_unique_uuids),
    "archived": Field(read_flag),
    "name": Field(read_text),
}

SORTABLE = {
    "id": SortKey("id"),
    "companyId": SortKey("company"),
    "categoryGroupId": SortKey("category_group_id"),
    "name": SortKey("name"),
    "archived": SortKey("archived"),
    "accountId": SortKey("account_id", nullable=True),
    "taxCodeId": SortKey("tax_code_id", nullable=True),
}

_LISTS = {"ids": "id", "accountIds": "account_id", "categoryGroupIds": "category_group_id"}


async def search(request: Request, state: State, caller: Caller) -> Response:
    """Answer one page of the categories that all filters let through."""
    page = read_page_request(request.query_params)
    sent = await read_body(request, FIELDS)
    caller.check_company(sent["companyId"], known=state.store.company(sent["companyId"]) is not None)
    conditions = [Condition(OF_COMPANY, (sent["companyId"],))]
    conditions += [any_of(column, sent[field]) for field, column in _LISTS.items() if sent[field]]
    if sent["archived"] is not None:
        conditions.append(Condition("archived = ?", (sent["archived"],)))
    if sent["name"]:
        conditions.append(Condition("instr(folded, ?) > 0", (folded(sent["name"]),)))
    return page_answer(state, "categories", conditions, page, SORTABLE)
