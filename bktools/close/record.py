"""`record_of`: the entries that a month exported and held back, from the journal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools import views
from bktools.connection import service_or_default
from bktools.consoles import readable
from bktools.contract import rules
from bktools.frames.names import in_reading_order
from bktools.frames.schema import COUNT, TEXT, Month, to_pandas
from bktools.frames.sums import number_of_entries
from bktools.frames.tables import source_of
from bktools.journal.journal import Journal
from bktools.journal.periods import (
    CLOSED,
    CLOSES,
    PARTS,
    TOTALS,
    booked_and_held,
    closes_of,
    events_of,
    held_back,
    sent_after,
    sent_entries,
    state_of,
    totals_of,
)
from bktools.journal.statements import verifications_of
from bktools.journal.tables import table_of
from bktools.journal.writing import open_up_to_date
from bktools.service import Service
from bktools.wording import words
from bktools.wording.words import NO_CURRENCY

VERIFIED = pa.schema(
    dict.fromkeys(("month", "at", "by", "ledger"), TEXT) | dict.fromkeys(("differences", "unverified"), COUNT)
)


def table_as_frame(name: str) -> cached_property[pd.DataFrame]:
    """Return an attribute that is a table of `tables` as a frame, made on first use."""
    return cached_property(lambda of: to_pandas(of.tables[name], source_of(of.tables[name])))


@dataclass(frozen=True, eq=False, repr=False)
class PeriodRecord:
    """A month in the journal: what its closes exported and held back, and what became of it.

    Attributes
    ----------
    period, environment, company : str
        The month, as 2026-10; name of the environment; UUID of the company.
    state : str
        OPEN or CLOSED.
    closed_by : str, optional
        The person who closed it.
    closes : DataFrame
        One row per close that was applied, oldest first: at (UTC), prepared_by, approved_by, plan_id.
    exported : DataFrame
        One row per entry of the month that was sent, names and amount first: the facts at sending, state
        (ACCEPTED; UNKNOWN and SENDING are in doubt), sent_at (UTC), sent_by, job_id.
    in_books : DataFrame
        One row per entry of the month that was not sent, because the ledger had it already.
    held_back : DataFrame
        One row per entry of the month that its last close held back: its facts, reason, message, held_at
        (UTC), and its outcome: "open", or "resolved" with resolved_period, resolved_at and resolved_job_id.
        Each entry is in one month's record: the first one whose last close held it back.
    totals : DataFrame
        One row per currency: count and exact amount of entries exported, in_doubt, in_books, held_back,
        resolved, open.
    events : DataFrame
        Every event of the month and of its batches in the journal, oldest first.

    Examples
    --------
    >>> import bktools
    >>> with bktools.Sandbox() as service:
    ...     record = bktools.record_of("2026-10", service=service)
    >>> record.state, len(record.exported)
    ('OPEN', 0)
    """

    period: str
    environment: str
    company: str
    state: str
    closed_by: str | None = None
    # The tables by the names of the frames below, which are made on first use.
    tables: Mapping[str, pa.Table] = field(default_factory=dict)

    closes = table_as_frame("closes")
    exported = table_as_frame("exported")
    in_books = table_as_frame("in_books")
    held_back = table_as_frame("held_back")
    totals = table_as_frame("totals")
    events = table_as_frame("events")

    @property
    def lines(self) -> list[str]:
        """The number of entries of each part, and their exact amounts by currency."""
        texts, rows = words(), self.tables["totals"].to_pylist()
        lines = []
        for part in PARTS:
            amounts = {row["currency"] or NO_CURRENCY: row[f"{part}_amount"] for row in rows if row[part]}
            if amounts:
                count = texts.counted(sum(row[part] for row in rows), "entry")
                lines.append(f"{texts(f'record.part.{part}')}: {count}, {texts.money(amounts)}")
        return lines

    @property
    def _head(self) -> str:
        key = f"record.head_{self.state.lower()}"
        return words()(key, month=self.period, company=self.company, environment=self.environment)

    def __repr__(self) -> str:
        return readable("\n  ".join([self._head, *(self.lines or [words()("record.nothing")])]))

    def _repr_html_(self) -> str:
        return views.heading(self._head) + views.table(
            [""], [[line] for line in self.lines], total=len(self.lines)
        )


def record_of(month: Month, company: str | None = None, *, service: Service | None = None) -> PeriodRecord:
    """Return what a month's close exported and held back, from the journal: the same figures at any time.

    Parameters
    ----------
    month : str, Period, date or datetime
        As 2026-10.
    company : str, optional
        UUID or short name of the company; the configured one by default.
    service : Service, optional
        Default: the configured one. Nothing is sent to it.

    Returns
    -------
    PeriodRecord
        Closes, exported entries, held-back entries and what became of them, totals by currency, and events.
        An entry belongs to the month of the close that sent it; one sent outside of a close, to the month of
        its date.

    Raises
    ------
    ArgumentError
        When the month is no month, or no company is known.
    JournalError, StorageError
        When the journal cannot be read.

    Notes
    -----
    Export jobs: interface, section 4.2.

    Examples
    --------
    >>> import bktools
    >>> with bktools.Sandbox() as service:
    ...     bktools.record_of("2026-10", service=service).lines
    []
    """
    month = rules.month("month", month)
    settings = service_or_default(service).settings
    company = rules.company_of(settings, company)
    with open_up_to_date(settings) as journal:
        return record_in(journal, month, company, settings.environment)


def verified_months(journal: Journal, company: str, sent: pa.Table) -> pa.Table:
    """Return the last verification of each month of a company in a ledger, the latest month first.

    `unverified` is how many of the `sent` entries were sent after it.
    """
    last = {str(event.period): event for event in verifications_of(journal, company)}
    after = sent_after(sent, last)
    rows = [
        {
            "month": month,
            "at": event.at,
            "by": event.person,
            "ledger": event.facts["ledger"]["name"],
            "differences": len(event.facts["differences"]),
            "unverified": number_of_entries(after.filter(pc.equal(after["period"], month))),
        }
        for month, event in sorted(last.items(), reverse=True)
    ]
    return pa.Table.from_pylist(rows, VERIFIED)


def record_in(
    journal: Journal, month: str, company: str, environment: str, sent: pa.Table | None = None
) -> PeriodRecord:
    """Return a month's record from an open journal; `sent` are the company's sent entries, if read."""
    sent = sent_entries(journal, company) if sent is None else sent
    booked, held = booked_and_held(held_back(journal, company, sent, month))
    sent = sent.filter(pc.equal(sent["period"], month))
    entries = {"exported": sent, "in_books": booked, "held_back": held}
    tables = {name: rows.select(in_reading_order(rows.column_names)) for name, rows in entries.items()}
    tables |= {
        "closes": table_of([closes_of(journal, company, month)], CLOSES),
        "totals": table_of([totals_of(sent, pa.concat_tables([booked, held]))], TOTALS),
        "events": events_of(journal, company, month),
    }
    state, person = state_of(journal, company, month)
    closed_by = person if state == CLOSED else None
    return PeriodRecord(month, environment, company, state, closed_by, tables)
