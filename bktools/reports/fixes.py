"""Reads the sheet "to do" of a workbook: checks what people filled in, and says what is done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import Any

import pandas as pd
import pyarrow as pa

from bktools.close.actions import ANSWERED, IDS
from bktools.connection import company_named
from bktools.contract import rules
from bktools.errors import InputError, SheetNotFoundError
from bktools.frames.schema import COUNT, KNOWN_STATES, TEXT, Month, to_pandas
from bktools.frames.tables import in_memory, require_columns
from bktools.inputs.headings import read_headed
from bktools.inputs.table import Table
from bktools.inputs.terms import normal
from bktools.reports.workbook import BETWEEN, FORMAT, LINES, account_label
from bktools.wording import LANGUAGES, Sentence, words

# The columns of the sheet that are read; `report.column` of the wording has their headings.
SHEET_COLUMNS = ("to_do", "about", "new_account", "note", "check", *IDS)
# The sheet has words and codes of checks; the codes are read.
HEADED = {"check": "check_code"}
# The company, month and environment of a workbook's lines.
BOOKS = {"company_id": TEXT, "period": TEXT, "environment": TEXT}
FIXES = pa.schema({"line": COUNT} | dict.fromkeys(SHEET_COLUMNS, TEXT) | BOOKS)

OPEN, DONE, DIFFERENT, NOTED, WRONG = "open", "done", "done_differently", "note", "not_valid"
CHECKED = pa.schema(
    dict.fromkeys(
        ("outcome", "about", "to_do", "account_now", "new_account", "note", "message", "period"), TEXT
    )
    | {"line": COUNT}
    | dict.fromkeys(("category_id", "account_id"), TEXT)
)


def read_fixes(
    path: str | PathLike[str], *, company: str | None = None, month: Month | None = None
) -> pd.DataFrame:
    """Read what people filled in on the sheet "to do" of a close's workbook.

    Parameters
    ----------
    path : path
        The workbook, saved by any spreadsheet program.
    company : str, optional
        UUID or short name of the company that it must be of.
    month : str, Period, date or datetime, optional
        The month that it must be of, as 2026-10.

    Returns
    -------
    DataFrame
        One row per line with an account or a note: line (of the sheet), to_do, about, new_account and note
        (as filled in), check, category_id, account_id (the category's account at the close), external_id,
        entry_id, batch_id, company_id, period, environment.

    Raises
    ------
    InputError
        When the file is no workbook of a close, or of another company or month.
    ArgumentError
        When company or month are not what they must be.

    Notes
    -----
    Categories and accounts: interface, sections 2.1 and 2.4.

    Examples
    --------
    >>> import bktools, tempfile
    >>> with bktools.Sandbox() as service, tempfile.TemporaryDirectory() as folder:
    ...     chart = bktools.read_chart_of_accounts("data/chart_of_accounts.csv")
    ...     entries = bktools.read_entries("data/accounting_entries.csv")
    ...     close = bktools.close_month(chart, entries, folder=f"{folder}/october", service=service)
    ...     len(bktools.read_fixes(close.folder / "month-end.xlsx"))
    0
    """
    company = None if company is None else company_named(company)
    month = None if month is None else rules.month("month", month)
    hidden, source = _identity(path), str(path)
    if company not in {None, hidden["company_id"]}:
        facts = {"of": hidden["company_id"], "company": company}
        raise InputError(Sentence("error.workbook_of_company", **facts), source=source)
    if month not in {None, hidden["period"]}:
        facts = {"of": hidden["period"], "month": month}
        raise InputError(Sentence("error.workbook_of_month", **facts), source=source)
    texts = words(hidden["language"])
    headings = {name: texts(f"report.column.{HEADED.get(name, name)}") for name in SHEET_COLUMNS}
    sheet = texts("report.sheet.to_do")
    table = read_headed(path, headings.values(), sheet)
    about = {name: hidden[name] for name in BOOKS}
    rows = list(_lines(table, headings, about))
    fixes = pa.Table.from_pylist(rows, schema=FIXES)
    return to_pandas(fixes, {"source": source, "sha256": table.sha256, "rows": len(rows), **about})


def check_fixes(fixes: pd.DataFrame, categories: Any, accounts: Any) -> pd.DataFrame:
    """Check filled-in lines against today's categories and accounts: valid, open, done or done differently.

    Parameters
    ----------
    fixes : DataFrame
        As `read_fixes` returns it.
    categories, accounts : DataFrame
        As `load_categories` and `load_accounts` return them.

    Returns
    -------
    DataFrame
        One row per line: outcome (open, done, done_differently, note for a line with nothing but a note,
        not_valid), about, to_do, account_now, new_account, note, message, period, line, category_id,
        account_id (of the new account).

    Raises
    ------
    InputError
        When a frame lacks a column that is needed.

    Notes
    -----
    The interface cannot change a category: somebody does it in the service. Sections 2.1 and 2.4.

    Examples
    --------
    >>> import bktools, pandas as pd
    >>> ids = [f"123e4567-e89b-42d3-a456-42661417400{n}" for n in range(3)]
    >>> line = {"line": 2, "about": "category Travel", "new_account": "0400 · Bank", "check": "no_account"}
    >>> fixes = pd.DataFrame([line | {"category_id": ids[1], "company_id": ids[0]}])
    >>> accounts = pd.DataFrame(
    ...     {"id": [ids[2]], "company_id": ids[0], "external_id": "0400", "code": "0400"}
    ...     | {"name": "Bank", "state": "CREATED"}
    ... )
    >>> categories = {"id": [ids[1]], "company_id": ids[0], "name": "Travel", "account_id": None}
    >>> categories = pd.DataFrame(categories)
    >>> list(bktools.check_fixes(fixes, categories, accounts)["outcome"])
    ['open']
    >>> list(bktools.check_fixes(fixes, categories.assign(account_id=ids[2]), accounts)["outcome"])
    ['done']
    """
    for name, frame, needed, source in (
        ("fixes", fixes, ("new_account", "check", "category_id", "company_id"), "read_fixes"),
        ("categories", categories, ("id", "company_id", "account_id"), "load_categories"),
        ("accounts", accounts, ("id", "company_id", "external_id", "code", "name", "state"), "load_accounts"),
    ):
        require_columns(name, getattr(frame, "columns", ()), needed, source)
    known = {row["id"]: row for row in _records(categories)}
    chart = [row for row in _records(accounts) if row["state"] in KNOWN_STATES]
    rows = [_checked(line, known.get(line["category_id"]), chart) for line in _records(fixes)]
    return to_pandas(pa.Table.from_pylist(rows, schema=CHECKED))


def _records(frame: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = in_memory(frame).to_pylist()
    return rows


def _identity(path: str | PathLike[str]) -> dict[str, Any]:
    """Return the contents of the hidden sheet by name."""
    try:
        table = read_headed(path, ("fact", "value"), LINES)
    except SheetNotFoundError as error:
        raise InputError(Sentence("error.no_workbook"), source=str(path)) from error
    hidden = dict(zip(*(column.to_pylist() for column in table.columns[:2]), strict=True))
    is_known = hidden.get("format") == FORMAT and hidden.get("language") in LANGUAGES
    if not is_known or not hidden.keys() >= BOOKS.keys():
        raise InputError(Sentence("error.workbook_of_version", sheet=LINES), source=str(path))
    return hidden


def _lines(table: Table, named: Mapping[str, str], books: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield each line with an account or a note."""
    headings = [normal(heading) for heading in table.headings]
    missing = [heading for heading in named.values() if normal(heading) not in headings]
    if missing:
        raise InputError(Sentence("error.column_of_workbook", heading=missing[0]), source=table.source)
    columns = (table.columns[headings.index(normal(heading))].to_pylist() for heading in named.values())
    for number, *values in zip(table.lines.tolist(), *columns, strict=True):
        row = {name: value.strip() or None for name, value in zip(named, values, strict=True)}
        if row["new_account"] or row["note"]:
            yield {**row, **books, "line": number}


def _checked(
    line: Mapping[str, Any], category: Mapping[str, Any] | None, chart: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    names = ("about", "to_do", "note", "period", "line", "category_id", "new_account")
    row = {name: line.get(name) for name in names}
    if not line["new_account"]:
        return row | {"outcome": NOTED, "message": words()("fix.note")}
    if line.get("check") not in ANSWERED or not line["category_id"]:
        return row | {"outcome": WRONG, "message": words()("fix.not_asked")}
    own = [account for account in chart if account["company_id"] == line["company_id"]]
    chosen, why = _chosen(line["new_account"], own)
    if chosen is None:
        return row | {"outcome": WRONG, "message": why}
    row |= {"new_account": _label(chosen), "account_id": chosen["id"]}
    if category is None:
        return row | {"outcome": WRONG, "message": words()("fix.unknown_category")}
    if category["company_id"] != line["company_id"]:
        return row | {"outcome": WRONG, "message": words()("fix.category_of_other_company")}
    account = category["account_id"]
    now = {one["id"]: _label(one) for one in own if one["id"]}.get(account, account)
    if account is not None and account == chosen["id"]:
        outcome, message = DONE, words()("fix.done")
    elif category.get("archived"):
        outcome, message = DIFFERENT, words()("fix.archived_category")
    elif account == line.get("account_id"):
        outcome, message = OPEN, words()("fix.open", account=_label(chosen))
    elif now is None:
        outcome, message = DIFFERENT, words()("fix.no_account")
    else:
        outcome, message = DIFFERENT, words()("fix.other_account", account=now)
    return row | {"account_now": now, "outcome": outcome, "message": message}


def _chosen(text: str, accounts: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any] | None, str]:
    """Return the account that a person chose from the list or wrote; without one, None and why.

    A code alone is an account, and a code with its name, whatever stands between them.
    """
    # A label is one account's own; a code alone may be several accounts'.
    spellings = [
        ({_label(account), account["code"], account["external_id"]}, account) for account in accounts
    ]
    code = text.partition(BETWEEN)[0].strip()
    matches = (
        [one for names, one in spellings if text in names]
        or [one for one in accounts if normal(_label(one)) == normal(text)]
        or [one for names, one in spellings if code in names]
    )
    if not matches:
        example = next((_label(one) for one in accounts if not one.get("archived")), None)
        return None, words()("fix.unknown_account", account=text, example=example)
    if len(matches) > 1:
        return None, words()("fix.several_accounts", count=len(matches), code=text)
    if matches[0].get("archived"):
        return None, words()("fix.archived_account", account=_label(matches[0]))
    return matches[0], ""


def _label(account: Mapping[str, Any]) -> str:
    return account_label(account["code"], account["external_id"], account["name"])
