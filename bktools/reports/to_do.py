"""What people have to do after a close: one action for each thing that a person does, with the money that waits for it."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa

from bktools.frames.engine import in_pandas
from bktools.frames.schema import COUNT, MONEY, TEXT, to_arrow, to_pandas
from bktools.reports.close import Close
from bktools.visible import visible_line

SERVICE, HERE = "in the service", "here"

# The states of a category whose account a person has to choose: what to do, and why.
MAPPINGS = {
    "no_account": ("give the category an account", "it has no account"),
    "archived_account": ("give the category another account", "its account {account} is archived"),
    "to_be_archived_account": ("give the category another account", "its account {account} is not in the active chart"),
}
# The checks of entries that such an action solves.
OF_CATEGORIES = ("no_account", "archived_account")

BY_HAND = ("update", "archive", "unarchive")
UNSENT = ("REJECTED", "UNKNOWN", "EXISTS")
SEVERITIES = ("error", "warning")

Amounts = Mapping[str, Decimal]


@dataclass(frozen=True)
class Action:
    """One action.

    Parameters
    ----------
    severity : str
        error: entries wait for it, or will; warning: somebody should look.
    who, to_do, about, why : str
        Who does it, what, about which thing by name, and why.
    check : str
        Name of the check or state that asks for it.
    entries : int
        Entries that wait for it.
    amounts : mapping of str to Decimal
        Their exact amounts by currency.
    ids : mapping of str to str
        Identifiers of the thing: category_id, account_id (its account at present), external_id, entry_id, batch_id.
    """

    severity: str
    who: str
    to_do: str
    about: str
    why: str
    check: str
    entries: int = 0
    amounts: Amounts = field(default_factory=dict)
    ids: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def wants_account(self) -> bool:
        """Whether a person answers it with an account."""
        return self.check in MAPPINGS

    def key(self, company: str, period: str) -> str:
        """Return the identity of the action in the close of a month."""
        return key_of(company, period, self.check, self.to_do, self.about, self.ids)


IDS = ("category_id", "account_id", "external_id", "entry_id", "batch_id")


def key_of(company: str, period: str, check: str, to_do: str, about: str, ids: Mapping[str, str | None]) -> str:
    """Return the identity of an action: other words, another thing or another month give another one."""
    # Spreadsheet programs keep the letters of a text, and not always its spaces.
    words = [" ".join(text.split()) for text in (check, to_do, about)]
    said = [company, period, *words, *sorted((name, value) for name, value in ids.items() if value)]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:12]


def actions_of(close: Close) -> list[Action]:
    """Return the actions of a close: errors first, then those with the most entries."""
    found = in_pandas_records(close.plan.findings)
    made = [*_jobs(close), *_categories(close, found), *_entries(found), *_accounts(close)]
    # No name breaks a line or turns the direction of a text.
    made = [replace(one, about=visible_line(one.about), why=visible_line(one.why)) for one in made]
    return sorted(made, key=lambda one: (SEVERITIES.index(one.severity), -one.entries))


def as_frame(actions: Iterable[Action]) -> pd.DataFrame:
    """Return actions as a table: one row per action and currency, because amounts are never added over currencies."""
    rows = [
        {
            "severity": one.severity,
            "who": one.who,
            "to_do": one.to_do,
            "about": one.about,
            "why": one.why,
            "entries": one.entries,
            "amount": amount,
            "currency": currency,
            "check": one.check,
        }
        | {name: one.ids.get(name) for name in IDS}
        for one in actions
        for currency, amount in one.amounts.items() or [(None, None)]
    ]
    amounts = pa.array([row["amount"] for row in rows])
    amounts = amounts.cast(MONEY) if pa.types.is_null(amounts.type) else amounts
    texts = ("severity", "who", "to_do", "about", "why", "currency", "check", *IDS)
    columns = {name: pa.array([row[name] for row in rows], TEXT) for name in texts}
    columns |= {"entries": pa.array([row["entries"] for row in rows], COUNT), "amount": amounts}
    order = ("severity", "who", "to_do", "about", "why", "entries", "amount", "currency", "check", *IDS)
    return to_pandas(pa.table({name: columns[name] for name in order}))


def in_pandas_records(frame: Any) -> list[dict[str, Any]]:
    """Return the rows of a frame; missing values are None, amounts exact."""
    rows: list[dict[str, Any]] = to_arrow(in_pandas(frame)).to_pylist()
    return rows


def sums(rows: Iterable[Mapping[str, Any]]) -> dict[str, Decimal]:
    """Return the exact amounts of entries by currency, the currencies in alphabetical order."""
    found: dict[str, Decimal] = defaultdict(Decimal)
    for row in rows:
        if row.get("amount") is not None:
            found[row.get("currency") or "no currency"] += Decimal(row["amount"])
    return dict(sorted(found.items()))


def _jobs(close: Close) -> Iterator[Action]:
    if not close.applied:
        return
    of_batch = defaultdict(list)
    for row in to_arrow(close.plan.rows).to_pylist():
        of_batch[row["batch_id"]].append(row)
    for job in in_pandas_records(close.jobs):
        if job["outcome"] != "ACCEPTED":
            waiting = of_batch[job["batch_id"]]
            in_doubt = job["outcome"] == "UNKNOWN"
            yield Action(
                "error",
                HERE,
                f"bktools export resolve {job['batch_id']}" if in_doubt else "run month-end again with --apply",
                f"export job of {len(waiting):,} entries",
                job["message"] or job["outcome"],
                "export_job",
                len(waiting),
                sums(waiting),
                {"batch_id": job["batch_id"]},
            )


def _categories(close: Close, found: list[dict[str, Any]]) -> Iterator[Action]:
    """Yield an action for each category whose account a person has to choose; entries of all its errors wait for it."""
    waiting = defaultdict(list)
    for row in found:
        if row["check"] in OF_CATEGORIES:
            waiting[row.get("category_id")].append(row)
    for row in in_pandas_records(close.after.coverage):
        entries = waiting.get(row["category_id"], [])
        if row["state"] in MAPPINGS and (entries or not row["archived"]):
            to_do, why = MAPPINGS[row["state"]]
            account = " ".join(filter(None, (row["external_id"], row["account_name"])))
            ids = {"category_id": row["category_id"], "account_id": row["account_id"]}
            about = f"category {row['name']}"
            yield Action(
                "error", SERVICE, to_do, about, why.format(account=account or "at present"), row["state"],
                len(entries), sums(entries), ids,
            )  # fmt: skip


def _entries(found: list[dict[str, Any]]) -> Iterator[Action]:
    """Yield an action for each entry that somebody corrects, and one for all entries of a check that is solved here."""
    here = defaultdict(list)
    for row in found:
        if row["severity"] not in SEVERITIES or row["check"] in OF_CATEGORIES or row["to_do"].startswith("nothing"):
            continue
        if row["who"] == HERE:
            here[row["check"]].append(row)
        else:
            ids = {"entry_id": row.get("id"), "category_id": row.get("category_id")}
            yield _of_entries([row], row["about"], ids)
    for rows in here.values():
        yield _of_entries(rows, rows[0]["about"] if len(rows) == 1 else f"{len(rows):,} entries", {})


def _of_entries(rows: list[dict[str, Any]], about: str, ids: Mapping[str, str | None]) -> Action:
    first = rows[0]
    return Action(
        first["severity"], first["who"], first["to_do"], about, first["message"], first["check"], len(rows), sums(rows), ids
    )  # fmt: skip


def _accounts(close: Close) -> Iterator[Action]:
    """Yield the actions for accounts: the service's interface can only create them."""
    for row in in_pandas_records(close.after.actions):
        if row["action"] in BY_HAND:
            about = " ".join(filter(None, ("account", row["code"] or row["external_id"], row["name"])))
            ids = {"account_id": row["account_id"], "external_id": row["external_id"]}
            yield Action(
                "warning", SERVICE, f"{row['action']} the account", about, row["why"], f"{row['action']}_account", ids=ids
            )  # fmt: skip
    for row in in_pandas_records(close.accounts):
        if row["outcome"] in UNSENT:
            about = f"account {row['code'] or row['external_id']} {row['name']}"
            yield Action(
                "error", HERE, "correct the chart, or import the account list", about, row["message"] or row["outcome"],
                "account_not_created", ids={"external_id": row["external_id"]},
            )  # fmt: skip
    planned = int((close.accounts["outcome"] == "PLANNED").sum())
    if planned:
        yield Action(
            "error", HERE, "run month-end again with --apply", f"{planned:,} accounts of the chart",
            "they are not created yet", "accounts_planned",
        )  # fmt: skip
