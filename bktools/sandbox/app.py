"""The service put together: hosts, routes, credentials, faults, and the bodies of refusals of any kind."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial, reduce

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bktools.contract import ENDPOINTS
from bktools.contract.endpoint import Endpoint
from bktools.sandbox.answers import Refusal, json_answer
from bktools.sandbox.auth import BALANCE_AUDIENCE, MAIN_AUDIENCE, authenticate
from bktools.sandbox.faults import Fault, LostResponse, broken, rate_limited
from bktools.sandbox.requests import body_of
from bktools.sandbox.routes import SERVED
from bktools.sandbox.store import State

# Called after each request with its method, path, status (None where no answer began) and seconds.
OnRequest = Callable[[str, str, int | None, float], None]


ROUTE_UNKNOWN = "Route not found"
SERVER_FAILURE = "Something went wrong. Please contact the administrator if the problem persists."

_NOT_FOUND = 404


def build_app(state: State, base_url: str, balance_url: str, on_request: OnRequest) -> ASGIApp:
    """Return the application: the main host and the balance host, told apart by their ports."""

    def host(audience: str) -> Starlette:
        routes = [
            Route(endpoint.path, _answer_to(endpoint, audience, state), methods=[endpoint.method])
            for endpoint in ENDPOINTS
            if endpoint.on_balance_host is (audience == BALANCE_AUDIENCE)
        ]
        failed = partial(_failed, audience)
        app = Starlette(routes=routes, exception_handlers={HTTPException: failed, Exception: failed})
        app.router.redirect_slashes = False
        return app

    ports = {_port(base_url): MAIN_AUDIENCE, _port(balance_url): BALANCE_AUDIENCE}
    return _hosts({port: host(audience) for port, audience in ports.items()}, on_request)


def _answer_to(endpoint: Endpoint, audience: str, state: State) -> Callable[[Request], Awaitable[Response]]:
    operation = SERVED[endpoint.operation]

    async def answer(request: Request) -> Response:
        faults = await state.faults.hitting(endpoint.operation, request)
        await asyncio.sleep(sum(fault.seconds for fault in faults if fault.kind == "latency"))
        instead = [substitute for fault in faults if (substitute := _answer_instead(fault, audience))]
        try:
            if instead:
                # Read the request first: a client whose write fails would not see the fault.
                await body_of(request)
                return instead[0]
            api_key = state.store.settings["api_key"] if endpoint.takes_api_key else None
            caller = authenticate(request.headers.get("authorization"), audience, api_key, state.store.caller)
            caller.require(operation.scope)
            response = await operation.handler(request, state, caller)
        except Refusal as refusal:
            response = refusal.answer()
        return reduce(broken, faults, response)

    return answer


def _answer_instead(fault: Fault, audience: str) -> Response | None:
    match fault.kind:
        case "rate_limited":
            return rate_limited(fault.seconds, fault.retry_after).answer()
        case "error":
            return _failure(audience, fault.status)
        case "reset":
            return LostResponse()
        case _:
            return None


def _hosts(apps: Mapping[int, ASGIApp], on_request: OnRequest) -> ASGIApp:
    """Choose the application by the port, refuse requests for another host, and tell of each request once.

    A web page can make its own host name point here (DNS rebinding); the Host header shows that name. A
    request is told before its client has the answer, without its query, which may hold an e-mail.
    """

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        status, begin, port = None, time.perf_counter(), scope["server"][1]
        # Faults that break connections need uvicorn's own.
        scope["state"] = {"transport": receive.__self__.transport}  # type: ignore[attr-defined]
        chosen = apps[port]
        if Request(scope).headers.get("host", "").lower() not in (f"127.0.0.1:{port}", f"localhost:{port}"):
            message = f"this is 127.0.0.1:{port}; the Host header says otherwise"
            chosen = Refusal(421, "MISDIRECTED_REQUEST", message).answer()

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                on_request(scope["method"], scope["path"], status, time.perf_counter() - begin)
            await send(message)

        try:
            await chosen(scope, receive, noting)
        finally:
            if status is None:
                on_request(scope["method"], scope["path"], None, time.perf_counter() - begin)

    return app


async def _failed(audience: str, request: Request, error: Exception) -> Response:
    """Return the answer to an unknown route or a wrong method, or of a failure of the server."""
    if not isinstance(error, HTTPException):
        return _failure(audience, 500)
    if audience == BALANCE_AUDIENCE:
        # The interface shows a text for unknown routes only; a wrong method gets its standard status.
        content = ROUTE_UNKNOWN if error.status_code == _NOT_FOUND else error.detail
        return json_answer(content, error.status_code, error.headers)
    types = {404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED"}
    message = f"{request.method} {request.url.path}: {error.detail}"
    return Refusal(
        error.status_code, types.get(error.status_code, "INVALID_REQUEST"), message, error.headers
    ).answer()


def _failure(audience: str, status: int) -> Response:
    if audience == BALANCE_AUDIENCE:
        return json_answer(SERVER_FAILURE, status)
    return Refusal(status, "INTERNAL_ERROR", SERVER_FAILURE).answer()


def _port(url: str) -> int:
    return int(url.rpartition(":")[2])
