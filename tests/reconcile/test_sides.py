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


def test_archived_has_the_chart_left_and_the_service_right():
    """What the chart alone has archived is to be archived in the service; what the service alone has, to be active."""
    rows = world.plain()
    for place, in_chart in enumerate((True, False)):
        rows["chart"][place]["archived"], rows["accounts"][place]["archived"] = in_chart, not in_chart
    findings = reconciled(rows).findings
    differs = findings[findings["check"] == "archived_differs"].set_index("external_id")
    for external_id, ours, theirs, verb in (
        ("0400", "archived", "active", "archive"), ("1200", "active", "archived", "unarchive"),
    ):  # fmt: skip
        found = differs.loc[external_id]
        flags = {"archived": "true", "active": "false"}
        assert (found["erp_value"], found["service_value"]) == (flags[ours], flags[theirs])
        assert f"is {ours} in the chart and {theirs} in the service: {verb} it in the service" in found["message"]
        assert found["action"] == verb


def test_spellings_have_the_chart_left_and_the_service_right():
    """Of two spellings of an external ID, the chart's is named first and is the finding's erp_value."""
    cases = [("0400", "400"), ("400", "0400"), ("A 1", "a1"), ("a1", "A 1")]
    worlds = {number: world.plain() for number in range(len(cases))}
    for number, rows in worlds.items():
        rows["chart"][0]["external_id"], rows["accounts"][0]["external_id"] = cases[number]
    found = reconciled(world.side_by_side(worlds)).findings
    alike = found[found["check"].isin(["external_id_looks_alike", "leading_zeros_lost"])].set_index("company_id")
    for number, (chart, account) in enumerate(cases):
        row = alike.loc[f"{number} company-z"]
        assert (row["external_id"], row["erp_value"], row["service_value"]) == (chart, chart, account)
        assert row["message"].index(chart) < row["message"].rindex(account)


def _set(noun: str, place: int, **values: object):
    """Return a change of one row of the plain world."""
    return lambda rows: rows[noun][place].update(values)


def _more(noun: str, **values: object):
    """Return a change that adds a row like the first."""
    return lambda rows: rows[noun].append(rows[noun][0] | values)


def _without(noun: str, place: int):
    return lambda rows: rows[noun].pop(place)


LONG = "x" * 300

# What is changed in the plain world, and how each message about it begins: its values, each in its place.
MESSAGES = {
    "external_id_duplicate of the chart": (
        [_more("chart", name="Other"), _more("chart", name="Third")],
        '3 rows of the chart have the external ID "0400":',
    ),
    "external_id_duplicate of the service": (
        [_more("accounts", id="account-9")],
        '2 accounts known here have the external ID "0400":',
    ),
    "external_id_empty of the chart": (
        [_more("chart", external_id=None, code="7", name="Cash")],
        "7 Cash of the chart has",
    ),
    "external_id_empty of the service": (
        [_more("accounts", external_id="", code="7", name="Cash", id="account-7")],
        "7 Cash of the accounts known here has",
    ),
    "external_id_too_long": (
        [_more("chart", external_id=LONG)],
        "the external ID of 0400 Machines… has 300 characters and the service takes 255:",
    ),
    "name_missing": ([_set("chart", 0, name=None)], "0400 has no name in the chart:"),
    "name_too_long": (
        [_set("chart", 0, name=LONG)],
        f"the name of {'0400 ' + LONG[:55]}… has 300 characters and the service takes 255:",
    ),
    "code_too_long": (
        [_set("chart", 0, code=LONG)],
        f"the code of {LONG[:60]}… has 300 characters and the service takes 255:",
    ),
    "leading_zeros_lost of codes": (
        [_set("chart", 0, code="400")],
        'the chart has the code "400" and the service "0400", which differ only in leading zeros:',
    ),
    "code_lengths_mixed": (
        [_set("chart", 0, code="17"), _set("chart", 1, code="12345")],
        "codes of the chart have 2 to 5 digits and none starts with 0:",
    ),
    "account_id_unknown": (
        [_set("accounts", 0, id=None, state="EXISTS")],
        "0400 Machines exists in the service and its ID is unknown",
    ),
    "account_unused": (
        [_without("categories", 0)],
        "company {case} company-z has 1 active account that no category uses:",
    ),
    "company_without_chart": (
        [_more("accounts", company_id="company-y"), _more("accounts", company_id="company-y", external_id="7", id="i")],
        "the chart has no account of company {case} company-y, so its accounts known here (2) were not compared:",
    ),
    "category_without_account": ([_set("categories", 0, account_id=None)], "category Machines has no account:"),
    "category_on_unknown_account": (
        [_set("categories", 0, account_id="elsewhere")],
        "category Machines is on account elsewhere, which is not known here:",
    ),
    "category_on_archived_account": (
        [_set("chart", 0, archived=True), _set("accounts", 0, archived=True)],
        "category Machines is on 0400 Machines, which is archived in the service:",
    ),
    "category_on_account_to_be_archived": (
        [_set("chart", 0, archived=True)],
        "category Machines is on 0400 Machines, which the ERP has archived or no longer has:",
    ),
    "archived_category_on_active_account": (
        [_set("categories", 0, name="Old", archived=True)],
        "category Old is archived and its account 0400 Machines is active",
    ),
    "category_name_duplicate": (
        [_more("categories", id="c-8"), _more("categories", id="c-9")],
        "category Machines is one of 3 categories of the company with this name:",
    ),
    "category_without_tax_code": (
        [_set("categories", 0, tax_code_id=None)],
        'category Machines has no tax code and its account 0400 Machines has "V19" in the ERP:',
    ),
    "category_tax_code_ambiguous": (
        [_set("categories", 0, tax_code_id="tax-1"), _set("categories", 1, tax_code_id="tax-1")],
        'category Machines is on 0400 Machines, which has "V19" in the ERP; its tax code is used for "V19" and "V7" there:',
    ),
}


def test_nothing_is_told_of_the_plain_world():
    """What the messages below say comes from the changes."""
    assert reconciled(world.plain()).findings.empty


def test_each_value_of_a_message_is_in_its_place():
    """A message names the thing first, and every count, account, code and tax code where it belongs."""
    worlds = {case: world.plain() for case in MESSAGES}
    for case, (changes, _) in MESSAGES.items():
        for change in changes:
            change(worlds[case])
    found = reconciled(world.side_by_side(worlds)).findings
    assert found["severity"].isin(["error", "warning", "info"]).all()
    for case, (_, begins) in MESSAGES.items():
        is_of_case = found["company_id"].isin([f"{case} company-y", f"{case} company-z"])
        told = found.loc[is_of_case & (found["check"] == case.split(" ")[0]), "message"].tolist()
        assert any(message.startswith(begins.replace("{case}", case)) for message in told), (case, told)
