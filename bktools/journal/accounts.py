"""The accounts in the journal: created, imported, or reported by the service as existing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from bktools.connection import service_or_default
from bktools.contract import rules
from bktools.contract.accounts import LONGEST_TEXT, CompanyInFile
from bktools.errors import ArgumentError, InputError
from bktools.frames.incoming import arrow_of
from bktools.frames.schema import ACCOUNTS, KNOWN_STATES, to_pandas
from bktools.inputs.options import Columns
from bktools.inputs.readers.accounts import read_accounts
from bktools.journal.journal import Journal
from bktools.journal.records import INSERT_EVENT, Row, dumped, loaded, now
from bktools.journal.said import said
from bktools.journal.tables import opened, table_of
from bktools.journal.writing import WritableJournal, open_for_writing
from bktools.service import Service

# The columns of the journal's accounts: their identity, and what is known of them.
KEY = ("company_id", "external_id")
KNOWN = (
    "state",
    "account_id",
    "name",
    "code",
    "tax_code_external_id",
    "archived",
    "metadata",
    "facts",
    "updated_at",
)
_WRITE = (
    f"INSERT INTO accounts ({', '.join(KEY + KNOWN)}) VALUES ({', '.join('?' * len(KEY + KNOWN))}) "
    "ON CONFLICT (company_id, external_id) "
    f"DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in KNOWN)}"
)

# The optional columns of a list of accounts.
OPTIONAL = ("name", "code", "tax_code_external_id", "archived", "metadata")

# The event of an account that a complete list lacks; it is no longer among the accounts.
RETIRED = "RETIRED"


def record_accounts(
    journal: WritableJournal, rows: Iterable[Mapping[str, Any]], *, complete: str | None = None
) -> list[tuple[str, str]]:
    """Write accounts to the journal, all of them or none; return company and external ID of each retired one.

    A row has KEY, `state`, `facts` and any others of KNOWN: a field that is missing keeps its value, None
    clears it. `complete` is the name of a list that has all accounts of its companies: the others that were
    known are retired.
    """
    rows = list(rows)
    if not rows:
        return []
    stamp, listed = now().isoformat(), set(map(key_of, rows))
    with journal.transaction() as connection:
        before = known_accounts(journal, listed)
        written, changes = [], []
        for row in rows:
            key = key_of(row)
            account = {**dict.fromkeys(KNOWN), **before.get(key, {}), **row, "updated_at": stamp}
            # PostgreSQL takes no flag as a number.
            account["archived"] = None if account["archived"] is None else int(account["archived"])
            account["facts"] = dumped(row.get("facts") or {})
            written.append([account[name] for name in KEY + KNOWN])
            changes.append((key, row["state"], row.get("facts") or {}))
        connection.executemany(_WRITE, written)
        missing = _missing(journal, listed) if complete else []
        for key in missing:
            connection.execute("DELETE FROM accounts WHERE company_id = ? AND external_id = ?", key)
            changes.append((key, RETIRED, {"list": complete}))
        connection.executemany(
            INSERT_EVENT,
            (
                (
                    stamp,
                    "account",
                    state,
                    company_id,
                    *(None,) * 3,
                    *journal.writer(),
                    dumped({"external_id": name, **facts}),
                )
                for (company_id, name), state, facts in changes
            ),
        )
    return missing


def key_of(account: Mapping[str, Any]) -> tuple[str, str]:
    """Return what an account is known by: its company and its external ID."""
    return account["company_id"], account["external_id"]


def known_accounts(journal: Journal, keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Row]:
    """Return those of some accounts that the journal has, by company and external ID."""
    wanted = {*keys}
    journal.wanted(external_id for _, external_id in wanted)
    rows = journal.rows("SELECT * FROM accounts WHERE external_id IN (SELECT id FROM wanted)")
    return {key_of(row): row for row in rows if key_of(row) in wanted}


def _missing(journal: Journal, listed: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the known accounts of the listed companies that the list lacks."""
    sql = "SELECT company_id, external_id, state FROM accounts WHERE company_id = ?"
    rows = [
        row
        for company_id in {company_id for company_id, _ in listed}
        for row in journal.rows(sql, company_id)
    ]
    return [key_of(row) for row in rows if row["state"] in KNOWN_STATES and key_of(row) not in listed]


def remember_chart(journal: WritableJournal, company_id: str, named: CompanyInFile) -> None:
    """Write which company the file of a chart names, unless it is the one of the last chart."""
    if companies_in_charts(journal).get(company_id) != named:
        with journal.transaction() as connection:
            journal.record(connection, "chart_used", company_id=company_id, facts={"chart": [*named]})


def companies_in_charts(journal: Journal) -> dict[str, CompanyInFile]:
    """Return the company that the last chart's file named, by the company that got accounts from it."""
    sql = "SELECT company_id, facts FROM events WHERE code = 'chart_used' ORDER BY event_id"
    return {row["company_id"]: CompanyInFile(*loaded(row["facts"])["chart"]) for row in journal.rows(sql)}


def load_accounts(company: str | None = None, *, service: Service | None = None) -> pd.DataFrame:
    """Return the accounts in the journal: created, matched or imported. The service cannot list accounts.

    Parameters
    ----------
    company : str, optional
        UUID or short name of a company. Default: all companies.
    service : Service, optional
        Default: the configured one. Only its journal is read; nothing is sent.

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
    about = {
        "environment": service.settings.environment,
        "table": "accounts",
        "rows": len(accounts),
        "complete": True,
    }
    return to_pandas(accounts, about | ({"companies_in_charts": charts} if charts else {}))


def accounts_in(journal: Journal, company_id: str | None) -> pa.Table:
    """Return the accounts of an open journal, of a company or of all."""
    sql = """SELECT *, account_id AS id FROM accounts
        WHERE CAST(?1 AS TEXT) IS NULL OR company_id = ?1 ORDER BY company_id, external_id"""
    rows = [
        {**row, "message": said(row["state"], loaded(row["facts"])) or None}
        for row in journal.rows(sql, company_id)
    ]
    return table_of([rows], ACCOUNTS)


def import_accounts(
    source: str | Path | pd.DataFrame,
    *,
    company: str | None = None,
    columns: Columns | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | int | None = None,
    complete: bool = False,
    service: Service | None = None,
) -> pd.DataFrame:
    """Import accounts that were created elsewhere, from the list that the service's user interface exports.

    Parameters
    ----------
    source : path or DataFrame
        Columns id (UUID) and external_id; optionally name, code, archived, tax_code_external_id, company_id.
        A field without a column keeps its value in the journal.
    company : str, optional
        UUID or short name of the company, for a list without company_id. Default: the configured company.
    columns : mapping, optional
        For a file: field to heading, for headings not recognised. An empty heading leaves the field out.
    delimiter, encoding : str, optional
        For a text file.
    sheet : str or int, optional
        For a workbook: name of the sheet, or its position from 0.
    complete : bool
        True if the list has all accounts of its companies: accounts of these companies that it lacks are
        known no longer. The journal's events keep them.
    service : Service, optional
        Default: the configured one. Only its journal is written; nothing is sent.

    Returns
    -------
    DataFrame
        All accounts in the journal afterwards, as `load_accounts` returns them. For a file,
        `attrs["bktools"]["imported"]` describes how it was read; `attrs["bktools"]["retired"]` lists the
        external IDs that a complete list lacks.

    Raises
    ------
    ArgumentError, InputError
        When the list cannot be read, a value breaks a rule, an external ID is repeated, or the company is
        unknown; nothing was changed.

    Notes
    -----
    Accounts: interface, section 2.4.

    Examples
    --------
    >>> import bktools, pandas as pd
    >>> row = {"id": "123e4567-e89b-42d3-a456-426614174000", "external_id": "0400", "name": "Bank"}
    >>> made = pd.DataFrame([row])
    >>> with bktools.Sandbox() as service:
    ...     known = bktools.import_accounts(made, service=service)
    >>> known["state"].to_list()
    ['IMPORTED']
    """
    service, about = service_or_default(service), None
    reading: dict[str, Any] = {
        "columns": columns,
        "delimiter": delimiter,
        "encoding": encoding,
        "sheet": sheet,
    }
    if isinstance(source, pd.DataFrame):
        for argument, value in reading.items():
            if value is not None:
                raise ArgumentError(argument, "is for a file, not for a frame", value)
        name, frame = "the frame", source
    else:
        name = str(source)
        frame = read_accounts(source, **reading)
        about = frame.attrs["bktools"]
        # The reader adds empty columns for missing fields; they must not clear known values.
        frame = frame[list(about["columns"])]
    rows = list(_imported(frame, name, company or service.settings.company))
    if rules.flag("complete", complete) and not rows:
        raise InputError("has no account, so it cannot be complete: nothing was changed", source=name)
    with open_for_writing(service.settings) as journal:
        retired = record_accounts(journal, rows, complete=Path(name).name if complete else None)
    accounts = load_accounts(service=service)
    accounts.attrs["bktools"]["retired"] = [external_id for _, external_id in retired]
    accounts.attrs["bktools"]["imported"] = about
    return accounts


def _imported(frame: pd.DataFrame, source: str, fallback: str | None) -> Iterator[dict[str, Any]]:
    """Yield each account of a list as a checked row for the journal."""
    missing = [column for column in ("id", "external_id") if column not in frame.columns]
    if missing:
        raise InputError(
            f"has no column {missing[0]}; it has {', '.join(map(str, frame.columns))}", source=source
        )
    seen: dict[tuple[str, str], int] = {}
    for number, row in enumerate(arrow_of(frame).to_pylist(), 1):
        where = f"of account {number} in {source}"
        company_id = row.get("company_id") or fallback
        if company_id is None:
            raise InputError(
                "has no company_id: name the company of its accounts with company= (--company)", source=source
            )
        account: dict[str, Any] = {
            "company_id": rules.uuid_text(f"company_id {where}", company_id),
            "external_id": rules.text(
                f"external_id {where}", row["external_id"], shortest=1, longest=LONGEST_TEXT
            ),
            "account_id": rules.uuid_text(f"id {where}", row["id"]),
            "state": "IMPORTED",
            "facts": {"file": Path(source).name},
        }
        for name in row.keys() & OPTIONAL:
            check = rules.flag if name == "archived" else rules.text
            account[name] = None if row[name] is None else check(f"{name} {where}", row[name])
        first = seen.setdefault(key_of(account), number)
        if first != number:
            raise InputError(
                f"has the external ID {account['external_id']} twice (accounts {first} and {number}): "
                "keep one of them",
                source=source,
            )
        yield account
