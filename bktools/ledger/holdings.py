"""What the books hold already of entries that were not sent: asked before anything is sent."""

from __future__ import annotations

import calendar
import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from bktools.frames.schema import COUNT, TEXT
from bktools.ledger.habits import COST
from bktools.ledger.inputs import Inputs, read, said_of
from bktools.ledger.sides import sides_of
from bktools.ledger.statuses import Reason, Status
from bktools.ledger.steps import Grain
from bktools.ledger.style import Style
from bktools.ledger.verdict import FOUND, Verdict, verdict_of

HELD, MAY_BE_HELD, NOT_THERE = "held", "may_be_held", "not_there"
# Reasons of an unsent entry that show nothing of it in the ledger.
SHOWS_NOTHING = (Reason.NOT_COVERED, Reason.VALUE_UNKNOWN)
# So many postings, and this share of the ledger's on the accounts, show that it holds such entries.
FEW, SHARE = 5, 0.2
# A ledger is of sums when so much of its money on the accounts is in vouchers of so many accounts.
MOST, SEVERAL = 0.4, 3
# How a posting is named, by the first of these that the ledger has.
NAMES = ("voucher_id", "document_number", "line")


@dataclass(frozen=True)
class Holdings:
    """What a ledger holds of entries that were not sent.

    Parameters
    ----------
    table : pyarrow.Table
        One row for each of the entries, in their order: `held` ("held": a posting is shown to be of it;
        "may_be_held": a free posting or an open group may hold it; "not_there"), `voucher` (where to look: a
        voucher, document or line) and `posting` (the row in the ledger); null where there is none.
    is_style_known : bool
        Whether the ledger shows how it books. Where it does not, every row is "not_there".
    habits : mapping
        How the ledger books, as codes and numbers.
    batches : tuple of str
        Batches that were sent before and are in the ledger as a whole: they show whose ledger it is.
    days : tuple of date
        The first and the last day of its postings; empty without any.
    """

    table: pa.Table
    is_style_known: bool
    habits: Mapping[str, Any]
    batches: tuple[str, ...]
    # By ID of an entry that is not there: the day until which its posting may follow.
    missing: Mapping[str, dt.date]
    days: tuple[dt.date, ...]


def holdings(entries: Any, ledger: Any, *, exported: Any = None) -> Holdings:
    """Return what a ledger holds of entries that were not sent yet.

    Parameters
    ----------
    entries : frame
        Entries that were not sent: id or entry_id, account_code, date, amount, currency, and other facts.
    ledger : frame
        One row per posting, as `read_general_ledger` returns it.
    exported : frame, optional
        Entries that were sent before, as `load_export_jobs(entries=True)` returns them: they show how the
        ledger books, and take their own postings first.

    Raises
    ------
    ArgumentError, InputError
        As `match_ledger`.
    """
    own = read(entries, ledger, are_sent=False)
    sides = sides_of(own)
    said = said_of(ledger)
    sent = read(exported, ledger) if exported is not None else None
    before = verdict_of(sides_of(sent), **said._asdict()) if sent is not None else None
    # Postings of what was sent before are of no other entry.
    taken = _taken(before) if before is not None else []
    first = verdict_of(sides, **said._asdict(), explained=taken)
    grain = said.grain
    if grain is None:
        grain = (
            before.style.grain if before is not None and before.style.is_known else _grain_shown(first, taken)
        )
    is_known = first.style.is_known or grain is not None
    verdict = (
        first
        if first.style.is_known or not is_known
        else verdict_of(sides, explained=taken, grain=grain, sign=said.sign, is_known=True)
    )
    held = np.full(len(own.exported), NOT_THERE, dtype=object)
    postings = np.full(len(held), -1, dtype=np.int64)
    for entry in range(len(held)) if is_known else ():
        held[entry], postings[entry] = _of_entry(verdict, entry)
    at = pa.array(postings, COUNT, mask=postings < 0)
    table = pa.table({"held": pa.array(held, TEXT), "voucher": _vouchers(own, at), "posting": at})
    batches = () if sent is None or before is None else _whole_batches(sent, before)
    usual = verdict.style if before is None else before.style
    missing = _missing(own, verdict, usual) if is_known and usual.is_known else {}
    return Holdings(table, is_known, verdict.facts(), batches, missing, _days(own))


def _missing(own: Inputs, verdict: Verdict, usual: Style) -> dict[str, dt.date]:
    """Return until which day the posting of each missing entry may follow, by the habits of what was sent.

    The sum of a batch or a month may hold any entry of its month: what is in it is not known.
    """
    ids, days = (own.exported.column(name).to_pylist() for name in ("entry_id", "date"))
    due = {}
    for row in np.flatnonzero(verdict.status == Status.MISSING).tolist():
        day = days[row]
        if usual.grain.is_long:
            day = day.replace(day=calendar.monthrange(day.year, day.month)[1])
        due[ids[row]] = day + dt.timedelta(days=usual.shift + usual.lag)
    return due


def _whole_batches(sent: Inputs, verdict: Verdict) -> tuple[str, ...]:
    if not {"batch_id", "state"} <= {*sent.exported.column_names}:
        return ()
    rows = pl.DataFrame({name: pl.from_arrow(sent.exported.column(name)) for name in ("batch_id", "state")})
    is_there = pl.Series(np.isin(verdict.status, FOUND)) & (rows["state"] == "ACCEPTED")
    batches = rows.select("batch_id", is_there=is_there).drop_nulls("batch_id").group_by("batch_id")
    return tuple(sorted(batches.agg(pl.col("is_there").all()).filter("is_there")["batch_id"].to_list()))


def _days(inputs: Inputs) -> tuple[dt.date, ...]:
    days = pl.Series(pl.from_arrow(inputs.ledger.column("date"))).cast(pl.Date)
    first, last = days.min(), days.max()
    return (first, last) if isinstance(first, dt.date) and isinstance(last, dt.date) else ()


def _taken(verdict: Verdict) -> list[int]:
    """Return the postings that entries explain."""
    judged = verdict.posting[np.isin(verdict.status, FOUND)].tolist()
    others = (*verdict.doubles, *verdict.reversals, *verdict.undone)
    return sorted({*verdict.lines["p"].to_list(), *judged, *others} - {-1})


def _grain_shown(verdict: Verdict, taken: Sequence[int]) -> Grain | None:
    """Return the grain of a ledger that holds few of the entries, where it shows one.

    Either the entries explain a part of what it has on their accounts that is no chance, or most of that is
    in vouchers of several accounts: sums of a month, if there is one in a month, else of days.
    """
    own = verdict.postings.filter("is_used", pl.col("role") == COST, ~pl.col("p").is_in([*taken]))
    shown = own.filter(pl.col("p").is_in(verdict.lines["p"].implode()))
    if shown.height >= FEW and shown.height >= SHARE * own.height:
        return verdict.style.grain
    pooled = own.with_columns(accounts=pl.col("account").n_unique().over("voucher")).filter(
        pl.col("voucher").is_not_null(), pl.col("accounts") >= SEVERAL
    )
    sizes = [float(frame["amount"].abs().cast(pl.Float64).sum()) for frame in (pooled, own)]
    if not sizes[1] or sizes[0] < MOST * sizes[1]:
        return None
    in_a_month = pooled.group_by("month").agg(pl.n_unique("voucher"))["voucher"].max()
    return Grain.MONTH if in_a_month == 1 else Grain.ACCOUNT_DAY


def _of_entry(verdict: Verdict, entry: int) -> tuple[str, int]:
    """Return what the ledger holds of an entry, and the posting to look at."""
    status, own = Status(int(verdict.status[entry])), int(verdict.posting[entry])
    note = verdict.notes.get(entry)
    place = own if own >= 0 else next(iter(note.postings), -1) if note else -1
    if status in FOUND:
        return HELD, place
    if status is Status.REVERSED:
        # Booked and taken back: a person has to say whether it is to be booked again.
        return MAY_BE_HELD, place
    if status is Status.NOT_DECIDED and note is not None:
        # An amount in another currency is named by no posting, and any posting may hold it.
        is_shown = place >= 0 or note.reason is Reason.OTHER_CURRENCY
        if is_shown and note.reason not in SHOWS_NOTHING:
            return MAY_BE_HELD, place
    return NOT_THERE, -1


def _vouchers(inputs: Inputs, at: pa.Array) -> pa.Array:
    for name in NAMES:
        if name in inputs.ledger.column_names and inputs.ledger.column(name).null_count < len(inputs.ledger):
            return inputs.ledger.column(name).take(at).cast(TEXT)
    return pa.nulls(len(at), TEXT)
