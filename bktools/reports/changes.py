"""`compare`: what changed between two months, two moments or two frames."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.caller import name_of
from bktools.connection import service_or_default
from bktools.contract import rules
from bktools.errors import ArgumentError, InputError, SnapshotNotFoundError
from bktools.frames.currencies import shown
from bktools.frames.engine import engine, in_pandas, scannable
from bktools.frames.names import with_names
from bktools.frames.schema import TEXT, to_arrow, to_pandas
from bktools.journal.accounts import load_accounts
from bktools.journal.journal import Journal
from bktools.journal.periods import closes_of
from bktools.reports.differences import differences
from bktools.reports.record import PeriodRecord, record_of
from bktools.service import Service
from bktools.snapshots.tables import load_categories, load_employees

# The columns of a comparison: names first, then the values, then the identifiers.
COLUMNS = pa.schema(
    dict.fromkeys(("table", "change", "about", "field", "before", "after", "difference", "company_id", "id"), TEXT)
)

# The fields of a table that are compared, and the word for a change of each.
CATEGORIES = {
    "name": "renamed",
    "archived": "archived",
    "account_id": "mapped",
    "tax_code_id": "tax code",
    "category_group_id": "regrouped",
    "metadata": "metadata",
}
EMPLOYEES = {
    "name": "renamed",
    "email": "e-mail",
    "code": "code",
    "job_title": "job title",
    "role": "role",
    "phone": "phone",
}

# What the exported entries of two months are summed by, and how one of them is named.
SUMS: Mapping[str, tuple[str, ...]] = {
    "exported": (),
    "exported by category": ("category_name", "account_code"),
    "exported by employee": ("employee_name",),
}

# By table: the names of its rows, first match wins; nothing else names a row.
NAMES = ("name", "supplier", "description", "about")


def compare(
    before: Any, after: Any = None, *, company: str | None = None, service: Service | None = None
) -> pd.DataFrame:
    """Return what changed between two months, two moments or two frames.

    Parameters
    ----------
    before, after : str, date, datetime or DataFrame
        Two months such as "2026-10": the entries exported and held back in them, their amounts, and the categories,
        accounts and employees as they were. Two moments: categories, accounts and employees, `after` by default as they are now. Two
        frames with a column `id`, of any supported tool: their rows.
    company : str, optional
        UUID of the company; the configured one by default. Not used for frames.
    service : Service, optional
        Default: the configured one. Nothing is written to it.

    Returns
    -------
    DataFrame
        One row per difference: table, change (added, removed, more, less, or the word for the field), about (by name),
        field, before, after (as a person reads them; null for none), difference (of amounts and counts), company_id, id.
        `frame.attrs["bktools"]["not_compared"]` says what could not be compared, and why.

    Raises
    ------
    ArgumentError
        When the two are not of one kind.
    InputError
        When a frame has no column `id`, or an ID twice.
    SnapshotNotFoundError
        When a moment is before the first snapshot.

    Notes
    -----
    Categories: interface, section 2.1; employees: section 2.6. Exported entries are those in the journal.

    Examples
    --------
    >>> import pandas as pd
    >>> old = pd.DataFrame({"id": ["1", "2"], "name": ["Travel", "Meals"]})
    >>> new = pd.DataFrame({"id": ["2", "3"], "name": ["Food", "Rent"]})
    >>> compare(old, new)[["change", "about", "before", "after"]].fillna("").to_numpy().tolist()
    [['removed', 'Travel', '', ''], ['name', 'Food', 'Meals', 'Food'], ['added', 'Rent', '', '']]
    """
    if _is_frame(before) or _is_frame(after):
        if not (_is_frame(before) and _is_frame(after)):
            raise ArgumentError(
                name_of("after"), "must be a frame, as `before` is: give two frames, two months or two moments"
            )
        return _handed(_of_frames("rows", before, after), {}, [])
    service = service_or_default(service)
    company = company or service.settings.company
    company = None if company is None else rules.uuid_text("company", company)
    # A period of pandas is a month or a day.
    before, after = (
        value if isinstance(value, dt.date) else rules.calendar_text(value) or value for value in (before, after)
    )
    are_months = [isinstance(value, str) and bool(rules.MONTH_PATTERN.match(value)) for value in (before, after)]
    if any(are_months):
        if not all(are_months):
            raise ArgumentError(name_of("after"), f"must be a month such as 2026-11, as {before} is", after)
        old, new = (record_of(month, company, service=service) for month in (before, after))
        return _of_months(old, new, company, service)
    changes = _of_tables(before, after, company, service)
    about = {"environment": service.settings.environment, "before": str(before), "after": str(after or "now")}
    return _handed(changes, about, [])


def _is_frame(value: Any) -> bool:
    return hasattr(value, "columns") or isinstance(value, pa.Table)


def _handed(parts: list[pa.Table], about: Mapping[str, Any], not_compared: list[str]) -> pd.DataFrame:
    table = pa.concat_tables([part.select(COLUMNS.names).cast(COLUMNS) for part in parts])
    return to_pandas(table, {**about, "rows": len(table), "not_compared": not_compared})


def changes_since_last_close(record: PeriodRecord, *, service: Service) -> pd.DataFrame | None:
    """Return what changed in a month since the last one before it that was closed; None where there is none."""
    with Journal(service.settings) as journal:
        closed = [row["period"] for row in closes_of(journal, record.company) if row["period"] < record.period]
    if not closed or record.events.empty:
        return None
    return _of_months(record_of(max(closed), record.company, service=service), record, record.company, service)


def _of_months(before: PeriodRecord, after: PeriodRecord, company: str | None, service: Service) -> pd.DataFrame:
    records = (before, after)
    sent = [record.exported[record.exported["state"] == "ACCEPTED"] for record in records]
    not_compared = [
        f"nothing was exported in {record.period}, according to the journal"
        for record, rows in zip(records, sent, strict=True)
        if rows.empty
    ]
    parts = [*(_sums(table, keys, *sent) for table, keys in SUMS.items()), _held_back(before, after)]
    moments = [rows["sent_at"].max() for rows in sent]
    if not any(pd.isna(moment) for moment in moments):
        try:
            parts += _of_tables(moments[0].to_pydatetime(), moments[1].to_pydatetime(), company, service)
        except SnapshotNotFoundError as error:
            not_compared.append(f"categories and employees: {error}")
    about = {"environment": service.settings.environment, "before": before.period, "after": after.period}
    return _handed(parts, about, not_compared)


def _held_back(before: PeriodRecord, after: PeriodRecord) -> pa.Table:
    """Return the entries held back in the first month with what became of them, and those new in the second."""
    rows = []
    for held, is_earlier in ((before.held_back, True), (after.held_back, False)):
        for row in held.astype("object").where(held.notna(), None).to_dict("records"):
            is_resolved = row["outcome"] == "resolved"
            change = ("resolved" if is_resolved else "still open") if is_earlier else "new"
            rows.append(
                {
                    "table": "held back",
                    "change": change,
                    "about": _about(row),
                    "field": row["reason"],
                    "before": row["message"] if is_earlier else None,
                    "after": f"exported in job {row['resolved_job_id']}" if is_resolved else row["message"],
                    "id": row["entry_id"],
                }
            )
    return pa.Table.from_pylist(rows, schema=COLUMNS)


def _about(row: Mapping[Any, Any]) -> str:
    """Return an entry by date, supplier or text, and amount."""
    day = row["date"] and f"{row['date']:%Y-%m-%d}"
    money = row["amount"] is not None and f"{shown(row['amount'], row['currency'])} {row['currency'] or ''}".strip()
    return " ".join(filter(None, (day, row["supplier"] or row["description"], money or None))) or "an entry"


def _sums(table: str, keys: tuple[str, ...], before: pd.DataFrame, after: pd.DataFrame) -> pa.Table:
    """Return the differences of counts and exact amounts by these columns and the currency."""
    by = [*keys, "currency"]
    given = {name: to_arrow(frame[[*by, "amount"]], "the entries") for name, frame in (("old", before), ("new", after))}
    same = " AND ".join(f"old.{name} IS NOT DISTINCT FROM new.{name}" for name in by)
    query = f"""
        WITH old AS (FROM old_rows SELECT {", ".join(by)}, count(*) AS entries, sum(amount) AS amount GROUP BY ALL),
            new AS (FROM new_rows SELECT {", ".join(by)}, count(*) AS entries, sum(amount) AS amount GROUP BY ALL)
        SELECT
            {", ".join(f"coalesce(old.{name}, new.{name}) AS {name}" for name in by)},
            coalesce(old.entries, 0), coalesce(new.entries, 0), coalesce(old.amount, 0), coalesce(new.amount, 0)
        FROM old FULL JOIN new ON {same}
        ORDER BY ALL NULLS LAST
    """  # noqa: S608 - built from constants
    with engine("compare", **{f"{name}_rows": frame for name, frame in given.items()}) as connection:
        found = connection.execute(query).fetchall()
    rows = []
    for *names, currency, old_count, new_count, old_amount, new_amount in found:
        about = " ".join(name for name in names if name) or (f"no {keys[0].replace('_', ' ')}" if keys else currency)
        money = _money(currency)
        values = ((f"amount in {currency}", old_amount, new_amount, money), ("entries", old_count, new_count, str))
        rows += [
            {
                "table": table,
                "change": "more" if new > old else "less",
                "about": about or "no currency",
                "field": field,
                "before": text(old),
                "after": text(new),
                "difference": text(new - old),
            }
            for field, old, new, text in values
            if old != new
        ]
    return pa.Table.from_pylist(rows, schema=COLUMNS)


def _money(currency: str | None) -> Callable[[Decimal], str]:
    return lambda amount: shown(amount, currency or "")


def _of_tables(
    before: str | dt.date, after: str | dt.date | None, company: str | None, service: Service
) -> list[pa.Table]:
    old, new = (to_arrow(load_categories(company, as_of=moment, service=service)) for moment in (before, after))
    found = differences(old, new, CATEGORIES)
    accounts = load_accounts(company, service=service)
    old, new = (_people(load_employees(company, as_of=moment, service=service)) for moment in (before, after))
    people = differences(old, new, EMPLOYEES)
    return [_told("categories", _with_account_names(found, accounts)), _told("employees", people)]


def _people(frame: pd.DataFrame) -> pa.Table:
    """Return employees with their full name."""
    employees = to_arrow(frame)
    named = with_names(pa.table({"employee_id": employees["id"]}), employees=employees)
    return employees.append_column("name", named["employee_name"])


def _with_account_names(changes: pa.Table, accounts: pd.DataFrame) -> pa.Table:
    """Return changes whose accounts are named by code and name, where they are known here."""
    labels = accounts["code"].fillna(accounts["external_id"]) + accounts["name"].map(
        lambda name: f" {name}", "ignore"
    ).fillna("")
    named = dict(zip(accounts["id"], labels, strict=True))
    rows = changes.to_pylist()
    for row in rows:
        if row["field"] == "account_id":
            row |= {side: named.get(row[side], row[side]) for side in ("before", "after")}
            row["field"] = "account"
    return pa.Table.from_pylist(rows, schema=changes.schema)


def _of_frames(table: str, before: Any, after: Any) -> list[pa.Table]:
    old, new = (
        to_arrow(in_pandas(scannable(frame, name)), name) for frame, name in ((before, "before"), (after, "after"))
    )
    for side, name in ((old, "before"), (new, "after")):
        if "id" not in side.column_names:
            raise InputError("has no column id, which says which rows are the same: give one", source=name)
        if pc.count_distinct(_texts(side["id"])).as_py() != len(side):
            raise InputError("has an id twice, or one that is empty: give each row an id of its own", source=name)
    fields = [name for name in old.column_names if name in new.column_names and name not in ("id", "line")]
    label = next((name for name in NAMES if name in fields), "id")

    def ready(side: pa.Table) -> pa.Table:
        columns = {name: _texts(side[name]) for name in fields}
        return pa.table(
            {"company_id": pa.nulls(len(side), TEXT)}
            | columns
            | {"id": _texts(side["id"]), "name": _texts(side[label])}
        )

    return [_told(table, differences(ready(old), ready(new), {name: name for name in fields}))]


def _texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_decimal(kind):
        # Equal amounts of two scales are one text.
        return pa.chunked_array([[None if value is None else _plain(value) for value in column.to_pylist()]], TEXT)
    return pc.cast(column, TEXT)


def _plain(value: Decimal) -> str:
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _told(table: str, changes: pa.Table) -> pa.Table:
    """Return differences with the columns of a comparison."""
    about = pc.coalesce(changes["name"], changes["id"])
    columns = {name: changes[name] for name in ("change", "field", "before", "after", "company_id", "id")}
    return pa.table(
        columns
        | {
            "table": pa.repeat(pa.scalar(table, TEXT), len(changes)),
            "about": about,
            "difference": pa.nulls(len(changes), TEXT),
        }
    )
