"""One request, one whole answer: connections, time limits, bodies. Repeats and meaning are elsewhere.

httpx's transports are used without its client on top: no redirects, no cookies, no environment, and no log line that
would hold an address with somebody's e-mail in it.
"""

from __future__ import annotations

import functools
import ssl
import threading
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlencode

import httpx

from bktools.errors import ConfigurationError, ConnectionLostError, UnreachableError, UnreadableAnswerError
from bktools.service.watch import Line, Watch
from bktools.service.workers import pause
from bktools.settings import Settings

GZIP_WINDOW = 31  # zlib: expect a gzip header and checksum

# Nothing of the request has left while one of these is raised.
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError, httpx.UnsupportedProtocol)


@dataclass(frozen=True)
class Limits:
    """Bounds of one request.

    Parameters
    ----------
    connect, read : float
        Seconds to connect, and between two pieces of the answer.
    whole : float
        Seconds for the whole request.
    body : int
        Bytes of the decoded body.
    """

    connect: float = 10.0
    read: float = 60.0
    whole: float = 300.0
    body: int = 64 * 2**20


@dataclass(frozen=True)
class Request:
    """What is sent."""

    method: str
    url: str
    authorization: str = field(repr=False)
    query: Sequence[tuple[str, str]] = ()
    body: bytes | None = None


@dataclass(frozen=True)
class Answer:
    """What came back, whole and decompressed."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Transport:
    """Connections to the hosts of one environment; each set serves one request at a time.

    Parameters
    ----------
    settings : Settings
        Proxy and certificates.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        # The set used last is used next: a single thread keeps to one connection, threads that end leave theirs.
        self._idle: list[_Connections] = []
        self._lock = threading.Lock()
        self._watch = Watch()
        self._trust = _trust(settings.ca_bundle)

    def send(self, request: Request, limits: Limits, *, fresh: bool = False) -> Answer:
        """Return the answer to one request, sent once.

        Parameters
        ----------
        fresh : bool
            On a connection of its own, so that no failure of an older one is met.

        Raises
        ------
        UnreachableError
            When nothing was sent.
        ConnectionLostError, UnreadableAnswerError
            When the request may have arrived.
        """
        pause(0)
        end = time.monotonic() + limits.whole
        with self._connections(fresh=fresh) as connections, self._watch.over(connections.line, end):
            try:
                response = connections.http.handle_request(_to_httpx(request, limits, connections.line))
                try:
                    body = _whole_body(response, limits)
                finally:
                    response.close()
            except NOT_SENT as error:
                host = httpx.URL(request.url).netloc.decode()
                raise UnreachableError(f"no connection to {host} ({_reason(error)}): nothing was sent") from error
            except (httpx.TransportError, OSError) as error:
                pause(0)
                reason = _reason(error)
                if time.monotonic() > end:
                    reason = f"longer than {limits.whole:g} s"
                raise ConnectionLostError(
                    f"the connection broke while the service answered ({reason}): the request may have arrived"
                ) from error
        return Answer(response.status_code, {name.lower(): value for name, value in response.headers.items()}, body)

    def close(self) -> None:
        """Close every connection."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connections in idle:
            connections.http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _connections(self, *, fresh: bool) -> Iterator[_Connections]:
        with self._lock:
            found = self._idle.pop() if self._idle and not fresh else None
        found = found or self._open()
        try:
            yield found
        except BaseException as error:
            # After a failure between request and answer nobody knows what still comes in.
            if fresh or not isinstance(error, UnreachableError):
                found.http.close()
                raise
            self._give_back(found)
            raise
        if fresh:
            found.http.close()
        else:
            self._give_back(found)

    def _give_back(self, connections: _Connections) -> None:
        with self._lock:
            self._idle.append(connections)

    def _open(self) -> _Connections:
        proxy = self._settings.proxy
        http = httpx.HTTPTransport(verify=self._trust, proxy=None if proxy is None else proxy.reveal())
        return _Connections(http, Line())


@dataclass(frozen=True)
class _Connections:
    http: httpx.HTTPTransport
    line: Line


@functools.cache
def _trust(ca_bundle: Path | None) -> ssl.SSLContext:
    """Return whom to trust; reading the certificates takes longer than many a request, so it is done once."""
    if ca_bundle is None:
        return httpx.create_ssl_context(trust_env=False)
    try:
        return ssl.create_default_context(cafile=ca_bundle)
    except OSError as error:
        raise ConfigurationError(f"ca_bundle {ca_bundle} cannot be read: {error}") from error


def _to_httpx(request: Request, limits: Limits, line: Line) -> httpx.Request:
    url = f"{request.url}?{urlencode(request.query)}" if request.query else request.url
    headers = {"Authorization": request.authorization, "Accept": "application/json", "Accept-Encoding": "gzip"}
    headers["User-Agent"] = "bktools"
    if request.body is not None:
        headers["Content-Type"] = "application/json;charset=UTF-8"
    timeout = httpx.Timeout(limits.read, connect=limits.connect).as_dict()
    extensions = {"timeout": timeout, "trace": line.trace}
    return httpx.Request(request.method, url, headers=headers, content=request.body, extensions=extensions)


def _whole_body(response: httpx.Response, limits: Limits) -> bytes:
    """Read a body; length and chunk end are checked below, gzip's end and checksum here."""
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"identity", "gzip"}:
        raise UnreadableAnswerError(
            f"the answer came in the encoding {encoding!r}, which was not asked for", status=response.status_code
        )
    assert isinstance(response.stream, httpx.SyncByteStream)
    pieces: Iterable[bytes] = response.stream
    decoded = _gunzip(pieces, limits.body, response.status_code) if encoding == "gzip" else pieces
    parts: list[bytes] = []
    size = 0
    for part in decoded:
        size += len(part)
        if size > limits.body:
            raise UnreadableAnswerError(
                f"the answer is larger than {limits.body // 2**20} MiB: ask for smaller pages",
                status=response.status_code,
            )
        parts.append(part)
    return b"".join(parts)


def _gunzip(pieces: Iterable[bytes], most: int, status: int) -> Iterable[bytes]:
    decoder = zlib.decompressobj(GZIP_WINDOW)
    broken = UnreadableAnswerError(
        "the answer's compressed body is damaged or cut short", status=status, repeatable=True
    )
    begun = False
    for piece in pieces:
        data = piece
        while data:
            begun = True
            if decoder.eof:
                decoder = zlib.decompressobj(GZIP_WINDOW)
            try:
                # Bounded by itself, so that a small body that unpacks to gigabytes is never held.
                yield decoder.decompress(data, most + 1)
            except zlib.error as error:
                raise broken from error
            data = decoder.unconsumed_tail or decoder.unused_data
    if begun and not decoder.eof:
        raise broken


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
