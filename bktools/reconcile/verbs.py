"""The action for each account that makes the service agree with the chart, and its reason."""

from __future__ import annotations

from bktools.contract.accounts import LONGEST_TEXT
from bktools.frames.templates import sql

THE_SAME = "the same in the chart and in the service"

REMEDY = (
    "{if(looks_like IS NULL, 'use the ERP''s own file (spreadsheets drop zeros)', 'make the external IDs the same')}"
)
DIFFERING = (
    "{concat_ws(' and ', if(name_differs, 'name', NULL), if(code_differs, 'code', NULL), "
    "if(tax_code_differs, 'tax code', NULL))}"
)

# (condition on a row of `accounts`, action, reason): the first true condition decides.
RULES: tuple[tuple[str, str, str], ...] = (
    ("NOT is_charted", "none", "no chart of accounts was given for this company"),
    ("chart_rows > 1", "none", "the external ID is on several rows of the chart"),
    ("service_rows > 1", "none", "the external ID is on several accounts known here"),
    ("is_new AND is_long(external_id)", "none", f"the external ID has more than {LONGEST_TEXT} characters"),
    ("is_new AND erp_name IS NULL", "none", "the name is missing"),
    ("is_new AND is_total(erp_name, erp_code)", "none", "the line is a total, not an account"),
    ("is_new AND is_long(erp_name)", "none", f"the name has more than {LONGEST_TEXT} characters"),
    ("is_new AND is_long(erp_code)", "none", f"the code has more than {LONGEST_TEXT} characters"),
    # A created account cannot be deleted, so an account that exists under another spelling is not created again.
    (
        "(is_new OR (is_gone AND NOT archived)) AND twin IS NOT NULL",
        "none",
        "looks like {twin}{if(is_new, ', which the service has', ' of the chart')}: " + REMEDY,
    ),
    # Archived accounts of the chart are created too, because categories may still use them.
    ("is_new", "create", "in the chart{if(erp_archived, ', archived,', '')} and not among the accounts known here"),
    ("is_gone AND NOT archived", "archive", "in the service and not in the chart"),
    ("is_gone AND archived", "none", "not in the chart and archived in the service"),
    ("is_gone", "none", "not in the chart; whether it is archived in the service is unknown"),
    ("archived_differs AND erp_archived", "archive", "archived in the chart and active in the service"),
    ("archived_differs", "unarchive", "active in the chart and archived in the service"),
    ("name_differs OR code_differs OR tax_code_differs", "update", "the chart has another " + DIFFERING),
    # Such a code is repaired in the chart's file: the service has the right one.
    ("code_lost_zeros", "none", "the code lost its leading zeros: use the ERP's own file (spreadsheets drop zeros)"),
    ("true", "none", THE_SAME),
)


# The number of the rule that decides on a row of `accounts`, and the action and the reason of that rule.
RULE = f"CASE {' '.join(f'WHEN {condition} THEN {number}' for number, (condition, _, _) in enumerate(RULES, 1))} END"
ACTION = f"{[action for _, action, _ in RULES]}[rule]"
WHY = f"CASE rule {' '.join(f'WHEN {number} THEN {sql(why)}' for number, (_, _, why) in enumerate(RULES, 1))} END"
