"""What a chart and the service ask for: the action of each account, by its content alone."""

import json

import pandas as pd
import pyarrow as pa
import pytest
import reconcile_world as world

from bktools.errors import ArgumentError, InputError
from bktools.frames.columns import with_column
from bktools.reconcile import reconcile_accounts


def frames(**changed):
    """Return the plain world as pandas, with rows of one noun changed by a function of (place, row)."""
    rows = world.plain()
    for noun, change in changed.items():
        rows[noun] = [new for place, row in enumerate(rows[noun]) for new in change(place, dict(row))]
    return world.frames(rows)


def first(**values):
    """Change the first row."""
    return lambda place, row: [row | values] if place == 0 else [row]


def without_first(place, row):
    return [] if place == 0 else [row]


def action(result, external_id):
    """Return (action, code of the reason) of an account."""
    return tuple(result.actions.set_index("external_id").loc[external_id, ["action", "reason"]])


def side_by_side(cases):
    """Reconcile accounts X0, X1, … of one company, each with values of chart and service."""
    rows = world.plain()
    chart, account = rows["chart"][0], rows["accounts"][0]
    for place, (mine, theirs) in enumerate(cases):
        rows["chart"].append({**chart, "external_id": f"X{place}", **mine})
        rows["accounts"].append({**account, "external_id": f"X{place}", "id": f"id-{place}", **theirs})
    return world.reconciled(rows)


def checks(result):
    return result.findings["check"].tolist()


def test_equal_sides_need_nothing():
    """Where both sides say the same there is no finding, and every account's verb is none."""
    result = reconcile_accounts(**frames())
    assert checks(result) == []
    assert result.actions["action"].tolist() == ["none", "none"]
    assert result.coverage["state"].tolist() == ["covered", "covered"]


def test_account_that_may_not_have_arrived_counts_as_not_known():
    """Only created, matched, existing and imported accounts are known."""
    states = ["REJECTED", "UNKNOWN", "PLANNED", "created", "ELSE"]
    result = side_by_side([({}, {"state": state}) for state in states])
    assert [action(result, f"X{place}")[0] for place in range(len(states))] == ["create"] * len(states)


def test_account_that_arrived_is_never_created():
    """An account the service has is not created again, whether or not its id is known."""
    states, silent = (
        ["CREATED", "MATCHED", "EXISTS", "IMPORTED"],
        dict.fromkeys(("id", "name", "code", "archived")),
    )
    result = side_by_side([({}, {"state": state, **more}) for state in states for more in ({}, silent)])
    told = {action(result, f"X{place}") for place in range(8)}
    assert told == {("none", "same")}


def test_archived_flags_decide_archive_and_unarchive():
    """The ERP's flag is the truth; an unknown flag of the service is no difference."""
    verbs = {(True, False): "archive", (False, True): "unarchive"}
    verbs |= dict.fromkeys([(True, True), (False, None), (True, None)], "none")
    result = side_by_side([({"archived": chart}, {"archived": account}) for chart, account in verbs])
    assert [action(result, f"X{place}")[0] for place in range(len(verbs))] == [*verbs.values()]


def test_account_that_left_the_chart_is_archived():
    """An active account that left the chart is to be archived; until then its category is in error."""
    flags = {"active": False, "archived": True, "unknown": None}
    worlds = {name: world.plain() for name in flags}
    for name, rows in worlds.items():
        del rows["chart"][0]
        rows["accounts"][0]["archived"] = flags[name]
    result = world.reconciled(world.side_by_side(worlds))
    verbs = result.actions[result.actions["external_id"] == "0400"].set_index("company_id")["action"]
    assert dict.fromkeys(verbs.index, "none") | {"active company-z": "archive"} == verbs.to_dict()
    assert len(verbs) == len(flags)
    in_error = result.findings[result.findings["check"] == "category_on_account_to_be_archived"]
    assert sorted(in_error["company_id"]) == ["active company-z", "unknown company-z"]


def test_archived_account_of_the_chart_alone_is_created_archived():
    """The chart is mirrored whole: what is archived in the ERP is created as archived."""
    result = reconcile_accounts(
        **frames(chart=first(archived=True), accounts=without_first, categories=without_first)
    )
    assert action(result, "0400") == ("create", "archived_in_chart_alone")
    assert bool(result.actions.set_index("external_id").loc["0400", "archived"])


def test_text_is_compared_to_the_letter():
    """Case, blanks and missing values are differences, with both values in the finding."""
    cases = {"name": "machines", "code": "0400 ", "tax_code_external_id": None}
    result = side_by_side([({}, {field: value}) for field, value in cases.items()])
    for place, (field, value) in enumerate(cases.items()):
        assert action(result, f"X{place}") == ("update", "differs")
        row = result.findings[result.findings["field"] == field].iloc[0]
        assert row["service_value"] == value if value else pd.isna(row["service_value"])


def test_nothing_is_matched_on_name_or_code():
    """An account with another external ID is another account, whatever else is the same."""
    result = reconcile_accounts(**frames(accounts=first(external_id="A-0400")))
    assert action(result, "0400")[0] == "create"
    assert action(result, "A-0400")[0] == "archive"


def test_what_looks_like_an_account_of_the_service_is_left_alone():
    """A code that lost its zeros waits for the file's repair: no account is created or archived."""
    zeros = "leading_zeros_lost", "known_with_zeros", "in_chart_without_zeros"
    alike = "external_id_looks_alike", "known_by_other_spelling", "in_chart_by_other_spelling"
    cases = {
        ("400", "0400"): zeros,
        ("0400", "400"): zeros,
        ("a 1", "A1"): alike,
        ("A1\u00a0", "a1"): alike,
        ("Caf\u00e9", "Cafe\u0301"): alike,
    }
    worlds = {sides: world.plain() for sides in cases}
    for (mine, theirs), rows in worlds.items():
        rows["chart"][0]["external_id"], rows["accounts"][0]["external_id"] = mine, theirs
    result = world.reconciled(world.side_by_side(worlds))
    for (mine, theirs), (check, why_not_created, why_not_archived) in cases.items():
        company = f"{(mine, theirs)} company-z".lower()
        findings, actions, coverage = (
            table[table["company_id"] == company]
            for table in (result.findings, result.actions, result.coverage)
        )
        found = findings.loc[findings["check"] == check, ["severity", "erp_value", "service_value"]]
        assert found.to_numpy().tolist() == [["error", mine, theirs]]
        whys = actions.set_index("external_id")
        assert whys.loc[mine, "reason"] == why_not_created
        assert whys.loc[theirs, "reason"] == why_not_archived
        assert theirs in whys.loc[mine, "why"]
        assert mine in whys.loc[theirs, "why"]
        gone = findings.set_index("check").loc["missing_in_erp_respelled", "facts"]
        assert json.loads(gone)["twin"] == mine
        # An export under it would name an account that the ERP does not have.
        assert "to_be_archived_account" in set(coverage["state"])
        assert "archive" not in set(findings["action"])
        assert "missing_in_service" not in set(findings["check"])
    assert set(result.actions["action"]) == {"none"}


def test_in_what_two_external_ids_differ():
    """The finding says in what two texts differ that look the same, or nearly."""
    cases = [
        ("a1", "A1", ["capitals"]),
        ("A 1", "A1", ["white_space"]),
        ("a 1", "A1", ["white_space", "capitals"]),
        ("Caf\u00e9", "Cafe\u0301", ["accents"]),
        ("caf\u00e9", "Cafe\u0301", ["capitals", "accents"]),
        ("AO1", "A01", ["letter_o"]),
        ("Ao1", "AO1", ["capitals"]),
        ("bo1", "B01", ["capitals", "letter_o"]),
    ]
    sides = [
        ({"external_id": f"{mine}-{place}"}, {"external_id": f"{theirs}-{place}"})
        for place, (mine, theirs, _) in enumerate(cases)
    ]
    findings = side_by_side(sides).findings
    alike = findings[findings["check"] == "external_id_looks_alike"].set_index("erp_value")["facts"]
    for place, (mine, _, differing) in enumerate(cases):
        assert json.loads(alike[f"{mine}-{place}"])["differing"] == differing


def test_account_that_both_sides_have_keeps_nothing_from_being_created():
    """An ERP that has 0400 and 400 means both: only what the service alone has is a likely twin."""
    given = frames()
    more = given["chart"].iloc[:1].assign(external_id="400")
    result = reconcile_accounts(**given | {"chart": pd.concat([given["chart"], more])})
    assert action(result, "400")[0] == "create"


def test_accounts_of_another_company_are_left_alone():
    """A chart of one company says nothing of the accounts of another: none of them is to be archived."""
    given = frames()
    other = given["accounts"].assign(company_id="company-other")
    result = reconcile_accounts(**given | {"accounts": pd.concat([given["accounts"], other])})
    mine = result.actions[result.actions["company_id"] == "company-other"]
    assert set(mine["action"]) == {"none"}
    assert result.findings["check"].tolist() == ["company_without_chart"]


@pytest.mark.parametrize(
    ("state", "found"), [("CREATED", {"code_differs", "tax_code_differs"}), ("IMPORTED", set())]
)
def test_what_an_imported_list_does_not_say_is_unknown(state, found):
    """A list without codes and tax codes says nothing of them; the service says there are none."""
    silent = first(state=state, code=None, tax_code_external_id=None)
    result = reconcile_accounts(**frames(accounts=silent))
    assert {check for check in result.findings["check"] if check.endswith("_differs")} == found


@pytest.mark.parametrize("companies", [1, 2])
def test_a_company_in_capitals_is_the_same(companies):
    """A UUID is the same in capitals, whether one company is compared or several."""
    given = frames()
    expected = reconcile_accounts(**given)
    chart = given["chart"].assign(company_id=given["chart"]["company_id"].str.upper())
    if companies == 2:
        chart = pd.concat([chart, given["chart"].iloc[:1].assign(company_id="company-other")])
    result = reconcile_accounts(**given | {"chart": chart})
    mine = result.actions[result.actions["company_id"] != "company-other"].reset_index(drop=True)
    pd.testing.assert_frame_equal(mine, expected.actions)


def test_chart_without_company_is_of_the_only_one():
    """A chart from an ERP's file has no company; it is that of the accounts and categories."""
    given = frames()
    for chart in (given["chart"].drop(columns="company_id"), given["chart"].assign(company_id=None)):
        result = reconcile_accounts(**given | {"chart": chart})
        assert checks(result) == []
        assert set(result.actions["company_id"]) == {"company-z"}


@pytest.mark.parametrize("companies", [["company-z", "company-y"], None])
def test_chart_without_company_is_refused_where_it_is_not_plain(companies):
    """With several companies, or none, the chart must say its own."""
    given = frames()
    given["chart"] = given["chart"].drop(columns="company_id")
    if companies:
        given["categories"]["company_id"] = companies
    else:
        given = {noun: frame if noun == "chart" else frame.iloc[:0] for noun, frame in given.items()}
    seen = f"{len(companies)} companies" if companies else "no company"
    with pytest.raises(
        ArgumentError,
        match=rf"^chart has rows without a company, and the frames have {seen}: "
        r"add a column company_id to the chart$",
    ):
        reconcile_accounts(**given)


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


def test_missing_column_is_named(engine):
    """A required column that is missing is named with its frame, on every engine."""
    for noun, column in {"chart": "archived", "accounts": "state", "categories": "archived"}.items():
        given = engine.frames(world.tables(world.plain()))
        given[noun] = engine.frame(world.tables(world.plain())[noun].drop_columns(column))
        with pytest.raises(
            InputError, match=f"^{noun}: needs the column {column}: give it as [a-z_]+ returns it$"
        ):
            reconcile_accounts(**given)


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


def test_codes_that_are_numbers_in_a_chart_without_companies():
    """A chart needs no column of companies, and its codes are held to be text all the same."""
    given = frames()
    given["chart"] = given["chart"].drop(columns="company_id").assign(code=400)
    with pytest.raises(InputError, match="column code must be text"):
        reconcile_accounts(**given)


def test_callers_frames_are_not_changed_and_may_have_more_columns():
    """What was handed in is as it was, extra columns and all."""
    given = {
        noun: frame.assign(more=1, line="no number") for noun, frame in frames(accounts=without_first).items()
    }
    before = {noun: frame.copy(deep=True) for noun, frame in given.items()}
    assert len(reconcile_accounts(**given).findings) > 0
    for noun, frame in given.items():
        pd.testing.assert_frame_equal(frame, before[noun])


def test_a_missing_frame_is_refused():
    """None is no empty frame."""
    with pytest.raises(
        ArgumentError, match=r"^accounts must be a frame: give an empty one if there are no rows$"
    ):
        reconcile_accounts(**frames() | {"accounts": None})


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
