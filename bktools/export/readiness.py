"""Why an accounting entry is not ready for export.

A reason is one entry of `REASONS`, in the order in which they are told: an entry that has several is told the first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import narwhals as nw

Lazy = nw.LazyFrame[Any]

# What is found out about entries is named so, beside columns that have names of their own.
OWN = "bktools_"
REASON = OWN + "reason"


@dataclass(frozen=True)
class Reason:
    """One way in which an entry is not ready.

    Parameters
    ----------
    name : str
        Its name in the frame of entries that are not ready.
    message : str
        What it means and what to do, for an analyst.
    needs : str
        The frame it is checked against; "" for the entries alone.
    holds : callable
        The expression that is true for such an entry, over the entries joined with what they point at.
    """

    name: str
    message: str
    needs: str
    holds: Callable[[], nw.Expr]


def _c(name: str) -> nw.Expr:
    return nw.col(name)


def _d(name: str) -> nw.Expr:
    """Return what was found out about an entry; a column of its own may have any other name."""
    return nw.col(OWN + name)


# Told before all others, because the others have no sense without them; found by `export.identity`.
IDENTITY_REASONS = {
    "not_a_uuid": "the entry ID is no UUID: correct it in the file",
    "no_company": "its company is no UUID: correct it in the file",
    "conflicting": "the same entry ID stands on lines that differ: find out which one is right",
    "duplicate": "the same entry stands in the file before: it is exported once",
}

REASONS = (
    Reason(
        "other_company",
        "the entry belongs to another company than the one exported",
        "company",
        lambda: _d("company_key") != _d("asked_company"),
    ),
    Reason(
        "exported",
        "the journal says it was exported: a second export would book it twice",
        "history",
        lambda: _d("journal_state") == "ACCEPTED",
    ),
    Reason(
        "in_doubt",
        "the journal says it may have been exported: settle its batch first (bktools export resolve)",
        "history",
        lambda: _d("journal_state").is_in(["SENDING", "UNKNOWN"]),
    ),
    # Where nothing says that it is approved, it is not.
    Reason("not_approved", "it is not approved yet", "approved", lambda: ~_c("approved").fill_null(value=False)),
    Reason(
        "no_category",
        "it has no category: code it in the service",
        "category_id",
        lambda: _c("category_id").is_null() | (_c("category_id").cast(nw.String()) == ""),
    ),
    Reason(
        "unknown_category",
        "the service has no such category: code the entry again in the service",
        "categories",
        lambda: _d("category_company").is_null(),
    ),
    Reason(
        "category_of_other_company",
        "its category belongs to another company: code the entry again in the service",
        "categories",
        lambda: _d("category_company") != _d("company_key"),
    ),
    Reason(
        "archived_category",
        "its category is archived: code the entry again in the service",
        "categories",
        lambda: _d("category_archived"),
    ),
    Reason(
        "no_account",
        "its category has no account: map the category in the service",
        "categories",
        lambda: _d("category_account").is_null(),
    ),
    Reason(
        "unknown_account",
        "its category is on an account that is not known here: create or import the accounts first",
        "accounts",
        lambda: _d("account_known").is_null(),
    ),
    Reason(
        "archived_account",
        "its category is on an archived account: map the category to another one in the service",
        "accounts",
        lambda: _d("account_archived"),
    ),
    Reason(
        "unknown_employee",
        "the service has no such employee",
        "employees",
        lambda: ~_c("employee_id").is_null() & _d("employee_known").is_null(),
    ),
)

MESSAGES = IDENTITY_REASONS | {reason.name: reason.message for reason in REASONS}


def with_reason(
    entries: Lazy,
    *,
    company: str | None = None,
    categories: Lazy | None = None,
    accounts: Lazy | None = None,
    employees: Lazy | None = None,
    history: Lazy | None = None,
) -> Lazy:
    """Return the entries with `reason`, null for those that none of `REASONS` holds back.

    Parameters
    ----------
    entries : LazyFrame
        With id and company_id.
    company : str, optional
        The company exported.
    categories, accounts, employees, history : LazyFrame, optional
        What is not given is not checked.
    """
    columns = entries.collect_schema().names()
    given = {"", *columns}
    rows = entries.with_columns(_key("id", "id_key"), _key("company_id", "company_key"))
    if company is not None:
        given.add("company")
        rows = rows.with_columns(nw.lit(company).alias(OWN + "asked_company"))
    if categories is not None:
        given.add("categories")
        rows = rows.with_columns(_key("category_id", "coded"))
        rows = _joined(rows, _category_facts(categories), "coded", "category_key")
    if categories is not None and accounts is not None:
        given.add("accounts")
        rows = _joined(rows, _account_facts(accounts), "category_account", "account_key")
    if employees is not None and "employee_id" in columns:
        given.add("employees")
        rows = rows.with_columns(_key("employee_id", "made_by"))
        rows = _joined(rows, _employee_facts(employees), "made_by", "employee_key")
    if history is not None:
        given.add("history")
        rows = _joined(rows, _journal_facts(history), "id_key", "entry_key")

    reason = nw.lit(None).cast(nw.String())
    for item in reversed(REASONS):
        if item.needs in given:
            reason = nw.when(item.holds().fill_null(value=False)).then(nw.lit(item.name)).otherwise(reason)
    return rows.select(*columns, reason.alias(REASON))


def _joined(rows: Lazy, facts: Lazy, left: str, right: str) -> Lazy:
    return rows.join(facts, how="left", left_on=OWN + left, right_on=OWN + right)


def _key(name: str, alias: str) -> nw.Expr:
    """Return UUIDs as they are compared: the same one in capitals is the same one."""
    return _c(name).cast(nw.String()).str.to_lowercase().alias(OWN + alias)


def unchecked(columns: list[str], *, categories: Any, accounts: Any, employees: Any, history: Any) -> tuple[str, ...]:
    """Return what was not given, so not checked; each a phrase."""
    missing = []
    if "approved" not in columns:
        missing.append("approval (the entries have no status)")
    if categories is None:
        missing.append("categories and their accounts (no categories were given)")
    elif accounts is None:
        missing.append("whether accounts are known and active (no accounts were given)")
    if employees is None:
        missing.append("employees (none were given)")
    elif "employee_id" not in columns:
        missing.append("employees (the entries have no employee_id)")
    if history is None:
        missing.append("earlier exports (no history was given; the journal is checked when the plan is submitted)")
    return tuple(missing)


def _category_facts(categories: Lazy) -> Lazy:
    """Return each category once. Of one that is on several rows, whatever keeps an entry from being exported holds."""
    account = _c("account_id").cast(nw.String()).str.strip_chars().str.to_lowercase()
    rows = categories.select(
        _key("id", "category_key"),
        _key("company_id", "category_company"),
        _c("archived").fill_null(value=False).alias(OWN + "category_archived"),
        nw.when(account != "").then(account).alias(OWN + "category_account"),
    )
    facts = rows.group_by(OWN + "category_key").agg(
        _d("category_company").min(),
        _d("category_archived").max(),
        _d("category_account").min(),
        nw.len().alias(OWN + "category_rows"),
        _d("category_account").count().alias(OWN + "category_accounts"),
    )
    has_account = _d("category_accounts") == _d("category_rows")
    return facts.with_columns(nw.when(has_account).then(_d("category_account")).alias(OWN + "category_account"))


def _account_facts(accounts: Lazy) -> Lazy:
    known = accounts.filter(~_c("id").is_null()).select(
        _key("id", "account_key"), _c("archived").fill_null(value=False).alias(OWN + "account_archived")
    )
    # One account may be known under two external IDs; archived under one of them is archived.
    facts = known.group_by(OWN + "account_key").agg(_d("account_archived").max())
    return facts.with_columns(nw.lit(value=True).alias(OWN + "account_known"))


def _employee_facts(employees: Lazy) -> Lazy:
    found = employees.select(_key("id", "employee_key")).unique(OWN + "employee_key", keep="any")
    return found.with_columns(nw.lit(value=True).alias(OWN + "employee_known"))


def _journal_facts(history: Lazy) -> Lazy:
    booked = history.filter(_c("state").is_in(["ACCEPTED", "SENDING", "UNKNOWN"]))
    keyed = booked.select(_key("entry_id", "entry_key"), _c("state").alias(OWN + "journal_state"))
    return keyed.group_by(OWN + "entry_key").agg(_d("journal_state").min())
