"""Search and read of employees (interface, sections 2.6, 4.4 and 4.5)."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from bktools.sandbox.answers import Refusal, ScopeRefusal, text_answer
from bktools.sandbox.auth import ORGANISATION_SCOPE, Caller
from bktools.sandbox.paging import Condition, SortKey, read_page_request
from bktools.sandbox.routes.pages import page_answer
from bktools.sandbox.state import State
from bktools.sandbox.store import any_of
from bktools.sandbox.validation import uuid_text

# The interface shows the meaning of the filters, not their names.
FILTERS = ("companyId", "email", "code")

SORTABLE = {
    "id": SortKey("id"),
    "companyId": SortKey("company_id"),
    "email": SortKey("email"),
    "firstName": SortKey("first_name"),
    "lastName": SortKey("last_name"),
    "code": SortKey("code", nullable=True),
    "jobTitle": SortKey("job_title", nullable=True),
    "phone": SortKey("phone", nullable=True),
    "role": SortKey("role", nullable=True),
}


async def search(request: Request, state: State, caller: Caller) -> Response:
    """Answer one page of the employees that all filters let through."""
    page = read_page_request(request.query_params, FILTERS)
    sent = {name: values[0] for name, values in page.parameters.items() if name in FILTERS}
    conditions = []
    if "companyId" in sent:
        company = uuid_text("companyId", sent["companyId"])
        caller.check_company(company, known=state.store.company(company) is not None)
        conditions.append(Condition("company_id = ?", (company,)))
    elif ORGANISATION_SCOPE not in caller.scopes:
        raise ScopeRefusal(403)
    elif caller.companies is not None:
        conditions.append(any_of("company_id", list(caller.companies)))
    conditions += [Condition(f"{name} = ?", (sent[name],)) for name in ("email", "code") if name in sent]
    return page_answer(state, "employees", conditions, page, SORTABLE)


async def get(request: Request, state: State, caller: Caller) -> Response:
    """Answer one employee."""
    employee_id = uuid_text("employeeId", request.path_params["employeeId"])
    found = state.store.employee(employee_id)
    if found is None:
        raise Refusal(404, "NOT_FOUND", f"there is no employee {employee_id}")
    company, body = found
    caller.check_company(company, known=True)
    return text_answer(f'{{"data": {body}}}')
