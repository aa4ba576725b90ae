"""Real TLS servers and real proxies: what is not trusted is never "offline", and nothing was sent to it."""

from __future__ import annotations

import contextlib
import datetime as dt
import socket
import ssl
import sys
import threading
import time
import traceback

import pytest
import trustme
from scripted_server import Close, Reset, answer
from small_service import COMPANY, SmallService, row

import bktools
from bktools.errors import CertificateError, ConnectionLostError, NotSentError, ProxyError, UnreachableError
from bktools.service.retry import RetryPolicy
from bktools.service.transport import Limits

ROWS = [row(number) for number in range(5)]
NOW = dt.datetime.now(dt.UTC)
DAY = dt.timedelta(days=1)

PAST = {"not_before": NOW - 9 * DAY, "not_after": NOW - DAY}
FUTURE = {"not_before": NOW + DAY, "not_after": NOW + 9 * DAY}
CERTIFICATES = {
    "unknown issuer": ("localhost", {}, "unable to get local issuer certificate.*add its certificate"),
    "expired": ("localhost", PAST, "certificate has expired"),
    "not yet valid": ("localhost", FUTURE, "not yet valid"),
    "other name": ("elsewhere.example", {}, "is not valid for 'localhost'.*is the address right"),
}


@pytest.fixture(scope="module")
def issuer():
    return trustme.CA()


@pytest.fixture
def trusted(issuer, tmp_path, monkeypatch):
    """Trust the issuer as one of the system's own."""
    if sys.platform != "linux":
        pytest.skip("other systems have no certificates of one process")
    issuer.cert_pem.write_to_path(tmp_path / "issuer.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "issuer.pem"))


@pytest.fixture
def secure(serve, issuer):
    """A function that starts a small service behind TLS, with a certificate of the issuer."""

    def start(names=("localhost",), script=None, **options):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        issuer.issue_cert(*names, **options).configure_cert(context)
        return serve(script or SmallService(ROWS), tls=context)

    return start


class Tunnel:
    """A proxy that takes CONNECT and lends its line; `seen` is what it was told."""

    def __init__(self, tls=None):
        self.seen, self._tls = b"", tls
        self._open = [socket.create_server(("127.0.0.1", 0))]
        scheme = "https://localhost" if tls else "http://127.0.0.1"
        self.url = f"{scheme}:{self._open[0].getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def stop(self):
        """End every connection and take no new one."""
        for item in self._open:
            with contextlib.suppress(OSError):
                item.shutdown(socket.SHUT_RDWR)
            item.close()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                near = self._open[0].accept()[0]
                near = self._tls.wrap_socket(near, server_side=True) if self._tls else near
                head = b""
                while b"\r\n\r\n" not in head:
                    head += near.recv(4096)
                self.seen += head
                far = socket.create_connection(("127.0.0.1", int(head.split()[1].rpartition(b":")[2])))
                self._open += [near, far]
                near.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=_pump, args=pair, daemon=True).start()


# Only what is for another machine goes through a proxy; the tunnel leads to this one all the same.
BEHIND = ("books.example",)


def behind(server) -> str:
    """The address of a server of this machine by the name of another one."""
    return f"https://{BEHIND[0]}:{server.port}"


def _pump(source, target):
    with contextlib.suppress(OSError):
        while piece := source.recv(65536):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)


@pytest.fixture
def tunnel():
    running = Tunnel()
    yield running
    running.stop()


@pytest.mark.parametrize("kind", CERTIFICATES)
def test_a_certificate_that_is_not_trusted_is_not_offline(secure, converse, trusted, monkeypatch, kind):
    """A cached copy is no answer to it; host, fault and way out are named, and nothing was sent."""
    name, options, said = CERTIFICATES[kind]
    good = secure()
    # What the system trusts is trusted.
    assert len(bktools.load_categories(service=converse(good))) == 5
    if kind == "unknown issuer":
        monkeypatch.delenv("SSL_CERT_FILE")
    bad = secure([name], **options)
    good.tls, already = bad.tls, len(good.asked)
    said = rf"certificate of localhost is not trusted by this system \(.*{said}"
    with pytest.raises(CertificateError, match=said) as caught:
        bktools.load_categories(max_age=0, service=converse(good))
    assert not isinstance(caught.value, UnreachableError)
    assert "nothing was sent" in str(caught.value)
    assert len(good.asked) == already


def test_a_host_without_tls_is_an_error_of_its_own(converse):
    """Plain HTTP behind an https address cannot be agreed on: not offline, and not asked a second time."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        taken = []

        def greet():
            taken.append(listening.accept()[0])
            taken[0].sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=greet)
        thread.start()
        with pytest.raises(CertificateError, match="no TLS connection to localhost"):
            converse(f"https://localhost:{listening.getsockname()[1]}").search_categories(COMPANY)
        thread.join()
        taken[0].close()


def test_a_proxy_that_refuses(serve, converse):
    """The address is named without its password; it is asked once, and no cached copy replaces it."""
    proxy = serve(lambda _: answer(b"", 407, proxy_authenticate="Basic"))
    address = f"http://jane:the-password@127.0.0.1:{proxy.port}"
    service = converse("https://books.example", proxy=address)
    said = rf"proxy http://127.0.0.1:{proxy.port} refuses to connect.*407"
    with pytest.raises(ProxyError, match=said) as caught:
        service.search_categories(COMPANY)
    assert "the-password" not in repr(caught.value)
    # Nor among the variables of the frames, which some tools print.
    shown = traceback.TracebackException.from_exception(caught.value, capture_locals=True).format()
    own = "test_certificates_and_proxies"
    assert "the-password" not in "".join(line for line in shown if own not in line)
    assert "BKTOOLS_PROXY" in str(caught.value)
    asked = [(asked.method, asked.headers["host"]) for asked in proxy.asked]
    assert asked == [("CONNECT", "books.example:443")]
    assert not isinstance(caught.value, UnreachableError)


def test_nothing_for_this_machine_goes_through_a_proxy(serve, converse):
    """Loopback addresses are asked directly: the proxy sees neither the request nor the token."""
    proxy, service = serve(lambda _: answer(b"", 407)), serve(SmallService(ROWS))
    through = f"http://jane:the-password@127.0.0.1:{proxy.port}"
    for host in ("127.0.0.1", "localhost"):
        converse(f"http://{host}:{service.port}", proxy=through).search_categories(COMPANY)
    assert proxy.asked == []


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        (lambda _: answer(b"", 403), ProxyError),
        (lambda _: [b"SSH-2.0-OpenSSH_9.6\r\n", Close()], ProxyError),
        (lambda _: answer(b"", 503), UnreachableError),
        (lambda _: answer(b"", 504), UnreachableError),
        (lambda _: [Close()], UnreachableError),
        (lambda _: [Reset()], UnreachableError),
    ],
    ids=["403", "no proxy", "503", "504", "closed", "reset"],
)
def test_whatever_a_proxy_does_before_it_connects_sent_nothing(serve, converse, script, kind):
    """A refusal, or an end between this machine and the service; the message names the proxy either way."""
    proxy = serve(script)
    service = converse("https://books.example", proxy=proxy.url, retry=RetryPolicy(attempts=1))
    with pytest.raises(NotSentError, match=f"proxy {proxy.url}.*nothing was sent") as caught:
        service.search_categories(COMPANY)
    assert type(caught.value) is kind


def test_a_silent_proxy_sent_nothing(serve, converse):
    """A proxy that never answers is given up in time, and named."""
    proxy = serve(lambda _: [30.0])
    limits = Limits(connect=0.2, read=0.2, whole=0.4)
    service = converse("https://books.example", proxy=proxy.url, limits=limits, retry=RetryPolicy(attempts=1))
    with pytest.raises(UnreachableError, match=f"proxy {proxy.url}.*nothing was sent"):
        service.search_categories(COMPANY)


def test_requests_go_through_a_proxy_and_end_in_time(secure, converse, trusted, tunnel):
    """Rows come through a tunnel, the proxy never sees the credential, and drops end in time."""
    through = {"proxy": tunnel.url}
    service = converse(behind(secure(BEHIND)), **through)
    assert len(service.search_categories(COMPANY).data) == 5
    assert b"the-token" not in tunnel.seen
    steps = [b"HTTP/1.1 200 OK\r\n", *(step for _ in range(300) for step in (b"A: 1\r\n", 0.1))]
    drops = secure(BEHIND, script=lambda _: steps)
    limits = Limits(connect=10.0, read=10.0, whole=0.5, body=2**20)
    service = converse(behind(drops), **through, limits=limits, retry=RetryPolicy(attempts=1))
    begin = time.monotonic()
    with pytest.raises(ConnectionLostError, match="longer than"):
        service.search_categories(COMPANY)
    assert time.monotonic() - begin < 15
