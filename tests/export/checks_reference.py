"""The checks of entries once more, in plain Python, an entry at a time: slow and easy to read."""

from __future__ import annotations

import math
import re
import statistics
from collections import defaultdict
from decimal import Decimal
from typing import Any

from bktools.currencies import MINOR_UNITS

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
FINAL = {"no_service_id", "conflicting", "duplicate", "other_company", "exported", "in_doubt", "later_period"}
Entry = dict[str, Any]


def findings(
    entries: list[Entry],
    *,
    categories: list[Entry],
    accounts: list[Entry],
    employees: list[str],
    history: dict[str, set[str]],
    company: str,
    period: str,
    currency: str,
) -> dict[int, list[str]]:
    """Return the checks that each entry fails, in order, by its line."""
    of_id = defaultdict(list)
    for entry in entries:
        of_id[entry["id"] or entry["line"]].append(entry)
    once = [lines[0] for lines in of_id.values() if len({content(line) for line in lines}) == 1]
    by_twin, by_category = defaultdict(list), defaultdict(list)
    for entry in once:
        if entry["amount"]:
            by_twin[twin_key(entry)].append(entry)
            by_category[of_category(entry)].append(math.log(abs(entry["amount"])))

    def failed(entry: Entry) -> Any:
        same_id, states = of_id[entry["id"] or entry["line"]], history.get(entry["id"], set())
        amount, units = entry["amount"], MINOR_UNITS.get(entry["currency"] or "")
        month = entry["date"] and entry["date"].strftime("%Y-%m")
        category = next((one for one in categories if one["id"] == entry["category_id"]), None)
        account = category and next((one for one in accounts if one["id"] == category["account_id"]), None)
        yield "no_service_id", entry["id"] is None
        yield "not_a_uuid", not UUID.fullmatch(entry["id"] or "")
        yield "conflicting", len({content(line) for line in same_id}) > 1
        yield "duplicate", len({content(line) for line in same_id}) == 1 and entry is not same_id[0]
        yield "other_company", entry["company_id"] != company
        yield "exported", "ACCEPTED" in states
        yield "in_doubt", "ACCEPTED" not in states and bool(states & {"SENDING", "UNKNOWN"})
        yield "later_period", month is not None and month > period
        yield "not_approved", entry["approved"] is not True
        yield "no_date", month is None
        yield "no_amount", amount is None
        yield "zero_amount", amount == 0
        yield "no_currency", not entry["currency"]
        yield "unknown_currency", bool(entry["currency"]) and units is None
        yield "too_many_decimals", None not in (amount, units) and amount % Decimal(1).scaleb(-units) != 0
        yield "no_category", not entry["category_id"]
        yield "unknown_category", bool(entry["category_id"]) and category is None
        yield "category_of_other_company", category is not None and category["company_id"] != entry["company_id"]
        yield "archived_category", category is not None and category["archived"]
        yield "no_account", category is not None and category["account_id"] is None
        yield "unknown_account", category is not None and category["account_id"] is not None and account is None
        yield "archived_account", account is not None and account["archived"]
        yield "unknown_employee", entry["employee_id"] is not None and entry["employee_id"] not in employees
        yield "earlier_period", month is not None and month < period
        twins = by_twin[twin_key(entry)] if amount and None not in twin_key(entry) else []
        yield "suspected_duplicate", sum(twin["amount"] == amount for twin in twins) > 1
        sizes = by_category[of_category(entry)]
        yield "unusual_amount", bool(amount and entry["category_id"] and entry["currency"]) and unusual(amount, sizes)
        has_tax = account is not None and account["tax_code_external_id"] is not None
        yield "no_tax_code", has_tax and not (entry["tax_code"] or "").strip()
        yield "no_employee", entry["employee_id"] is None
        yield "reversal", any(twin["amount"] == -amount for twin in twins)
        yield "foreign_currency", units is not None and entry["currency"] != currency

    found: dict[int, list[str]] = {}
    for entry in entries:
        names = [name for name, is_so in failed(entry) if is_so]
        found[entry["line"]] = names[
            : min((place for place, name in enumerate(names, 1) if name in FINAL), default=None)
        ]
    return found


def content(entry: Entry) -> tuple[Any, ...]:
    """Return all of an entry but its line."""
    return tuple(entry[name] for name in sorted(entry.keys() - {"line"}))


def of_category(entry: Entry) -> tuple[Any, ...]:
    """Return company, category and currency, within which amounts are compared."""
    return entry["company_id"], entry["category_id"], entry["currency"]


def twin_key(entry: Entry) -> tuple[Any, ...]:
    """Return company, day, currency, supplier or employee, and size."""
    party = (entry["supplier"] or "").strip().lower() or entry["employee_id"]
    return entry["company_id"], entry["date"], entry["currency"], party, entry["amount"] and abs(entry["amount"])


def unusual(amount: Decimal, sizes: list[float]) -> bool:
    """Whether an amount is further from the median of ten or more than 3.5 deviations, and than a factor of three."""
    if len(sizes) < 10:
        return False
    middle = statistics.median(sizes)
    deviation = statistics.median(abs(size - middle) for size in sizes)
    reach = max(math.log(3), 3.5 * 1.4826 * deviation)
    return abs(math.log(abs(amount)) - middle) > reach
