"""TEMPORARY: facts of findings until plan and reconciliation have them."""

from __future__ import annotations

import json
from typing import Any

from bktools.wording import words

ROLE = {"accounting (ERP)": "erp", "administrator of the service": "service", "preparer of the close": "preparer"}


class _Facts(dict):
    def __missing__(self, name: str) -> Any:
        return None


def found_in(plan: Any) -> list[dict[str, Any]]:
    rows = plan.findings_table.to_pylist()
    texts = words("en")
    for row in rows:
        names = set()
        for form in ("one", "many", "do", "do_many"):
            names |= texts.facts_of(f"entry.{row['check']}.{form}")
        known = {"day": str(row.get("date")), "period": "2026-10", "decimals": 2, "own_currency": "EUR", "missing": 1}
        known |= {
            "usual_entries": 20,
            "usual_low": "10",
            "usual_high": "100",
            "changes": [],
            "same_lines": [3],
            "opposite_lines": [4],
        }
        known |= {"party": "supplier", "sent_day": str(row.get("date")), "sent_batch": "b", "wanted_tax_code": "x"}
        row["facts"] = json.dumps({n: known.get(n, row.get(n)) for n in names - {"count"}}, default=str)
        row["who"] = ROLE.get(row["who"], row["who"])
    return rows
