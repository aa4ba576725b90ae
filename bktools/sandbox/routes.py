"""The six operations: what each does, needs and answers. `SERVED` names them all."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from bktools.sandbox.answers import Refusal, ScopeRefusal, json_answer, text_answer
from bktools.sandbox.auth import ORGANISATION_SCOPE, Caller
from bktools.sandbox.jobs import ExportJob, as_answered
from bktools.sandbox.nouns import EMPLOYEES, NOUNS, Listed
from bktools.sandbox.paging import Condition, Cursors, all_of, among, check_page, condition_of, order_of
from bktools.sandbox.requests import AccountCreate, ExportJobCreate, Paging, read_body, read_query
from bktools.sandbox.store import State, new_id
from bktools.sandbox.world import Account, Company, camel

Handler = Callable[[Request, State, Caller], Awaitable[Response]]


class Operation(NamedTuple):
    """An operation: its handler, and the scope that it needs."""

    handler: Handler
    scope: str


# Fields that must be equal for a repeated create to match the account; a tax code where it is sent.
_SENT = [name for name in Account._fields if name != "id"]


def search(noun: Listed) -> Handler:
    """Return the handler of a noun's search: one page of rows that match (interface, sections 4.1, 4.4)."""

    async def answer(request: Request, state: State, caller: Caller) -> Response:
        parameters, page = read_query(request, noun.query)
        check_page(page, noun.sortable)
        sent = page if noun.body is None else await read_body(request, noun.body)
        values = {name: getattr(sent, name) for name in ("company_id", *noun.filters)}
        company = values.pop("company_id")
        conditions: list[Condition] = []
        if company is not None:
            conditions.append(condition_of("company_id = ?", _company(state, caller, company).id))
        else:
            caller.require(ORGANISATION_SCOPE)
            if caller.companies is not None:
                conditions.append(condition_of(among("company_id"), caller.companies))
        # An empty list is no filter.
        given = {name: value for name, value in values.items() if value not in (None, [])}
        conditions += [condition_of(noun.filters[name], value) for name, value in given.items()]
        return _page(state, noun, all_of(*conditions), page, parameters)

    return answer


def _company(state: State, caller: Caller, company_id: str) -> Company:
    """Return a company that the caller can see; any other one is refused as one that does not exist."""
    company = state.store.company(company_id)
    if company is None or (caller.companies is not None and company_id not in caller.companies):
        raise ScopeRefusal(403)
    return company


def _page(
    state: State, noun: Listed, matching: Condition, page: Paging, parameters: dict[str, list[str]]
) -> Response:
    """Return the page of a noun that a search's parameters ask for, in its envelope (section 2.3)."""
    order = order_of(page)
    cursors = Cursors([noun.table, matching, order])
    given = {name: getattr(page, name) for name in ("after", "before", "limit", "offset")}
    echo: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    bounds = {name: cursors.read(name, echo[name]) for name in ("after", "before") if name in echo}
    limit = min(echo.get("limit", state.max_limit), state.max_limit)
    rows, has_previous, has_next, total = state.store.page(
        noun.table, matching, order, limit, **bounds, offset=echo.get("offset", 0)
    )
    if page.sorting_keys:
        echo |= {"sortingKeys": page.sorting_keys, "sortingOrder": page.sorting_order}
    pagination = {
        "currentRequestPagination": {"parameters": parameters, **echo},
        "hasNextPage": has_next,
        "hasPreviousPage": has_previous,
        "total": total,
    }
    if rows:
        pagination |= {"startCursor": cursors.write(rows[0][1:]), "endCursor": cursors.write(rows[-1][1:])}
    envelope = json.dumps(pagination, ensure_ascii=False)
    return text_answer(f'{{"data": [{", ".join(row[0] for row in rows)}], "pagination": {envelope}}}')


async def get_employee(request: Request, state: State, caller: Caller) -> Response:
    """Answer one employee (section 4.5)."""
    employee_id = request.path_params["employeeId"].lower()
    employee = state.store.employee(employee_id)
    if employee is None:
        raise Refusal(404, "NOT_FOUND", f"there is no employee {employee_id}")
    company, body = employee
    _company(state, caller, company)
    return text_answer(f'{{"data": {body}}}')


async def create_account(request: Request, state: State, caller: Caller) -> Response:
    """Create an account: 201 when it is new, 200 when it exists and nothing differs, else 409 (4.3)."""
    sent = await read_body(request, AccountCreate)
    company = _company(state, caller, sent.company_id)
    metadata = None if sent.metadata is None else json.dumps(sent.metadata, sort_keys=True)
    tax_code = sent.tax_code_external_id or None
    account = Account(
        new_id(), company.id, sent.external_id, sent.name, sent.archived, sent.code, metadata, tax_code
    )
    stored, new = state.store.create_account(account)
    compared = [name for name in _SENT if getattr(sent, name) is not msgspec.UNSET]
    differing = [camel(name) for name in compared if getattr(account, name) != getattr(stored, name)]
    if differing:
        raise Refusal(
            409,
            "ACCOUNT_ALREADY_EXISTS",
            f"company {stored.company_id} has an account with externalId {stored.external_id!r} already, "
            f"with another {', '.join(differing)}",
        )
    fields = {camel(name): value for name, value in sorted(stored._asdict().items()) if name != "metadata"}
    fields["metadata"] = json.loads(stored.metadata or "null")
    return json_answer({"data": fields}, 201 if new else 200)


async def create_export_job(request: Request, state: State, caller: Caller) -> Response:
    """Create an export job, or refuse it for one of the three documented reasons (section 4.2)."""
    sent = await read_body(request, ExportJobCreate)
    company = _company(state, caller, sent.company_id)
    if not company.has_integration:
        message = (
            f"no active accounting integration exists for company {company.id} and its accounting system"
        )
        raise Refusal(404, "ACCOUNTING_INTEGRATION_NOT_FOUND", message)
    if not company.has_contra_accounts:
        rule = (
            f"contra accounts of company {company.id} are not fully configured; "
            "map them in the accounting settings"
        )
        raise Refusal(400, "MISSING_CONTRA_ACCOUNTS", rule)
    job = state.store.create_export_job(
        ExportJob(
            id=new_id(),
            company_id=company.id,
            created_at=0.0,
            seconds=state.job_seconds,
            is_interactive=sent.is_interactive is not False,
            number_of_items=len(sent.accounting_entry_ids),
            vendor_based_bookkeeping=bool(sent.options and sent.options.vendor_based_bookkeeping),
            created_by=sent.employee_id,
        ),
        sent.accounting_entry_ids,
    )
    if job is None:
        busy = f"an export job is already in progress for company {company.id}"
        raise Refusal(409, "EXPORT_ALREADY_IN_PROGRESS", busy)
    return json_answer({"data": as_answered(job)}, 201)


async def get_balance(request: Request, state: State, caller: Caller) -> Response:  # noqa: ARG001 - every handler takes the three
    """Answer the balance of the company that the token is for (section 4.6)."""
    company = state.store.company(caller.companies[0]) if caller.companies else None
    if company is None:
        raise ScopeRefusal(403)
    # The store keeps amounts as text, so that no digit changes.
    return text_answer(
        f'{{"currency": "{company.currency}", "current": {company.current}, "available": '
        f"{company.available}}}"
    )


SERVED = {noun.operation: Operation(search(noun), noun.scope) for noun in NOUNS} | {
    "create_account": Operation(create_account, "accounts:write"),
    "create_export_job": Operation(create_export_job, "export_jobs:write"),
    "get_employee": Operation(get_employee, EMPLOYEES.scope),
    "get_balance": Operation(get_balance, "balance:read"),
}
