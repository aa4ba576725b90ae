"""`bktools balance`: the balance of the company, by the interface's deprecated operation."""

from __future__ import annotations

import warnings

import bktools
from bktools.cli import options, results
from bktools.consoles import listed


def balance(books: options.Environment, text: results.Text) -> None:
    """Show the company's balance (deprecated in the interface).

    The balance has its own host and token: BKTOOLS_BALANCE_URL and BKTOOLS_BALANCE_TOKEN. The service names
    neither unit nor scale of its amounts, so they are shown as they come.

    Example: bktools balance --format json
    """
    warnings.simplefilter("always", DeprecationWarning)
    with books.connected() as service:
        amounts = {str(name): value for name, value in bktools.get_balance(service=service).items()}
    text.report(*listed(amounts.items()), **amounts)
