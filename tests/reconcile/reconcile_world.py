"""Small worlds in which everything that can be wrong is."""

import random

import pyarrow as pa
from world_files import pairs

from bktools.frames import schema
from bktools.reconcile import reconcile_accounts

_ACCOUNT = ["company_id", "external_id", "code", "name", "archived", "tax_code_external_id"]
COLUMNS = {
    "chart": _ACCOUNT,
    "accounts": [*_ACCOUNT, "state", "id"],
    "categories": ["id", "company_id", "category_group_id", "name", "archived", "account_id", "tax_code_id"],
}
SCHEMAS = {"chart": schema.CHART, "accounts": schema.ACCOUNTS, "categories": schema.CATEGORIES}


def arrow(noun, rows):
    """Return rows (dicts) as an Arrow table of the noun's types, every one of which may be null."""
    kinds = pa.schema([pa.field(name, SCHEMAS[noun].field(name).type) for name in COLUMNS[noun]])
    return pa.Table.from_pylist(rows, schema=kinds)


COMPANIES = ["company-a", "company-b", "company-c"]
LONG = "x" * 256
EXTERNAL_IDS = [
    *("", "1", "01", "001", "12", "012", "a b", "A B", "ab", "Ab\u00a0", "1200", "1300", "1400", "ß", LONG)
]
CODES = [None, "1", "01", "12", "1200", "c", LONG]
NAMES = [None, "Bank", "Bänk", "Bank ", "<b>", LONG]
TAXES = [None, "V19", "V7"]
STATES = ["CREATED", "MATCHED", "EXISTS", "IMPORTED", "REJECTED", "UNKNOWN", "PLANNED"]
ACCOUNT_IDS = [f"account-{number}" for number in range(8)]


def chart_row(pick):
    return {
        "company_id": pick(COMPANIES[:2]),
        "external_id": pick([None, *EXTERNAL_IDS]),
        "code": pick(CODES),
        "name": pick(NAMES),
        "archived": pick([True, False, False]),
        "tax_code_external_id": pick(TAXES),
    }


def account_row(pick):
    return {
        "company_id": pick(COMPANIES),
        "external_id": pick(EXTERNAL_IDS),
        "state": pick(STATES),
        "id": pick([None, *ACCOUNT_IDS]),
        "name": pick(NAMES),
        "code": pick(CODES),
        "tax_code_external_id": pick(TAXES),
        "archived": pick([True, False, False, None]),
    }


def category_row(pick, number):
    return {
        "id": f"category-{number}",
        "company_id": pick(COMPANIES),
        "category_group_id": "group",
        "name": pick([None, "Fees", "Travel", "Rent", "=1+1"]),
        "archived": pick([True, False]),
        "account_id": pick([None, "", "account-elsewhere", *ACCOUNT_IDS]),
        "tax_code_id": pick([None, "tax-1", "tax-2"]),
    }


def world(pick, chart, accounts, categories):
    """Return rows per noun, as many as asked."""
    return {
        "chart": [chart_row(pick) for _ in range(chart)],
        "accounts": [account_row(pick) for _ in range(accounts)],
        "categories": [category_row(pick, number) for number in range(categories)],
    }


def seeded(seed, size):
    """Return a world that is the same for the same seed."""
    return world(random.Random(seed).choice, size, size, size)


def tables(rows):
    return {noun: arrow(noun, found) for noun, found in rows.items()}


def frames(rows):
    """Return rows by noun as frames of pandas."""
    return in_pandas(tables(rows))


def reconciled(rows):
    return reconcile_accounts(**frames(rows))


def side_by_side(worlds):
    """Put worlds together: the companies of each have its name before their own."""
    together = {"chart": [], "accounts": [], "categories": []}
    for name, rows in worlds.items():
        for noun, more in rows.items():
            together[noun] += [row | {"company_id": f"{name} {row['company_id']}"} for row in more]
    return together


def plain():
    """Return a company of two accounts that are the same on both sides, each with a category."""
    company = "company-z"
    chart = [
        {"external_id": code, "code": code, "name": name, "archived": False, "tax_code_external_id": tax}
        for code, name, tax in (("0400", "Machines", "V19"), ("1200", "Bank", "V7"))
    ]
    known = [{**row, "id": f"account-{row['code']}", "state": "CREATED"} for row in chart]
    categories = [
        {"id": f"category-{row['code']}", "category_group_id": "group", "name": row["name"]}
        | {"archived": False, "account_id": f"account-{row['code']}", "tax_code_id": f"tax-{row['code']}"}
        for row in chart
    ]
    rows = {"chart": chart, "accounts": known, "categories": categories}
    return {noun: [{"company_id": company, **row} for row in found] for noun, found in rows.items()}


VALUES = {"null": None, "true": True, "false": False, "blank": " \u00a0", "empty": ""}


def in_pandas(tables):
    """Return Arrow tables by noun as frames of pandas."""
    return {noun: schema.to_pandas(table) for noun, table in tables.items()}


def changed(changes):
    """Return the plain world after changes such as `chart 0 code=17 / accounts more id=x / chart 1 gone`."""
    rows = plain()
    for change in changes.split(" / "):
        noun, place, values = change.split(" ", 2)
        if values == "gone":
            del rows[noun][int(place)]
            continue
        given = {name: VALUES.get(text, text) for name, text in pairs(values).items()}
        if place == "more":
            rows[noun].append(rows[noun][0] | given)
            continue
        for row in rows[noun] if place == "*" else [rows[noun][int(place)]]:
            row.update(given)
    return rows


NASTY = [
    *('O\'Brien "and" sons', "two\nlines\r\nand a\ttab", "🧾 receipts", "חשבון בנק", "\u202eright to left"),
    *("=1+1", "+1", "-1", "@home", "'; DROP TABLE chart; --", "{}", "100 %", "0 1 2", "back\\slash"),
    *(" spaces ", "e\u0301", "é"),
]
