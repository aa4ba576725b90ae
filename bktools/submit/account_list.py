"""`import_accounts`: takes accounts that were created elsewhere from a list into the journal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Unpack

import pandas as pd

from bktools.connection import service_or_default
from bktools.contract import rules
from bktools.contract.accounts import LONGEST_TEXT
from bktools.errors import InputError
from bktools.frames.tables import in_memory
from bktools.inputs.options import TableOptions
from bktools.inputs.readers.accounts import read_accounts
from bktools.journal.accounts import key_of, load_accounts, record_accounts
from bktools.journal.writing import open_for_writing
from bktools.service import Service
from bktools.wording import Sentence

# The optional columns of a list of accounts.
OPTIONAL = ("name", "code", "tax_code_external_id", "archived", "metadata")


def import_accounts(
    source: str | Path | pd.DataFrame,
    *,
    company: str | None = None,
    complete: bool = False,
    service: Service | None = None,
    **options: Unpack[TableOptions],
) -> pd.DataFrame:
    """Import accounts that were created elsewhere, from the list that the service's user interface exports.

    Parameters
    ----------
    source : path or DataFrame
        Columns id (UUID) and external_id; optionally name, code, archived, tax_code_external_id, metadata and
        company_id. A field without a column keeps its value in the journal.
    company : str, optional
        UUID or short name of the company, for a list without company_id. Default: the configured company.
    complete : bool
        True if the list has all accounts of its companies: accounts of these companies that it lacks are
        known no longer. The journal's events keep them.
    service : Service, optional
        Default: the configured one. Only its journal is written; nothing is sent.
    **options
        How a file is read, as in `read_chart_of_accounts`, such as `columns` for other headings.

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
    service = service_or_default(service)
    if isinstance(source, pd.DataFrame):
        rules.refuse_unknown(options, ("company", "complete"), "import_accounts for a frame")
    frame = source if isinstance(source, pd.DataFrame) else read_accounts(source, **options)
    about = frame.attrs.get("bktools") or {}
    name = str(about.get("source") or "the frame")
    # The reader adds empty columns for missing fields; they must not clear known values.
    frame = frame[list(about["columns"])] if "columns" in about else frame
    rows = list(_imported(frame, name, company or service.settings.company))
    if rules.flag("complete", complete) and not rows:
        raise InputError(Sentence("submit.list_without_accounts"), source=name)
    with open_for_writing(service.settings) as journal:
        retired = record_accounts(journal, rows, complete=Path(name).name if complete else None)
    accounts = load_accounts(service=service)
    accounts.attrs["bktools"]["retired"] = retired
    accounts.attrs["bktools"]["imported"] = about
    return accounts


def _imported(frame: pd.DataFrame, source: str, fallback: str | None) -> Iterator[dict[str, Any]]:
    """Yield each account of a list as a checked row for the journal."""
    missing = [column for column in ("id", "external_id") if column not in frame.columns]
    if missing:
        columns = ", ".join(map(str, frame.columns))
        raise InputError(
            Sentence("submit.list_without_column", column=missing[0], columns=columns), source=source
        )
    seen: dict[tuple[str, str], int] = {}
    for number, row in enumerate(in_memory(frame).to_pylist(), 1):
        where = f"of account {number} in {source}"
        company_id = row.get("company_id") or fallback
        if company_id is None:
            raise InputError(Sentence("submit.no_company"), source=source)
        name, external_id = f"external_id {where}", row["external_id"]
        account: dict[str, Any] = {
            "company_id": rules.uuid_text(f"company_id {where}", company_id),
            "external_id": rules.text(name, external_id, shortest=1, longest=LONGEST_TEXT),
            "account_id": rules.uuid_text(f"id {where}", row["id"]),
        }
        account |= {"state": "IMPORTED", "facts": {"file": Path(source).name}}
        for name in row.keys() & OPTIONAL:
            check = rules.flag if name == "archived" else rules.text
            account[name] = None if row[name] is None else check(f"{name} {where}", row[name])
        first = seen.setdefault(key_of(account), number)
        if first != number:
            about = {"external_id": external_id, "first": first, "number": number}
            raise InputError(Sentence("submit.twice", **about), source=source)
        yield account
