"""The table of a month's entries: each with its fate, from the plan of this run and from the journal.

What was sent, or may have been, comes from the journal with the data that was sent; everything else comes
from the file. A second run therefore gives the same table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from bktools.export.checks import FATE_OF_REASON
from bktools.export.plan import ExportPlan
from bktools.findings.check import BEFORE, EXPORTED, FATES, HELD, IN_BOOKS, IN_DOUBT, LEFT_OUT, READY
from bktools.findings.sentences import with_sentences
from bktools.frames.names import in_reading_order
from bktools.frames.schema import COUNT, ENTRY_DATA, INSTANT, TEXT
from bktools.frames.sums import with_one_reason
from bktools.frames.tables import to_arrow
from bktools.wording import Words

# Why an entry is ready and not sent.
NOT_SENT, REFUSED, BLOCKED = "planned", "refused", "blocked"
CHANGED = "changed_since_export"

# The fate of an entry that is not in the journal, by the plan's reason. An entry counts at the first of the
# reasons of its lines.
OF_REASON = FATE_OF_REASON | dict.fromkeys((REFUSED, BLOCKED, NOT_SENT), READY)
OF_OUTCOME = {"REJECTED": REFUSED, "BLOCKED": BLOCKED}
SENT = {"ACCEPTED": EXPORTED, "SENDING": IN_DOUBT, "UNKNOWN": IN_DOUBT}
# A column of the file beside the journal's column of the same name.
OF_FILE = " of the file"
# `replace_strict` refuses an empty mapping.
NO_VALUES = {"": ""}

c = pl.col


def unsent(entries: pa.Table) -> pa.Table:
    """Return the entries that a close records without sending them: held back, or in the books already."""
    return entries.filter(pc.is_in(entries["fate"], pa.array([HELD, IN_BOOKS], TEXT)))


# The columns that every table of entries has; others of the file follow.
ENTRY_COLUMNS = pa.schema(
    dict.fromkeys(("fate", "reason", "message", "to_do", "id"), TEXT)
    | {"split_line": COUNT, "line": COUNT}
    | ENTRY_DATA
    | {
        "batch_id": TEXT,
        "job_id": TEXT,
        "sent_at": INSTANT,
        "sent_by": TEXT,
        "sent_in": TEXT,
    }
    | {
        f"file_{name}": ENTRY_DATA[name]
        for name in ("date", "amount", "currency", "category_name", "supplier", "cost_centre", "tax_code")
    }
    | {"facts": TEXT}
)


def entries_of(
    plan: ExportPlan,
    month: str,
    sent: pa.Table,
    jobs: Sequence[Mapping[str, Any]],
    words: Words,
) -> pa.Table:
    """Return a month's entries, one row a line, with `ENTRY_COLUMNS` and others of the file.

    They are in the order of FATES, then by date and ID. What was sent has the data that was sent; `file_…`
    columns have the data of the file where the entry was changed since. `sent_in` is the month of the close
    that sent it. The lines of a split entry have one reason for each fate, so that it counts once; `message`
    and `to_do` are the sentences of each line's own, in a language, and `facts` are what they tell (JSON).
    """
    rows = _of_file(plan, jobs)
    # A repeated line is not looked up in the journal.
    is_again = c.reason.is_in(["duplicate", "conflicting_line"])
    looked_up = rows.with_columns(id=pl.when(~is_again).then("id"))
    of_company = pl.DataFrame(sent)
    is_repeated = c.entry_id.is_in(looked_up["id"].drop_nulls().implode())
    journal = _of_journal(of_company.filter((c.period == month) | is_repeated), looked_up, month)
    others = rows.filter(~looked_up["id"].is_in(journal["id"].implode()).fill_null(value=False))
    table = _with_sentences(pl.concat([journal, others], how="diagonal_relaxed"), words)
    table = table.sort(c.fate.cast(pl.Enum(FATES)), "date", "id", "split_line", "line", nulls_last=True)
    between = in_reading_order(name for name in table.columns if name not in {"fate", "facts"})
    return with_one_reason(to_arrow(table.select("fate", *between, "facts")), OF_REASON)


def _of_file(plan: ExportPlan, jobs: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return all entries of the file with fate, reason and facts, as far as file and run tell them."""
    rows = entries_of_plan(plan, {job["batch_id"]: job["outcome"] for job in jobs})
    complete = pl.concat([pl.Schema(ENTRY_COLUMNS).to_frame(), rows], how="diagonal_relaxed")
    # The action of the export job has its way out.
    answers = {job["batch_id"]: json.dumps({"answer": job["message"] or None}) for job in jobs}
    answer = c.batch_id.replace_strict(answers or NO_VALUES, default=None)
    facts = pl.when(c.reason == REFUSED).then(answer).when(c.reason == BLOCKED).then(pl.lit("{}"))
    return complete.with_columns(c.split_line.fill_null(0), facts=facts.otherwise("facts"))


def entries_of_plan(plan: ExportPlan, outcomes: Mapping[str, str]) -> pl.DataFrame:
    """Return the entries of a plan, those that are ready first, each with its fate and reason.

    `outcomes` are those of the batches that were submitted.
    """
    outcome = c.batch_id.replace_strict(outcomes or NO_VALUES, default="")
    ready = pl.DataFrame(plan.rows).with_columns(
        fate=outcome.replace_strict(SENT, default=READY),
        reason=outcome.replace_strict(OF_OUTCOME, default=None).fill_null(NOT_SENT),
    )
    held = pl.DataFrame(plan.held).with_columns(fate=c.reason.replace_strict(OF_REASON, default=HELD))
    return pl.concat([ready, held], how="diagonal_relaxed")


def _with_sentences(table: pl.DataFrame, words: Words) -> pl.DataFrame:
    """Return entries with message and step of their reason; without facts there is nothing to tell."""
    reasons = table.select("reason", "facts").unique().drop_nulls()
    reasons = with_sentences(reasons, words, "entry", code="reason", message="one", to_do="do")
    named = table.drop("message", "to_do").join(reasons, on=["reason", "facts"], how="left")
    return named.with_columns(c("message", "to_do").fill_null(""))


def _of_journal(sent: pl.DataFrame, rows: pl.DataFrame, month: str) -> pl.DataFrame:
    """Return sent entries with the data that was sent; the file has what the journal does not have."""
    facts = ("batch_id", "job_id", "sent_at", "sent_by", *ENTRY_DATA)
    sent = sent.select("state", "split_line", *facts, id="entry_id", sent_in="period")
    file = rows.unique(["id", "split_line"], keep="first").drop("sent_in")
    both = sent.join(file, on=["id", "split_line"], how="left", suffix=OF_FILE)
    is_sent, is_later = c.state == "ACCEPTED", (c.sent_in > month).fill_null(value=False)
    is_changed = is_sent & ~is_later & (c.reason == CHANGED)
    compared = [name for name in ENTRY_DATA if f"file_{name}" in ENTRY_COLUMNS.names]
    # What became of it, and the reason; only what differs from the file, or is in doubt, has a sentence.
    fates = pl.when(~is_sent).then(pl.lit(IN_DOUBT)).when(c.sent_in == month).then(pl.lit(EXPORTED))
    reasons = pl.when(~is_sent).then(pl.lit("in_doubt")).when(is_later).then(pl.lit("later_period"))
    return both.with_columns(
        *(pl.coalesce(name, f"{name}{OF_FILE}") for name in ENTRY_DATA),
        *(
            pl.when(is_changed, c(name).ne_missing(c(f"{name}{OF_FILE}")))
            .then(f"{name}{OF_FILE}")
            .alias(f"file_{name}")
            for name in compared
        ),
        fate=fates.when(is_later).then(pl.lit(LEFT_OUT)).otherwise(pl.lit(BEFORE)),
        reason=reasons.when(is_changed).then(pl.lit(CHANGED)).otherwise(pl.lit("")),
        facts=pl.when(~is_sent).then(pl.lit("{}")).when(is_changed).then("facts"),
    ).drop("state", *(f"{name}{OF_FILE}" for name in facts))
