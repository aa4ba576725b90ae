"""The reasons why an accounting entry is not ready for export, and the query that finds them.

Each check is one item of `REASONS`. An entry with several reasons gets the first one. To add a check, add an item. Its
condition is SQL over `entry` (id and company_id in lower case, day, and the columns named in `needs`) and over the joined
tables of `JOINS`.
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
        Explanation and next step, for an analyst.
    needs : tuple of str
        The frames ("categories"), columns ("entries.approved") and arguments ("company") that the check needs. It is
        skipped when one is missing.
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
        "lines with this entry ID have different data: keep the right one",
    ),
    Reason("duplicate", "repeat.is_copy", "duplicate of an earlier line: only the first is exported"),
    Reason(
        "other_company",
        "entry.company_id <> $company",
        "the entry belongs to a company that is not exported",
        ("company",),
    ),
    Reason(
        "exported",
        "earlier.state = 'ACCEPTED'",
        "it was exported already, according to the journal: a second export would book it twice",
        ("history",),
    ),
    Reason(
        "in_doubt",
        "earlier.state IN ('SENDING', 'UNKNOWN')",
        "it may have been exported, according to the journal: resolve its batch first (bktools export resolve)",
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
        "its category was not found in the service: choose another one in the service",
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
        "the account of its category is not in the journal: create or import the accounts first",
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
        "its employee was not found in the service",
        ("employees", "entries.employee_id"),
    ),
)

# Joins for an entry, by frame. A category, account or employee may have several rows (of two combined snapshots); each of
# them can make the entry not ready.
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

# `contents` holds each entry as one value, without its line in the file; it is compared only for repeated IDs.
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

# (missing name, names that must be given for this to matter, phrase in the plan)
_UNCHECKED = (
    ("entries.approved", (), "approval (the entries have no status)"),
    ("categories", (), "categories and their accounts (no categories were given)"),
    ("accounts", ("categories",), "whether accounts are known and active (no accounts were given)"),
    ("employees", (), "employees (none were given)"),
    ("entries.employee_id", ("employees",), "employees (the entries have no employee_id)"),
    ("history", (), "earlier exports (no history was given; the journal is checked when the plan is submitted)"),
)


def query(given: set[str]) -> str:
    """Return the query for the given frames, columns and arguments (named as in `Reason.needs`).

    It returns row and reason of each entry, ordered by company, day and ID. The reason is null for a ready entry.
    """
    checks = [reason for reason in REASONS if given.issuperset(reason.needs)]
    needed = {name for reason in checks for name in reason.needs}
    conditions = "\n            ".join(f"WHEN {reason.condition} THEN '{reason.name}'" for reason in checks)
    joins = "\n        ".join(join for name, join in JOINS.items() if name in needed)
    return QUERY.replace("UUID_REGEX", UUID_REGEX).replace("CONDITIONS", conditions).replace("JOINS", joins)


def unchecked(given: set[str]) -> tuple[str, ...]:
    """Return a phrase for each check that was skipped because its input is missing."""
    return tuple(phrase for name, others, phrase in _UNCHECKED if name not in given and given.issuperset(others))
