"""What a format of accounting files is: how to recognise it, and how to read its chart and its ledger."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

from bktools.contract.accounts import CompanyInFile
from bktools.inputs.notes import Note, note
from bktools.inputs.raw.source import Source
from bktools.inputs.table import Rows, Table
from bktools.inputs.values.days import parsed

# A number such as 1234.50, for `re` and for Arrow.
NUMBER = r"[+-]?[0-9]{1,28}(?:\.[0-9]{1,10})?"
POSTING = (
    *("account_code", "account_name", "date", "currency", "text", "document_number", "voucher_id"),
    *("tax_code", "cost_centre", "foreign_amount", "foreign_currency"),
)


class Total(NamedTuple):
    """A sum or a count that the file states of itself, by the name that the file gives it."""

    name: str
    stated: Decimal
    # The total's subject: "debit" or "credit", or the reader's own count.
    counted: str | Decimal


@dataclass(frozen=True)
class Books:
    """Accounts or postings as cells, and the totals that the file states, which prove the postings.

    Accounts have columns for `code`, `name` and `type`, or some of them; postings have those of `POSTING`,
    and `debit` and `credit`, or `amount` with or without `side`. Foreign amounts are what was paid in
    another currency than that of the books.
    """

    table: Table
    decimal: str = "."
    # The order of day and month, where dates do not show it.
    date_format: str = ""
    # The currency of all amounts for which no column says it.
    currency: str = ""
    totals: Sequence[Total] = ()
    # Account to the sum of its postings, as the file says it.
    movements: Mapping[str, Decimal] = field(default_factory=dict)
    # Values that the reader could read in two ways, and read in one.
    doubts: Sequence[Note] = ()
    # The day on which the file was exported, as it says.
    exported_at: dt.date | None = None


def made_table(file: Source, rows: Rows, form: str, *notes: Note, **about: Any) -> Table:
    """Return rows headed by fields as the table of a format; a file without rows is an `InputError`."""
    if not rows:
        raise file.error("no_accounts" if "code" in rows.headings else "no_postings", form=form)
    places = {name: place for place, name in enumerate(rows.headings)}
    notes = (note("format", name=form), *notes)
    return rows.table(file.name, heading_line=0, places=places, notes=notes, sha256=file.sha256, **about)


def day_of(text: str) -> dt.date | None:
    """Return the day of a header's time, such as 20261003 or 2026-10-03T08:00; None where there is none."""
    return parsed(text.strip().replace("-", "")[:8], "%Y%m%d")


def company_in_file(number: str, name: str) -> CompanyInFile | None:
    """Return the company that a file names, None where it names none."""
    return CompanyInFile(number.strip(), name.strip()) if number.strip() or name.strip() else None
