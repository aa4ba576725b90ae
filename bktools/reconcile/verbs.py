"""The action for each account that makes the service agree with the chart, and why.

To add a rule, add an item to RULES, its words to the section `why` of each file of `wording`, and its test.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

c = pl.col

# create, update, archive, unarchive; or none.
NONE = "none"


@dataclass(frozen=True, eq=False)
class Rule:
    """One rule.

    Parameters
    ----------
    code : str
        Why the account gets the action: its name in the section `why` of the files of `wording`.
    when : polars.Expr
        True for a row of `Tables.accounts` that the rule decides, where no rule above it does.
    action : str
        create, update, archive, unarchive or none.
    facts : tuple of str
        The columns that its words name.
    """

    code: str
    when: pl.Expr
    action: str = NONE
    facts: tuple[str, ...] = ()


# A created account cannot be deleted, so an account that exists under another spelling is not created again;
# nor is the one of the service archived.
TO_ARCHIVE = c.is_gone & c.archived.eq_missing(other=False)

RULES = (
    Rule("no_chart", ~c.is_charted),
    Rule("repeated_in_chart", c.chart_rows > 1),
    Rule("repeated_in_service", c.service_rows > 1),
    Rule("external_id_too_long", c.is_new & c.is_long_id, facts=("most",)),
    Rule("name_missing", c.is_new & c.erp_name.is_null()),
    Rule("total_in_chart", c.is_new & c.is_total),
    Rule("name_too_long", c.is_new & c.is_long_name, facts=("most",)),
    Rule("code_too_long", c.is_new & c.is_long_code, facts=("most",)),
    Rule("known_by_other_spelling", c.is_new & c.looks_like.is_not_null(), facts=("looks_like",)),
    Rule("known_with_zeros", c.is_new & c.zeros_like.is_not_null(), facts=("zeros_like",)),
    Rule("in_chart_by_other_spelling", TO_ARCHIVE & c.looks_like.is_not_null(), facts=("looks_like",)),
    Rule("in_chart_without_zeros", TO_ARCHIVE & c.zeros_like.is_not_null(), facts=("zeros_like",)),
    # Archived accounts of the chart are created too, because categories may still use them.
    Rule("archived_in_chart_alone", c.is_new & c.erp_archived, "create"),
    Rule("in_chart_alone", c.is_new, "create"),
    Rule("in_service_alone", TO_ARCHIVE, "archive"),
    Rule("archived_in_service_alone", c.is_gone & c.archived),
    Rule("in_service_alone_archived_unknown", c.is_gone),
    Rule("archived_in_chart", c.archived_differs & c.erp_archived, "archive"),
    Rule("active_in_chart", c.archived_differs, "unarchive"),
    Rule("differs", c.name_differs | c.code_differs | c.tax_code_differs, "update", facts=("differing",)),
    # Such a code is repaired in the chart's file: the service has the right one.
    Rule("code_lost_zeros", c.code_lost_zeros),
    Rule("same", pl.lit(value=True)),
)
