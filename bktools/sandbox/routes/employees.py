"""Search and read of employees (interface, sections 2.6, 4.4 and 4.5)."""

from __future__ import annotations

from functools import reduce
from operator import and_

from starlette.requests import Request
from starlette.responses import Response

from bktools.sandbox.answers import Refusal, ScopeRefusal, text_answer
from bktools.sandbox.auth import ORGANISATION_SCOPE, Caller
from bktools.sandbox.paging import EVERY_ROW, any_of, equal, field, page_parameters
from bktools.sandbox.routes.pages import page_answer
from bktools.sandbox.store import State
from bktools.sandbox.validation import uuid_text

# The interface shows the meaning of the filters, not their names.
FILTERS = ("companyId", "email", "code")

SORTABLE = ("id", "companyId", "email", "firstName", "lastName", "code", "jobTitle", "phone", "role")


async def search(request: Request, state: State, caller: Caller) -> Response:
    """Answer one page of the employees that all filters let through."""
    sent = page_parameters(request.query_params, FILTERS)
    conditions = [EVERY_ROW]
    if "companyId" in sent:
        company = uuid_text("companyId", sent["companyId"][0])
        caller.check_company(company, known=state.store.company(company) is not None)
        conditions.append(equal("company_id", company))
    elif ORGANISATION_SCOPE not in caller.scopes:
        raise ScopeRefusal(403)
    elif caller.companies is not None:
        conditions.append(any_of("company_id", caller.companies))
    conditions += [equal(field(name), sent[name][0]) for name in ("email", "code") if name in sent]
    return page_answer(state, "employees", reduce(and_, conditions), sent, SORTABLE)


async def get(request: Request, state: State, caller: Caller) -> Response:
    """Answer one employee."""
    employee_id = uuid_text("employeeId", request.path_params["employeeId"])
    found = state.store.employee(employee_id)
    if found is None:
        raise Refusal(404, "NOT_FOUND", f"there is no employee {employee_id}")
    company, body = found
    caller.check_company(company, known=True)
    return text_answer(f'{{"data": {body}}}')
