"""Spellings of an address that mean the same service, and those that do not."""

from __future__ import annotations

import pytest

from bktools.addresses import is_loopback, normalised


@pytest.mark.parametrize(
    "spelling",
    [
        "https://api.example.com/books",
        "https://api.example.com:443/books",
        "https://api.example.com./books",
        "HTTPS://API.Example.COM/books/",
        "https://api.example.com/./other/../books",
        "https://api.example.com//books",
        "https://api.example.com/%62ooks",
    ],
)
def test_spellings_of_the_same_service(spelling: str) -> None:
    """Port, dot, case, dots in the path and needless escapes make no other service."""
    assert normalised(spelling) == "https://api.example.com/books"


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST.", "127.0.0.1", "127.0.1.1", "[::1]", "[::ffff:127.0.0.1]"]
)
def test_loopback_has_one_name(host: str) -> None:
    """Every name of this machine is the same host."""
    assert is_loopback(host)
    assert normalised(f"http://{host}:8765") == "http://127.0.0.1:8765"


def test_other_services_stay_apart() -> None:
    """Scheme, host, port and path tell services apart."""
    others = ["https://a.example", "http://a.example", "https://b.example"]
    others += ["https://a.example:8443", "https://a.example/v2"]
    assert len({normalised(address) for address in others}) == len(others)
