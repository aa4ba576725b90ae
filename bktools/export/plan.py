"""`ExportPlan`: batches of entries to export. `submit_export_jobs` sends it."""

from __future__ import annotations

import hashlib
import json
import operator
from collections.abc import Callable, Iterator
from dataclasses import asdict, astuple, dataclass, field
from decimal import Decimal
from functools import cached_property
from itertools import accumulate
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools import views
from bktools.consoles import readable
from bktools.contract import export_jobs
from bktools.errors import PlanError
from bktools.frames.batches import BatchRequest
from bktools.frames.codes import counted, of_several, short
from bktools.frames.columns import with_column
from bktools.frames.currencies import shown
from bktools.frames.names import FIRST, in_reading_order
from bktools.frames.results import Result
from bktools.frames.schema import COUNT, DATE, TEXT, split_lines, to_pandas
from bktools.frames.sums import Sum, money_of, number_of_entries, summed, sums_of

BATCHES = pa.schema({"batch_id": TEXT, "company_id": TEXT, "entries": COUNT, "first_date": DATE, "last_date": DATE})

# The columns of a summary of the findings.
SUMMARY = ("severity", "check", "entries", "value", "message", "to_do", "who")
# The first columns of entries that are not ready: a narrow page shows them without scrolling.
HELD_FIRST = ("date", "supplier", "amount", "currency", "reason")

TOTALS_BY = ("company_id", "currency", "category_id")

# Why an entry is not ready that was sent before, or may have been.
SENT_BEFORE = ("exported", "changed_since_export", "in_doubt")

# The columns from which requests are made.
SENT = ("id", "company_id", "batch_id")


@dataclass(frozen=True)
class ExportOptions:
    """The interface's options of an export job, the same for every batch of a plan; their order is part of its ID."""

    employee_id: str | None = None
    is_interactive: bool = True
    vendor_based_bookkeeping: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class ExportPlan(Result):
    """Ready entries in batches, and entries that are not ready, with the reason.

    Attributes
    ----------
    batches : DataFrame
        One row per batch, in the order of sending: batch_id, company_id, entries (count), first_date, last_date.
    rows : pyarrow.Table
        One row per ready entry, or per line of a split one, with its batch_id, in the order of sending.
    held : pyarrow.Table
        One row per entry that is not ready, with reason and message; with a history also exported_amount and
        exported_currency: what the journal has for an entry that was sent before, or may have been.
    options : ExportOptions
        Options of the jobs.
    unchecked : tuple of str
        The checks that were skipped because a frame was not given.
    plan_id : str
        Digest of batches and options; the same entries give the same ID.
    provenance : dict
        Source of the entries.
    journal : str
        Identity of the journal whose history it was composed with, the only one that accepts it. "" without a history.
    findings : DataFrame
        One row per finding of an entry, most severe first: check, severity (error: it is not ready; warning: look at it
        before the plan is submitted; info), about, message, to_do, who, names and money, identifiers.

    Examples
    --------
    >>> import bktools, pandas, uuid
    >>> company = str(uuid.uuid4())
    >>> entries = pandas.DataFrame({"id": [str(uuid.uuid4()), str(uuid.uuid4())], "company_id": company})
    >>> plan = bktools.compose_export_jobs(entries)
    >>> plan.batches["entries"].to_list(), len(plan.not_ready)
    ([2], 0)
    >>> plan.entry_ids(plan.batches["batch_id"].iloc[0]) == plan.entries["id"].to_list()
    True
    """

    _TABLES = ("batches", "entries", "not_ready", "totals", "findings")
    _PREFIX = "export_"

    batches: pd.DataFrame
    rows: pa.Table
    held: pa.Table
    options: ExportOptions
    unchecked: tuple[str, ...]
    plan_id: str
    # Returns the findings on first use, because a plan can be submitted without them.
    _find: Callable[[], pa.Table]
    provenance: dict[str, Any] = field(default_factory=dict)
    journal: str = ""

    @cached_property
    def entries(self) -> pd.DataFrame:
        """`rows` as a DataFrame."""
        return to_pandas(self.rows, self.provenance)

    @cached_property
    def not_ready(self) -> pd.DataFrame:
        """`held` as a DataFrame."""
        return to_pandas(self.held, self.provenance)

    @cached_property
    def totals(self) -> pd.DataFrame:
        """Count and exact amount of the ready entries by company, currency and category."""
        keys = [name for name in TOTALS_BY if name in self.rows.column_names]
        totals = summed(self.rows, *keys).sort_by([(name, "ascending") for name in keys])
        return to_pandas(
            totals if "amount" in self.rows.column_names else totals.drop_columns("amount"), self.provenance
        )

    @cached_property
    def findings(self) -> pd.DataFrame:
        """What the checks found in the entries; computed on first use."""
        return to_pandas(self.findings_table, self.provenance)

    @cached_property
    def findings_table(self) -> pa.Table:
        """`findings` as an Arrow table."""
        return self._find()

    def __getstate__(self) -> dict[str, Any]:
        """Return the plan for pickle and copy with its findings, computed now, without the frames they come from."""
        return self.__dict__ | {"findings_table": self.findings_table, "_find": None}

    def body(self, batch_id: str) -> bytes:
        """Return the request body of a batch.

        Raises
        ------
        PlanError
            When the plan has no such batch, or the batch was changed after it was composed.
        """
        return self.request(batch_id).body

    def entry_ids(self, batch_id: str) -> list[str]:
        """Return the entries of a batch, in the order of sending."""
        return self.request(batch_id).entry_ids

    def request(self, batch_id: str) -> BatchRequest:
        """Check a batch and return its request.

        Raises
        ------
        PlanError
            When the plan has no such batch, or the batch was changed after it was composed.
        """
        if batch_id not in self._rows_of_batches:
            raise PlanError(f"the plan has no batch {batch_id}")
        company_id, begin, lines, entries = self._rows_of_batches[batch_id]
        rows = self.rows.slice(begin, lines)
        ids = rows.column("id").unique().to_pylist()
        is_whole = _all_are(rows.column("batch_id"), batch_id) and _all_are(rows.column("company_id"), company_id)
        if not is_whole or len(ids) != entries or batch_digest(company_id, ids, self.options) != batch_id:
            raise PlanError(f"the entries of batch {batch_id} were changed since the plan was made: compose it again")
        body = export_jobs.create_body(ids, company_id, **asdict(self.options))
        return BatchRequest(batch_id, company_id, ids, body, rows)

    def requests(self) -> Iterator[BatchRequest]:
        """Check each batch and yield its request, one at a time.

        Raises
        ------
        PlanError
            When a batch, an entry or an option was changed, added, repeated or removed after the plan was composed.
        """
        # The frame may have been changed after `_rows_of_batches` was computed.
        self.__dict__.pop("_rows_of_batches", None)
        try:
            listed = list(self._rows_of_batches)
            lines = sum(lines for _, _, lines, _ in self._rows_of_batches.values())
            planned = sum(entries for _, _, _, entries in self._rows_of_batches.values())
        except (KeyError, TypeError):
            raise PlanError("the frame of the plan's batches was changed since it was made: compose it again") from None
        if len(listed) != len(self.batches) or plan_digest(listed, self.options) != self.plan_id:
            raise PlanError("the batches of the plan were changed since it was made: compose it again")
        # An entry of one line has the number 0, a split one begins with 1.
        begins = pc.sum(pc.less_equal(split_lines(self.rows), 1)).as_py() or 0
        if lines != len(self.rows) or planned != begins:
            raise PlanError("the entries of the plan do not add up to its batches: compose it again")
        if pc.count_distinct(self.rows.column("id")).as_py() != planned:
            raise PlanError("the plan has an entry twice: compose it again")
        if not self._entries_are_unchanged():
            raise PlanError("the frame of the plan's entries was changed since it was made: compose it again")
        for batch_id in listed:
            yield self.request(batch_id)

    def verify(self) -> None:
        """Check that the plan is unchanged; raise as `requests` does."""
        for _ in self.requests():
            pass

    def _entries_are_unchanged(self) -> bool:
        """Whether the frame `entries`, if it was made, still agrees with `rows`."""
        shown = self.__dict__.get("entries")
        if shown is None:
            return True
        if not set(SENT) <= set(shown.columns):
            return False
        held = to_pandas(self.rows.select(SENT))
        return held.equals(shown[list(SENT)].reset_index(drop=True))

    @cached_property
    def _rows_of_batches(self) -> dict[str, tuple[str, int, int, int]]:
        """Company, first row, rows and entries of each batch; rows are in the order of batches."""
        lines_of = {one["values"]: one["counts"] for one in self.rows.column("batch_id").value_counts().to_pylist()}
        entries = [operator.index(count) for count in self.batches["entries"]]
        lines = [lines_of.get(batch_id, 0) for batch_id in self.batches["batch_id"]]
        begins = accumulate(lines, initial=0)
        named = zip(self.batches["batch_id"], self.batches["company_id"], begins, lines, entries, strict=False)
        return {batch_id: (company_id, *counts) for batch_id, company_id, *counts in named}

    @property
    def amounts(self) -> dict[str, Decimal]:
        """The exact sum of the ready entries by currency, in alphabetical order.

        Amounts without a currency are summed as "no currency". Empty when the entries lack one of the two columns.
        """
        if not {"currency", "amount"} <= set(self.rows.column_names):
            return {}
        return dict(sorted(Sum({}, money_of(self.rows)).amounts.items()))

    def __repr__(self) -> str:
        lines = [f"ExportPlan {self.plan_id}: {self._headline()}"]
        lines += [f"  ready: {currency} {shown(amount, currency)}" for currency, amount in self.amounts.items()]
        rows: list[Any] = list(self.needs_action.itertuples())
        lines += [
            f"  {row.severity:<8}{row.entries:>7,} {row.check}: {': '.join(filter(None, [row.value, row.message, row.to_do]))}"
            for row in rows
        ]
        lines += [f"  not checked: {phrase}" for phrase in self.unchecked]
        lines += [f"  next: {step}" for step in self._next_steps()]
        return readable("\n".join(lines))

    def _repr_html_(self) -> str:
        needs_action = self.needs_action
        rows: list[Any] = list(needs_action.itertuples())
        reasons = pd.DataFrame(
            {
                "reason": [f"{views.MARKS[row.severity]} {short(row.check)}" for row in rows],
                # A currency stays beside its amount.
                "value": [row.value.replace(" ", "\u00a0").replace(",\u00a0", ", ") for row in rows],
                "entries": needs_action["entries"],
                "message": [f"{row.message}: {row.to_do}" for row in rows],
                "who": needs_action["who"],
            }
        )
        held = self.not_ready.head(views.SHOWN_ROWS)
        held = held[[name for name in dict.fromkeys((*HELD_FIRST, *FIRST)) if name in held.columns]]
        if "amount" in held.columns:
            currencies = held.get("currency", pd.Series(None, held.index))
            held = held.assign(amount=[*map(shown, held["amount"], currencies)])
        batches = self.batches[in_reading_order(self.batches.columns)]
        ready = [(currency, shown(amount, currency)) for currency, amount in self.amounts.items()]
        return "".join(
            [
                views.heading(f"Export plan: {self._headline()}"),
                views.table(["currency", "ready"], ready, total=len(ready), looks=["", views.TO_THE_RIGHT]),
                _html(reasons, ".findings"),
                _html(held, ".not_ready", len(self.held)),
                _html(batches, ".batches"),
                views.table([""], [[f"not checked: {phrase}"] for phrase in self.unchecked], total=len(self.unchecked)),
                views.next_steps(self._next_steps()),
            ]
        )

    @property
    def needs_action(self) -> pd.DataFrame:
        """Reasons to hold entries back, and warnings, those with most money first: a row each.

        severity, check, entries (count), value (their amounts by currency, as text); message, to_do and who of the first.
        An entry that is not ready counts for its own reason alone. Findings of the severity info need no action and are left
        out.
        """
        return self._summary[self._summary["severity"] != "info"].reset_index(drop=True)

    @cached_property
    def _summary(self) -> pd.DataFrame:
        held, found = as_exported(self.held), self.findings_table
        # The currency with most entries: amounts of two currencies cannot be compared.
        main = next(iter(money_of(held)), None)
        # A column of the file may have one of these names.
        errors = with_column(held, "check", held["reason"])
        errors = with_column(errors, "severity", pa.repeat("error", len(held)))
        others = found.filter(pc.not_equal(found["severity"], "error"))
        sums = [part for rows in (errors, others) for part in sums_of(rows, "severity", "check", own=main)]
        sums.sort(key=lambda part: list(views.MARKS).index(part["severity"]))
        said = {}
        for key, rows in self.findings.groupby(["severity", "check"], sort=False):
            first = dict(rows[["message", "to_do", "who"]].iloc[0])
            # Other entries may have other facts; the same one is told of all of them.
            if len(rows) > 1 and len({*rows["message"]}) == 1:
                first["to_do"], first["message"] = of_several(first["to_do"], first["message"])
            said[key] = first
        summary = [
            {
                **part.keys,
                "entries": part.entries,
                "value": ", ".join(part.texts[1:]),
                **said[tuple(part.keys.values())],
            }
            for part in sums
        ]
        return pd.DataFrame(summary, columns=list(SUMMARY))

    def _headline(self) -> str:
        count = number_of_entries(self.rows)
        ready = f"{counted(count, 'entry', 'entries')} ready"
        batches = counted(len(self.batches), "batch", "batches")
        counts = self._summary.groupby("severity")["entries"].sum()
        others = [counted(counts[name], name) for name in ("warning", "info") if name in counts]
        return ", ".join([f"{ready} in {batches}", f"{number_of_entries(self.held):,} not ready", *others])

    def _next_steps(self) -> list[str]:
        if len(self.batches):
            return ["submit_export_jobs(plan) is a dry run; with apply=True it sends each batch once"]
        return (
            ["nothing to submit: correct the entries that are not ready, then compose the plan again"]
            if len(self.held)
            else []
        )


def _html(frame: pd.DataFrame, where: str, count: int | None = None) -> str:
    """Return the first rows of a frame as HTML, of `count` rows; dates are days, and missing values are empty."""
    rows = frame.head(views.SHOWN_ROWS).astype("object").itertuples(index=False)
    cells = [["" if pd.isna(value) else value for value in row] for row in rows]
    cells = [[value.date() if isinstance(value, pd.Timestamp) else value for value in row] for row in cells]
    looks = [{"amount": views.TO_THE_RIGHT, "reason": views.ON_ONE_LINE}.get(name, "") for name in frame.columns]
    total = len(frame) if count is None else count
    return views.table(list(frame.columns), cells, total=total, where=where, looks=looks)


def _all_are(column: pa.ChunkedArray, text: str) -> bool:
    return bool(pc.unique(column).to_pylist() == [text])


def batch_digest(company_id: str, entry_ids: list[str], options: ExportOptions) -> str:
    """Return the ID of a batch: the same company, entries and options give the same ID."""
    digest = hashlib.sha256(json.dumps([company_id, *astuple(options)]).encode())
    digest.update("\n".join(entry_ids).encode())
    return digest.hexdigest()[:20]


def plan_digest(batch_ids: list[str], options: ExportOptions) -> str:
    """Return the ID of a plan."""
    return hashlib.sha256(json.dumps([astuple(options), batch_ids]).encode()).hexdigest()[:20]


def as_exported(not_ready: pa.Table) -> pa.Table:
    """Return entries that are not ready; those that were sent before have the amount and currency of the journal."""
    if "exported_amount" not in not_ready.column_names or "amount" not in not_ready.column_names:
        return not_ready
    was_sent = pc.is_in(not_ready.column("reason"), pa.array(SENT_BEFORE, TEXT))
    for name in ("amount", "currency"):
        if name in not_ready.column_names:
            column = pc.if_else(was_sent, not_ready.column(f"exported_{name}"), not_ready.column(name))
            not_ready = with_column(not_ready, name, column)
    return not_ready
