"""The chart stands left and the service right: in the columns of a finding, in its message, in the verb."""

from __future__ import annotations

import random
import re

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
    """Whatever two values differ, erp_value and the first in the message are the chart's, the others the service's."""
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
        said = re.search(f"has the {WORDS[field]} (.+) in the chart and (.+) in the service:", row["message"])
        assert said is not None, row["message"]
        assert said.groups() == (f'"{left}"' if left else "nothing", f'"{right}"')


@pytest.mark.parametrize("in_chart", [True, False])
def test_archived_has_the_chart_left_and_the_service_right(in_chart):
    """What the chart alone has archived is to be archived in the service; what the service alone has, to be active."""
    rows = world.plain()
    rows["chart"][0]["archived"], rows["accounts"][0]["archived"] = in_chart, not in_chart
    found = reconciled(rows).findings.set_index("check").loc["archived_differs"]
    assert (found["erp_value"], found["service_value"]) == (str(in_chart).lower(), str(not in_chart).lower())
    ours, theirs, verb = ("archived", "active", "archive") if in_chart else ("active", "archived", "unarchive")
    assert f"is {ours} in the chart and {theirs} in the service: {verb} it in the service" in found["message"]
    assert found["action"] == verb


@pytest.mark.parametrize(("chart", "account"), [("0400", "400"), ("400", "0400"), ("A 1", "a1"), ("a1", "A 1")])
def test_spellings_have_the_chart_left_and_the_service_right(chart, account):
    """Of two spellings of an external ID, the chart's is named first and is the finding's erp_value."""
    rows = world.plain()
    rows["chart"][0]["external_id"], rows["accounts"][0]["external_id"] = chart, account
    found = reconciled(rows).findings
    alike = found[found["check"].isin(["external_id_looks_alike", "leading_zeros_lost"])].iloc[0]
    assert (alike["external_id"], alike["erp_value"], alike["service_value"]) == (chart, chart, account)
    assert alike["message"].index(chart) < alike["message"].rindex(account)
