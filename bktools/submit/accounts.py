"""`create_accounts`: creates the accounts that are missing in the service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa

from bktools.caller import setting
from bktools.connection import service_or_default
from bktools.contract import rules
from bktools.contract.accounts import create_body
from bktools.errors import (
    ArgumentError,
    AuthenticationError,
    DuplicateAccountError,
    InputError,
    NotSentError,
    RateLimitedError,
    ScopeError,
    ServiceError,
    StatusError,
)
from bktools.frames.schema import KNOWN_STATES, TEXT, to_pandas
from bktools.inputs.terms import is_total
from bktools.journal.accounts import key_of, known_accounts, record_accounts, remember_chart
from bktools.journal.records import Facts
from bktools.journal.sentences import sentence_of
from bktools.journal.writable import WritableJournal
from bktools.journal.writing import open_for_writing
from bktools.progress import progress as progress_bar
from bktools.reconcile.reconciliation import Reconciliation
from bktools.service import Service
from bktools.service.retry import Budget, RetryPolicy, is_repeatable, repeated
from bktools.settings import require_writable
from bktools.submit.outcome_frame import outcome_frame
from bktools.wording import Sentence, words

# Most requests for an account. A repeat adds none: (externalId, companyId) is unique in the service.
ATTEMPTS = 3

# Intents written at once; each group is on disk before its first request.
GROUP = 100

# Errors that every further account would get too.
STOPPING = (NotSentError, AuthenticationError, ScopeError, RateLimitedError)

VALUES = ("name", "code", "tax_code_external_id", "archived")
NEEDED = ("company_id", "external_id", "action", *VALUES)

OUTCOME_SCHEMA = pa.schema(
    dict.fromkeys(("company_id", "external_id", "code", "name", "outcome", "id", "message"), TEXT)
)


def create_accounts(
    reconciliation: Reconciliation,
    *,
    apply: bool = False,
    new_chart: bool = False,
    progress: bool | None = None,
    service: Service | None = None,
) -> pd.DataFrame:
    """Create the accounts that are missing in the service. Default: a dry run that sends nothing.

    Parameters
    ----------
    reconciliation : Reconciliation
        As `reconcile_accounts` returns it. Only its `create` actions are carried out; others are for a
        person.
    apply : bool
        True to write to the service.
    new_chart : bool
        True when the company really has the chart that looks like another company's
        (`Reconciliation.another_chart`). Without it nothing is written from such a chart, because accounts
        cannot be deleted.
    progress : bool, optional
        Show a bar. Default: in a terminal or a notebook.
    service : Service, optional
        Default: the configured one.

    Returns
    -------
    DataFrame
        One row per account to create: company_id, external_id, code, name, outcome, id, message. Outcomes:
        CREATED; MATCHED (it existed, with this id); EXISTS (it existed, its id is unknown: import it);
        REJECTED (refused, or not sent, because it has no name or is a total); UNKNOWN (safe to run again).
        Without `apply`: PLANNED.

    Raises
    ------
    ServiceError
        When the service cannot be reached or refuses the credential. Safe to run again: created accounts are
        in the journal and are skipped.
    ArgumentError, InputError
        When the argument is not a reconciliation, an account breaks a rule of the interface, or, with
        `apply`, the chart looks like another company's; nothing is sent.

    Notes
    -----
    Accounts: interface, sections 2.4 and 4.3.

    Examples
    --------
    >>> import bktools, pandas as pd
    >>> with bktools.Sandbox() as service:
    ...     chart = pd.DataFrame({
    ...         "external_id": ["0400"], "code": ["0400"], "name": ["Bank"], "archived": [False],
    ...         "tax_code_external_id": [None], "company_id": [service.settings.company]})
    ...     known = bktools.load_accounts(service=service)
    ...     categories = bktools.load_categories(service=service)
    ...     reconciliation = bktools.reconcile_accounts(chart, known, categories)
    ...     made = bktools.create_accounts(reconciliation, apply=True, service=service)
    >>> made["outcome"].to_list()
    ['CREATED']
    """
    if not isinstance(reconciliation, Reconciliation):
        raise ArgumentError(
            "reconciliation",
            Sentence("rule.made_by", function="reconcile_accounts", kind=type(reconciliation).__name__),
        )
    service, apply = service_or_default(service), rules.flag("apply", apply)
    if apply:
        require_writable(service.settings)
    with open_for_writing(service.settings) as journal:
        rows = create_with(
            journal, reconciliation, service, apply=apply, new_chart=new_chart, progress=progress
        )
    table = pa.Table.from_pylist(rows, schema=OUTCOME_SCHEMA)
    about = {"environment": service.settings.environment, "applied": apply, "rows": len(rows)}
    return outcome_frame(to_pandas(table, about))


def create_with(
    journal: WritableJournal,
    reconciliation: Reconciliation,
    service: Service,
    *,
    apply: bool,
    new_chart: bool,
    progress: bool | None = None,
) -> list[dict[str, Any]]:
    """Create accounts as `create_accounts` does, with an open journal; return a row for each."""
    rows, wanted = [], []
    # Check every account before sending the first.
    for action in reconciliation.table("actions").select(list(NEEDED)).to_pylist():
        if action["action"] == "create":
            if why := why_no_account(action):
                rows.append(_row(action, "REJECTED", None, why))
            else:
                wanted.append(_checked(action))
    doubt = "" if rules.flag("new_chart", new_chart) else reconciliation.another_chart
    if not apply:
        option = setting("new_chart", value=True) if doubt else None
        message = words()("submit.would_be_created", option=option)
        return [*rows, *(_row(account, "PLANNED", None, message) for account in wanted)]
    if doubt:
        option = setting("new_chart", value=True)
        raise InputError(Sentence("submit.another_chart", doubt=doubt, option=option))
    with progress_bar("accounts", total=len(wanted), unit="account", shown=progress) as bar:
        for company_id, named in reconciliation.companies_now.items():
            remember_chart(journal, company_id, named)
        for row in _created(journal, wanted, service):
            rows.append(row)
            bar.update(1)
    return rows


def why_no_account(action: Mapping[str, Any]) -> str:
    """Return why a row of a chart is no account and is not created, "" for an account."""
    if not (action["name"] or "").strip():
        return words()("submit.account_without_name")
    if is_total(action["name"], action["code"]):
        return words()("submit.account_is_total")
    return ""


def _checked(account: Mapping[str, Any]) -> dict[str, Any]:
    """Check an account and return the arguments that create it."""
    # In a frame with gaps in other rows, the flag may have another type.
    values = {name: account[name] for name in VALUES} | {"archived": bool(account["archived"])}
    try:
        body = create_body(company_id=account["company_id"], external_id=account["external_id"], **values)
    except ArgumentError as error:
        text = words()("submit.cannot_be_created", account=account["external_id"], reason=error)
        raise InputError(text) from None
    return {"company_id": body["companyId"], "external_id": body["externalId"], **values}


def _created(
    journal: WritableJournal, wanted: Sequence[Mapping[str, Any]], service: Service
) -> Iterator[dict[str, Any]]:
    budget = Budget()
    for begin in range(0, len(wanted), GROUP):
        group = wanted[begin : begin + GROUP]
        known = known_accounts(journal, map(key_of, group))
        existing = {key: row for key, row in known.items() if row["state"] in KNOWN_STATES}
        new = [account for account in group if key_of(account) not in existing]
        record_accounts(journal, [_journal_row(account, "SENDING", {}) for account in new])
        answers: list[dict[str, Any]] = []
        try:
            for account in group:
                if row := existing.get(key_of(account)):
                    yield _row(account, row["state"], row["account_id"], words()("submit.exists_already"))
                    continue
                answer = _create_one(account, service, budget)
                answers.append(answer)
                message = sentence_of(answer["state"], answer["facts"])
                yield _row(account, answer["state"], answer.get("account_id"), message)
        finally:
            # A run that ends before this is written may leave accounts, which are safe to create again.
            record_accounts(journal, answers)


def _create_one(account: Mapping[str, Any], service: Service, budget: Budget) -> dict[str, Any]:
    """Send one create and return the row for the journal."""
    policy = RetryPolicy(attempts=min(ATTEMPTS, service.settings.retries + 1))
    try:
        answer = repeated(lambda: service.create_account(**account), policy, budget)
    except STOPPING:
        raise
    except DuplicateAccountError as error:
        return _journal_row(account, "EXISTS", {"said": str(error)})
    except ServiceError as error:
        # Only an answer of the class 4xx says that the service itself refuses the account.
        is_4xx = isinstance(error, StatusError) and 400 <= error.status < 500
        state = "REJECTED" if is_4xx and not is_repeatable(error) else "UNKNOWN"
        return _journal_row(account, state, {"said": str(error)})
    if (answer.company_id.lower(), answer.external_id) != key_of(account):
        text = words()("submit.another_account", id=answer.id)
        return _journal_row(account, "UNKNOWN", {"said": text})
    row = _journal_row(account, "MATCHED" if answer.matched else "CREATED", {})
    for name in VALUES:
        value = getattr(answer, name)
        row[name] = account[name] if value is None else value
    raw = bytes(answer.metadata)
    return row | {"account_id": answer.id.lower(), "metadata": None if raw == b"null" else raw.decode()}


def _journal_row(account: Mapping[str, Any], state: str, facts: Facts) -> dict[str, Any]:
    """Return the journal's row of an account without values: those of the service may be different."""
    company_id, external_id = key_of(account)
    about = {"company_id": company_id, "external_id": external_id, "state": state, "facts": facts}
    return about | dict.fromkeys(VALUES)


def _row(account: Mapping[str, Any], outcome: str, account_id: str | None, message: str) -> dict[str, Any]:
    about = {name: account[name] for name in ("company_id", "external_id", "code", "name")}
    return about | {"outcome": outcome, "id": account_id, "message": message}
