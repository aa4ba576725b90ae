"""Reads the argument `company` of every load: UUIDs and short names as UUIDs; none means the configured company, or all."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from bktools.contract import rules
from bktools.errors import ArgumentError
from bktools.settings import Settings

Company = str | uuid.UUID | Iterable[str | uuid.UUID] | None

ALL = "all"


def company_ids(company: Company, settings: Settings) -> list[str]:
    """Return the UUIDs of the given companies, or of the configured one; an empty list means all.

    Raises
    ------
    ArgumentError
        When one is neither a UUID nor a short name of the config file.
    """
    names = settings.company_names
    if isinstance(company, str) and company == ALL:
        return []
    if company is None:
        configured = settings.company
        return [] if configured is None else [rules.company_id("company (configured)", configured, names)]
    if isinstance(company, str | uuid.UUID):
        return [rules.company_id("company", company, names)]
    named = rules.company_ids("company", company, names)
    if not named:
        raise ArgumentError("company", "must name at least one company")
    return named


def companies_among(ids: Iterable[str | None]) -> list[str]:
    """Return the companies of employees, which are all that the credential can see."""
    companies = sorted({company_id.lower() for company_id in ids if company_id is not None})
    if not companies:
        raise ArgumentError(
            "company", "must be given: the credential can see no employee, so the companies are unknown"
        )
    return companies
