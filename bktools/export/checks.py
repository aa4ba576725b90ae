"""The checks of accounting entries, and the queries that run them.

One of ERRORS holds an entry back, because its export would fail, book the wrong thing or book it twice; one of WARNINGS
goes out with the plan and asks a person to look first; one of INFOS is counted. The first error of an entry is its reason
in `plan.not_ready`; `plan.findings` has all of them. To add a check, add an item.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from bktools.contract.rules import UUID_REGEX
from bktools.frames.roles import EMPLOYEE, ERP, PREPARER, SERVICE
from bktools.frames.templates import quoted, sql

# An amount is compared with its category once the category has so many entries in the currency.
ENOUGH = 10
# Amounts of a category lie evenly on a logarithmic scale, so medians and deviations are of logarithms. An amount is
# unusual beyond 3.5 deviations, which is a usual limit, and never within a third to three times the median.
DEVIATIONS, LEAST_REACH = 3.5, 3
# The median absolute deviation times this is the standard deviation of a normal distribution.
TO_STANDARD = 1.4826


@dataclass(frozen=True)
class Check:
    """One check of an entry.

    Parameters
    ----------
    name : str
        Its name in `plan.findings`; of an error also the reason in `plan.not_ready`.
    condition : str
        SQL that is true for an entry that fails. False and NULL mean that it passes. It reads `entry` (id and company_id
        in lower case) and the tables of JOINS.
    fact, to_do : str
        What is the case, and what is to be done about it. SQL in braces reads the same columns as the condition.
    who : str
        Who does it, one of `roles.ROLES`.
    needs : tuple of str
        What the check needs besides all that its condition reads: as `inputs_of` returns it.
    ends : bool
        Whether the checks below it say nothing about such an entry.
    severity : str
        error, warning or info: that of its table.
    """

    name: str
    condition: str
    fact: str
    to_do: str
    who: str = SERVICE
    needs: tuple[str, ...] = ()
    ends: bool = False
    severity: str = ""


MONTH = "{strftime(day, '%Y-%m')}"
CHAIN = ("categories", "entries.category_id")
MONEY = ("entries.amount", "entries.currency")
TWINS = ("party", "entries.date", *MONEY)

# The columns of the entries, and the arguments, that have other names in conditions.
COLUMN_OF = {"day": "date", "decimals": "amount"}
ARGUMENT_OF = {"first": "period", "last": "period"}

# The reason of a line that waits for another line of its entry. It follows from the reasons of the others.
HELD_TOGETHER = "other_line_not_ready"

ERRORS = (
    Check(
        "no_service_id",
        "entry.id IS NULL",
        "the file has no entry ID of the service",
        "export the entries from the service with their IDs",
        PREPARER,
        ends=True,
    ),
    Check(
        "not_a_uuid",
        f"NOT regexp_full_match(entry.id, '{UUID_REGEX}')",
        "the entry ID is not a valid UUID",
        "correct it in the file",
        PREPARER,
    ),
    Check(
        "no_company",
        "NOT coalesce(company.is_uuid, false)",
        "its company ID is not a valid UUID",
        "correct it in the file",
        PREPARER,
    ),
    Check(
        "lines_missing",
        "repeat.missing > 0",
        "{missing} of the lines of this split entry are not among the entries",
        "give all lines of the entry: the service exports it as a whole",
        PREPARER,
        needs=("entries.split_line",),
        ends=True,
    ),
    Check(
        "conflicting",
        "repeat.is_conflict",
        "lines with this entry ID have different data",
        "keep the right one; if they are the parts of one split entry, name the column with the number of each part "
        "(--column split_line=HEADING) or the entry's total (--column entry_total=HEADING), or use --split-lines",
        PREPARER,
        ends=True,
    ),
    Check(
        "duplicate",
        "repeat.is_copy",
        "duplicate of an earlier line",
        "nothing to do, only the first is exported",
        PREPARER,
        ends=True,
    ),
    Check(
        "other_company",
        "entry.company_id <> $company",
        "the entry belongs to a company that is not exported",
        "export it with its own company",
        PREPARER,
        ends=True,
    ),
    Check(
        "changed_since_export",
        "changed.what <> ''",
        "it was exported with other data: {changes}",
        "undo the change in the service, and enter the difference as a new entry",
        ends=True,
    ),
    Check(
        "exported",
        "earlier.state = 'ACCEPTED'",
        "it was exported already, according to the journal",
        "nothing to do, a second export would book it twice",
        PREPARER,
        ends=True,
    ),
    Check(
        "in_doubt",
        "earlier.state IN ('SENDING', 'UNKNOWN')",
        "it may have been exported, according to the journal",
        "resolve its batch first (bktools export resolve)",
        PREPARER,
        ends=True,
    ),
    Check(
        "later_period",
        "entry.day > $last",
        f"it is dated {MONTH}, after the period {{$period}}",
        f"it waits for the close of {MONTH}; correct its date in the service if it is mistyped",
        ends=True,
    ),
    Check("not_approved", "NOT coalesce(entry.approved, false)", "it is not approved yet", "approve it in the service"),
    Check("no_date", "entry.day IS NULL", "it has no date", "add it in the service"),
    Check("no_amount", "entry.amount IS NULL", "it has no amount", "add it in the service"),
    Check(
        "zero_amount",
        "entry.amount = 0",
        "its amount is zero",
        "correct the amount, or delete the entry in the service",
    ),
    Check("no_currency", "coalesce(entry.currency, '') = ''", "it has no currency", "add it in the service"),
    Check(
        "unknown_currency",
        "entry.currency <> '' AND money.code IS NULL",
        "{currency} is not the code of a currency in ISO 4217",
        "correct the currency in the service",
    ),
    Check(
        "too_many_decimals",
        "entry.decimals > money.units",
        "its amount has more decimals than {currency}, which has {if(units = 0, 'none', units::VARCHAR)}",
        "correct the amount or the currency in the service",
    ),
    Check(
        "no_category", "coalesce(entry.category_id, '') = ''", "it has no category", "choose a category in the service"
    ),
    Check(
        "unknown_category",
        "entry.category_id <> '' AND category.id IS NULL",
        "its category was not found in the service",
        "choose another category in the service",
    ),
    Check(
        "category_of_other_company",
        "category.id IS NOT NULL AND category.company_id IS DISTINCT FROM entry.company_id",
        "its category belongs to another company",
        "choose another category in the service",
    ),
    Check(
        "archived_category", "category.archived", "its category is archived", "choose another category in the service"
    ),
    Check(
        "no_account",
        "category.id IS NOT NULL AND category.account_id IS NULL",
        "its category has no account",
        "give the category an account in the service",
    ),
    Check(
        "unknown_account",
        "category.account_id IS NOT NULL AND account.id IS NULL",
        "the account of its category is not among the accounts bktools knows{$last_import}",
        "create the chart's accounts (bktools accounts create) or import the account list (bktools accounts import FILE)",
        PREPARER,
    ),
    Check(
        "archived_account",
        "account.archived",
        "the account of its category is archived",
        "give the category another account in the service",
    ),
    Check(
        "unknown_employee",
        "entry.employee_id IS NOT NULL AND employee.id IS NULL",
        "its employee was not found in the service",
        "name another employee in the service",
    ),
    Check(
        HELD_TOGETHER,
        "together.row IS NOT NULL",
        "another line of this split entry is not ready",
        "correct that line: the lines of an entry are exported together",
        PREPARER,
    ),
)

WARNINGS = (
    Check(
        "earlier_period",
        "entry.day < $first",
        f"it is dated {MONTH}, before the period {{$period}}",
        f"was {MONTH} closed? Then book it in an open period",
        ERP,
    ),
    Check(
        "suspected_duplicate",
        "len(other_lines(if(entry.amount > 0, twins.plus, twins.minus), entry.row, entry.id)) > 0",
        "same company, day, amount, currency and {party_noun} as {in_words(same)}",
        "ask whether it was bought more than once; otherwise reject the copies in the service",
        EMPLOYEE,
    ),
    Check(
        "suspected_second_export",
        "sent_twin.what IS NOT NULL",
        "same company, day, amount, currency and {party_noun} as an entry that was sent under another ID: {sent_before}",
        "if the service issued that entry again, reject this one in the service",
    ),
    Check(
        "unusual_amount",
        "entry.amount <> 0 AND abs(ln(abs(entry.amount)::DOUBLE) - usual.middle) > usual.reach",
        "its amount is unusual for its category, whose {entries} entries in {currency} are usually {rounded(exp(middle - "
        "reach), units)} to {rounded(exp(middle + reach), units)}",
        "compare it with its receipt",
        EMPLOYEE,
    ),
    Check(
        "no_tax_code",
        "coalesce(trim(entry.tax_code), '') = '' AND account.tax_code IS NOT NULL",
        "it has no tax code, and its account has the tax code {wanted_tax_code}",
        "add the tax code in the service, if it should have one",
    ),
    Check(
        "no_employee", "coalesce(entry.employee_id, '') = ''", "it has no employee", "name the employee in the service"
    ),
)

INFOS = (
    Check(
        "reversal",
        "len(other_lines(if(entry.amount > 0, twins.minus, twins.plus), entry.row, entry.id)) > 0",
        "same company, day, currency and {party_noun} as {in_words(opposite)}, with the opposite amount",
        "nothing to do if one reverses the other",
        PREPARER,
    ),
    Check(
        "foreign_currency",
        "entry.currency <> $currency AND money.code IS NOT NULL",
        "it is in {currency}, and the company's own currency is {$currency}",
        "check the rate that it is booked with",
        ERP,
    ),
)

# All of them, the most severe first.
SEVERITIES = {"error": ERRORS, "warning": WARNINGS, "info": INFOS}
CHECKS = tuple(replace(check, severity=severity) for severity, checks in SEVERITIES.items() for check in checks)


# The entries that amounts are compared with: each once, and none of 0.
SIZED = """
    SELECT *, abs(amount) AS size
    FROM entries ANTI JOIN (FROM repeat WHERE is_copy OR is_conflict) AS left_out USING (row)
    WHERE amount <> 0
"""
# What is usual in a category and currency of a company.
USUAL = f"""
    SELECT company_id, lower(category_id) AS category_id, currency, count(*) AS entries, median(ln(size::DOUBLE)) AS middle,
        greatest(ln({LEAST_REACH}), {DEVIATIONS} * {TO_STANDARD} * mad(ln(size::DOUBLE))) AS reach
    FROM sized WHERE category_id <> '' AND currency <> '' GROUP BY ALL HAVING count(*) >= {ENOUGH}
"""

# What is compared of an entry that was exported before: the name of each fact, the value that is compared and the text
# that is shown, of a line of the journal and of the file.
COMPARED = {
    "date": ("date", "date"),
    "amount": ("amount", "in_money(amount, units)"),
    "currency": ("currency", "currency"),
    "category": ("category", "coalesce(category_name, category)"),
    "tax code": ("tax_code", "tax_code"),
    "supplier": ("supplier", "supplier"),
    # Of a split entry: which amount has which category.
    "lines": (
        "split",
        "if(split IS NULL, NULL, concat(in_money(amount, units), ' ', coalesce(category_name, category)))",
    ),
}
_LISTS = ", ".join(
    f"list({value} ORDER BY {value}) FILTER ({value} IS NOT NULL) AS {value}s, "
    f"list({shown} ORDER BY {value}) FILTER ({value} IS NOT NULL) AS {value}s_shown"
    for value, shown in COMPARED.values()
)
_DIFFER = " OR ".join(
    f"(before.{value} IS NOT NULL AND before.{value} IS DISTINCT FROM after.{value})" for value, _ in COMPARED.values()
)
_WAS = ", ".join(
    f"was('{name}', before.{value}s, after.{value}s, before.{value}s_shown, after.{value}s_shown)"
    for name, (value, _) in COMPARED.items()
)
# The entries of the file that were exported with other data. A value that the journal did not keep is not compared.
CHANGED = f"""
    WITH before AS (
        SELECT lower(entry_id) AS id, date::DATE::VARCHAR AS date, plain_number(amount::VARCHAR) AS amount,
            nullif(history.currency, '') AS currency, lower(category_id) AS category, category_name,
            nullif(trim(tax_code), '') AS tax_code, nullif(trim(supplier), '') AS supplier, units,
            if(split_line::INTEGER > 0 AND category_id IS NOT NULL,
                concat(plain_number(amount::VARCHAR), ' ', lower(category_id)), NULL) AS split
        FROM history LEFT JOIN currencies ON code = history.currency WHERE state = 'ACCEPTED'
    ), after AS (
        SELECT entries.id, day::VARCHAR AS date, plain_number(amount::VARCHAR) AS amount,
            nullif(entries.currency, '') AS currency, nullif(lower(category_id), '') AS category, category_name,
            nullif(trim(tax_code), '') AS tax_code, nullif(trim(supplier), '') AS supplier, units,
            if(split_line > 0, concat(plain_number(amount::VARCHAR), ' ', lower(category_id)), NULL) AS split
        FROM entries ANTI JOIN (FROM repeat WHERE is_copy) AS copies USING (row) SEMI JOIN before USING (id)
            LEFT JOIN currencies ON code = entries.currency
            LEFT JOIN (SELECT lower(id) AS of_id, min(name) AS category_name FROM categories GROUP BY ALL) AS named
                ON of_id = lower(category_id)
    ), suspects AS (SELECT DISTINCT id FROM before JOIN after USING (id) WHERE {_DIFFER})
    SELECT id, concat_ws(', ', {_WAS}) AS what
    FROM (SELECT id, {_LISTS} FROM before SEMI JOIN suspects USING (id) GROUP BY id) AS before
    JOIN (SELECT id, {_LISTS} FROM after SEMI JOIN suspects USING (id) GROUP BY id) AS after USING (id)
"""
# The entries of the file that have the data of an entry that was sent, or may have been, and that the file lacks.
SENT_TWINS = """
    SELECT entry.row, min(concat_ws(', ', sent.date::DATE::VARCHAR, coalesce(trim(sent.supplier), sent.employee_id),
        concat('in batch ', sent.batch_id), 'month ' || sent.period)) AS what
    FROM sized AS entry JOIN (
        SELECT *, lower(coalesce(nullif(trim(supplier), ''), employee_id)) AS party
        FROM history WHERE state IN ('ACCEPTED', 'SENDING', 'UNKNOWN')
    ) AS sent ON sent.company_id = entry.company_id AND sent.date::DATE = entry.day AND sent.party = entry.party
        AND sent.currency = entry.currency AND plain_number(sent.amount::VARCHAR) = plain_number(entry.amount::VARCHAR)
    WHERE lower(sent.entry_id) NOT IN (SELECT id FROM entries WHERE id IS NOT NULL)
    GROUP BY ALL
"""

# Tables that a condition reads by these names, each with its join, the columns that it adds to `entry`, and its inputs.
# A category, account or employee may have several rows (of two combined snapshots); each can make the entry not ready.
JOINS = {
    "company": ("LEFT JOIN company ON company.id = entry.company_id", "", ()),
    "repeat": ("LEFT JOIN repeat ON repeat.row = entry.row", "repeat.missing", ()),
    "together": ("LEFT JOIN together ON together.row = entry.row", "", ("entries.split_line",)),
    "money": (
        "LEFT JOIN currencies AS money ON money.code = entry.currency",
        "entry.currency, money.units",
        ("entries.currency",),
    ),
    "earlier": (
        """LEFT JOIN (
            SELECT lower(entry_id) AS id, min(state) AS state
            FROM history WHERE state IN ('ACCEPTED', 'SENDING', 'UNKNOWN') GROUP BY ALL
        ) AS earlier ON earlier.id = entry.id""",
        "",
        ("history",),
    ),
    "changed": (f"LEFT JOIN ({CHANGED}) AS changed ON changed.id = entry.id", "changed.what AS changes", ("history",)),
    "sent_twin": (
        f"LEFT JOIN ({SENT_TWINS}) AS sent_twin ON sent_twin.row = entry.row",
        "sent_twin.what AS sent_before",
        ("history", *TWINS),
    ),
    "category": (
        r"""LEFT JOIN (
            SELECT lower(id) AS id,
                CASE WHEN min(lower(company_id)) = max(lower(company_id)) THEN min(lower(company_id)) END AS company_id,
                bool_or(archived) AS archived,
                CASE WHEN count(account) = count(*) THEN min(account) END AS account_id
            FROM (SELECT *, nullif(lower(trim(account_id, E' \t\r\n')), '') AS account FROM categories) GROUP BY ALL
        ) AS category ON category.id = lower(entry.category_id)""",
        "",
        CHAIN,
    ),
    "account": (
        """LEFT JOIN (
            SELECT lower(id) AS id, bool_or(archived) AS archived, max(nullif(trim(tax_code_external_id), '')) AS tax_code
            FROM accounts GROUP BY ALL
        ) AS account ON account.id = category.account_id""",
        "account.tax_code AS wanted_tax_code",
        (*CHAIN, "accounts"),
    ),
    "employee": (
        """LEFT JOIN (
            SELECT DISTINCT lower(id) AS id FROM employees
        ) AS employee ON employee.id = lower(entry.employee_id)""",
        "",
        ("employees", "entries.employee_id"),
    ),
    # Lines of one company, day, currency, party and size, by sign.
    "twins": (
        """LEFT JOIN (
            SELECT company_id, day, currency, party, size,
                list({'row': row, 'line': line, 'id': id} ORDER BY line, row) FILTER (amount > 0) AS plus,
                list({'row': row, 'line': line, 'id': id} ORDER BY line, row) FILTER (amount < 0) AS minus
            FROM sized SEMI JOIN (
                SELECT company_id, day, currency, party, size FROM sized GROUP BY ALL HAVING count(*) > 1
            ) AS several USING (company_id, day, currency, party, size)
            GROUP BY ALL
        ) AS twins ON twins.company_id = entry.company_id AND twins.day = entry.day AND twins.currency = entry.currency
            AND twins.party = entry.party AND twins.size = abs(entry.amount)""",
        """entry.party_noun, other_lines(if(entry.amount > 0, twins.plus, twins.minus), entry.row, entry.id) AS same,
            other_lines(if(entry.amount > 0, twins.minus, twins.plus), entry.row, entry.id) AS opposite""",
        TWINS,
    ),
    "usual": (
        f"""LEFT JOIN ({USUAL}) AS usual ON usual.company_id = entry.company_id
            AND usual.category_id = lower(entry.category_id) AND usual.currency = entry.currency""",
        "usual.entries, usual.middle, usual.reach",
        ("entries.category_id", *MONEY),
    ),
}

# `contents` holds each entry as one value, without its line in the file. Lines with one ID that differ are the parts of a
# split entry where they are numbered from 1 without a gap, and have one company, day and currency.
REPEATS = f"""
WITH repeat AS (
    SELECT row, is_copy, missing, several > 1 AND NOT (are_numbered AND missing = 0 AND wholes = 1) AS is_conflict FROM (
        SELECT row,
            row_number() OVER (PARTITION BY content ORDER BY line, row) > 1 AS is_copy,
            count(DISTINCT content) OVER same_id AS several,
            min(split_line) OVER same_id > 0 AND several = count(DISTINCT split_line) OVER same_id AS are_numbered,
            greatest(max(split_lines) OVER same_id, max(split_line) OVER same_id)
                - count(DISTINCT nullif(split_line, 0)) OVER same_id AS missing,
            count(DISTINCT (company_id, day, currency)) OVER same_id AS wholes
        FROM entries SEMI JOIN (
            SELECT id FROM entries GROUP BY id HAVING count(*) > 1 OR max(split_line) > 0
        ) USING (id) JOIN contents USING (row)
        WINDOW same_id AS (PARTITION BY id)
    )
), company AS (
    SELECT company_id AS id, regexp_full_match(company_id, '{UUID_REGEX}') AS is_uuid FROM entries GROUP BY ALL
)"""

# The first error of each entry.
REASONS = """REPEATS, checked AS (
    SELECT entry.row, entry.company_id, entry.day, entry.id, SHOWN CASE CONDITIONS END AS reason
    FROM entries AS entry JOINS
)
SELECT row, reason, CASE WHEN reason IS NULL THEN NULL MESSAGES END AS message FROM TOGETHER ORDER BY company_id, day, id, row
"""
# The lines of an entry are held back together.
TOGETHER = f"""(
    SELECT * REPLACE (coalesce(
        reason, CASE WHEN bool_or(reason <> 'duplicate') OVER (PARTITION BY id) THEN '{HELD_TOGETHER}' END) AS reason)
    FROM checked
)"""

# All findings.
FINDINGS = """REPEATS, sized AS (SIZED), checked AS (
    SELECT entry.row, entry.line, entry.company_id, entry.day, entry.id, entry.text, entry.amount, SHOWN
        CASE ENDS END AS last_number, CONDITIONS
    FROM entries AS entry JOINS
)
SELECT row, one_line(about) AS about, finding.number, one_line(finding.fact) AS message, finding.to_do FROM (
    SELECT *, ABOUT AS about, unnest(list_filter([TEXTS], lambda one: one.number <= last_number)) AS finding
    FROM checked WHERE ANY
)
ORDER BY finding.number, company_id, day, id, row
"""
ABOUT = (
    "coalesce(nullif(concat_ws(', ', strftime(day, '%Y-%m-%d'), text, money(amount, units) || coalesce(' ' || currency, "
    "'')), ''), concat('line ', line))"
)

MACROS = r"""
CREATE MACRO one_line(value) AS trim(regexp_replace(value, '[\r\n\t]+', ' ', 'g'));
-- Digits are never rounded away, as in wording.numbers.shown.
CREATE MACRO decimals_of(amount) AS rtrim(split_part(abs(amount)::VARCHAR, '.', 2), '0');
CREATE MACRO money(amount, units) AS if(amount IS NULL, NULL, concat(
    if(amount < 0, '-', ''), format('{:,}', trunc(abs(amount))::HUGEINT),
    if(decimals_of(amount) = '' AND coalesce(units, 2) = 0, '', '.'),
    decimals_of(amount), repeat('0', greatest(coalesce(units, 2) - length(decimals_of(amount)), 0))
));
CREATE MACRO in_money(amount, units) AS coalesce(money(try_cast(amount AS DECIMAL(38, 9)), units), amount);
CREATE MACRO plain_number(amount) AS if(contains(amount, '.'), rtrim(rtrim(amount, '0'), '.'), amount);
CREATE MACRO was(fact, before, after, before_shown, after_shown) AS if(
    before IS NULL OR before IS NOT DISTINCT FROM after, NULL,
    concat(fact, ' ', array_to_string(before_shown, ' + '), ' → ', coalesce(array_to_string(after_shown, ' + '), 'none'))
);
CREATE MACRO rounded(value, units) AS format('{:,.{}f}', value, coalesce(units, 2));
CREATE MACRO other_lines(twins, own, entry) AS list_transform(
    list_filter(twins, lambda twin: twin.row <> own AND twin.id IS DISTINCT FROM entry), lambda twin: twin.line
);
CREATE MACRO in_words(lines) AS concat(
    if(len(lines) = 1, 'line ', 'lines '), array_to_string(lines[1:3], ', '),
    if(len(lines) > 3, format(' and {} more', len(lines) - 3), '')
);
"""


def reasons_query(inputs: set[str]) -> str:
    """Return the query of the first error of each entry for the given frames, columns and arguments.

    It returns row, reason and message, ordered by company, day and ID. The reason is null for a ready entry.
    """
    checks = [check for check in applied(inputs) if check.severity == "error"]
    decided = [check for check in checks if check.name != HELD_TOGETHER]
    conditions = " ".join(f"WHEN {check.condition} THEN {quoted(check.name)}" for check in decided)
    messages = " ".join(
        f"WHEN reason = {quoted(check.name)} THEN {sql(f'{check.fact}: {check.to_do}')}" for check in checks
    )
    together = "checked" if len(decided) == len(checks) else TOGETHER
    return _filled(REASONS, decided, (), CONDITIONS=conditions, MESSAGES=messages, TOGETHER=together)


def findings_query(inputs: set[str]) -> str:
    """Return the query of all findings: row, about, number of the check in CHECKS, message, to_do; most severe first."""
    checks = applied(inputs)
    numbers = {check.name: number for number, check in enumerate(CHECKS)}
    ends = [f"WHEN {check.condition} THEN {numbers[check.name]}" for check in checks if check.ends]
    texts = [
        f"CASE WHEN {check.name} THEN {{'number': {numbers[check.name]}, 'fact': {sql(check.fact)}, 'to_do': {sql(check.to_do)}}} END"
        for check in checks
    ]
    return _filled(
        FINDINGS,
        checks,
        ("money",),
        ENDS=f"{' '.join(ends)} ELSE {len(CHECKS)}",
        CONDITIONS=", ".join(f"{check.condition} AS {check.name}" for check in checks),
        TEXTS=", ".join(texts),
        ANY=" OR ".join(check.name for check in checks),
        ABOUT=ABOUT,
    )


def applied(inputs: set[str]) -> list[Check]:
    """Return the checks that can be made with the given frames, columns and arguments (named as in `inputs_of`)."""
    return [check for check in CHECKS if inputs >= inputs_of(check)]


def inputs_of(check: Check) -> set[str]:
    """Return the frames ("categories"), columns ("entries.approved") and arguments ("company") that a check reads.

    It is skipped when one is missing.
    """
    read = {*check.needs}
    for owner, name in re.findall(r"([a-z_]+\.|\$)(\w+)", check.condition):
        if owner == "entry.":
            read |= {f"entries.{COLUMN_OF.get(name, name)}"} - {"entries.row"}
        elif owner == "$":
            read |= {ARGUMENT_OF.get(name, name)}
        else:
            read |= {*JOINS[owner.removesuffix(".")][2]}
    return read


def _filled(query: str, checks: list[Check], always: tuple[str, ...], **parts: str) -> str:
    """Return a query with its parts, and the tables that the checks read."""
    read = " ".join(check.condition for check in checks)
    joins = [join for name, join in JOINS.items() if name in always or f"{name}." in read]
    parts |= {
        "REPEATS": REPEATS,
        "SIZED": SIZED,
        "SHOWN": "".join(f"{shown}, " for _, shown, _ in joins if shown),
        "JOINS": "\n        ".join(source for source, *_ in joins),
    }
    return re.sub(r"\b[A-Z]+\b", lambda word: parts.get(word[0], word[0]), query)
