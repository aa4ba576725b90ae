"""What is to be done after a close: each step once, with its things, their money, and who does it.

Each finding, and each outcome that needs somebody, is a case: the step that it asks for, the thing that the
step is taken on, and the entries that wait for it. One frame has each line of an entry once for each case
that it waits for; the money of a step, of its things and of a role are sums of it. Actions are facts:
`sentences.py` makes the words of them in a language.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import polars as pl
import pyarrow as pa

from bktools.close.entries import BLOCKED, CHANGED, OF_REASON
from bktools.export.checks import FATE_OF_REASON, HELD_TOGETHER
from bktools.findings.check import (
    BEFORE,
    EMPLOYEE,
    ERP,
    ERROR,
    HELD,
    IN_BOOKS,
    LEFT_OUT,
    PREPARER,
    ROLES,
    WARNING,
)
from bktools.frames.sums import HOME, Money, Sum, Valued, largest_first, sums_of, total
from bktools.frames.tables import to_arrow

SEVERITIES = (ERROR, WARNING)
# No step is taken for these entries.
WITHOUT_STEPS = (LEFT_OUT, IN_BOOKS)
# The sections of the wording that have the sentences of an action.
OF_ENTRIES, OF_ACCOUNTS, OF_STEPS = "entry", "account", "step"
# The kinds of things that an action concerns.
ENTRY, CATEGORY, ACCOUNT, EXPORT_JOB = "entry", "category", "account", "export_job"

# The states of a category whose account a person has to choose.
TO_BE_ARCHIVED = "to_be_archived_account"
NEED_ACCOUNT = ("no_account", "archived_account", TO_BE_ARCHIVED)
UNKNOWN, UPDATE = "unknown_account", "update_account"
# The steps that a person may answer with an account for the category.
ANSWERED = (*NEED_ACCOUNT, UNKNOWN)

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
    "category_on_account_to_be_archived": (TO_BE_ARCHIVED, CATEGORY),
    "category_on_unknown_account": (UNKNOWN, CATEGORY),
    "account_id_unknown": (UNKNOWN, ACCOUNT),
    **dict.fromkeys(("name_differs", "code_differs", "tax_code_differs"), (UPDATE, ACCOUNT)),
    "missing_in_service": ("", ACCOUNT),
}
# The step that the outcome of an export job asks for, and that of an account which was to be created.
OF_JOBS = {
    "REJECTED": "job_refused",
    "BLOCKED": "job_blocked",
    "PLANNED": "job_not_sent",
    "SENDING": "job_being_sent",
}
OF_CREATED = {"REJECTED": "account_refused", "UNKNOWN": "account_in_doubt"}

# Errors and warnings of one code are one step. Where they differ in these facts, they are several: the
# entries of an unknown currency need another look than those of another one.
APART_BY: Mapping[str, tuple[str, ...]] = {
    "unknown_currency": ("currency",),
    "foreign_currency": ("currency", "own_currency"),
    "earlier_period": ("period",),
    "closed_period": ("period",),
    "refused": ("answer",),
    "in_doubt": ("waiting",),
    CHANGED: ("sent_in",),
}
IDS = ("category_id", "account_id", "external_id", "entry_id", "batch_id")
FIRST = ("in_doubt", CHANGED)
# What stands in a command for the IDs of a step's entries, and for the month whose close sent them.
IDS_OF_STEP, MONTH_OF_STEP = "ENTRIES", "YYYY-MM"
MONEY = ("currency", "amount", HOME)

Rows = Sequence[Mapping[str, Any]]
Facts = Mapping[str, Any]
# The money and the IDs of the entries that wait for something.
Waits = tuple[Mapping[str, Money], tuple[str, ...]]

c = pl.col


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

    @property
    def identity(self) -> tuple[Any, ...]:
        """What tells it from other things."""
        return self.kind, next(iter(self.ids.items()), None) or tuple(self.name.items())


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
        """Whether a person may answer it with an account for each category."""
        return self.section == OF_STEPS and self.code in ANSWERED


@dataclass(frozen=True)
class _Case:
    """What asks for a step on one thing, or on none. `keys` are the entries that wait for it."""

    section: str
    code: str
    severity: str
    role: str
    facts: Facts
    thing: Thing | None = None
    keys: tuple[str, ...] = ()
    command: str = ""
    person: str = ""

    def step(self, waiting: set[str]) -> tuple[Any, ...]:
        """Return what it has in common with the cases of the same action.

        A category without an account stands apart until an entry of a month has it.
        """
        is_used = self.code in NEED_ACCOUNT and not waiting.isdisjoint(self.keys)
        cause = [(name, self.facts.get(name)) for name in APART_BY.get(self.code, ())]
        cause += [("person", self.person)] if self.person else []
        return self.section, self.code, self.role, self.command, is_used, tuple(cause)


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
        The command of a step by its code, with `IDS_OF_STEP` and `MONTH_OF_STEP`.
    """

    entries: pa.Table
    findings: Rows
    accounts: Rows
    jobs: Rows
    created: Rows
    unknown_outcomes: Mapping[str, str]
    own: str | None
    commands: Mapping[str, str]


def actions_of(results: StepResults) -> tuple[tuple[Action, ...], tuple[Sum, ...]]:
    """Return the actions, and the entries that those of each role concern, with its errors and warnings.

    First comes what is in doubt, then what frees most money, then what nothing waits for.
    """
    lines = pl.DataFrame(results.entries).with_row_index("row").filter(~c.fate.is_in(WITHOUT_STEPS))
    lines = lines.with_columns(key=pl.coalesce(c.id.replace("", None), c.line.cast(pl.String)))
    known = {*lines["key"]}
    steps: dict[tuple[Any, ...], list[_Case]] = defaultdict(list)
    for make in (_of_jobs, _of_accounts, _of_entries, _of_created):
        for case in make(results, lines):
            steps[case.step(known)].append(case)
    waiting = _waiting(lines, [*steps.values()])
    of_steps, of_things, of_roles = (_sums(waiting, by, results.own) for by in ("step", "thing", "role"))
    now = waiting.filter(code=CHANGED).with_columns(
        pl.coalesce(f"file_{name}", name).alias(name) for name in ("currency", "amount")
    )
    steps_now, things_now = (_sums(now, by, results.own) for by in ("step", "thing"))
    elsewhere = _counted_elsewhere(waiting)
    planned = sum(row["outcome"] == "PLANNED" for row in results.created) or None
    actions = []
    for number, ((section, code, role, command, _, cause), cases) in enumerate(steps.items()):
        money, ids = of_steps[number]
        facts, things = dict(cause), []
        for thing in _things(cases):
            own, own_ids = of_things[f"{number} {thing.identity}"]
            change = _change(own, things_now.get(f"{number} {thing.identity}"))
            things.append(replace(thing, name={**thing.name, **change}, money=own, entry_ids=own_ids))
        facts |= _change(money, steps_now.get(number))
        facts |= {"planned": planned} if (section, code) == (OF_STEPS, UNKNOWN) else {}
        actions.append(
            Action(
                section,
                code,
                severity=min((case.severity for case in cases), key=SEVERITIES.index),
                role=role,
                facts=facts,
                things=tuple(sorted(things, key=lambda thing: _size(thing, results.own))),
                money=money,
                entry_ids=ids,
                command=command or _command(results.commands.get(code, ""), ids, facts.get("sent_in")),
                counted_elsewhere=elsewhere.get(number, 0),
            )
        )
    actions.sort(key=lambda action: _urgency(action, results.own))
    by_role = []
    for role in ROLES:
        severities = [action.severity for action in actions if action.role == role]
        counts = {"errors": severities.count(ERROR), "warnings": severities.count(WARNING)}
        money, _ = of_roles[role]
        by_role += [Sum({"role": role, **counts}, money)] if severities else []
    return tuple(actions), tuple(by_role)


def _command(text: str, ids: Iterable[str], month: str | None) -> str:
    """Return the command of a step for its entries, and for the month whose close sent them, if known."""
    return text.replace(IDS_OF_STEP, " ".join(ids)).replace(MONTH_OF_STEP, month or MONTH_OF_STEP)


def _waiting(lines: pl.DataFrame, steps: Sequence[Sequence[_Case]]) -> pl.DataFrame:
    """Return the lines of entries, each once for each case that it waits for, with its step and thing."""
    columns = {"step": pl.Int64} | dict.fromkeys(("thing", "role", "code", "key"), pl.String)
    pairs = [
        (number, f"{number} {case.thing and case.thing.identity}", case.role, case.code, key)
        for number, cases in enumerate(steps)
        for case in cases
        for key in case.keys
    ]
    return lines.join(pl.DataFrame(pairs, columns, orient="row"), on="key", maintain_order="left")


def _sums(waiting: pl.DataFrame, by: str, own: str | None) -> defaultdict[Any, Waits]:
    """Return the money and the IDs of the entries of each group; a line counts once in each.

    A group without entries has no money.
    """
    lines = waiting.unique([by, "row"], keep="first", maintain_order=True)
    named = lines.filter(c.id != "").group_by(by).agg(c.id.unique(maintain_order=True))
    ids = dict(named.iter_rows())
    columns = {by, "id", "split_line", *MONEY} & {*lines.columns}
    sums = sums_of(to_arrow(lines.select(columns)), by, own=own)
    return defaultdict(
        lambda: ({}, ()), {part[by]: (part.money, tuple(ids.get(part[by], ()))) for part in sums}
    )


def _counted_elsewhere(waiting: pl.DataFrame) -> dict[int, int]:
    """Return how many entries of each step the figures count at another reason, which holds them back.

    The figures count an entry at its first error; each of its errors is a step.
    """
    is_held = (c.code.replace_strict(FATE_OF_REASON, default=None) == HELD) & (c.fate == HELD)
    entries = waiting.filter(is_held).group_by("step", "key")
    elsewhere = entries.agg(is_counted=c.reason.is_not_null().any() & ~(c.reason == c.code).any())
    return dict(elsewhere.group_by("step").agg(c.is_counted.sum()).iter_rows())


def _change(before: Mapping[str, Money], now: Waits | None) -> dict[str, dict[str, Decimal]]:
    """Return the amounts of changed entries as they were sent, as they are now, and the difference.

    Nothing where none was changed.
    """
    if now is None:
        return {}
    sent, after = (Sum({}, money).amounts for money in (before, now[0]))
    names = dict.fromkeys([*sent, *after])
    difference = {name: total([after.get(name), sent.get(name, Decimal(0)).copy_negate()]) for name in names}
    return {"sent": sent, "now": after, "difference": difference}


def _urgency(action: Action, own: str | None) -> tuple[Any, ...]:
    # First what may be booked, then what is booked otherwise than the service says.
    first = FIRST.index(action.code) if action.code in FIRST else len(FIRST)
    return (first, action.is_apart, SEVERITIES.index(action.severity), *largest_first(action.money, own))


def _size(thing: Thing, own: str | None) -> tuple[Any, ...]:
    return *largest_first(thing.money, own), str(thing.name.get("name", ""))


def _things(cases: Iterable[_Case]) -> Iterator[Thing]:
    """Yield each thing of some cases once, with what is known of it: all its changes, in one case each."""
    of_things: dict[Any, list[tuple[Thing, Facts]]] = defaultdict(list)
    for case in cases:
        if case.thing is not None:
            of_things[case.thing.identity].append((case.thing, case.facts))
    for (thing, facts), *others in of_things.values():
        changes = [it for _, own in ((thing, facts), *others) for it in own.get("changes", ())]
        yield replace(thing, facts={**facts, "changes": changes} if changes else facts)


def key_of(row: Mapping[str, Any]) -> str:
    """Return the key of the entry that a row is about: its ID, or its line where it has none."""
    return row["id"] or str(row.get("line"))


def _keys(lines: pl.DataFrame, **values: str) -> tuple[str, ...]:
    """Return the keys of the entries with some values."""
    return tuple(lines.filter(**values)["key"].unique(maintain_order=True))


def _of_jobs(results: StepResults, lines: pl.DataFrame) -> Iterator[_Case]:
    later = _keys(lines, reason=BLOCKED)
    for batch, command in results.unknown_outcomes.items():
        own = _keys(lines, batch_id=batch)
        job = Thing(EXPORT_JOB, {"entries": len(own)}, {"batch_id": batch})
        facts = {"waiting": len(later) or None}
        yield _Case(OF_STEPS, "in_doubt", ERROR, PREPARER, facts, job, (*own, *later), command)
    for row in results.jobs:
        batch, outcome = row["batch_id"], row["outcome"]
        is_listed = batch in results.unknown_outcomes or (outcome == "BLOCKED" and results.unknown_outcomes)
        if (code := OF_JOBS.get(outcome)) and not is_listed:
            job = Thing(EXPORT_JOB, {"entries": row["entries"]}, {"batch_id": batch})
            facts = {"answer": row["message"] or None}
            yield _Case(OF_STEPS, code, ERROR, PREPARER, facts, job, _keys(lines, batch_id=batch))


def _of_created(results: StepResults, _: pl.DataFrame) -> Iterator[_Case]:
    """Yield a case for each account that was not created."""
    for row in results.created:
        if code := OF_CREATED.get(row["outcome"]):
            name = " ".join(filter(None, (row["code"] or row["external_id"], row["name"])))
            account = Thing(ACCOUNT, {"name": name}, {"external_id": row["external_id"]})
            role = ERP if code == "account_refused" else PREPARER
            yield _Case(OF_STEPS, code, ERROR, role, {"answer": row["message"] or None}, account)


def _of_accounts(results: StepResults, lines: pl.DataFrame) -> Iterator[_Case]:
    """Yield a case for each finding of an account or a category, with the entries that wait for it.

    What was sent to an account that left the chart stands beside it, too.
    """
    of_month = lines.filter(c.fate != BEFORE)
    entries = defaultdict(list)
    for row in _severe(results.findings):
        if row["check"] in NEED_ACCOUNT:
            entries[row["category_id"]].append(key_of(row))
    for row in _severe(results.accounts):
        code, kind = STEPS.get(row["check"], (None, CATEGORY if row["category_id"] else ACCOUNT))
        facts = {"changes": [_difference(row)]} if code == UPDATE else json.loads(row["facts"])
        thing = _thing(kind, row, row["about"])
        if code is None:
            yield _Case(OF_ACCOUNTS, row["check"], row["severity"], row["who"], facts, thing)
        elif code:
            keys = tuple(entries[row["category_id"]]) if code in NEED_ACCOUNT else ()
            keys = _keys(of_month, category_id=row["category_id"]) if code == TO_BE_ARCHIVED else keys
            yield _Case(OF_STEPS, code, row["severity"], row["who"], facts, thing, keys)


def _of_entries(results: StepResults, lines: pl.DataFrame) -> Iterator[_Case]:
    """Yield a case for each entry to correct, or for its category where the category is the cause."""
    held = {*_keys(lines, fate=HELD)}
    held_together = {*_keys(lines, reason=HELD_TOGETHER)}
    sent_in = dict(lines.filter(reason=CHANGED).select("key", "sent_in").iter_rows())
    for row in _severe(results.findings):
        check, key = row["check"], key_of(row)
        code, kind = STEPS.get(check, (None, ENTRY))
        if code == "" or OF_REASON.get(check) in WITHOUT_STEPS:
            continue
        if row["who"] == ERP and key in held:
            continue  # Nothing of it is booked before it is exported.
        if check == HELD_TOGETHER and key not in held_together:
            continue  # The error of the other line is the step.
        # A person finds an entry, and no category by an ID alone.
        of_category = kind == CATEGORY and row.get("category_name")
        thing = _thing(CATEGORY, row, row["category_name"]) if of_category else _entry(row)
        section, facts = (OF_STEPS, {}) if code else (OF_ENTRIES, json.loads(row["facts"]))
        facts |= {"sent_in": sent_in.get(key)} if check == CHANGED else {}
        person = (row.get("employee_name") or "") if row["who"] == EMPLOYEE else ""
        yield _Case(section, check, row["severity"], row["who"], facts, thing, (key,), person=person)


def _severe(rows: Rows) -> list[Mapping[str, Any]]:
    return [row for row in rows if row["severity"] in SEVERITIES]


def _thing(kind: str, row: Mapping[str, Any], name: str | None) -> Thing | None:
    """Return the category or the account of a finding, which may be about neither."""
    names = ("category_id", "account_id") if kind == CATEGORY else ("external_id", "account_id")
    ids = {name: row[name] for name in names if row.get(name)}
    return Thing(kind, {"name": name or next(iter(ids.values()))}, ids) if ids else None


def _entry(row: Mapping[str, Any]) -> Thing:
    """Return the entry of a finding."""
    name = {name: row.get(name) for name in ("amount", "currency", "line")}
    name |= {"day": row.get("date"), "party": row.get("supplier") or row.get("description")}
    return Thing(ENTRY, name, {"entry_id": row["id"]} if row["id"] else {})


def _difference(row: Mapping[str, Any]) -> dict[str, Any]:
    before, after = ([value] if value else [] for value in (row["service_value"], row["erp_value"]))
    return {"field": row["field"], "before": before, "after": after, "currency": None}
