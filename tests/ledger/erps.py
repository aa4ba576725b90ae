"""Accounting systems that book exported entries in styles, with planted errors, and each entry's truth.

A style says how entries are put together in vouchers, and how a voucher is written. Nothing here knows how
the product finds anything: a world has entries, postings, and for each entry which error was planted.
"""

from __future__ import annotations

import datetime as dt
import random
from collections import defaultdict
from dataclasses import dataclass, field
from decimal import Decimal

import pyarrow as pa

from bktools.frames.schema import DATE, TEXT

MONEY = pa.decimal128(38, 2)
ERRORS = ("omitted", "twice", "wrong account", "wrong amount", "reversed", "rebooked")
TAX, CREDITORS, BANK = "157600", "160000", "120000"
ACCOUNTS = [f"{code}00" for code in (4210, 4240, 4360, 4530, 4540, 4663, 4910, 4920, 4930, 4940, 4980, 4985)]
STRANGE = ["490000", "027000"]
SUPPLIERS = [
    "Telekom", "Staples", "Dell", "Uber", "Eurowings", "Deutsche Bahn", "Hotel Adler", "Bauhaus",
    "Stadtwerke", "Gothaer", "Adobe", "Amazon", "Cafe Blau", "Shell", "Aral", "Kanzlei Huber", "Messe Essen",
    "Druckhaus Ost", "Zeitverlag", "Sixt", "Lidl", "Hetzner", "Vodafone", "Hoffmann", "Prozesswerk", "Casio",
    "Eon", "Ikea", "Reinigung Klar", "Bosch",
]  # fmt: skip
WORDS = [
    "Paper", "Ride", "Licence", "Room", "Power", "Phone", "Advice", "Ticket", "Fuel", "Book", "Print",
    "Repair", "Lunch",
]  # fmt: skip
RATES = {"VSt19": 190, "VSt7": 70, None: 0}


@dataclass(frozen=True)
class Style:
    """How an accounting system books.

    Parameters
    ----------
    voucher : tuple of str
        The columns of an entry that make one voucher.
    line : tuple of str
        The columns that make one posting in it.
    tax : str
        "none"; "one" rate; "account": a rate each; "code": by entry, with its code; "hidden": without it.
    late : int
        The most days from an entry to its voucher.
    month_end : bool
        Whether vouchers are dated on the last day of the month.
    sign : int
        -1 where credits are positive.
    text : str
        "own": of the entry; "supplier"; "erp": the system's own.
    has_vouchers : bool
        Whether the ledger has a column of vouchers.
    foreign : float
        The share of entries in other currencies.
    rate : str
        A rate for each "day", or one for the "month"; "kept": the ledger has the amounts of entries, too.
    noise : float
        Other postings on the same accounts, as a share of the entries.
    """

    voucher: tuple[str, ...] = ("entry_id",)
    line: tuple[str, ...] = ("account_code",)
    tax: str = "none"
    late: int = 0
    month_end: bool = False
    sign: int = 1
    text: str = "own"
    has_vouchers: bool = True
    foreign: float = 0
    rate: str = "month"
    noise: float = 0.05


ENTRY, DOCUMENT, SUPPLIER = ("entry_id",), ("document_number",), ("supplier", "date")
ACCOUNT_DAY, DAY, BATCH, MONTH = ("account_code", "date"), ("date",), ("batch_id",), ("month",)
STYLES = {
    "entry": Style(),
    "entry, tax": Style(tax="account"),
    "entry, tax by entry": Style(tax="hidden"),
    "entry, own texts of the system": Style(tax="one", text="erp"),
    "entry, no voucher column": Style(tax="account", has_vouchers=False),
    "entry, late": Style(tax="account", late=6),
    "entry, late, own texts of the system": Style(late=6, text="erp"),
    "entry, sign reversed": Style(tax="one", sign=-1),
    "entry, foreign": Style(tax="account", foreign=0.1, rate="day"),
    "entry, foreign kept": Style(tax="account", foreign=0.15, rate="kept"),
    "document": Style(DOCUMENT, tax="none"),
    "document, tax": Style(DOCUMENT, tax="code", text="supplier"),
    "supplier and day": Style(SUPPLIER, tax="none", text="supplier"),
    "supplier and day, tax": Style(SUPPLIER, tax="one", text="supplier"),
    "supplier and day, tax by entry": Style(SUPPLIER, tax="hidden", text="supplier"),
    "account and day": Style(ACCOUNT_DAY, text="erp"),
    "account and day, tax": Style(ACCOUNT_DAY, tax="account", text="erp"),
    "account and day, tax by code": Style(ACCOUNT_DAY, tax="code", text="erp"),
    "account and day, late": Style(ACCOUNT_DAY, tax="one", text="erp", late=4),
    "account and day, sign reversed": Style(ACCOUNT_DAY, tax="one", text="erp", sign=-1),
    "day, tax pooled": Style(DAY, tax="account", text="erp"),
    "day, one rate pooled": Style(DAY, tax="one", text="erp"),
    "day, tax pooled by code": Style(DAY, tax="code", text="erp"),
    "day, tax pooled, foreign": Style(DAY, tax="code", text="erp", foreign=0.1),
    "batch": Style(BATCH, text="erp"),
    "batch, tax": Style(BATCH, tax="account", text="erp"),
    "month": Style(MONTH, text="erp", month_end=True),
    "month, tax": Style(MONTH, tax="account", text="erp", month_end=True),
    "month, sign reversed": Style(MONTH, text="erp", month_end=True, sign=-1),
    "month, foreign": Style(MONTH, text="erp", month_end=True, foreign=0.05),
}


@dataclass
class World:
    """Entries and ledger as Arrow tables, and planted errors by number; statuses are the product's."""

    entries: pa.Table
    ledger: pa.Table
    planted: dict[int, str]
    # Rows of the entries, for the judge.
    rows: list[dict] = field(repr=False, default_factory=list)


def world(seed: int, style: Style, count: int = 300, errors: int = 0, *, months: int | None = None) -> World:
    """Return a company whose system books in a style, with so many errors of each kind."""
    pick = random.Random(f"{seed}{style}")
    months = months or max(1, round(count / 2_500))
    rows = _entries(pick, style, count, months)
    # A credit note is seldom chosen, and an error among equal entries of a day does not say which it is.
    candidates = [number for number, row in enumerate(rows) if row["currency"] == "EUR"]
    chosen = pick.sample(candidates, errors * len(ERRORS))
    planted = {number: ERRORS[place % len(ERRORS)] for place, number in enumerate(chosen)}
    postings = _Books(pick, style, rows).booked(planted)
    columns = {
        "entry_id": TEXT,
        "batch_id": TEXT,
        "date": DATE,
        "amount": MONEY,
        "currency": TEXT,
        "account_code": TEXT,
        "supplier": TEXT,
        "description": TEXT,
        "document_number": TEXT,
        "tax_code": TEXT,
    }
    if style.tax == "hidden":
        columns.pop("tax_code")
    kinds = {"account_code": TEXT, "date": DATE, "amount": MONEY, "currency": TEXT, "text": TEXT}
    kinds |= {"voucher_id": TEXT} if style.has_vouchers else {}
    kinds |= {"foreign_amount": MONEY, "foreign_currency": TEXT} if style.rate == "kept" else {}
    return World(_table(rows, columns), _table(postings, kinds), planted, rows)


def _table(rows, columns):
    return pa.table({name: pa.array([row.get(name) for row in rows], kind) for name, kind in columns.items()})


def _cents(cents):
    return Decimal(cents).scaleb(-2)


def _entries(pick, style, count, months):
    homes = {supplier: pick.choice(ACCOUNTS) for supplier in SUPPLIERS}
    codes = {account: pick.choice(["VSt19", "VSt19", "VSt7", None]) for account in ACCOUNTS}
    rows, document = [], 0
    while len(rows) < count:
        supplier = pick.choice(SUPPLIERS)
        month = 10 + len(rows) * months // count
        day = dt.date(2026 + (month - 1) // 12, (month - 1) % 12 + 1, pick.randint(1, 28))
        currency = pick.choice(["USD", "USD", "GBP"]) if pick.random() < style.foreign else "EUR"
        document += 1
        for _ in range(pick.choice([1, 1, 1, 2, 3])):
            account = homes[supplier] if pick.random() < 0.7 else pick.choice(ACCOUNTS)
            cents = max(150, int(pick.lognormvariate(9, 1.1)))
            if pick.random() < 0.04:
                cents = pick.choice([1850, 4999, 1190, 900])
            if pick.random() < 0.03:
                cents = -cents
            code = {"none": None, "one": "VSt19", "account": codes[account]}.get(
                style.tax, pick.choice([*RATES])
            )
            number = len(rows)
            rows.append(
                {
                    "entry_id": f"{number:08x}-0000-4000-8000-{pick.randrange(16**12):012x}",
                    "batch_id": f"b{day:%y%m}{(day.day - 1) // 7}",
                    "date": day,
                    "month": f"{day:%Y-%m}",
                    "cents": cents,
                    "amount": _cents(cents),
                    "currency": currency,
                    "account_code": account,
                    "supplier": supplier,
                    "description": f"{pick.choice(WORDS)} {pick.randint(1000, 99999)}",
                    "document_number": f"R{document:05}",
                    "tax_code": code,
                }
            )
    return rows[:count]


class _Books:
    """The vouchers of a system."""

    def __init__(self, pick, style, rows):
        self.pick, self.style, self.rows = pick, style, rows
        self.postings, self.number = [], 0
        self.base = {"USD": 0.92, "GBP": 1.17}
        self.rates = {}

    def rate(self, currency, day):
        if currency == "EUR":
            return 1.0
        key = (currency, day if self.style.rate == "day" else day.replace(day=1))
        if key not in self.rates:
            self.rates[key] = round(self.base[currency] * (1 + self.pick.uniform(-0.012, 0.012)), 4)
        return self.rates[key]

    def booked(self, planted):
        parts = [
            part for number, row in enumerate(self.rows) for part in self.parts(row, planted.get(number))
        ]
        groups = defaultdict(list)
        for part in parts:
            groups[tuple(part[name] for name in self.style.voucher)].append(part)
        for members in groups.values():
            self.sum_of(members)
        for number, kind in planted.items():
            row = self.rows[number]
            later = row["date"] + dt.timedelta(self.pick.randint(1, 12))
            if kind == "reversed":
                row["reversed in"] = f"{later:%Y-%m}"
                self.single(
                    row, later, row["account_code"], -1, f"Storno {row['supplier']} {row['description']}"
                )
            elif kind == "rebooked":
                self.reclass(row, later)
        self.noise()
        return sorted(self.postings, key=lambda posting: (posting["date"], int(posting["voucher_id"])))

    def parts(self, row, kind):
        """Return what an entry adds to its voucher, an error with it."""
        if kind == "omitted":
            return []
        if kind == "twice":
            # Alone, the second one is a voucher of its own.
            return [row, {**row, "entry_id": row["entry_id"] + "again"}]
        if kind in ("wrong account", "rebooked"):
            accounts = [one for one in [*ACCOUNTS, *STRANGE] if one != row["account_code"]]
            row["wrong"] = self.pick.choice(accounts)
            return [{**row, "account_code": row["wrong"]}]
        if kind == "wrong amount":
            cents = row["cents"]
            others = [cents + 900, cents * 10, cents - 27, cents + 90000]
            wrong = self.pick.choice([other for other in others if other not in (0, 2 * cents)])
            row["wrong cents"] = wrong
            return [{**row, "cents": wrong}]
        return [row]

    def tax_of(self, row, cents):
        rate = RATES[row["tax_code"]]
        net = round(abs(cents) * 1000 / (1000 + rate))
        return (1 if cents > 0 else -1) * (abs(cents) - net)

    def sum_of(self, members):
        style, pick = self.style, self.pick
        day = max(row["date"] for row in members)
        if style.month_end:
            day = (day.replace(day=28) + dt.timedelta(5)).replace(day=1) - dt.timedelta(1)
        day += dt.timedelta(pick.randint(0, style.late))
        text = {
            "own": f"{members[0]['supplier']} {members[0]['description']}",
            "supplier": members[0]["supplier"],
            "erp": f"Expenses {self.number + 4711}",
        }[style.text]
        lines = defaultdict(int)
        foreign = defaultdict(int)
        taxes = 0
        for row in members:
            home = round(row["cents"] * self.rate(row["currency"], row["date"]))
            tax = self.tax_of(row, home)
            lines[row["account_code"]] += home - tax
            taxes += tax
            if row["currency"] != "EUR":
                foreign[row["account_code"]] += row["cents"] - self.tax_of(row, row["cents"])
                foreign[TAX] += self.tax_of(row, row["cents"])
        if taxes:
            lines[TAX] += taxes
        currency = (
            members[0]["currency"] if style.rate == "kept" and members[0]["currency"] != "EUR" else None
        )
        self.post(
            day, text, lines, {account: (foreign[account], currency) for account in lines} if currency else {}
        )

    def single(self, row, day, account, sign, text):
        tax = self.tax_of(row, row["cents"])
        lines = {account: sign * (row["cents"] - tax)}
        if tax:
            lines[TAX] = sign * tax
        self.post(day, text, lines)

    def reclass(self, row, day):
        net = row["cents"] - self.tax_of(row, row["cents"])
        lines = {row["wrong"]: -net, row["account_code"]: net}
        self.post(day, f"Reclass {row['supplier']} {row['description']}", lines)

    def post(self, day, text, lines, foreign=(), contra=CREDITORS):
        lines = {account: cents for account, cents in lines.items() if cents}
        if not lines:
            return
        self.number += 1
        rest = -sum(lines.values())
        for account, cents in [*lines.items(), *([(contra, rest)] if rest else [])]:
            own = dict(foreign).get(account, (None, None))
            self.postings.append(
                {
                    "voucher_id": str(self.number),
                    "date": day,
                    "text": text,
                    "account_code": account,
                    "currency": "EUR",
                    "amount": _cents(self.style.sign * cents),
                    "foreign_amount": None if own[0] is None else _cents(self.style.sign * own[0]),
                    "foreign_currency": own[1],
                }
            )

    def noise(self):
        """Post what is not of the export: payments, wages, manual vouchers, an accrual and its reversal."""
        pick, days = self.pick, sorted({row["date"] for row in self.rows})
        first, last = days[0].replace(day=1), days[-1] + dt.timedelta(40)
        for _ in range(max(3, int(len(self.rows) * 0.1))):
            self.post(pick.choice(days), "Payment", {CREDITORS: pick.randint(1000, 90000)}, contra=BANK)
        for month in sorted({day.replace(day=26) for day in days}):
            self.post(month, "Wages", {"410000": pick.randint(1_000_000, 3_000_000)}, contra=BANK)
        for _ in range(int(len(self.rows) * self.style.noise)):
            self.post(
                pick.choice(days),
                f"Manual {pick.randint(1, 999)}",
                {pick.choice(ACCOUNTS): pick.randint(1000, 99999)},
                contra=BANK,
            )
        accrued, account = pick.randint(10_000, 99_999), pick.choice(ACCOUNTS)
        self.post(days[-1].replace(day=28), "Accrual", {account: accrued}, contra="098000")
        self.post(days[-1] + dt.timedelta(5), "Accrual reversed", {account: -accrued}, contra="098000")
        for day in (first, last):
            self.post(day, "Rent", {"423000": pick.randint(100_000, 200_000)}, contra=BANK)
