"""A conversation for somebody who has another answer at hand."""

from __future__ import annotations

import copy
from dataclasses import replace

from bktools.service.service import Service

ATTEMPTS = 2


def in_haste(service: Service) -> Service:
    """Return the same conversation with fewer repeats; close the original one alone."""
    hasty = copy.copy(service)
    hasty._retry = replace(service._retry, attempts=min(service._retry.attempts, ATTEMPTS))  # noqa: SLF001 - one room
    hasty._on_close = None  # noqa: SLF001
    return hasty
