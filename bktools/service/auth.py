"""Which credential a request carries (interface, section 5)."""

from __future__ import annotations

import base64

from bktools.contract.endpoint import Credential, Endpoint, Host
from bktools.errors import ConfigurationError
from bktools.settings import Settings


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
    pair = f"{settings.api_key.reveal()}:".encode()
    return f"Basic {base64.b64encode(pair).decode()}"


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
