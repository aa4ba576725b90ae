"""The months before: what the closes of a company met, from its journal.

One frame has each line of an entry that was sent, or that a close did not send: `fate` is what became of it
there, `met_in` the month of that close, and `first_in` the month of the close that met the entry first. What
the last month spent, what is new, and what comes every month are selections of it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import polars as pl
import pyarrow as pa

from bktools.close.figures import BELONGS, GROUPS, Figures, spending
from bktools.close.steps import CloseScope
from bktools.findings.check import EXPORTED, HELD, IN_BOOKS, IN_DOUBT, LEFT_OUT
from bktools.frames.schema import BOOKED
from bktools.frames.sums import HOME, money_of
from bktools.frames.tables import described, to_arrow
from bktools.journal.periods import exported_elsewhere, held_back, held_in_closes
from bktools.spending.expected import KEYS, expected_in, months_known
from bktools.spending.rates import ExchangeRates, kept_rates, with_home

MISSING = "missing"
# What has come, or has time to come, is not missing.
NOT_MISSING = ("came", "due")
# All are of one company, which only some of the tables name.
OF_SPENDING = ("id", "split_line", "date", "currency", "amount", "fate", *BELONGS)
OF_HABIT = tuple(key for key in KEYS if key != "company_id")

c = pl.col


def months_before(
    scope: CloseScope, of_month: pa.Table, sent: pa.Table, rates: ExchangeRates | None, now: dt.datetime
) -> tuple[str, Figures, pa.Table]:
    """Return the last month before this one that exported anything, the figures of this one, and what is due.

    `of_month` and `sent` are the entries of this month, and all that were sent. The last month has exchange
    rates of its own, or those of this one. The table has the entries that are expected and missing.
    """
    met = met_entries(sent, held_back(scope.journal, scope.company, sent))
    by_close = met_entries(sent, held_in_closes(scope.journal, scope.company))
    before = met.filter(c.met_in < scope.period)
    last = str(before.filter(fate=EXPORTED)["met_in"].max() or "")

    def rates_in(month: str) -> ExchangeRates | None:
        kept = kept_rates(scope.settings, scope.company, month) if rates else None
        return kept.into(rates.own) if kept and rates else rates

    counted = counted_before(by_close, scope.period, rates_in)
    booked = pl.DataFrame(of_month).filter(booked_before(scope.period))
    booked = booked.join(pl.DataFrame(counted), on="id", how="anti")
    elsewhere = pl.DataFrame(exported_elsewhere(scope.journal, scope.company)).rename({"entry_id": "id"})
    earlier = before.filter(c.fate != IN_DOUBT).select(GROUPS)
    if len(earlier):
        # What another system exported is not new either; alone it may be a part of a month.
        is_earlier = c.date.cast(pl.String) < scope.period
        earlier = pl.concat([earlier, elsewhere.filter(is_earlier).select(GROUPS)])
    is_left = (c.fate == HELD) & (c.outcome == "open")
    left_open = before.filter(is_left).join(pl.DataFrame(of_month), on="id", how="anti")
    figures = Figures(
        of_month,
        scope.settings.currency or next(iter(money_of(of_month)), None),
        last=spent_in(by_close, last, rates_in),
        earlier=to_arrow(earlier),
        counted=to_arrow(pl.concat([pl.DataFrame(counted), booked], how="diagonal_relaxed")),
        left_open=_largest_first(left_open, rates),
    )
    # The day of the close is taken from the calendar of this machine, as its month is.
    today = now.astimezone().date()
    return last, figures, recurring(pl.DataFrame(of_month), met, elsewhere, scope.period, last, today)


def met_entries(sent: pa.Table, held: pa.Table) -> pl.DataFrame:
    """Return the lines of entries that were sent, then of those that closes did not send.

    An entry without an ID is met once: nothing tells it from another one.
    """
    was_accepted, is_booked = c.state == "ACCEPTED", c.reason.is_in(BOOKED)
    parts = [
        pl.DataFrame(sent).with_columns(
            fate=pl.when(was_accepted).then(pl.lit(EXPORTED)).otherwise(pl.lit(IN_DOUBT)), is_sent=True
        ),
        pl.DataFrame(held).with_columns(
            fate=pl.when(is_booked).then(pl.lit(IN_BOOKS)).otherwise(pl.lit(HELD)), is_sent=False
        ),
    ]
    met = pl.concat(parts, how="diagonal_relaxed").rename({"entry_id": "id"}).with_row_index("row")
    entry = pl.coalesce(c.id.replace("", None), c.row.cast(pl.String))
    return met.with_columns(met_in=c.period.fill_null(""), entry=entry).with_columns(
        first_in=c.met_in.min().over("entry")
    )


def _largest_first(rows: pl.DataFrame, rates: ExchangeRates | None) -> pa.Table:
    """Return entries by month, the largest first: in the company's own currency where rates convert it."""
    lines = pl.DataFrame(with_home(to_arrow(rows), rates))
    size = pl.coalesce(name for name in (HOME, "amount") if name in lines.columns).abs()
    return to_arrow(lines.sort("met_in", size, descending=[False, True], nulls_last=True))


RatesOfMonth = Callable[[str], ExchangeRates | None]


def spent_in(by_close: pl.DataFrame, month: str, rates_in: RatesOfMonth = lambda _: None) -> pa.Table:
    """Return the spending of an earlier month with fates, as its closes left it: each entry counts once.

    An entry is of the month of the close that met it first, a later month has what its amount changed by;
    one that was in the books already is of the month of its date.
    """
    met = by_close.filter(met_in=month)
    # What a month held back and exported later is exported.
    last = met.filter(c.is_sent == c.is_sent.any().over("entry"), ~booked_before(month))
    lines = with_home(
        to_arrow(last.select(name for name in OF_SPENDING if name in last.columns)), rates_in(month)
    )
    return spending(lines, counted_before(by_close, month, rates_in))


def counted_before(by_close: pl.DataFrame, month: str, rates_in: RatesOfMonth) -> pa.Table:
    """Return the entries that closes of earlier months did not send, as the last of them counted each."""
    held = by_close.filter(~c.is_sent, c.met_in < month, c.id != "")
    held = held.filter(c.met_in == c.met_in.max().over("id"))
    parts = held.partition_by("met_in", maintain_order=True, include_key=True) or [held]
    homes = [with_home(to_arrow(part), rates_in(str(part["met_in"].max()))) for part in parts]
    return to_arrow(pl.concat([pl.DataFrame(part) for part in homes], how="diagonal_relaxed"))


def booked_before(month: str) -> pl.Expr:
    """Return which entries are in the books, and dated before a month: they are spending of their own one."""
    is_earlier = c.date.cast(pl.String) < month
    return ((c.fate == IN_BOOKS) & is_earlier).fill_null(value=False)


def recurring(
    of_month: pl.DataFrame, met: pl.DataFrame, elsewhere: pl.DataFrame, month: str, last: str, as_of: dt.date
) -> pa.Table:
    """Return the entries that are expected in a month and missing, then those that were missing last month.

    One row per expected entry: `month` (in which it was expected), and the columns of `expected_entries`. An
    entry of last month that was missing at its close is "late" or "came" where it came since. `elsewhere` are
    the entries of the company that were known before any close; `as_of` is the day of the close. `source_of`
    the table has months_known: how many months before have entries.
    """
    is_of_others = (c.fate == LEFT_OUT) & (c.reason != "later_period")
    current = of_month.filter(~is_of_others.fill_null(value=False)).with_columns(first_in=pl.lit(month))
    others = elsewhere.join(met, on="id", how="anti").join(current, on="id", how="anti")
    columns = {"id", "split_line", "date", "amount", *OF_HABIT, "first_in"}
    # Each entry that any close met, once.
    known = pl.concat(
        [
            part.select(name for name in part.columns if name in columns)
            for part in (met, current, others.with_columns(first_in=pl.lit("")))
        ],
        how="diagonal_relaxed",
    ).filter(c.id.is_null() | (c.id == "") | pl.struct("id", "split_line").is_first_distinct())
    everything = to_arrow(known)
    of_this = expected_in(everything, month, as_of).filter(~c.state.is_in(NOT_MISSING))
    tables = [of_this.select(pl.lit(month).alias("month"), pl.all())]
    if last:
        then = expected_in(to_arrow(known.filter(c.first_in <= last)), last, as_of).filter(state=MISSING)
        now = expected_in(everything, last, as_of)
        keys = [*(name for name in OF_HABIT if name in now.columns), "expected_on", "amount"]
        was_missing = now.join(then, on=keys, how="semi", nulls_equal=True, maintain_order="left")
        tables.append(was_missing.select(pl.lit(last).alias("month"), pl.all()))
    table = to_arrow(pl.concat(tables, how="vertical_relaxed"))
    return described(table, {"months_known": months_known(everything, month)})
