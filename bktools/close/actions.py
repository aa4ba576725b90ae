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

from bktools.close.entries import BLOCKED, CHANGED, OF_REASON
from bktools.close.waiting import WITHOUT_STEPS, WaitingEntries, key_of
from bktools.export.checks import HELD_TOGETHER
from bktools.findings.check import (
    EMPLOYEE,
    ERP,
    ERROR,
    HELD,
    PREPARER,
    ROLES,
    WARNING,
)
from bktools.frames.sums import Money, Sum, Valued, largest_first

SEVERITIES = (ERROR, WARNING)
# The sections of the wording that have the sentences of an action.
OF_ENTRIES, OF_ACCOUNTS, OF_STEPS = "entry", "account", "step"
# The kinds of things that an action concerns.
ENTRY, CATEGORY, ACCOUNT, EXPORT_JOB = "entry", "category", "account", "export_job"

# The states of a category whose account a person has to choose.
NEED_ACCOUNT = ("no_account", "archived_account", "to_be_archived_account")
UNKNOWN, UPDATE = "unknown_account", "update_account"

# The step that a finding asks for, and the kind of thing that it is taken on; "" where another finding or
# outcome asks for it. A finding that is not listed asks for a step of its own.
STEPS: Mapping[str, tuple[str, str]] = {
    # Of entries.
    **{code: (code, CATEGORY) for code in ("archived_category", "unknown_category")},
    "category_of_other_company": ("category_of_other_company", CATEGORY),
    UNKNOWN: (UNKNOWN, CATEGORY),
    **dict.fromkeys((*NEED_ACCOUNT, "exported", "in_doubt"), ("", ENTRY)),
    # Of accounts and categories.
    "category_without_account": ("no_account", CATEGORY),
    "category_on_archived_account": ("archived_account", CATEGORY),
    "category_on_account_to_be_archived": ("to_be_archived_account", CATEGORY),
    "category_on_unknown_account": (UNKNOWN, CATEGORY),
    "account_id_unknown": (UNKNOWN, ACCOUNT),
    **dict.fromkeys(("name_differs", "code_differs", "tax_code_differs"), (UPDATE, ACCOUNT)),
    "missing_in_service": ("", ACCOUNT),
}
# The step that the outcome of an export job, or of an account, asks for.
OF_OUTCOMES: Mapping[str, Mapping[str, str]] = {
    EXPORT_JOB: {
        "REJECTED": "job_refused",
        "BLOCKED": "job_blocked",
        "PLANNED": "job_not_sent",
        "SENDING": "job_being_sent",
    },
    ACCOUNT: {"REJECTED": "account_refused", "UNKNOWN": "account_in_doubt"},
}

# Errors and warnings of one code are one step. Where they differ in these facts, they are several: the
# entries of an unknown currency need another look than those of another one.
APART_BY: Mapping[str, tuple[str, ...]] = {
    "unknown_currency": ("currency",),
    "foreign_currency": ("currency", "own_currency"),
    "earlier_period": ("period",),
    "closed_period": ("period",),
    "refused": ("answer",),
    "in_doubt": ("waiting",),
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
    keys : tuple of str
        Those entries by ID, or by line where they have none.
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
    keys: tuple[str, ...] = ()

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
    jobs, created : rows
        The outcomes of this run's export jobs and accounts; of a dry run no jobs.
    unknown_outcomes : mapping of str to str
        The command that resolves each batch whose outcome is unknown.
    own : str, optional
        The company's own currency.
    commands : mapping of str to str
        The command of a step by its code; ENTRIES in it stands for the IDs of the step's entries.
    """

    entries: pa.Table
    findings: Rows
    accounts: Rows
    jobs: Rows
    created: Rows
    unknown_outcomes: Mapping[str, str]
    own: str | None
    commands: Mapping[str, str]

    @property
    def planned(self) -> int:
        """How many accounts are to be created; the service may answer with the ID of one that it has."""
        return sum(row["outcome"] == "PLANNED" for row in self.created)

    @cached_property
    def waiting(self) -> WaitingEntries:
        """The entries by their keys, with their money."""
        return WaitingEntries(self.entries, self.own)


def actions_of(results: StepResults) -> tuple[Action, ...]:
    """Return the actions: in doubt first, then by the money they free, then those nothing waits for."""
    makers = (_of_jobs, _of_accounts, _of_entries, _of_created)
    cases = [case for make in makers for case in make(results)]
    return tuple(sorted(_grouped(results, cases), key=lambda action: _urgency(action, results.own)))


def totals_by_role(results: StepResults, actions: Sequence[Action]) -> tuple[Sum, ...]:
    """Return the entries that the steps of each role concern, each once, with its errors and warnings."""
    of_roles = {role: [action for action in actions if action.role == role] for role in ROLES}
    sums = results.waiting.money(
        [[key for action in own for key in action.keys] for own in of_roles.values()]
    )
    totals = []
    for (role, own), (money, _) in zip(of_roles.items(), sums, strict=True):
        errors = sum(action.severity == ERROR for action in own)
        counts = {"role": role, "errors": errors, "warnings": len(own) - errors}
        totals += [Sum(counts, money)] if own else []
    return tuple(totals)


def _urgency(action: Action, own: str | None) -> tuple[Any, ...]:
    # First what may be booked, then what is booked otherwise than the service says.
    first = FIRST.index(action.code) if action.code in FIRST else len(FIRST)
    return (first, action.is_apart, SEVERITIES.index(action.severity), *largest_first(action.money, own))


def _size(thing: Thing, own: str | None) -> tuple[Any, ...]:
    return *largest_first(thing.money, own), str(thing.name.get("name", ""))


def _grouped(results: StepResults, cases: Iterable[_Case]) -> Iterator[Action]:
    """Yield an action for all cases that have one step and one cause, as severe as the worst of them."""
    groups: dict[tuple[Any, ...], list[_Case]] = defaultdict(list)
    for case in cases:
        cause = [(name, case.facts.get(name)) for name in APART_BY.get(case.code, ())]
        cause += [("person", case.person)] if case.person else []
        # A category without an account stands apart until an entry of a month has it.
        is_used = (
            not results.waiting.reasons.keys().isdisjoint(case.keys) if case.code in NEED_ACCOUNT else None
        )
        groups[case.section, case.code, case.role, case.command, is_used, tuple(cause)].append(case)
    keys_of = [[key for case in group for key in case.keys] for group in groups.values()]
    sums = results.waiting.money(keys_of)
    for (step, group), keys, (money, ids) in zip(groups.items(), keys_of, sums, strict=True):
        section, code, role, command, _, cause = step
        things = sorted(_things(results, group), key=lambda thing: _size(thing, results.own))
        facts = dict(cause) | (results.waiting.change(keys) if code == CHANGED else {})
        facts |= {"planned": results.planned or None} if (section, code) == (OF_STEPS, UNKNOWN) else {}
        severity = min((case.severity for case in group), key=SEVERITIES.index)
        elsewhere = results.waiting.counted_elsewhere(keys, code)
        command = command or results.commands.get(code, "").replace("ENTRIES", " ".join(ids))
        yield Action(
            section, code, severity, role, facts, tuple(things), money, ids, command, elsewhere, tuple(keys)
        )


def _things(results: StepResults, cases: Iterable[_Case]) -> Iterator[Thing]:
    """Yield each thing of some cases once, with the entries that wait for it."""
    of_things: dict[Any, list[tuple[Thing, _Case]]] = defaultdict(list)
    for case in cases:
        if case.thing is not None:
            identity = tuple(case.thing.ids.items())[:1] or tuple(case.thing.name.items())
            of_things[case.thing.kind, identity].append((case.thing, case))
    sums = results.waiting.money(
        [[key for _, case in group for key in case.keys] for group in of_things.values()]
    )
    for group, (money, ids) in zip(of_things.values(), sums, strict=True):
        thing, first = group[0]
        changes = [change for _, case in group for change in case.facts.get("changes", ())]
        facts = {**first.facts, "changes": changes} if changes else first.facts
        yield replace(thing, facts=facts, money=money, entry_ids=ids)


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
        if (code := OF_OUTCOMES[EXPORT_JOB].get(outcome)) and not is_listed:
            job = Thing(EXPORT_JOB, {"entries": row["entries"]}, {"batch_id": batch})
            facts = {"answer": row["message"] or None}
            keys = results.waiting.keys_with("batch_id", batch)
            yield _Case(OF_STEPS, code, ERROR, PREPARER, facts, job, keys)


def _of_created(results: StepResults) -> Iterator[_Case]:
    """Yield a case for each account that was not created."""
    for row in results.created:
        if code := OF_OUTCOMES[ACCOUNT].get(row["outcome"]):
            name = " ".join(filter(None, (row["code"] or row["external_id"], row["name"])))
            account = Thing(ACCOUNT, {"name": name}, {"external_id": row["external_id"]})
            role = ERP if code == "account_refused" else PREPARER
            yield _Case(OF_STEPS, code, ERROR, role, {"answer": row["message"] or None}, account)


def _of_accounts(results: StepResults) -> Iterator[_Case]:
    """Yield a case for each finding of an account or a category, with the entries that wait for it."""
    entries = defaultdict(list)
    for row in _severe(results.findings):
        if row["check"] in NEED_ACCOUNT:
            entries[row["category_id"]].append(key_of(row))
    for row in _severe(results.accounts):
        code, kind = STEPS.get(row["check"], (None, CATEGORY if row["category_id"] else ACCOUNT))
        facts = {"changes": [_change(row)]} if code == UPDATE else json.loads(row["facts"])
        thing = _thing(kind, row, row["about"])
        if code is None:
            yield _Case(OF_ACCOUNTS, row["check"], row["severity"], row["who"], facts, thing)
        elif code:
            keys = tuple(entries[row["category_id"]]) if code in NEED_ACCOUNT else ()
            yield _Case(OF_STEPS, code, row["severity"], row["who"], facts, thing, keys)


def _of_entries(results: StepResults) -> Iterator[_Case]:
    """Yield a case for each entry to correct, or for its category where the category is the cause."""
    held = {*results.waiting.keys_with("fate", HELD)}
    for row in _severe(results.findings):
        check, key = row["check"], key_of(row)
        code, kind = STEPS.get(check, (None, ENTRY))
        if code == "" or OF_REASON.get(check) in WITHOUT_STEPS:
            continue
        if row["who"] == ERP and key in held:
            continue  # Nothing of it is booked before it is exported.
        if check == HELD_TOGETHER and check not in results.waiting.reasons.get(key, ()):
            continue  # The error of the other line is the step.
        # A person finds an entry, and no category by an ID alone.
        of_category = kind == CATEGORY and row.get("category_name")
        thing = _thing(CATEGORY, row, row["category_name"]) if of_category else _entry(results, row)
        section, facts = (OF_STEPS, {}) if code else (OF_ENTRIES, json.loads(row["facts"]))
        person = (row.get("employee_name") or "") if row["who"] == EMPLOYEE else ""
        yield _Case(section, check, row["severity"], row["who"], facts, thing, (key,), person=person)


def _severe(rows: Rows) -> list[Mapping[str, Any]]:
    return [row for row in rows if row["severity"] in SEVERITIES]


def _thing(kind: str, row: Mapping[str, Any], name: str | None) -> Thing | None:
    """Return the category or the account of a finding, which may be about neither."""
    names = ("category_id", "account_id") if kind == CATEGORY else ("external_id", "account_id")
    ids = {name: row[name] for name in names if row.get(name)}
    return Thing(kind, {"name": name or next(iter(ids.values()))}, ids) if ids else None


def _entry(results: StepResults, row: Mapping[str, Any]) -> Thing:
    """Return the entry of a finding; a changed one with its amount as it was sent, and as it is now."""
    name = {
        "day": row.get("date"),
        "party": row.get("supplier") or row.get("description"),
        "amount": row.get("amount"),
        "currency": row.get("currency"),
        "line": row.get("line"),
    }
    if row["check"] == CHANGED:
        change = results.waiting.change([key_of(row)])
        currency, amount = next(iter(change["sent"].items()), (name["currency"], None))
        name |= {"amount": amount, "currency": currency, "sent": change["sent"], "now": change["now"]}
    return Thing(ENTRY, name, {"entry_id": row["id"]} if row["id"] else {})


def _change(row: Mapping[str, Any]) -> dict[str, Any]:
    before, after = ([value] if value else [] for value in (row["service_value"], row["erp_value"]))
    return {"field": row["field"], "before": before, "after": after, "currency": None}
