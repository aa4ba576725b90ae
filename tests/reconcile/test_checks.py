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

from bktools.findings.check import ERP, ERROR, INFO, PREPARER, SERVICE, SEVERITIES, WARNING
from bktools.reconcile import CHECKS, reconcile_accounts
from bktools.wording import LANGUAGES, words

RUNS = int(os.environ.get("BKTOOLS_TEST_RUNS", "3"))
LONG = "x" * 300
MACHINES = {"account": "0400 Machines"}
CATEGORY = {"category": "Machines"} | MACHINES
ZEROS = {"erp_zeros": "400", "service_zeros": "0400"}
BY_ERP, BY_PREPARER = (ERROR, ERP, "none"), (ERROR, PREPARER, "none")


def reconciled(rows, **accounts):
    frames = world.frames(rows)
    return reconcile_accounts(**frames | {"accounts": frames["accounts"].assign(**accounts)})


def _set(noun: str, place: int, **values: object):
    """Return a change of one row of the plain world."""
    return lambda rows: rows[noun][place].update(values)


def _more(noun: str, **values: object):
    """Return a change that adds a row like the first."""
    return lambda rows: rows[noun].append(rows[noun][0] | values)


def _without(noun: str, place: int = 0):
    return lambda rows: rows[noun].pop(place)


def _both(**values: object):
    """Return a change of the first account on both sides."""
    return lambda rows: [rows[noun][0].update(values) for noun in ("chart", "accounts")]


# Each case: the check, what is changed in the plain world, severity, who acts, action, and the facts.
CASES = {
    "missing_in_service": (
        [_without("accounts")],
        (WARNING, PREPARER, "create"),
        MACHINES | {"known_since": None, "none_imported": None},
    ),
    "missing_in_erp": ([_without("chart")], (WARNING, SERVICE, "archive"), MACHINES),
    "missing_in_erp, archived unknown": (
        [_without("chart"), _set("accounts", 0, archived=None)],
        (WARNING, SERVICE, "none"),
        MACHINES,
    ),
    "missing_in_erp_archived": (
        [_without("chart"), _set("accounts", 0, archived=True)],
        (INFO, PREPARER, "none"),
        MACHINES,
    ),
    "missing_in_erp_respelled": (
        [_set("accounts", 0, external_id="400")],
        (WARNING, PREPARER, "none"),
        MACHINES | {"twin": "0400"},
    ),
    "name_differs": (
        [_set("chart", 0, name="Other")],
        (WARNING, SERVICE, "update"),
        {"account": "0400 Other", "erp_name": "Other", "name": "Machines"},
    ),
    "code_differs": (
        [_set("chart", 0, code=None)],
        (WARNING, SERVICE, "update"),
        MACHINES | {"erp_code": None, "code": "0400"},
    ),
    "tax_code_differs": (
        [_set("chart", 0, tax_code_external_id="V7")],
        (ERROR, SERVICE, "update"),
        MACHINES | {"erp_tax": "V7", "tax": "V19"},
    ),
    "archived_differs": (
        [_set("chart", 0, archived=True)],
        (WARNING, SERVICE, "archive"),
        MACHINES | {"action": "archive"},
    ),
    "archived_differs, active": (
        [_set("accounts", 0, archived=True)],
        (WARNING, SERVICE, "unarchive"),
        MACHINES | {"action": "unarchive"},
    ),
    "external_id_duplicate": (
        [_more("chart", name="Other"), _more("chart", name="Third")],
        BY_ERP,
        {"external_id": "0400", "rows": 3, "side": "chart"},
    ),
    "external_id_duplicate, service": (
        [_more("accounts", id="account-9")],
        BY_PREPARER,
        {"external_id": "0400", "rows": 2, "side": "service"},
    ),
    "external_id_empty": (
        [_more("chart", external_id=None, code="7", name="Cash")],
        BY_ERP,
        {"account": "7 Cash", "side": "chart"},
    ),
    "external_id_empty, service": (
        [_more("accounts", external_id="", code=None, name=None, id="account-7")],
        BY_PREPARER,
        {"account": None, "side": "service"},
    ),
    "external_id_too_long": (
        [_more("chart", external_id=LONG)],
        BY_ERP,
        MACHINES | {"external_id_length": 300, "most": 255},
    ),
    "name_too_long": (
        [_set("chart", 0, name=LONG)],
        BY_ERP,
        {"account": f"0400 {LONG}", "name_length": 300, "most": 255},
    ),
    "code_too_long": (
        [_set("chart", 0, code=LONG)],
        BY_ERP,
        {"account": f"{LONG} Machines", "code_length": 300, "most": 255},
    ),
    "external_id_looks_alike": (
        [_both(external_id="a 1"), _set("accounts", 0, external_id="A1")],
        BY_ERP,
        {"external_id": "a 1", "looks_like": "A1", "differing": ["white_space", "capitals"]},
    ),
    "name_missing": ([_set("chart", 0, name=" \u00a0")], BY_ERP, {"account": "0400", "line": None}),
    "total_in_chart": (
        [_more("chart", external_id="Summe", code="Summe", name="Summe")],
        BY_PREPARER,
        {"account": "Summe Summe", "line": None},
    ),
    "leading_zeros_lost": ([_set("chart", 0, code="400")], BY_PREPARER, ZEROS | {"zeros_in": "code"}),
    "leading_zeros_lost, external ID": (
        [_set("chart", 0, external_id="400")],
        BY_PREPARER,
        ZEROS | {"zeros_in": "external_id"},
    ),
    "code_lengths_mixed": (
        [_set("chart", 0, code="17"), _set("chart", 1, code="12345")],
        (INFO, PREPARER, "none"),
        {"company_id": "company-z", "shortest": 2, "longest": 5},
    ),
    "account_id_unknown": (
        [_set("accounts", 0, id=None, state="EXISTS")],
        (WARNING, PREPARER, "none"),
        MACHINES,
    ),
    "account_unused": (
        [_without("categories")],
        (INFO, PREPARER, "none"),
        {"company_id": "company-z", "accounts": 1},
    ),
    "company_without_chart": (
        [lambda rows: rows["chart"].clear(), _more("chart_of", company_id="company-y")],
        (WARNING, PREPARER, "none"),
        {"company_id": "company-z", "accounts": 2},
    ),
    "category_without_account": (
        [_set("categories", 0, account_id=None)],
        (ERROR, SERVICE, "none"),
        {"category": "Machines"},
    ),
    "category_on_unknown_account": (
        [_set("categories", 0, account_id="elsewhere")],
        BY_PREPARER,
        {"category": "Machines", "account_id": "elsewhere"},
    ),
    "category_on_archived_account": ([_both(archived=True)], (ERROR, SERVICE, "none"), CATEGORY),
    "category_on_account_to_be_archived": (
        [_set("chart", 0, archived=True)],
        (ERROR, SERVICE, "archive"),
        CATEGORY,
    ),
    "archived_category_on_active_account": (
        [_set("categories", 0, name="Old", archived=True)],
        (INFO, PREPARER, "none"),
        CATEGORY | {"category": "Old"},
    ),
    "category_name_duplicate": (
        [_more("categories", id="c-8"), _more("categories", id="c-9")],
        (WARNING, SERVICE, "none"),
        {"category": "Machines", "of_this_name": 3},
    ),
    "category_without_tax_code": (
        [_set("categories", 0, tax_code_id=None)],
        (INFO, SERVICE, "none"),
        CATEGORY | {"erp_tax": "V19"},
    ),
    "category_tax_code_ambiguous": (
        [_set("categories", 0, tax_code_id="tax-1"), _set("categories", 1, tax_code_id="tax-1")],
        (WARNING, SERVICE, "none"),
        CATEGORY | {"erp_tax": "V19", "first_tax": "V19", "last_tax": "V7"},
    ),
}


def changed(changes):
    rows = world.plain()
    rows["chart_of"] = rows["chart"][:1]
    for change in changes:
        change(rows)
    rows["chart"] += rows.pop("chart_of")[1:]
    return rows


@pytest.mark.parametrize("case", CASES)
def test_each_check_finds_its_facts(case):
    """A check finds what was changed: its severity, who acts, the action, and every value in its place."""
    changes, told, facts = CASES[case]
    rows = reconciled(changed(changes)).table("findings").to_pylist()
    first = next(row for row in rows if row["check"] == case.partition(",")[0])
    assert json.loads(first["facts"]) == facts
    assert (first["severity"], first["who"], first["action"]) == told


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
    rows = reconciled(changed([_set("chart", 0, **{field: chart}), _set("accounts", 0, **{field: service})]))
    [found] = [row for row in rows.table("findings", words("en")).to_pylist() if row["check"] == check]
    values = {True: "true", False: "false"}
    assert [found["erp_value"], found["service_value"]] == [values.get(one, one) for one in (chart, service)]
    words_of = {None: "nothing", True: "archived", False: "active"}
    first, second = (words_of.get(one, one) for one in (chart, service))
    assert 0 <= found["message"].find(first) < found["message"].rfind(second)


def test_each_check_has_a_case():
    """No check is without a case above."""
    assert {case.partition(",")[0] for case in CASES} == {check.code for check in CHECKS}


@pytest.mark.parametrize("check", [code for code in CASES if code.startswith("category_on")])
def test_of_an_archived_category_it_is_an_info(check):
    """No new entry uses an archived category."""
    changes, *_ = CASES[check]
    found = reconciled(changed([*changes, _set("categories", 0, archived=True)])).findings
    assert found.loc[found["check"] == check, "severity"].to_list() == [INFO]


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
        assert words(language).name("role", PREPARER) != PREPARER


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
    ("state", "known"), [("IMPORTED", {"known_since": "2026-10-31"}), ("CREATED", {"none_imported": True})]
)
def test_what_is_not_known_ages_with_the_list(state, known):
    """A missing account is unknown as of the last list; a frame without dates gives no date."""
    rows = changed([_without("accounts")])
    moment = pd.Timestamp("2026-10-31T08:00Z")
    nothing = MACHINES | {"known_since": None, "none_imported": None}
    for dated, expected in ({"updated_at": moment, "state": state}, nothing | known), ({}, nothing):
        found = reconciled(rows, **dated).findings
        facts = found.loc[found["check"] == "missing_in_service", "facts"].to_list()
        assert [json.loads(text) for text in facts] == [expected]


def test_a_list_in_polars_says_when_it_was_imported():
    """The day is known whatever tool the accounts are of; a lazy frame is run once for its rows and dates."""
    rows = changed([_without("accounts")])
    frames = world.frames(rows)
    dated = pl.from_pandas(
        frames["accounts"].assign(updated_at=pd.Timestamp("2026-10-31T08:00Z"), state="IMPORTED")
    )
    runs = []
    lazy = dated.lazy().map_batches(lambda rows: runs.append(1) or rows)
    for accounts in (dated, lazy):
        found = reconcile_accounts(frames["chart"], accounts, frames["categories"]).findings
        assert found["message"].str.contains("last list imported 2026-10-31", regex=False).any()
    assert len(runs) == 1


def test_lost_zeros_are_repaired_not_updated():
    """A code that lost its zeros in the chart's file does not change the right account."""
    result = reconciled(changed([_set("chart", 0, code="400")]))
    assert "code_differs" not in set(result.findings["check"])
    account = result.actions[result.actions["external_id"] == "0400"]
    assert account[["action", "reason"]].to_numpy().tolist() == [["none", "code_lost_zeros"]]
    actions = reconciled(changed([_set("chart", 0, code="400", name="Other")])).actions
    both = actions.set_index("external_id").loc["0400"]
    assert (both["action"], both["facts"]) == ("update", '{"differing":["name"]}')
