"""`compare`: what changed between two months."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from bktools.close.figures import Figures
from bktools.close.record import PeriodRecord, record_in
from bktools.close.steps import CloseScope
from bktools.connection import service_or_default, words_for
from bktools.contract import rules
from bktools.errors import ArgumentError, SnapshotNotFoundError
from bktools.export.checks import FATE_OF_REASON
from bktools.findings.check import EXPORTED, HELD
from bktools.frames.schema import DIGITS, Month, to_pandas
from bktools.frames.sums import threshold_of, with_one_reason
from bktools.frames.tables import days_of, described, in_memory, source_of, to_arrow
from bktools.journal.accounts import accounts_in
from bktools.journal.writing import open_up_to_date
from bktools.service import Service
from bktools.snapshots.tables import load_categories
from bktools.spending.differences import differences
from bktools.spending.rates import ALWAYS, ExchangeRates
from bktools.spending.sums import lines_of
from bktools.wording import Sentence, Words
from bktools.wording.words import NO_CURRENCY

# The columns of a comparison: names first, then texts or figures before and after, then the identifiers.
AMOUNT, PERCENT = pl.Decimal(DIGITS, 2), pl.Decimal(DIGITS, 1)
_KINDS: dict[str, Any] = dict.fromkeys(
    ("table", "change", "about", "field", "before", "after", "currency"), pl.String
)
_KINDS |= dict.fromkeys(("amount_before", "amount_after", "difference"), AMOUNT)
_KINDS |= {"percent": PERCENT, "entries_before": pl.Int64, "entries_after": pl.Int64}
CHANGE_COLUMNS = pl.Schema(_KINDS | dict.fromkeys(("drivers", "company_id", "id"), pl.String))
# The figures of `differences` by these names.
OF_SIDES = {"amount_before": "that", "amount_after": "this"}
OF_SIDES |= {"entries_before": "entries_that", "entries_after": "entries_this"}

# The sums over exported entries of two months, with the keys of each.
SUMS = {"exported": (), **{f"exported_by_{key}": (key,) for key in ("category", "account", "employee")}}
STILL_OPEN = "still_open"

# The fields of a category that are compared, and the code of a change of each.
CATEGORIES = {"name": "renamed", "archived": "archived", "account_id": "mapped", "tax_code_id": "tax_code"}

# Of what was spent in the month in the company's own currency: a smaller change is in the CSV file alone.
LISTED_SHARE = 0.01

c = pl.col


def compare(
    before: Month,
    after: Month,
    *,
    company: str | None = None,
    threshold: str | float | Decimal | None = None,
    language: str | None = None,
    service: Service | None = None,
) -> pd.DataFrame:
    """Return what changed between two months.

    Parameters
    ----------
    before, after : str, Period, date or datetime
        Two months such as "2026-10": the entries exported and held back in them, their amounts, and the
        categories and accounts as they were.
    company : str, optional
        UUID or short name of the company; the configured one by default.
    threshold : str, float or Decimal, optional
        The least difference of a category, account, employee or reason that has a row: an amount such as 500,
        or a share of the amount before such as "5%". The totals by currency always have one.
    language : str, optional
        Of the sentences: "en" or "de"; the configured one by default.
    service : Service, optional
        Default: the configured one. Nothing is sent to it.

    Returns
    -------
    DataFrame
        One row per difference, of each table and currency the largest first: table, change (added, removed,
        more, less, or the code for the field), about (by name), field, before, after (texts; null for none),
        currency, amount_before, amount_after, difference (exact), percent (of the amount before),
        entries_before, entries_after, and drivers: the entries that make most of the difference, without
        those that come each month; company_id, and the id of what it is about, of held-back entries the code
        of their reason. `frame.attrs["bktools"]` has the headline (a list of
        lines), how many rows are below_threshold (smaller: of each table), and what was not_compared.

    Raises
    ------
    ArgumentError
        When one is no month, the second is not the later one, or the threshold is none.

    Notes
    -----
    Categories: interface, section 2.1. Exported entries are those in the journal.

    Examples
    --------
    >>> import bktools
    >>> with bktools.Sandbox() as service:
    ...     changes = bktools.compare("2026-09", "2026-10", service=service)
    >>> len(changes)
    0
    """
    is_large, service = threshold_of(threshold), service_or_default(service)
    words = words_for(language, service.settings)
    company = rules.company_of(service.settings, company or service.settings.company)
    before, after = rules.month("before", before), rules.month("after", after)
    if after <= before:
        raise ArgumentError("after", Sentence("rule.later_month", before=before), after)
    environment = service.settings.environment
    with open_up_to_date(service.settings) as journal:
        old, new = (record_in(journal, month, company, environment) for month in (before, after))
        accounts = accounts_in(journal, company)
    changes = large_changes(months_between(old, new, accounts, service, words), is_large)
    return to_pandas(changes, {"environment": environment, **source_of(changes), "rows": len(changes)})


def months_between(
    before: PeriodRecord,
    after: PeriodRecord,
    accounts: pa.Table,
    service: Service,
    words: Words,
) -> pa.Table:
    """Return all that changed between two months: exported and held-back entries, and categories.

    `source_of(changes)` has the headline, and what was not compared.
    """
    sent = [as_entries(record.tables["exported"]) for record in (before, after)]
    old, new = (rows.filter(pc.equal(rows["state"], "ACCEPTED")) for rows in sent)
    not_compared = [
        words("change.nothing_exported", month=record.period)
        for record, rows in ((before, old), (after, new))
        if not len(rows)
    ]
    # Beside nothing, all that was exported would be a change.
    exported = [_exported(name, old, new, words) for name in SUMS] if not not_compared else []
    parts = [*exported, _held_back(before, after, words)]
    moments = [pc.max(rows["sent_at"]).as_py() for rows in (old, new)]
    if None not in moments:
        try:
            parts.append(between_moments(moments, after.company, accounts, service, words))
        except SnapshotNotFoundError:
            not_compared.append(words("change.no_copies", moment=moments[0]))
    changes = _table(parts)
    about: dict[str, Any] = {"before": before.period, "after": after.period, "not_compared": not_compared}
    about |= {"headline": headline_of(changes, before.period, words), "below_threshold": 0, "smaller": {}}
    return described(to_arrow(changes), about)


def large_changes(changes: pa.Table, is_large: pl.Expr) -> pa.Table:
    """Return the changes of money from a threshold on, all totals by currency, and all other changes.

    `below_threshold` of `source_of(changes)` counts the others, `smaller` those of each table; the headline
    counts all of them.
    """
    rows = pl.DataFrame(changes)
    keep = rows.select(c.currency.is_null() | (c.table == EXPORTED) | is_large).to_series()
    smaller = Counter(rows.filter(~keep)["table"])
    about = source_of(changes) | {"below_threshold": smaller.total(), "smaller": dict(smaller)}
    return described(to_arrow(rows.filter(keep)), about)


def changes_since(
    scope: CloseScope,
    last: str,
    record: PeriodRecord,
    accounts: pa.Table,
    sent: pa.Table,
    is_large: pl.Expr,
) -> dict[str, pa.Table]:
    """Return the large changes since the last month, and all_changes; nothing where a side has no close."""
    if not last or not len(record.tables["events"]):
        return {}
    before = record_in(scope.journal, last, scope.company, record.environment, sent)
    changes = months_between(before, record, accounts, scope.service, scope.words)
    return {"all_changes": changes, "changes": large_changes(changes, is_large)}


def large_for_the_month(figures: Figures, rates: ExchangeRates | None) -> pl.Expr:
    """Return whether a change is `LISTED_SHARE` of what was spent in the company's currency, or more.

    A change in another currency is as large as its rate of the month's end makes it, and small without one.
    """
    own = figures.own or NO_CURRENCY
    last_day = pc.max(days_of(figures.spent_entries)).as_py() or ALWAYS
    known = rates.rows if rates else ()
    # The last one until that day holds.
    worth = {currency: float(rate) for day, currency, rate in known if day <= last_day} | {own: 1.0}
    rate_of_row = c.currency.replace_strict(worth, default=None, return_dtype=pl.Float64)
    size = c.difference.abs().cast(pl.Float64) * rate_of_row
    return (size >= LISTED_SHARE * abs(float(figures.spent.amounts.get(own, 0)))).fill_null(value=False)


def headline_of(changes: pl.DataFrame, before: str, words: Words) -> list[str]:
    """Return the changes in few lines: what was exported by currency, then how many of each kind."""
    differing = changes.filter(c.table == EXPORTED, c.difference != 0)
    facts = differing.select("change", "currency", now="amount_after", by=c.difference.abs(), share="percent")
    lines = [words(f"change.headline_{row['change']}", before=before, **row) for row in facts.to_dicts()]
    entries = pl.max_horizontal("entries_before", "entries_after")
    sizes = changes.with_columns(size=pl.when(c.table == HELD).then(entries).otherwise(1))
    for name in (HELD, "categories"):
        rows = sizes.filter(table=name).group_by("change", maintain_order=True).agg(c.size.sum())
        counts = rows.sort("size", descending=True, maintain_order=True).iter_rows()
        parts = [words("change.count", count=count, change=change) for change, count in counts]
        lines += [words("change.headline", table=name, counts=", ".join(parts))] if parts else []
    return lines


def as_entries(sent: pa.Table) -> pa.Table:
    """Return entries of the journal with the names of columns that a table of entries has."""
    names = {"entry_id": "id", "period": "sent_in"}
    return sent.rename_columns([names.get(name, name) for name in sent.column_names])


def _exported(table: str, old: pa.Table, new: pa.Table, words: Words) -> pl.DataFrame:
    """Return a row for each group and currency whose number or amount differs, with its drivers."""
    changes, names = _between(old, new, SUMS[table], words)
    more_or_less = c.difference.sign().cast(pl.Int64)
    return changes.filter((c.difference != 0) | (c.entries_before != c.entries_after)).with_columns(
        table=pl.lit(table),
        change=more_or_less.replace_strict({-1: "less", 0: "other_entries", 1: "more"}),
        about=pl.concat_str(names, separator=" ").str.strip_chars() if names else c.currency,
    )


def _held_back(before: PeriodRecord, after: PeriodRecord, words: Words) -> pl.DataFrame:
    """Return what became of entries that the first month held back, and the second's new ones, by reason."""
    old, new = (
        pl.DataFrame(with_one_reason(as_entries(record.tables["held_back"]), FATE_OF_REASON))
        for record in (before, after)
    )
    old = old.with_columns(change=c.outcome.replace("open", STILL_OPEN))
    there = pl.concat([old.filter(change=STILL_OPEN), new.with_columns(change=pl.lit("new"))])
    rows, _ = _between(to_arrow(old), to_arrow(there), ("change", "reason"), words)
    reasons = {code: words.name("entry", code) for code in rows["reason"].unique()}
    about = c.reason.replace_strict(reasons, default=None, return_dtype=pl.String)
    return rows.with_columns(table=pl.lit(HELD), id="reason", about=about)


def _between(old: pa.Table, new: pa.Table, by: Sequence[str], words: Words) -> tuple[pl.DataFrame, list[str]]:
    """Return the sums of two months by keys and currency, and the columns that name a group.

    `id` is the identifier of the first key; what has no other is known by its name.
    """
    sides = [lines_of(rows, by, language=words.language) for rows in (new, old)]
    missing, identifiers = sides[0].shown, [*sides[0].ids, *sides[0].shown]
    changes = differences(sides, words).with_columns(
        pl.lit(None, pl.String).alias("id") if not by else c(identifiers[0]).alias("id"),
        *(c(name).alias(column) for column, name in OF_SIDES.items()),
    )
    return changes.with_columns(c(name).fill_null(text) for name, text in missing.items()), [*missing]


def _table(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Return the parts of a comparison as one table with all columns; amounts have the finest scale."""
    return pl.concat([CHANGE_COLUMNS.to_frame(), *parts], how="diagonal_relaxed").select(*CHANGE_COLUMNS)


def between_moments(
    moments: Sequence[dt.datetime], company: str, accounts: pa.Table, service: Service, words: Words
) -> pl.DataFrame:
    """Return changes of categories between two moments, in words; accounts have code and name."""
    old, new = (
        in_memory(load_categories(company, as_of=day, progress=False, service=service)) for day in moments
    )
    label = pl.concat_str(pl.coalesce("code", "external_id"), "name", separator=" ", ignore_nulls=True)
    known = pl.DataFrame(accounts).drop_nulls("id").unique("id", keep="last")
    named = {
        "account_id": dict(known.select("id", label).iter_rows()),
        "archived": {"true": words("report.yes"), "false": words("report.no")},
    }
    changes = field_changes(old, new)
    for field, texts in named.items():
        changes = changes.with_columns(
            pl.when(c.field == field).then(c(side).replace(texts)).otherwise(side).alias(side)
            for side in ("before", "after")
        )
    return changes.with_columns(table=pl.lit("categories"), field=c.field.replace("account_id", "account"))


def field_changes(old: pa.Table, new: pa.Table) -> pl.DataFrame:
    """Return the changes between two tables of categories as rows of a comparison, by their IDs, then field.

    Those that came and went are "added" and "removed".
    """
    columns = ("id", "company_id", *CATEGORIES)
    was, now = (pl.DataFrame(table.select(columns)).cast(pl.String) for table in (old, new))
    before, after = (
        rows.unpivot([*CATEGORIES], index="id", variable_name="field", value_name=side)
        for rows, side in ((was, "before"), (now, "after"))
    )
    differing = before.join(after, on=["id", "field"]).filter(c.before.ne_missing(c.after))
    changes = (
        differing.with_columns(change=c.field.replace_strict(CATEGORIES)),
        was.join(now, on="id", how="anti").select("id", change=pl.lit("removed")),
        now.join(was, on="id", how="anti").select("id", change=pl.lit("added")),
    )
    named = pl.concat([now, was]).unique("id", keep="first").select("id", "company_id", about="name")
    return pl.concat(changes, how="diagonal").join(named, on="id").sort("id", "field")
