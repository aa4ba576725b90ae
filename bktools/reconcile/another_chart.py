"""Whether a chart is another company's: created accounts cannot be deleted, so a person is asked first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from bktools.contract.accounts import CompanyInFile

# Fewer accounts than these prove nothing.
FEWEST = 3


class Doubt(NamedTuple):
    """Why a chart looks like another company's: a code of the section `chart` of `wording`, and its facts."""

    code: str
    facts: Mapping[str, Any]


def doubts_of(
    matches: Iterable[Mapping[str, Any]], named: CompanyInFile | None, before: Mapping[str, CompanyInFile]
) -> tuple[Doubt, ...]:
    """Return why a chart looks like another company's; nothing where it does not.

    `matches` are the rows of `results.chart_match`, one for each company of the chart; `named` is the company
    that its file names, and `before` by company the one that the file of its last chart named.
    """
    doubts = (_doubt(match, named, before.get(match["company_id"])) for match in matches)
    return tuple(doubt for doubt in doubts if doubt)


def _doubt(
    match: Mapping[str, Any], named: CompanyInFile | None, before: CompanyInFile | None
) -> Doubt | None:
    company = {"company_id": match["company_id"]}
    if named and before and not _are_same(named, before):
        return Doubt("of_another_company", company | {"named": _shown(named), "before": _shown(before)})
    # A service may have many accounts that no chart has any more: used ones count where there are enough.
    kind = "used" if match["used"] >= FEWEST else "known"
    count, missing = match[kind], match[f"{kind}_missing"]
    if count >= FEWEST and missing * 2 > count:
        facts = {"missing": missing, "accounts": count, "examples": match[f"{kind}_examples"]}
        return Doubt(f"lacks_{kind}_accounts", company | facts)
    if match["matched"] >= FEWEST and match["renamed"] * 2 > match["matched"]:
        facts = {
            "renamed": match["renamed"],
            "accounts": match["matched"],
            "examples": match["renamed_examples"],
        }
        return Doubt("renames_accounts", company | facts)
    return None


def _are_same(one: CompanyInFile, other: CompanyInFile) -> bool:
    """Whether two files name one company: by its number where both have one, otherwise by its name."""
    field = "number" if one.number and other.number else "name"
    # A number may have hyphens in one program and none in another.
    first, second = (re.sub(r"\W", "", getattr(company, field).casefold()) for company in (one, other))
    return first == second or not (first and second)


def _shown(company: CompanyInFile) -> str:
    return " ".join(filter(None, company))
