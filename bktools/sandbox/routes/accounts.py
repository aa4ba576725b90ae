"""Creation of accounts of the chart of accounts (interface, sections 2.4 and 4.3)."""

from __future__ import annotations

import json
from operator import eq

from starlette.requests import Request
from starlette.responses import Response

from bktools.sandbox.answers import Refusal, text_answer
from bktools.sandbox.auth import Caller
from bktools.sandbox.store import State, new_id
from bktools.sandbox.validation import read_body, same_json
from bktools.sandbox.world import Account

# Where each field of an account is stored; a repeat with all of them equal counts as the same account.
_STORED = {
    "archived": "archived",
    "companyId": "company_id",
    "externalId": "external_id",
    "name": "name",
    "code": "code",
    "metadata": "metadata",
    "taxCodeExternalId": "tax_code_external_id",
}


async def create(request: Request, state: State, caller: Caller) -> Response:
    """Create an account: 201 when it is new, 200 when it is there as sent, 409 when it is there otherwise."""
    sent = await read_body(request, "AccountCreate")
    caller.check_company(sent["companyId"], known=state.store.company(sent["companyId"]) is not None)
    account = Account(id=new_id(), **{attribute: sent[field] for field, attribute in _STORED.items()})
    stored, new = state.store.create_account(account)
    differing = [
        field
        for field, attribute in _STORED.items()
        if not (same_json if field == "metadata" else eq)(sent[field], getattr(stored, attribute))
    ]
    if differing:
        raise Refusal(
            409,
            "ACCOUNT_ALREADY_EXISTS",
            f"company {stored.company_id} has an account with externalId {stored.external_id!r} already, "
            f"with another {', '.join(differing)}",
        )
    return text_answer(f'{{"data": {_account_json(stored)}}}', 201 if new else 200)


def _account_json(account: Account) -> str:
    shown = json.dumps(
        {
            "archived": account.archived,
            "code": account.code,
            "companyId": account.company_id,
            "externalId": account.external_id,
            "id": account.id,
            "name": account.name,
            "taxCodeExternalId": account.tax_code_external_id,
        },
        ensure_ascii=False,
    )
    # Metadata go back to the letter, so they are not parsed and written again.
    return f'{shown[:-1]}, "metadata": {account.metadata or "null"}}}'
