"""The description of the sandbox in OpenAPI."""

from __future__ import annotations

from typing import Any


def openapi_document(base_url: str, balance_url: str, max_limit: int) -> dict[str, Any]:
    """Return the OpenAPI document of a running sandbox."""
    return {"openapi": "3.1.0", "info": {"title": "bktools sandbox", "version": "24.14.0"}, "paths": {}}
