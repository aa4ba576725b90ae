"""Balance of a company, deprecated, on a host of its own (interface, sections 2.7, 4.6 and 7.2)."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from bktools.sandbox.answers import ScopeRefusal, text_answer
from bktools.sandbox.auth import Caller
from bktools.sandbox.store import State


async def get(request: Request, state: State, caller: Caller) -> Response:  # noqa: ARG001 - every handler takes the three
    """Answer the balance of the company that the token is for."""
    company = next((c for c in state.store.companies() if caller.companies and c.id in caller.companies), None)
    if company is None:
        raise ScopeRefusal(403)
    # The amounts are text in the store, so that their digits stay as they are.
    return text_answer(
        f'{{"currency": "{company.currency}", "current": {company.current}, "available": {company.available}}}'
    )
