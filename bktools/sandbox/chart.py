"""The chart of accounts that the first company keeps in its ERP, and which of its accounts the service has."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import NamedTuple

# Accounts that the service has and the ERP does not: code, name, archived.
ONLY_IN_SERVICE = (
    ("495900", "Altkonto Beratung (Migration 2024)", False),
    ("498500", "Werkzeuge und Kleingeräte", False),
    ("499900", "Testkonto - bitte löschen", True),
)

# Names under which the service has the accounts marked `~`.
OTHER_NAMES = {"454000": "Kfz-Reparaturen & Wartung", "465000": "Bewirtung"}


class ChartAccount(NamedTuple):
    """One account of the ERP's chart, with codes of six digits so that none is one of a four-digit chart.

    `in_service` is `=` for an account that the service has as it is, `~` for one that it has under another name, and
    empty for one that it lacks.
    """

    code: str
    name: str
    type: str
    tax_code: str
    active: bool
    in_service: str


@functools.cache
def chart_of_accounts() -> tuple[ChartAccount, ...]:
    """Return the chart in the order of its codes."""
    _, *lines = Path(__file__).with_name("chart.csv").read_text(encoding="utf-8").splitlines()
    # Spaces between the bars belong to the name.
    rows = (line.split("|") for line in lines)
    return tuple(
        ChartAccount(code, name, type_, tax, active == "ja", known) for code, name, type_, tax, active, known in rows
    )
