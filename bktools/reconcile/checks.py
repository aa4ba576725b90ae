"""The checks that a reconciliation runs. A new one is a function that returns what breaks it, and its line here."""

from __future__ import annotations

from collections.abc import Callable

import narwhals as nw

from bktools.frames.engine import Lazy
from bktools.reconcile import account_checks, category_checks, identity_checks
from bktools.reconcile.findings import Breach, Look, Tables, found, none_found, ordered

CHECKS: tuple[Callable[[Tables], list[Breach]], ...] = (
    account_checks.missing_in_service,
    account_checks.missing_in_erp,
    account_checks.name_differs,
    account_checks.code_differs,
    account_checks.tax_code_differs,
    account_checks.archived_differs,
    identity_checks.external_id_duplicate,
    identity_checks.external_id_empty,
    identity_checks.external_id_too_long,
    identity_checks.external_id_looks_alike,
    identity_checks.name_missing,
    identity_checks.name_too_long,
    identity_checks.code_too_long,
    identity_checks.leading_zeros_lost,
    identity_checks.code_lengths_mixed,
    account_checks.account_id_unknown,
    account_checks.account_unused,
    account_checks.company_without_chart,
    category_checks.category_without_account,
    category_checks.category_on_unknown_account,
    category_checks.category_on_archived_account,
    category_checks.category_on_account_to_be_archived,
    category_checks.archived_category_on_active_account,
    category_checks.category_name_duplicate,
    category_checks.category_without_tax_code,
    category_checks.category_tax_code_ambiguous,
)


def run(tables: Tables, look: Look) -> Lazy:
    """Return the findings of all checks as one query, in their order."""
    of_table: dict[int, list[Breach]] = {}
    for check in CHECKS:
        for breach in check(tables):
            of_table.setdefault(id(breach.table), []).append(breach)
    frames = [frame for breaches in of_table.values() for frame in found(breaches, look)]
    return ordered(nw.concat(frames or [none_found(tables.pairs)]))
