"""ISO 4217: the codes of currencies, each with its number of decimals."""

from __future__ import annotations

from collections.abc import Mapping

# ISO 4217 as published on 2026-01-01, by number of decimals. Codes without decimals of their own (gold,
# special drawing rights, XXX for no currency, XTS for tests) are not here: nobody is paid in them. BGN was
# withdrawn with 2025, and older receipts have it.
_CODES = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
    2: """
        AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE
        CHF CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD
        HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK
        MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD
        RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH
        USD USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG BGN
    """,
    3: "BHD IQD JOD KWD LYD OMR TND",
    4: "CLF UYW",
}

# Code to number of decimals, of every active currency.
MINOR_UNITS: Mapping[str, int] = {code: units for units, codes in _CODES.items() for code in codes.split()}

# Decimals that amounts of an unknown currency are shown with.
USUAL = 2
