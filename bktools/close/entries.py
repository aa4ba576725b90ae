"""The table of a month's entries: each with its fate, from the plan of this run and from the journal.

What was sent, or may have been, comes from the journal with the data that was sent; everything else comes
from the file. A second run therefore gives the same table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bktools.export.checks import FATE_OF_REASON
from bktools.export.plan import ExportPlan
from bktools.findings.check import BEFORE, EXPORTED, FATES, HELD, IN_DOUBT, LEFT_OUT, READY
from bktools.frames.columns import (
    in_one_scale,
    split_lines,
    tables_in_one_scale,
    with_column,
    with_missing,
)
from bktools.frames.names import in_reading_order
from bktools.frames.schema import COUNT, ENTRY_DATA, INSTANT, MONEY, TEXT
from bktools.wording import Words

# Why an entry is ready and not sent.
PLANNED, PLANNED_ACCOUNT, REFUSED, BLOCKED = "planned", "planned_account", "refused", "blocked"
CHANGED = "changed_since_export"

# The fate of an entry that is not in the journal, by the plan's reason. An entry counts at the first of the
# reasons of its lines: it waits for a planned account if one of its lines does.
OF_REASON = FATE_OF_REASON | dict.fromkeys((REFUSED, BLOCKED, PLANNED_ACCOUNT, PLANNED), READY)
OF_OUTCOME = {"REJECTED": REFUSED, "BLOCKED": BLOCKED}
SENT = {"ACCEPTED": EXPORTED, "SENDING": IN_DOUBT, "UNKNOWN": IN_DOUBT}
# Reasons whose entries have nothing to say before the close is applied.
SILENT = (PLANNED, PLANNED_ACCOUNT)

# The columns that every table of entries has; others of the file follow.
COLUMNS = pa.schema(
    dict.fromkeys(("fate", "reason", "message", "to_do", "id"), TEXT)
    | {"split_line": COUNT, "line": COUNT}
    | ENTRY_DATA
    | {
        "cost_centre": TEXT,
        "batch_id": TEXT,
        "job_id": TEXT,
        "sent_at": INSTANT,
        "sent_by": TEXT,
        "sent_in": TEXT,
    }
    | {
        f"file_{name}": ENTRY_DATA[name]
        for name in ("date", "amount", "currency", "category_name", "supplier", "tax_code")
    }
    | {"facts": TEXT}
)


def entries_of(
    plan: ExportPlan,
    month: str,
    sent: pa.Table,
    jobs: Sequence[Mapping[str, Any]],
    words: Words,
    assumed: frozenset[str] = frozenset(),
) -> pa.Table:
    """Return a month's entries, one row for each line, with the columns `COLUMNS` and others of the file.

    They are in the order of FATES, then by date and ID. What was sent has the data that was sent; `file_…`
    columns have the data of the file where the entry was changed since. `sent_in` is the month of the close
    that sent it. `message` and `to_do` are the sentences of the reason, in a language, and `facts` are what
    they tell (JSON). Of the categories `assumed`, the account becomes known when the planned accounts are
    created.
    """
    rows = _of_file(plan, jobs, assumed)
    ids = pc.if_else(pc.equal(rows["reason"], "duplicate"), pa.scalar(None, TEXT), rows["id"])
    is_repeated = pc.is_in(sent["entry_id"], pc.drop_null(ids).combine_chunks())
    journal = _of_journal(
        sent.filter(pc.or_kleene(pc.equal(sent["period"], month), is_repeated)), rows, ids, month
    )
    others = rows.filter(
        pc.invert(pc.is_in(ids, pc.drop_null(journal["id"]).combine_chunks(), skip_nulls=True))
    )
    parts = tables_in_one_scale(*tables_in_one_scale(journal, others), column="file_amount")
    table = pa.concat_tables(parts, promote_options="permissive")
    table = _with_sentences(table, words)
    order = [
        "fate",
        *in_reading_order(name for name in table.column_names if name not in {"fate", "facts"}),
        "facts",
    ]
    table = table.append_column("fate_order", pc.index_in(table["fate"], pa.array(FATES, TEXT)))
    keys = [(name, "ascending") for name in ("fate_order", "date", "id", "split_line", "line")]
    return table.sort_by(keys).select(order)


def _of_file(plan: ExportPlan, jobs: Sequence[Mapping[str, Any]], assumed: frozenset[str]) -> pa.Table:
    """Return all entries of the file with fate, reason and facts, as far as file and run tell them."""
    rows = entries_of_plan(plan, {job["batch_id"]: job["outcome"] for job in jobs}, assumed)
    messages = {job["batch_id"]: job["message"] for job in jobs}
    facts = [
        _facts_of(reason, messages[batch])
        for reason, batch in zip(rows["reason"].to_pylist(), plan.rows["batch_id"].to_pylist(), strict=False)
    ]
    rows = _complete(_with(rows, facts=[*facts, *plan.held["facts"].to_pylist()]))
    return with_column(rows, "split_line", split_lines(rows))


def entries_of_plan(
    plan: ExportPlan, outcomes: Mapping[str, str], assumed: frozenset[str] = frozenset()
) -> pa.Table:
    """Return the entries of a plan, those that are ready first, each with its fate and reason.

    `outcomes` are those of the batches that were submitted; `assumed` are as for `entries_of`.
    """
    ready = plan.rows
    states = [outcomes.get(batch, "") for batch in ready["batch_id"].to_pylist()]
    reasons = [
        OF_OUTCOME.get(state, PLANNED_ACCOUNT if category in assumed else PLANNED)
        for state, category in zip(states, ready["category_id"].to_pylist(), strict=True)
    ]
    reasons += plan.held["reason"].to_pylist()
    fates = [SENT.get(state, READY) for state in states]
    fates += [OF_REASON.get(reason, HELD) for reason in reasons[len(ready) :]]
    rows = pa.concat_tables(tables_in_one_scale(ready, plan.held), promote_options="permissive")
    return _with(rows, reason=reasons, fate=fates)


def _facts_of(reason: str, message: str) -> str | None:
    """Return what is known of an entry that was not sent; nothing before the close is applied."""
    if reason in SILENT:
        return None
    # The action of the export job has its way out.
    return json.dumps({"answer": message or None} if reason == REFUSED else {})


def _with_sentences(table: pa.Table, words: Words) -> pa.Table:
    """Return entries with message and step of their reason; without facts there is nothing to tell."""
    pairs = list(zip(table["reason"].to_pylist(), table["facts"].to_pylist(), strict=True))
    facts_of_reason = {(reason, facts): json.loads(facts) for reason, facts in {*pairs} if facts is not None}
    for column, form in (("message", "one"), ("to_do", "do")):
        texts = {pair: words(f"entry.{pair[0]}.{form}", **facts) for pair, facts in facts_of_reason.items()}
        table = _with(table, **{column: [texts.get(pair, "") for pair in pairs]})
    return table


def _of_journal(sent: pa.Table, rows: pa.Table, ids: pa.ChunkedArray, month: str) -> pa.Table:
    """Return sent entries with the data that was sent; the file has what the journal does not have.

    `ids` are those of the file's rows, null for a row that is not looked up.
    """
    places = pc.index_in(
        _line_keys(sent["entry_id"], sent), _line_keys(ids, rows).combine_chunks(), skip_nulls=True
    )
    file = rows.take(places)
    is_accepted = pc.equal(sent["state"], "ACCEPTED")
    of_month = pc.fill_null(pc.equal(sent["period"], month), False)
    is_later = pc.fill_null(pc.greater(sent["period"], month), False)
    fates = pc.if_else(of_month, EXPORTED, pc.if_else(is_later, LEFT_OUT, BEFORE))
    is_other = pc.fill_null(pc.equal(file["reason"], CHANGED), False)
    reasons = pc.if_else(is_later, "later_period", pc.if_else(is_other, CHANGED, ""))
    is_changed = pc.and_(is_accepted, pc.equal(reasons, CHANGED))
    columns = {name: file[name] for name in file.column_names} | {
        "fate": pc.if_else(is_accepted, fates, IN_DOUBT),
        "reason": pc.if_else(is_accepted, reasons, "in_doubt"),
        "facts": pc.if_else(is_accepted, pc.if_else(is_changed, file["facts"], pa.scalar(None, TEXT)), "{}"),
        "id": sent["entry_id"],
        "split_line": sent["split_line"],
        "sent_in": sent["period"],
        **{name: sent[name] for name in ("batch_id", "job_id", "sent_at", "sent_by")},
    }
    for name, kind in ENTRY_DATA.items():
        before, after = sent[name], file[name]
        if kind == MONEY:
            before, after = in_one_scale(before, after)
        columns[name] = pc.coalesce(before, after)
        if f"file_{name}" in COLUMNS.names:
            differs = pc.and_(is_changed, pc.fill_null(pc.not_equal(before, after), True))
            columns[f"file_{name}"] = pc.if_else(differs, after, pa.scalar(None, after.type))
    return pa.table(columns)


def _line_keys(ids: pa.ChunkedArray, rows: pa.Table) -> pa.ChunkedArray:
    """Return a text for each line of an entry, null without an ID."""
    return pc.binary_join_element_wise(ids, pc.cast(split_lines(rows), TEXT), pa.scalar("/", TEXT))


def _with(table: pa.Table, **columns: Any) -> pa.Table:
    for name, values in columns.items():
        table = with_column(table, name, pa.array(values, COLUMNS.field(name).type))
    return table


def _complete(rows: pa.Table) -> pa.Table:
    """Return rows with all typed columns of COLUMNS; missing ones are null. Other columns stay."""
    rows = with_missing(rows, COLUMNS)
    columns = {field.name: rows[field.name] for field in COLUMNS}
    columns |= {field.name: pc.cast(rows[field.name], field.type) for field in COLUMNS if field.type != MONEY}
    return pa.table(columns | {name: rows[name] for name in rows.column_names if name not in columns})
