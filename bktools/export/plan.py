"""`ExportPlan`: batches of entries to export. `submit_export_jobs` sends it."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from bktools.consoles import INDENT, readable
from bktools.contract import export_jobs
from bktools.errors import PlanError
from bktools.export.overview import Overview, amounts_of_ready
from bktools.export.rendered import findings_in, not_ready_in
from bktools.frames.batches import BatchRequest
from bktools.frames.results import Result
from bktools.frames.schema import COUNT, DATE, ENTRY_DATA, TEXT, to_pandas
from bktools.frames.sums import summed
from bktools.frames.tables import days_of, split_lines, to_arrow
from bktools.wording import Sentence, words

BATCHES = pa.schema(
    {"batch_id": TEXT, "company_id": TEXT, "entries": COUNT, "first_date": DATE, "last_date": DATE}
)

TOTALS_BY = ("company_id", "currency", "category_id")

# The columns from which requests are made.
SENT = ("id", "company_id", "batch_id")


@dataclass(frozen=True)
class ExportOptions:
    """The interface's options of an export job, equal for all batches of a plan. Their order is in its ID."""

    employee_id: str | None = None
    is_interactive: bool = True
    vendor_based_bookkeeping: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class ExportPlan(Result):
    """Ready entries in batches, and entries that are not ready, with the reason.

    Attributes
    ----------
    batches : DataFrame
        One row per batch, in order of sending: batch_id, company_id, entries (count), first_date, last_date.
    rows : pyarrow.Table
        One row per ready entry, or per line of a split one, with its batch_id, in the order of sending.
    held : pyarrow.Table
        One row per entry that is not ready, with its reason (a code) and the facts of it as JSON.
    options : ExportOptions
        Options of the jobs.
    unchecked : tuple of str
        Codes of the checks that were skipped because a frame or a column was not given.
    plan_id : str
        Digest of batches, options and all that the journal keeps of each entry; equal entries give equal IDs.
    provenance : dict
        Source of the entries.
    journal : str
        Identity of the journal whose history it was composed with, which alone accepts it. "" without a
        history.
    books : dict
        Of the ledger that was asked before: source, sha256, exported_at, company_id, and lacks, the IDs of
        entries that it shows not to be booked. Empty where none was asked.
    findings : DataFrame
        One row per finding of an entry, most severe first: check, severity (error: it is not ready; warning:
        look at it before the plan is submitted; info), about, message, to_do, who, names and money,
        identifiers, facts (JSON).

    Examples
    --------
    >>> import bktools, pandas, uuid
    >>> company = str(uuid.uuid4())
    >>> entries = pandas.DataFrame({"id": [str(uuid.uuid4()), str(uuid.uuid4())], "company_id": company})
    >>> plan = bktools.compose_export_jobs(entries)
    >>> plan.batches["entries"].to_list(), len(plan.not_ready)
    ([2], 0)
    >>> plan.request(plan.batches["batch_id"].iloc[0]).entry_ids == plan.entries["id"].to_list()
    True
    """

    _TABLES = ("batches", "entries", "not_ready", "totals", "findings")
    _PREFIX = "export_"

    rows: pa.Table
    held: pa.Table
    options: ExportOptions
    unchecked: tuple[str, ...]
    plan_id: str
    # Returns the findings on first use, because a plan can be submitted without them. A plan from a file or
    # another process has them already, and none of the frames they come from.
    _find: Callable[..., pa.Table] | None
    provenance: dict[str, Any] = field(default_factory=dict)
    journal: str = ""
    books: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def batches(self) -> pd.DataFrame:
        """The batches of `rows`; computed on first use."""
        return to_pandas(self._batches, self.provenance)

    @cached_property
    def _batches(self) -> pa.Table:
        rows = self.rows.select(["batch_id", "company_id"]).append_column("day", days_of(self.rows))
        # The lines of a split entry are one.
        rows = rows.append_column("entries", pc.less_equal(split_lines(self.rows), 1).cast(COUNT))
        groups = rows.group_by(["batch_id", "company_id"], use_threads=False)
        batches = groups.aggregate([("entries", "sum"), ("day", "min"), ("day", "max")])
        return batches.rename_columns(BATCHES.names).cast(BATCHES)

    @cached_property
    def entries(self) -> pd.DataFrame:
        """`rows` as a DataFrame."""
        return to_pandas(self.rows, self.provenance)

    @cached_property
    def not_ready(self) -> pd.DataFrame:
        """`held` as a DataFrame, with the reason and the next step as a message."""
        return to_pandas(not_ready_in(words(), self.held), self.provenance)

    @cached_property
    def totals(self) -> pd.DataFrame:
        """Count and exact amount of the ready entries by company, currency and category."""
        keys = [name for name in TOTALS_BY if name in self.rows.column_names]
        totals = to_arrow(summed(self.rows, *keys).sort(keys, nulls_last=True))
        return to_pandas(
            totals if "amount" in self.rows.column_names else totals.drop_columns("amount"), self.provenance
        )

    @cached_property
    def findings(self) -> pd.DataFrame:
        """What the checks found in the entries; computed on first use."""
        return to_pandas(findings_in(words(), self.finding_facts), self.provenance)

    @cached_property
    def finding_facts(self) -> pa.Table:
        """The findings as facts: check, severity, who (codes), facts (JSON); names, money and identifiers."""
        return self._checks()

    def findings_before_sending(self, entry_ids: Iterable[str]) -> pa.Table:
        """Return the findings of entries that were sent since, as they were before it.

        Raises
        ------
        PlanError
            When the plan came from a file or another process: it has no entries to check again.
        """
        return self._checks(before_sending=frozenset(entry_ids))

    def _checks(self, **options: frozenset[str]) -> pa.Table:
        if self._find is None:
            raise PlanError(Sentence("plan.without_frames"))
        return self._find(**options)

    def __getstate__(self) -> dict[str, Any]:
        """Return the plan for pickle and copy, with its findings but without the frames they come from."""
        return self.__dict__ | {"finding_facts": self.finding_facts, "_find": None}

    def request(self, batch_id: str) -> BatchRequest:
        """Check a batch and return its request (interface, section 4.2).

        Parameters
        ----------
        batch_id : str
            One of `batches`.

        Returns
        -------
        BatchRequest
            `body` is what is sent (bytes), `entry_ids` are its entries in order.

        Raises
        ------
        PlanError
            When the plan has no such batch, or the batch was changed after it was composed.

        Examples
        --------
        >>> import bktools
        >>> entries = bktools.read_entries("data/accounting_entries.csv")
        >>> plan = bktools.compose_export_jobs(entries)
        >>> type(plan.request(plan.batches["batch_id"][0]).body).__name__
        'bytes'
        """
        if batch_id not in self._rows_of_batches:
            raise PlanError(Sentence("plan.no_batch", batch=batch_id))
        rows = self._rows_of_batches[batch_id]
        ids, companies, batches = (rows.column(name).unique().to_pylist() for name in SENT)
        if batches != [batch_id] or batch_digest(companies[0], ids, self.options) != batch_id:
            raise PlanError(Sentence("plan.batch_changed", batch=batch_id))
        body = export_jobs.create_body(ids, companies[0], **asdict(self.options))
        return BatchRequest(batch_id, companies[0], ids, body, rows)

    def requests(self) -> Iterator[BatchRequest]:
        """Check each batch and yield its request, as `request` returns it, one at a time.

        Raises
        ------
        PlanError
            When a batch, an entry or an option was changed, added, repeated or removed since the plan was
            composed.
        """
        if plan_digest(list(self._rows_of_batches), self.options, self.rows) != self.plan_id:
            raise PlanError(Sentence("plan.changed"))
        for name in ("batches", "entries"):
            if not self._is_unchanged(name):
                raise PlanError(Sentence("plan.frame_changed", table=name))
        yield from map(self.request, self._rows_of_batches)

    def verify(self) -> None:
        """Check that the plan is unchanged; raise as `requests` does."""
        for _ in self.requests():
            pass

    def _is_unchanged(self, name: str) -> bool:
        """Whether a frame, if it was made, still has what is sent; a person may add columns."""
        shown = self.__dict__.get(name)
        if shown is None:
            return True
        made = self._batches.select(BATCHES.names[:3]) if name == "batches" else self.rows.select(SENT)
        is_there = set(made.column_names) <= set(shown.columns)
        return is_there and to_pandas(made).equals(shown[made.column_names].reset_index(drop=True))

    @cached_property
    def _rows_of_batches(self) -> dict[str, pa.Table]:
        """The rows of each batch; `rows` are in the order of batches."""
        rows_of, begin = {}, 0
        for batch in self.rows.column("batch_id").value_counts().to_pylist():
            rows_of[batch["values"]] = self.rows.slice(begin, batch["counts"])
            begin += batch["counts"]
        return rows_of

    @cached_property
    def _overview(self) -> Overview:
        about = (self.plan_id, self.rows, self.held, self._batches, self.finding_facts, self.unchecked)
        return Overview(*about)

    @property
    def amounts(self) -> dict[str, Decimal]:
        """The exact sum of the ready entries by currency, in alphabetical order.

        Amounts without a currency are summed as "no currency". Empty when the entries lack one of the
        columns.
        """
        return amounts_of_ready(self.rows)

    @property
    def needs_action(self) -> pd.DataFrame:
        """Reasons to hold entries back, and warnings, those with most money first: a row each.

        severity, check, entries (count), value (their amounts by currency, as text); message, to_do and who
        of the first. An entry that is not ready counts for its own reason alone. Findings of the severity
        info need no action and are left out.
        """
        return self._overview.needs_action

    def overview(self) -> str:
        """Return what the plan holds and lacks, as `print` shows it, without the next steps."""
        return readable("\n".join(self._overview.lines))

    def __repr__(self) -> str:
        steps = [INDENT + words()("command.next", step=step) for step in self._overview.next_steps]
        return readable("\n".join([*self._overview.lines, *steps]))

    def _repr_html_(self) -> str:
        return self._overview.html


def batch_digest(company_id: str, entry_ids: list[str], options: ExportOptions) -> str:
    """Return the ID of a batch: the same company, entries and options give the same ID."""
    digest = hashlib.sha256(json.dumps([company_id, *vars(options).values()]).encode())
    digest.update("\n".join(entry_ids).encode())
    return digest.hexdigest()[:20]


def plan_digest(batch_ids: list[str], options: ExportOptions, rows: pa.Table) -> str:
    """Return the ID of a plan: a digest of its batches, options and all that the journal keeps of entries."""
    digest = hashlib.sha256(json.dumps([[*vars(options).values()], batch_ids]).encode())
    texts = {name: rows.column(name).cast(TEXT) for name in ENTRY_DATA if name in rows.column_names}
    kept = pa.table({name: text for name, text in texts.items() if text.null_count < len(text)})
    if kept.num_columns:
        data = io.BytesIO()
        csv.write_csv(kept, data)
        digest.update(data.getbuffer())
    return digest.hexdigest()[:20]
