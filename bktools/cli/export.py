"""`bktools export`: compose a plan, submit it once, show its state, settle unknown outcomes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bktools import disk
from bktools.caller import command, in_shell
from bktools.cli import options, results
from bktools.cli.exits import Exit
from bktools.cli.mappings import remembered
from bktools.cli.output import tell
from bktools.errors import ArgumentError, PlanError
from bktools.visible import visible_line

if TYPE_CHECKING:
    import pandas as pd

    from bktools.export import ExportPlan
    from bktools.service import Service

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


@app.command("compose")
@results.lists
def compose(
    entries: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="The accounting entries; - is standard input. With --sandbox, the sample file by default.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="File of the plan; - is standard output. Default: export-PLAN_ID.plan.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
    select: Annotated[
        Path | None, typer.Option("--select", metavar="FILE", help="File with the IDs to export; all by default.")
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(
            "--csv",
            metavar="FOLDER",
            help="Also write the plan as CSV to this folder; see --profile.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
    profile: options.Profile = "excel",
    company: options.Company = None,
    environment: options.Environment = None,
    sandbox: options.Sandbox = False,
    column: options.EntriesColumn = None,
    delimiter: options.FileDelimiter = None,
    encoding: options.FileEncoding = None,
    decimal: options.Decimal = None,
    date_format: options.DateFormat = None,
    sheet: options.FileSheet = None,
    split_lines: options.SplitLines = False,
    save_mapping: options.SaveFileMapping = None,
    max_entries: options.MaxEntries = 500,
    month: Annotated[
        str | None,
        typer.Option(
            "--month",
            metavar="YYYY-MM",
            help="The month to export, as 2026-10: later entries wait, earlier ones get a warning.",
        ),
    ] = None,
    currency: Annotated[
        str | None,
        typer.Option(
            "--currency", metavar="CODE", help="The company's own currency, as EUR: entries in others are counted."
        ),
    ] = None,
    employee: Annotated[
        str | None, typer.Option("--employee", metavar="UUID", help="UUID of the employee who initiates the jobs.")
    ] = None,
    background: Annotated[bool, typer.Option("--background", help="The jobs need no user interaction.")] = False,
    vendor_based: Annotated[bool, typer.Option("--vendor-based", help="Vendor-based bookkeeping.")] = False,
) -> None:
    """Check entries and write the plan of their export. Nothing is sent.

    Example: bktools export compose entries.csv --out october.plan
    """
    from bktools.cli.reconcile import recognised, sample_files
    from bktools.export import compose_export_jobs
    from bktools.export.plan_file import write_plan
    from bktools.inputs.entries import read_entries
    from bktools.journal.export_jobs import load_export_jobs
    from bktools.journal.records import this_process

    with ExitStack() as stack:
        is_piped = str(out) == results.STREAM
        if is_piped:
            stack.enter_context(results.reserved_output())
        service = stack.enter_context(options.connected(environment, sandbox=sandbox, company=company))
        path = entries or sample_files(service, "the file of accounting entries")[1]
        path = stack.enter_context(results.readable(path))
        only = company or service.settings.company
        known = _known(service, [only]) if only else {}
        given = options.reading(column, delimiter, encoding, sheet, decimal, date_format, split_lines=split_lines)
        with command(options.READS_ENTRIES), remembered("entries", path, given, save_mapping) as read_as:
            read = read_entries(
                path,
                company=only,
                categories=known.get("categories"),
                employees=known.get("employees"),
                required=("category_id",),
                **read_as,
            )
        results.say(recognised(read.attrs["bktools"]))
        plan = compose_export_jobs(
            read,
            selection=select,
            **(known or _known(service, read["company_id"].dropna().unique().tolist())),
            # Of all companies: an entry that went out for another one is not sent again.
            history=load_export_jobs(entries=True, service=service),
            company=only,
            period=month,
            currency=currency,
            max_entries=max_entries,
            employee_id=employee,
            is_interactive=not background,
            vendor_based_bookkeeping=vendor_based,
        )
        _say_plan(plan)
        file = out or Path(f"export-{plan.plan_id}.plan")
        if is_piped:
            file = Path(stack.enter_context(disk.temporary_folder())) / "export.plan"
        write_plan(plan, file, made_for=service.settings.identity, made_by=this_process())
        if csv is not None:
            plan.to_csv(csv, profile)
        if is_piped:
            with file.open("rb") as written:
                results.write_out(written)
            return
    again = f"bktools export submit {in_shell(str(file))}{options.same(environment, sandbox=sandbox)}"
    if plan.batches.empty:
        again = "correct the entries that are not ready, then compose again; there is nothing to submit"
    results.say(f"\nWritten to {file}; nothing was sent. Next: {again}")
    results.result(**_facts_of(plan), file=file)


@app.command("submit")
@results.lists
def submit(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The plan that compose wrote; - is standard input.")],
    apply: options.Apply = False,
    plan_id: Annotated[
        str | None, typer.Option("--plan", metavar="ID", help="Refuse the file unless it holds this plan.")
    ] = None,
    environment: options.Environment = None,
    sandbox: options.Sandbox = False,
    wait: options.Wait = 300.0,
    others_export: options.OthersExport = False,
) -> None:
    """Submit a plan, each batch once; without --apply, a dry run.

    Safe to re-run: resumes where it stopped.

    Example: bktools export submit october.plan --apply
    """
    from bktools.export.plan_file import read_plan
    from bktools.submit import submit_export_jobs

    with results.readable(file) as path:
        read = read_plan(path)
    if plan_id is not None and plan_id != read.plan.plan_id:
        raise PlanError(f"{file} holds plan {read.plan.plan_id}, not {plan_id}: nothing was sent")
    with options.connected(environment, sandbox=sandbox) as service:
        if read.made_for != service.settings.identity:
            raise PlanError(
                f"{file} was made for {read.made_for}, this is {service.settings.identity}: nothing was sent; compose it "
                "again here"
            )
        for doubt in _doubts(read.plan, service):
            results.say(f"outcome unknown: {doubt}\n")
        results.say(f"Composed by {read.made_by}, {read.made_at}")
        _say_plan(read.plan)
        sent = submit_export_jobs(read.plan, apply=apply, wait=wait, others_export=others_export, service=service)
        doubts = _doubts(read.plan, service)
    results.say("")
    _say_outcomes(sent)
    results.result(**_facts_of(read.plan), applied=apply, outcomes=sent, outcome_unknown=doubts)
    if not apply:
        results.say("Nothing was sent: run again with --apply to do it.")
    if doubts or (apply and (sent["outcome"] != "ACCEPTED").any()):
        raise typer.Exit(Exit.INCOMPLETE)


@app.command("status")
@results.facts
def status(
    company: options.Company = None, environment: options.Environment = None, sandbox: options.Sandbox = False
) -> None:
    """Show the batches by state, and how to settle unknown outcomes.

    Example: bktools export status
    """
    from bktools.journal.export_jobs import answer_to_all, load_export_jobs, open_questions

    with options.connected(environment, sandbox=sandbox, company=company) as service:
        found = load_export_jobs(company, service=service)
        questions = open_questions(company, service=service)
        to_all = answer_to_all(company, service=service)
    by_state = dict(list(found.groupby("state")))
    for state, rows in by_state.items():
        results.say(_batches(rows, state))
    results.result(
        states={
            str(state): {"batches": len(rows), "entries": int(rows["entries"].sum())}
            for state, rows in by_state.items()
        },
        outcome_unknown=questions,
    )
    if found.empty:
        results.say("nothing was exported from here")
    for question in questions:
        results.say(f"\noutcome unknown: {question}")
    if to_all:
        results.say(f"\nIf {to_all}")
    if questions:
        raise typer.Exit(Exit.INCOMPLETE)


@app.command("history")
@results.table
def history(
    company: options.Company = None,
    environment: options.Environment = None,
    sandbox: options.Sandbox = False,
    entries: Annotated[bool, typer.Option("--entries", help="One row per accounting entry.")] = False,
    events: Annotated[
        bool, typer.Option("--events", help="One row per event, with earlier settlements, by whom and why.")
    ] = False,
    batch: Annotated[str | None, typer.Option("--batch", metavar="ID", help="Only this batch.")] = None,
) -> None:
    """Show the export jobs that were sent from here, and their state.

    Example: bktools export history --entries --batch 3b033ca1ea4749b395bf
    """
    from bktools.journal.export_jobs import load_export_jobs, open_questions

    with options.connected(environment, sandbox=sandbox, company=company) as service:
        found = load_export_jobs(company, entries=entries, events=events, batch=batch, service=service)
        # An open question tells the user to list the entries, so it is not repeated in that list.
        questions = [] if entries else open_questions(company, batch=batch, service=service)
    results.hand_over(found, COLUMNS["entries" if entries else "events" if events else "batches"], most=100_000)
    for question in questions:
        # On standard error, apart from the rows that a program reads.
        tell(f"\noutcome unknown: {question}")


@app.command("resolve")
@results.facts
def resolve(
    outcome: Annotated[
        str,
        typer.Option(
            "--outcome",
            metavar="accepted|released",
            help="accepted: it was booked. released: it was not.",
            autocompletion=options.one_of(lambda: NEXT),
        ),
    ],
    evidence: Annotated[
        str, typer.Option("--evidence", metavar="TEXT", help="What you checked and found; kept permanently.")
    ],
    by: Annotated[str, typer.Option("--by", metavar="NAME", help="Name of the person who checked.")],
    batch: Annotated[str | None, typer.Argument(metavar="BATCH", help="ID of the batch.")] = None,
    all_before: Annotated[
        str | None,
        typer.Option(
            "--all-before",
            metavar="DATE",
            help="Instead of a batch: all that were sent before this date or time (UTC), as accepted only.",
        ),
    ] = None,
    job: Annotated[str | None, typer.Option("--job", metavar="UUID", help="UUID of the job, if it was found.")] = None,
    company: options.Company = None,
    environment: options.Environment = None,
    sandbox: options.Sandbox = False,
) -> None:
    """Settle export jobs whose outcome is unknown.

    Look them up in the accounting system first.

    Example: bktools export resolve 3b033ca1ea4749b395bf --outcome released --evidence "no booking of 31 Oct" --by Ada
    """
    from bktools.journal.export_jobs import accept_export_jobs, resolve_export_job

    if (batch is None) == (all_before is None):
        raise ArgumentError("BATCH", "must be given, or --all-before, and not both")
    if all_before is not None and (outcome != "accepted" or job is not None):
        raise ArgumentError("--all-before", "is for --outcome accepted without --job: release each batch by itself")
    batches = [] if batch is None else [batch]
    with options.connected(environment, sandbox=sandbox, company=company) as service:
        if batch is not None:
            resolve_export_job(batch, outcome, evidence=evidence, by=by, job_id=job, service=service)
        else:
            with command({"before": "--all-before"}):
                batches = accept_export_jobs(
                    str(all_before), evidence=evidence, by=by, company=company, service=service
                )
    for settled in batches:
        results.say(f"batch {settled}: {outcome}, by {by}")
    results.result(batch_id=batch, batches=batches, outcome=outcome, by=by)
    results.say(f"{NEXT[outcome]}: bktools export submit PLAN --apply{options.same(environment, sandbox=sandbox)}")


def _known(service: Service, companies: list[str]) -> dict[str, pd.DataFrame]:
    """Return the tables that entries are checked against: current ones, or cached ones when the service cannot be reached."""
    import pandas as pd

    from bktools.journal.accounts import load_accounts
    from bktools.snapshots.tables import load_categories, load_employees

    loaders: dict[str, Callable[..., pd.DataFrame]] = {
        "categories": partial(load_categories, max_age=0),
        "employees": partial(load_employees, max_age=0),
        "accounts": load_accounts,
    }
    return {
        name: pd.concat([load(company, service=service) for company in companies], ignore_index=True)
        for name, load in loaders.items()
    }


def _doubts(plan: ExportPlan, service: Service) -> list[str]:
    """Return a line for each batch of the plan's companies whose outcome is unknown."""
    from bktools.journal.export_jobs import open_questions

    waiting = plan.not_ready.loc[plan.not_ready["reason"] == "in_doubt", "company_id"]
    companies = sorted({*plan.batches["company_id"], *waiting})
    return [line for company in companies for line in open_questions(company, service=service)]


def _say_plan(plan: ExportPlan) -> None:
    from bktools.cli.tables import counted, show
    from bktools.export.plan import totals_of
    from bktools.frames.names import FIRST
    from bktools.frames.schema import to_pandas

    results.say(repr(plan).partition("\n")[0])
    for row in plan.needs_action.to_dict("records"):
        number = counted(row["entries"], "entry", "entries")
        results.say(visible_line(f"{number:>16}: {row['message']}: {row['to_do']} ({row['severity']}, {row['who']})"))
    for phrase in plan.unchecked:
        results.say(f"         not checked: {phrase}")
    if not results.is_for_people():
        return
    show(to_pandas(totals_of(plan.rows, ("company_id", "currency"))))
    if len(plan.not_ready):
        typer.echo(f"\nNot ready (the first {min(len(plan.not_ready), SHOWN_NOT_READY)} of {len(plan.not_ready):,}):")
        held = plan.not_ready[[name for name in (*FIRST, "reason") if name in plan.not_ready.columns]]
        show(held.dropna(axis="columns", how="all").head(SHOWN_NOT_READY), whole="--csv FOLDER")


def _facts_of(plan: ExportPlan) -> dict[str, Any]:
    from bktools.frames.schema import number_of_entries

    return {
        "plan_id": plan.plan_id,
        "entries": number_of_entries(plan.rows),
        "not_ready": number_of_entries(plan.not_ready),
        "amounts": plan.amounts,
        "batches": plan.batches,
        "findings": plan.needs_action,
        "not_checked": plan.unchecked,
    }


def _say_outcomes(sent: pd.DataFrame) -> None:
    from bktools.submit.export_jobs import WOULD_BE_SENT

    for outcome, rows in sent.groupby("outcome", sort=False):
        results.say(_batches(rows, outcome))
    told = sent[(sent["outcome"] != "ACCEPTED") & (sent["message"] != WOULD_BE_SENT)]
    for row in told.to_dict("records"):
        results.say(f"batch {row['batch_id']} {row['outcome']}: {row['message']}")


def _batches(rows: pd.DataFrame, state: object) -> str:
    from bktools.cli.tables import counted

    entries = counted(int(rows["entries"].sum()), "entry", "entries")
    return f"{counted(len(rows), 'batch', 'batches'):>16}, {entries:>18}  {state}"
