"""What is to be done after a close: each step once, with its things, their money, and who does it.

Actions are facts: `sentences.py` makes the words of them in a language, `waiting.py` counts their entries.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from bktools.close.entries import BLOCKED, CHANGED, OF_REASON, PLANNED_ACCOUNT
from bktools.close.waiting import WITHOUT_STEPS, WaitingEntries, key_of
from bktools.export.checks import HELD_TOGETHER
from bktools.findings.check import (
    EMPLOYEE,
    ERP,
    ERROR,
    PREPARER,
    ROLES,
    SERVICE,
    WARNING,
)
from bktools.frames.sums import Money, Valued, largest_first

SEVERITIES = (ERROR, WARNING)
# The sections of the wording that have the sentences of an action.
OF_ENTRIES, OF_ACCOUNTS, OF_STEPS = "entry", "account", "step"
# The kinds of things that an action concerns.
ENTRY, CATEGORY, ACCOUNT, EXPORT_JOB = "entry", "category", "account", "export_job"

# The states of a category whose account a person has to choose.
NEED_ACCOUNT = ("no_account", "archived_account", "to_be_archived_account")
UNKNOWN = "unknown_account"
# Checks of entries whose cause is their category, and those that another action solves.
OF_A_CATEGORY = ("archived_category", "unknown_category", "category_of_other_company")
SOLVED_BY_OTHERS = (*NEED_ACCOUNT, UNKNOWN, "exported", "in_doubt")
# Checks of accounts that become one action, and those that another action solves.
OF_UNKNOWN = ("category_on_unknown_account", "account_id_unknown")
UPDATES = ("name_differs", "code_differs", "tax_code_differs")
OF_OTHER_STEPS = (
    *OF_UNKNOWN,
    "category_without_account",
    "category_on_archived_account",
    "category_on_account_to_be_archived",
    "missing_in_service",
)

# The outcomes of the export jobs and accounts of a run that ask for a step: its code, and who does it.
OF_JOB_OUTCOMES = {
    "REJECTED": "job_refused",
    "BLOCKED": "job_blocked",
    "PLANNED": "job_not_sent",
    "SENDING": "job_being_sent",
}
OF_ACCOUNT_OUTCOMES = {"REJECTED": ("account_refused", ERP), "UNKNOWN": ("account_in_doubt", PREPARER)}

# Errors and warnings of one code are one step. Where they differ in these facts, they are several: the
# entries of an unknown currency need another look than those of another one.
APART_BY: Mapping[str, tuple[str, ...]] = {
    "unknown_currency": ("currency",),
    "foreign_currency": ("currency", "own_currency"),
    "earlier_period": ("period",),
    "closed_period": ("period",),
    "refused": ("answer",),
    "in_doubt": ("waiting",),
    "planned_accounts": ("accounts",),
}
IDS = ("category_id", "account_id", "external_id", "entry_id", "batch_id")
FIRST = ("in_doubt", CHANGED)

Rows = Sequence[Mapping[str, Any]]
Facts = Mapping[str, Any]


@dataclass(frozen=True)
class Thing(Valued):
    """One thing that an action concerns.

    Parameters
    ----------
    kind : str
        ENTRY, CATEGORY, ACCOUNT or EXPORT_JOB.
    name : mapping
        What its name is made from: the `name` of a category or account; of an entry its day, party, amount,
        currency and line; of an export job its entries.
    ids : mapping of str to str
        Its identifiers, by the names `IDS`; `account_id` is the account at present.
    facts : mapping
        What is known of it alone.
    money : mapping of str to Money
        The entries that wait for it: number and exact amount by currency.
    entry_ids : tuple of str
        Those entries.
    """

    kind: str
    name: Facts
    ids: Mapping[str, str]
    facts: Facts = field(default_factory=dict)
    money: Mapping[str, Money] = field(default_factory=dict)
    entry_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Action(Valued):
    """One step that a person takes, with all things that it concerns.

    Parameters
    ----------
    section, code : str
        The section of the wording, and the code of the check, state or outcome that asks for the step.
    severity : str
        error: entries wait for it, or will; warning: somebody should look.
    role : str
        Who does it, one of `findings.check.ROLES`.
    facts : mapping
        What is known of all its things; `person` is the employee by name, where the entries name one.
    things : tuple of Thing
        What it concerns, most money first.
    money : mapping of str to Money
        The entries that wait for it: number and exact amount by currency.
    entry_ids : tuple of str
        Those entries.
    command : str
        The command to copy, "" for none.
    counted_elsewhere : int
        How many of those entries the figures count at another reason, which is an earlier error of theirs.
    """

    section: str
    code: str
    severity: str
    role: str
    facts: Facts = field(default_factory=dict)
    things: tuple[Thing, ...] = ()
    money: Mapping[str, Money] = field(default_factory=dict)
    entry_ids: tuple[str, ...] = ()
    command: str = ""
    counted_elsewhere: int = 0

    @property
    def key(self) -> str:
        """The key of its sentences."""
        return f"{self.section}.{self.code}"

    @property
    def person(self) -> str:
        """The employee by name, "" where the entries name none."""
        return str(self.facts.get("person", ""))

    @property
    def ids(self) -> Mapping[str, str]:
        """The identifiers of its only thing."""
        return self.things[0].ids if len(self.things) == 1 else {}

    @property
    def category_ids(self) -> tuple[str, ...]:
        """The categories that it concerns."""
        return tuple(thing.ids["category_id"] for thing in self.things if thing.kind == CATEGORY)

    @property
    def is_apart(self) -> bool:
        """Whether it has no effect on this month."""
        return not self.entries

    @property
    def wants_account(self) -> bool:
        """Whether a person answers it with an account for each category."""
        return self.section == OF_STEPS and self.code in NEED_ACCOUNT


@dataclass(frozen=True)
class RoleTotals(Valued):
    """The errors and warnings of one role, and the entries that they concern."""

    role: str
    errors: int
    warnings: int
    money: Mapping[str, Money]


@dataclass(frozen=True)
class _Case:
    """One thing that asks for a step; cases with the same step become one action. It may have no thing."""

    section: str
    code: str
    severity: str
    role: str
    facts: Facts
    thing: Thing | None = None
    keys: tuple[Any, ...] = ()
    command: str = ""
    person: str = ""


@dataclass(frozen=True, eq=False)
class StepResults:
    """What the steps of a close found; actions are made from it.

    Parameters
    ----------
    entries : pyarrow.Table
        The month's entries, each with its fate.
    findings, accounts : rows
        Errors and warnings of entries; of accounts and categories.
    coverage : rows
        The categories with the state of their accounts.
    jobs, created : rows
        The outcomes of this run's export jobs and accounts; of a dry run no jobs.
    unknown_outcomes : mapping of str to str
        The command that resolves each batch whose outcome is unknown.
    own : str, optional
        The company's own currency.
    import_accounts : str
        The command that imports the account list.
    """

    entries: pa.Table
    findings: Rows
    coverage: Rows
    accounts: Rows
    jobs: Rows
    created: Rows
    unknown_outcomes: Mapping[str, str]
    own: str | None
    import_accounts: str

    @cached_property
    def waiting(self) -> WaitingEntries:
        """The entries by their keys, with their money."""
        return WaitingEntries(self.entries, self.own)

    @cached_property
    def category_names(self) -> Mapping[str, str]:
        """The names of the service's categories."""
        return {row["category_id"]: row["name"] for row in self.coverage}


def actions_of(results: StepResults) -> tuple[Action, ...]:
    """Return the actions: in doubt first, then by the money they free, then those nothing waits for."""
    makers = (_of_jobs, _of_categories, _of_entries, _of_accounts, _of_findings)
    cases = [case for make in makers for case in make(results)]
    return tuple(sorted(_grouped(results, cases), key=lambda action: _urgency(action, results.own)))


def totals_by_role(results: StepResults, actions: Sequence[Action]) -> tuple[RoleTotals, ...]:
    """Return the steps of each role with something to do, and the entries that they concern, each once."""
    totals = []
    for role in ROLES:
        own = [action for action in actions if action.role == role]
        errors = [action for action in own if action.severity == ERROR]
        money, _ = results.waiting.money(entry for action in own for entry in action.entry_ids)
        totals += [RoleTotals(role, len(errors), len(own) - len(errors), money)] if own else []
    return tuple(totals)


def _urgency(action: Action, own: str | None) -> tuple[Any, ...]:
    # First what may be booked, then what is booked otherwise than the service says.
    first = FIRST.index(action.code) if action.code in FIRST else len(FIRST)
    return (first, action.is_apart, SEVERITIES.index(action.severity), *largest_first(action.money, own))


def _grouped(results: StepResults, cases: Iterable[_Case]) -> Iterator[Action]:
    """Yield an action for all cases that have one step and one cause."""
    groups: dict[tuple[Any, ...], list[_Case]] = defaultdict(list)
    for case in cases:
        cause = [(name, case.facts.get(name)) for name in APART_BY.get(case.code, ())]
        cause += [("person", case.person)] if case.person else []
        # A category without an account stands apart until an entry of a month has it.
        is_used = bool(results.waiting.money(case.keys)[0]) if case.code in NEED_ACCOUNT else None
        step = (case.section, case.code, case.severity, case.role, case.command, is_used)
        groups[*step, tuple(cause)].append(case)
    for (section, code, severity, role, command, _, cause), group in groups.items():
        things = sorted(_things(results, group), key=lambda thing: largest_first(thing.money, results.own))
        keys = [key for case in group for key in case.keys]
        money, ids = results.waiting.money(keys)
        facts = dict(cause) | (results.waiting.change(keys) if code == CHANGED else {})
        elsewhere = results.waiting.counted_elsewhere(keys, code)
        yield Action(section, code, severity, role, facts, tuple(things), money, ids, command, elsewhere)


def _things(results: StepResults, cases: Iterable[_Case]) -> Iterator[Thing]:
    """Yield each thing of some cases once, with the entries that wait for it."""
    of_things: dict[Any, list[tuple[Thing, _Case]]] = defaultdict(list)
    for case in cases:
        if case.thing is not None:
            identity = case.thing.ids or case.thing.name
            of_things[case.thing.kind, tuple(identity.items())].append((case.thing, case))
    for group in of_things.values():
        money, ids = results.waiting.money(key for _, case in group for key in case.keys)
        thing, first = group[0]
        yield replace(thing, facts=first.facts, money=money, entry_ids=ids)


def _of_jobs(results: StepResults) -> Iterator[_Case]:
    later = results.waiting.keys_with("reason", BLOCKED)
    for batch, command in results.unknown_outcomes.items():
        own = results.waiting.keys_with("batch_id", batch)
        job = Thing(EXPORT_JOB, {"entries": len(own)}, {"batch_id": batch})
        facts = {"waiting": len(later) or None}
        yield _Case(OF_STEPS, "in_doubt", ERROR, PREPARER, facts, job, (*own, *later), command)
    for row in results.jobs:
        batch, outcome = row["batch_id"], row["outcome"]
        is_listed = batch in results.unknown_outcomes or (outcome == "BLOCKED" and results.unknown_outcomes)
        if outcome in OF_JOB_OUTCOMES and not is_listed:
            job = Thing(EXPORT_JOB, {"entries": row["entries"]}, {"batch_id": batch})
            facts = {"answer": row["message"] or None}
            keys = results.waiting.keys_with("batch_id", batch)
            yield _Case(OF_STEPS, OF_JOB_OUTCOMES[outcome], ERROR, PREPARER, facts, job, keys)


def _of_categories(results: StepResults) -> Iterator[_Case]:
    """Yield a case for each category whose account a person has to choose."""
    entries = defaultdict(list)
    for row in _severe(results.findings):
        if row["check"] in NEED_ACCOUNT:
            entries[row["category_id"]].append(key_of(row))
    for row in results.coverage:
        # An archived category is no longer used: its entries get another one.
        if row["state"] in NEED_ACCOUNT and not row["archived"]:
            account = " ".join(filter(None, (row["external_id"], row["account_name"]))) or None
            ids = {name: row[name] for name in ("category_id", "account_id") if row[name]}
            category = Thing(CATEGORY, {"name": row["name"] or row["category_id"]}, ids)
            keys = tuple(entries[row["category_id"]])
            yield _Case(OF_STEPS, row["state"], ERROR, SERVICE, {"account": account}, category, keys)


def _of_entries(results: StepResults) -> Iterator[_Case]:
    """Yield a case for each entry to correct, or for its category where the category is the cause."""
    for row in _severe(results.findings):
        check = row["check"]
        if check in SOLVED_BY_OTHERS or OF_REASON.get(check) in WITHOUT_STEPS:
            continue
        if check == HELD_TOGETHER and check not in results.waiting.reasons_of(key_of(row)):
            continue  # The error of the other line is the step.
        person = (row.get("employee_name") or "") if row["who"] == EMPLOYEE else ""
        of_category = check in OF_A_CATEGORY
        section = OF_STEPS if of_category else OF_ENTRIES
        # A person finds an entry, and no category by an ID alone.
        thing = _category(results, row) if of_category and _category_name(results, row) else _entry(row)
        thing = _with_amounts(results, row, thing) if check == CHANGED else thing
        facts = {} if of_category else json.loads(row["facts"])
        yield _Case(section, check, row["severity"], row["who"], facts, thing, (key_of(row),), person=person)


def _of_accounts(results: StepResults) -> Iterator[_Case]:
    planned = [row for row in results.created if row["outcome"] == "PLANNED"]
    unknown = [row for row in _severe(results.accounts) if row["check"] in OF_UNKNOWN]
    if planned:
        facts = {"accounts": len(planned)}
        keys = results.waiting.keys_with("reason", PLANNED_ACCOUNT)
        yield _Case(OF_STEPS, "planned_accounts", ERROR, PREPARER, facts, None, keys)
    elif unknown:
        entries = [row for row in _severe(results.findings) if row["check"] == UNKNOWN]
        things: list[tuple[Thing, tuple[Any, ...]]] = [
            (_category(results, row), (key_of(row),)) for row in entries
        ]
        things += [(_category(results, row) if row["category_id"] else _account(row), ()) for row in unknown]
        is_error = any(thing.kind == CATEGORY for thing, _ in things)
        for thing, keys in things:
            severity = ERROR if is_error else WARNING
            yield _Case(OF_STEPS, UNKNOWN, severity, PREPARER, {}, thing, keys, results.import_accounts)
    for row in results.created:
        if row["outcome"] in OF_ACCOUNT_OUTCOMES:
            code, role = OF_ACCOUNT_OUTCOMES[row["outcome"]]
            name = " ".join(filter(None, (row["code"] or row["external_id"], row["name"])))
            account = Thing(ACCOUNT, {"name": name}, {"external_id": row["external_id"]})
            yield _Case(OF_STEPS, code, ERROR, role, {"answer": row["message"] or None}, account)


def _of_findings(results: StepResults) -> Iterator[_Case]:
    """Yield a case for each other finding of accounts and categories, one for all of an account."""
    differences: dict[Any, list[Mapping[str, Any]]] = defaultdict(list)
    for row in _severe(results.accounts):
        if row["check"] in UPDATES:
            differences[row["external_id"]].append(row)
        elif row["check"] not in OF_OTHER_STEPS:
            of_category, of_account = row["category_id"], row["external_id"] or row["account_id"]
            thing = _category(results, row) if of_category else _account(row) if of_account else None
            yield _Case(
                OF_ACCOUNTS, row["check"], row["severity"], row["who"], json.loads(row["facts"]), thing
            )
    for rows in differences.values():
        severity = min((row["severity"] for row in rows), key=SEVERITIES.index)
        changes = [_change(row) for row in rows]
        account = _account(rows[0])
        yield _Case(OF_STEPS, "update_account", severity, rows[0]["who"], {"changes": changes}, account)


def _category(results: StepResults, row: Mapping[str, Any]) -> Thing:
    """Return the category of a finding; an unknown one is named as the file names it."""
    category = row["category_id"]
    return Thing(CATEGORY, {"name": _category_name(results, row) or category}, {"category_id": category})


def _category_name(results: StepResults, row: Mapping[str, Any]) -> str | None:
    return results.category_names.get(row["category_id"]) or row.get("category_name")


def _account(row: Mapping[str, Any]) -> Thing:
    ids = {name: row[name] for name in ("external_id", "account_id") if row[name]}
    return Thing(ACCOUNT, {"name": row["about"] or row["external_id"] or row["account_id"]}, ids)


def _severe(rows: Rows) -> list[Mapping[str, Any]]:
    return [row for row in rows if row["severity"] in SEVERITIES]


def _entry(row: Mapping[str, Any]) -> Thing:
    name = {
        "day": row.get("date"),
        "party": row.get("supplier") or row.get("description"),
        "amount": row.get("amount"),
        "currency": row.get("currency"),
        "line": row.get("line"),
    }
    return Thing(ENTRY, name, {"entry_id": row["id"]} if row["id"] else {})


def _with_amounts(results: StepResults, row: Mapping[str, Any], thing: Thing) -> Thing:
    """Return a changed entry with its amount as it was sent, and as it is now."""
    change = results.waiting.change([key_of(row)])
    currency, amount = next(iter(change["sent"].items()), (thing.name["currency"], None))
    about = {"amount": amount, "currency": currency, "sent": change["sent"], "now": change["now"]}
    return replace(thing, name={**thing.name, **about})


def _change(row: Mapping[str, Any]) -> dict[str, Any]:
    before, after = ([value] if value else [] for value in (row["service_value"], row["erp_value"]))
    return {"field": row["field"], "before": before, "after": after, "currency": None}
