"""Which month is closed, with which tables: the arguments of a close, checked."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa

from bktools.contract import rules
from bktools.errors import ArgumentError
from bktools.frames.columns import months_in
from bktools.frames.incoming import described, in_memory, source_of
from bktools.frames.schema import Month
from bktools.journal.writable import WritableJournal
from bktools.ledger.inputs import options_of, postings_in
from bktools.service import Service
from bktools.settings import Settings
from bktools.wording import Sentence, Words


@dataclass(frozen=True)
class CloseScope:
    """What every step of a close needs: the month of which company, in which journal, and who closes it.

    `seen` is called with the name and the result of each step.
    """

    service: Service
    journal: WritableJournal
    company: str
    period: str
    apply: bool
    by: str
    words: Words
    seen: Callable[[str, Any], None]

    @property
    def settings(self) -> Settings:
        """The settings of the service."""
        return self.service.settings


def table_with_source(frame: pd.DataFrame, name: str) -> pa.Table:
    """Return a frame as a table that keeps where it comes from."""
    return described(in_memory(frame, name), source_of(frame))


def ledger_of(ledger: pd.DataFrame | None) -> pa.Table | None:
    """Return the postings of a ledger, if there is one; refuse options that no ledger has."""
    if ledger is None:
        return None
    options_of(ledger)
    return described(postings_in(ledger), source_of(ledger))


def month_to_close(entries: pa.Table, month: Month | None, now: dt.datetime, *, is_approved: bool) -> str:
    """Return the month of a close, by default the only month of the entries that has ended.

    Refuse entries whose dates are no dates, a month that has not begun, and the approval of one that has not
    ended.
    """
    months = sorted(months_in(entries).unique().drop_null().to_pylist())
    # The month is taken from the calendar of this machine, not from UTC.
    today = now.astimezone()
    current = f"{today:%Y-%m}"
    period = _only_month(months, current) if month is None else rules.month("month", month)
    if period > current:
        raise ArgumentError("month", Sentence("rule.month_not_begun", today=today), period)
    if period == current and is_approved:
        raise ArgumentError("approved_by", Sentence("rule.month_not_ended", month=current))
    return period


def _only_month(months: Sequence[str], current: str) -> str:
    """Return the only month that has ended, or the current one where none has; else ask."""
    likely = [month for month in months if month < current] or [month for month in months if month == current]
    if len(likely) != 1:
        code = "rule.which_month" if months else "rule.month_without_dates"
        raise ArgumentError("month", Sentence(code, months=", ".join(months)))
    return likely[0]
