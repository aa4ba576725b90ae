"""The world of a new sandbox: the same bytes for the same seed, on every platform.

Ids and choices come from SHA-256 of the seed and a path such as ("company", 0, "category", 17). More of one
thing never changes another, and no random generator is involved.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

# Names of companies, people, categories, and of accounts that only the service has.
NAMES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("names.toml").read_text(encoding="utf-8"))

# Kinds of categories by their number: period and remainder, chosen so that no number is of two kinds.
_UNMAPPED = (12, 5)
_ARCHIVED = (30, 7)
_ON_ARCHIVED_ACCOUNT = (48, 11)
_ON_UNCHARTED_ACCOUNT = (60, 25)
_NAMESAKE_OF_THIRD = (240, 200)
_TAXED = (20, 3)
_WITH_METADATA = (16, 0)

# One encoder: `json.dumps` creates one for each call.
_to_json = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode

_THIRD = 2
_FORMER_VEHICLES = "450000"  # an archived account of the first company

_SMALLER = 4  # the other companies have a quarter of the first one's categories


class ChartAccount(NamedTuple):
    """One account of the ERP's chart, with codes of six digits so that none is one of a four-digit chart.

    `active` is "ja" or "nein". `in_service` is `=` for an account that the service has as it is, `~` for one
    with another name there, and empty for one that it lacks.
    """

    code: str
    name: str
    type: str
    tax_code: str
    active: str
    in_service: str


class Company(NamedTuple):
    """A company and how its exports are configured."""

    id: str
    name: str
    country: str
    currency: str
    has_integration: bool
    has_contra_accounts: bool
    current: str
    available: str


class Account(NamedTuple):
    """An account as the service stores it; `metadata` is JSON text."""

    id: str
    company_id: str
    external_id: str
    name: str
    archived: bool
    code: str | None
    metadata: str | None
    tax_code_external_id: str | None


@cache
def chart_of_accounts() -> tuple[ChartAccount, ...]:
    """Return the chart in the order of its codes."""
    _, *lines = Path(__file__).with_name("chart.csv").read_text(encoding="utf-8").splitlines()
    # Spaces between the bars belong to the name.
    return tuple(ChartAccount(*line.split("|")) for line in lines)


@dataclass(frozen=True)
class World:
    """The content of a new sandbox.

    Parameters
    ----------
    seed : int
        The source of all ids.
    companies, categories, employees : int
        Number of companies in all, and of categories and employees of the first; others have a quarter.
    """

    seed: int = 1
    companies: int = 3
    categories: int = 240
    employees: int = 27

    def id(self, *path: object) -> str:
        """Return the UUID (version 4) that belongs to a path."""
        # Formatted by hand in a quarter of the time of `uuid.UUID`: a world may have a million.
        sixteen = self._digest(path).hex()
        variant = "89ab"[int(sixteen[16], 16) % 4]
        return f"{sixteen[:8]}-{sixteen[8:12]}-4{sixteen[13:16]}-{variant}{sixteen[17:20]}-{sixteen[20:32]}"

    def number(self, below: int, *path: object) -> int:
        """Return a number from 0 up to `below` that belongs to a path."""
        return int.from_bytes(self._digest(path)[16:24], "big") % below

    def _digest(self, path: tuple[object, ...]) -> bytes:
        return hashlib.sha256(f"{self.seed}/{'/'.join(map(str, path))}".encode()).digest()

    @cached_property
    def all_companies(self) -> tuple[Company, ...]:
        """Every company: the first complete, the second without contra accounts, the third not connected."""
        return tuple(self._company(index) for index in range(self.companies))

    def _company(self, index: int) -> Company:
        name, country, currency, _ = _named("companies", index)
        again = index // len(NAMES["companies"])
        whole = 10_000 + self.number(90_000, "company", index, "balance")
        cents = "" if currency == "JPY" else ".50"
        return Company(
            id=self.id("company", index),
            name=f"{name} {again + 1}" if again else name,
            country=country,
            currency=currency,
            has_integration=index != 2,
            has_contra_accounts=index != 1,
            current=f"{whole}{cents}",
            available=f"{whole - 1_250}{cents}",
        )

    def accounts(self, company: int) -> list[Account]:
        """Return the accounts that the service has of a company."""
        owner = self.all_companies[company].id

        def account(code: str, name: str, tax: str | None, *, archived: bool) -> Account:
            id_ = self.id("company", company, "account", code)
            return Account(id_, owner, code, name, archived, code, None, tax)

        if company > 0:
            return [
                account(f"{4000 + 10 * n}", f"Account {4000 + 10 * n}", None, archived=n == 0)
                for n in range(12)
            ]
        others, only_in_service = NAMES["other_names"], NAMES["only_in_service"]
        known = [
            account(
                row.code, others.get(row.code, row.name), row.tax_code or None, archived=row.active == "nein"
            )
            for row in chart_of_accounts()
            if row.in_service
        ]
        return known + [
            account(code, name, None, archived=archived) for code, name, archived in only_in_service
        ]

    def categories_of(self, company: int) -> Iterator[dict[str, Any]]:
        """Yield the categories of a company as the service answers them, in the order of their creation.

        Their metadata are JSON text, None for none.
        """
        owner = self.all_companies[company]
        called = _of_country("groups", owner.country)
        groups = [self.id("company", company, "group", name) for name in called]
        accounts = self.accounts(company)
        codes = dict.fromkeys(a.tax_code_external_id for a in accounts if a.tax_code_external_id)
        taxes = [self.id("company", company, "tax", code) for code in codes]
        ids = {account.external_id: account.id for account in accounts}
        foreign = {code for code, *_ in NAMES["only_in_service"]}
        uncharted = [a.id for a in accounts if a.external_id in foreign and not a.archived]
        archived = [a.id for a in accounts if a.archived and a.external_id not in foreign]
        usual = [a.id for a in accounts if not a.archived and a.external_id not in foreign]
        for number in range(self.categories if company == 0 else self.categories // _SMALLER):
            account: str | None = (
                ids[expense_of(number)["account"]]
                if company == 0
                else usual[self.number(len(usual), "company", company, "mapping", number)]
            )
            if _is(number, _UNMAPPED):
                account = None
            elif _is(number, _ON_ARCHIVED_ACCOUNT):
                account = ids.get(_FORMER_VEHICLES, archived[number % len(archived)])
            elif uncharted and _is(number, _ON_UNCHARTED_ACCOUNT):
                account = uncharted[number // _ON_UNCHARTED_ACCOUNT[0] % len(uncharted)]
            yield {
                "id": self.id("company", company, "category", number),
                "companyId": owner.id,
                "categoryGroupId": groups[number % len(groups)],
                "name": _category_name(company, owner.country, number),
                "archived": _is(number, _ARCHIVED),
                "accountId": account,
                "taxCodeId": taxes[number % len(taxes)] if taxes and _is(number, _TAXED) else None,
                "metadata": _named("metadata", number // 16) if _is(number, _WITH_METADATA) else None,
            }

    def employees_of(self, company: int) -> Iterator[dict[str, Any]]:
        """Yield a company's employees as the service answers them; some of them lack optional fields."""
        owner = self.all_companies[company]
        *_, domain = _named("companies", company)
        count = (
            self.employees if company == 0 else max(1, self.employees // _SMALLER) if self.employees else 0
        )
        people = _of_country("people", owner.country)
        for number in range(count):
            first, last, address = people[(number + 5 * company) % len(people)]
            again = number // len(people)
            employee = {
                "id": self.id("company", company, "employee", number),
                "companyId": owner.id,
                "email": f"{address}{again or ''}@{domain}",
                "firstName": first,
                "lastName": last,
                "avatar": {"url": f"https://images.{domain}/{number}.png"} if number % 3 == 0 else None,
                "code": None if number % 6 == 4 else f"{number + 1:04}",
                "jobTitle": None if number % 5 == 3 else _named("job_titles", number),
                "phone": f"+49 221 {number + 100:03} {number}" if number % 4 else None,
                "role": _named("roles", number) if number % 7 else None,
            }
            yield {name: value for name, value in employee.items() if value is not None}


def row_json(row: dict[str, Any]) -> str:
    """Return a category or an employee as JSON; metadata exactly as written, left out when missing."""
    shown, metadata = _to_json({name: row[name] for name in row if name != "metadata"}), row.get("metadata")
    return shown if metadata is None else f'{shown[:-1]}, "metadata": {metadata}}}'


def camel(name: str) -> str:
    """Return the interface's name of a field."""
    first, *others = name.split("_")
    return first + "".join(map(str.title, others))


def _named(names: str, number: int) -> Any:
    return NAMES[names][number % len(NAMES[names])]


def _of_country(names: str, country: str) -> list[Any]:
    of_country: list[Any] = NAMES[names].get(country, NAMES[names]["other"])
    return of_country


def expense_of(number: int) -> dict[str, Any]:
    """Return the kind of expense of the first company's category of a number."""
    expense: dict[str, Any] = _named("expenses", _named_as(number))
    return expense


def _named_as(number: int) -> int:
    return _THIRD if _is(number, _NAMESAKE_OF_THIRD) else number


def _is(number: int, kind: tuple[int, int]) -> bool:
    period, remainder = kind
    return number % period == remainder


def _category_name(company: int, country: str, number: int) -> str:
    if company == 0:
        things, places = [expense["name"] for expense in NAMES["expenses"]], NAMES["departments"]
        number = _named_as(number)
    else:
        things, places = _of_country("things", country), NAMES["places"]
    again = number // (len(things) * len(places))
    parts = [
        things[number % len(things)],
        places[number // len(things) % len(places)],
        str(again + 1) if again else "",
    ]
    return " ".join(filter(None, parts))
