"""QuickBooks' journal: the first row of a transaction has its date, and a total stands below the last."""

from __future__ import annotations

from decimal import Decimal

from bktools.inputs.days import is_day
from bktools.inputs.formats.format import File, Ledger, TableFormat, Total
from bktools.inputs.formats.reports import account_parts, amount_of, columns_named, rows_of
from bktools.inputs.notes import note
from bktools.inputs.table import Grid, Rows

_COLUMNS = {
    "date": ("date",),
    "kind": ("transactiontype", "type"),
    "number": ("num", "no"),
    "party": ("name",),
    "text": ("memodescription", "memo", "description"),
    "account": ("account", "accountname", "accountfullname"),
    "debit": ("debit",),
    "credit": ("credit",),
}


def ledger(file: File, grid: Grid) -> Ledger | None:
    """Return the postings of a journal, each with the date of its transaction; None for another table."""
    columns = columns_named(grid, _COLUMNS, needed=("date", "kind", "account", "debit", "credit"))
    if columns is None:
        return None
    top, places = columns
    rows = Rows("account_code", "account_name", "date", "document_number", "voucher_id", "text", "amount")
    totals: list[Total] = []
    opened: dict[str, str] = {}
    debit, first, sole = Decimal(), 0, True
    for line, texts in rows_of(grid, top + 1):
        cells = {name: texts[place] for name, place in places.items()}
        amount = amount_of(texts, places)
        if is_day(cells["date"]):
            sole &= not opened or line > first + 1
            opened, first, debit = cells, line, Decimal()
        if amount is None or not opened:
            continue
        if not cells["account"]:
            # A row with both sums and no account is the total of the transaction.
            stated = amount_of(texts, {"amount": places["debit"]})
            if cells["debit"] and cells["credit"] and stated is not None and debit:
                totals.append(Total(f"the transaction on line {first}", stated, debit))
                debit = Decimal()
            continue
        debit += max(amount, Decimal())
        text = " ".join(filter(None, (cells.get("party") or opened.get("party"), cells.get("text"))))
        number = opened.get("number", "")
        rows.add(
            line,
            *account_parts(cells["account"]),
            opened["date"],
            number,
            f"line {first}",
            text,
            f"{amount:f}",
        )
    if not rows or not sole:
        # Where each row has its date it is an ordinary table.
        return None
    table = file.table(rows, "has no postings", note("format", name="QuickBooks journal"))
    return Ledger(table, date_format=None, totals=totals)


TABLE_FORMATS = (TableFormat("QuickBooks journal", ledger),)
