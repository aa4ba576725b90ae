"""The tables that the checks read; each is one query over the frames.

`accounts` has a row for each account that may have a finding, `coverage` one for each category. Accounts are matched only
on their exact external ID within a company.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import duckdb
import pyarrow as pa

from bktools.contract.accounts import LONGEST_TEXT
from bktools.frames.engine import VERY_FEW_ROWS, are_few, engine, kept, repeated_digests
from bktools.frames.schema import KNOWN_STATES
from bktools.frames.templates import quoted
from bktools.inputs.words import TOTALS
from bktools.reconcile import inputs
from bktools.reconcile.checks import SEVERITIES, findings
from bktools.reconcile.verbs import ACTION, RULE, THE_SAME, WHY

# Invisible characters that a spreadsheet or a person may add to a text. RE2's \s matches only those of ASCII.
BLANKS = "[ \t\n\x0b\x0c\r\u0085\u00a0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u2060\u3000\ufeff]+"

# Cyrillic and Greek letters, and the Latin ones that they look like, small letters as their capitals do.
LOOK_ALIKE = "АВЕКМНОРСТУХІЅЈавекмнорстухіѕјΑΒΕΖΗΙΚΜΝΟΡΤΥΧαβεζηικμνορτυχ"
LATIN = "ABEKMHOPCTYXISJabekmhopctyxisjABEZHIKMNOPTYXabezhikmnoptyx"

# What a row of sums says, as the readers of files compare it.
TOTAL_WORDS = tuple(sorted(TOTALS))

# Accounts that a message names.
EXAMPLES = 3

# In what texts that look alike may differ, and how a text is spelled without it.
CAPITALS, ZERO = "capitals", "the letter O and the digit 0"
SPELLINGS = {
    "white space": f"regexp_replace({{}}, '{BLANKS}', '', 'g')",
    CAPITALS: "lower({})",
    "accents that are written in two ways": "nfc_normalize({})",
    "letters of two alphabets that look the same": "latin({})",
    ZERO: "replace(replace({}, 'O', '0'), 'o', '0')",
}


def _spelled(text: str, *but: str) -> str:
    """Return the SQL of a text without what makes it look different, except for what is named."""
    for words, spelling in SPELLINGS.items():
        text = text if words in but else spelling.format(text)
    return text


def _differ(*in_words: str) -> str:
    return f"{_spelled('one', *in_words)} <> {_spelled('other', *in_words)}"


DIFFERING = {words: _differ(words) for words in SPELLINGS}
# Both O and o are the digit 0, which hides that they differ.
DIFFERING[CAPITALS] += f" OR ({_differ(CAPITALS, ZERO)} AND NOT {_differ(ZERO)})"

# Functions for the queries below, the checks and the actions.
MACROS = f"""
CREATE MACRO is_empty(value) AS coalesce(value = '', true);
CREATE MACRO is_long(value) AS coalesce(length(value) > {LONGEST_TEXT}, false);
-- coalesce keeps DuckDB from passing the filter to Arrow, which would copy the rows.
CREATE MACRO is_known(state) AS coalesce(state IN {KNOWN_STATES}, false);
CREATE MACRO is_number(value) AS value <> '' AND value NOT GLOB '*[!0-9]*';
-- Nearly all texts are ASCII, and translate takes long.
CREATE MACRO latin(value) AS
    if(strlen(value) = length(value), value, translate(value, '{LOOK_ALIKE}', '{LATIN}'));
CREATE MACRO spelled(value) AS {_spelled("value")};
CREATE MACRO difference(one, other) AS
    concat_ws(' and ', {", ".join(f"if({condition}, '{words}', NULL)" for words, condition in DIFFERING.items())});
CREATE MACRO without_zeros(value) AS ltrim(value, '0');
CREATE MACRO shown(value) AS coalesce('"' || value || '"', 'nothing');
CREATE MACRO counted(number, noun) AS format('{{:,}} {{}}{{}}', number, noun, if(number = 1, '', 's'));
CREATE MACRO named(code, external_id, name) AS concat_ws(' ', coalesce(code, external_id), name);
CREATE MACRO says_total(value) AS
    coalesce(regexp_replace(strip_accents(lower(value)), '[^\\p{{L}}\\p{{N}}]', '', 'g') IN {TOTAL_WORDS}, false);
-- A name such as Total with a number is an account: a company has this name.
CREATE MACRO is_total(name, code) AS
    says_total(code) OR (says_total(name) AND NOT coalesce(regexp_matches(code, '[0-9]'), false));
CREATE MACRO on_line(line) AS if(line IS NULL, '', concat(' (line ', line, ')'));
CREATE MACRO one_line(value) AS regexp_replace(value, '[\\r\\n\\t]+', ' ', 'g');
"""

# Every row has the long ID of a company; an enumeration replaces it by a small number. UUIDs are compared in lower case, but
# only those that are not are converted, because converting takes longer than reading.
COMPANIES = """
CREATE TYPE company AS ENUM (
    SELECT DISTINCT lower(company_id) AS company FROM seen WHERE company_id IS NOT NULL ORDER BY company
);
-- Of the only company no row is read.
CREATE MACRO company_of(spelling) AS CASE
    WHEN len(enum_range(NULL::company)) = 1 THEN CAST(enum_first(NULL::company) AS company)
    ELSE coalesce(TRY_CAST(spelling AS company), CAST(lower(spelling) AS company))
END;
"""

# Chart rows without a company belong to the only company. `kind` is TABLE for very few rows, VIEW for others.
CLEAN = """
CREATE {kind} chart AS
SELECT * REPLACE (
    coalesce(company_of(company_id), CAST(enum_first(NULL::company) AS company)) AS company_id,
    -- A name of white space is none.
    if(ltrim(name, ' \t\n\r\u00a0') = '', NULL, name) AS name
)
FROM given_chart;

CREATE {kind} known AS
SELECT * REPLACE (company_of(company_id) AS company_id) FROM given_accounts WHERE is_known(state);

CREATE {kind} categories AS
SELECT * REPLACE (company_of(company_id) AS company_id) FROM given_categories;
"""

UNUSED_ACCOUNTS = """
SELECT company_id, external_id, id AS account_id, code, name
FROM known
SEMI JOIN (SELECT DISTINCT company_id FROM categories) AS asked USING (company_id)
ANTI JOIN categories ON known.company_id = categories.company_id AND known.id = categories.account_id
WHERE id IS NOT NULL AND archived IS NOT true
"""

# The companies of the chart, with the lengths of their codes that are numbers.
CHARTS = """
CREATE TABLE charts AS
SELECT
    company_id,
    min(strlen(code)) FILTER (is_number(code)) AS shortest, max(strlen(code)) FILTER (is_number(code)) AS longest,
    bool_or(is_number(code) AND code LIKE '0%') AS has_zeros
FROM chart GROUP BY company_id;
"""

# External IDs that are repeated on one side, with the number of rows on each side. `repeated` has the candidates' digests.
DOUBLED = """
CREATE VIEW sides AS
SELECT 'chart' AS side, company_id, external_id, code, name FROM chart
UNION ALL
SELECT 'service' AS side, company_id, external_id, code, name FROM known;

CREATE TABLE doubled AS
SELECT
    company_id, external_id,
    count(*) FILTER (side = 'chart') AS chart_rows, count(*) FILTER (side = 'service') AS service_rows,
    min(named(code, external_id, name)) AS any_account
FROM sides SEMI JOIN repeated ON hash(company_id, external_id) = digest
WHERE NOT is_empty(external_id)
GROUP BY ALL
HAVING chart_rows > 1 OR service_rows > 1;
"""

# Fields are compared when both frames have the column and the service's value is known.
DIFFERENCES: Mapping[str, tuple[str, str]] = {
    # The service always has a name and a flag, so a missing value is unknown, not different.
    "name_differs": ("name", "service.name IS NOT NULL"),
    "archived_differs": ("archived", "service.archived IS NOT NULL"),
    # These may be empty in the service. In an imported list an empty value is unknown, because it may lack the column.
    "code_differs": ("code", "(is_from_service OR service.code IS NOT NULL)"),
    "tax_code_differs": ("tax_code_external_id", "(is_from_service OR service.tax_code_external_id IS NOT NULL)"),
}

PAIRS = """
CREATE {kind} pairs AS
SELECT
    coalesce(erp.company_id, service.company_id) AS company_id,
    coalesce(erp.external_id, service.external_id) AS external_id,
    erp.company_id IS NOT NULL AS in_chart, service.company_id IS NOT NULL AS in_service,
    erp.line,
    erp.name AS erp_name, erp.code AS erp_code, erp.archived AS erp_archived, erp.tax_code_external_id AS erp_tax,
    service.id AS account_id, service.name, service.code, service.archived, service.tax_code_external_id AS tax,
    coalesce(service.is_read, false) AS is_from_service,
    {differences},
    NOT in_chart OR NOT in_service OR erp_name IS NULL OR account_id IS NULL OR {flags}
    OR is_long(erp.external_id) OR is_long(erp_name) OR is_long(erp_code) AS is_remarkable
FROM (FROM chart WHERE NOT is_empty(external_id)) AS erp
FULL JOIN (
    SELECT * EXCLUDE (state), id IS NOT NULL AND state <> 'IMPORTED' AS is_read FROM known WHERE NOT is_empty(external_id)
) AS service
    ON erp.company_id = service.company_id AND erp.external_id = service.external_id;
"""

# The first external ID of each side that has the same spelling on the other side.
LIKES = """(
    SELECT company_id, {0}, min(external_id) FILTER (is_new) AS erp_id, min(external_id) FILTER (is_gone) AS service_id
    FROM sided WHERE {0} IS NOT NULL GROUP BY ALL HAVING erp_id IS NOT NULL AND service_id IS NOT NULL
)"""

# The few pairs that may have a finding. An account on only one side gets the first similar external ID of the other side.
# A repeated external ID is ambiguous, so its row has no values.
ACCOUNTS = f"""
CREATE TABLE accounts AS
WITH
    remarkable AS (
        SELECT *, 1 AS chart_rows, 1 AS service_rows FROM pairs ANTI JOIN doubled USING (company_id, external_id)
        WHERE is_remarkable
        UNION ALL BY NAME
        SELECT *, chart_rows > 0 AS in_chart, service_rows > 0 AS in_service FROM doubled
    ),
    sided AS (
        SELECT
            remarkable.* REPLACE (
                code_differs AND without_zeros(erp_code) IS DISTINCT FROM without_zeros(code) AS code_differs
            ),
            remarkable.code_differs AND without_zeros(erp_code) = without_zeros(code) AS code_lost_zeros,
            charts.company_id IS NOT NULL AS is_charted,
            in_chart AND NOT in_service AS is_new,
            in_service AND NOT in_chart AND is_charted AS is_gone,
            chart_rows <= 1 AND service_rows <= 1 AS is_single,
            if(is_new OR is_gone, spelled(external_id), NULL) AS bare_id,
            if(is_new OR is_gone, without_zeros(external_id), NULL) AS short_id
        FROM remarkable LEFT JOIN charts USING (company_id)
    ),
    likened AS (
        SELECT
            sided.* EXCLUDE (bare_id, short_id),
            if(is_new, looks.service_id, looks.erp_id) AS looks_like, if(is_new, zeros.service_id, zeros.erp_id) AS zeros_like,
            coalesce(looks_like, zeros_like) AS twin
        FROM sided
        LEFT JOIN {LIKES.format("bare_id")} AS looks USING (company_id, bare_id)
        LEFT JOIN {LIKES.format("short_id")} AS zeros USING (company_id, short_id)
    ),
    -- A step of its own: DuckDB puts the whole expression where its name is used beside it.
    ruled AS (SELECT *, {RULE} AS rule FROM likened)
SELECT
    *,
    named(erp_code, external_id, erp_name) AS erp_account,
    named(code, external_id, name) AS service_account,
    {ACTION} AS action
FROM ruled;
"""

COVERAGE = """
CREATE TABLE coverage AS
WITH
    named_accounts AS (
        SELECT
            company_id, id AS account_id, min(external_id) AS external_id, min(name) AS account_name,
            min(code) AS account_code, bool_or(archived) AS is_archived
        FROM known
        SEMI JOIN categories ON known.company_id = categories.company_id AND known.id = categories.account_id
        GROUP BY ALL
    ),
    taxes AS (
        SELECT company_id, external_id, min(tax_code_external_id) AS erp_tax
        FROM chart SEMI JOIN named_accounts USING (company_id, external_id)
        WHERE NOT is_empty(external_id)
        GROUP BY ALL
        HAVING count(*) = 1
    )
SELECT
    categories.id AS category_id, company_id, categories.name, categories.archived,
    account_id, external_id, account_name, tax_code_id,
    CASE
        WHEN is_empty(account_id) THEN 'no_account'
        WHEN external_id IS NULL THEN 'unknown_account'
        WHEN is_archived THEN 'archived_account'
        WHEN is_gone OR action = 'archive' THEN 'to_be_archived_account'
        ELSE 'covered'
    END AS state,
    action AS account_action,
    erp_tax,
    min(erp_tax) OVER (PARTITION BY company_id, tax_code_id) AS first_tax,
    max(erp_tax) OVER (PARTITION BY company_id, tax_code_id) AS last_tax,
    count(*) OVER (PARTITION BY company_id, categories.name) AS of_this_name,
    named(account_code, external_id, account_name) AS account,
    concat('category ', coalesce(categories.name, category_id)) AS category
FROM categories
LEFT JOIN named_accounts USING (company_id, account_id)
LEFT JOIN taxes USING (company_id, external_id)
LEFT JOIN (SELECT company_id, external_id, is_gone, action FROM accounts) AS decided USING (company_id, external_id);
"""

# Per company of the chart, how far its accounts are those known here. An account that is spelled another way in the
# chart has findings of its own.
CHART_MATCH = f"""
WITH
    used AS (
        SELECT DISTINCT company_id, account_id FROM categories WHERE archived IS NOT true AND NOT is_empty(account_id)
    ),
    active AS (
        SELECT
            company_id, in_chart, used.account_id IS NOT NULL AS is_used,
            in_chart AND name IS NOT NULL AND erp_name IS NOT NULL AS is_matched,
            is_matched AND spelled(name) <> spelled(erp_name) AS is_renamed,
            named(coalesce(code, erp_code), external_id, name) AS account,
            concat(account, ' (', erp_name, ')') AS names
        FROM pairs
        ANTI JOIN (FROM accounts WHERE twin IS NOT NULL) AS respelled USING (company_id, external_id)
        LEFT JOIN used USING (company_id, account_id)
        WHERE in_service AND archived IS NOT true
    )
SELECT
    company_id, count(in_chart) AS known, count(*) FILTER (NOT in_chart) AS known_missing,
    min(account, {EXAMPLES}) FILTER (NOT in_chart) AS known_examples,
    count(*) FILTER (is_used) AS used, count(*) FILTER (is_used AND NOT in_chart) AS used_missing,
    min(account, {EXAMPLES}) FILTER (is_used AND NOT in_chart) AS used_examples,
    count(*) FILTER (is_matched) AS matched, count(*) FILTER (is_renamed) AS renamed,
    min(names, {EXAMPLES}) FILTER (is_renamed) AS renamed_examples
FROM charts LEFT JOIN active USING (company_id)
GROUP BY ALL
"""

# Further tables of checks: accounts that no category uses, those without an external ID, companies without a chart.
OTHERS = f"""
CREATE TABLE unused AS SELECT company_id, count(*) AS rows FROM ({UNUSED_ACCOUNTS}) GROUP BY company_id;
CREATE VIEW unidentified AS
SELECT side, company_id, external_id, named(code, 'an account', name) AS account FROM sides WHERE is_empty(external_id);
CREATE VIEW uncharted AS SELECT company_id, count(*) AS rows FROM accounts WHERE NOT is_charted GROUP BY company_id;
"""

ACTIONS = f"""
SELECT
    company_id, external_id, account_id, action, {WHY} AS why,
    if(in_chart, erp_name, name) AS name,
    if(in_chart, erp_code, code) AS code,
    if(in_chart, erp_archived, archived) AS archived,
    if(in_chart, erp_tax, tax) AS tax_code_external_id
FROM accounts
UNION ALL
SELECT company_id, external_id, account_id, 'none', '{THE_SAME}', erp_name, erp_code, erp_archived, erp_tax
FROM pairs
ANTI JOIN doubled USING (company_id, external_id)
WHERE NOT is_remarkable
UNION ALL
SELECT company_id, external_id, NULL, 'none', 'the external ID is empty', name, code, archived, tax_code_external_id
FROM chart
WHERE is_empty(external_id)
"""

# Each table that is handed over: its query, and an order that depends only on the content.
RESULTS: Mapping[str, tuple[str | Callable[[duckdb.DuckDBPyConnection], str], str]] = {
    # The most severe first.
    "findings": (
        findings,
        f"""
        list_position({list(SEVERITIES)}, severity), "check", company_id, external_id NULLS FIRST,
        category_id NULLS FIRST, account_id NULLS FIRST, field NULLS FIRST, erp_value NULLS FIRST, message
        """,
    ),
    "coverage": (
        """
        SELECT category_id, company_id, name, archived, account_id, external_id, account_name, tax_code_id, state
        FROM coverage
        """,
        "company_id, name NULLS FIRST, category_id",
    ),
    # Every column that two rows may differ in, so that parts of the rows give the same order as all of them.
    "actions": (
        ACTIONS,
        """
        company_id, external_id NULLS FIRST, code NULLS FIRST, name NULLS FIRST, archived, tax_code_external_id NULLS FIRST
        """,
    ),
    "action_counts": (f"SELECT company_id, action, count(*) AS count FROM ({ACTIONS}) GROUP BY ALL", "ALL"),
    "chart_match": (CHART_MATCH, "ALL"),
    "unused_accounts": (UNUSED_ACCOUNTS, "ALL NULLS FIRST"),
}


def results(frames: Mapping[str, pa.Table], names: Iterable[str], known_since: str = "") -> dict[str, pa.Table]:
    """Return the named tables of RESULTS for frames from `inputs.read`.

    `known_since` says in messages until when the accounts are known, as `names.last_import` returns it.
    """
    named = {f"{noun}_frame": frame for noun, frame in frames.items()}
    kind = "TABLE" if are_few(frames.values(), VERY_FEW_ROWS) else "VIEW"
    with engine("reconcile_accounts", MACROS, **named) as connection:
        connection.execute(f"CREATE MACRO known_since() AS {quoted(known_since)}")
        for noun, frame in frames.items():
            columns = ", ".join(_column(name, frame.schema) for name in inputs.USED[noun])
            connection.execute(f"CREATE VIEW given_{noun} AS SELECT {columns} FROM {noun}_frame")
        _refuse_gaps(connection)
        connection.execute(CLEAN.format(kind=kind))
        sides = [repeated_digests(connection, side, "company_id", "external_id") for side in ("chart", "known")]
        connection.register("repeated", pa.concat_tables(sides))
        connection.execute(CHARTS + DOUBLED + _pairs(frames, kind) + ACCOUNTS + COVERAGE + OTHERS)
        return {name: _kept(connection, name) for name in names}


def in_order(name: str, table: pa.Table) -> pa.Table:
    """Return a table of RESULTS, put together of parts, in its order."""
    with engine("reconcile_accounts", results=table) as connection:
        return connection.sql(f"FROM results ORDER BY {RESULTS[name][1]}").to_arrow_table()


def _kept(connection: duckdb.DuckDBPyConnection, name: str) -> pa.Table:
    query, order = RESULTS[name]
    query = query if isinstance(query, str) else query(connection)
    # Inside the queries a company is a value of an enumeration.
    as_text = "* REPLACE (CAST(company_id AS VARCHAR) AS company_id)"
    return kept(connection, f"result_{name}", f"SELECT {as_text} FROM ({query}) ORDER BY {order}")


def _column(name: str, columns: pa.Schema) -> str:
    kind = {"archived": "BOOLEAN", inputs.LINE: "BIGINT"}.get(name, "VARCHAR")
    # A chart may have a column of this name that holds no lines.
    cast = "TRY_CAST" if name == inputs.LINE else "CAST"
    return f"{cast}({name if name in columns.names else 'NULL'} AS {kind}) AS {name}"


def _refuse_gaps(connection: duckdb.DuckDBPyConnection) -> None:
    """Scan each frame once for its companies as they are written, and for gaps."""
    gaps = {
        noun: ", ".join(f"'{name}': count(*) - count({name})" for name in names)
        for noun, names in inputs.FILLED.items()
    }
    scans = [
        f"SELECT '{noun}' AS noun, company_id, MAP {{{counts}}} AS gaps FROM given_{noun} GROUP BY company_id"
        for noun, counts in gaps.items()
    ]
    connection.execute(f"CREATE TABLE seen AS {' UNION ALL '.join(scans)}; {COMPANIES}")
    empty = {noun: Counter[str]() for noun in gaps}
    for noun, counts in connection.execute("SELECT noun, gaps FROM seen").fetchall():
        empty[noun].update(counts)
    inputs.check_gaps(empty, *connection.execute("SELECT len(enum_range(NULL::company))").fetchall()[0])


def _pairs(frames: Mapping[str, pa.Table], kind: str) -> str:
    """Return PAIRS with a comparison of each column that both frames have."""
    both = set(frames["chart"].schema.names) & set(frames["accounts"].schema.names)
    differences = [
        f"in_chart AND in_service AND {known} AND erp.{field} IS DISTINCT FROM service.{field} AS {flag}"
        if field in both
        else f"false AS {flag}"
        for flag, (field, known) in DIFFERENCES.items()
    ]
    return PAIRS.format(kind=kind, differences=", ".join(differences), flags=" OR ".join(DIFFERENCES))
