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


class Names(msgspec.Struct, frozen=True):
    """The tables of `names.toml`; `groups` and `things` are by country, "other" where a country has none."""

    companies: tuple[CompanyName, ...]
    people: tuple[tuple[str, str, str], ...]
    job_titles: tuple[str, ...]
    roles: tuple[str, ...]
    first_categories: tuple[str, ...]
    places: tuple[str, ...]
    metadata: tuple[str, ...]
    descriptions: tuple[str, ...]
    groups: dict[str, tuple[str, ...]]
    things: dict[str, tuple[str, ...]]


NAMES = msgspec.toml.decode(Path(__file__).with_name("names.toml").read_bytes(), type=Names)
