"""Company balance, deprecated (interface, sections 2.7, 4.6 and 7.2)."""

from __future__ import annotations

from decimal import Decimal

import msgspec

from bktools.contract.endpoint import Endpoint

GET_BALANCE = Endpoint("get_balance", "GET", "/v1/companies/balance", on_balance_host=True)


class Balance(msgspec.Struct, frozen=True):
    """A company's balance. The interface defines no unit or scale, so numbers are kept exactly as sent."""

    currency: str
    current: Decimal
    available: Decimal
