"""The accounts in the journal: created, imported, or reported by the service as existing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd
import pyarrow as pa

from bktools.connection import service_or_default
from bktools.contract.accounts import CompanyInFile
from bktools.frames.schema import ACCOUNTS, KNOWN_STATES
from bktools.journal import clock
from bktools.journal.database import Connection, Row
from bktools.journal.journal import Journal
from bktools.journal.records import Facts, dumped, inserting, loaded
from bktools.journal.sentences import sentence_of
from bktools.journal.tables import frame_of, opened, table_of
from bktools.journal.writable import WritableJournal
from bktools.service import Service

# The columns of the journal's accounts: their identity, and what is known of them.
KEY = ("company_id", "external_id")
_VALUES = ("account_id", "name", "code", "tax_code_external_id", "archived", "metadata")
KNOWN = ("state", *_VALUES, "facts", "updated_at")
# The event of an account that a complete list lacks; it is no longer among the accounts.
RETIRED = "RETIRED"
_WRITE = (
    f"{inserting('accounts', KEY + KNOWN)} ON CONFLICT (company_id, external_id) "
    f"DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in KNOWN)}"
)


def record_accounts(
    journal: WritableJournal, rows: Iterable[Mapping[str, Any]], *, complete: str | None = None
) -> list[str]:
    """Write accounts to the journal, all of them or none; return the external IDs of those that it forgets.

    A row has KEY, `state`, `facts` and any others of KNOWN: a field that is missing keeps its value, None
    clears it. `complete` is the name of a list that has all accounts of its companies: the others that were
    known are forgotten.
    """
    rows = list(rows)
    if not rows:
        return []
    stamp, written = clock.now().isoformat(), []
    with journal.right_transaction() as connection:
        before = known_accounts(journal, map(key_of, rows))
        for row in rows:
            account = {**dict.fromkeys(KNOWN), **before.get(key_of(row), {}), **row, "updated_at": stamp}
            # PostgreSQL takes no flag as a number.
            account["archived"] = None if account["archived"] is None else int(account["archived"])
            account["facts"] = dumped(row.get("facts") or {})
            written.append([account[name] for name in KEY + KNOWN])
            _record(journal, connection, row, row["state"], row.get("facts") or {})
        connection.executemany(_WRITE, written)
        missing = _missing(journal, rows) if complete else []
        for row in missing:
            connection.execute("DELETE FROM accounts WHERE company_id = $1 AND external_id = $2", key_of(row))
            _record(journal, connection, row, RETIRED, {"list": complete})
    journal.remember()
    return [row["external_id"] for row in missing]


def _record(journal: Journal, connection: Connection, row: Row, state: str, facts: Facts) -> None:
    facts = {"external_id": row["external_id"], **facts}
    journal.record(connection, "account", state=state, company_id=row["company_id"], facts=facts)


def _missing(journal: Journal, listed: Iterable[Row]) -> list[Row]:
    """Return the known accounts of the listed companies that the list lacks."""
    keys = {*map(key_of, listed)}
    companies = {company_id for company_id, _ in keys}
    rows = journal.rows("SELECT company_id, external_id, state FROM accounts ORDER BY external_id")
    own = [row for row in rows if row["company_id"] in companies and row["state"] in KNOWN_STATES]
    return [row for row in own if key_of(row) not in keys]


def key_of(account: Mapping[str, Any]) -> tuple[str, str]:
    """Return what an account is known by: its company and its external ID."""
    return account["company_id"], account["external_id"]


def known_accounts(journal: Journal, keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Row]:
    """Return those of some accounts that the journal has, by company and external ID."""
    wanted = {*keys}
    journal.wanted(external_id for _, external_id in wanted)
    rows = journal.rows("SELECT * FROM accounts WHERE external_id IN (SELECT id FROM wanted)")
    return {key_of(row): row for row in rows if key_of(row) in wanted}


def remember_chart(journal: WritableJournal, company_id: str, named: CompanyInFile) -> None:
    """Write which company the file of a chart names, unless it is the one of the last chart."""
    if companies_in_charts(journal).get(company_id) != named:
        with journal.right_transaction() as connection:
            journal.record(connection, "chart_used", company_id=company_id, facts={"chart": [*named]})


def companies_in_charts(journal: Journal) -> dict[str, CompanyInFile]:
    """Return the company that the last chart's file named, by the company that got accounts from it."""
    events = journal.events("chart_used")
    return {str(event.company_id): CompanyInFile(*event.facts["chart"]) for event in events}


def load_accounts(company: str | None = None, *, service: Service | None = None) -> pd.DataFrame:
    """Return the accounts in the journal: created, matched or imported. The service cannot list accounts.

    Parameters
    ----------
    company : str, optional
        UUID or short name of a company. Default: all companies.
    service : Service, optional
        Default: the configured one. Only its journal is used; nothing is sent.

    Returns
    -------
    DataFrame
        One row per account: company_id, external_id, state (CREATED, MATCHED, IMPORTED; EXISTS where the
        account exists and its id is unknown; REJECTED, UNKNOWN, SENDING where it may not exist), id, name,
        code, tax_code_external_id, archived, metadata (JSON text), message, updated_at (UTC).

    Raises
    ------
    ArgumentError
        When `company` is not a UUID.
    JournalError, StorageError
        When the journal cannot be read.

    Notes
    -----
    Accounts: interface, section 2.4.

    Examples
    --------
    >>> import bktools
    >>> with bktools.Sandbox() as service:
    ...     len(bktools.load_accounts(service=service))
    0
    """
    service = service_or_default(service)
    with opened(company, service) as (journal, company_id):
        accounts = accounts_in(journal, company_id)
        charts = companies_in_charts(journal)
    about = {"companies_in_charts": charts} if charts else {}
    return frame_of(accounts, "accounts", service, **about)


def accounts_in(journal: Journal, company_id: str | None) -> pa.Table:
    """Return the accounts of an open journal, of a company or of all."""
    sql = """SELECT *, account_id AS id FROM accounts
        WHERE CAST($1 AS TEXT) IS NULL OR company_id = $1 ORDER BY company_id, external_id"""
    rows = [
        {**row, "message": sentence_of(row["state"], loaded(row["facts"])) or None}
        for row in journal.rows(sql, company_id)
    ]
    return table_of([rows], ACCOUNTS)
