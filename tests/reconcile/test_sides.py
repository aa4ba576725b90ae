"""The chart stands left and the service right: in the columns of a finding, in its message, in the verb."""

from __future__ import annotations

import json
import random

import pytest
import reconcile_world as world

from bktools.frames import schema
from bktools.reconcile import reconcile_accounts

WORDS = {"name": "name", "code": "code", "tax_code_external_id": "tax code"}
DIFFERENCES = 40


def reconciled(rows):
    return reconcile_accounts(**{noun: schema.to_pandas(table) for noun, table in world.tables(rows).items()})


@pytest.mark.parametrize("field", WORDS)
def test_a_difference_has_the_chart_left_and_the_service_right(field):
    """erp_value and the first value of a message are the chart's; the others are the service's."""
    pick = random.Random(field)
    rows = world.plain()
    ours, theirs = rows["chart"].pop(), rows["accounts"].pop()
    sides = {}
    for number in range(DIFFERENCES):
        left, right = (f"{side}{pick.randrange(1000):03}" for side in pick.sample(["a", "b", "c"], 2))
        if field != "name" and number % 5 == 0:
            left = None
        sides[f"X{number}"] = (left, right)
        rows["chart"].append({**ours, "external_id": f"X{number}", field: left})
        rows["accounts"].append({**theirs, "id": f"id-{number}", "external_id": f"X{number}", field: right})
    found = reconciled(rows).findings
    found = found[found["check"] == f"{WORDS[field].replace(' ', '_')}_differs"].set_index("external_id")
    assert set(found.index) == set(sides)
    for external_id, row in found.iterrows():
        left, right = sides[external_id]
        assert (row["erp_value"] if left else None, row["service_value"]) == (left, right)
        chart, service = [*json.loads(row["facts"]).values()][1:]
        assert (chart, service) == (left, right)
        named = f'"{left}"' if left else "nothing"
        assert row["message"].index(named) < row["message"].index(f'"{right}"')


def test_archived_has_the_chart_left_and_the_service_right():
    """What only the chart has archived is to be archived in the service; else to be active."""
    rows = world.plain()
    for place, in_chart in enumerate((True, False)):
        rows["chart"][place]["archived"], rows["accounts"][place]["archived"] = in_chart, not in_chart
    findings = reconciled(rows).findings
    differs = findings[findings["check"] == "archived_differs"].set_index("external_id")
    for external_id, ours, theirs, verb in (
        ("0400", "archived", "active", "archive"),
        ("1200", "active", "archived", "unarchive"),
    ):
        found = differs.loc[external_id]
        flags = {"archived": "true", "active": "false"}
        assert (found["erp_value"], found["service_value"]) == (flags[ours], flags[theirs])
        assert f"is {ours} in the chart and {theirs} in the service" in found["message"]
        assert found["action"] == verb


def test_spellings_have_the_chart_left_and_the_service_right():
    """Of two spellings of an external ID, the chart's is named first and is the finding's erp_value."""
    cases = [("0400", "400"), ("400", "0400"), ("A 1", "a1"), ("a1", "A 1")]
    worlds = {number: world.plain() for number in range(len(cases))}
    for number, rows in worlds.items():
        rows["chart"][0]["external_id"], rows["accounts"][0]["external_id"] = cases[number]
    found = reconciled(world.side_by_side(worlds)).findings
    alike = found[found["check"].isin(["external_id_looks_alike", "leading_zeros_lost"])].set_index(
        "company_id"
    )
    for number, (chart, account) in enumerate(cases):
        row = alike.loc[f"{number} company-z"]
        assert (row["external_id"], row["erp_value"], row["service_value"]) == (chart, chart, account)
        assert row["message"].index(chart) < row["message"].rindex(account)
