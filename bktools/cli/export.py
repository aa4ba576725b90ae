"""`bktools export`: compose a plan, submit it once, show its state, resolve unknown outcomes."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import bktools
from bktools.caller import in_shell
from bktools.cli import options, reading, results
from bktools.cli.exits import Exit
from bktools.cli.options import REQUIRED, argument, option, same
from bktools.cli.output import tell
from bktools.contract import rules
from bktools.errors import ArgumentError, InputError, PlanError
from bktools.progress import note
from bktools.wording import Sentence, words

if TYPE_CHECKING:
    import pandas as pd


# Columns that `status` prints.
SHOWN_COLUMNS = {
    "batches": ["sent_at", "state", "entries", "message", "batch_id"],
    "entries": ["date", "supplier", "amount", "currency", "state", "entry_id", "batch_id"],
    "events": ["at", "after", "message", "done_by", "batch_id"],
}

app = typer.Typer(help="Export jobs: compose, submit once, show and resolve them.", no_args_is_help=True)


@app.command("compose")
def compose(
    books: options.Company,
    text: results.Text,
    entries: list[Path] | None = reading.ENTRIES_FILES,
    ledger: list[Path] | None = reading.ASKED_LEDGER,
    exported_at: dt.datetime | None = options.EXPORTED_AT,
    mapping: list[str] | None = reading.MAPPING,
    selection: Path | None = option("--select FILE", "IDs of the entries to export; by default all."),
    max_entries: int = options.MAX_ENTRIES,
    month: str | None = options.month("The month, such as 2026-10: later entries wait."),
    plan_file: Path | None = option("--out FILE", "File of the plan; by default export-PLAN_ID.plan."),
    csv: Path | None = option("--csv FOLDER", "Also write the plan as CSV to this folder; see --profile."),
    profile: str = options.PROFILE,
) -> None:
    """Check entries and write the plan of their export. Nothing is sent.

    Example: bktools export compose entries.csv --out october.plan
    """
    from bktools.export.checks import CLEARED
    from bktools.export.plan_file import write_plan
    from bktools.journal.export_jobs import earlier_exports
    from bktools.journal.folders import clearing, command_for
    from bktools.journal.records import this_process
    from bktools.journal.right_journal import first_export_question
    from bktools.journal.writing import open_up_to_date

    with books.connected() as service:
        settings = service.settings
        # Cached tables, too, when the service cannot be reached.
        tables: Any = reading.tables_of(service, settings.company, max_age=0) if settings.company else {}
        files = entries or [reading.samples(service, "FILE")[1]]
        rows = reading.read_entries(files, mapping, settings.company, tables, required=("category_id",))
        text.say(reading.recognised(rows.attrs["bktools"]))
        companies = rows["company_id"].dropna().unique().tolist()
        with open_up_to_date(settings) as journal:
            before = earlier_exports(journal, settings.company)
            asked = [first_export_question(journal, company) for company in companies]
        questions = [str(question) for question in asked if question]
        for question in questions:
            text.say(f"{question}\n")
        plan = bktools.compose_export_jobs(
            rows,
            **(tables or reading.tables_of(service, companies, max_age=0)),
            **before,
            ledger=reading.read_ledger(ledger, mapping, exported_at),
            company=settings.company,
            currency=settings.currency,
            selection=selection,
            max_entries=max_entries,
            month=month,
        )
        text.say(plan.overview())
        held = plan.not_ready[plan.not_ready["reason"].isin(CLEARED)]
        for company, ids in held.groupby("company_id")["id"].unique().items():
            command = command_for(settings.environment, clearing(ids), str(company))
            text.say(words()("command.not_booked", command=command))
        file = plan_file or Path(f"export-{plan.plan_id}.plan")
        write_plan(plan, file, made_for=settings.identity, made_by=this_process())
    if csv is not None:
        plan.to_csv(csv, profile)
    next_step = f"bktools export submit {in_shell(str(file))}{same(settings, company=False)}"
    if plan.batches.empty:
        next_step = words()("command.correct_first")
    written = words()("command.plan_written", file=file, way=next_step)
    text.report(f"\n{written}", **_facts_of(plan), file=file, questions=questions)


@app.command("submit")
def submit(
    books: options.Environment,
    text: results.Text,
    file: Path = argument("FILE", "The plan that compose wrote.", REQUIRED),
    apply: bool = options.APPLY,
    plan_id: str | None = option("--plan ID", "Refuse the file unless it holds this plan."),
    wait: float = options.WAIT,
    first_export: bool = options.FIRST_EXPORT,
    by: str | None = option("--by NAME", "With --first-export: your name; kept permanently."),
) -> Exit:
    """Submit a plan, each batch once; without --apply, a dry run.

    Safe to re-run: resumes where it stopped.

    Example: bktools export submit october.plan --apply
    """
    from bktools.export.plan_file import read_plan

    if first_export and by is None:
        raise ArgumentError("first_export", Sentence("rule.first_export_without_name"))
    read = read_plan(file)
    if plan_id is not None and plan_id != read.plan.plan_id:
        raise PlanError(Sentence("done.other_plan", file=str(file), plan=read.plan.plan_id, asked=plan_id))
    with books.connected() as service:
        if read.made_for != service.settings.identity:
            facts = {"made_for": read.made_for, "identity": service.settings.identity}
            raise PlanError(Sentence("done.other_service", file=str(file), **facts))
        for question in _unknown_outcomes(read.plan, service):
            text.say(f"{question}\n")
        text.say(words()("command.composed", by=read.made_by, at=read.made_at))
        text.say(read.plan.overview())
        sent = bktools.submit_export_jobs(
            read.plan, apply=apply, wait=wait, first_export=first_export, by=by, service=service
        )
        questions = _unknown_outcomes(read.plan, service)
    text.say(f"\n{sent}")
    text.report(**_facts_of(read.plan), applied=apply, outcomes=sent, outcome_unknown=questions)
    if read.plan.batches.empty:
        text.say(words()("done.none_ready"))
    elif not apply:
        text.say(words()("done.nothing_sent"))
    is_incomplete = questions or (apply and (sent["outcome"] != "ACCEPTED").any())
    return Exit.INCOMPLETE if is_incomplete else Exit.DONE


@app.command("status")
def status(
    books: options.Company,
    table: results.Table,
    entries: bool = option("--entries", "One row per accounting entry.", False),
    events: bool = option("--events", "One row per event, with earlier settlements, by whom and why.", False),
    batch: str | None = option("--batch ID", "Only this batch."),
) -> Exit:
    """Show what was sent, and how to resolve open batches.

    Example: bktools export status --entries --batch 3b033ca1ea4749b395bf
    """
    from bktools.journal.export_jobs import open_questions

    with books.connected() as service:
        jobs = bktools.load_export_jobs(
            books.company, entries=entries, events=events, batch=batch, service=service
        )
        # An open question tells the user to list the entries, so it is not repeated in that list.
        questions = [] if entries else open_questions(books.company, batch=batch, service=service)
    rows = "entries" if entries else "events" if events else "batches"
    code = "after" if events else "state"
    table.hand_over(jobs, columns=SHOWN_COLUMNS[rows], most=1_000, names={code: "outcome"})
    if jobs.empty:
        note(words()("command.no_jobs"))
    for question in questions:
        # On standard error, apart from the rows that a program reads.
        tell(f"\n{question}")
    return Exit.INCOMPLETE if questions else Exit.DONE


@app.command("resolve")
def resolve(
    books: options.Company,
    text: results.Text,
    statement: options.Statement,
    batch: str = argument("BATCH", "ID of the batch.", REQUIRED),
    outcome: str = option("--outcome accepted|released", "Whether it was booked, or was not.", REQUIRED),
    job: str | None = option("--job UUID", "UUID of the job, if it was found."),
) -> None:
    """Resolve an export job whose outcome is unknown.

    Look it up in the accounting system first. It can be released from the day after its request on: before,
    the request may still be under way.

    Example: bktools export resolve 3b033ca1ea4749b395bf --outcome released --evidence "not in ERP" --by Ada
    """
    with books.connected() as service:
        bktools.resolve_export_job(batch, outcome, **vars(statement), job_id=job, service=service)
        again = f"bktools export submit PLAN --apply{same(service.settings, company=False)}"
    texts = words()
    done = texts("done.resolved", batch=batch, outcome=outcome, by=statement.by)
    after = texts(f"done.after_{outcome}", command=again)
    text.report(done, after, batch_id=batch, outcome=outcome, by=statement.by)


@app.command("tick-off")
def tick_off(
    books: options.Company,
    text: results.Text,
    statement: options.Statement,
    event: int = argument("EVENT", "The number that status prints.", REQUIRED),
) -> None:
    """Record that you looked at a possible double booking.

    It is not shown any more.

    Example: bktools export tick-off 42 --by Ada --evidence "second booking reversed in the ERP"
    """
    from bktools.journal.resolving import tick_off as tick
    from bktools.journal.writing import open_for_writing

    with books.connected() as service, open_for_writing(service.settings) as journal:
        tick(journal, event, **vars(statement))
    done = words()("done.ticked_off", event=event, by=statement.by)
    text.report(done, event=event, by=statement.by)


@app.command("import")
def import_elsewhere(
    books: options.Company,
    text: results.Text,
    statement: options.Statement,
    entries: list[Path] = argument("FILE", "The entries.", REQUIRED),
    mapping: list[str] | None = reading.MAPPING,
) -> None:
    """Record entries that were exported elsewhere.

    They are not sent from here, until that is undone. Of a list that export status wrote, what was refused
    or released is left out.

    Example: bktools export import exported.csv --by Ada --evidence "list of exports in the service, 31 Oct"
    """
    import polars as pl

    from bktools.frames.schema import ENTRY_DATA
    from bktools.frames.tables import in_memory, texts_of
    from bktools.journal.statements import record_exported_elsewhere
    from bktools.journal.writing import open_for_writing

    with books.connected() as service:
        company_id = rules.company_of(service.settings)
        rows = _exported(reading.read_entries(entries, mapping, company_id, {}, required=("id",)))
        table = in_memory(rows.drop_duplicates("id"))
        columns = {"entry_id": texts_of(table, "id"), **{name: texts_of(table, name) for name in ENTRY_DATA}}
        listed = [
            {name: value for name, value in row.items() if value is not None}
            for row in pl.DataFrame(columns).to_dicts()
        ]
        with open_for_writing(service.settings) as journal:
            event = record_exported_elsewhere(
                journal, company_id, listed, **vars(statement), source=", ".join(map(str, entries))
            )
        undo = f'bktools export undo-import {event} --by NAME --evidence "..."{same(service.settings)}'
    done = words()("done.elsewhere", count=len(listed), by=statement.by)
    text.report(done, words()("done.undo", command=undo), event=event, entries=len(listed), by=statement.by)


@app.command("undo-import")
def undo_import(
    books: options.Company,
    text: results.Text,
    statement: options.Statement,
    event: int = argument("EVENT", "The number that import printed.", REQUIRED),
) -> None:
    """Take back what import recorded.

    The entries may be sent from here again.

    Example: bktools export undo-import 42 --by Ada --evidence "the export was rejected"
    """
    from bktools.journal.statements import undo_exported_elsewhere
    from bktools.journal.writing import open_for_writing

    with books.connected() as service, open_for_writing(service.settings) as journal:
        others = undo_exported_elsewhere(journal, event, **vars(statement))
    done = words()("done.undone", event=event, by=statement.by)
    held = [words()("done.still_elsewhere", count=len(others), event=max(others.values()))] if others else []
    text.report(done, *held, event=event, still_elsewhere=len(others), by=statement.by)


@app.command("not-booked")
def not_booked_entries(
    books: options.Company,
    text: results.Text,
    statement: options.Statement,
    entries: list[str] = argument("ENTRY", "IDs of the entries.", REQUIRED),
) -> None:
    """Record that entries are not booked.

    For a posting of the ledger that only looks like one of them, or a second purchase with the same data: the
    next export sends them.

    Example: bktools export not-booked 123e4567-e89b-42d3-a456-426614174000 --by Ada --evidence "12 is rent"
    """
    from bktools.journal.periods import entries_met
    from bktools.journal.statements import record_not_booked
    from bktools.journal.writing import open_for_writing

    with books.connected() as service:
        company_id = rules.company_of(service.settings)
        with open_for_writing(service.settings) as journal:
            record_not_booked(journal, company_id, entries, **vars(statement))
            met = entries_met(journal, company_id)
    unknown = [entry for entry in entries if entry.lower() not in met]
    done = words()("done.not_booked", count=len(entries), by=statement.by)
    doubt = words()("done.not_met", count=len(unknown), entries=unknown) if unknown else ""
    text.report(done, doubt, entries=entries, by=statement.by, unknown=unknown)


def _exported(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the entries of a list that were exported: of another journal's history, the accepted ones."""
    from bktools.frames.schema import BATCH_STATES
    from bktools.journal.schema import LIVE_STATES

    states = {*rows["status"].dropna()} if "status" in rows.columns else set()
    if not states or not states <= {*BATCH_STATES}:
        return rows
    open_states = sorted(states & ({*LIVE_STATES} - {"ACCEPTED"}))
    if open_states:
        raise InputError(Sentence("done.open_jobs", states=open_states))
    return rows[rows["status"] == "ACCEPTED"]


def _unknown_outcomes(plan: bktools.ExportPlan, service: bktools.Service) -> list[str]:
    """Return a line for each batch of the plan's companies whose outcome is unknown."""
    from bktools.journal.export_jobs import open_questions

    waiting = plan.not_ready.loc[plan.not_ready["reason"] == "in_doubt", "company_id"]
    companies = sorted({*plan.batches["company_id"], *waiting})
    return [line for company in companies for line in open_questions(company, service=service)]


def _facts_of(plan: bktools.ExportPlan) -> dict[str, Any]:
    from bktools.frames.sums import number_of_entries

    return {
        "plan_id": plan.plan_id,
        "entries": number_of_entries(plan.rows),
        "not_ready": number_of_entries(plan.held),
        "amounts": plan.amounts,
        "batches": plan.batches,
        "findings": plan.needs_action,
        "not_checked": plan.unchecked,
    }
