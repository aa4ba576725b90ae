"""A server on a raw socket that does to a client whatever a test says, byte for byte."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit


class Reset:
    """A step of a script: the connection is reset here."""


class Close:
    """A step of a script: the connection is closed here."""


class Hold:
    """A step of a script: the connection stays open, and nothing more is read or sent."""


Step = bytes | float | Reset | Close | Hold


@dataclass(frozen=True)
class Asked:
    """A request as it arrived."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes

    def one(self, name: str) -> str | None:
        """Return a query parameter that is given once."""
        return self.query.get(name, [None])[0]  # type: ignore[list-item]


def answer(body: Any = b"", status: int = 200, **headers: str) -> list[Step]:
    """An ordinary answer; what is no bytes is sent as JSON."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = {"Content-Length": str(len(content)), "Content-Type": "application/json"}
    lines |= {name.replace("_", "-").title(): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value != "")
    return [f"HTTP/1.1 {status} Said\r\n{head}\r\n".encode() + content]


def only_page(rows: Iterable[Any] = (), **more: Any) -> list[Step]:
    """The answer to a search that has all of its rows."""
    pagination = {"hasNextPage": False, "hasPreviousPage": False} | more
    return answer({"data": list(rows), "pagination": pagination})


class ScriptedServer:
    """Answers each request with the steps that the script gives for it: bytes, seconds to wait, an end.

    Connections are served `at_once`, or one after another.
    """

    def __init__(
        self,
        script: Callable[[Asked], Iterable[Step]],
        tls: ssl.SSLContext | None = None,
        *,
        at_once: bool = True,
    ) -> None:
        self.script = script
        self.tls = tls
        self._at_once = at_once
        self.asked: list[Asked] = []
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self._socket.getsockname()[1]
        self.url = f"https://localhost:{self.port}" if tls else f"http://127.0.0.1:{self.port}"
        self._open: list[socket.socket] = []
        self._serving = threading.Thread(target=self._accept, daemon=True)
        self._serving.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def wait(self) -> None:
        """Wait until the server stops."""
        self._serving.join()

    def stop(self) -> None:
        """End every connection and take no new one."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for connection in self._open:
            connection.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._open.append(connection)
            if self._at_once:
                threading.Thread(target=self._converse, args=(connection,), daemon=True).start()
            else:
                self._converse(connection)

    def _converse(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True)
            stack.enter_context(connection)
            stream = stack.enter_context(connection.makefile("rb"))
            while (asked := _read(stream)) is not None:
                self.asked.append(asked)
                for step in self.script(asked):
                    if isinstance(step, bytes):
                        connection.sendall(step)
                    elif isinstance(step, float):
                        time.sleep(step)
                    elif isinstance(step, Hold):
                        self._open.append(stack.pop_all())
                        return
                    else:
                        if isinstance(step, Reset):
                            linger = struct.pack("ii", 1, 0)
                            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                            # The file object holds the socket open until it is closed too.
                            stream.close()
                        else:
                            connection.shutdown(socket.SHUT_RDWR)
                        return


def _read(stream: Any) -> Asked | None:
    line = stream.readline().decode()
    if not line.endswith("\n"):
        return None
    method, target, _ = line.split()
    headers = {}
    while (line := stream.readline().decode()).strip():
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    length = int(headers.get("content-length", 0))
    body = stream.read(length)
    if not line or len(body) < length:
        # The client ended in the middle of its request.
        return None
    parts = urlsplit(target)
    return Asked(method, parts.path, parse_qs(parts.query), headers, body)
