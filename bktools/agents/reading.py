"""`ReadingService`: a client of the service that cannot create anything."""

from __future__ import annotations

from typing import Any, NoReturn

import bktools
from bktools.errors import ArgumentError

READS = ("search_categories", "search_employees", "get_employee", "get_balance")


def refuse(*_: Any, **_options: Any) -> NoReturn:
    """Refuse an operation that creates an account or an export job."""
    raise ArgumentError("service", "is only read by bktools mcp: a person sends with a command of their own")


class ReadingService(bktools.Service):
    """A client that sends the requests of READS only: no tool's mistake can reach an operation that books."""

    create_account = refuse
    create_export_job = refuse

    def _answered(self, endpoint: Any, *arguments: Any, **options: Any) -> Any:
        # Below the operations, so that a new one which creates something is refused until it is listed.
        if endpoint.operation not in READS:
            refuse()
        return super()._answered(endpoint, *arguments, **options)
