"""Sends one request and reads its complete answer: connections, time limits, bodies.

It uses httpx's transports without httpx's client. So there are no redirects, no cookies, no settings from the
environment, and no log lines with addresses, which may hold an e-mail.
"""

from __future__ import annotations

import gzip
import io
import re
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import quote, urlencode, urlsplit

import httpx
import truststore

from bktools.addresses import is_loopback
from bktools.contract.endpoint import REQUEST_ID_HEADERS, Endpoint
from bktools.errors import (
    ArgumentError,
    CertificateError,
    ConnectionLostError,
    NotSentError,
    ProxyError,
    ServiceError,
    UnreachableError,
    UnreadableAnswerError,
)
from bktools.service import auth
from bktools.service.sockets import TrackedConnection
from bktools.service.workers import pause
from bktools.settings import Secret, Settings
from bktools.visible import one_line
from bktools.wording import Sentence, reason_of, words

Failure = TypeVar("Failure", bound=ServiceError)


# Errors of a connection that broke during the handshake, which are not errors of TLS.
BROKEN_HANDSHAKE = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)

# Statuses of a proxy that cannot reach the service.
PROXY_CANNOT_REACH = {"502", "503", "504"}

# Seconds of a request at least, whatever its call has left.
SHORTEST = 0.25

LONGEST_REASON = 300
LONGEST_REQUEST_ID = 128

# Headers of answers that hold credentials.
_SECRET_HEADER = re.compile(r"cookie|authorization|token|secret|credential|password|api-?key")


@dataclass(frozen=True)
class Limits:
    """Limits of a request: seconds to connect, between pieces of the answer, in all; bytes of the body."""

    connect: float = 10.0
    read: float = 60.0
    whole: float = 300.0
    body: int = 64 * 2**20


# Status, headers by their names in lower case, and decompressed body of a complete answer.
Answer = tuple[int, dict[str, str], bytes]


def request_of(
    endpoint: Endpoint,
    settings: Settings,
    path: Mapping[str, str] | None = None,
    *,
    query: Sequence[tuple[str, str]] = (),
    body: bytes | None = None,
) -> httpx.Request:
    """Return the request of an operation, which may be sent again; `path` has path parameters by name."""
    parts = {name: quote(value, safe="") for name, value in (path or {}).items()}
    url = auth.address(endpoint, settings) + endpoint.path.format_map(parts)
    headers = {"Authorization": auth.authorization(endpoint, settings), "Accept": "application/json"}
    headers |= {"Accept-Encoding": "gzip", "User-Agent": "bktools"}
    if body is not None:
        headers["Content-Type"] = "application/json;charset=UTF-8"
    return httpx.Request(
        endpoint.method, f"{url}?{urlencode(query)}" if query else url, headers=headers, content=body
    )


class Transport:
    """Connections to the hosts of one environment, by the proxy of its settings."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        # Through the proxy and directly; the last one used is next, so that a single thread keeps one
        # connection.
        self._idle: dict[bool, list[TrackedConnection]] = {True: [], False: []}
        self._lock = threading.Lock()
        self._is_closed = False

    def send(
        self,
        request: httpx.Request,
        limits: Limits,
        end: float,
        *,
        fresh: bool = False,
        before_first_byte: Callable[[], None] | None = None,
    ) -> Answer:
        """Send a request once; return the answer. The text of an error is shown, so it holds no credentials.

        It ends at `end` (monotonic seconds), or by the limits before that. A `fresh` connection is for what
        books money, because an older one may already be broken. `before_first_byte` is called when the
        connection stands, directly before the request; what it raises is raised, and nothing is sent.

        Raises
        ------
        ArgumentError
            After `close`; nothing was sent.
        NotSentError
            When nothing was sent.
        ConnectionLostError, UnreadableAnswerError
            When the request may have arrived.
        """
        pause(0)
        seconds = min(limits.whole, max(end - time.monotonic(), SHORTEST))
        end = time.monotonic() + seconds
        timeout = httpx.Timeout(min(limits.read, seconds), connect=min(limits.connect, seconds)).as_dict()
        headers: dict[str, str] = {}
        # Nothing for this machine itself goes through a proxy, token and all.
        by_proxy = self._settings.proxy is not None and not is_loopback(request.url.host)
        with self._connection(by_proxy=by_proxy, fresh=fresh) as connection:
            connection.begin(end, before_first_byte)
            request.extensions |= {"timeout": timeout, "trace": connection.record}
            try:
                with closing(connection.http.handle_request(request)) as response:
                    if not connection.has_read:
                        raise UnreadableAnswerError(  # noqa: TRY301 - as those of the body
                            Sentence("error.answer_of_another_request"),
                            status=response.status_code,
                            repeatable=True,
                        )
                    headers = {
                        name.lower(): _clean(value, self._settings)
                        for name, value in response.headers.items()
                    }
                    body = _whole_body(response, headers.get("content-encoding", ""), limits.body)
            except UnreadableAnswerError as error:
                of_answer(error, headers)
                raise
            except (httpx.TransportError, OSError) as error:
                # A worker that must stop gets this error too: whether anything was sent matters more than the
                # cause.
                reason = one_line(_clean(reason_of(error), self._settings), LONGEST_REASON)
                if time.monotonic() >= end:
                    reason = words()("error_part.longer_than", seconds=f"{seconds:g}")
                if not connection.is_sent:
                    raise self._not_sent(request.url, connection, error, reason, by_proxy=by_proxy) from None
                lost = ConnectionLostError(Sentence("error.connection_lost", reason=reason))
                raise of_answer(lost, headers) from None
        status = response.status_code
        return (
            status,
            headers,
            body if httpx.codes.is_success(status) else auth.without_secrets(body, self._settings),
        )

    def close(self) -> None:
        """Close every connection; those in use close after their request."""
        with self._lock:
            self._is_closed = True
            idle = [connection for each in self._idle.values() for connection in each]
            self._idle = {True: [], False: []}
        for connection in idle:
            connection.http.close()

    @contextmanager
    def _connection(self, *, by_proxy: bool, fresh: bool) -> Iterator[TrackedConnection]:
        with self._lock:
            if self._is_closed:
                raise ArgumentError("service", Sentence("rule.closed_service"))
            connection = self._idle[by_proxy].pop() if self._idle[by_proxy] and not fresh else None
        connection = connection or self._open(by_proxy=by_proxy)
        is_idle = False
        try:
            yield connection
            # Reached without a failure only: a failed connection may still receive the rest of an answer.
            with self._lock:
                is_idle = not fresh and not self._is_closed
                if is_idle:
                    self._idle[by_proxy].append(connection)
        finally:
            if not is_idle:
                connection.http.close()

    def _open(self, *, by_proxy: bool) -> TrackedConnection:
        # Of its own: truststore locks a context during the handshake, so that a slow host would block all.
        trusted = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        proxy = _proxy_of(self._settings.proxy, trusted) if self._settings.proxy and by_proxy else None
        return TrackedConnection(httpx.HTTPTransport(verify=trusted, proxy=proxy))

    def _not_sent(
        self, url: httpx.URL, connection: TrackedConnection, error: Exception, reason: str, *, by_proxy: bool
    ) -> NotSentError:
        """Return the error for a request that was not sent."""
        host, fault = url.netloc.decode(), connection.tls_error
        proxy = _host_of(self._settings.proxy) if self._settings.proxy and by_proxy else ""
        facts = {"host": host, "proxy": proxy or None, "reason": reason}
        if isinstance(fault, ssl.SSLCertVerificationError):
            facts |= {"host": connection.tls_host, "reason": fault.verify_message}
            return CertificateError(Sentence("error.certificate", **facts))
        if isinstance(fault, ssl.SSLError) and not isinstance(fault, BROKEN_HANDSHAKE):
            return CertificateError(Sentence("error.no_tls", **facts | {"host": connection.tls_host}))
        is_refused = (
            isinstance(error, httpx.ProxyError) and reason.partition(" ")[0] not in PROXY_CANNOT_REACH
        )
        if is_refused or (proxy and isinstance(error, httpx.ProtocolError) and connection.has_read):
            return ProxyError(Sentence("error.proxy_refuses", **facts))
        return UnreachableError(Sentence("error.no_connection", **facts))


def _proxy_of(address: Secret, trusted: ssl.SSLContext) -> httpx.Proxy:
    """Return the proxy of an address. Nothing fails in here, so that no traceback holds its password."""
    return httpx.Proxy(
        address.reveal(), ssl_context=trusted if address.reveal().startswith("https:") else None
    )


def _host_of(proxy: Secret) -> str:
    """Return the address of a proxy without user name and password."""
    parts = urlsplit(proxy.reveal())
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def of_answer(error: Failure, headers: Mapping[str, str]) -> Failure:
    """Return an error with the headers of its answer, and with its request id at the end of the message."""
    error.headers = {name: value for name, value in headers.items() if not _SECRET_HEADER.search(name)}
    request_id = next((error.headers[name] for name in REQUEST_ID_HEADERS if name in error.headers), "")
    error.request_id = request_id.strip()[:LONGEST_REQUEST_ID]
    if error.request_id:
        error.args = (f"{error.args[0]} (request id {error.request_id})",)
    return error


def _clean(text: str, settings: Settings) -> str:
    return auth.without_secrets(text.encode(errors="replace"), settings).decode(errors="replace")


def _whole_body(response: httpx.Response, encoding: str, most: int) -> bytes:
    """Read a complete body, decompressed, of a number of bytes at most.

    The HTTP library checks its length or chunks; this checks the end and checksum of gzip. A body that ends
    with its connection has neither. Decoding detects it when cut, because a part of JSON is not JSON.
    """
    names = [name for part in encoding.split(",") if (name := part.strip().lower()) not in {"", "identity"}]
    if names not in ([], ["gzip"], ["x-gzip"]):
        raise UnreadableAnswerError(
            Sentence("error.answer_encoding", encoding=encoding[:40]),
            status=response.status_code,
        )
    assert isinstance(response.stream, httpx.SyncByteStream)
    # A list of pieces of one byte would take fifty times their size.
    received = bytearray()
    for piece in response.stream:
        received += piece
        if len(received) > most:
            break
    body = bytes(received)
    if names and len(body) <= most:
        try:
            # A small body cannot fill the memory. It may be several compressed parts.
            with gzip.GzipFile(fileobj=io.BytesIO(body)) as unpacked:
                body = unpacked.read(most + 1)
        except (EOFError, OSError, zlib.error):
            raise UnreadableAnswerError(
                Sentence("error.answer_cut"),
                status=response.status_code,
                repeatable=True,
            ) from None
    if len(body) > most:
        raise UnreadableAnswerError(
            Sentence("error.answer_too_large", most=most // 2**20),
            status=response.status_code,
        )
    return body
