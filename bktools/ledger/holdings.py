"""What the books hold already of entries that were not sent: asked before anything is sent.

One verdict is made over sent and unsent entries together: each posting is used once.
"""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from bktools.frames.schema import COUNT, TEXT
from bktools.frames.tables import described, source_of
from bktools.ledger.booking_units import clocks_of
from bktools.ledger.findings import day_of
from bktools.ledger.inputs import read
from bktools.ledger.model import verdict_of
from bktools.ledger.verdict import BOOKED, THERE, Reason, Status, Verdict
from bktools.ledger.whole_numbers import Columns
from bktools.wording import words

# How a person finds a posting, as far as the ledger has it.
PLACE = ("file", "line", "date", "voucher_id", "document_number", "text")
# Units whose group an entry that was not sent has not yet: its posting may follow until the month is over.
OF_BATCHES = ("batch", "batch_week", "batch_supplier", "batch_employee")

# The code of a ledger that cannot be compared: it has no account of the entries.
WITHOUT_ACCOUNTS = "ledger_accounts"


c = pl.col


class Held(enum.StrEnum):
    """Whether an entry that was not sent is in the books already."""

    READY = "ready"
    ALREADY_BOOKED = "already_booked"  # proven
    MAYBE_BOOKED = "maybe_booked"  # a free posting has its amount, or an open sum may hold it


@dataclass(frozen=True)
class Holdings:
    """What a ledger holds of entries that were not sent.

    Parameters
    ----------
    table : pyarrow.Table
        One row for each of the entries, in their order: `held` (one of `Held`), `voucher` (where to look:
        file and line, day, voucher and text of a posting; null where there is none).
    has_accounts : bool
        Whether an account of the entries, or of those that were sent before, is one of the ledger's.
    is_style_known : bool
        Whether the ledger shows how it books.
    batches : tuple of str
        Batches that were sent before and are in the ledger as a whole: they show whose ledger it is.
    may_follow : mapping
        By ID of an entry that is missing, or not covered yet: the day until which its posting may follow.
    days : tuple of date
        The first and the last day that the ledger shows; empty without any.
    """

    table: pa.Table
    has_accounts: bool
    is_style_known: bool
    batches: tuple[str, ...]
    may_follow: Mapping[str, dt.date]
    days: tuple[dt.date, ...]

    @property
    def unchecked(self) -> tuple[str, ...]:
        """The code of what the ledger does not show, as `ExportPlan.unchecked` has it."""
        if not self.has_accounts:
            return (WITHOUT_ACCOUNTS,)
        return () if self.is_style_known else ("ledger_style",)


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
    own = read(entries, ledger, currency=currency, are_sent=False, beside=exported)
    unsent, postings = own.entries, own.postings
    sent = unsent[:0] if exported is None else read(exported, ledger, beside=entries).entries
    both = pl.concat([unsent, sent])
    verdict = verdict_of(both, postings, **own.options)
    looked = [_looked_at(e, verdict) for e in range(unsent.height)]
    # An entry of which one line is proven, and another is not, may be booked.
    lines = unsent.select("id", is_booked=verdict.has(*BOOKED)[: unsent.height])
    is_booked = lines.select(pl.col("is_booked").all().over("id")).to_series()
    held = [
        Held.ALREADY_BOOKED if is_booked[e] else Held.MAYBE_BOOKED if rows else Held.READY
        for e, rows in enumerate(looked)
    ]
    first = np.array([rows[0] if rows else -1 for rows in looked], dtype=np.int64)
    places = _places(described(own.ledger, source_of(ledger)), first)
    return Holdings(
        pa.table({"held": pa.array([*held], TEXT), "voucher": places}),
        unsent.is_empty() or bool(both["account"].is_in(postings["account"].drop_nulls().implode()).any()),
        verdict.habits.is_known,
        _whole_batches(sent, verdict),
        _may_follow(unsent, held, verdict),
        tuple(map(day_of, verdict.covered)) if verdict.covered else (),
    )


def _looked_at(e: int, verdict: Verdict) -> Sequence[int]:
    """Return the rows of the postings that hold an entry, or that may: no entry that was sent has them."""
    if verdict.status[e] in THERE or verdict.reasons.get(e) == Reason.SEVERAL_STORIES:
        return verdict.postings(e) or verdict.look_first.get(e, ())
    return verdict.look_first.get(e, ())


def _may_follow(unsent: pl.DataFrame, held: list[Held], verdict: Verdict) -> dict[str, dt.date]:
    """Return until which day the posting of each missing entry may follow, by the ledger's habits."""
    clock = "month_end" if verdict.habits.unit in OF_BATCHES else verdict.habits.clock
    if not verdict.habits.is_known or clock == "sent_day":
        return {}
    columns = Columns(unsent)
    days = {"day": columns.day, **clocks_of(columns)}[clock] + verdict.habits.gate[1]
    # The voucher of an entry that is not covered yet may follow on a day that the ledger lacks.
    return {
        unsent["id"][e]: day_of(days[e])
        for e in np.flatnonzero([one is Held.READY for one in held]).tolist()
        if verdict.status[e] == Status.MISSING or verdict.reasons.get(e) == Reason.NOT_COVERED
    }


def _whole_batches(sent: pl.DataFrame, verdict: Verdict) -> tuple[str, ...]:
    """Return the accepted batches whose entries are all in the ledger."""
    # The entries that were sent follow the ones that were not.
    status = verdict.status[len(verdict.status) - sent.height :]
    is_there = pl.Series(np.isin(status, BOOKED)) & (sent["state"] == "ACCEPTED")
    batches = sent.select("batch", is_there=is_there).drop_nulls("batch").group_by("batch")
    return tuple(sorted(batches.agg(pl.col("is_there").all()).filter("is_there")["batch"].to_list()))


def _places(ledger: pa.Table, rows: np.ndarray) -> pa.Array:
    """Return where a person finds each posting: file and line, day, voucher or document, and text."""
    named = [name for name in PLACE if name in ledger.column_names]
    lines = pl.DataFrame(ledger.select(named).take(pa.array(rows, COUNT, mask=rows < 0))).cast(pl.String)
    dates = lines["date"].unique().drop_nulls() if "date" in named else ()
    days = {text: words().day(text[:10]) for text in dates}
    if "file" not in named:
        lines = lines.with_columns(file=pl.lit(Path(str(source_of(ledger).get("source") or "")).name))
    line = pl.concat_str("file", "line", separator=":", ignore_nulls=True) if "line" in named else c.file
    texts = [c(name).replace(days) if name == "date" else c(name) for name in named if name not in PLACE[:2]]
    place = pl.concat_str(line, *texts, separator=", ", ignore_nulls=True).str.strip_chars(", ")
    return lines.select(pl.when(pl.Series(rows >= 0)).then(place)).to_series().to_arrow().cast(TEXT)
