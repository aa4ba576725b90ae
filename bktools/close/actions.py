"""What is to be done after a close: each step once, with its things, their money, and who does it.

Actions are facts. `sentences.py` makes the words of them in a language.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from bktools.close.entries import BLOCKED, CHANGED, LEFT_OUT, OF_REASON, PLANNED_ACCOUNT
from bktools.findings.check import EMPLOYEE, ERP, ERROR, PREPARER, ROLES, SERVICE, WARNING
from bktools.frames.columns import split_lines
from bktools.frames.sums import NO_CURRENCY, Money, Valued, largest_first, money_of, total
from bktools.wording import words

SEVERITIES = (ERROR, WARNING)
# The sections of the wording that have the sentences of an action.
OF_ENTRIES, OF_ACCOUNTS, OF_STEPS = "entry", "account", "step"
# The kinds of things that an action concerns.
ENTRY, CATEGORY, ACCOUNT, EXPORT_JOB = "entry", "category", "account", "export_job"

# The states of a category whose account a person has to choose.
MAPPINGS = ("no_account", "archived_account", "to_be_archived_account")
UNKNOWN = "unknown_account"
# Checks of entries whose cause is their category, and those that another action solves.
OF_A_CATEGORY = ("archived_category", "unknown_category", "category_of_other_company")
SOLVED_BY_OTHERS = (*MAPPINGS, UNKNOWN, "exported", "in_doubt")
# Checks of accounts that become one action, and those that another action solves.
OF_UNKNOWN = ("category_on_unknown_account", "account_id_unknown")
UPDATES = ("name_differs", "code_differs", "tax_code_differs")
TOLD_ELSEWHERE = (
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
        """Whether no entry of the month waits for it."""
        return not self.entries

    @property
    def wants_account(self) -> bool:
        """Whether a person answers it with an account for each category."""
        return self.section == OF_STEPS and self.code in MAPPINGS


@dataclass(frozen=True)
class Waiting(Valued):
    """How much waits for the errors of one role."""

    role: str
    errors: int
    warnings: int
    money: Mapping[str, Money]


def key_of(company: str, period: str, code: str, facts: str, ids: Mapping[str, str | None]) -> str:
    """Return the identity of an action, or of one of its things, in a month's close, from codes and IDs.

    `facts` are as `facts_text` returns them.
    """
    # Spreadsheet programs keep the letters of a text, and not always its spaces.
    known = [
        company,
        period,
        code,
        "".join(facts.split()),
        *sorted((name, one) for name, one in ids.items() if one),
    ]
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:12]


def facts_text(facts: Facts) -> str:
    """Return facts as JSON, the same text for the same facts."""
    return json.dumps(facts, sort_keys=True, ensure_ascii=False, default=str) if facts else ""


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


@dataclass(eq=False)
class Actions:
    """Makes the actions of a close from what its steps have found.

    Findings are those of entries, and accounts those of accounts and categories; jobs and created are the
    outcomes of this run, of a dry run those that are planned; unknown_outcomes has the command that settles
    each batch whose outcome is unknown.
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

    def __post_init__(self) -> None:
        self._places: dict[Any, list[int]] = defaultdict(list)
        names = ("id", "line", "fate", "reason", "batch_id", "currency", "amount")
        self._rows = self.entries.select(names).to_pylist()
        self._category_names = {row["category_id"]: row["name"] for row in self.coverage}
        self._currencies = list(money_of(self.entries, self.own))
        self._lines = split_lines(self.entries).to_pylist()
        for place, row in enumerate(self._rows):
            if row["fate"] != LEFT_OUT:
                self._places[_key(row)].append(place)
        self.findings = [row for row in self.findings if row["severity"] in SEVERITIES]
        self.accounts = [row for row in self.accounts if row["severity"] in SEVERITIES]

    def all(self) -> tuple[Action, ...]:
        """Return the actions: in doubt first, then by the money they free, then those nothing waits for."""
        cases = [*self._of_jobs(), *self._of_categories(), *self._of_entries(), *self._of_accounts()]
        return tuple(sorted(self._grouped([*cases, *self._of_findings()]), key=self._urgency))

    def by_role(self, actions: Sequence[Action]) -> tuple[Waiting, ...]:
        """Return how much waits for each role with something to do.

        An entry that waits for two actions counts once.
        """
        waiting = []
        for role in ROLES:
            own = [action for action in actions if action.role == role]
            errors = [action for action in own if action.severity == ERROR]
            money, _ = self._waiting(entry for action in errors for entry in action.entry_ids)
            waiting += [Waiting(role, len(errors), len(own) - len(errors), money)] if own else []
        return tuple(waiting)

    def _urgency(self, action: Action) -> tuple[Any, ...]:
        # First what may be booked, then what is booked otherwise than the service says.
        first = FIRST.index(action.code) if action.code in FIRST else len(FIRST)
        return (
            first,
            action.is_apart,
            SEVERITIES.index(action.severity),
            *largest_first(action.money, self.own),
        )

    def _grouped(self, cases: Iterable[_Case]) -> Iterator[Action]:
        """Yield an action for all cases that have one step and the same facts in its sentence."""
        groups: dict[tuple[Any, ...], list[_Case]] = defaultdict(list)
        for case in cases:
            names = _shared(f"{case.section}.{case.code}")
            shared = {name: case.facts[name] for name in names & case.facts.keys()}
            shared |= {"person": case.person} if case.person else {}
            # A category without an account stands apart until an entry of a month has it.
            is_used = bool(self._waiting(case.keys)[0]) if case.code in MAPPINGS else None
            step = (case.section, case.code, case.severity, case.role, case.command, is_used)
            groups[*step, facts_text(shared)].append(case)
        for (section, code, severity, role, command, _, shared), group in groups.items():
            things = sorted(self._things(group), key=lambda thing: largest_first(thing.money, self.own))
            money, ids = self._waiting(key for case in group for key in case.keys)
            facts = json.loads(shared or "{}")
            yield Action(section, code, severity, role, facts, tuple(things), money, ids, command)

    def _things(self, cases: Iterable[_Case]) -> Iterator[Thing]:
        """Yield each thing of some cases once, with the entries that wait for it."""
        of_things: dict[Any, list[_Case]] = defaultdict(list)
        for case in cases:
            if case.thing is not None:
                known = case.thing.ids or case.thing.name
                of_things[case.thing.kind, facts_text(known)].append(case)
        for group in of_things.values():
            money, ids = self._waiting(key for case in group for key in case.keys)
            thing = group[0].thing
            assert thing is not None
            yield Thing(thing.kind, thing.name, thing.ids, group[0].facts, money, ids)

    def _waiting(self, keys: Iterable[Any]) -> tuple[dict[str, Money], tuple[str, ...]]:
        """Return the money and the IDs of entries, by their IDs, or by their lines where they have none."""
        places = sorted({place for key in keys for place in self._places.get(key, ())})
        rows = [self._rows[place] for place in places]
        amounts, entries = defaultdict(list), defaultdict(set)
        for place, row in zip(places, rows, strict=True):
            currency = row["currency"] or NO_CURRENCY
            amounts[currency].append(row["amount"])
            # The lines of a split entry are one.
            entries[currency].add(row["id"] if self._lines[place] else place)
        money = {
            name: Money(len(entries[name]), None if all(one is None for one in values) else total(values))
            for name, values in amounts.items()
        }
        ordered = {name: money[name] for name in self._currencies if name in money}
        return ordered, tuple(dict.fromkeys(row["id"] for row in rows if row["id"]))

    def _with(self, column: str, value: str) -> tuple[Any, ...]:
        return tuple(dict.fromkeys(_key(row) for row in self._rows if row[column] == value))

    def _of_jobs(self) -> Iterator[_Case]:
        for batch, command in self.unknown_outcomes.items():
            own, later = self._with("batch_id", batch), self._with("reason", BLOCKED)
            job = Thing(EXPORT_JOB, {"entries": len(own)}, {"batch_id": batch})
            facts = {"waiting": len(later) or None}
            yield _Case(OF_STEPS, "in_doubt", ERROR, PREPARER, facts, job, (*own, *later), command)
        for row in self.jobs:
            batch, outcome = row["batch_id"], row["outcome"]
            is_told = batch in self.unknown_outcomes or (outcome == "BLOCKED" and self.unknown_outcomes)
            if outcome in OF_JOB_OUTCOMES and not is_told:
                job = Thing(EXPORT_JOB, {"entries": row["entries"]}, {"batch_id": batch})
                facts = {"answer": row["message"] or None}
                keys = self._with("batch_id", batch)
                yield _Case(OF_STEPS, OF_JOB_OUTCOMES[outcome], ERROR, PREPARER, facts, job, keys)

    def _of_categories(self) -> Iterator[_Case]:
        """Yield a case for each category whose account a person has to choose."""
        entries = defaultdict(list)
        for row in self.findings:
            if row["check"] in MAPPINGS:
                entries[row["category_id"]].append(_key(row))
        for row in self.coverage:
            # An archived category is no longer used: its entries get another one.
            if row["state"] in MAPPINGS and not row["archived"]:
                account = " ".join(filter(None, (row["external_id"], row["account_name"]))) or None
                ids = {name: row[name] for name in ("category_id", "account_id") if row[name]}
                category = Thing(CATEGORY, {"name": row["name"] or row["category_id"]}, ids)
                keys = tuple(entries[row["category_id"]])
                yield _Case(OF_STEPS, row["state"], ERROR, SERVICE, {"account": account}, category, keys)

    def _of_entries(self) -> Iterator[_Case]:
        """Yield a case for each entry to correct, or for its category where the category is the cause."""
        for row in self.findings:
            check = row["check"]
            if check in SOLVED_BY_OTHERS or OF_REASON.get(check) == LEFT_OUT:
                continue
            person = (row.get("employee_name") or "") if row["who"] == EMPLOYEE else ""
            of_category = check in OF_A_CATEGORY
            section = OF_STEPS if of_category else OF_ENTRIES
            # A person finds an entry, and no category by an ID alone.
            thing = self._category(row) if of_category and self._category_name(row) else _entry(row)
            facts = {} if of_category else json.loads(row["facts"])
            yield _Case(
                section, check, row["severity"], row["who"], facts, thing, (_key(row),), person=person
            )

    def _of_accounts(self) -> Iterator[_Case]:
        planned = [row for row in self.created if row["outcome"] == "PLANNED"]
        unknown = [row for row in self.accounts if row["check"] in OF_UNKNOWN]
        if planned:
            facts = {"accounts": len(planned)}
            keys = self._with("reason", PLANNED_ACCOUNT)
            yield _Case(OF_STEPS, "planned_accounts", ERROR, PREPARER, facts, None, keys)
        elif unknown:
            entries = [row for row in self.findings if row["check"] == UNKNOWN]
            things: list[tuple[Thing, tuple[Any, ...]]] = [
                (self._category(row), (_key(row),)) for row in entries
            ]
            things += [
                (self._category(row) if row["category_id"] else self._account(row), ()) for row in unknown
            ]
            is_error = any(thing.kind == CATEGORY for thing, _ in things)
            for thing, keys in things:
                severity = ERROR if is_error else WARNING
                yield _Case(OF_STEPS, UNKNOWN, severity, PREPARER, {}, thing, keys, self.import_accounts)
        for row in self.created:
            if row["outcome"] in OF_ACCOUNT_OUTCOMES:
                code, role = OF_ACCOUNT_OUTCOMES[row["outcome"]]
                name = " ".join(filter(None, (row["code"] or row["external_id"], row["name"])))
                account = Thing(ACCOUNT, {"name": name}, {"external_id": row["external_id"]})
                yield _Case(OF_STEPS, code, ERROR, role, {"answer": row["message"] or None}, account)

    def _of_findings(self) -> Iterator[_Case]:
        """Yield a case for each other finding of accounts and categories, one for all of an account."""
        differences: dict[Any, list[Mapping[str, Any]]] = defaultdict(list)
        for row in self.accounts:
            if row["check"] in UPDATES:
                differences[row["external_id"]].append(row)
            elif row["check"] not in TOLD_ELSEWHERE:
                of_category, of_account = row["category_id"], row["external_id"] or row["account_id"]
                thing = self._category(row) if of_category else self._account(row) if of_account else None
                yield _Case(
                    OF_ACCOUNTS, row["check"], row["severity"], row["who"], json.loads(row["facts"]), thing
                )
        for rows in differences.values():
            severity = min((row["severity"] for row in rows), key=SEVERITIES.index)
            changes = [_change(row) for row in rows]
            account = self._account(rows[0])
            yield _Case(OF_STEPS, "update_account", severity, rows[0]["who"], {"changes": changes}, account)

    def _category(self, row: Mapping[str, Any]) -> Thing:
        """Return the category of a finding; an unknown one is named as the file names it."""
        category = row["category_id"]
        return Thing(CATEGORY, {"name": self._category_name(row) or category}, {"category_id": category})

    def _category_name(self, row: Mapping[str, Any]) -> str | None:
        return self._category_names.get(row["category_id"]) or row.get("category_name")

    def _account(self, row: Mapping[str, Any]) -> Thing:
        ids = {name: row[name] for name in ("external_id", "account_id") if row[name]}
        return Thing(ACCOUNT, {"name": row["about"] or row["external_id"] or row["account_id"]}, ids)


def _entry(row: Mapping[str, Any]) -> Thing:
    name = {
        "day": row.get("date"),
        "party": row.get("supplier") or row.get("description"),
        "amount": row.get("amount"),
        "currency": row.get("currency"),
        "line": row.get("line"),
    }
    return Thing(ENTRY, name, {"entry_id": row["id"]} if row["id"] else {})


def _change(row: Mapping[str, Any]) -> dict[str, Any]:
    before, after = ([value] if value else [] for value in (row["service_value"], row["erp_value"]))
    return {"field": row["field"], "before": before, "after": after, "currency": None}


def _key(row: Mapping[str, Any]) -> Any:
    return row["id"] or row.get("line")


def _shared(key: str) -> frozenset[str]:
    """Return the facts that the sentence of several things names: they are the same for all of them."""
    texts = words("en")
    return texts.facts_of(f"{key}.many") | texts.facts_of(f"{key}.do_many")
