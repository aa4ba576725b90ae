"""Every check of entries against a plain reference, on entries that hypothesis makes."""

from __future__ import annotations

import datetime as dt
import os
from decimal import Decimal

import checks_reference
import duckdb
import pandas as pd
import pyarrow as pa
from hand_made import COMPANY, entry_id
from hypothesis import given, settings
from hypothesis import strategies as st

from bktools import compose_export_jobs
from bktools.export.checks import CHECKS, MACROS
from bktools.frames.currencies import MINOR_UNITS, shown

OTHER = "00000000-0000-4000-8000-00000000000f"
CATEGORIES = [
    {"id": "good", "company_id": COMPANY, "archived": False, "account_id": "taxed"},
    {"id": "archived", "company_id": COMPANY, "archived": True, "account_id": "untaxed"},
    {"id": "foreign", "company_id": OTHER, "archived": False, "account_id": None},
    {"id": "lost", "company_id": COMPANY, "archived": False, "account_id": "unheard of"},
    {"id": "closed", "company_id": COMPANY, "archived": False, "account_id": "archived"},
]
ACCOUNTS = [
    {"id": "taxed", "archived": False, "tax_code_external_id": "V25"},
    {"id": "untaxed", "archived": False, "tax_code_external_id": None},
    {"id": "archived", "archived": True, "tax_code_external_id": "V6"},
]
SCHEMA = pa.schema(
    {
        "id": pa.large_string(), "company_id": pa.large_string(), "date": pa.date32(), "amount": pa.decimal128(12, 3),
        "currency": pa.large_string(), "category_id": pa.large_string(), "employee_id": pa.large_string(),
        "supplier": pa.large_string(), "tax_code": pa.large_string(), "approved": pa.bool_(),
    }
)  # fmt: skip


def mostly(usual, *others):
    """Return the usual value in most entries, so that later checks are reached."""
    return st.sampled_from([usual] * 6 + [*others])


ENTRY = st.fixed_dictionaries(
    {
        "id": st.sampled_from([*(entry_id(number) for number in range(30)), "7"]),
        "company_id": mostly(COMPANY, OTHER),
        "date": mostly(dt.date(2026, 10, 3), dt.date(2026, 9, 30), dt.date(2026, 11, 1), dt.date(2026, 10, 31), None),
        "amount": mostly(Decimal("10.000"), *map(Decimal, ("-10", "31", "0.5", "12.345", "0", "-3000"))) | st.none(),
        "currency": mostly("EUR", "JPY", "KWD", "XXQ", "", None),
        "category_id": mostly("good", "archived", "foreign", "lost", "closed", "unheard of", "", None),
        "employee_id": mostly("e1", "e2", None),
        "supplier": mostly("SJ", " sj", "Taxi", "", None),
        "tax_code": mostly("V25", " ", None),
        "approved": mostly(True, False, None),
    }
)


@settings(max_examples=int(os.environ.get("BKTOOLS_TEST_RUNS", "8")))
@given(st.lists(ENTRY, min_size=1, max_size=28), st.sampled_from(["ACCEPTED", "UNKNOWN", "RELEASED"]))
def test_every_check_agrees_with_the_reference(made, state):
    """Each entry has the checks of the reference, in its order; the first error is the reason, and others are ready."""
    entries = [entry | {"line": line} for line, entry in enumerate(made, 1)]
    asked = {"company": COMPANY, "period": "2026-10", "currency": "EUR"}
    expected = checks_reference.findings(
        entries,
        categories=CATEGORIES,
        accounts=ACCOUNTS,
        employees=["e1"],
        history={entry_id(0): {state}, entry_id(1): {state, "ACCEPTED"}},
        **asked,
    )
    plan = compose_export_jobs(
        pa.Table.from_pylist(made, SCHEMA),
        categories=pd.DataFrame(CATEGORIES),
        accounts=pd.DataFrame(ACCOUNTS),
        employees=pd.DataFrame({"id": ["e1"]}),
        history=pd.DataFrame(
            {"entry_id": [entry_id(0), entry_id(1), entry_id(1)], "state": [state, state, "ACCEPTED"]}
        ),
        **asked,
    )
    found = {line: [] for line in expected}
    for line, name in zip(plan.findings["line"], plan.findings["check"], strict=True):
        found[line].append(name)
    assert found == expected
    errors = {check.name for check in CHECKS if check.severity == "error"}
    reasons = {line: next((name for name in names if name in errors), None) for line, names in expected.items()}
    assert dict(zip(plan.not_ready["line"], plan.not_ready["reason"], strict=True)) == {
        line: reason for line, reason in reasons.items() if reason
    }
    assert sorted(plan.entries["line"]) == sorted(line for line, reason in reasons.items() if reason is None)


@settings(max_examples=int(os.environ.get("BKTOOLS_TEST_RUNS", "15")))
@given(
    st.lists(
        st.tuples(
            st.decimals(min_value=-(10**30), max_value=10**30, places=4, allow_nan=False),
            st.sampled_from([*MINOR_UNITS, "XXQ", ""]),
        ),
        min_size=1,
        max_size=30,
    )
)
def test_amounts_in_findings_are_those_of_every_table(amounts):
    """The query writes an amount as `currencies.shown` does, to the last digit."""
    table = pa.table(
        {
            "amount": pa.array([amount for amount, _ in amounts], pa.decimal128(38, 4)),
            "units": pa.array([MINOR_UNITS.get(code) for _, code in amounts], pa.int8()),
        }
    )
    with duckdb.connect() as connection:
        connection.execute(MACROS)
        connection.register("amounts", table)
        found = [text for (text,) in connection.execute("SELECT money(amount, units) FROM amounts").fetchall()]
    assert found == [shown(amount, code) for amount, code in amounts]
