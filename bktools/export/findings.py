"""Runs the checks of entries: the first error of each, which decides what is ready, and all findings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from bktools.connection import company_named
from bktools.contract import rules
from bktools.currencies import MINOR_UNITS
from bktools.errors import ArgumentError, InputError
from bktools.export.checks import CHECKS, HELD_TOGETHER
from bktools.export.columns import Arguments, columns_of, further_columns
from bktools.findings.check import applicable, find, with_first_errors
from bktools.frames.names import FIRST, IDENTIFIERS
from bktools.frames.repeats import split_entries
from bktools.frames.schema import TEXT, Month
from bktools.frames.tables import days_of, source_of
from bktools.ledger.holdings import Holdings, holdings
from bktools.wording import Sentence

c = pl.col

# Gives rows of entries the names of their categories, accounts and employees.
Naming = Callable[[pa.Table], pa.Table]

# The first columns of findings; names, money and identifiers of the entry follow.
CHECK_COLUMNS = ("check", "severity", "who", "facts")
ORDER = ("row", "reason", "facts")

# A check that was skipped is told where its column or frame is missing: the code, what is missing, and the
# frames that must be there for this to matter.
_UNCHECKED = (
    ("dates", ("day",), ()),
    ("amounts", ("amount",), ()),
    ("currencies", ("currency",), ()),
    ("approval", ("approved",), ()),
    ("categories", ("categories",), ()),
    ("accounts", ("accounts",), ("categories",)),
    ("employees", ("employees",), ()),
    ("no_employee_id", ("employee_id",), ("employees",)),
    ("party", ("supplier", "employee_id"), ()),
    ("history", ("history",), ()),
)


@dataclass(frozen=True)
class Checker:
    """The frames and arguments that entries are checked with.

    Parameters
    ----------
    frames : mapping
        Those given of categories, accounts, employees and history by name, as `typed` returns them;
        `elsewhere` has the IDs of entries of which the journal knows that they were exported elsewhere,
        `maybe_booked` of those that an earlier ledger left open, `not_booked` of those of which a person said
        that they are not booked.
    arguments : Arguments
        As `arguments_of` returns them.
    """

    frames: Mapping[str, pa.Table]
    arguments: Arguments

    def check(self, entries: pa.Table) -> Checked:
        """Return the checked entries; they are as `typed` returns them."""
        if "categories" in self.frames:
            require_category_ids(entries)
        unchecked = self.unchecked(entries.column_names)
        frames = {name: pl.DataFrame(frame) for name, frame in self.frames.items()}
        rows = columns_of(entries, frames, self.arguments)
        return Checked(_with_first_errors(rows), unchecked)

    def unchecked(self, columns: Collection[str]) -> tuple[str, ...]:
        """Return a code for each check that is skipped, because entries have only these columns."""
        inputs = {*self.frames, *columns} | ({"day"} if "date" in columns else set())
        return tuple(
            code
            for code, any_of, frames in _UNCHECKED
            if not inputs & {*any_of} and inputs.issuperset(frames)
        )


def require_category_ids(entries: pa.Table) -> None:
    """Refuse entries without the IDs of their categories, where categories were given."""
    if "category_id" not in entries.column_names:
        raise InputError(Sentence("plan.without_category_ids"))


def _with_first_errors(rows: pl.DataFrame) -> pl.DataFrame:
    """Return entries with their first errors; the lines of an entry are held back together."""
    rows = with_first_errors(rows, applicable(CHECKS, rows.columns))
    # Few entries have several lines, so that only these are grouped.
    lines = rows.filter(c.id.is_in(split_entries(rows)))
    is_held = (c.reason != "duplicate").any(ignore_nulls=True).over("id") & c.reason.is_null()
    rows = rows.with_columns(is_held_together=c.row.is_in(lines.filter(is_held)["row"].implode()))
    together = {"reason": HELD_TOGETHER, "facts": "{}"}
    held = {
        name: pl.coalesce(name, pl.when("is_held_together").then(pl.lit(text)))
        for name, text in together.items()
    }
    return rows.with_columns(**held)


@dataclass(frozen=True)
class Checked:
    """Entries with what errors read, and each one's first error: its code, `reason`, and its facts as JSON.

    Parameters
    ----------
    rows : DataFrame
        As `columns_of` returns it, with `reason` and `facts`, null for a ready entry.
    unchecked : tuple of str
        A code for each check that was skipped, and for each thing that the ledger does not show.
    books : mapping
        Of the ledger that was asked about them, where it comes from and what it shows; empty without one.
    """

    rows: pl.DataFrame
    unchecked: tuple[str, ...]
    books: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def order(self) -> pl.DataFrame:
        """Row, reason and facts of each entry in the order of sending."""
        return in_order_of_sending(self.rows)

    def asked(
        self, entries: pa.Table, named: Naming, ledger: Any, sent: Any, currency: str | None
    ) -> Checked:
        """Return the entries with what the books hold of ready ones.

        Parameters
        ----------
        entries : pyarrow.Table
            The checked entries.
        named : callable
            Gives rows their names.
        ledger : frame
            As `read_general_ledger` returns it.
        sent : frame, optional
            Entries that were sent before, as `load_export_jobs(entries=True)` returns them.
        currency : str, optional
            The company's currency: that of a ledger which names none.
        """
        ready, companies = self.rows.filter(c.reason.is_null()).select("row", "company_id")
        if companies.n_unique() > 1:
            raise ArgumentError("ledger", Sentence("rule.ledger_of_one_company"))
        own = named(entries.take(ready.to_arrow()))
        books = holdings(own, ledger, exported=sent, currency=currency)
        held = pl.DataFrame(books.table).select(row=ready, in_books="held", voucher="voucher")
        rows = self.rows.drop("reason", "facts", "is_held_together").join(
            held, on="row", how="left", maintain_order="left", suffix=" asked"
        )
        known = ("in_books", "voucher")
        rows = rows.with_columns(pl.coalesce(name, f"{name} asked").alias(name) for name in known)
        about = {name: source_of(ledger).get(name) for name in ("source", "sha256", "exported_at")}
        about["company_id"] = companies.first()
        about["lacks"] = _lacking(books, own, about["exported_at"])
        return Checked(_with_first_errors(rows), self.unchecked + books.unchecked, about)

    def find(
        self, entries: pa.Table, named: Naming, before_sending: frozenset[str] = frozenset()
    ) -> pa.Table:
        """Return all findings, most severe first, then in the order of sending.

        Parameters
        ----------
        entries : pyarrow.Table
            The checked entries.
        named : callable
            Gives rows their names.
        before_sending : frozenset of str
            IDs of sent entries: only their findings are returned, as if they had not been sent.

        Returns
        -------
        pyarrow.Table
            The columns CHECK_COLUMNS, then names, money and identifiers of the entry.
        """
        rows = further_columns(self.rows.drop("facts"))
        if before_sending:
            is_sent = c.id.is_in([*before_sending])
            unsent = {name: pl.lit(None, rows.schema[name]) for name in ("sent_state", "changes")}
            rows = rows.with_columns(**unsent)
        findings = find(rows, applicable(CHECKS, rows.columns))
        if before_sending:
            findings = findings.filter(c.row.is_in(rows.select(is_sent.arg_true()).to_series().implode()))
        positions = self.order.select("row").with_row_index("position")
        findings = findings.join(positions, on="row", how="left").sort("number", "position")
        known = entries.select([name for name in (*FIRST, *IDENTIFIERS) if name in entries.column_names])
        about = named(known.take(findings["row"].to_arrow()))
        about = about.select([name for name in (*FIRST, *IDENTIFIERS) if name in about.column_names])
        codes = {name: pc.cast(findings[name].to_arrow(), TEXT) for name in CHECK_COLUMNS}
        return pa.table(codes | dict(zip(about.column_names, about.columns, strict=True)))


def _lacking(books: Holdings, entries: pa.Table, exported_at: str | None) -> list[str]:
    """Return the entries that a ledger shows not to be booked, whoever may have sent them.

    It shows that of entries dated in its days, which end with its export, if it holds a whole batch that was
    accepted: then it is known where this company's accounting system books.
    """
    if not (books.batches and books.days and exported_at):
        return []
    first, last = books.days
    days = zip(entries["id"].to_pylist(), days_of(entries).to_pylist(), strict=True)
    outside = {entry for entry, day in days if day is None or not first <= day <= last}
    return [entry for entry, due in books.may_follow.items() if due <= last and entry not in outside]


def in_order_of_sending(rows: pl.DataFrame) -> pl.DataFrame:
    """Return row, reason and facts of entries by company, day and ID."""
    keys = [name for name in ("company_id", "day", "id") if name in rows.columns]
    # Arrow sorts by several texts in a third of Polars' time, and keeps the order of equal rows.
    table = pa.table({name: rows[name].to_arrow() for name in keys})
    places = pc.sort_indices(table, [(name, "ascending") for name in keys])
    return rows.select(ORDER)[pl.Series(places)]


def arguments_of(
    *, company: str | None = None, month: Month | None = None, currency: str | None = None
) -> Arguments:
    """Return the arguments of the checks; one that breaks a rule is an `ArgumentError`."""
    named = first = last = None
    if month is not None:
        named = rules.month("month", month)
        last = rules.last_day(named)
        first = last.replace(day=1)
    if currency is not None and rules.text("currency", currency) not in MINOR_UNITS:
        raise ArgumentError("currency", Sentence("rule.currency_code"), currency)
    return Arguments(None if company is None else company_named(company), named, first, last, currency)
