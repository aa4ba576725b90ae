"""The checks of a reconciliation. To add a check, add one entry to CHECKS."""

from __future__ import annotations

import dataclasses

import duckdb

from bktools.contract.accounts import LONGEST_TEXT
from bktools.frames.roles import ERP, PREPARER, SERVICE
from bktools.frames.templates import quoted, sql

# error: an export will fail, or money may be booked wrongly. warning: a person should act. info: no action is needed.
SEVERITIES = ("error", "warning", "info")

# bktools cannot read the accounts of the service: it knows those that it created, met or imported, until a date.
KNOWN = "not among the accounts bktools knows{known_since()}"


@dataclasses.dataclass(frozen=True)
class Check:
    """One check: the rows that fail it, and the finding for each of them.

    Parameters
    ----------
    name : str
        Name of the check; several entries may share one.
    severity : str
        One of SEVERITIES.
    message : str
        One line for an analyst: the fact, a colon, and the next step, whose only SQL may be {action} at its beginning.
    where : str
        SQL condition of the rows that fail the check.
    table : str
        The table of `tables.py` to check.
    action : str
        The action that makes the service agree with the chart: create, update, archive, unarchive or none.
    field : str, optional
        The field that differs.
    values : tuple of two str
        SQL of its value in the chart and in the service.
    who : str
        Who does it, one of `roles.ROLES`.

    `severity`, `message` and `action` may hold SQL in braces: `"{erp_account} has no name in the chart"`.
    """

    name: str
    severity: str
    message: str
    where: str = "true"
    table: str = "accounts"
    action: str = "none"
    field: str | None = None
    values: tuple[str, str] = ("NULL", "NULL")
    who: str = PREPARER


def _differs(name: str, words: str, field: str, erp: str, service: str, severity: str = "warning") -> Check:
    """Return the check for different values of a field in chart and service."""
    return Check(
        name,
        severity,
        f"{{erp_account}} has the {words} {{shown({erp})}} in the chart and {{shown({service})}} in the "
        "service: update it in the service",
        where=name,
        action="update",
        field=field,
        values=(erp, service),
        who=SERVICE,
    )


def _too_long(name: str, words: str, field: str, column: str) -> Check:
    """Return the check for a text that is too long for the service."""
    return Check(
        name,
        "error",
        f"the {words} of {{left(erp_account, 60)}}… has {{length({column})}} characters and the service takes "
        f"{LONGEST_TEXT}: shorten it in the ERP",
        where=f"in_chart AND is_long({column})",
        field=field,
        values=(column, "NULL"),
        who=ERP,
    )


# For an archived category every finding is an info, because no new entry uses it.
ERROR, WARNING = "{if(archived, 'info', 'error')}", "{if(archived, 'info', 'warning')}"


def _uncovered(name: str, state: str, message: str, action: str = "none", who: str = SERVICE) -> Check:
    """Return the check for categories in a state in which their entries cannot be exported."""
    where = f"state = '{state}'"
    return Check(name, ERROR, message, where, "coverage", action, "account_id", ("NULL", "account_id"), who)


READ_AS_TEXT = (
    "which differ only in leading zeros: use the ERP's own file (spreadsheets drop zeros) before anything is created"
)
MAKE_THEM_SAME = (
    "which differ only in {difference(external_id, looks_like)}: make them the same before anything is created"
)

CHECKS: tuple[Check, ...] = (
    Check(
        "missing_in_service",
        "warning",
        "{erp_account} is in the chart and " + KNOWN + ": create it (bktools accounts create)",
        where="action = 'create'",
        action="create",
    ),
    Check(
        "missing_in_erp",
        "info",
        "{service_account} is in the service and not in the chart: it is archived already, nothing to do",
        where="is_gone AND archived",
        action="{action}",
    ),
    Check(
        "missing_in_erp",
        "warning",
        "{service_account} is in the service and not in the chart: archive it in the service, or bring it back "
        "in the ERP",
        where="is_gone AND archived IS NOT true AND twin IS NULL",
        action="{action}",
        who=SERVICE,
    ),
    Check(
        "missing_in_erp",
        "warning",
        "{service_account} is in the service and not in the chart, which has {shown(twin)}: leave it "
        "as it is until that is settled",
        where="is_gone AND archived IS NOT true AND twin IS NOT NULL",
        action="{action}",
    ),
    _differs("name_differs", "name", "name", "erp_name", "name"),
    _differs("code_differs", "code", "code", "erp_code", "code"),
    # An error, because tax would be booked wrongly.
    _differs("tax_code_differs", "tax code", "tax_code_external_id", "erp_tax", "tax", "error"),
    Check(
        "archived_differs",
        "warning",
        "{erp_account} is {if(erp_archived, 'archived', 'active')} in the chart and "
        "{if(archived, 'archived', 'active')} in the service: {action} it in the service",
        where="archived_differs",
        action="{action}",
        field="archived",
        values=("erp_archived::VARCHAR", "archived::VARCHAR"),
        who=SERVICE,
    ),
    Check(
        "external_id_duplicate",
        "error",
        "{chart_rows} rows of the chart have the external ID {shown(external_id)}: leave one of them in the chart",
        where="chart_rows > 1",
        field="external_id",
        who=ERP,
    ),
    Check(
        "external_id_duplicate",
        "error",
        "{service_rows} accounts known here have the external ID {shown(external_id)}: import the account list again, with each external ID once",
        where="service_rows > 1",
        field="external_id",
    ),
    Check(
        "external_id_empty",
        "error",
        "{account} of the chart has no external ID and cannot be matched: give it an external ID in the ERP",
        where="side = 'chart'",
        table="unidentified",
        field="external_id",
        who=ERP,
    ),
    Check(
        "external_id_empty",
        "error",
        "{account} of the accounts known here has no external ID and cannot be matched: import it with one",
        where="side = 'service'",
        table="unidentified",
        field="external_id",
    ),
    _too_long("external_id_too_long", "external ID", "external_id", "external_id"),
    Check(
        "external_id_looks_alike",
        "error",
        "the chart has the external ID {shown(external_id)} and the service {shown(looks_like)}, " + MAKE_THEM_SAME,
        where="is_new AND looks_like IS NOT NULL",
        field="external_id",
        values=("external_id", "looks_like"),
        who=ERP,
    ),
    Check(
        "name_missing",
        "error",
        "{erp_account}{on_line(line)} has no name in the chart: give it a name in the ERP",
        where="is_single AND in_chart AND erp_name IS NULL",
        field="name",
        who=ERP,
    ),
    Check(
        "total_in_chart",
        "error",
        "{erp_account}{on_line(line)} is a total of the chart and no account: delete its line from the chart's file",
        where="is_single AND is_new AND is_total(erp_name, erp_code)",
        field="name",
    ),
    _too_long("name_too_long", "name", "name", "erp_name"),
    _too_long("code_too_long", "code", "code", "erp_code"),
    Check(
        "leading_zeros_lost",
        "error",
        "the chart has the external ID {shown(external_id)} and the service {shown(zeros_like)}, " + READ_AS_TEXT,
        where="is_new AND zeros_like IS NOT NULL",
        field="external_id",
        values=("external_id", "zeros_like"),
    ),
    Check(
        "leading_zeros_lost",
        "error",
        "the chart has the code {shown(erp_code)} and the service {shown(code)}, " + READ_AS_TEXT,
        where="code_lost_zeros",
        field="code",
        values=("erp_code", "code"),
    ),
    Check(
        "code_lengths_mixed",
        "info",
        "codes of the chart have {shortest} to {longest} digits and none starts with 0: if the ERP has some "
        "that do, use the ERP's own file (spreadsheets drop zeros)",
        where="shortest < longest AND NOT has_zeros",
        table="charts",
        field="code",
    ),
    Check(
        "account_id_unknown",
        "warning",
        "{named(coalesce(code, erp_code), external_id, coalesce(name, erp_name))} exists in the service and "
        "its ID is unknown here: import it (bktools accounts import FILE)",
        where="is_single AND in_service AND account_id IS NULL",
        field="id",
    ),
    Check(
        "account_unused",
        "info",
        "company {company_id} has {counted(rows, 'active account')} that no category uses: .unused_accounts lists them",
        table="unused",
    ),
    Check(
        "company_without_chart",
        "warning",
        "the chart has no account of company {company_id}, so its accounts known here ({rows}) were not "
        "compared: give its chart, or leave the company out",
        table="uncharted",
    ),
    _uncovered(
        "category_without_account", "no_account", "{category} has no account: give it an account in the service"
    ),
    _uncovered(
        "category_on_unknown_account",
        "unknown_account",
        "{category} is on account {account_id}, which is not known here: create the chart's accounts first, import it "
        "(bktools accounts import FILE), or give the category another account",
        who=PREPARER,
    ),
    _uncovered(
        "category_on_archived_account",
        "archived_account",
        "{category} is on {account}, which is archived in the service: give it another account",
    ),
    _uncovered(
        "category_on_account_to_be_archived",
        "to_be_archived_account",
        "{category} is on {account}, which the ERP has archived or no longer has: give it another account before the "
        "next export",
        action="{account_action}",
    ),
    Check(
        "archived_category_on_active_account",
        "info",
        "{category} is archived and its account {account} is active",
        where="archived AND state = 'covered'",
        table="coverage",
    ),
    Check(
        "category_name_duplicate",
        WARNING,
        "{category} is one of {of_this_name} categories of the company with this name: rename it, so that "
        "people can tell them apart",
        where="name IS NOT NULL AND of_this_name > 1",
        table="coverage",
        field="name",
        values=("NULL", "name"),
        who=SERVICE,
    ),
    Check(
        "category_without_tax_code",
        # Many categories need no tax code.
        "info",
        "{category} has no tax code and its account {account} has {shown(erp_tax)} in the ERP: give it the tax "
        "code, if it should have one",
        where="erp_tax IS NOT NULL AND tax_code_id IS NULL",
        table="coverage",
        field="tax_code_id",
        values=("erp_tax", "NULL"),
        who=SERVICE,
    ),
    Check(
        "category_tax_code_ambiguous",
        WARNING,
        "{category} is on {account}, which has {shown(erp_tax)} in the ERP; its tax code is used for "
        "{shown(first_tax)} and {shown(last_tax)} there: check which one is right",
        where="erp_tax IS NOT NULL AND tax_code_id IS NOT NULL AND first_tax <> last_tax",
        table="coverage",
        field="tax_code_id",
        values=("erp_tax", "tax_code_id"),
        who=SERVICE,
    ),
)


# What the findings about a row of a table are about, by name.
ABOUT = {
    "accounts": "coalesce(any_account, if(in_chart, erp_account, service_account))",
    "coverage": "coalesce(name, category_id)",
    "unidentified": "account",
    **dict.fromkeys(("charts", "unused", "uncharted"), "concat('company ', company_id)"),
}
NOTHING = "nothing to do"
TEXTS = ("severity", "action", "field", "fact", "to_do", "who")
VALUES = ("erp_value", "service_value")
# The ID columns that the check's table has.
IDS = "COLUMNS('^(company|external|account|category)_id$')"


def _failing_rows(check: Check) -> str:
    """Return the query of the rows that fail a check."""
    fact, _, to_do = check.message.rpartition(": ")
    texts = vars(check) | {"fact": fact or to_do, "to_do": to_do if fact else NOTHING}
    expressions = dict(zip(VALUES, check.values, strict=True)) | {name: sql(texts[name]) for name in TEXTS}
    columns = [f"{expression} AS {name}" for name, expression in expressions.items()]
    return f"""
        FROM {check.table}
        SELECT {quoted(check.name)} AS "check", {", ".join(columns)}, {IDS}, {ABOUT[check.table]} AS about
        WHERE {check.where}
    """


# All columns of a finding, which not every check has.
NONE = f"""
SELECT
    NULL::company AS company_id,
    {", ".join(f"'' AS {name}" for name in ('"check"', *TEXTS, *VALUES, "external_id", "account_id", "category_id", "about"))}
WHERE false
"""


def findings(connection: duckdb.DuckDBPyConnection) -> str:
    """Return the query of the findings.

    Most checks find nothing. Asking which of them do takes less than planning the query of each.
    """
    tables = {check.table: [other for other in CHECKS if other.table == check.table] for check in CHECKS}
    asked = " UNION ALL ".join(
        f"SELECT {place}, [{', '.join(f'bool_or({check.where})' for check in checks)}] FROM {table}"
        for place, (table, checks) in enumerate(tables.items())
    )
    answers = connection.execute(f"{asked} ORDER BY ALL").fetchall()
    failing = [
        check
        for checks, (_, is_failing) in zip(tables.values(), answers, strict=True)
        for check, fails in zip(checks, is_failing, strict=True)
        if fails
    ]
    # Line breaks in names become spaces.
    return f"""
        SELECT
            "check", severity, action, company_id, external_id, account_id, category_id, field, erp_value,
            service_value, one_line(if(to_do = '{NOTHING}', fact, concat(fact, ': ', to_do))) AS message,
            one_line(about) AS about, to_do, who
        FROM ({" UNION ALL BY NAME ".join([NONE, *map(_failing_rows, failing)])})
    """
