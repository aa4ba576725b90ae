"""Names of the sandbox's companies, people and categories, as `names.toml` holds them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec


class CompanyName(NamedTuple):
    """A company's name, country, currency and e-mail domain."""

    name: str
    country: str
    currency: str
    domain: str


class Purchase(NamedTuple):
    """What a sample entry is for."""

    currency: str
    supplier: str
    text: str


class Expense(msgspec.Struct, frozen=True):
    """A kind of expense, the code of its account, its least and most amount in euros, and purchases of the kind."""

    name: str
    account: str
    least: int
    most: int
    bought: tuple[Purchase, ...]


class Names(msgspec.Struct, frozen=True):
    """The tables of `names.toml`; `people`, `groups` and `things` are by country, "other" where a country has none."""

    companies: tuple[CompanyName, ...]
    job_titles: tuple[str, ...]
    roles: tuple[str, ...]
    departments: tuple[str, ...]
    cost_centres: tuple[str, ...]
    places: tuple[str, ...]
    metadata: tuple[str, ...]
    people: dict[str, tuple[tuple[str, str, str], ...]]
    groups: dict[str, tuple[str, ...]]
    things: dict[str, tuple[str, ...]]
    expenses: tuple[Expense, ...]


NAMES = msgspec.toml.decode(Path(__file__).with_name("names.toml").read_bytes(), type=Names)
