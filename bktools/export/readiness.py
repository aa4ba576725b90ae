"""Why an accounting entry is not ready for export, and the one query that finds it out.

A check is one entry of `REASONS`. An entry with several reasons gets the first one. To add a check, add an entry: its
condition is SQL over `entry` (id and company_id in lower case, day, and the columns named in `needs`) and over what
`JOINS` finds for it.
"""

from __future__ import annotations

from dataclasses import dataclass

from bktools.contract.rules import UUID_REGEX


@dataclass(frozen=True)
class Reason:
    """One reason why an entry is not ready.

    Parameters
    ----------
    name : str
        Its name in the frame of entries that are not ready.
    condition : str
        SQL that is true for such an entry. False and NULL mean that the entry passes.
    message : str
        What it means and what to do, for an analyst.
    needs : tuple of str
        The frames ("categories"), columns ("entries.approved") and arguments ("company") without which it is not
        checked.
    """

    name: str
    condition: str
    message: str
    needs: tuple[str, ...] = ()


REASONS = (
    Reason(
        "no_service_id",
        "entry.id IS NULL",
        "the file has no entry ID of the service: export the entries from the service with their IDs",
    ),
    Reason(
        "not_a_uuid",
        f"NOT coalesce(regexp_full_match(entry.id, '{UUID_REGEX}'), false)",
        "the entry ID is not a valid UUID: correct it in the file",
    ),
    Reason(
        "no_company",
        "NOT coalesce(company.is_uuid, false)",
        "its company ID is not a valid UUID: correct it in the file",
    ),
    Reason(
        "conflicting",
        "repeat.is_conflict",
        "lines with this entry ID have different data: find out which one is right",
    ),
    Reason("duplicate", "repeat.is_copy", "duplicate of an earlier line: only the first is exported"),
    Reason(
        "other_company",
        "entry.company_id <> $company",
        "the entry belongs to another company than the one exported",
        ("company",),
    ),
    Reason(
        "exported",
        "earlier.state = 'ACCEPTED'",
        "the journal says it was exported: a second export would book it twice",
        ("history",),
    ),
    Reason(
        "in_doubt",
        "earlier.state IN ('SENDING', 'UNKNOWN')",
        "the journal says it may have been exported: resolve its batch first (bktools export resolve)",
        ("history",),
    ),
    Reason("not_approved", "NOT coalesce(entry.approved, false)", "it is not approved yet", ("entries.approved",)),
    Reason(
        "no_category",
        "coalesce(entry.category_id, '') = ''",
        "it has no category: choose one in the service",
        ("entries.category_id",),
    ),
    Reason(
        "unknown_category",
        "category.id IS NULL",
        "the service has no such category: choose another one in the service",
        ("categories",),
    ),
    Reason(
        "category_of_other_company",
        "category.company_id IS DISTINCT FROM entry.company_id",
        "its category belongs to another company: choose another one in the service",
        ("categories",),
    ),
    Reason(
        "archived_category",
        "category.archived",
        "its category is archived: choose another one in the service",
        ("categories",),
    ),
    Reason(
        "no_account",
        "category.account_id IS NULL",
        "its category has no account: give it one in the service",
        ("categories",),
    ),
    Reason(
        "unknown_account",
        "account.id IS NULL",
        "the account of its category is not known here: create or import the accounts first",
        ("categories", "accounts"),
    ),
    Reason(
        "archived_account",
        "account.archived",
        "the account of its category is archived: give the category another one in the service",
        ("categories", "accounts"),
    ),
    Reason(
        "unknown_employee",
        "entry.employee_id IS NOT NULL AND employee.id IS NULL",
        "the service has no such employee",
        ("employees", "entries.employee_id"),
    ),
)

# What is found for an entry, by the frame it is found in. A category, account or employee may be on several rows (two
# snapshots put together): any of them may hold the entry back.
JOINS = {
    "history": """LEFT JOIN (
            SELECT lower(entry_id) AS id, min(state) AS state
            FROM history WHERE state IN ('ACCEPTED', 'SENDING', 'UNKNOWN') GROUP BY ALL
        ) AS earlier ON earlier.id = entry.id""",
    "categories": r"""LEFT JOIN (
            SELECT lower(id) AS id,
                CASE WHEN min(lower(company_id)) = max(lower(company_id)) THEN min(lower(company_id)) END AS company_id,
                bool_or(archived) AS archived,
                CASE WHEN count(account) = count(*) THEN min(account) END AS account_id
            FROM (SELECT *, nullif(lower(trim(account_id, E' \t\r\n')), '') AS account FROM categories) GROUP BY ALL
        ) AS category ON category.id = lower(entry.category_id)""",
    "accounts": """LEFT JOIN (
            SELECT lower(id) AS id, bool_or(archived) AS archived FROM accounts GROUP BY ALL
        ) AS account ON account.id = category.account_id""",
    "employees": """LEFT JOIN (
            SELECT DISTINCT lower(id) AS id FROM employees
        ) AS employee ON employee.id = lower(entry.employee_id)""",
}

# `contents` has the whole of each entry, its line in the file aside; only those of repeated IDs are compared.
QUERY = """
WITH repeat AS (
    SELECT row,
        row_number() OVER (PARTITION BY content ORDER BY line, row) > 1 AS is_copy,
        count(DISTINCT content) OVER (PARTITION BY id) > 1 AS is_conflict
    FROM entries SEMI JOIN (SELECT id FROM entries GROUP BY id HAVING count(*) > 1) USING (id) JOIN contents USING (row)
), company AS (
    SELECT company_id AS id, regexp_full_match(company_id, 'UUID_REGEX') AS is_uuid FROM entries GROUP BY ALL
), judged AS (
    SELECT entry.row, entry.company_id, entry.day, entry.id, CASE CONDITIONS END AS reason
    FROM entries AS entry LEFT JOIN company ON company.id = entry.company_id LEFT JOIN repeat ON repeat.row = entry.row
        JOINS
)
SELECT row, reason FROM judged ORDER BY company_id, day, id
"""

# What was not given, when that matters, and how it is said.
_UNCHECKED = (
    ("entries.approved", (), "approval (the entries have no status)"),
    ("categories", (), "categories and their accounts (no categories were given)"),
    ("accounts", ("categories",), "whether accounts are known and active (no accounts were given)"),
    ("employees", (), "employees (none were given)"),
    ("entries.employee_id", ("employees",), "employees (the entries have no employee_id)"),
    ("history", (), "earlier exports (no history was given; the journal is checked when the plan is submitted)"),
)


def query(given: set[str]) -> str:
    """Return the query over what was given (named as in `Reason.needs`).

    It has the row and the reason (null for those that are ready) of each entry, by company, day and ID.
    """
    checks = [reason for reason in REASONS if given.issuperset(reason.needs)]
    needed = {name for reason in checks for name in reason.needs}
    conditions = "\n            ".join(f"WHEN {reason.condition} THEN '{reason.name}'" for reason in checks)
    joins = "\n        ".join(join for name, join in JOINS.items() if name in needed)
    return QUERY.replace("UUID_REGEX", UUID_REGEX).replace("CONDITIONS", conditions).replace("JOINS", joins)


def unchecked(given: set[str]) -> tuple[str, ...]:
    """Return phrases for what was not given, so not checked."""
    return tuple(phrase for name, others, phrase in _UNCHECKED if name not in given and given.issuperset(others))
