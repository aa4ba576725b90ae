"""Reads the argument `company` of every load into UUIDs; none means the configured company, or all."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from bktools.contract import rules
from bktools.errors import ArgumentError
from bktools.settings import Settings
from bktools.wording import Sentence

Company = str | uuid.UUID | Iterable[str | uuid.UUID] | None

ALL = "all"


def company_ids(company: Company, settings: Settings) -> list[str]:
    """Return the UUIDs of the given companies, or of the configured one; an empty list means all."""
    named: dict[str, object]
    if company is None:
        named = {} if settings.company is None else {"company (configured)": settings.company}
    elif isinstance(company, str | uuid.UUID):
        named = {} if company == ALL else {"company": company}
    else:
        named = {f"company[{index}]": item for index, item in enumerate(rules.items_of("company", company))}
        if not named:
            raise ArgumentError("company", Sentence("rule.at_least_one_company"))
    ids = [rules.company_id(argument, item, settings.company_names) for argument, item in named.items()]
    return list(dict.fromkeys(ids))


def companies_among(ids: Iterable[str | None]) -> list[str]:
    """Return the companies of employees, which are all that the credential can see."""
    companies = sorted({company_id.lower() for company_id in ids if company_id is not None})
    if not companies:
        raise ArgumentError("company", Sentence("rule.companies_unknown"))
    return companies
