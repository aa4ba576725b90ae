"""What a close asks of people: one action for a step, with the things that it concerns and their money."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from step_results import actions_and_roles, entries_of, finding, made, of_account, of_category

import bktools
from bktools.close.actions import CATEGORY, ENTRY, UNKNOWN
from bktools.close.sentences import detail_of, name_of, step_of
from bktools.findings.check import EMPLOYEE, ERP, PREPARER, SERVICE
from bktools.frames.sums import Money
from bktools.sandbox.faults import Fault
from bktools.wording import words

ENGLISH, GERMAN = words("en"), words("de")


def test_like_steps_are_one_action_with_the_most_money_first():
    """Three categories without an account are one action, each with its money, the largest first."""
    entries = entries_of(
        {"money": "5.00"}, {"money": "70.00"}, {"money": "2.50"}, {"money": "9.00", "currency": "CHF"}
    )
    owners = ["small", "large", "small", "large"]
    findings = [
        finding("no_account", number, category_id=f"id of {name}") for number, name in enumerate(owners)
    ]
    categories = [of_category("category_without_account", name) for name in ("small", "large")]
    [action] = made(entries, findings=findings, accounts=categories)
    assert [(thing.name["name"], thing.entries, thing.amounts) for thing in action.things] == [
        ("large", 2, {"EUR": Decimal("70.00"), "CHF": Decimal("9.00")}),
        ("small", 2, {"EUR": Decimal("7.50")}),
    ]
    assert (action.entries, action.amounts) == (4, {"EUR": Decimal("77.50"), "CHF": Decimal("9.00")})
    assert action.category_ids == ("id of large", "id of small")
    assert step_of(ENGLISH, action) == (
        ENGLISH.name("role", SERVICE),
        "Give 2 categories an account in the service",
        "large (2 entries, EUR 70.00, CHF 9.00); small (2 entries, EUR 7.50)",
        "The categories have no account",
    )
    assert step_of(GERMAN, action).to_do == "2 Kategorien im Dienst ein Konto zuordnen"


def test_an_entry_is_named_with_the_amount_of_all_its_lines():
    """A finding of one line of a split entry names what waits for it: the whole entry."""
    lines = [
        {"id": "entry 0", "split_line": line, "money": money} for line, money in ((1, "9.00"), (2, "4.50"))
    ]
    row = finding("unusual_amount", 0, severity="warning", amount=Decimal("9.00"), currency="EUR")
    [action] = made(entries_of(*lines), findings=[row])
    assert (name_of(ENGLISH, action.things[0]), action.amounts) == ("EUR 13.50", {"EUR": Decimal("13.50")})


def test_a_changed_entry_is_named_with_what_changed():
    """A change of another fact than the amount stands beside it."""
    change = {"field": "category", "currency": "EUR", "before": ["Travel"], "after": ["Train"]}
    change |= {"before_categories": None, "after_categories": None}
    row = finding("changed_since_export", 0, facts=json.dumps({"changes": [change]}), currency="EUR")
    [action] = made(entries_of({"fate": "exported_before"}), findings=[row])
    assert name_of(ENGLISH, action.things[0]) == "EUR 1.00, category Travel → Train"


def test_what_no_entry_waits_for_stands_apart_and_last():
    """A category that no entry of the month has is another action, after all that entries wait for."""
    categories = [of_category("category_without_account", name) for name in ("used", "unused")]
    findings = [finding("no_account", 0, category_id="id of used"), finding("not_approved", 1)]
    actions = made(entries_of({}, {}), findings=findings, accounts=categories)
    assert [(action.code, action.is_apart, len(action.things)) for action in actions] == [
        ("no_account", False, 1),
        ("not_approved", False, 1),
        ("no_account", True, 1),
    ]


def test_an_unknown_category_is_named_as_the_file_names_it():
    """An unknown value is shown as in the file; an ID alone names no category, so its entry is shown."""
    identifier = "11aeb92f-966b-43f9-8823-f626c74dbe68"
    findings = [
        finding("unknown_category", 0, category_id="Reisekosten Inlnd", category_name="Reisekosten Inlnd"),
        finding("unknown_category", 1, category_id=identifier, category_name=None, supplier="ACME"),
    ]
    [action] = made(entries_of({}, {}), findings=findings)
    assert [name_of(ENGLISH, thing) for thing in action.things] == ["ACME", "Reisekosten Inlnd"]
    assert [thing.kind for thing in action.things] == [ENTRY, CATEGORY]
    assert step_of(ENGLISH, action).to_do == "Choose other categories for 2 entries in the service"


def test_facts_that_a_sentence_names_are_the_same_for_its_things():
    """Entries of two unknown currencies are two actions; what differs between things is told beside each."""
    findings = [
        finding("unknown_currency", n, facts=json.dumps({"currency": code})) for n, code in enumerate("XYX")
    ]
    twin = {"who": EMPLOYEE, "employee_name": "Ada", "severity": "warning"}
    same = [{"party_kind": "supplier", "same_lines": [line], "same_count": 1} for line in (7, 8)]
    twins = [finding("suspected_duplicate", n, **twin, facts=json.dumps(same[n])) for n in range(2)]
    actions = made(entries_of({}, {}, {}), findings=[*findings, *twins])
    assert [(action.code, action.facts, action.entries) for action in actions] == [
        ("unknown_currency", {"currency": "X"}, 2),
        ("unknown_currency", {"currency": "Y"}, 1),
        ("suspected_duplicate", {"person": "Ada"}, 2),
    ]
    assert step_of(ENGLISH, actions[2]).who == "employee (Ada)"
    details = [detail_of(ENGLISH, actions[2], thing) for thing in actions[2].things]
    assert ["line 7" in details[0], "line 8" in details[1]] == [True, True]
    assert detail_of(ENGLISH, actions[0], actions[0].things[0]) == ""


def test_a_split_entry_counts_once_and_an_entry_without_id_by_its_line():
    """The lines of one entry are one thing with its whole amount; a file's line stands for an ID."""
    entries = entries_of(
        {"id": "split", "split_line": 1, "money": "2.00"},
        {"id": "split", "split_line": 2, "money": "3.00"},
        {"id": None},
        {"id": None},
    )
    findings = [finding("not_approved", 0, id="split"), finding("not_approved", 1, id="split")]
    findings += [finding("no_service_id", line, id=None, who=PREPARER) for line in (2, 3)]
    split, without = made(entries, findings=findings)
    assert (split.entries, split.amounts, len(split.things)) == (1, {"EUR": Decimal("5.00")}, 1)
    assert (without.entries, without.entry_ids, without.amounts) == (2, (), {"EUR": Decimal("2.00")})
    assert [name_of(ENGLISH, thing) for thing in without.things] == ["line 2", "line 3"]


def test_the_differences_of_an_account_are_one_thing():
    """Name and tax code of one account differ: one step with both, as severe as the worse of them."""
    name = {"about": "0400 Bank", "field": "name", "erp_value": "Bank", "service_value": "Bnk"}
    tax = {"severity": "error", "field": "tax_code_external_id", "erp_value": "V19"}
    accounts = [of_account("name_differs", "0400", **name), of_account("tax_code_differs", "0400", **tax)]
    [action] = made(entries_of(), accounts=accounts)
    assert (action.code, action.severity, action.is_apart) == ("update_account", "error", True)
    assert step_of(ENGLISH, action)[1:] == (
        "Update the account in the service",
        "0400 Bank",
        f"It differs from the chart: name Bnk → Bank, tax code {ENGLISH('part.nothing')} → V19",
    )
    assert action.ids == {"external_id": "0400"}


def test_a_job_in_doubt_comes_first_with_what_waits_for_it():
    """The job's entries and those of later jobs wait for one action with the settling command."""
    entries = entries_of(
        {"batch_id": "b1", "fate": "in_doubt"}, {"reason": "blocked", "fate": "ready"}, {"money": "99"}
    )
    (first, _), roles = actions_and_roles(
        entries, findings=[finding("not_approved", 2)], unknown_outcomes={"b1": "bktools export resolve b1"}
    )
    assert (first.code, first.entries, first.ids) == ("in_doubt", 2, {"batch_id": "b1"})
    assert first.command == "bktools export resolve b1"
    told = step_of(ENGLISH, first)
    assert told.about == "Export job of 1 entry"
    assert "1 entry of later export jobs" in told.why
    assert [(line["role"], line["errors"], line.money["EUR"]) for line in roles] == [
        (SERVICE, 1, Money(1, Decimal("99.00"))),
        (PREPARER, 1, Money(2, Decimal("2.00"))),
    ]


def test_the_account_list_is_imported_once():
    """Categories on unknown accounts and accounts without ID are one action, an error for entries."""
    findings = [finding(UNKNOWN, 0, category_id="id of Travel", category_name="Travel", who=PREPARER)]
    accounts = [
        of_category("category_on_unknown_account", "Travel", who=PREPARER),
        of_account("account_id_unknown", "0400", who=PREPARER),
    ]
    [action] = made(entries_of({}), findings=findings, accounts=accounts)
    assert (action.code, action.severity, action.entries) == ("unknown_account", "error", 1)
    assert [name_of(ENGLISH, thing) for thing in action.things] == ["Travel", "0400"]
    assert action.command == "bktools accounts import FILE"


def test_the_command_of_a_step_has_the_ids_of_its_entries():
    """A person who looked up two entries pastes one command."""
    findings = [finding("maybe_booked", place, who=PREPARER) for place in (0, 1)]
    [action] = made(entries_of({}, {}), findings=findings)
    assert action.command == "bktools export not-booked entry 0 entry 1"


def test_an_account_that_was_refused_is_corrected_in_the_chart(sandbox, closed):
    """When the service refuses an account, the close goes on and names it, the refusal and who acts."""
    sandbox.server.inject(Fault("error", "create_account", times=1, status=422))
    close = closed(apply=True)
    [refused] = [row for row in close.run.created if row["outcome"] == "REJECTED"]
    [action] = [action for action in close.actions if action.code == "account_refused"]
    step = step_of(close.words, action)
    assert (action.severity, action.role) == ("error", ERP)
    assert action.ids == {"external_id": refused["external_id"]}
    assert step.about == f"{refused['code']} {refused['name']}"
    assert step.to_do == ENGLISH("step.account_refused.do")
    assert refused["message"] in step.why
    assert close.run.is_incomplete
    assert "account_refused" not in {action.code for action in closed(apply=True).actions}


def test_a_role_with_warnings_alone_has_its_entries():
    """Who has to act for a warning has its entries, each once; nothing of a held-back one is booked yet."""
    entries = entries_of({"fate": "exported", "money": "7"}, {"fate": "exported", "money": "9"}, {})
    facts = json.dumps({"day": "2026-09-01", "period": "2026-10"})
    warnings = [
        finding("earlier_period", row, severity="warning", who=ERP, facts=facts) for row in (0, 1, 1, 2)
    ]
    _, [accountant] = actions_and_roles(entries, findings=warnings)
    assert accountant.keys == {"role": ERP, "errors": 0, "warnings": 1}
    assert accountant.money == {"EUR": Money(2, Decimal("16.00"))}


@pytest.mark.parametrize("are_known", [False, True], ids=["created by apply", "known before"])
def test_a_dry_run_holds_back_what_no_known_account_has(service, closed, are_known):
    """Apply sends what the plan calls ready; of what waits for accounts, only the service's answers tell."""
    if are_known:
        bktools.create_accounts(closed().before, apply=True, service=service)
    planned, applied = closed(), closed(apply=True)
    before, after = (run.figures.by("fate") for run in (planned, applied))
    ready, sent = ({part["fate"]: part.entries for part in run} for run in (before, after))
    waiting = [action for action in planned.actions if action.code == UNKNOWN and action.entries]
    assert ready.get("ready", 0) + sum(action.entries for action in waiting) >= sent["exported"]
    assert (ready.get("ready", 0) == sent["exported"]) == are_known
    created = {action.facts["planned"] for action in waiting}
    assert created == {None if are_known else len(planned.run.created)}


def test_entries_on_an_account_that_left_the_chart_are_named():
    """The error about their category has them and their amount, also those that were sent."""
    entries = entries_of(
        *(
            {"fate": fate, "category_id": "id of EDV"}
            for fate in ("held_back", "exported", "exported_before")
        ),
        {"fate": "ready", "category_id": "id of Travel"},
    )
    [action] = made(entries, accounts=[of_category("category_on_account_to_be_archived", "EDV")])
    assert (action.entries, action.amounts, action.is_apart) == (2, {"EUR": Decimal(2)}, False)
