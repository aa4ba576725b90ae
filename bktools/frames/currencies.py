"""ISO 4217 currencies with their decimals, and amounts as text with the decimals of their currency."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pandas as pd

# ISO 4217 as published on 2026-01-01, by number of decimals. Codes without decimals of their own (gold, special drawing
# rights, XXX for no currency, XTS for tests) are not here: nobody is paid in them. BGN was withdrawn with 2025, and older
# receipts have it.
_CODES = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
    2: """
        AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY
        COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS
        INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR
        MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP
        STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG BGN
    """,
    3: "BHD IQD JOD KWD LYD OMR TND",
    4: "CLF UYW",
}

# Code to number of decimals, of every active currency.
MINOR_UNITS: Mapping[str, int] = {code: units for units, codes in _CODES.items() for code in codes.split()}

# Decimals that amounts of an unknown currency are shown with.
USUAL = 2


def shown(amount: Any, currency: str | None) -> str:
    """Return an amount as text: thousands separators, and the currency's own decimals.

    Digits are never rounded away: an amount that has more decimals than its currency keeps them. Without an amount the
    text is empty; without a known currency the amount has at least two decimals.

    Examples
    --------
    >>> shown(Decimal("1234567.500"), "EUR"), shown(Decimal("1200.00"), "JPY"), shown(Decimal("12.345"), "EUR")
    ('1,234,567.50', '1,200', '12.345')
    """
    if pd.isna(amount):
        return ""
    whole, _, decimals = f"{Decimal(str(amount)):,f}".partition(".")
    decimals = decimals.rstrip("0").ljust(MINOR_UNITS.get(currency or "", USUAL), "0")
    text = f"{whole}.{decimals}" if decimals else whole
    return text.removeprefix("-") if amount == 0 else text
