"""What the books hold already of entries that were not sent: asked before anything is sent."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from bktools.frames.schema import COUNT, TEXT
from bktools.ledger.before_sending import BeforeSending, Held, before_sending
from bktools.ledger.findings import day_of
from bktools.ledger.inputs import Inputs, options_of, read
from bktools.ledger.outcome import BOOKED, Reason, Status, Verdict
from bktools.ledger.two_tables import entries_of, postings_of

# How a posting is named, by the first of these that the ledger has.
NAMES = ("voucher_id", "document_number", "line")
# Units whose group an entry that was not sent has not yet: its posting may follow until the month is over.
OF_BATCHES = ("batch", "batch_week", "batch_supplier", "batch_employee")


@dataclass(frozen=True)
class Holdings:
    """What a ledger holds of entries that were not sent.

    Parameters
    ----------
    table : pyarrow.Table
        One row for each of the entries, in their order: `held` (one of `Held`), `voucher` (where to look: a
        voucher, document or line; null where there is none).
    is_style_known : bool
        Whether the ledger shows how it books.
    batches : tuple of str
        Batches that were sent before and are in the ledger as a whole: they show whose ledger it is.
    missing : mapping
        By ID of an entry that is not in the ledger: the day until which its posting may follow.
    days : tuple of date
        The first and the last day that the ledger shows; empty without any.
    """

    table: pa.Table
    is_style_known: bool
    batches: tuple[str, ...]
    missing: Mapping[str, dt.date]
    days: tuple[dt.date, ...]


def holdings(entries: Any, ledger: Any, *, exported: Any = None, currency: str | None = None) -> Holdings:
    """Return what a ledger holds of entries that were not sent yet.

    Parameters
    ----------
    entries : frame
        Entries that were not sent: id or entry_id, account_code, date, amount, currency, and other facts.
    ledger : frame
        One row per posting, as `read_general_ledger` returns it.
    exported : frame, optional
        Entries that were sent before, as `load_export_jobs(entries=True)` returns them: they are matched
        together with these, and each posting is used once.
    currency : str, optional
        The ledger's currency, where it has no column of it.

    Raises
    ------
    ArgumentError, InputError
        As `match_ledger`.
    """
    own = read(entries, ledger, are_sent=False)
    sent = read(exported, ledger) if exported is not None else None
    before = before_sending(
        entries_of(own.entries, sent=False),
        postings_of(own.ledger),
        None if sent is None else entries_of(sent.entries),
        until=own.until,
        **options_of(ledger, currency=currency),
    )
    verdict = before.verdict
    first = np.array([rows[0] if rows else -1 for rows in before.postings], dtype=np.int64)
    return Holdings(
        pa.table({"held": pa.array([*before.held], TEXT), "voucher": _vouchers(own.ledger, first)}),
        verdict.habits is not None and verdict.habits.is_known,
        () if sent is None else _whole_batches(sent, verdict),
        _missing(own, before),
        tuple(map(day_of, verdict.covered)) if verdict.covered else (),
    )


def _missing(own: Inputs, before: BeforeSending) -> dict[str, dt.date]:
    """Return until which day the posting of each missing entry may follow, by the ledger's habits."""
    verdict = before.verdict
    if verdict.habits is None or not verdict.habits.is_known:
        return {}
    ids = own.entries.column("entry_id").to_pylist()
    days = entries_of(own.entries, sent=False)
    clock = "month_end" if verdict.habits.unit in OF_BATCHES else verdict.habits.clock
    if clock not in days.columns:
        return {}
    due = {}
    for entry, held in enumerate(before.held):
        begins = days[clock][entry] if clock != "sent_day" else None
        # The voucher of an entry that is not covered yet may follow on a day that the ledger lacks.
        is_not_there = (
            verdict.status[entry] == Status.MISSING or verdict.reasons.get(entry) == Reason.NOT_COVERED
        )
        if held == Held.READY and is_not_there and begins is not None:
            due[ids[entry]] = day_of(begins + verdict.habits.gate[1])
    return due


def _whole_batches(sent: Inputs, verdict: Verdict) -> tuple[str, ...]:
    """Return the accepted batches whose entries are all in the ledger."""
    if not {"batch_id", "state"} <= {*sent.entries.column_names}:
        return ()
    rows = pl.DataFrame({name: pl.from_arrow(sent.entries.column(name)) for name in ("batch_id", "state")})
    # The entries that were sent follow the ones that were not.
    status = verdict.status[len(verdict.status) - rows.height :]
    is_there = pl.Series(np.isin(status, BOOKED)) & (rows["state"] == "ACCEPTED")
    batches = rows.select("batch_id", is_there=is_there).drop_nulls("batch_id").group_by("batch_id")
    return tuple(sorted(batches.agg(pl.col("is_there").all()).filter("is_there")["batch_id"].to_list()))


def _vouchers(ledger: pa.Table, rows: np.ndarray) -> pa.Array:
    at = pa.array(rows, COUNT, mask=rows < 0)
    for name in NAMES:
        if name in ledger.column_names and ledger.column(name).null_count < len(ledger):
            return ledger.column(name).take(at).cast(TEXT)
    return pa.nulls(len(at), TEXT)
