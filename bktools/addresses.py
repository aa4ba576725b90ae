"""Normalises addresses, so that two spellings of one address are equal."""

from __future__ import annotations

import ipaddress
import re
from posixpath import normpath
from urllib.parse import quote, unquote, urlsplit

DEFAULT_PORTS = {"http": 80, "https": 443}
# `localhost` may be ::1 alone, where a server of the sandbox does not listen.
LOOPBACK = "127.0.0.1"

_NAME = re.compile(r"[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\.?")
# Characters that a path may hold without an escape (RFC 3986, section 3.3).
_PLAIN_IN_PATH = "/-._~!$&'()*+,;=:@"


def is_loopback(host: str) -> bool:
    """Whether a host is this machine: `localhost`, 127.0.0.0/8 or ::1, in any spelling."""
    name = host.strip("[]").lower().rstrip(".")
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name == "localhost"
    mapped = getattr(address, "ipv4_mapped", None)
    return address.is_loopback or (mapped is not None and mapped.is_loopback)


def normalised_host(host: str) -> str:
    """Return the normal form of a host name or an IP address; `ValueError` for a text that is neither."""
    if is_loopback(host):
        return LOOPBACK
    if _NAME.fullmatch(host) and not host.replace(".", "").isdigit():
        return host.rstrip(".")
    number = ipaddress.ip_address(host)
    return f"[{number}]" if number.version == 6 else str(number)


def normalised(address: str) -> str:
    """Return the normal form of an HTTP address: the same text for every spelling of it.

    Scheme and host are in lower case. The host has no trailing dot, the default port is left out, and every
    loopback host is 127.0.0.1. The path has no `.`, no `..`, no repeated or trailing slash and no needless
    escape.

    Parameters
    ----------
    address : str
        An address that `bktools.settings` accepts: scheme, host, optional port and path.

    Examples
    --------
    >>> normalised("HTTPS://API.example.com.:443/books/./v1//")
    'https://api.example.com/books/v1'
    >>> normalised("http://127.0.0.1:8765") == normalised("http://localhost:8765/")
    True
    """
    parts = urlsplit(address.strip())
    scheme = parts.scheme.lower()
    host = normalised_host(parts.hostname or "")
    port = "" if parts.port in {None, DEFAULT_PORTS.get(scheme)} else f":{parts.port}"
    path = quote(unquote(parts.path), safe=_PLAIN_IN_PATH)
    # `normpath` would keep a leading "//".
    path = normpath("/" + path.lstrip("/")) if path.strip("/") else ""
    return f"{scheme}://{host}{port}{'' if path == '/' else path}"
