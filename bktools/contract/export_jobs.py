"""Export jobs (interface, sections 2.5, 3, 4.2 and 7.1)."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from bktools.contract import rules
from bktools.contract.endpoint import Endpoint
from bktools.errors import (
    AccountingIntegrationNotFoundError,
    ArgumentError,
    ExportAlreadyInProgressError,
    ExportRefusedError,
    MissingContraAccountsError,
)
from bktools.wording import Sentence

# An export books money and the service has no idempotency key.
CREATE_EXPORT_JOB = Endpoint(
    "create_export_job", "POST", "/v3/export-jobs", repeatable=False, books_money=True
)

# The error and the next step by the body's `type` in any case, never by status.
REFUSALS: dict[str, tuple[type[ExportRefusedError], str]] = {
    "MISSING_CONTRA_ACCOUNTS": (
        MissingContraAccountsError,
        "map the contra accounts of the company in the service's accounting settings, then submit again",
    ),
    "EXPORT_ALREADY_IN_PROGRESS": (
        ExportAlreadyInProgressError,
        "wait until the company's running export job has ended, then submit again",
    ),
    "ACCOUNTING_INTEGRATION_NOT_FOUND": (
        AccountingIntegrationNotFoundError,
        "connect the company to its accounting system in the service, then submit again",
    ),
}


class ExportJob(msgspec.Struct, frozen=True, rename="camel"):
    """An export job in an answer of the service.

    Timestamps are ISO 8601 text in UTC with up to nine fractional digits; `contract.rules.timestamp` parses
    them. `expires_in` is in seconds after `last_updated_at` (ASSUMED: the interface shows no unit).
    """

    id: str
    company_id: str
    created_at: str | None = None
    expires_in: int | None = None
    is_interactive: bool | None = None
    number_of_items: int | None = None
    status: str | None = None
    vendor_based_bookkeeping: bool | None = None
    completed_at: str | None = None
    created_by: str | None = None
    expired_at: str | None = None
    failure_reason: str | None = None
    failure_reason_type: str | None = None
    last_updated_at: str | None = None
    started_at: str | None = None


def create_body(
    accounting_entry_ids: Iterable[object],
    company_id: object,
    *,
    employee_id: object = None,
    is_interactive: object = True,
    vendor_based_bookkeeping: object = False,
) -> bytes:
    """Check the arguments and return the JSON body of an export job: the same bytes for the same arguments.

    ASSUMED: `accountingEntryIds` and `companyId` are required, `employeeId` is nullable, the flags have the
    interface's defaults.
    """
    entries = rules.uuids_once("accounting_entry_ids", accounting_entry_ids)
    if not entries:
        raise ArgumentError("accounting_entry_ids", Sentence("rule.at_least_one_entry"))
    # The journal keeps a hash of these bytes, so the fields have a fixed order.
    body = {
        "accountingEntryIds": entries,
        "companyId": rules.uuid_text("company_id", company_id),
        "employeeId": None if employee_id is None else rules.uuid_text("employee_id", employee_id),
        "isInteractive": rules.flag("is_interactive", is_interactive),
        "options": {
            "vendorBasedBookkeeping": rules.flag("vendor_based_bookkeeping", vendor_based_bookkeeping)
        },
    }
    return msgspec.json.encode(body)
