"""The checks of accounting entries.

An error holds an entry back, because its export would fail, book the wrong thing or book it twice; a warning
goes out with the plan and asks a person to look first; an info is counted. The first error of an entry is its
reason in `plan.not_ready`; `plan.findings` has all of them. To add a check, add an item here, its words to
each file of `wording`, and its test. The columns are those of `columns.columns_of`, and of `further_columns`
for warnings and infos.
"""

from __future__ import annotations

import polars as pl

from bktools.contract.rules import UUID_REGEX
from bktools.currencies import MINOR_UNITS
from bktools.export.sent_before import TWIN
from bktools.findings.check import (
    BEFORE,
    EMPLOYEE,
    ERP,
    ERROR,
    IN_BOOKS,
    IN_DOUBT,
    INFO,
    LEFT_OUT,
    PREPARER,
    WARNING,
    Check,
)
from bktools.ledger.holdings import Held

c = pl.col


def _is_empty(column: pl.Expr) -> pl.Expr:
    return column.fill_null("") == ""


# Whether an amount has more decimals than its currency.
_HAS_MORE_DECIMALS = pl.any_horizontal(
    (c.units == units) & (c.amount != c.amount.round(units)) for units in sorted({*MINOR_UNITS.values()})
)


# Reasons that a person clears by saying that the entries are not booked.
CLEARED = ("maybe_booked", "sent_under_another_id")
_IS_SENT_TWIN = c.sent_batch.is_not_null() & (~c.sent_in_file | c.is_cleared)
_LACKS_TAX_CODE = _is_empty(c.tax_code.str.strip_chars()) & c.wanted_tax_code.is_not_null()
_IS_FOREIGN = (c.currency != c.own_currency) & c.units.is_not_null()
_IS_BOOKED = c.in_books == Held.ALREADY_BOOKED
_HAS_COMPANY = c.company_id.str.contains(UUID_REGEX).fill_null(value=False)

# The reason of a line that waits for another line of its entry: it follows from the reasons of the others.
HELD_TOGETHER = "other_line_not_ready"

# The facts that a finding has of its category, of its day, and of a sent entry with the same data.
OF_CATEGORY, OF_DAY = ("category_id", "category_name"), ("day", "period")
OF_TWIN = ("party_kind", *TWIN)
# The facts of other entries of the file with the same data, and of an amount that is unusual.
OF_SAME, OF_OPPOSITE = (("party_kind", f"{side}_lines", f"{side}_count") for side in ("same", "opposite"))
OF_USUAL = ("usual_of", "usual_amount", "usual_entries", "currency")
OF_CURRENCY = ("currency", "own_currency")

# All of them, the most severe first. The order decides which error is told first.
CHECKS = (
    Check("no_service_id", c.id.is_null(), who=PREPARER, ends=True),
    Check("not_a_uuid", ~c.id.str.contains(UUID_REGEX), who=PREPARER),
    Check("no_company", ~_HAS_COMPANY, who=PREPARER),
    Check("lines_missing", c.missing > 0, who=PREPARER, facts=("missing",), ends=True),
    Check("conflicting", c.is_conflict, who=PREPARER, facts=("id_lines", "id_count"), ends=True),
    Check("conflicting_line", c.is_unlike, who=PREPARER, facts=("id_lines", "id_count"), fate=LEFT_OUT),
    Check("duplicate", c.is_copy & ~c.is_unlike, who=PREPARER, fate=LEFT_OUT),
    Check("other_company", c.company_id != c.company, who=PREPARER, fate=LEFT_OUT),
    Check("changed_since_export", c.changes.is_not_null(), facts=("changes",), fate=BEFORE),
    Check("exported", c.sent_state == "ACCEPTED", who=PREPARER, fate=BEFORE),
    Check("in_doubt", c.sent_state.is_in(["SENDING", "UNKNOWN"]), who=PREPARER, fate=IN_DOUBT),
    Check("exported_elsewhere", c.elsewhere.is_not_null(), who=PREPARER, facts=("elsewhere",), fate=IN_BOOKS),
    Check("already_booked", _IS_BOOKED, who=PREPARER, facts=("voucher",), fate=IN_BOOKS),
    Check("later_period", c.day > c.last_day, facts=OF_DAY, fate=LEFT_OUT),
    Check("not_approved", ~c.approved.fill_null(value=False)),
    Check("no_date", c.day.is_null()),
    Check("no_amount", c.amount.is_null()),
    Check("zero_amount", c.amount == 0),
    Check("no_currency", _is_empty(c.currency)),
    Check("unknown_currency", (c.currency != "") & c.units.is_null(), facts=("currency",)),
    Check("too_many_decimals", _HAS_MORE_DECIMALS, facts=("currency", "units")),
    Check("no_category", _is_empty(c.category_key)),
    Check("unknown_category", (c.category_key != "") & c.category_found.is_null(), facts=OF_CATEGORY),
    Check(
        "category_of_other_company",
        c.category_found & _HAS_COMPANY & c.category_company.ne_missing(c.company_id),
        facts=OF_CATEGORY,
    ),
    Check("archived_category", c.category_archived, facts=OF_CATEGORY),
    Check("no_account", c.category_found & c.account_key.is_null(), facts=OF_CATEGORY),
    Check(
        "unknown_account",
        c.account_key.is_not_null() & c.account_found.is_null(),
        who=PREPARER,
        facts=(*OF_CATEGORY, "known_since", "none_imported"),
    ),
    Check("archived_account", c.account_archived, facts=OF_CATEGORY),
    Check("to_be_archived_account", ~c.account_in_chart, facts=OF_CATEGORY),
    Check(
        "unknown_employee", c.employee_id.is_not_null() & c.employee_found.is_null(), facts=("employee_name",)
    ),
    Check(
        "maybe_booked", (c.in_books == Held.MAYBE_BOOKED) & ~c.is_cleared, who=PREPARER, facts=("voucher",)
    ),
    Check("sent_under_another_id", c.sent_in_file & ~c.is_cleared, who=PREPARER, facts=OF_TWIN),
    Check(HELD_TOGETHER, c.is_held_together, who=PREPARER),
    Check("earlier_period", c.day < c.first_day, WARNING, ERP, facts=OF_DAY),
    Check("suspected_duplicate", c.same_count > 0, WARNING, EMPLOYEE, facts=OF_SAME),
    Check("suspected_second_export", _IS_SENT_TWIN, WARNING, facts=OF_TWIN),
    Check("unusual_amount", c.usual_of.is_not_null(), WARNING, EMPLOYEE, facts=OF_USUAL),
    Check("no_tax_code", _LACKS_TAX_CODE, WARNING, facts=("wanted_tax_code",)),
    Check("no_employee", _is_empty(c.employee_id), WARNING),
    Check("reversal", c.opposite_count > 0, INFO, PREPARER, facts=OF_OPPOSITE),
    Check("foreign_currency", _IS_FOREIGN, INFO, ERP, facts=OF_CURRENCY),
)

# The fate of an entry by the first error of its lines, in the order of the checks, and who corrects it.
FATE_OF_REASON = {check.code: check.fate for check in CHECKS if check.severity == ERROR}
ROLE_OF_REASON = {check.code: check.who for check in CHECKS if check.severity == ERROR}
