"""Company balance, deprecated (interface, sections 2.7, 4.6 and 7.2)."""

from __future__ import annotations

from decimal import Decimal

import msgspec

from bktools.contract.endpoint import Endpoint, Host

GET_BALANCE = Endpoint(
    operation="get_balance",
    method="GET",
    path="/v1/companies/balance",
    host=Host.BALANCE,
    deprecated=True,
)


class Balance(msgspec.Struct, frozen=True, rename="camel"):
    """A company's balance. The interface defines no unit or scale, so the numbers are kept exactly as sent."""

    currency: str
    current: Decimal
    available: Decimal
