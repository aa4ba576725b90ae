"""Chooses the credential of a request (interface, section 5), and removes credentials from answers."""

from __future__ import annotations

import base64
import functools
import re
from urllib.parse import unquote, urlsplit

from bktools.contract.endpoint import Endpoint
from bktools.errors import ConfigurationError
from bktools.settings import Secret, Settings
from bktools.wording import Sentence

REMOVED = b"[credential]"

# A shorter credential is only removed after its scheme ("Bearer"), because ordinary text could contain it.
SHORTEST_CREDENTIAL = 8

# Characters that JSON and address encoders never escape.
_NEVER_ESCAPED = re.compile(r"[A-Za-z0-9._~-]+")


def authorization(endpoint: Endpoint, settings: Settings) -> str:
    """Return the Authorization header for an operation; raise `ConfigurationError` when no credential fits.

    The bearer token is preferred; the API key is used where the operation accepts it.
    """
    facts = {"operation": endpoint.operation, "environment": settings.environment}
    if endpoint.on_balance_host:
        if settings.balance_token is None:
            raise ConfigurationError(Sentence("error.no_balance_token", **facts))
        return f"Bearer {settings.balance_token.reveal()}"
    if settings.token is not None:
        return f"Bearer {settings.token.reveal()}"
    if settings.api_key is None:
        code = "no_credential" if endpoint.takes_api_key else "no_token"
        raise ConfigurationError(Sentence(f"error.{code}", **facts))
    if not endpoint.takes_api_key:
        raise ConfigurationError(Sentence("error.no_api_key", **facts))
    return f"Basic {_base64(settings.api_key.reveal() + ':')}"


def renewed(endpoint: Endpoint, settings: Settings, header: str) -> bool:
    """Return whether there is another token than the one in a header that the service refused.

    A `token_command` or a function is asked once for all requests that were refused with one token.
    """
    token = settings.balance_token if endpoint.on_balance_host else settings.token
    return token is not None and token.renew(header.removeprefix("Bearer "))


def address(endpoint: Endpoint, settings: Settings) -> str:
    """Return the base URL of an operation; raise `ConfigurationError` when its host is not configured."""
    if not endpoint.on_balance_host:
        assert settings.base_url is not None
        return settings.base_url
    if settings.balance_url is None:
        facts = {"operation": endpoint.operation, "environment": settings.environment}
        raise ConfigurationError(Sentence("error.no_balance_host", **facts))
    return settings.balance_url


def without_secrets(data: bytes, settings: Settings) -> bytes:
    """Return received data without the configured credentials.

    Credentials are found verbatim, in Basic authentication, and with escapes of JSON, addresses and HTML.
    """
    credentials = (settings.token, settings.api_key, settings.balance_token)
    texts = tuple(text for credential in credentials if credential for text in credential.texts())
    for core, pattern in _forms(texts, settings.proxy):
        # The plain search is fast, and nearly always finds nothing.
        if core in data:
            data = pattern.sub(REMOVED, data)
    return data


@functools.lru_cache(maxsize=4096)
def _forms(credentials: tuple[str, ...], proxy: Secret | None) -> tuple[tuple[bytes, re.Pattern[bytes]], ...]:
    """Return, for each credential, a text that every spelling of it contains, and the pattern of them all."""
    secrets = [*credentials]
    if proxy is not None and urlsplit(proxy.reveal()).password:
        parts = urlsplit(proxy.reveal())
        # As it is sent, with the user name: a password alone may be an ordinary word.
        secrets.append(f"{unquote(parts.username or '')}:{unquote(parts.password or '')}")
    texts = []
    for text in secrets:
        is_long = len(text) >= SHORTEST_CREDENTIAL
        texts.append((text, "") if is_long else (f"Bearer {text}", ""))
        # Only the part that is equal with and without the colon after an API key.
        encoded = _base64(text)[: len(text) // 3 * 4]
        if encoded:
            texts.append((encoded if is_long else f"Basic {encoded}", "[A-Za-z0-9+/]{0,4}"))
    return tuple(
        (
            max(_NEVER_ESCAPED.findall(text), key=len, default="").encode(),
            re.compile(("".join(map(_with_escapes, text)) + tail).encode()),
        )
        for text, tail in texts
    )


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _with_escapes(char: str) -> str:
    if _NEVER_ESCAPED.fullmatch(char):
        return re.escape(char)
    number, plain = f"{ord(char):02x}", re.escape(char)
    spellings = (
        plain,
        rf"\\{plain}",
        rf"\\u00(?i:{number})",
        f"%(?i:{number})",
        f"&#(?i:x{number}|{ord(char)});",
    )
    return f"(?:{'|'.join(spellings)})"
