"""The figures of a month, each computed with plain pandas from the same entries as well."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from step_results import entries_of, finding, made

from bktools.close.actions import CHANGED
from bktools.close.changes import large_for_the_month
from bktools.close.entries import ENTRY_COLUMNS, OF_REASON
from bktools.close.figures import LARGEST, LARGEST_OF_OTHERS, Figures
from bktools.close.months import met_entries, spent_in
from bktools.close.sentences import name_of, not_spent, step_of
from bktools.frames.sums import with_one_reason
from bktools.spending.rates import ALWAYS, ExchangeRates
from bktools.wording import words

NAMES = ("id", "supplier", "category_id", "category_name", "amount", "currency", "fate")


def _table(*rows: tuple) -> pa.Table:
    usual = dict.fromkeys(NAMES)
    listed = [usual | dict(zip(NAMES, row, strict=False)) for row in rows]
    listed = [row | {"fate": row["fate"] or "exported", "split_line": 0} for row in listed]
    return pa.Table.from_pylist(
        listed, pa.schema([ENTRY_COLUMNS.field(name) for name in (*NAMES, "split_line")])
    )


MONTH = _table(
    *((f"e{number}", "Bahn", "c1", "Travel", Decimal(number), "EUR") for number in range(1, 13)),
    ("credit", "Fair", "c2", "Fairs", Decimal(-500), "EUR"),
    *((f"y{number}", "Hotel", "c1", "Travel", Decimal(48211 + number), "JPY") for number in range(5)),
    ("franc", "Hotel", "c1", "Travel", Decimal("9.50"), "CHF"),
    ("unknown", None, None, None, None, "EUR"),
    ("of September", "Fair", "c2", "Fairs", Decimal(9000), "EUR", "exported_before"),
    ("copy", "Fair", "c2", "Fairs", Decimal(9000), "EUR", "left_out"),
)


def figures_of(
    entries: pa.Table, own: str | None = "EUR", before: pa.Table | None = None, counted: tuple[str, ...] = ()
) -> Figures:
    """Return the figures of entries beside a month before, of which some are counted there."""
    before = _table() if before is None else before
    is_counted = pc.is_in(entries["id"], pa.array(counted, pa.large_string()))
    return Figures(entries, own, before, before, entries.filter(is_counted), before)


def largest_by_pandas(entries: pa.Table, own: str) -> list[str]:
    """Return the IDs of the largest entries, currency by currency, the own one first."""
    frame = entries.to_pandas().dropna(subset="amount")
    frame = frame[~frame["fate"].isin(["exported_before", "left_out"])]
    counts = frame["currency"].value_counts()
    order = sorted(counts.index, key=lambda name: (name != own, -counts[name], name))
    ids: list[str] = []
    for place, currency in enumerate(order):
        rows = frame[frame["currency"] == currency]
        sizes = rows["amount"].abs().sort_values(ascending=False, kind="stable")
        ids += rows.loc[sizes.index, "id"].head(LARGEST_OF_OTHERS if place else LARGEST).to_list()
    return ids


@pytest.mark.parametrize("own", ["EUR", "JPY"])
def test_the_largest_entries_are_of_all_currencies(own):
    """By size, credits too, with amounts only: ten of the company's own currency, and some of each other."""
    largest = figures_of(MONTH, own).largest
    assert largest["id"].to_pylist() == largest_by_pandas(MONTH, own)
    assert set(largest["currency"].to_pylist()) == {"EUR", "JPY", "CHF"}
    assert len(figures_of(_table(), None).largest) == 0


def test_what_is_new_is_in_no_month_before():
    """New suppliers and categories have no entry in any month before; the first month has none."""
    earlier = _table(("a", "Bahn", "c1", "Travel", Decimal(1), "EUR"))
    new = figures_of(MONTH, before=earlier).new
    assert {key: [part.keys["id"] for part in parts] for key, parts in new.items()} == {
        "supplier": ["Fair", "Hotel"],
        "category": ["c2"],
    }
    assert new["supplier"][0].amounts == {"EUR": Decimal(-500)}
    assert figures_of(MONTH).new == {}


SPENT = {"exported", "ready", "in_doubt", "in_books", "held_back"}
OCTOBER = _table(
    ("1", "A", None, None, Decimal("60.00"), "EUR", "exported"),
    ("2", "A", None, None, Decimal("30.00"), "EUR", "in_books"),
    ("3", "A", None, None, Decimal("12.50"), "EUR", "held_back"),
    ("4", "A", None, None, Decimal("7.00"), "EUR", "in_doubt"),
    ("5", "A", None, None, Decimal("99.00"), "EUR", "left_out"),
    ("6", "A", None, None, Decimal("45.00"), "EUR", "exported_before"),
    # An entry that September held back: September counts it.
    ("7", "A", None, None, Decimal("20.00"), "EUR", "exported"),
    ("8", "A", None, None, Decimal("5.00"), "USD", "exported"),
)


def test_months_are_compared_by_what_was_spent():
    """Exported, in the books, in doubt and held back are all spent; each is beside the sum; none twice."""
    september = _table(
        ("6", "A", None, None, Decimal("45.00"), "EUR", "exported"),
        ("7", "A", None, None, Decimal("20.00"), "EUR", "held_back"),
    )
    figures = figures_of(OCTOBER, before=september, counted=("7",))
    euro, dollar = figures.against
    frame = OCTOBER.to_pandas()
    frame = frame[frame["fate"].isin(SPENT) & (frame["id"] != "7")]
    spent = frame.groupby("currency")["amount"].sum()
    assert (euro.before, euro.now, euro.change) == (Decimal("65.00"), spent["EUR"], spent["EUR"] - 65)
    assert euro.share == round((spent["EUR"] - 65) / 65 * 100, 1)
    by_fate = frame[frame["currency"] == "EUR"].groupby("fate")["amount"].sum()
    assert {fate: sides[1] for fate, sides in euro.parts.items()} == by_fate.to_dict()
    assert sum(sides[0] for sides in euro.parts.values()) == euro.before
    assert (dollar.currency, dollar.before, dollar.now, dollar.share) == ("USD", 0, spent["USD"], None)
    # With the part that September has counted, what was spent is the sum of its fates.
    assert (figures.spent.amounts, figures.counted_earlier.amounts) == (spent.to_dict(), {"EUR": 20})
    fates = [part for part in figures.by("fate") if part["fate"] in SPENT]
    assert sum(part.amounts["EUR"] for part in fates if "EUR" in part.amounts) == spent["EUR"] + 20


def test_an_entry_that_an_earlier_month_counted_adds_what_its_amount_changed_by():
    """Held back with a mistyped amount, and corrected: both months together have what it is now."""
    columns = [OCTOBER[name] for name in OCTOBER.column_names if name != "amount"]
    names = [name for name in OCTOBER.column_names if name != "amount"]
    mistyped = pa.table(
        dict(zip(names, columns, strict=True)) | {"amount": [Decimal("1000.00")] * len(OCTOBER)}
    )
    before = mistyped.filter(pc.is_in(OCTOBER["id"], pa.array(["7"], pa.large_string())))
    figures = replace(figures_of(OCTOBER, before=before), counted=before)
    frame = OCTOBER.to_pandas()
    spent = frame[frame["fate"].isin(SPENT)]
    sums = spent.groupby("currency")["amount"].sum()
    assert figures.spent.amounts == {**sums, "EUR": sums["EUR"] - 1000}
    assert figures.counted_earlier.amounts == {"EUR": 1000}
    assert figures.spent.entries + figures.counted_earlier.entries == len(spent)
    [euro, _] = figures.against
    assert (euro.before, euro.now) == (1000, sums["EUR"] - 1000)
    assert sum(now for _, now in euro.parts.values()) == euro.now
    assert "7" not in figures.largest["id"].to_pylist()


def test_an_entry_that_belongs_elsewhere_by_now_is_taken_back_there():
    """Held back without a category or a currency, and completed: it counts where it belongs, once."""
    now = _table(
        ("1", "A", "c1", "Travel", Decimal(300), "EUR"), ("2", "B", "c2", "Fairs", Decimal(88), "EUR")
    )
    before = _table(("1", "A", None, None, Decimal(300), "EUR"), ("2", "B", "c2", "Fairs", Decimal(88), None))
    figures = replace(figures_of(now, before=before), counted=before)
    rows = figures.spent_entries.to_pandas()
    sums = rows.groupby("category_name", dropna=False)["amount"].sum()
    assert [sums["Travel"], sums["Fairs"], sums[sums.index.isna()].iloc[0]] == [300, 88, -300]
    assert (figures.spent.amounts, figures.spent.entries) == ({"EUR": 88}, 1)
    assert figures.counted_earlier.amounts == {"EUR": 300}


def test_the_page_says_what_of_all_entries_was_not_spent():
    """What was spent, and each part that was not, are all entries: their number, and each currency."""
    figures = figures_of(OCTOBER, counted=("7",))
    parts = {part["fate"]: part for part in figures.not_spent}
    frame = OCTOBER.to_pandas()
    apart = frame[~frame["fate"].isin(SPENT)].groupby("fate")["id"].count().to_dict()
    assert {fate: part.entries for fate, part in parts.items()} == apart | {"counted_earlier": 1}
    whole = frame.groupby("currency")["amount"].sum()
    for currency, amount in whole.items():
        sums = [part.amounts.get(currency, 0) for part in (figures.spent, *parts.values())]
        assert sum(sums) == amount
    line = not_spent(words("en"), figures)
    assert line.startswith(f"Spent: {figures.spent.entries} entries, EUR ")
    assert "counted in an earlier month (1 entry, EUR 20.00)" in line
    assert not_spent(words("en"), figures_of(_table())) == ""


def test_an_entry_is_spent_in_the_month_that_met_it_first():
    """What a month held back stays its own, also when the next one exports it."""
    names = ("id", "date", "amount", "currency", "reason", "split_line")
    columns = {name: ENTRY_COLUMNS.field(name).type for name in names}
    columns["entry_id"] = columns.pop("id")
    schema = pa.schema(columns | dict.fromkeys(("state", "period"), pa.large_string()))
    usual = {"amount": Decimal("1.00"), "currency": "EUR", "split_line": 0}
    sent = [
        usual | {"entry_id": "a", "state": "ACCEPTED", "period": "2026-09"},
        usual | {"entry_id": "b", "state": "ACCEPTED", "period": "2026-10"},
        usual | {"entry_id": "c", "state": "UNKNOWN", "period": "2026-09"},
        usual | {"entry_id": "f", "state": "ACCEPTED", "period": "2026-09"},
    ]
    held = [
        usual | {"entry_id": "b", "reason": "not_approved", "period": "2026-09", "amount": Decimal("9.00")},
        usual | {"entry_id": "d", "reason": "already_booked", "period": "2026-09"},
        usual | {"entry_id": "e", "reason": "no_account", "period": "2026-10"},
        # Corrected, and sent by a later close of the same month.
        usual | {"entry_id": "f", "reason": "no_account", "period": "2026-09"},
        *[usual | {"reason": "no_id", "period": month} for month in ("2026-09", "2026-10")],
    ]
    met = met_entries(*(pa.Table.from_pylist(rows, schema) for rows in (sent, held)))
    spent = [(row["id"], row["fate"]) for row in spent_in(met, "2026-09").to_pylist()]
    # October has the difference of what September held back with another amount.
    assert sum(spent_in(met, "2026-10")["amount"].to_pylist()) == Decimal(1 - 9 + 1 + 1)
    assert len(spent) == len(dict(spent))
    assert dict(spent) == {
        "a": "exported",
        "b": "held_back",
        "c": "in_doubt",
        "d": "in_books",
        "f": "exported",
        None: "held_back",
    }


def test_a_change_in_another_currency_is_as_large_as_its_rate_makes_it():
    """From 1% of what was spent, EUR 4.22: at the last rate until the month's end, and never without one."""
    later = dt.date(2030, 1, 1)
    rates = ExchangeRates(((ALWAYS, "JPY", Decimal("0.01")), (later, "JPY", Decimal(9))))
    differences = {"EUR": [4.0, -4.5], "JPY": [400.0, 430.0], "CHF": [9999.0]}
    rows = [{"currency": code, "difference": one} for code, own in differences.items() for one in own]
    is_large = pl.DataFrame(rows).select(large_for_the_month(figures_of(MONTH), rates)).to_series()
    assert is_large.to_list() == [False, True, False, True, False]


def test_a_changed_entry_has_its_amounts_before_and_now():
    """The step's amounts are the sums of its lines: as sent, as they are in the file, and the difference."""
    entries = entries_of(
        {"fate": "exported", "reason": CHANGED, "money": "100.00", "file_amount": Decimal("250.00")},
        {"fate": "exported", "reason": CHANGED, "money": "40.00", "file_amount": Decimal("30.00")},
        {"fate": "exported", "reason": CHANGED, "money": "7.00"},
    )
    findings = [finding(CHANGED, number, facts='{"changes": []}') for number in range(3)]
    [action] = made(entries, findings=findings)
    frame = pd.DataFrame(entries.to_pylist())
    now = frame["file_amount"].fillna(frame["amount"])
    assert action.amounts == action.facts["sent"] == {"EUR": frame["amount"].sum()}
    assert action.facts["now"] == {"EUR": now.sum()}
    assert action.facts["difference"] == {"EUR": now.sum() - frame["amount"].sum()}
    assert action.amounts == {"EUR": sum(thing.amounts["EUR"] for thing in action.things)}
    assert [name_of(words("en"), thing) for thing in action.things] == [
        "EUR 100.00 → EUR 250.00",
        "EUR 40.00 → EUR 30.00",
        "EUR 7.00",
    ]
    assert step_of(words("en"), action).why == (
        "Exported with other data: sent EUR 147.00, now EUR 287.00 (difference EUR 140.00)"
    )


def test_entries_in_the_books_are_no_step():
    """The ledger has them already, so nobody has anything to do."""
    entries = entries_of({"fate": "in_books", "reason": "already_booked"})
    assert made(entries, findings=[finding("already_booked", 0)]) == ()


# Lines of entries that are held back: entry, line in it, first error, amount.
HELD_LINES = [
    ("a", 1, "other_line_not_ready", "5.00"),
    ("a", 2, "no_category", "7.50"),
    ("b", 1, "no_category", "1.25"),
    ("b", 2, "not_approved", "2.00"),
    ("c", 0, "not_approved", "3.00"),
    ("d", 0, "no_category", "4.00"),
]


def test_an_entry_is_held_back_by_one_reason():
    """The first error of its lines; the reasons add up, and the steps have the figures' numbers."""
    frame = pd.DataFrame(HELD_LINES, columns=["id", "split_line", "reason", "money"])
    entries = with_one_reason(entries_of(*frame.to_dict("records")), OF_REASON)
    findings = [
        finding(reason, None, id=entry, line=line) for line, (entry, _, reason, _) in enumerate(HELD_LINES)
    ]
    [whole, *reasons, total] = figures_of(entries).statement
    first = frame[frame["reason"] != "other_line_not_ready"].sort_values("reason", ascending=False)
    at = frame["id"].map(first.drop_duplicates("id").set_index("id")["reason"])
    sums = frame.assign(at=at, money=frame["money"].map(Decimal)).groupby("at")
    counts, amounts = sums["id"].nunique().to_dict(), sums["money"].sum().to_dict()
    assert {part["reason"]: part.entries for part in reasons} == counts
    assert {part["reason"]: part.amounts["EUR"] for part in reasons} == amounts
    assert sum(part.entries for part in reasons) == whole.entries == total.entries == frame["id"].nunique()
    steps = {action.code: action for action in made(entries, findings=findings)}
    assert {code: action.entries - action.counted_elsewhere for code, action in steps.items()} == counts
    # An entry is a step of each of its errors: the line of the second says so.
    assert steps["no_category"].counted_elsewhere == 1
    assert step_of(words("de"), steps["no_category"]).why.endswith(
        "in den Zahlen unter einem anderen Grund gezählt: 1 Eintrag"
    )
