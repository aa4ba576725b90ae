"""`bktools export`: compose a plan, submit it once, show its state, settle unknown outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import bktools
from bktools import disk
from bktools.caller import in_shell
from bktools.cli import files, options, results
from bktools.cli.exits import Exit
from bktools.cli.options import REQUIRED, argument, option
from bktools.cli.output import tell
from bktools.errors import ArgumentError, PlanError
from bktools.wording.numbers import counted

if TYPE_CHECKING:
    import pandas as pd


# Columns that `history` prints.
COLUMNS = {
    "batches": ["batch_id", "state", "entries", "sent_at", "message"],
    "entries": ["entry_id", "batch_id", "state"],
    "events": ["at", "batch_id", "after", "message", "done_by"],
}

# Entries that are not ready, of which compose and submit print so many.
SHOWN_NOT_READY = 10

# The next step after an outcome was settled, by the outcomes of journal.export_jobs.RESOLVED.
NEXT = {
    "accepted": "Next, to send the batches that waited for it, run month-end again, or submit the plan again",
    "released": "Its entries may be exported again. Next, run month-end again, or submit their plan again",
}

app = typer.Typer(help="Export jobs: compose, submit once, show and settle them.", no_args_is_help=True)


@dataclass(frozen=True)
class Arguments:
    """The options that `compose_export_jobs` takes as its arguments."""

    selection: Path | None = option(
        "--select FILE", "File with the IDs of the entries to export; by default all."
    )
    max_entries: int = options.MAX_ENTRIES
    period: str | None = options.month_option(
        "The month to export, such as 2026-10: later entries wait, earlier ones get a warning."
    )
    currency: str | None = option(
        "--own-currency CODE", "The company's own currency, such as EUR: entries in others are counted."
    )
    employee_id: str | None = option("--employee UUID", "UUID of the employee who initiates the jobs.")
    vendor_based_bookkeeping: bool = option("--vendor-based", "Vendor-based bookkeeping.", False)


@app.command("compose")
@results.lists
def compose(
    entries: files.Entries,
    ledger: Annotated[
        files.FileOptions,
        files.reads("ledger", "--ledger FILE", files.ASKED_LEDGER, prefix="ledger-", beside="entries"),
    ],
    connection: options.ConnectsToCompany,
    arguments: Annotated[Arguments, options.Group(Arguments)],
    background: bool = option("--background", "The jobs need no user interaction.", False),
    out: Path | None = option(
        "--out FILE",
        "File of the plan; - is standard output. By default export-PLAN_ID.plan.",
        section=options.OUTPUT,
    ),
    csv: Path | None = option(
        "--csv FOLDER", "Also write the plan as CSV to this folder; see --profile.", section=options.OUTPUT
    ),
    profile: str = options.PROFILE,
) -> None:
    """Check entries and write the plan of their export. Nothing is sent.

    Example: bktools export compose entries.csv --out october.plan
    """
    from bktools.export.plan_file import write_plan
    from bktools.journal.journal import Journal
    from bktools.journal.records import this_process
    from bktools.journal.statements import exported_elsewhere, not_booked

    is_piped = str(out) == results.STREAM
    if is_piped:
        results.reserve_output()
    service = connection.service
    entries = entries.or_sample(service)
    company = service.settings.company
    # Cached tables, too, when the service cannot be reached.
    tables: dict[str, Any] = files.tables_of(service, company, max_age=0) if company else {}
    rows = files.read_entries(entries, company, tables, required=("category_id",))
    results.say(files.recognised(rows.attrs["bktools"]))
    with Journal(service.settings) as journal:
        elsewhere, cleared = exported_elsewhere(journal, company), not_booked(journal, company)
    plan = bktools.compose_export_jobs(
        rows,
        **(tables or files.tables_of(service, rows["company_id"].dropna().unique().tolist(), max_age=0)),
        # The history of all companies: an entry sent for another one is not sent again.
        history=bktools.load_export_jobs(entries=True, service=service),
        ledger=None if ledger.path is None else ledger.read(bktools.read_general_ledger),
        exported_elsewhere=[*elsewhere],
        not_booked=[*cleared],
        company=company,
        is_interactive=not background,
        **vars(arguments),
    )
    _say_plan(plan)
    with disk.temporary_folder() as folder:
        file = Path(folder) / "export.plan" if is_piped else out or Path(f"export-{plan.plan_id}.plan")
        write_plan(plan, file, made_for=service.settings.identity, made_by=this_process())
        if csv is not None:
            plan.to_csv(csv, profile)
        if is_piped:
            results.write_out(file.read_bytes())
            return
    # A name that begins with a hyphen would be read as an option.
    shown = f"./{file}" if str(file).startswith("-") else str(file)
    again = f"bktools export submit {in_shell(shown)}{connection.same}"
    if plan.batches.empty:
        again = "correct the entries that are not ready, then compose again; there is nothing to submit"
    results.report(f"\nWritten to {file}; nothing was sent. Next: {again}", **_facts_of(plan), file=file)


@app.command("submit")
@results.lists
def submit(
    connection: options.Connects,
    file: Path = argument("FILE", "The plan that compose wrote; - is standard input.", REQUIRED),
    apply: bool = options.APPLY,
    plan_id: str | None = option("--plan ID", "Refuse the file unless it holds this plan."),
    wait: float = options.WAIT,
    others_export: bool = options.OTHERS_EXPORT,
) -> Exit:
    """Submit a plan, each batch once; without --apply, a dry run.

    Safe to re-run: resumes where it stopped.

    Example: bktools export submit october.plan --apply
    """
    from bktools.export.plan_file import read_plan

    with files.readable(file) as path:
        read = read_plan(path)
    if plan_id is not None and plan_id != read.plan.plan_id:
        raise PlanError(f"{file} holds plan {read.plan.plan_id}, not {plan_id}: nothing was sent")
    service = connection.service
    if read.made_for != service.settings.identity:
        raise PlanError(
            f"{file} was made for {read.made_for}, this is {service.settings.identity}: nothing was sent; "
            "compose it again here"
        )
    for question in _unknown_outcomes(read.plan, service):
        results.say(f"outcome unknown: {question}\n")
    results.say(f"Composed by {read.made_by}, {read.made_at}")
    _say_plan(read.plan)
    sent = bktools.submit_export_jobs(
        read.plan, apply=apply, wait=wait, others_export=others_export, service=service
    )
    questions = _unknown_outcomes(read.plan, service)
    results.say("")
    _say_outcomes(sent, applied=apply)
    results.report(**_facts_of(read.plan), applied=apply, outcomes=sent, outcome_unknown=questions)
    if read.plan.batches.empty:
        results.say("Nothing was sent: no entry of the plan is ready.")
    elif not apply:
        results.say("Nothing was sent: run again with --apply to do it.")
    is_incomplete = questions or (apply and (sent["outcome"] != "ACCEPTED").any())
    return Exit.INCOMPLETE if is_incomplete else Exit.DONE


@app.command("status")
@results.text
def status(connection: options.ConnectsToCompany) -> Exit:
    """Show the batches by state, and how to settle unknown outcomes.

    Example: bktools export status
    """
    from bktools.journal.export_jobs import answer_to_all, open_questions

    company, service = connection.company, connection.service
    jobs = bktools.load_export_jobs(company, service=service)
    questions = open_questions(company, service=service)
    to_all = answer_to_all(company, service=service)
    by_state = dict(list(jobs.groupby("state")))
    states = {
        str(state): {"batches": len(rows), "entries": int(rows["entries"].sum())}
        for state, rows in by_state.items()
    }
    results.report(
        *(_batches(rows, state) for state, rows in by_state.items()),
        "nothing was exported from here" if jobs.empty else "",
        *(f"\noutcome unknown: {question}" for question in questions),
        f"\nIf {to_all}" if to_all else "",
        states=states,
        outcome_unknown=questions,
    )
    return Exit.INCOMPLETE if questions else Exit.DONE


@app.command("history")
@results.table
def history(
    connection: options.ConnectsToCompany,
    entries: bool = option("--entries", "One row per accounting entry.", False),
    events: bool = option("--events", "One row per event, with earlier settlements, by whom and why.", False),
    batch: str | None = option("--batch ID", "Only this batch."),
) -> None:
    """Show the export jobs that were sent from here, and their state.

    Example: bktools export history --entries --batch 3b033ca1ea4749b395bf
    """
    from bktools.journal.export_jobs import open_questions

    company, service = connection.company, connection.service
    jobs = bktools.load_export_jobs(company, entries=entries, events=events, batch=batch, service=service)
    # An open question tells the user to list the entries, so it is not repeated in that list.
    questions = [] if entries else open_questions(company, batch=batch, service=service)
    results.hand_over(jobs, COLUMNS["entries" if entries else "events" if events else "batches"], most=1_000)
    for question in questions:
        # On standard error, apart from the rows that a program reads.
        tell(f"\noutcome unknown: {question}")


@app.command("resolve")
@results.text
def resolve(
    connection: options.ConnectsToCompany,
    outcome: str = option(
        "--outcome accepted|released", "accepted: it was booked. released: it was not.", REQUIRED
    ),
    evidence: str = option("--evidence TEXT", "What you checked and found; kept permanently.", REQUIRED),
    by: str = option("--by NAME", "Name of the person who checked.", REQUIRED),
    batches: list[str] = argument("BATCH...", "IDs of the batches; several can only be accepted.", REQUIRED),
    job: str | None = option("--job UUID", "UUID of the job, if it was found."),
) -> None:
    """Settle export jobs whose outcome is unknown.

    Look them up in the accounting system first.

    Example: bktools export resolve 3b033ca1ea4749b395bf --outcome released --evidence "not in ERP" --by Ada
    """
    from bktools.journal.export_jobs import accept_export_jobs

    if len(batches) > 1 and (outcome != "accepted" or job is not None):
        raise ArgumentError(
            "BATCH", "must be one, unless it is --outcome accepted without --job: release each by itself"
        )
    service = connection.service
    if len(batches) == 1:
        bktools.resolve_export_job(batches[0], outcome, evidence=evidence, by=by, job_id=job, service=service)
    else:
        accept_export_jobs(batches, evidence=evidence, by=by, service=service)
    results.report(
        *(f"batch {settled}: {outcome}, by {by}" for settled in batches),
        f"{NEXT[outcome]}: bktools export submit PLAN --apply{connection.same}",
        batch_id=batches[0] if len(batches) == 1 else None,
        batches=batches,
        outcome=outcome,
        by=by,
    )


@app.command("import")
@results.text
def import_elsewhere(
    entries: files.Entries,
    connection: options.ConnectsToCompany,
    by: str = option("--by NAME", "Name of the person who knows it.", REQUIRED),
    evidence: str = option("--evidence TEXT", "Where it is seen; kept permanently.", REQUIRED),
) -> None:
    """Record entries that were exported elsewhere.

    They are not sent from here, until that is undone.

    Example: bktools export import exported.csv --by Ada --evidence "list of exports in the service, 31 Oct"
    """
    import pandas as pd

    from bktools.journal.statements import record_exported_elsewhere
    from bktools.journal.writing import open_for_writing

    service, company = connection.service, connection.company_id
    rows = files.read_entries(entries.or_sample(service), company, {}, required=())
    known = [name for name in ("date", "amount", "currency", "supplier") if name in rows.columns]
    rows = rows.drop_duplicates("id")[["id", *known]].rename(columns={"id": "entry_id"})
    listed: list[dict[str, Any]] = [
        {str(name): str(value) for name, value in row.items() if not pd.isna(value)}
        for row in rows.to_dict("records")
    ]
    with open_for_writing(service.settings) as journal:
        event = record_exported_elsewhere(
            journal, company, listed, by=by, evidence=evidence, source=str(entries.path or "")
        )
    results.report(
        f"{counted(len(listed), 'entry', 'entries')} recorded as exported elsewhere, by {by}",
        f"If that was wrong: bktools export undo-import {event} --by NAME --evidence TEXT{connection.same}",
        event=event,
        entries=len(listed),
        by=by,
    )


@app.command("undo-import")
@results.text
def undo_import(
    connection: options.ConnectsToCompany,
    event: int = argument("EVENT", "The number that import printed.", REQUIRED),
    by: str = option("--by NAME", "Name of the person who knows it.", REQUIRED),
    evidence: str = option("--evidence TEXT", "What was found; kept permanently.", REQUIRED),
) -> None:
    """Take back what import recorded.

    The entries may be sent from here again.

    Example: bktools export undo-import 42 --by Ada --evidence "the export was rejected"
    """
    from bktools.journal.statements import undo_exported_elsewhere
    from bktools.journal.writing import open_for_writing

    with open_for_writing(connection.service.settings) as journal:
        undo_exported_elsewhere(journal, event, by=by, evidence=evidence)
    results.report(f"event {event} is undone, by {by}: its entries may be sent", event=event, by=by)


@app.command("not-booked")
@results.text
def not_booked_entries(
    connection: options.ConnectsToCompany,
    by: str = option("--by NAME", "Name of the person who looked.", REQUIRED),
    evidence: str = option("--evidence TEXT", "What was checked and found; kept permanently.", REQUIRED),
    entries: list[str] = argument("ENTRY...", "IDs of the entries.", REQUIRED),
) -> None:
    """Record that entries are not booked.

    A posting of the ledger may be of them, or an entry with the same data was sent; they are sent with the
    next export all the same.

    Example: bktools export not-booked 123e4567-e89b-42d3-a456-426614174000 --by Ada --evidence "12 is rent"
    """
    from bktools.journal.statements import record_not_booked
    from bktools.journal.writing import open_for_writing

    with open_for_writing(connection.service.settings) as journal:
        record_not_booked(journal, connection.company_id, entries, by=by, evidence=evidence)
    results.report(
        f"{counted(len(entries), 'entry', 'entries')} recorded as not booked, by {by}", entries=entries, by=by
    )


def _unknown_outcomes(plan: bktools.ExportPlan, service: bktools.Service) -> list[str]:
    """Return a line for each batch of the plan's companies whose outcome is unknown."""
    from bktools.journal.export_jobs import open_questions

    waiting = plan.not_ready.loc[plan.not_ready["reason"] == "in_doubt", "company_id"]
    companies = sorted({*plan.batches["company_id"], *waiting})
    return [line for company in companies for line in open_questions(company, service=service)]


def _say_plan(plan: bktools.ExportPlan) -> None:
    from bktools.frames.names import FIRST

    # The next step is that of the command, not of Python.
    results.say(repr(plan).partition("\n  next:")[0])
    held = plan.not_ready[[name for name in (*FIRST, "reason") if name in plan.not_ready.columns]]
    results.show_list("Not ready", held, most=SHOWN_NOT_READY, whole="--csv FOLDER")


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


def _say_outcomes(sent: pd.DataFrame, *, applied: bool) -> None:
    for outcome, rows in sent.groupby("outcome", sort=False):
        results.say(_batches(rows, outcome))
    # In a dry run what is planned would be sent.
    as_wanted = {"ACCEPTED"} if applied else {"ACCEPTED", "PLANNED"}
    for row in sent[~sent["outcome"].isin(as_wanted)].to_dict("records"):
        results.say(f"batch {row['batch_id']} {row['outcome']}: {row['message']}")


def _batches(rows: pd.DataFrame, state: object) -> str:
    entries = counted(int(rows["entries"].sum()), "entry", "entries")
    return f"{counted(len(rows), 'batch', 'batches'):>16}, {entries:>18}  {state}"
