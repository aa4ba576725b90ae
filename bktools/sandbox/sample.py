"""Sample files of the sandbox's world: a German ERP's chart of accounts, accounting entries, the service's accounts."""

# ruff: noqa: RUF001 - letters of other scripts that look like Latin ones are the point

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import cycle
from pathlib import Path

from bktools import disk
from bktools.sandbox.chart import chart_of_accounts
from bktools.sandbox.world import World

CHART_FILE = "chart_of_accounts.csv"
ENTRIES_FILE = "accounting_entries.csv"
ACCOUNTS_FILE = "accounts.csv"

_CHART_HEADINGS = ("Konto", "Bezeichnung", "Art", "Steuerschlüssel", "Aktiv")
_ENTRY_HEADINGS = (
    "entry_id", "company_id", "date", "amount", "currency", "category_id", "employee_id", "status", "description",
)  # fmt: skip

_ACCOUNT_HEADINGS = ("id", "external_id", "name", "code", "archived", "tax_code_external_id", "company_id")

_ENTRIES = 320
_CURRENCIES = ("EUR", "EUR", "EUR", "EUR", "USD", "SEK", "JPY", "CHF")
_DESCRIPTIONS = (
    "ICE Köln – Berlin",
    "Mittagessen mit Kunden",
    "Büromaterial, 2. Lieferung",
    "Taxi Flughafen",
    "会議費",
    "Ücretli otopark",
    "Обед с клиентом",
    "دعوة عشاء",
    "L'hôtel de la gare",
    "Gutschrift Rücksendung",
    "Snacks 🥨",
)

# Entries that are something special, by their number.
_IN_REVIEW = range(10, 310, 20)  # 15 of them: draft and in_review in turn
_FORMULA = 40
_NEWLINE = 80
_NO_CATEGORY = 120
_UNKNOWN_CATEGORY = 160
_UNKNOWN_EMPLOYEES = (200, 240)
_OTHER_COMPANY = 280
_COPIED = 99  # written a second time at the end, every cell the same


def write_sample_data(
    folder: Path | str, *, seed: int = 1, companies: int = 3, categories: int = 240, employees: int = 27
) -> tuple[Path, Path]:
    """Write `chart_of_accounts.csv` and `accounting_entries.csv` of the first company and return their paths.

    The same arguments give the same bytes. Each file is whole or as it was before.

    Parameters
    ----------
    folder : Path
        Where to; made when it is missing.
    seed, companies, categories, employees : int
        The world, as a `Server` takes it.

    Returns
    -------
    tuple of Path
        The chart: UTF-8 with BOM, `;`, CRLF, codes of six digits. The entries: UTF-8, `,`, ISO dates, decimal point.

    Examples
    --------
    >>> import tempfile
    >>> from bktools.sandbox import write_sample_data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_sample_data(folder)]
    ['chart_of_accounts.csv', 'accounting_entries.csv']
    """
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    world = World(seed, companies, categories, employees)
    chart = "\ufeff" + _csv(_CHART_HEADINGS, _chart_rows(), delimiter=";", line_end="\r\n")
    entries = _csv(_ENTRY_HEADINGS, entry_rows(world), delimiter=",", line_end="\n")
    return _written(target / CHART_FILE, chart), _written(target / ENTRIES_FILE, entries)


def write_account_list(folder: Path | str, *, seed: int = 1, companies: int = 3) -> Path:
    """Write `accounts.csv`, the accounts that the service has of the first company from the beginning; return its path.

    It stands for the list that a service's user interface exports: with it `import_accounts` makes known what the
    interface does not tell. The same arguments give the same bytes. The file is whole or as it was before.

    Parameters
    ----------
    folder : Path
        Where to; made when it is missing.
    seed, companies : int
        The world, as a `Server` takes it.

    Returns
    -------
    Path
        UTF-8, `,`, one row an account: id, external_id, name, code, archived, tax_code_external_id, company_id.

    Examples
    --------
    >>> import bktools, tempfile
    >>> from bktools.sandbox import write_account_list
    >>> with tempfile.TemporaryDirectory() as folder, bktools.Sandbox() as service:
    ...     len(bktools.import_accounts(write_account_list(folder), service=service))
    52
    """
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    accounts = World(seed, companies).accounts(0)
    rows = [
        (
            account.id,
            account.external_id,
            account.name,
            account.code or "",
            "true" if account.archived else "false",
            account.tax_code_external_id or "",
            account.company_id,
        )
        for account in accounts
    ]
    return _written(target / ACCOUNTS_FILE, _csv(_ACCOUNT_HEADINGS, rows, delimiter=",", line_end="\n"))


def _written(path: Path, text: str) -> Path:
    # Sample data are no secret.
    return disk.write_whole(path, lambda file: file.write(text.encode()), private=False)


def _chart_rows() -> Iterable[tuple[str, ...]]:
    for account in chart_of_accounts():
        yield account.code, account.name, account.type, account.tax_code, "ja" if account.active else "nein"


def entry_rows(world: World) -> list[tuple[str, ...]]:
    """Return the accounting entries of a world's first company, most of them approved and coded.

    Raises
    ------
    ValueError
        The world has no categories or employees to write entries for.
    """
    categories = [category.id for category in world.categories_of(0)]
    employees = [employee.id for employee in world.employees_of(0)]
    if not categories or not employees:
        raise ValueError("sample entries need at least one category and one employee")
    review = dict(zip(_IN_REVIEW, cycle(("draft", "in_review")), strict=False))
    rows: list[tuple[str, ...]] = []
    for number in range(_ENTRIES - 1):
        company = world.companies - 1 if number == _OTHER_COMPANY else 0
        currency = _CURRENCIES[world.number(len(_CURRENCIES), "entry", number, "currency")]
        rows.append(
            (
                world.id("entry", number),
                world.all_companies[company].id,
                f"2026-10-{1 + world.number(31, 'entry', number, 'day'):02}",
                _amount(world, number, currency),
                currency,
                _category(world, number, categories),
                world.id("nobody", number) if number in _UNKNOWN_EMPLOYEES else employees[number % len(employees)],
                review.get(number, "approved"),
                _description(number),
            )
        )
    return [*rows, rows[_COPIED]]


def _amount(world: World, number: int, currency: str) -> str:
    cents = 100 + world.number(250_000, "entry", number, "amount")
    sign = -1 if number % 13 == 5 else 1  # noqa: PLR2004 - now and then a credit
    return str(sign * cents) if currency == "JPY" else f"{sign * Decimal(cents) / 100:.2f}"


def _category(world: World, number: int, categories: Sequence[str]) -> str:
    if number == _NO_CATEGORY:
        return ""
    if number == _UNKNOWN_CATEGORY:
        return world.id("no category", number)
    # Seven is coprime to 240, so every kind of category gets its entries.
    return categories[number * 7 % len(categories)]


def _description(number: int) -> str:
    if number == _FORMULA:
        return "=1+1 Rechnung"
    if number == _NEWLINE:
        return 'Zeile eins,\nZeile zwei, "zitiert"'
    return f"{_DESCRIPTIONS[number % len(_DESCRIPTIONS)]} #{number + 1}"


def _csv(headings: Sequence[str], rows: Iterable[Sequence[str]], *, delimiter: str, line_end: str) -> str:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=line_end)
    writer.writerow(headings)
    writer.writerows(rows)
    return text.getvalue()
