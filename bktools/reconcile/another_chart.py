"""Whether a chart is taken for another company's: created accounts cannot be deleted, so a person is asked first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from bktools.contract.accounts import CompanyInFile

# Fewer accounts than these prove nothing.
FEWEST = 3


def another_chart(matches: Iterable[Mapping[str, Any]], named: CompanyInFile | None, before: Mapping[str, Any]) -> str:
    """Return why a chart looks like another company's, "" where it does not.

    `matches` are the rows of `tables.CHART_MATCH`, one for each company of the chart; `named` is the company that its
    file names, and `before` by company the one that the file of its last chart named.
    """
    reasons = [reason for match in matches if (reason := _reason(match, named, before.get(match["company_id"])))]
    return f"the chart looks like another company's: {'; '.join(reasons)}" if reasons else ""


def _reason(match: Mapping[str, Any], named: CompanyInFile | None, before: CompanyInFile | None) -> str:
    company = match["company_id"]
    if named and before and not _are_same(named, before):
        return f"its file names {_shown(named)}, and the chart of company {company} was that of {_shown(before)} so far"
    # A service may have many accounts that no chart has any more, so those in use count where there are enough of them.
    kind, words = (
        ("used", "accounts that categories use") if match["used"] >= FEWEST else ("known", "accounts known here")
    )
    count, missing = match[kind], match[f"{kind}_missing"]
    if count >= FEWEST and missing * 2 > count:
        examples = _list(match[f"{kind}_examples"])
        return f"it lacks {missing:,} of the {count:,} {words} of company {company}, such as {examples}"
    if match["matched"] >= FEWEST and match["renamed"] * 2 > match["matched"]:
        return (
            f"{match['renamed']:,} of its {match['matched']:,} accounts that company {company} has by the same ID have "
            f"another name, such as {_list(match['renamed_examples'])}"
        )
    return ""


def _list(examples: Iterable[str]) -> str:
    return ", ".join(" ".join(example.split()) for example in examples)


def _are_same(one: CompanyInFile, other: CompanyInFile) -> bool:
    """Whether two files name one company: by its number where both have one, otherwise by its name."""
    field = "number" if one.number and other.number else "name"
    # A number may have hyphens in one program and none in another.
    first, second = (re.sub(r"\W", "", getattr(company, field).casefold()) for company in (one, other))
    return first == second or not (first and second)


def _shown(company: CompanyInFile) -> str:
    return " ".join(filter(None, company))
