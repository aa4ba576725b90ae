"""Each check by a table made by hand: code, facts, who acts; findings depend on content alone."""

from __future__ import annotations

import json
import os
import random
from collections import Counter

import pandas as pd
import polars as pl
import pytest
import reconcile_world as world
from world_files import lines_of, pairs, written

from bktools.findings.check import SEVERITIES
from bktools.reconcile import reconcile_accounts
from bktools.reconcile.checks import CHECKS
from bktools.wording import LANGUAGES, words

RUNS = int(os.environ.get("BKTOOLS_TEST_RUNS", "3"))


def reconciled(rows, **accounts):
    frames = world.frames(rows)
    return reconcile_accounts(**frames | {"accounts": frames["accounts"].assign(**accounts)})


# The check, what is changed in the plain world, severity, who acts, action and facts.
CASES = lines_of("reconcile/checks.csv")


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['check']} {case['case']}")
def test_each_check_finds_its_facts(case):
    """A check finds what was changed: its severity, who acts, the action, and every fact."""
    rows = reconciled(world.changed(case["changes"])).table("findings").to_pylist()
    first = next(row for row in rows if row["check"] == case["check"])
    assert written(json.loads(first["facts"])) == pairs(case["facts"])
    assert [first[name] for name in ("severity", "who", "action")] == [
        case[name] for name in ("severity", "who", "action")
    ]


def test_each_check_has_a_case():
    """No check is without a case in the file."""
    assert {case["check"] for case in CASES} == {check.code for check in CHECKS}


# What the chart and the service say of an account, by check and field.
SIDES = [
    ("name_differs", "name", "Ours", "Theirs"),
    ("code_differs", "code", "a1", "b2"),
    ("code_differs", "code", None, "b2"),
    ("tax_code_differs", "tax_code_external_id", "V7", "V19"),
    ("tax_code_differs", "tax_code_external_id", None, "V19"),
    ("archived_differs", "archived", True, False),
    ("archived_differs", "archived", False, True),
    ("external_id_looks_alike", "external_id", "A 1", "a1"),
    ("external_id_looks_alike", "external_id", "a1", "A 1"),
    ("leading_zeros_lost", "external_id", "400", "0400"),
    ("leading_zeros_lost", "external_id", "0400", "400"),
]


@pytest.mark.parametrize(("check", "field", "chart", "service"), SIDES)
def test_the_chart_stands_left_and_the_service_right(check, field, chart, service):
    """In the columns of a finding and in its message the chart's value is first, then the service's."""
    plain = world.plain()
    plain["chart"][0][field], plain["accounts"][0][field] = chart, service
    rows = reconciled(plain)
    [found] = [row for row in rows.table("findings", words("en")).to_pylist() if row["check"] == check]
    values = {True: "true", False: "false"}
    assert [found["erp_value"], found["service_value"]] == [values.get(one, one) for one in (chart, service)]
    words_of = {None: "nothing", True: "archived", False: "active"}
    first, second = (words_of.get(one, one) for one in (chart, service))
    assert 0 <= found["message"].find(first) < found["message"].rfind(second)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_finding_is_one_line_that_names_the_thing(language):
    """Whatever line breaks names have, a message is one line of a fact and a step, in each language."""
    rows = world.side_by_side({seed: world.seeded(seed, 12) for seed in range(8)})
    for row in rows["chart"]:
        row["name"] = row["name"] and "Bank\r\nof\tall"
    table = reconciled(rows).table("findings", words(language))
    told = table.to_pylist()
    assert {"message", "about", "to_do", "who"} < {*table.column_names}
    assert any("Bank" in row["message"] for row in told)
    for row in told:
        assert len(row["message"].splitlines()) == 1
        assert len(row["about"].splitlines()) == 1
        assert row["to_do"] in row["message"]
        assert "{" not in row["message"]


def tables_of(rows):
    result = world.reconciled(rows)
    return {
        name: result.table(name)
        for name in ("findings", "actions", "coverage", "unused_accounts", "chart_match")
    }


@pytest.mark.parametrize("seed", range(RUNS))
def test_findings_depend_on_the_content_alone(seed):
    """Companies give the same rows together as alone, in any order; the most severe come first."""
    worlds = {f"w{number}": world.seeded(seed * 100 + number, 12) for number in range(4)}
    rows = world.side_by_side(worlds)
    for found in rows.values():
        random.Random(seed).shuffle(found)
    together = tables_of(rows)
    assert len({*together["findings"]["check"].to_pylist()}) > 20
    alone = [tables_of(world.side_by_side({name: one})) for name, one in worlds.items()]
    for name, table in together.items():
        parts = Counter(str(row) for part in alone for row in part[name].to_pylist())
        assert Counter(map(str, table.to_pylist())) == parts, name
    keys = [(SEVERITIES.index(row["severity"]), row["check"]) for row in together["findings"].to_pylist()]
    assert keys == sorted(keys)


@pytest.mark.parametrize(
    ("state", "facts"), [("IMPORTED", {"known_since": "2026-10-31"}), ("CREATED", {"none_imported": True})]
)
def test_a_missing_account_is_unknown_as_of_the_last_list(state, facts):
    """The day of the last import is told, also of a lazy frame; a frame without dates gives no date."""
    frames = world.frames(world.changed("accounts 0 gone"))
    dated = frames["accounts"].assign(updated_at=pd.Timestamp("2026-10-31T08:00Z"), state=state)
    nothing = {"account": "0400 Machines", "known_since": None, "none_imported": None}
    lists = (
        (dated, nothing | facts),
        (pl.from_pandas(dated).lazy(), nothing | facts),
        (frames["accounts"], nothing),
    )
    for accounts, expected in lists:
        findings = reconcile_accounts(**frames | {"accounts": accounts}).findings
        [told] = findings.loc[findings["check"] == "missing_in_service", "facts"]
        assert json.loads(told) == expected
