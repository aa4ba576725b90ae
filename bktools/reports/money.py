"""`plot_spend` and `plot_money`: spend by anything, and what is exported and held back, a chart a currency."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import pandas as pd
import pyarrow as pa

from bktools.errors import ArgumentError, InputError
from bktools.export import ExportPlan
from bktools.export.plan import as_exported
from bktools.export.tables import days_of
from bktools.frames.currencies import shown
from bktools.frames.schema import STRINGS, TEXT, Moment, to_arrow
from bktools.reports import ages, bars
from bktools.spending import spend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN_CURRENCIES = 6
SHOWN_PARTS = 6
OTHERS = "others"

# What became of a batch, and of entries that are not held back.
STATES_OF_JOBS = {"ACCEPTED": "exported", "SENDING": "in doubt", "UNKNOWN": "in doubt", "REJECTED": "refused"}
DONE = ("exported", "ready")

# Formats what is told beneath a chart, with the money of its currency.
Told: TypeAlias = Callable[[Callable[[Any], str]], str]


def plot_spend(
    spend: pd.DataFrame, kind: str = "bars", *, title: str | None = None, figure: Figure | None = None
) -> dict[str, Axes]:
    """Draw what was spent: a chart a currency, each with its own scale and decimals.

    Parameters
    ----------
    spend : DataFrame
        As `spend` returns it.
    kind : str
        "bars": a bar a group, the largest first. "pareto": the same, with a line of the cumulated share; without groups
        that have no share. "months": a bar a month, in parts by the other keys of the frame: the six largest, and the
        rest.
    title : str, optional
        Heading of the charts, before the currency and the total.
    figure : matplotlib.figure.Figure, optional
        Where to draw, such as a figure of your own; its size is set. Default: a new figure.

    Returns
    -------
    dict of matplotlib.axes.Axes
        The chart of each currency; `["EUR"].figure.savefig(path)` saves all of them. At most six currencies are drawn,
        those with most entries, and 20 groups; the others are told as text.

    Raises
    ------
    ArgumentError
        When the kind is unknown, or the first argument is not a frame.
    InputError
        When the frame is not one that `spend` returned, or has no months for "months".

    Examples
    --------
    >>> import bktools
    >>> entries = bktools.read_entries("data/accounting_entries.csv")
    >>> charts = bktools.plot_spend(bktools.spend(entries, ["month", "approved"]), "months")
    >>> sorted(charts)
    ['CHF', 'EUR', 'JPY', 'SEK', 'USD']
    """
    frame = bars.checked(spend, "spend", pd.DataFrame, "spend").reset_index(drop=True)
    if kind not in KINDS:
        raise ArgumentError("kind", f"must be one of {', '.join(KINDS)}", kind)
    missing = [name for name in ("currency", "entries", "amount", "share") if name not in frame.columns]
    if missing or (kind == "months" and "month" not in frame.columns):
        raise InputError(
            f"the frame has no column {[*missing, 'month'][0]!r}: give what spend(entries, by=...) returns"
        )
    keys = list(frame.columns[: list(frame.columns).index("currency")])
    by = " and ".join(key.removesuffix("_name").removesuffix("_id").replace("_", " ") for key in keys) or "currency"
    panels = {}
    for currency, rows in frame.groupby("currency", sort=False):
        counts, note = KINDS[kind](rows.dropna(subset="amount"), keys)
        money = partial(shown, currency=str(currency))
        heading = f"Spend in {currency} by {by}" if title is None else f"{title} in {currency}"
        heading = f"{heading}: {money(bars.total(rows['amount'].dropna()))}"
        panels[str(currency)] = bars.Panel(counts, heading, str(currency), note(money), money, kind == "pareto")
    return _draw_panels(panels, figure, groups="groups")


def plot_money(
    plan: ExportPlan,
    by: str = "reason",
    *,
    jobs: pd.DataFrame | None = None,
    as_of: Moment | None = None,
    title: str | None = None,
    figure: Figure | None = None,
) -> dict[str, Axes]:
    """Draw the value of all entries of a plan, exported and held back: a chart a currency.

    Parameters
    ----------
    plan : ExportPlan
        As `compose_export_jobs` returns it, from entries with amounts and currencies.
    by : str
        "reason": a bar for what is exported or ready, and one for each reason to hold entries back. "age": what is held
        back, by age in parts by reason, beside a chart of the number of entries. "month": a bar a month of the entries'
        dates, in parts by what is exported or ready and why the rest is held back.
    jobs : DataFrame, optional
        As `submit_export_jobs` returns it: entries of its accepted batches are exported, not just ready.
    as_of : date, datetime or Period, optional
        The day that ages are counted to; today (UTC) by default.
    title : str, optional
        Heading of the charts, before the currency.
    figure : matplotlib.figure.Figure, optional
        Where to draw, such as a figure of your own; its size is set. Default: a new figure.

    Returns
    -------
    dict of matplotlib.axes.Axes
        The chart of each currency, and "entries", the number of entries by age, with `by="age"`.

    Raises
    ------
    ArgumentError
        When the plan is none or has no amounts, `by` is unknown, or `as_of` is not a date.

    Notes
    -----
    Export jobs: interface, section 4.2.

    Examples
    --------
    >>> import bktools
    >>> plan = bktools.compose_export_jobs(bktools.read_entries("data/accounting_entries.csv"))
    >>> [label.get_text() for label in bktools.plot_money(plan)["CHF"].get_yticklabels()]
    ['ready', 'not approved']
    """
    rows, waiting = bars.checked(plan, "plan", ExportPlan, "compose_export_jobs").rows, plan.not_ready
    if not {"amount", "currency"} <= set(rows.column_names):
        raise ArgumentError("plan", "must be made from entries with amounts and currencies")
    if by not in {"reason", "age", "month"}:
        raise ArgumentError("by", "must be 'reason', 'age' or 'month'", by)
    day = ages.day_of(as_of)
    panels = {}
    if by == "age":
        title = title or f"Held back, by age on {day:%Y-%m-%d}"
        of_age, of_reason = ages.ages_of(waiting, day), ages.reasons_of(waiting)
        counts = ages.counts_by_age(of_age, of_reason)
        panels["entries"] = bars.Panel(counts, f"{title}: number of entries", "entries")
        held = as_exported(to_arrow(waiting, "the entries")).select(["amount", "currency"])
        held = held.append_column("age", pa.array(of_age, TEXT)).append_column("reason", pa.array(of_reason, TEXT))
        for currency, sums in spend(held, ["age", "reason"]).groupby("currency", sort=False):
            amounts = _table(sums, sums["age"], sums["reason"], list(counts.index), list(counts.columns))
            panels[str(currency)] = _panel(amounts, str(currency), f"{title}: value")
        return _draw_panels(panels, figure, groups="ages")
    reasons = [name.replace("_", " ") for name in waiting["reason"]]
    held = as_exported(to_arrow(waiting, "the entries"))
    both = pa.concat_tables(
        [_with_states(rows, _exported(rows, jobs)), _with_states(held, reasons)], promote_options="permissive"
    )
    if by == "month":
        for currency, sums in spend(both, ["month", "state"]).groupby("currency", sort=False):
            amounts, note = _as_months(sums.dropna(subset="amount"), ["month", "state"])
            panel = _panel(amounts, str(currency), title or "Exported and held back, by month")
            panels[str(currency)] = replace(panel, note=note(panel.shown))
        return _draw_panels(panels, figure, groups="months")
    for currency, sums in spend(both, "state").groupby("currency", sort=False):
        names = sorted(sums["state"], key=lambda name: DONE.index(name) if name in DONE else len(DONE))
        amounts = _table(sums, [""] * len(sums), sums["state"], [""], names)
        panels[str(currency)] = _panel(amounts, str(currency), title or "Exported and held back")
    return _draw_panels(panels, figure, groups="reasons")


def _panel(counts: pd.DataFrame, currency: str, title: str) -> bars.Panel:
    return bars.Panel(counts, f"{title} in {currency}", currency, shown=partial(shown, currency=currency))


def _table(
    rows: pd.DataFrame, groups: Iterable[str], parts: Iterable[str], group_names: list[str], part_names: list[str]
) -> pd.DataFrame:
    """Return the exact sums of the amounts: a row a group, a column a part."""
    cells: dict[tuple[str, str], list[Decimal]] = defaultdict(list)
    for group, part, amount in zip(groups, parts, rows["amount"], strict=True):
        if not pd.isna(amount):
            cells[group, part].append(amount)
    sums = [[bars.total(cells[group, part]) for part in part_names] for group in group_names]
    return pd.DataFrame(sums, group_names, part_names, dtype="object")


def _with_states(entries: pa.Table, states: list[str]) -> pa.Table:
    """Return day, amount and currency of entries, and what became of each."""
    columns = {"date": days_of(entries), "amount": entries["amount"], "currency": entries["currency"]}
    return pa.table(columns | {"state": pa.array(states, TEXT)})


def _exported(rows: pa.Table, jobs: pd.DataFrame | None) -> list[str]:
    """Return what became of each ready entry."""
    states = (
        {}
        if jobs is None
        else {
            batch: STATES_OF_JOBS.get(state, "ready")
            for batch, state in zip(jobs["batch_id"], jobs["outcome"], strict=True)
        }
    )
    return [states.get(batch, "ready") for batch in rows.column("batch_id").to_pylist()]


def _draw_panels(panels: dict[str, bars.Panel], figure: Figure | None, *, groups: str) -> dict[str, Axes]:
    """Draw the first panels; those that are left out are told beneath the last one."""
    drawn, others = list(panels)[:SHOWN_CURRENCIES], list(panels)[SHOWN_CURRENCIES:]
    if not panels:
        return {"": bars.draw_panels([bars.Panel(pd.DataFrame(), "Nothing to show", "")], figure, groups=groups)[0]}
    if others:
        totals = [f"{name} {panels[name].shown(bars.total(panels[name].counts.to_numpy().ravel()))}" for name in others]
        last = panels[drawn[-1]]
        panels = panels | {
            drawn[-1]: replace(last, note="\n".join([last.note, f"not drawn: {', '.join(totals)}"]).strip())
        }
    axes = bars.draw_panels([panels[name] for name in drawn], figure, groups=groups)
    return dict(zip(drawn, axes, strict=True))


def _as_bars(rows: pd.DataFrame, keys: list[str]) -> tuple[pd.DataFrame, Told]:
    """Return the amount of each group; two groups of one name are told apart by their IDs."""
    labels = pd.Series(_labels(rows, keys), dtype=STRINGS)
    identifiers = rows[rows.columns[-1]].to_numpy()
    if rows.columns[-1] != "share":
        twice = labels.duplicated(keep=False)
        labels = labels.where(~twice, labels + [f" ({str(identifier)[:8]})" for identifier in identifiers])
    return pd.DataFrame({bars.MONEY: rows["amount"].to_numpy(dtype="object")}, labels), lambda _: ""


def _as_pareto(rows: pd.DataFrame, keys: list[str]) -> tuple[pd.DataFrame, Told]:
    """Return the groups that have a share, without their sign."""
    sharing = rows.dropna(subset="share")
    left = rows.loc[rows["share"].isna(), "amount"]
    counts, _ = _as_bars(sharing, keys)
    told = f"not drawn, of the other sign or without a share: {len(left):,} groups"
    return counts.map(abs), lambda money: f"{told}, {money(bars.total(left))}" if len(left) else ""


def _as_months(rows: pd.DataFrame, keys: list[str]) -> tuple[pd.DataFrame, Told]:
    """Return the amount of each month in order, in parts by the other keys; the earliest of many months are left out."""
    others = [key for key in keys if key != "month"]
    labels = pd.Series(_labels(rows, others) if others else [bars.MONEY] * len(rows), rows.index, dtype=STRINGS)
    sizes = rows["amount"].astype("float64").abs().groupby(labels).sum().sort_values(ascending=False, kind="stable")
    largest = list(sizes.index[:SHOWN_PARTS])
    parts = labels.where(labels.isin(largest), OTHERS)
    months = sorted(rows["month"].unique())
    dated = [month for month in months if month[:1].isdigit()]
    if dated and len(span := pd.period_range(dated[0], dated[-1], freq="M")) <= bars.SHOWN_GROUPS:
        months = [*map(str, span), *(month for month in months if month not in dated)]
    drawn = months[-bars.SHOWN_GROUPS :]
    left = rows.loc[~rows["month"].isin(drawn), "amount"]
    counts = _table(rows, rows["month"], parts, drawn, [name for name in (*largest, OTHERS) if name in set(parts)])
    return counts, lambda money: f"not drawn: earlier months, {money(bars.total(left))}" if len(left) else ""


KINDS = {"bars": _as_bars, "pareto": _as_pareto, "months": _as_months}


def _labels(rows: pd.DataFrame, keys: list[str]) -> list[str]:
    return [" · ".join(filter(None, values)) for values in zip(*(rows[key] for key in keys), strict=True)] or [
        "all"
    ] * len(rows)
