"""Batches in doubt in the journal, and what a ledger says about each: evidence for the person who settles it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bktools.ledger.ledger_match import LedgerMatch

# The state of a batch whose outcome is unknown.
IN_DOUBT = "UNKNOWN"
ARRIVED = {"booked", "another_date"}
SHOWN = 10


@dataclass(frozen=True)
class Settlement:
    """What the ledger says about a batch in doubt.

    Attributes
    ----------
    batch_id : str
        The batch.
    outcome : str or None
        "accepted" where each of its entries is booked once, "released" where none is; None where the ledger does not
        decide it.
    text : str
        The evidence, for a journal that keeps it; where nothing is decided, the reason and what to do.
    """

    batch_id: str
    outcome: str | None
    text: str


def settlements(match: LedgerMatch, sizes: Mapping[str, int]) -> list[Settlement]:
    """Return what a match says about each batch whose outcome is unknown.

    Parameters
    ----------
    match : LedgerMatch
        Of entries with batch_id, state and sent_at.
    sizes : mapping
        The number of entries of each batch: those of a batch may be only partly in the match.
    """
    if not {"batch_id", "state"} <= set(match.entries.columns):
        return []
    in_doubt = match.entries[match.entries["state"] == IN_DOUBT]
    return [_settlement(match, str(batch), rows, sizes) for batch, rows in in_doubt.groupby("batch_id", sort=True)]


def _settlement(match: LedgerMatch, batch: str, rows: pd.DataFrame, sizes: Mapping[str, int]) -> Settlement:
    count, size = len(rows), sizes.get(batch, len(rows))
    counts = rows["status"].value_counts()
    ledger = f"the ledger of {match.ledger_from} to {match.ledger_until}"
    if count < size:
        return Settlement(batch, None, f"only {count} of its {size} entries were compared: leave out --month")
    if set(counts.index) <= ARRIVED:
        return Settlement(batch, "accepted", f"all {count} entries are booked once in {ledger}: {_vouchers(rows)}")
    if set(counts.index) != {"missing"}:
        found = ", ".join(f"{number} {str(status).replace('_', ' ')}" for status, number in counts.sort_index().items())
        return Settlement(batch, None, f"of its {count} entries there are {found}: settle it by hand, entry by entry")
    why = _not_covered(match, rows)
    if why:
        return Settlement(batch, None, f"none of its {count} entries is in {ledger}, but {why}")
    return Settlement(batch, "released", f"none of its {count} entries is in {ledger}")


def _not_covered(match: LedgerMatch, rows: pd.DataFrame) -> str | None:
    """Return why the ledger is no proof that a batch was not booked."""
    sent = _day(rows["sent_at"].max()) if "sent_at" in rows.columns else None
    if sent is None:
        return "the day of sending is not known: look it up in the ERP"
    days = [_day(rows["date"].min()), _day(rows["date"].max())] if "date" in rows.columns else [None, None]
    latest = max(day for day in (sent, days[1]) if day)
    if match.ledger_until is None or match.ledger_until <= latest:
        return f"it must have postings after {latest}: wait, export the ledger again, then verify again"
    if days[0] and match.ledger_from and match.ledger_from > days[0]:
        return f"it begins after {days[0]}: export the ledger from that day, then verify again"
    return None


def _day(value: Any) -> dt.date | None:
    return None if pd.isna(value) else value.date()


def _vouchers(rows: pd.DataFrame) -> str:
    for name, noun in (
        ("booked_voucher_id", "vouchers"),
        ("booked_document_number", "documents"),
        ("booked_line", "lines"),
    ):
        if name in rows.columns and rows[name].notna().any():
            rows = rows.sort_values("booked_line") if "booked_line" in rows.columns else rows
            there = [" ".join(str(value).split()) for value in rows[name].dropna().unique()]
            more = f" and {len(there) - SHOWN} more" if len(there) > SHOWN else ""
            return f"{noun} {', '.join(there[:SHOWN])}{more}"
    return "postings without voucher, document and line"
