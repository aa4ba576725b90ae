"""`bktools balance`: the balance of the company, by the interface's deprecated operation."""

from __future__ import annotations

import warnings

import bktools
from bktools.cli import options, results
from bktools.consoles import listed


@results.text
def balance(connection: options.Connects) -> None:
    """Show the company's balance (deprecated in the interface).

    The balance has its own host and token: BKTOOLS_BALANCE_URL and BKTOOLS_BALANCE_TOKEN. The service tells
    neither unit nor scale of its amounts, so they are shown as they come.

    Example: bktools balance --format json
    """
    warnings.simplefilter("always", DeprecationWarning)
    amounts = {str(name): value for name, value in bktools.get_balance(service=connection.service).items()}
    results.report(*listed(amounts.items()), **amounts)
