"""The room's tables of promises (`worlds/reconcile`), and that a finding depends on the content alone."""

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
CASES = lines_of("reconcile/checks.csv")


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['check']} {case['case']}")
def test_each_check_finds_its_facts(case):
    """A check finds what was changed: its severity, who acts, the action, and every fact."""
    rows = world.reconciled(world.changed(case["changes"])).table("findings").to_pylist()
    first = next(row for row in rows if row["check"] == case["check"])
    assert written(json.loads(first["facts"])) == pairs(case["facts"])
    assert [first[name] for name in ("severity", "who", "action")] == [
        case[name] for name in ("severity", "who", "action")
    ]


def test_each_check_has_a_case():
    """No check is without a case in the file."""
    assert {case["check"] for case in CASES} == {check.code for check in CHECKS}


@pytest.mark.parametrize("case", lines_of("reconcile/actions.csv"), ids=lambda case: case["promise"])
def test_each_account_has_its_action(case):
    """The action of each account that was changed, why, and all findings."""
    result = world.reconciled(world.changed(case["changes"]))
    rows = result.actions[result.actions["external_id"] != "1200"]
    actions = [" ".join(map(str, row)) for row in rows[["external_id", "action", "reason"]].to_numpy()]
    assert (actions, {*result.findings["check"]}) == (case["actions"].split(" / "), {*case["checks"].split()})


@pytest.mark.parametrize("case", lines_of("reconcile/another_chart.csv"), ids=lambda case: case["promise"])
def test_the_chart_of_another_company_is_doubted(case):
    """By the accounts that it lacks, those in use first, or by their names; a few accounts prove nothing."""
    plain = world.plain()
    rows = {}
    for noun in ("chart", "known"):
        named = (account.split(" ") for account in case[noun].split(" / "))
        rows[noun] = [
            plain["accounts"][0] | {"external_id": number, "id": number, "name": name, "code": None}
            for number, name in named
        ]
    used = [plain["categories"][0] | {"id": number, "account_id": number} for number in case["used"].split()]
    result = world.reconciled({"chart": rows["chart"], "accounts": rows["known"], "categories": used})
    shown = []
    for code, facts in result.doubts:
        assert facts["company_id"] == "company-z"
        texts = written({name: value for name, value in facts.items() if name != "company_id"})
        shown.append(f"{code} {'; '.join(f'{name}={text}' for name, text in texts.items())}")
    assert shown == [case["doubt"]] * bool(case["doubt"])
    assert bool(result.another_chart) == bool(case["doubt"])


@pytest.mark.parametrize("case", lines_of("reconcile/suggestions.csv"), ids=lambda case: case["category"])
def test_accounts_with_a_name_of_one_meaning_are_suggested(case):
    """Names of the sample data that only share letters are not, nor what is archived."""
    rows = world.changed(case["changes"] or "chart 0 archived=false")
    rows["categories"][1] |= {"name": case["category"], "account_id": None}
    for side in ("chart", "accounts"):
        rows[side][1]["name"] = case["account"]
    suggested = world.reconciled(rows).suggestions["account_name"].tolist()
    assert suggested == [case["account"]] * bool(case["suggested"])


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_finding_is_one_line_that_names_the_thing(language):
    """Whatever line breaks names have, a message is one line of a fact and a step, in each language."""
    rows = world.side_by_side({seed: world.seeded(seed, 12) for seed in range(8)})
    for row in rows["chart"]:
        row["name"] = row["name"] and "Bank\r\nof\tall"
    table = world.reconciled(rows).table("findings", words(language))
    told = table.to_pylist()
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
    lists = ((pl.from_pandas(dated).lazy(), nothing | facts), (frames["accounts"], nothing))
    for accounts, expected in lists:
        findings = reconcile_accounts(**frames | {"accounts": accounts}).findings
        [told] = findings.loc[findings["check"] == "missing_in_service", "facts"]
        assert json.loads(told) == expected
