"""What is to be done after a close: each cause once, with the entries and categories that wait for it, and who acts."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bktools.close.entries import AGAIN, BLOCKED, CHANGED, LEFT_OUT, OF_REASON, PLANNED_ACCOUNT, REFUSED, STEPS
from bktools.frames.codes import counted, of_several
from bktools.frames.roles import EMPLOYEE, ERP, PREPARER, ROLES, SERVICE
from bktools.frames.schema import COUNT
from bktools.frames.sums import NOTHING, Money, Sum, Valued, by_currency, largest_first, money_of
from bktools.visible import first_of, visible_line

SEVERITIES = ("error", "warning")

# The states of a category whose account a person has to choose: what to do, and why.
MAPPINGS = {
    "no_account": ("give the category an account in the service", "it has no account"),
    "archived_account": (
        "give the category another account in the service", "its account {account} is archived in the service",
    ),
    "to_be_archived_account": (
        "give the category another account in the service", "its account {account} is not in the active chart",
    ),
}  # fmt: skip
# Checks of entries whose cause is their category, and those that the mapping of a category or a list of accounts solves.
OF_A_CATEGORY = ("archived_category", "unknown_category", "category_of_other_company")
UNKNOWN = "unknown_account"
SOLVED_BY_OTHERS = ("no_account", "archived_account", UNKNOWN, "exported", "in_doubt")

# Findings of accounts and categories with an action of their own here.
OF_UNKNOWN = ("category_on_unknown_account", "account_id_unknown")
TOLD_ELSEWHERE = (
    *OF_UNKNOWN, "category_without_account", "category_on_archived_account", "category_on_account_to_be_archived",
    "missing_in_service",
)  # fmt: skip
UPDATES = ("name_differs", "code_differs", "tax_code_differs")

# The outcomes of export jobs and accounts of a run that ask for a step: why, and what to do.
OF_JOBS = {
    "REJECTED": ("the service refused the export job; nothing was booked", STEPS[REFUSED]),
    "BLOCKED": ("the export job waits for an earlier one", STEPS[BLOCKED]),
    "PLANNED": ("the export job was not sent", AGAIN),
    "SENDING": ("another process is sending the export job", f"wait for that process, then {AGAIN}"),
}
OF_ACCOUNTS = {
    "REJECTED": ("the service refused the account; it was not created", ERP, "correct the account in the chart"),
    "UNKNOWN": ("the answer of the service was lost", PREPARER, f"{AGAIN}: no account is created twice"),
}

IDS = ("category_id", "account_id", "external_id", "entry_id", "batch_id")
SHOWN_ENTRIES = 2
FIRST = ("in_doubt", CHANGED)
# The row of an action without entries.
NO_ENTRIES: Mapping[Any, Money] = {None: NOTHING}


@dataclass(frozen=True)
class Action(Valued):
    """One thing that a person does.

    Parameters
    ----------
    cause : str
        Name of the check or the state that asks for it.
    severity : str
        error: entries wait for it, or will; warning: somebody should look.
    role : str
        Who does it, one of `roles.ROLES`.
    to_do, about, why : str
        The step, the thing by its name, and the fact.
    person : str
        The employee by name, where the entries name one.
    money : mapping of str to Money
        The entries that wait for it: number and exact amount by currency.
    entry_ids, category_ids : tuple of str
        The entries and categories that it concerns.
    command : str
        The command to copy, "" for none.
    ids : mapping of str to str
        Identifiers of a single thing, by the names `IDS`; `account_id` is the account at present.
    """

    cause: str
    severity: str
    role: str
    to_do: str
    about: str
    why: str
    person: str = ""
    money: Mapping[str, Money] = field(default_factory=dict)
    entry_ids: tuple[str, ...] = ()
    category_ids: tuple[str, ...] = ()
    command: str = ""
    ids: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def who(self) -> str:
        """The role, with the person where the entries name one."""
        return f"{self.role} ({self.person})" if self.person else self.role

    @property
    def wants_account(self) -> bool:
        """Whether a person answers it with an account."""
        return self.cause in MAPPINGS

    def key(self, company: str, period: str) -> str:
        """Return the identity of the action in the close of a month."""
        return key_of(company, period, self.cause, self.to_do, self.about, self.ids)


@dataclass(frozen=True)
class Waiting(Valued):
    """How much waits for the errors of one role."""

    role: str
    errors: int
    warnings: int
    money: Mapping[str, Money]


def key_of(company: str, period: str, cause: str, to_do: str, about: str, ids: Mapping[str, str | None]) -> str:
    """Return the identity of an action: other words, another thing or another month give another one."""
    # Spreadsheet programs keep the letters of a text, and not always its spaces.
    words = [" ".join(text.split()) for text in (cause, to_do, about)]
    said = [company, period, *words, *sorted((name, value) for name, value in ids.items() if value)]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:12]


Rows = Sequence[Mapping[str, Any]]


@dataclass(eq=False)
class Actions:
    """Makes the actions of a close from what its steps have found.

    Accounts are the findings of accounts and categories; jobs and created the outcomes of this run, of a dry run those
    that are planned; unknown_outcomes the command that settles each batch whose outcome is unknown.
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
        self._rows: dict[Any, list[int]] = defaultdict(list)
        columns = (self.entries[name].to_pylist() for name in ("id", "line", "fate"))
        for place, (entry, line, fate) in enumerate(zip(*columns, strict=True)):
            if fate != LEFT_OUT:
                self._rows[entry or line].append(place)
        self.findings = [row for row in self.findings if row["severity"] in SEVERITIES]
        self.accounts = [row for row in self.accounts if row["severity"] in SEVERITIES]

    def all(self) -> tuple[Action, ...]:
        """Return the actions: in doubt first, then those that free most money."""
        made = [*self._of_jobs(), *self._of_categories(), *self._of_entries(), *self._of_accounts()]
        return tuple(sorted([*made, *self._of_findings()], key=self._urgency))

    def by_role(self, actions: Sequence[Action]) -> tuple[Waiting, ...]:
        """Return how much waits for each role that has something to do; an entry that waits for two actions counts once."""
        waiting = []
        for role in ROLES:
            own = [action for action in actions if action.role == role]
            errors = [action for action in own if action.severity == "error"]
            money, _ = self._waiting({entry for action in errors for entry in action.entry_ids})
            waiting += [Waiting(role, len(errors), len(own) - len(errors), money)] if own else []
        return tuple(waiting)

    def _urgency(self, action: Action) -> tuple[Any, ...]:
        # First what may be booked, then what is booked otherwise than the service says.
        first = FIRST.index(action.cause) if action.cause in FIRST else len(FIRST)
        return first, SEVERITIES.index(action.severity), *largest_first(action.money, self.own)

    def _waiting(self, keys: Iterable[Any]) -> tuple[dict[str, Money], tuple[str, ...]]:
        """Return the money and the IDs of entries, by their IDs, or by their lines where they have none."""
        places = sorted({place for key in keys for place in self._rows.get(key, ())})
        if not places:
            return {}, ()
        rows = self.entries.take(pa.array(places, COUNT))
        return money_of(rows, self.own), tuple(dict.fromkeys(filter(None, rows["id"].to_pylist())))

    def _action(
        self, cause: str, severity: str, role: str, to_do: str, about: str, why: str, keys: Iterable[Any], **more: Any
    ) -> Action:
        """Return an action that the entries with these keys wait for."""
        money, ids = self._waiting(keys)
        # No name breaks a line or turns the direction of a text.
        about, why = visible_line(about), visible_line(why)
        return Action(cause, severity, role, to_do, about, why, money=money, entry_ids=ids, **more)

    def _ids_with(self, column: str, value: str) -> list[str]:
        ids: list[str] = self.entries.filter(pc.equal(self.entries[column], value))["id"].to_pylist()
        return ids

    def _of_jobs(self) -> Iterator[Action]:
        for batch, command in self.unknown_outcomes.items():
            own, later = self._ids_with("batch_id", batch), self._ids_with("reason", BLOCKED)
            also = f"; {len({*later}):,} entries of later export jobs wait for it" if later else ""
            yield self._action(
                "in_doubt", "error", PREPARER, "look its entries up in the accounting system, then record the outcome",
                f"export job of {len({*own}):,} entries", f"the answer of the service was lost, so it may be booked{also}",
                [*own, *later], command=command, ids={"batch_id": batch},
            )  # fmt: skip
        for job in self.jobs:
            batch, outcome = job["batch_id"], job["outcome"]
            is_told = batch in self.unknown_outcomes or (outcome == "BLOCKED" and self.unknown_outcomes)
            if outcome in OF_JOBS and not is_told:
                why, to_do = OF_JOBS[outcome]
                yield self._action(
                    "export_job", "error", PREPARER, to_do,
                    f"export job of {counted(job['entries'], 'entry', 'entries')}",
                    f"{why}: {job['message']}" if job["message"] else why,
                    self._ids_with("batch_id", batch), ids={"batch_id": batch},
                )  # fmt: skip

    def _of_categories(self) -> Iterator[Action]:
        """Yield an action for each category whose account a person has to choose."""
        entries = defaultdict(list)
        for row in self.findings:
            if row["check"] in MAPPINGS:
                entries[row["category_id"]].append(_key(row))
        for row in self.coverage:
            # An archived category is no longer used: its entries get another one.
            if row["state"] in MAPPINGS and not row["archived"]:
                to_do, why = MAPPINGS[row["state"]]
                account = " ".join(filter(None, (row["external_id"], row["account_name"]))) or "at present"
                yield self._action(
                    row["state"], "error", SERVICE, to_do, f"category {row['name']}", why.format(account=account),
                    entries[row["category_id"]], category_ids=(row["category_id"],),
                    ids={name: row[name] for name in ("category_id", "account_id")},
                )  # fmt: skip

    def _of_entries(self) -> Iterator[Action]:
        """Yield an action for the entries that have one thing to correct, by person where the entries name one."""
        names = {row["category_id"]: row["name"] for row in self.coverage}
        groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = defaultdict(list)
        for row in self.findings:
            check = row["check"]
            if check in SOLVED_BY_OTHERS or OF_REASON.get(check) == LEFT_OUT or row["to_do"].startswith("nothing"):
                continue
            person = (row.get("employee_name") or "") if row["who"] == EMPLOYEE else ""
            category = row["category_id"] if check in OF_A_CATEGORY else None
            groups[check, row["severity"], row["who"], person, category, row["message"], row["to_do"]].append(row)
        for (check, severity, role, person, category, *_), rows in groups.items():
            words = _worded(rows, f"category {names.get(category) or 'unknown'}" if category else None)
            made = self._action(check, severity, role, *words, map(_key, rows), person=person)
            entry = made.entry_ids[0] if len(made.entry_ids) == 1 and not category else None
            categories = (category,) if category else ()
            yield replace(made, category_ids=categories, ids={"entry_id": entry, "category_id": category})

    def _of_accounts(self) -> Iterator[Action]:
        planned = [row for row in self.created if row["outcome"] == "PLANNED"]
        unknown = [row for row in self.accounts if row["check"] in OF_UNKNOWN]
        categories = tuple(row["category_id"] for row in unknown if row["category_id"])
        if planned:
            yield self._action(
                "planned_accounts", "error", PREPARER, AGAIN, f"{len(planned):,} accounts of the chart",
                "they are not created yet; which categories they belong to is known then",
                self._ids_with("reason", PLANNED_ACCOUNT), category_ids=categories,
            )  # fmt: skip
        elif unknown:
            codes = [row["external_id"] for row in unknown if row["check"] == "account_id_unknown"]
            entries = [_key(row) for row in self.findings if row["check"] == UNKNOWN]
            parts = [f"the accounts of {len(categories):,} categories"] if categories else []
            parts += (
                [f"{len(codes):,} accounts that exist in the service ({first_of(codes, SHOWN_ENTRIES)})"]
                if codes
                else []
            )
            severity = "error" if categories or self._waiting(entries)[1] else "warning"
            yield self._action(
                UNKNOWN, severity, PREPARER, "import the account list of the service",
                " and ".join(parts), "bktools does not know their IDs", entries,
                category_ids=categories, command=self.import_accounts,
            )  # fmt: skip
        for row in self.created:
            if row["outcome"] in OF_ACCOUNTS:
                why, role, to_do = OF_ACCOUNTS[row["outcome"]]
                about = f"account {row['code'] or row['external_id']} {row['name'] or ''}".strip()
                yield self._action(
                    "account_not_created", "error", role, to_do, about, f"{why}: {row['message']}", (),
                    ids={"external_id": row["external_id"]},
                )  # fmt: skip

    def _of_findings(self) -> Iterator[Action]:
        """Yield an action for each other finding of accounts and categories; the differences of an account are one."""
        groups = defaultdict(list)
        for place, row in enumerate(sorted(self.accounts, key=lambda row: row["check"] in UPDATES)):
            if row["check"] not in TOLD_ELSEWHERE:
                groups[row["external_id"] if row["check"] in UPDATES else place].append(row)
        for row, *others in groups.values():
            severity = min((one["severity"] for one in (row, *others)), key=SEVERITIES.index)
            noun = "category" if row["category_id"] else "account" if row["external_id"] else ""
            about, why = f"{noun} {row['about']}".strip(), "; ".join(map(_fact, (row, *others)))
            # The fact stands beside the name.
            subject = next((name for name in (about, row["about"]) if why.startswith(f"{name} ")), None)
            yield self._action(
                "update_account" if row["check"] in UPDATES else row["check"], severity, row["who"], row["to_do"], about,
                why if subject is None else f"it{why.removeprefix(subject)}", (),
                category_ids=(row["category_id"],) if row["category_id"] else (),
                ids={name: row[name] or None for name in ("category_id", "account_id", "external_id")},
            )  # fmt: skip


def _fact(row: Mapping[str, Any]) -> str:
    # The step stands beside it.
    return str(row["message"]).removesuffix(f": {row['to_do']}")


def _key(row: Mapping[str, Any]) -> Any:
    return row["id"] or row.get("line")


def _worded(rows: Rows, category: str | None) -> tuple[str, str, str]:
    """Return the step, its subject and the fact, from the words of a check, which are about one entry."""
    to_do, why = rows[0]["to_do"], rows[0]["message"]
    if category:
        return to_do, category, why.replace("its category", "it", 1)
    names = list(dict.fromkeys(str(row["about"]) for row in rows))
    if len(rows) == 1:
        return to_do, names[0], why
    to_do, why = of_several(to_do, why)
    return to_do, f"{len(rows):,} entries: {first_of(names, SHOWN_ENTRIES, between='; ')}", why


def table_of(actions: Iterable[Action]) -> pa.Table:
    """Return actions as a table: one row per action and currency, because amounts are never added over currencies."""
    texts = ("severity", "role", "person", "to_do", "about", "why", "cause", "command")
    lists = ("entry_ids", "category_ids")
    rows = (
        Sum(
            {name: getattr(action, name) for name in texts}
            | {name: action.ids.get(name) for name in IDS}
            | {name: " ".join(getattr(action, name)) for name in lists},
            action.money or NO_ENTRIES,
        )
        for action in actions
    )
    order = (*texts[:6], "entries", "amount", "currency", *texts[6:], *IDS, *lists)
    return by_currency((*texts, *IDS, *lists), rows).select(order)
