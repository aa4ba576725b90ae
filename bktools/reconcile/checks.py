"""The checks of a reconciliation. To add a check, add one entry to CHECKS."""

from __future__ import annotations

import dataclasses

from bktools.contract.accounts import LONGEST_TEXT
from bktools.reconcile.text import quoted, sql

# error: an export under it will fail, or money could be misbooked. warning: a person should act. info: good to know.
SEVERITIES = ("error", "warning", "info")

@dataclasses.dataclass(frozen=True)
class Check:
    """One check: the rows that break it, and what a finding says of each.

    Parameters
    ----------
    name : str
        Name of the check; several entries may share one.
    table : str
        The table whose rows are looked at, of `tables.py`. Has company_id, external_id, account_id and category_id.
    where : str
        SQL condition of the rows that break the check.
    severity : str
        One of SEVERITIES.
    message : str
        One line for an analyst: what is the case, and what to do.
    action : str
        What makes the service as the chart is: create, update, archive, unarchive or none.
    field, erp_value, service_value : str, optional
        The field that differs, and the value on each side.

    Every text but `name`, `table` and `where` may hold SQL in braces: `"{erp_account} has no name in the chart"`.
    """

    name: str
    table: str
    where: str
    severity: str
    message: str
    action: str = "none"
    field: str | None = None
    erp_value: str | None = None
    service_value: str | None = None


def _differs(name: str, words: str, field: str, erp: str, service: str, severity: str = "warning") -> Check:
    """Return the check of a field that both sides have with two values."""
    return Check(
        name,
        "accounts",
        where=name,
        severity=severity,
        message=f"{{erp_account}} has the {words} {{shown({erp})}} in the chart and {{shown({service})}} in the "
        "service: update it in the service",
        action="update",
        field=field,
        erp_value=f"{{{erp}}}",
        service_value=f"{{{service}}}",
    )


def _too_long(name: str, words: str, field: str, column: str) -> Check:
    """Return the check of a text that is longer than the service takes."""
    return Check(
        name,
        "accounts",
        where=f"in_chart AND is_long({column})",
        severity="error",
        message=f"the {words} of {{left(erp_account, 60)}}… has {{length({column})}} characters and the service takes "
        f"{LONGEST_TEXT}: shorten it in the ERP",
        field=field,
        erp_value=f"{{{column}}}",
    )


READ_AS_TEXT = "which differ only in leading zeros: read the chart's file as text before anything is created"
MAKE_THEM_SAME = "which differ only in case or white space: make them the same before anything is created"
# What an archived category lacks is good to know and no more: nothing new is coded with it.
ERROR, WARNING = "{if(archived, 'info', 'error')}", "{if(archived, 'info', 'warning')}"

CHECKS: tuple[Check, ...] = (
    Check(
        "missing_in_service",
        "accounts",
        where="action = 'create'",
        severity="warning",
        message="{erp_account} is in the chart and not in the service: create it (bktools accounts create)",
        action="create",
    ),
    Check(
        "missing_in_erp",
        "accounts",
        where="is_gone AND archived",
        severity="info",
        message="{service_account} is in the service and not in the chart: it is archived already, nothing to do",
        action="{action}",
    ),
    Check(
        "missing_in_erp",
        "accounts",
        where="is_gone AND archived IS NOT true AND coalesce(looks_like, zeros_like) IS NULL",
        severity="warning",
        message="{service_account} is in the service and not in the chart: archive it in the service, or bring it back "
        "in the ERP",
        action="{action}",
    ),
    Check(
        "missing_in_erp",
        "accounts",
        where="is_gone AND archived IS NOT true AND coalesce(looks_like, zeros_like) IS NOT NULL",
        severity="warning",
        message="{service_account} is in the service and not in the chart, which has "
        "{shown(coalesce(looks_like, zeros_like))}: leave it as it is until that is settled",
        action="{action}",
    ),
    _differs("name_differs", "name", "name", "erp_name", "name"),
    _differs("code_differs", "code", "code", "erp_code", "code"),
    # An error, because tax would be booked wrongly.
    _differs("tax_code_differs", "tax code", "tax_code_external_id", "erp_tax", "tax", "error"),
    Check(
        "archived_differs",
        "accounts",
        where="archived_differs",
        severity="warning",
        message="{erp_account} is {if(erp_archived, 'archived', 'active')} in the chart and "
        "{if(archived, 'archived', 'active')} in the service: {if(erp_archived, 'archive', 'unarchive')} it in the "
        "service",
        action="{action}",
        field="archived",
        erp_value="{erp_archived::VARCHAR}",
        service_value="{archived::VARCHAR}",
    ),
    Check(
        "external_id_duplicate",
        "accounts",
        where="chart_rows > 1",
        severity="error",
        message="{chart_rows} rows of the chart have the external ID {shown(external_id)}: leave one of them in the "
        "chart",
        field="external_id",
    ),
    Check(
        "external_id_duplicate",
        "accounts",
        where="service_rows > 1",
        severity="error",
        message="{service_rows} accounts known here have the external ID {shown(external_id)}: import them anew, each "
        "once",
        field="external_id",
    ),
    Check(
        "external_id_empty",
        "unidentified_chart",
        where="true",
        severity="error",
        message="{account} of the chart has no external ID and cannot be matched: give it one in the ERP",
        field="external_id",
    ),
    Check(
        "external_id_empty",
        "unidentified_accounts",
        where="true",
        severity="error",
        message="{account}, known here, has no external ID and cannot be matched: import it with one",
        field="external_id",
    ),
    _too_long("external_id_too_long", "external ID", "external_id", "external_id"),
    Check(
        "external_id_looks_alike",
        "accounts",
        where="is_new AND looks_like IS NOT NULL",
        severity="error",
        message="the chart has the external ID {shown(external_id)} and the service {shown(looks_like)}, "
        + MAKE_THEM_SAME,
        field="external_id",
        erp_value="{external_id}",
        service_value="{looks_like}",
    ),
    Check(
        "name_missing",
        "accounts",
        where="is_single AND in_chart AND erp_name IS NULL",
        severity="error",
        message="{erp_account} has no name in the chart: give it one in the ERP",
        field="name",
    ),
    _too_long("name_too_long", "name", "name", "erp_name"),
    _too_long("code_too_long", "code", "code", "erp_code"),
    Check(
        "leading_zeros_lost",
        "accounts",
        where="is_new AND zeros_like IS NOT NULL",
        severity="error",
        message="the chart has the external ID {shown(external_id)} and the service {shown(zeros_like)}, "
        + READ_AS_TEXT,
        field="external_id",
        erp_value="{external_id}",
        service_value="{zeros_like}",
    ),
    Check(
        "leading_zeros_lost",
        "accounts",
        where="code_differs AND without_zeros(erp_code) = without_zeros(code)",
        severity="error",
        message="the chart has the code {shown(erp_code)} and the service {shown(code)}, " + READ_AS_TEXT,
        field="code",
        erp_value="{erp_code}",
        service_value="{code}",
    ),
    Check(
        "code_lengths_mixed",
        "charts",
        where="shortest < longest AND NOT has_zeros",
        severity="info",
        message="codes of the chart have {shortest} to {longest} digits and none starts with 0: if the ERP has some "
        "that do, read the chart's file as text",
        field="code",
    ),
    Check(
        "account_id_unknown",
        "accounts",
        where="is_single AND in_service AND account_id IS NULL",
        severity="warning",
        message="{named(coalesce(code, erp_code), external_id, coalesce(name, erp_name))} exists in the service and "
        "its ID is unknown here: import it (bktools accounts import FILE)",
        field="id",
    ),
    Check(
        "account_unused",
        "unused",
        where="true",
        severity="info",
        message="company {company_id} has {counted(rows, 'active account')} that no category uses: .unused_accounts lists them",
    ),
    Check(
        "company_without_chart",
        "uncharted",
        where="true",
        severity="warning",
        message="the chart has no account of company {company_id}, so its accounts known here ({rows}) were not "
        "compared: give its chart, or leave the company out",
    ),
    Check(
        "category_without_account",
        "coverage",
        where="state = 'no_account'",
        severity=ERROR,
        message="{category} has no account: give it one in the service",
        field="account_id",
        service_value="{account_id}",
    ),
    Check(
        "category_on_unknown_account",
        "coverage",
        where="state = 'unknown_account'",
        severity=ERROR,
        message="{category} is on account {account_id}, which is not known here: create the chart's accounts first, "
        "import it (bktools accounts import FILE), or give the category another account",
        field="account_id",
        service_value="{account_id}",
    ),
    Check(
        "category_on_archived_account",
        "coverage",
        where="state = 'archived_account'",
        severity=ERROR,
        message="{category} is on {account}, which is archived in the service: give it another account",
        field="account_id",
        service_value="{account_id}",
    ),
    Check(
        "category_on_account_to_be_archived",
        "coverage",
        where="state = 'to_be_archived_account'",
        severity=ERROR,
        message="{category} is on {account}, which the ERP has archived or no longer has: give it another account "
        "before the next export",
        action="{account_action}",
        field="account_id",
        service_value="{account_id}",
    ),
    Check(
        "archived_category_on_active_account",
        "coverage",
        where="archived AND state = 'covered'",
        severity="info",
        message="{category} is archived and its account {account} is active",
    ),
    Check(
        "category_name_duplicate",
        "coverage",
        where="name IS NOT NULL AND of_this_name > 1",
        severity=WARNING,
        message="{category} is one of {of_this_name} categories of the company with this name: rename it, so that "
        "people can tell them apart",
        field="name",
        service_value="{name}",
    ),
    Check(
        "category_without_tax_code",
        "coverage",
        where="erp_tax IS NOT NULL AND tax_code_id IS NULL",
        # Many categories rightly have none of their own.
        severity="info",
        message="{category} has no tax code and its account {account} has {shown(erp_tax)} in the ERP: give it the tax "
        "code, if it should have one",
        field="tax_code_id",
        erp_value="{erp_tax}",
    ),
    Check(
        "category_tax_code_ambiguous",
        "coverage",
        where="erp_tax IS NOT NULL AND tax_code_id IS NOT NULL AND first_tax <> last_tax",
        severity=WARNING,
        message="{category} is on {account}, which has {shown(erp_tax)} in the ERP; its tax code is used for "
        "{shown(first_tax)} and {shown(last_tax)} there: check which one it is",
        field="tax_code_id",
        erp_value="{erp_tax}",
        service_value="{tax_code_id}",
    ),
)


def _found(check: Check) -> str:
    """Return the query of the rows that break a check."""
    columns = {
        "check": quoted(check.name),
        "severity": sql(check.severity),
        "action": sql(check.action),
        **{name: name for name in ("company_id", "external_id", "account_id", "category_id")},
        "field": sql(check.field),
        "erp_value": sql(check.erp_value),
        "service_value": sql(check.service_value),
        "message": sql(check.message),
    }
    listed = ", ".join(f'{value} AS "{name}"' for name, value in columns.items())
    return f"SELECT {listed} FROM {check.table} WHERE {check.where}"


FOUND = " UNION ALL ".join(map(_found, CHECKS))

# Most severe first, in an order that depends on nothing but their content. One line each, whatever line breaks the
# names have.
FINDINGS = f"""
SELECT * EXCLUDE message, regexp_replace(message, '[\\r\\n\\t]+', ' ', 'g') AS message
FROM ({FOUND})
ORDER BY
    list_position({list(SEVERITIES)}, severity), "check", company_id, external_id NULLS FIRST, category_id NULLS FIRST,
    account_id NULLS FIRST, field NULLS FIRST, erp_value NULLS FIRST, message
"""
