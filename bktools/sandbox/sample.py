"""Sample files of the sandbox: a German ERP's chart, accounting entries, a budget, the service's accounts."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

from bktools import disk

# A wheel has the files beside this one, a checkout has them in its folder `data`.
_IN_WHEEL = Path(__file__).with_name("samples")
SAMPLES = _IN_WHEEL if _IN_WHEEL.exists() else Path(__file__).parents[2] / "data"

# The sample ledger: what one euro is worth, the account that entries are booked against, and for each planted
# difference, and for one entry that is booked some days later, the place of the euro entry in the order of
# dates.
_RATES = {"EUR": "1", "USD": "1.1", "CHF": "0.95", "SEK": "11", "JPY": "165"}
_PAYABLES = "160000"
_PLANTED = {"missing": 5, "booked_twice": 15, "another_amount": 25, "another_account": 35, "booked_late": 45}
_OTHER_ACCOUNT = "490000"
_DAYS_LATER = 3


def write_sample_data(folder: Path | str) -> tuple[Path, Path]:
    """Write the files `chart_of_accounts.csv` and `accounting_entries.csv`; return their paths.

    They are of the first company of a new sandbox. Each file is written whole or left as it was.

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
    return _copied(folder, "chart_of_accounts.csv"), _copied(folder, "accounting_entries.csv")


def write_account_list(folder: Path | str) -> Path:
    """Write `accounts.csv`, the accounts of the first company in a new sandbox; return its path.

    It is an example of the list that a service's user interface exports. `import_accounts` takes it, since
    the interface has no operation that lists accounts.

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
    return _copied(folder, "accounts.csv")


def write_sample_months(folder: Path | str) -> tuple[Path, Path]:
    """Write `six_months.csv`, entries of May to October 2026, and `budget.csv`; return their paths.

    October has the entries of `write_sample_data`, all approved.

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
    return _copied(folder, "six_months.csv"), _copied(folder, "budget.csv")


def write_sample_ledger(exported: Any, folder: Path | str) -> Path:
    """Write `general_ledger.se`, an ERP's bookings of exported entries, with five errors; return its path.

    Of the entries in euros one is missing, one is booked twice, one has another amount, one another account
    and one another date. Other currencies are booked in euros, at a rate of the ERP's own.

    Parameters
    ----------
    exported : DataFrame
        As `load_export_jobs(entries=True)` returns it; 46 entries in euros for all five errors.
    folder : Path
        Created when it is missing.

    Returns
    -------
    Path
        SIE of type 4, in euros, one voucher an entry.
    """
    entries = exported.sort_values(["date", "entry_id"]).to_dict("records")
    euros = [entry["entry_id"] for entry in entries if entry["currency"] == "EUR"]
    planted = {euros[number]: difference for difference, number in _PLANTED.items() if number < len(euros)}
    vouchers = []
    for entry in entries:
        account, day = entry["account_code"], entry["date"]
        amount = round(Decimal(str(entry["amount"])) / Decimal(_RATES[entry["currency"]]), 2)
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
    return _written(folder, "general_ledger.se", "".join(" ".join(line) + "\r\n" for line in lines).encode())


def _quoted(text: str) -> str:
    return '"' + text.replace('"', "'") + '"'


def _copied(folder: Path | str, name: str) -> Path:
    return _written(folder, name, SAMPLES.joinpath(name).read_bytes())


def _written(folder: Path | str, name: str, content: bytes) -> Path:
    Path(folder).mkdir(parents=True, exist_ok=True)
    # Sample data may be read by anybody.
    return disk.write_whole(Path(folder) / name, lambda file: file.write(content), private=False)
