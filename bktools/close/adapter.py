"""Facts of the findings of entries, until a plan has them itself: then this file goes, with `TOLD` and `sentence`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bktools.currencies import MINOR_UNITS
from bktools.export import ExportPlan
from bktools.wording import Words, words
from bktools.wording.numbers import capitalized

ROLES = {"accounting (ERP)": "erp", "administrator of the service": "service", "preparer of the close": "preparer"}
# The fact that holds sentences of the plan, where their facts are not known.
TOLD = "told"


def found_in(plan: ExportPlan, month: str, own: str | None) -> list[dict[str, Any]]:
    """Return the findings of a plan with the facts that its columns tell, or with its own sentences."""
    texts = words("en")
    rows: list[dict[str, Any]] = plan.findings_table.to_pylist()
    for row in rows:
        names: set[str] = set()
        for form in ("one", "many", "do", "do_many"):
            names |= texts.facts_of(f"entry.{row['check']}.{form}") - {"count"}
        currency, day = row.get("currency"), row.get("date")
        known = {
            "day": None if day is None else f"{day:%Y-%m-%d}", "period": month, "currency": currency,
            "decimals": MINOR_UNITS.get(currency or ""), "category_name": row.get("category_name"), "known_since": None,
            "own_currency": own,
        }  # fmt: skip
        one, do = capitalized(row["message"]), capitalized(row["to_do"])
        told = {TOLD: {"one": one, "many": one, "do": do, "do_many": do}}
        row["facts"] = json.dumps({name: known[name] for name in names} if names <= known.keys() else told)
        row["who"] = ROLES.get(row["who"], row["who"])
    return rows


def sentence(texts: Words, key: str, form: str, facts: Mapping[str, Any]) -> str:
    """Return a sentence from its facts, or the plan's own."""
    return str(facts[TOLD][form]) if TOLD in facts else texts(f"{key}.{form}", **facts)
