"""Every check of entries against a plain reference, on entries made at random."""

from __future__ import annotations

import datetime as dt
import os
import random
from decimal import Decimal
from typing import Any

import checks_reference
import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from hand_made import COMPANY, entry_id
from hypothesis import given
from hypothesis import strategies as st

from bktools import compose_export_jobs
from bktools.currencies import MINOR_UNITS
from bktools.export.checks import CHECKS, MACROS
from bktools.wording.numbers import shown

# Worlds of 300 entries a state, as many as wanted with BKTOOLS_TEST_RUNS.
WORLDS = int(os.environ.get("BKTOOLS_TEST_RUNS", "1"))

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


# What each column may hold: the usual value in most entries, so that later checks are reached.
USUAL = {
    "company_id": COMPANY,
    "date": dt.date(2026, 10, 3),
    "amount": Decimal("10.000"),
    "currency": "EUR",
    "category_id": "good",
    "employee_id": "e1",
    "supplier": "SJ",
    "tax_code": "V25",
    "approved": True,
}
OTHERS = {
    "company_id": [OTHER],
    "date": [dt.date(2026, 9, 30), dt.date(2026, 11, 1), dt.date(2026, 10, 31), None],
    "amount": [*map(Decimal, ("-10", "31", "0.5", "12.345", "0", "-3000")), None],
    "currency": ["JPY", "KWD", "XXQ", "", None],
    "category_id": ["archived", "foreign", "lost", "closed", "unheard of", "", None],
    "employee_id": ["e2", None],
    "supplier": [" sj", "Taxi", "", None],
    "tax_code": [" ", None],
    "approved": [False, None],
}


def entry_of(chance: random.Random) -> dict[str, Any]:
    """Return an entry that is unusual here and there; of many, some have the ID of another."""
    values = {name: chance.choice([usual] * 6 + OTHERS[name]) for name, usual in USUAL.items()}
    return {"id": chance.choice([*(entry_id(number) for number in range(400)), *["7", None] * 8])} | values


@pytest.mark.parametrize("state", ["ACCEPTED", "UNKNOWN", "RELEASED"])
@pytest.mark.parametrize("world", range(WORLDS))
def test_every_check_agrees_with_the_reference(state, world):
    """Each entry has the checks of the reference, in its order; the first error is the reason, and others are ready."""
    chance = random.Random(f"{state} {world}")
    made = [entry_of(chance) for _ in range(280)]
    made += [dict(chance.choice(made)) for _ in range(20)]
    entries = [entry | {"line": line} for line, entry in enumerate(made, 1)]
    sent = {number: {state} if number % 2 else {state, "ACCEPTED"} for number in range(40)}
    asked = {"company": COMPANY, "period": "2026-10", "currency": "EUR"}
    expected = checks_reference.findings(
        entries,
        categories=CATEGORIES,
        accounts=ACCOUNTS,
        employees=["e1"],
        history={entry_id(number): states for number, states in sent.items()},
        **asked,
    )
    plan = compose_export_jobs(
        pa.Table.from_pylist(made, SCHEMA),
        categories=pd.DataFrame(CATEGORIES),
        accounts=pd.DataFrame(ACCOUNTS),
        employees=pd.DataFrame({"id": ["e1"]}),
        history=pd.DataFrame(
            [(entry_id(number), one) for number, states in sent.items() for one in sorted(states)],
            columns=["entry_id", "state"],
        ),
        **asked,
    )
    found = {line: [] for line in expected}
    for line, name in zip(plan.findings["line"], plan.findings["check"], strict=True):
        found[line].append(name)
    assert found == expected
    of_severity = plan.findings.groupby("severity")["check"].agg(set)
    # A world may be without a reversal.
    assert {"foreign_currency"} <= of_severity["info"] <= {"reversal", "foreign_currency"}
    assert of_severity["warning"] >= {"earlier_period", "suspected_duplicate", "no_employee"}
    errors = {check.name for check in CHECKS if check.severity == "error"}
    reasons = {line: next((name for name in names if name in errors), None) for line, names in expected.items()}
    assert dict(zip(plan.not_ready["line"], plan.not_ready["reason"], strict=True)) == {
        line: reason for line, reason in reasons.items() if reason
    }
    assert sorted(plan.entries["line"]) == sorted(line for line, reason in reasons.items() if reason is None)


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
