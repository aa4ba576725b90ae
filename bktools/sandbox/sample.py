"""Sample files of the sandbox's world: a German ERP's chart, accounting entries, the service's accounts."""

from __future__ import annotations

import calendar
import csv
import datetime as dt
import io
from collections.abc import Iterable
from decimal import Decimal
from operator import attrgetter
from pathlib import Path
from typing import Any

from bktools import disk
from bktools.sandbox.world import NAMES, World, chart_of_accounts, department_of, expense_of

CHART_FILE = "chart_of_accounts.csv"
ENTRIES_FILE = "accounting_entries.csv"
ACCOUNTS_FILE = "accounts.csv"
LEDGER_FILE = "general_ledger.se"
MONTHS_FILE = "six_months.csv"
BUDGET_FILE = "budget.csv"

_CHART_HEADINGS = ("Konto", "Bezeichnung", "Art", "Steuerschlüssel", "Aktiv")
_ACCOUNT_HEADINGS = ("id", "external_id", "name", "code", "archived", "tax_code_external_id", "company_id")
_account_columns = attrgetter(*_ACCOUNT_HEADINGS)

_ENTRIES = 320
# Rates for one euro, roughly; JPY has no decimals.
_RATES = {
    "EUR": Decimal(1),
    "USD": Decimal("1.1"),
    "CHF": Decimal("0.95"),
    "SEK": Decimal(11),
    "JPY": Decimal(165),
}

_IN_REVIEW = range(10, 310, 20)  # 15 of the entries: draft and in_review in turn
_COPIED = 99  # repeated as the last line

# The sample ledger: the account that entries are booked against, and for each planted difference, and for one
# entry that is booked some days later, the place of the euro entry in the order of dates.
_PAYABLES = "160000"
_PLANTED = {"missing": 5, "booked_twice": 15, "another_amount": 25, "another_account": 35, "booked_late": 45}
_OTHER_ACCOUNT = "490000"
_DAYS_LATER = 3

# The sample of six months: the months before October 2026, each one's percentage of October's purchases, the
# suppliers that are new in October, and the month and number of the only unusual amount.
_MONTHS_BEFORE, _REPEATED = 5, 85
_NEW_SUPPLIERS = {"Koelnmesse", "Studio Bergmann"}
_UNUSUAL = ("2026-09", 68, "48211.00")


def write_sample_data(folder: Path | str) -> tuple[Path, Path]:
    """Write the files `chart_of_accounts.csv` and `accounting_entries.csv`; return their paths.

    They are of the first company of a new sandbox.

    They have the same bytes every time. Each file is written whole or left as it was.

    Parameters
    ----------
    folder : Path
        Created when it is missing.

    Returns
    -------
    tuple of Path
        The chart: UTF-8 with BOM, `;`, CRLF, codes of six digits. The entries: UTF-8, `,`, ISO dates, point.

    Examples
    --------
    >>> import tempfile
    >>> from bktools.sandbox import write_sample_data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_sample_data(folder)]
    ['chart_of_accounts.csv', 'accounting_entries.csv']
    """
    chart = [account[: len(_CHART_HEADINGS)] for account in chart_of_accounts()]
    entries = _entries(World())
    return (
        _write(
            folder, CHART_FILE, "\ufeff" + _csv([_CHART_HEADINGS, *chart], delimiter=";", line_end="\r\n")
        ),
        _write(folder, ENTRIES_FILE, _csv([entries[0], *(entry.values() for entry in entries)])),
    )


def write_account_list(folder: Path | str) -> Path:
    """Write `accounts.csv`, the accounts of the first company in a new sandbox; return its path.

    It is an example of the list that a service's user interface exports. `import_accounts` takes it, since
    the interface has no operation that lists accounts. It has the same bytes every time, and is written whole
    or left as it was.

    Parameters
    ----------
    folder : Path
        Created when it is missing.

    Returns
    -------
    Path
        UTF-8, `,`, a row an account: id, external_id, name, code, archived, tax_code_external_id, company_id.

    Examples
    --------
    >>> import bktools, tempfile
    >>> from bktools.sandbox import write_account_list
    >>> with tempfile.TemporaryDirectory() as folder, bktools.Sandbox() as service:
    ...     len(bktools.import_accounts(write_account_list(folder), service=service))
    52
    """
    rows = [
        [{True: "true", False: "false", None: ""}.get(value, value) for value in _account_columns(account)]
        for account in World().accounts(0)
    ]
    return _write(folder, ACCOUNTS_FILE, _csv([_ACCOUNT_HEADINGS, *rows]))


def write_sample_months(folder: Path | str) -> tuple[Path, Path]:
    """Write `six_months.csv`, entries of May to October 2026, and `budget.csv`; return their paths.

    They have the same bytes every time. October has the entries of `write_sample_data`, all approved.

    Parameters
    ----------
    folder : Path
        Created when it is missing.

    Returns
    -------
    tuple of Path
        The entries, as in `write_sample_data`. The budget: UTF-8, `,`, cost centre and amount in euros.

    Examples
    --------
    >>> import tempfile
    >>> from bktools.sandbox import write_sample_months
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_sample_months(folder)]
    ['six_months.csv', 'budget.csv']
    """
    world = World()
    october = [entry | {"status": "approved"} for entry in _entries(world)[:-1]]
    entries = [
        entry for before in range(_MONTHS_BEFORE, 0, -1) for entry in _earlier(world, october, before)
    ] + october
    budget: dict[str, Decimal] = {}
    for entry in entries:
        if entry["currency"] == "EUR" and entry["amount"] != _UNUSUAL[-1]:
            budget[entry["cost_centre"]] = budget.get(entry["cost_centre"], Decimal(0)) + Decimal(
                entry["amount"]
            )
    rows = [
        (name, f"{round(amount / (_MONTHS_BEFORE + 1), -2):.2f}") for name, amount in sorted(budget.items())
    ]
    return (
        _write(folder, MONTHS_FILE, _csv([entries[0], *(entry.values() for entry in entries)])),
        _write(folder, BUDGET_FILE, _csv([("cost_centre", "amount"), *rows])),
    )


def _earlier(world: World, october: list[dict[str, str]], before: int) -> Iterable[dict[str, str]]:
    """Yield the entries of a month so many months before October: most of its purchases, at other prices."""
    month = dt.date(2026, 10 - before, 1)
    last = calendar.monthrange(month.year, month.month)[1]
    for number, entry in enumerate(october):
        is_bought = world.number(100, "month", before, number, "bought") < _REPEATED
        if is_bought and entry["supplier"] not in _NEW_SUPPLIERS:
            percent = 80 + world.number(36, "month", before, number, "price") - 2 * before
            amount = Decimal(entry["amount"]) * percent / 100
            price = f"{amount:.0f}" if entry["currency"] == "JPY" else f"{amount:.2f}"
            day = min(int(entry["date"][-2:]), last)
            is_unusual = (f"{month:%Y-%m}", number) == _UNUSUAL[:2]
            yield entry | {
                "entry_id": world.id("entry", before, number),
                "date": f"{month:%Y-%m}-{day:02}",
                "amount": _UNUSUAL[-1] if is_unusual else price,
            }


def write_sample_ledger(exported: Any, folder: Path | str) -> Path:
    """Write `general_ledger.se`, an ERP's bookings of exported entries, with five errors; return its path.

    Of the entries in euros one is missing, one is booked twice, one has another amount, one another account
    and one another date. Other currencies are booked in euros, at a rate of the ERP's own.

    Parameters
    ----------
    exported : DataFrame
        As `load_export_jobs(entries=True)` returns it; at least 46 entries in euros.
    folder : Path
        Created when it is missing.

    Returns
    -------
    Path
        SIE of type 4, in euros, one voucher an entry.
    """
    entries = exported.sort_values(["date", "entry_id"]).to_dict("records")
    euros = [entry["entry_id"] for entry in entries if entry["currency"] == "EUR"]
    planted = {euros[number]: difference for difference, number in _PLANTED.items()}
    vouchers = []
    for entry in entries:
        account, day = entry["account_code"], entry["date"]
        amount = round(Decimal(str(entry["amount"])) / _RATES[entry["currency"]], 2)
        match planted.get(entry["entry_id"]):
            case "missing":
                continue
            case "another_amount":
                amount += 9
            case "another_account":
                account = _OTHER_ACCOUNT
            case "booked_late":
                day += dt.timedelta(days=_DAYS_LATER)
            case "booked_twice":
                vouchers.append((account, amount, day, entry))
        vouchers.append((account, amount, day, entry))
    names = {entry["account_code"]: entry["account_name"] for entry in entries}
    lines = [["#FLAGGA", "0"], ["#SIETYP", "4"], ["#VALUTA", "EUR"]]
    lines += [["#KONTO", code, _quoted(name)] for code, name in sorted(names.items())]
    for number, (account, amount, day, entry) in enumerate(vouchers, 1):
        text = _quoted(f"{entry['supplier']} {entry['description']}")
        lines += [["#VER", "ER", str(number), f"{day:%Y%m%d}", text], ["{"]]
        lines += [
            ["#TRANS", account, "{}", f"{amount:.2f}"],
            ["#TRANS", _PAYABLES, "{}", f"{-amount:.2f}"],
            ["}"],
        ]
    return _write(folder, LEDGER_FILE, "".join(" ".join(line) + "\r\n" for line in lines))


def _quoted(text: str) -> str:
    return '"' + text.replace('"', "'") + '"'


def _entries(world: World) -> list[dict[str, str]]:
    """Return the accounting entries of a world's first company, most of them approved and coded."""
    categories = [category["id"] for category in world.categories_of(0)]
    employees = [employee["id"] for employee in world.employees_of(0)]
    special = {
        120: {"category_id": ""},
        160: {"category_id": world.id("no category", 160)},
        200: {"employee_id": world.id("nobody", 200)},
        240: {"employee_id": world.id("nobody", 240)},
        280: {"company_id": world.all_companies[-1].id},
        **{number: {"status": ("draft", "in_review")[turn % 2]} for turn, number in enumerate(_IN_REVIEW)},
    }
    rows: list[dict[str, str]] = []
    for number in range(_ENTRIES - 1):
        # Seven is coprime to 240, so every kind of category gets its entries.
        category = number * 7 % len(categories)
        expense = expense_of(category)
        least, most, bought = expense["least"], expense["most"], expense["bought"]
        currency, supplier, text = bought[world.number(len(bought), "entry", number, "bought")]
        cents = 100 * least + world.number(100 * (most - least), "entry", number, "amount")
        is_credit = number % 13 == 5
        amount = _RATES[currency] * cents / (-100 if is_credit else 100)
        usual = {
            "entry_id": world.id("entry", number),
            "company_id": world.all_companies[0].id,
            "date": f"2026-10-{1 + world.number(31, 'entry', number, 'day'):02}",
            "amount": f"{amount:.0f}" if currency == "JPY" else f"{amount:.2f}",
            "currency": currency,
            "category_id": categories[category],
            "employee_id": employees[number % len(employees)],
            "status": "approved",
            "supplier": supplier,
            "description": f"{'Gutschrift ' if is_credit else ''}{text}, Beleg {1001 + number}",
            "cost_centre": NAMES["cost_centres"][department_of(category)],
        }
        rows.append(usual | special.get(number, {}))
    return [*rows, rows[_COPIED]]


def _csv(rows: Iterable[Iterable[str]], *, delimiter: str = ",", line_end: str = "\n") -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator=line_end).writerows(rows)
    return text.getvalue()


def _write(folder: Path | str, name: str, text: str) -> Path:
    Path(folder).mkdir(parents=True, exist_ok=True)
    # Sample data may be read by anybody.
    return disk.write_whole(Path(folder) / name, lambda file: file.write(text.encode()), private=False)
