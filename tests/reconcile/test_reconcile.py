"""The frames of a reconciliation, and its tables."""

import json
import pickle

import pandas as pd
import pyarrow as pa
import pytest
import reconcile_world as world

from bktools.errors import ArgumentError, InputError
from bktools.frames.tables import with_column
from bktools.reconcile import reconcile_accounts


def frames():
    return world.frames(world.plain())


def checks(result):
    return result.findings["check"].tolist()


@pytest.mark.parametrize("several", [True, False])
def test_a_chart_without_a_company_beside_several_or_none(several):
    """The chart must say its company then."""
    given = frames()
    chart = given["chart"].drop(columns="company_id")
    if several:
        given["categories"]["company_id"] = ["company-z", "company-y"]
    else:
        given = {noun: frame.head(0) for noun, frame in given.items()}
    seen = "2 companies" if several else "0 companies"
    with pytest.raises(
        ArgumentError, match=f"^chart has rows without a company, and the frames have {seen}: add"
    ):
        reconcile_accounts(**given | {"chart": chart})


def test_chart_without_company_is_of_the_only_one():
    """A chart from an ERP's file has no company; it is that of the accounts and categories."""
    given = frames()
    for chart in (given["chart"].drop(columns="company_id"), given["chart"].assign(company_id=None)):
        result = reconcile_accounts(**given | {"chart": chart})
        assert checks(result) == []
        assert set(result.actions["company_id"]) == {"company-z"}


def test_what_was_not_given_is_not_compared():
    """A chart without tax codes does not make every tax code of the service a difference."""
    given = frames()
    whole = given["chart"]
    given["chart"] = whole.drop(columns="tax_code_external_id")
    assert checks(reconcile_accounts(**given)) == []
    # A chart that was read from a file has the column, and says which ones the file had.
    given["chart"] = whole.assign(tax_code_external_id=None)
    assert checks(reconcile_accounts(**given)) != []
    given["chart"].attrs["bktools"] = {"columns": {"code": "Account", "name": "Name"}}
    assert checks(reconcile_accounts(**given)) == []


@pytest.mark.parametrize(
    ("noun", "column", "value", "message"),
    [
        (
            "chart",
            "code",
            400,
            "chart: column code must be text, is int64 (a number has lost its leading zeros)",
        ),
        ("chart", "archived", "no", "chart: column archived must be true or false, is text"),
        ("categories", "archived", None, "categories: column archived is empty in 2 rows: fill it"),
        ("accounts", "company_id", None, "accounts: column company_id is empty in 2 rows: fill it"),
    ],
)
def test_column_that_cannot_be_taken_is_refused(noun, column, value, message):
    """Numbers for codes, words for flags and gaps are refused with one line."""
    given = frames()
    given[noun] = given[noun].assign(**{column: value})
    with pytest.raises(InputError) as caught:
        reconcile_accounts(**given)
    assert str(caught.value) == message


def test_callers_frames_are_not_changed_and_may_have_more_columns():
    """What was handed in is as it was, extra columns and all."""
    given = {
        noun: frame.assign(more=1, line="no number")
        for noun, frame in world.frames(world.changed("accounts 0 gone")).items()
    }
    before = {noun: frame.copy(deep=True) for noun, frame in given.items()}
    assert len(reconcile_accounts(**given).findings) > 0
    for noun, frame in given.items():
        pd.testing.assert_frame_equal(frame, before[noun])


@pytest.mark.parametrize(
    "columns", [pa.null(), pa.dictionary(pa.int8(), pa.string()), pa.string_view(), pa.uuid()]
)
def test_text_of_every_kind_is_text(columns):
    """Columns of nulls alone, categories, views and UUIDs are compared as the text that they are."""
    given = world.tables(world.plain())
    empty = pa.nulls(2, columns)
    given = {noun: with_column(table, "name", empty) for noun, table in given.items()}
    result = reconcile_accounts(**given)
    assert set(result.findings["check"]) == {"name_missing"}


def test_unused_accounts_are_counted_for_each_company_and_listed_when_asked():
    """A thousand accounts without a category are one finding a company, which says where the list is."""
    rows = world.plain()
    account = rows["accounts"][0]
    more = [account | {"external_id": f"9{n:03}", "id": f"id-{n:03}"} for n in range(1000)]
    rows["accounts"] += [*more, more[0] | {"company_id": "company-y"}]
    rows["categories"].append(rows["categories"][0] | {"company_id": "company-y", "account_id": None})
    result = world.reconciled(rows)
    found = result.findings[result.findings["check"] == "account_unused"]
    counts = [(*json.loads(facts).values(),) for facts in found["facts"]]
    assert counts == [("company-y", 1), ("company-z", 1000)]
    assert found["message"].str.contains("unused_accounts").all()
    assert found["external_id"].isna().all()
    listed = result.unused_accounts
    assert list(listed) == ["company_id", "external_id", "account_id", "code", "name"]
    assert listed["external_id"].tolist() == ["9000", *[row["external_id"] for row in more]]


@pytest.mark.parametrize("empty", ["chart", "accounts", "categories"])
def test_one_empty_frame(empty):
    """Without a chart nothing is compared and nothing archived; without accounts all is created."""
    result = world.reconciled(world.plain() | {empty: []})
    expected = {
        "chart": ({"company_without_chart"}, {"none"}, 2),
        "accounts": ({"missing_in_service", "category_on_unknown_account"}, {"create"}, 0),
        "categories": (set(), {"none"}, 0),
    }
    covered = int((result.coverage["state"] == "covered").sum())
    assert ({*checks(result)}, {*result.actions["action"]}, covered) == expected[empty]


def test_every_text_comes_back_to_the_letter():
    """Quotes, line breaks, emoji, right-to-left text and formulas of a chart stay."""
    rows = world.plain()
    rows["chart"] = [rows["chart"][0] | dict.fromkeys(("external_id", "name"), text) for text in world.NASTY]
    actions = world.reconciled(rows).actions
    assert {*actions.loc[actions["action"] == "create", "name"]} == {*world.NASTY}


def test_it_can_be_pickled():
    """Another process gets every table, the actions too, whether they were computed before or not."""
    result = world.reconciled(world.seeded(1, 40))
    for _ in range(2):
        again = pickle.loads(pickle.dumps(result))
        for name in ("findings", "coverage", "actions", "unused_accounts", "suggestions"):
            pd.testing.assert_frame_equal(getattr(again, name), getattr(result, name))
        assert repr(again) == repr(result)
