"""`compare`: what changed between two months or two moments."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from bktools.close.record import PeriodRecord, record_in
from bktools.connection import service_or_default, words_for
from bktools.contract import rules
from bktools.errors import ArgumentError, SnapshotNotFoundError
from bktools.export.checks import FATE_OF_REASON
from bktools.frames.incoming import arrow_of, described, source_of
from bktools.frames.names import with_names
from bktools.frames.schema import COUNT, MONEY, TEXT, to_pandas
from bktools.frames.sums import NOTHING, Money, change_of, sums_of, threshold_of, with_one_reason
from bktools.journal.accounts import accounts_in
from bktools.journal.writing import open_up_to_date
from bktools.service import Service
from bktools.snapshots.tables import load_categories, load_employees
from bktools.spending.differences import differences
from bktools.spending.sums import grouped_by
from bktools.wording import Sentence, Words

# The columns of a comparison: names first, then texts or figures before and after, then the identifiers.
COLUMNS = pa.schema(
    {
        "table": TEXT,
        "change": TEXT,
        "about": TEXT,
        "field": TEXT,
        "before": TEXT,
        "after": TEXT,
        "currency": TEXT,
    }
    | {"amount_before": MONEY, "amount_after": MONEY, "difference": MONEY, "percent": pa.decimal128(38, 1)}
    | {"entries_before": COUNT, "entries_after": COUNT, "drivers": TEXT, "company_id": TEXT, "id": TEXT}
)
FIGURES = ("amount_before", "amount_after", "difference")

# The sums over exported entries of two months: their key, the columns that name it, and its identifier.
SUMS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...], str]] = {
    "exported": ((), (), ""),
    "exported_by_category": (("category",), ("category_name",), "category_id"),
    "exported_by_account": (("account",), ("account_code", "account_name"), "account_code"),
    "exported_by_employee": (("employee",), ("employee_name",), "employee_id"),
}
EXPORTED, HELD_BACK = "exported", "held_back"
STILL_OPEN = "still_open"

# The fields of a table that are compared, and the code of a change of each.
CATEGORIES = {
    "name": "renamed",
    "archived": "archived",
    "account_id": "mapped",
    "tax_code_id": "tax_code",
    "category_group_id": "regrouped",
    "metadata": "metadata",
}
EMPLOYEES = {
    "name": "renamed",
    "email": "email",
    "code": "code",
    "job_title": "job_title",
    "role": "role",
    "phone": "phone",
}


def compare(
    before: Any,
    after: Any = None,
    *,
    company: str | None = None,
    threshold: str | float | Decimal | None = None,
    language: str | None = None,
    service: Service | None = None,
) -> pd.DataFrame:
    """Return what changed between two months or two moments.

    Parameters
    ----------
    before, after : str, date or datetime
        Two months such as "2026-10": the entries exported and held back in them, their amounts, and the
        categories, accounts and employees as they were. Two moments: categories, accounts and employees,
        `after` by default as they are now.
    company : str, optional
        UUID or short name of the company; the configured one by default.
    threshold : str, float or Decimal, optional
        Of two months: the least difference of a category, account, employee or reason that has a row: an
        amount such as 500, or a share of the amount before such as "5%". The totals by currency always have
        one.
    language : str, optional
        Of the sentences: "en" or "de"; the configured one by default.
    service : Service, optional
        Default: the configured one. Nothing is written to it.

    Returns
    -------
    DataFrame
        One row per difference, of each table and currency the largest first: table, change (added, removed,
        more, less, or the code for the field), about (by name), field, before, after (texts; null for none);
        of months also currency, amount_before, amount_after, difference (exact), percent (of the amount
        before), entries_before, entries_after, and drivers: the entries that make most of the difference,
        without those that come each month; company_id, id. `frame.attrs["bktools"]` has the headline (a list
        of lines), how many rows are below_threshold (smaller: of each table), and what was not_compared.

    Raises
    ------
    ArgumentError
        When the two are not of one kind, the second month is not the later one, or the threshold is none.
    SnapshotNotFoundError
        When a moment is before the first snapshot.

    Notes
    -----
    Categories: interface, section 2.1; employees: section 2.6. Exported entries are those in the journal.

    Examples
    --------
    >>> import bktools, datetime as dt
    >>> with bktools.Sandbox() as service:
    ...     first = bktools.load_categories(service=service), bktools.load_employees(service=service)
    ...     changes = bktools.compare(dt.datetime.now(dt.UTC), service=service)
    >>> len(changes)
    0
    """
    is_large, service = threshold_of(threshold), service_or_default(service)
    words = words_for(language, service.settings)
    company = company or service.settings.company
    company = None if company is None else rules.company_of(service.settings, company)
    # A period of pandas is a month or a day.
    before, after = (
        value if isinstance(value, dt.date) else rules.calendar_text(value) or value
        for value in (before, after)
    )
    environment = service.settings.environment
    are_months = [
        isinstance(value, str) and bool(rules.MONTH_PATTERN.match(value)) for value in (before, after)
    ]
    if any(are_months) and not all(are_months):
        raise ArgumentError("after", Sentence("rule.month_as_before", before=str(before)), after)
    if all(are_months) and str(after) <= str(before):
        raise ArgumentError("after", Sentence("rule.later_month", before=str(before)), after)
    about: dict[str, Any] = {"environment": environment, "before": str(before), "after": str(after or "now")}
    about |= {"headline": [], "below_threshold": 0, "smaller": {}, "not_compared": []}
    if all(are_months):
        company = rules.company_of(service.settings, company)
        with open_up_to_date(service.settings) as journal:
            old, new = (
                record_in(journal, rules.month("month", one), company, environment) for one in (before, after)
            )
            accounts = accounts_in(journal, company)
        changes = large_changes(months_between(old, new, accounts, service, words), is_large)
    else:
        with open_up_to_date(service.settings) as journal:
            accounts = accounts_in(journal, company)
        changes = _table([*between_moments(before, after, company, accounts, service)])
    return to_pandas(changes, {**about, **source_of(changes), "rows": len(changes)})


def months_between(
    before: PeriodRecord,
    after: PeriodRecord,
    accounts: pa.Table,
    service: Service,
    words: Words,
) -> pa.Table:
    """Return all that changed between two months: exported and held-back entries, categories and employees.

    `source_of(changes)` has the headline, and what was not compared.
    """
    sent = [as_entries(record.tables["exported"]) for record in (before, after)]
    old, new = (rows.filter(pc.equal(rows["state"], "ACCEPTED")) for rows in sent)
    not_compared = [
        words("change.nothing_exported", month=record.period)
        for record, rows in ((before, old), (after, new))
        if not len(rows)
    ]
    rows = [row for name in SUMS for row in _exported(name, old, new, words)]
    held = _held_back(before, after, words)
    rows += sorted(held, key=lambda row: (row["currency"], -abs(row["difference"])))
    moments = [pc.max(rows["sent_at"]).as_py() for rows in (old, new)]
    changes = []
    if None not in moments:
        try:
            changes = [*between_moments(moments[0], moments[1], after.company, accounts, service)]
        except SnapshotNotFoundError:
            not_compared.append(words("change.no_copies", moment=moments[0]))
    table = _table([*rows, *changes])
    about: dict[str, Any] = {"before": before.period, "after": after.period, "not_compared": not_compared}
    about |= {"headline": headline_of(table.to_pylist(), before.period, words)}
    about |= {"below_threshold": 0, "smaller": {}}
    return described(table, about)


def large_changes(changes: pa.Table, is_large: Callable[[Any], bool]) -> pa.Table:
    """Return the changes of money from a threshold on, all totals by currency, and all other changes.

    `below_threshold` of `source_of(changes)` counts the others, `smaller` those of each table; the headline
    counts all of them.
    """
    rows = changes.to_pylist()
    keep = [row["currency"] is None or row["table"] == EXPORTED or is_large(_sized(row)) for row in rows]
    smaller = Counter(row["table"] for row, is_kept in zip(rows, keep, strict=True) if not is_kept)
    about = source_of(changes) | {"below_threshold": smaller.total(), "smaller": dict(smaller)}
    return described(changes.filter(pa.array(keep, pa.bool_())), about)


def _sized(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row as the threshold measures it: what is still open is of the size of its amount."""
    return row | {"difference": row["amount_after"], "percent": None} if row["change"] == STILL_OPEN else row


def headline_of(rows: Sequence[Mapping[str, Any]], before: str, words: Words) -> list[str]:
    """Return the changes in few lines: what was exported by currency, then how many of each kind."""
    lines = [
        words(
            f"change.headline_{row['change']}",
            currency=row["currency"],
            now=row["amount_after"],
            by=abs(row["difference"]),
            before=before,
            share=row["percent"],
        )
        for row in rows
        if row["table"] == EXPORTED and row["difference"]
    ]
    for name in (HELD_BACK, "categories", "employees"):
        counts: Counter[str] = Counter()
        for row in rows:
            if row["table"] == name:
                counts[row["change"]] += (
                    (row["entries_before"] or row["entries_after"]) if name == HELD_BACK else 1
                )
        if counts:
            parts = [
                words("change.count", count=count, change=change) for change, count in counts.most_common()
            ]
            lines.append(words("change.headline", table=name, counts=", ".join(parts)))
    return lines


def as_entries(sent: pa.Table) -> pa.Table:
    """Return entries of the journal with the names of columns that a table of entries has."""
    names = {"entry_id": "id", "period": "sent_in"}
    return sent.rename_columns([names.get(name, name) for name in sent.column_names])


def _exported(table: str, old: pa.Table, new: pa.Table, words: Words) -> Iterator[dict[str, Any]]:
    """Yield a row for each group and currency whose number or amount differs, with what drives the change."""
    by, names, identifier = SUMS[table]
    changes = differences([grouped_by(rows, by) for rows in (new, old)], words)
    is_changed = (pl.col.difference != 0) | (pl.col.entries_this != pl.col.entries_that)
    for row in changes.filter(is_changed).iter_rows(named=True):
        label = " ".join(filter(None, (row[name] for name in names)))
        yield {
            "table": table,
            "change": "less" if row["difference"] < 0 else "more" if row["difference"] else "other_entries",
            "about": label or (words(f"change.without_{names[0]}") if names else row["currency"]),
            "currency": row["currency"],
            "amount_before": row["that"],
            "amount_after": row["this"],
            "difference": row["difference"],
            "percent": row["percent"],
            "entries_before": row["entries_that"],
            "entries_after": row["entries_this"],
            "id": row.get(identifier),
            "drivers": row["drivers"],
        }


def _figures(was: Money, now: Money) -> dict[str, Any]:
    old, new, difference, percent = change_of(was, now)
    return {
        "amount_before": old,
        "amount_after": new,
        "difference": difference,
        "percent": percent,
        "entries_before": was.entries,
        "entries_after": now.entries,
    }


def _held_back(before: PeriodRecord, after: PeriodRecord, words: Words) -> Iterator[dict[str, Any]]:
    """Yield what became of entries that the first month held back, and the second's new ones, by reason."""
    for record, is_earlier in ((before, True), (after, False)):
        held = with_one_reason(as_entries(record.tables["held_back"]), FATE_OF_REASON)
        for part in sums_of(held, "outcome", "reason"):
            became = "resolved" if part["outcome"] == "resolved" else STILL_OPEN
            change = became if is_earlier else "new"
            for currency, money in part.money.items():
                was, now = (
                    NOTHING if change == "new" else money,
                    NOTHING if change == "resolved" else money,
                )
                yield _figures(was, now) | {
                    "table": HELD_BACK,
                    "change": change,
                    "field": part["reason"],
                    "currency": currency,
                    "about": words.name("entry", part["reason"]),
                }


def _table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return rows as a table; amounts have the scale of the finest one."""
    columns = {}
    for field in COLUMNS:
        values = [row.get(field.name) for row in rows]
        is_exact = field.name in FIGURES and any(value is not None for value in values)
        columns[field.name] = pa.array(values) if is_exact else pa.array(values, field.type)
    return pa.table(columns)


def between_moments(
    before: str | dt.date,
    after: str | dt.date | None,
    company: str | None,
    accounts: pa.Table,
    service: Service,
) -> Iterator[dict[str, Any]]:
    """Yield changes of categories and employees between two moments; accounts have code and name."""
    named = {
        row["id"]: " ".join(filter(None, (row["code"] or row["external_id"], row["name"])))
        for row in accounts.select(["id", "code", "external_id", "name"]).to_pylist()
    }
    old, new = (
        arrow_of(load_categories(company, as_of=moment, progress=False, service=service))
        for moment in (before, after)
    )
    for row in field_changes(old, new, CATEGORIES):
        change = {"table": "categories", **row}
        if row["field"] == "account_id":
            change["field"] = "account"
            change |= {side: named.get(row[side], row[side]) for side in ("before", "after")}
        yield change
    old, new = (
        _people(load_employees(company, as_of=moment, progress=False, service=service))
        for moment in (before, after)
    )
    for row in field_changes(old, new, EMPLOYEES):
        yield {"table": "employees", **row}


def field_changes(old: pa.Table, new: pa.Table, words: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the changes between two tables as rows of a comparison, ordered by the rows' IDs, then field.

    The rows have an `id` that is there once. `words` are the fields to compare, and the word for a change of
    each; rows that came and went are "added" and "removed".
    """
    columns = list(dict.fromkeys(("id", "company_id", "name", *words)))
    was, now = ({row["id"]: row for row in table.select(columns).to_pylist()} for table in (old, new))
    for one in sorted({*was, *now}):
        row = now.get(one) or was[one]
        about = {"about": row["name"] or one, "company_id": row["company_id"], "id": one}
        if one not in now or one not in was:
            change = "removed" if one in was else "added"
            yield {"change": change, "field": None, "before": None, "after": None, **about}
            continue
        for field, word in words.items():
            before, after = was[one][field], row[field]
            if before != after:
                change = "unarchived" if field == "archived" and after is False else word
                before, after = (
                    str(value).lower() if isinstance(value, bool) else value for value in (before, after)
                )
                yield {"change": change, "field": field, "before": before, "after": after, **about}


def _people(frame: pd.DataFrame) -> pa.Table:
    employees = arrow_of(frame)
    named = with_names(pa.table({"employee_id": employees["id"]}), employees=employees)
    return employees.append_column("name", named["employee_name"])
