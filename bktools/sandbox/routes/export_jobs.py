"""Creation of export jobs (interface, sections 2.5, 3, 4.2 and 7.1)."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from bktools.sandbox.answers import Refusal, json_answer
from bktools.sandbox.auth import Caller
from bktools.sandbox.jobs import ExportJob, job_at
from bktools.sandbox.store import State, new_id
from bktools.sandbox.validation import read_body


async def create(request: Request, state: State, caller: Caller) -> Response:
    """Create an export job, or say which of the three documented reasons stands against it."""
    sent = await read_body(request, "ExportJobCreate")
    company = state.store.company(sent["companyId"])
    caller.check_company(sent["companyId"], known=company is not None)
    assert company is not None
    if not company.has_integration:
        message = f"no active accounting integration exists for company {company.id} and its accounting system"
        raise Refusal(404, "ACCOUNTING_INTEGRATION_NOT_FOUND", message)
    if not company.has_contra_accounts:
        message = (
            f"contra accounts of company {company.id} are not fully configured; map them in the accounting settings"
        )
        raise Refusal(400, "MISSING_CONTRA_ACCOUNTS", message)
    job = state.store.create_export_job(
        ExportJob(
            id=new_id(),
            company_id=company.id,
            created_at=0.0,
            expires_in=0,
            is_interactive=sent["isInteractive"] is not False,
            number_of_items=len(sent["accountingEntryIds"]),
            vendor_based_bookkeeping=bool((sent["options"] or {}).get("vendorBasedBookkeeping")),
            created_by=sent["employeeId"],
            seconds=state.job_seconds,
            outcome="",
        ),
        sent["accountingEntryIds"],
    )
    if job is None:
        raise Refusal(
            409, "EXPORT_ALREADY_IN_PROGRESS", f"an export job is already in progress for company {company.id}"
        )
    return json_answer({"data": job_at(job, job.created_at)}, 201)
