"""Which credential a request carries (interface, section 5), and that no answer carries it back."""

from __future__ import annotations

import base64
import functools
import re
from urllib.parse import unquote, urlsplit

from bktools.contract.endpoint import Credential, Endpoint, Host
from bktools.errors import ConfigurationError
from bktools.settings import Settings

REMOVED = b"[credential]"

# A shorter one is looked for only behind its scheme: as a word of its own it would be found in ordinary text.
SHORTEST_CREDENTIAL = 8

# No encoder of JSON or addresses has a reason to escape these.
_NEVER_ESCAPED = re.compile(r"[A-Za-z0-9._~-]+")


def authorization(endpoint: Endpoint, settings: Settings) -> str:
    """Return the Authorization header for an operation.

    The bearer token is preferred; the API key is used where the operation takes it.

    Raises
    ------
    ConfigurationError
        Before anything is sent, when no credential fits the operation.
    """
    if endpoint.host is Host.BALANCE:
        if settings.balance_token is None:
            raise ConfigurationError(
                f"{endpoint.operation} takes the balance host's own token: set BKTOOLS_BALANCE_TOKEN "
                f"(environment {settings.environment})"
            )
        return f"Bearer {settings.balance_token.reveal()}"
    if settings.token is not None:
        return f"Bearer {settings.token.reveal()}"
    if settings.api_key is None:
        raise ConfigurationError(
            f"no credential is configured for {settings.environment}: set BKTOOLS_TOKEN"
            + (" or BKTOOLS_API_KEY" if Credential.API_KEY in endpoint.credentials else "")
        )
    if Credential.API_KEY not in endpoint.credentials and not settings.api_key_everywhere:
        raise ConfigurationError(
            f"{endpoint.operation} takes no API key, only a bearer token: set BKTOOLS_TOKEN "
            "(or api_key_everywhere = true for a service that takes the key on every operation)"
        )
    return f"Basic {_base64(settings.api_key.reveal() + ':')}"


def address(endpoint: Endpoint, settings: Settings) -> str:
    """Return the host an operation is on.

    Raises
    ------
    ConfigurationError
        When that host is not configured.
    """
    if endpoint.host is Host.MAIN:
        assert settings.base_url is not None
        return settings.base_url
    if settings.balance_url is None:
        raise ConfigurationError(
            f"{endpoint.operation} is on a host of its own: set BKTOOLS_BALANCE_URL (environment {settings.environment})"
        )
    return settings.balance_url


def without_secrets(data: bytes, settings: Settings) -> bytes:
    """Return what a peer said without the credentials that it repeats.

    They are found as they are, as Basic authentication encodes them, and with the escapes of JSON, addresses and HTML.
    """
    for core, pattern in _forms(settings):
        # A plain search first: it costs a page of a table next to nothing.
        if core in data:
            data = pattern.sub(REMOVED, data)
    return data


@functools.lru_cache(maxsize=16)
def _forms(settings: Settings) -> tuple[tuple[bytes, re.Pattern[bytes]], ...]:
    """Return how each credential may look: text that is in every way of writing it, and the ways."""
    secrets = [item.reveal() for item in (settings.token, settings.api_key, settings.balance_token) if item]
    if settings.proxy is not None and urlsplit(settings.proxy.reveal()).password:
        parts = urlsplit(settings.proxy.reveal())
        # As it is sent. People choose such a password, so alone it may be a word of any table.
        secrets.append(f"{unquote(parts.username or '')}:{unquote(parts.password or '')}")
    found = []
    for text in secrets:
        is_long = len(text) >= SHORTEST_CREDENTIAL
        found.append((text, "") if is_long else (f"Bearer {text}", ""))
        # As far as it is the same with and without the colon that follows an API key.
        encoded = _base64(text)[: len(text) // 3 * 4]
        if encoded:
            found.append((encoded if is_long else f"Basic {encoded}", "[A-Za-z0-9+/]{0,4}"))
    return tuple(
        (
            max(_NEVER_ESCAPED.findall(text), key=len, default="").encode(),
            re.compile(("".join(map(_with_escapes, text)) + tail).encode()),
        )
        for text, tail in found
    )


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _with_escapes(char: str) -> str:
    if _NEVER_ESCAPED.fullmatch(char):
        return re.escape(char)
    number, plain = f"{ord(char):02x}", re.escape(char)
    ways = (plain, rf"\\{plain}", rf"\\u00(?i:{number})", f"%(?i:{number})", f"&#(?i:x{number}|{ord(char)});")
    return f"(?:{'|'.join(ways)})"
