"""Rates, a budget, large changes and what is missing, each figure recomputed with pandas from the files."""

from __future__ import annotations

import datetime as dt
import io
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from itertools import groupby
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from python_calamine import CalamineWorkbook

import bktools
from bktools.close.actions import FIRST
from bktools.close.close import Close
from bktools.close.months import met_entries, recurring
from bktools.errors import InputError
from bktools.frames.tables import texts_of
from bktools.journal.statements import record_verification
from bktools.journal.writing import open_for_writing
from bktools.reports.folder import TABLES
from bktools.reports.html import report_of, terminal
from bktools.reports.workbook import workbook_of

RATES = {"USD": "0.8712", "CHF": "1.05", "SEK": "0.0899", "JPY": "0.0058"}
# What comes every month, and on which day.
PHONE, RENT = ("Telefon AG", 3, "40.00"), ("Miete GmbH", 1, "900.00")
SPENT = ["exported", "in_books", "in_doubt", "ready", "held_back"]


@dataclass
class Months:
    """Closes of July to November of a small company: phone and rent are missing in October."""

    closes: dict[str, Close]
    budget: pd.DataFrame
    again: Close
    wrong: Close

    def table(self, month: str, name: str) -> pd.DataFrame:
        """Return a table of a close as text, with exact amounts."""
        table = TABLES[f"{name}.csv"](self.closes[month])
        return pd.DataFrame({column: texts_of(table, column) for column in table.column_names}, dtype="str")


def entries_of(month: pd.Period, sample: pd.DataFrame, number: int) -> pd.DataFrame:
    """Return the entries of a month: some of the sample, and what comes every month."""
    own = sample.iloc[number * 9 :: 7].head(25).copy()
    own["date"] = month.start_time + pd.to_timedelta(own["date"].dt.day.clip(upper=28) - 1, unit="D")
    own["id"] = [f"{month.ordinal:08}-0000-4000-8000-{row:012}" for row in range(len(own))]
    usual = own[own["currency"] == "EUR"].head(2).copy()
    usual["id"] = [f"{month.ordinal:08}-0000-4000-8000-{row:012}" for row in (100, 101)]
    usual["supplier"] = [PHONE[0], RENT[0]]
    usual["amount"] = pd.Series([PHONE[2], RENT[2]], usual.index).astype(float).astype(own["amount"].dtype)
    usual["category_id"] = sample["category_id"].dropna().iloc[0]
    days = [PHONE[1], RENT[1]]
    if month == pd.Period("2026-11"):
        # The phone of October came in November, too; the rent did not.
        usual = pd.concat([usual.head(1), usual.head(1)])
        usual["id"] = [f"{month.ordinal:08}-0000-4000-8000-{row:012}" for row in (100, 101)]
        days = [PHONE[1], 20]
    usual["date"] = [month.start_time + pd.Timedelta(days=day - 1) for day in days]
    if month == pd.Period("2026-10"):
        # A late entry of a month that was closed.
        own.iloc[0, own.columns.get_loc("date")] = pd.Timestamp("2026-07-15")
        return own
    return pd.concat([own, usual], ignore_index=True)


@pytest.fixture(scope="module")
def months(samples: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Months:
    root = tmp_path_factory.mktemp("months")
    with bktools.Sandbox(root / "sandbox", job_seconds=0) as service:
        chart = bktools.read_chart_of_accounts(samples[0], company=service.settings.company)
        sample = bktools.read_entries(samples[1])
        sample = sample[sample["company_id"] == service.settings.company].dropna(subset="amount")
        categories = bktools.load_categories(service=service)
        closes = {}
        for number, month in enumerate(pd.period_range("2026-07", "2026-11", freq="M")):
            entries = entries_of(month, sample, number)
            entries.attrs = sample.attrs
            options = {"month": str(month), "by": "Ada", "service": service, "chart": chart}
            options["entries"] = entries
            if str(month) == "2026-10":
                budget = bktools.spend(entries, "category", categories=categories).dropna(subset="amount")
                budget = budget.assign(amount=(budget["amount"] * 1.25).round(0))
                # Nobody plans for a category that the service does not know.
                budget = budget[~budget["category_name"].str.startswith("unknown")]
                budget = budget[["category_name", "currency", "amount"]]
                with open_for_writing(service.settings) as journal:
                    record_verification(
                        journal,
                        service.settings.company,
                        "2026-09",
                        by="Grace",
                        ledger={"name": "books.se", "sha256": "0"},
                        result={},
                        entries=[],
                        differences=[{"check": "missing", "about": "x", "reason": "known"}],
                    )
                with pytest.raises(InputError, match="the rates have none for"):
                    bktools.close_month(folder=False, apply=True, rates={"CHF": 1}, **options)
                options |= {"rates": RATES, "budget": budget}
            if str(month) == "2026-11":
                options["budget"] = budget
            closes[str(month)] = bktools.close_month(folder=False, apply=True, **options)
            if str(month) == "2026-07":
                bktools.close_period("2026-07", by="Grace", service=service)
            if str(month) == "2026-10":
                del options["rates"], options["budget"]
                # A dry run with other rates keeps none.
                bktools.close_month(folder=False, rates=dict.fromkeys(RATES, 9), **options)
                again = bktools.close_month(folder=False, **options)
                unknown = entries.tail(1).assign(id=f"{0:08}-0000-4000-8000-{0:012}", currency="XXQ")
                unknown = pd.concat([entries, unknown], ignore_index=True)
                unknown.attrs = sample.attrs
                wrong = bktools.close_month(folder=False, **options | {"entries": unknown})
    return Months(closes, budget, again, wrong)


def test_every_currency_stands_in_the_own_one_too(months: Months):
    """The sum of all amounts, each converted and rounded by itself; given once, the rates hold again."""
    rows = months.table("2026-10", "entries")
    rates = {"EUR": "1", **RATES}
    cents = [
        (Decimal(amount) * Decimal(rates[currency])).quantize(Decimal("0.01"), ROUND_HALF_UP)
        for amount, currency in zip(rows["amount"], rows["currency"], strict=True)
    ]
    assert [Decimal(text) for text in rows["home_amount"]] == cents
    close = months.closes["2026-10"]
    by_fate = pd.Series(cents).groupby(rows["fate"]).sum().to_dict() | {"all": sum(cents)}
    assert {line["fate"]: line.home for line in close.figures.statement if not line["reason"]} == by_fate
    assert close.home_currency == months.again.home_currency == "EUR"
    assert months.again.figures.spent.home == close.figures.spent.home
    spent = sum(cent for cent, fate in zip(cents, rows["fate"], strict=True) if fate in SPENT)
    assert (
        f"Spent in October 2026, all currencies at the rates given: EUR\N{NO-BREAK SPACE}{spent:,}"
        in report_of(close).decode()
    )
    # Converted, the largest currencies come first, and the largest entries are of all of them.
    of_currency = pd.Series(cents).groupby(rows["currency"]).sum().abs()
    others = of_currency.drop("EUR").sort_values(ascending=False).index
    assert close.figures.currencies == ("EUR", *others)
    # Of the steps that entries wait for, the one that frees most money comes first, whatever its currency.
    for _, steps in groupby(close.actions, lambda step: (step.code in FIRST, step.is_apart, step.severity)):
        sizes = [-abs(sum(money.home or 0 for money in step.money.values())) for step in steps]
        assert sizes == sorted(sizes)
    sizes = [abs(cent) for cent, fate in zip(cents, rows["fate"], strict=True) if fate in SPENT]
    largest = close.figures.largest["home_amount"].to_pylist()
    assert [abs(amount) for amount in largest] == sorted(sizes, reverse=True)[:10]
    assert months.closes["2026-11"].home_currency is None


def test_a_currency_that_does_not_exist_holds_back_its_entry_alone(months: Months):
    """The sums in the own currency are those of all others; what they leave out is named."""
    close = months.wrong
    entries = close.entries.set_index("currency")
    assert entries.loc["XXQ", ["fate", "reason"]].tolist() == ["held_back", "unknown_currency"]
    assert entries["home_amount"].isna().tolist() == (entries.index == "XXQ").tolist()
    spent = entries[
        entries["fate"].isin(SPENT) & ~entries["id"].isin(close.figures.counted["id"].to_pylist())
    ]
    assert close.figures.spent.home == Decimal(str(round(spent["home_amount"].sum(), 2)))
    assert close.figures.against_home.now == close.figures.spent.home
    amount = f"XXQ {entries.loc['XXQ', 'amount']:,.2f} in the sums of all currencies"
    assert any(phrase.startswith(amount) for phrase in close.run.unchecked)


def test_with_rates_the_month_before_is_compared_in_the_own_currency(months: Months):
    """All currencies of both months, each amount converted and rounded by itself: that is the headline."""
    close, rates = months.closes["2026-10"], {"EUR": "1", **RATES}
    sums = {}
    for month in ("2026-09", "2026-10"):
        rows = months.table(month, "entries")
        rows = rows[rows["fate"].isin(SPENT)]
        if month == "2026-10":
            rows = rows[~rows["id"].isin(close.figures.counted["id"].to_pylist())]
        cents = [
            (Decimal(amount) * Decimal(rates[currency])).quantize(Decimal("0.01"), ROUND_HALF_UP)
            for amount, currency in zip(rows["amount"], rows["currency"], strict=True)
        ]
        sums[month] = pd.Series(cents).sum()
    before, now = sums.values()
    change = close.figures.against_home
    assert (change.currency, change.before, change.now, change.change) == ("EUR", before, now, now - before)
    assert change.share == round((now - before) / before * 100, 1)
    euro = close.figures.against[0]
    assert (euro.currency, euro.before) != ("EUR", before)
    head = report_of(close).decode().split('<p class="spent">')[1].split("</p>")[0]
    assert f"at the rates given: EUR\N{NO-BREAK SPACE}{now:,}" in head
    assert f"September 2026: EUR\N{NO-BREAK SPACE}{before:,}" in head
    exact = {"currency": "EUR", "before": str(before), "now": str(now), "change": str(now - before)}
    assert close.for_programs["against"]["in_own"] == exact
    # Without rates of this month there is nothing to convert.
    assert months.closes["2026-11"].figures.against_home is None
    assert months.closes["2026-11"].for_programs["against"]["in_own"] is None


@pytest.mark.parametrize(("month", "rates"), [("2026-10", {"EUR": "1", **RATES}), ("2026-11", None)])
def test_the_budget_stands_beside_what_was_spent(months: Months, month: str, rates: dict[str, str] | None):
    """Each category of either: spent, budget, and their difference; with rates in the own currency."""

    def compared(rows: pd.DataFrame, names: pd.Series) -> pd.Series:
        amounts = rows["amount"].map(str).map(Decimal)
        codes = rows["currency"]
        if rates is not None:
            amounts *= codes.map(rates).map(Decimal)
            amounts = amounts.map(lambda amount: amount.quantize(Decimal("0.01"), ROUND_HALF_UP))
            codes = codes.mask(codes != "EUR", "EUR")
        return amounts.groupby([names, codes]).sum()

    rows = months.table(month, "entries")
    counted = months.closes[month].figures.counted["id"].to_pylist()
    spent = rows[rows["fate"].isin(SPENT) & ~rows["id"].isin(counted)]
    # A category that the service does not know has the beginning of its ID.
    unknown = "unknown category " + spent["category_id"].str[:8] + "…"
    names = spent["category_name"].fillna(unknown).fillna("no category")
    expected = compared(spent, names.rename("name"))
    planned = compared(months.budget, months.budget["category_name"].rename("name"))
    table = months.table(month, "budget")
    assert table["about"].tolist() == table["category_name"].tolist()
    totals = months.closes[month].tables["budget_total"].to_pylist()
    sums = [side.groupby(level=1).sum().to_dict() for side in (expected, planned)]
    # The page has the large rows, and one for the others of each currency: they add up to the total.
    shown = months.closes[month].tables["budget"].to_pandas()
    for currency in {**sums[0], **sums[1]}:
        [line] = [line for line in totals if line["currency"] == currency]
        assert [line["spent"], line["budget"]] == [side.get(currency, 0) for side in sums]
        of_page = shown[shown["currency"] == currency]
        assert [of_page[name].sum() for name in ("spent", "budget")] == [line["spent"], line["budget"]]
    assert len(shown) < len(table)
    book = CalamineWorkbook.from_filelike(io.BytesIO(workbook_of(months.closes[month])))
    cells = pd.DataFrame(book.get_sheet_by_name("budget").to_python()[1:])
    assert len(cells) == len(table) + len(totals)
    assert cells[0].tail(len(totals)).tolist() == ["Total"] * len(totals)
    assert cells[2].tail(len(totals)).round(2).tolist() == [float(line["spent"]) for line in totals]
    table = table.set_index(["category_name", "currency"])
    assert {*table.index} == {*expected.index} | {*planned.index}
    for key, row in table.iterrows():
        sides = expected.get(key, Decimal(0)), planned.get(key, Decimal(0))
        assert [Decimal(row[name]) for name in ("spent", "budget", "difference")] == [
            *sides,
            sides[0] - sides[1],
        ]


def test_small_changes_are_in_the_whole_table_alone(months: Months):
    """From 1% of the month in the company's currency a change has a row; each total has one."""
    close = months.closes["2026-10"]
    rows = months.table("2026-10", "entries")
    own = rows[(rows["currency"] == "EUR") & rows["fate"].isin(SPENT)]
    least = abs(sum(map(Decimal, own["amount"]))) / 100
    changes = months.table("2026-10", "changes")
    assert len(changes) == len(close.changes)
    size = changes["difference"].fillna("0").map(Decimal)
    rates = changes["currency"].map({"EUR": "1", **RATES}).fillna("0").map(Decimal)
    is_listed = (size.abs() * rates).ge(least) | changes["table"].eq("exported")
    is_listed |= changes["currency"].isna()
    listed = close.tables["changes"].to_pandas()
    assert listed["about"].to_list() == changes.loc[is_listed, "about"].to_list()
    assert close.changed["below_threshold"] == (~is_listed).sum() > 0


def test_a_late_entry_of_a_closed_month_names_the_month_that_takes_it(months: Months):
    """July is closed: October takes its entry, with the amount that the table of entries has."""
    rows = months.table("2026-10", "entries")
    [late] = rows[rows["date"] < "2026-08"].to_dict("records")
    steps = months.table("2026-10", "to_do")
    [step] = steps[steps["check"] == "closed_period"].to_dict("records")
    assert (step["entries"], step["currency"], Decimal(step["amount"])) == (
        "1",
        late["currency"],
        Decimal(late["amount"]),
    )
    assert step["why"] == "July 2026 is closed: October 2026 takes the entry"


def test_what_is_missing_is_named_and_the_next_month_says_which_came(months: Months):
    """Phone and rent came in three months and not in October; in November the phone came, the rent not."""
    october = months.table("2026-10", "expected")
    missing = october[(october["month"] == "2026-10") & (october["state"] == "missing")]
    assert {PHONE[0], RENT[0]} <= {*missing["supplier"]}
    rent = missing.set_index("supplier").loc[RENT[0]]
    assert [rent[f"amount_{place}"] for place in (1, 2, 3)] == [RENT[2]] * 3
    sums = missing.assign(amount=missing["amount"].map(Decimal)).groupby("currency")["amount"].sum()
    assert months.closes["2026-10"].accrual.amounts == sums.to_dict()
    assert "Proposed accrual" in report_of(months.closes["2026-10"]).decode()
    said = "Comes every month and is missing: "
    [line] = [line for line in terminal(months.closes["2026-10"]).splitlines() if line.startswith(said)]
    assert f"EUR\N{NO-BREAK SPACE}{sums['EUR']:,}" in line
    assert all(name in line for name in missing["supplier"]) or " more" in line
    exact = {currency: str(amount) for currency, amount in sums.items()}
    assert months.closes["2026-10"].for_programs["missing"]["amounts"] == exact
    assert said not in terminal(months.closes["2026-07"])
    november = months.table("2026-11", "expected")
    then = november[november["month"] == "2026-10"].set_index("supplier")["state"]
    assert (then[PHONE[0]], then[RENT[0]]) == ("late", "missing")


def test_what_is_held_back_each_month_is_not_missing():
    """An entry of the month's own file is there, also where the journal has the others without a company."""
    days = pd.to_datetime([f"2026-{month:02}-14" for month in range(5, 11)]).astype("datetime64[s]")
    rows = pd.DataFrame({"id": list("abcdef"), "supplier": "Makro", "currency": "EUR", "date": days})
    rows["amount"] = pd.array([Decimal("77.35")] * 6, pd.ArrowDtype(pa.decimal128(38, 2)))
    rows = rows.assign(split_line=0, period=rows["date"].dt.strftime("%Y-%m"), reason="no_category")
    held = pa.Table.from_pandas(rows.head(5).rename(columns={"id": "entry_id"}), preserve_index=False)
    met = met_entries(held.slice(0, 0).append_column("state", [[]]), held)
    own = pl.from_pandas(rows.tail(1).assign(company_id="c1", fate="held_back"))
    after, none = dt.date(2026, 11, 3), own.clear()
    assert len(recurring(own, met, none, "2026-10", "", after)) == 0
    [missing] = recurring(none, met, none, "2026-10", "", after).to_pylist()
    assert (missing["supplier"], missing["amount"]) == ("Makro", Decimal("77.35"))
    # What September held back and October sent was not missing in September.
    sent = held.slice(4).set_column(held.column_names.index("period"), "period", [["2026-10"]])
    both = met_entries(sent.append_column("state", [["ACCEPTED"]]), held)
    table = recurring(own, both, none, "2026-10", "2026-09", after)
    assert table.to_pylist() == []


def test_what_earlier_months_left_open_is_listed(months: Months):
    """Held back by an earlier close, exported by none since, and not in this month's file: with who acts."""
    tables = {month: months.table(month, "entries") for month in months.closes}
    held = {id_ for table in tables.values() for id_ in table.loc[table["fate"] == "held_back", "id"]}
    sent = {id_ for table in tables.values() for id_ in table.loc[table["fate"] == "exported", "id"]}
    close = months.closes["2026-11"]
    left = {*close.figures.left_open["id"].to_pylist()}
    assert left == held - sent - {*tables["2026-11"]["id"]} != set()
    section = report_of(close).decode().split('id="left-open"')[1].split("</table>")[0]
    assert section.count("<tr title=") == len(left)
    assert "Spend-tool administrator" in section


def test_what_is_missing_needs_three_months_before(months: Months):
    """Until three months before are known, nothing can be missing, and a line says why."""
    days = pd.Series(dtype="str")
    for month, close in months.closes.items():
        before = pd.period_range(end=pd.Period(month) - 1, periods=4, freq="M")
        known = days.str[:7].drop_duplicates().isin(before.astype(str)).sum()
        said = f"what is missing this month (needs entries of 3 earlier months; known: {known};"
        is_said = any(phrase.startswith(said) for phrase in close.run.unchecked)
        assert is_said == (known < 3) == (month < "2026-10")
        days = pd.concat([days, months.table(month, "entries")["date"]])


def test_a_month_shows_its_last_verification(months: Months):
    """Month, person, ledger and the differences that were left."""
    [row] = months.closes["2026-10"].tables["verified"].to_pylist()
    assert {name: row[name] for name in ("month", "by", "ledger", "differences")} == {
        "month": "2026-09",
        "by": "Grace",
        "ledger": "books.se",
        "differences": 1,
    }
    assert "books.se" in report_of(months.closes["2026-10"]).decode()
