"""`bktools journal`: the durable record of everything that was sent."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from bktools.cli import options, results
from bktools.cli.exits import Exit
from bktools.cli.options import same, selected, settings_of, the_company
from bktools.consoles import listed
from bktools.errors import ArgumentError, ConfigurationError, JournalError, PlanError
from bktools.wording.numbers import counted

app = typer.Typer(
    help="The journal: the only record of everything that was sent.", invoke_without_command=True
)


@app.callback()
def show(
    context: typer.Context,
    environment: options.Environment = None,
    sandbox: options.Sandbox = False,
    format: results.Format = results.TextFormat.TEXT,
) -> None:
    """Show the journal in use, its environment and address, and the number of batches by state.

    Example: bktools journal
    """
    if context.invoked_subcommand is not None:
        return
    from bktools.journal.journal import Journal

    with Journal(settings_of(environment, sandbox)) as journal:
        states = journal.rows("SELECT state, count(*) AS batches FROM batches GROUP BY state ORDER BY state")
        events, origin = journal.last_event()["event_id"], journal.origin()
        rows = [
            ("journal", journal.id),
            ("file" if journal.path else "database", journal.location),
            ("sent log", ", ".join(map(str, journal.sent_log.folders))),
            *origin.items(),
            ("events", events),
            *((row["state"], row["batches"]) for row in states),
        ]
        results.report(
            format,
            *listed(rows),
            journal=journal.id,
            location=journal.location,
            sent_log=journal.sent_log.folders,
            **origin,
            events=events,
            batches={row["state"]: row["batches"] for row in states},
        )


@app.command("backup")
def backup(
    target: Annotated[
        Path | None, Argument(metavar="FILE", help="File to write; by default named after the current time.")
    ] = None,
    environment: options.Environment = None,
    sandbox: options.Sandbox = False,
    format: results.Format = results.TextFormat.TEXT,
) -> None:
    """Write a consistent copy of the journal.

    Works while export jobs are being sent.

    Example: bktools journal backup
    """
    from bktools.journal.journal import Journal

    path = target or Path(f"bktools-journal-{dt.datetime.now(dt.UTC):%Y%m%dT%H%M%SZ}.sqlite")
    with Journal(settings_of(environment, sandbox)) as journal:
        journal.backup(path)
        results.report(
            format, f"{journal.location} was copied to {path}", journal=journal.location, backup=path
        )


@app.command("restore")
def restore(
    by: options.By,
    source: Annotated[
        Path | None, Argument(metavar="FILE", help="The backup; by default the current file is kept.")
    ] = None,
    evidence: Annotated[
        str | None,
        Option(
            "--evidence",
            metavar="TEXT",
            help="Where you looked for exports after the copy and found none, when this machine has no sent "
            "log.",
        ),
    ] = None,
    environment: options.Environment = None,
    sandbox: options.Sandbox = False,
    format: results.Format = results.TextFormat.TEXT,
) -> None:
    """Restore a backup of the journal.

    A database is restored with its own programs; every machine that sent then confirms it with this command.
    Batches sent after the backup are accepted where the sent log holds the job. The others have an unknown
    outcome until a person settles them.

    Example: bktools journal restore bktools-journal-20261031T180000Z.sqlite --by Ada
    """
    from bktools.journal.backups import restore as put_back

    settings = settings_of(environment, sandbox)
    books = same(settings, company=False)
    done = put_back(settings, source, by=by, evidence=evidence)
    status, others = f"bktools export status{books}", ", ".join(done.unconfirmed)
    results.report(
        format,
        f"{done.location} was restored" + (f" from {source}" if source else ""),
        *done.booked_twice,
        f"The earlier file is kept as {done.set_aside}" if done.set_aside else "",
        f"ACCEPTED again: {counted(len(done.accepted), 'batch', 'batches')} sent since, "
        "whose job the sent log holds"
        if done.accepted
        else "",
        f"Outcome unknown: {counted(len(done.in_doubt), 'batch', 'batches')}; "
        f"{status} says how to settle this"
        if done.in_doubt
        else "",
        f"Nothing is sent before these machines have confirmed it, too: {others}" if others else "",
        journal=done.location,
        earlier_file=done.set_aside,
        accepted=done.accepted,
        outcome_unknown=done.in_doubt,
        booked_twice=done.booked_twice,
        unconfirmed=done.unconfirmed,
    )


@app.command("waive")
def waive(
    machines: Annotated[
        list[str], Argument(metavar="MACHINE...", help="Machines that cannot confirm a restored database.")
    ],
    by: options.By,
    begins: Annotated[
        str | None, Option("--from", metavar="DATE", help="The first day that you looked up.")
    ] = None,
    ends: Annotated[
        str | None, Option("--to", metavar="DATE", help="The last day that you looked up.")
    ] = None,
    evidence: Annotated[
        str | None,
        Option("--evidence", metavar="TEXT", help="Where you saw that none of these entries is booked."),
    ] = None,
    plan: Annotated[
        Path | None,
        Option(
            "--plan",
            metavar="FILE",
            help="Instead: the plan that export compose --ledger wrote. Its ledger is the evidence.",
        ),
    ] = None,
    exported_at: Annotated[
        dt.datetime | None,
        Option(
            "--exported-at",
            metavar="DATE",
            help="With --plan: the day of the ledger's export, where its file does not say it.",
            formats=["%Y-%m-%d"],
        ),
    ] = None,
    environment: options.Environment = None,
    sandbox: options.Sandbox = False,
    company: options.Company = None,
    format: results.Format = results.TextFormat.TEXT,
) -> None:
    """Waive the confirmation of a machine that is gone.

    It holds for a company and the dates of its entries that you looked up: give --from, --to and --evidence.
    Or it holds for the ready entries of a plan, which its ledger does not hold: give --plan. All other
    entries still wait.

    Example: bktools journal waive bob@pc#3f9c2a1b --from 2026-10-01 --to 2026-10-31 --evidence "ERP" --by Ada
    """
    from bktools.journal.journal import Journal

    settings = settings_of(environment, sandbox, company)
    company_id = the_company(settings)
    with Journal(settings) as journal:
        if journal.restores is None:
            raise ConfigurationError(
                "the journal is a file, which no other machine uses: nothing was recorded"
            )
        about: dict[str, Any]
        if plan is not None:
            if begins or ends or evidence:
                raise ArgumentError("--plan", "stands instead of --from, --to and --evidence")
            day = exported_at.date() if exported_at else None
            entries, evidence = _looked_up(journal, plan, company_id, day)
            done = journal.restores.waive_entries(machines, company_id, entries, evidence=evidence, by=by)
            about, what = {"entries": entries}, f"{counted(len(entries), 'entry', 'entries')} of {plan}"
        elif begins and ends and evidence:
            told = {"evidence": evidence, "by": by}
            done = journal.restores.waive(machines, company_id, begins=begins, ends=ends, **told)
            about, what = {"begins": begins, "ends": ends}, f"entries dated {begins} to {ends}"
        else:
            raise ArgumentError("--evidence", "is needed with --from and --to, or give --plan FILE")
    results.report(
        format,
        f"Company {company_id} does not wait for {', '.join(done)} with {what}",
        company=company_id,
        waived=done,
        **about,
        evidence=evidence.strip(),
    )


@app.command("verify")
def verify(
    environment: options.Environment = None,
    sandbox: options.Sandbox = False,
    format: results.Format = results.TextFormat.TEXT,
) -> Exit:
    """Check the journal's pages, events and sent log.

    Example: bktools journal verify
    """
    from bktools.journal.journal import Journal

    with Journal(settings_of(environment, sandbox)) as journal:
        problems = journal.problems()
        events, location = journal.last_event()["event_id"], journal.location
    lines = problems or [f"{location} is whole: {events} events, and the sent log agrees"]
    results.report(format, *lines, journal=location, events=events, problems=problems)
    return Exit.JOURNAL if problems else Exit.DONE


@app.command("rename")
def rename(
    old: Annotated[str, Argument(metavar="OLD", help="The name that the environment had.")],
    new: Annotated[str, Argument(metavar="NEW", help="The name that it has now.")],
    by: options.By,
    environment: options.Environment = None,
    sandbox: options.Sandbox = False,
    format: results.Format = results.TextFormat.TEXT,
) -> None:
    """Give the journal of an environment its new name.

    Example: bktools journal rename https://books.example.com production --by Ada
    """
    from bktools.journal.environments import rename as give_name
    from bktools.settings import load_settings

    chosen = selected(environment, sandbox)
    if chosen not in {None, new}:
        raise ArgumentError("NEW", f"must be the environment of the command, which is {chosen}", new)
    settings = load_settings(new)
    location = give_name(settings, old, by=by)
    results.report(
        format, f"{location} is the journal of {new} now", journal=location, environment=new, before=old
    )


@app.command("move")
def move(
    by: options.By,
    evidence: Annotated[
        str | None,
        Option("--evidence", metavar="TEXT", help="How you corrected entries that both journals had sent."),
    ] = None,
    environment: options.Environment = None,
    sandbox: options.Sandbox = False,
    format: results.Format = results.TextFormat.TEXT,
) -> None:
    """Move the journal to the database of BKTOOLS_JOURNAL.

    Histories that are there stay. The file is closed and kept.

    Example: bktools journal move --by Ada
    """
    from bktools.journal.move import move as to_database
    from bktools.journal.postgres import location_of

    settings = settings_of(environment, sandbox)
    last = to_database(settings, by=by, evidence=evidence)
    assert settings.journal is not None
    location = location_of(settings.journal)
    events = last["event_id"]
    results.report(
        format,
        f"{events} events are in {location}; the file is closed and kept",
        journal=location,
        events=events,
    )


@app.command("rights")
def rights(
    role: Annotated[str, Argument(metavar="ROLE", help="A role of the database.")],
    environment: options.Environment = None,
    sandbox: options.Sandbox = False,
    format: results.Format = results.TextFormat.TEXT,
) -> None:
    """Print the SQL that grants a role the least rights.

    It is for the database of BKTOOLS_JOURNAL.

    Example: bktools journal rights analyst | psql
    """
    from bktools.journal.postgres import rights as grants

    settings = settings_of(environment, sandbox)
    if settings.journal is None:
        raise ConfigurationError(
            "the journal is a file, which has no roles: set BKTOOLS_JOURNAL to a database"
        )
    sql = grants(settings.journal, role)
    results.report(format, sql.rstrip("\n"), role=role, sql=sql)


def _looked_up(journal: Any, file: Path, company_id: str, day: dt.date | None) -> tuple[list[str], str]:
    """Return the entries of a plan that its ledger does not hold, and which ledger that is."""
    from bktools.export.looked_up import not_in_the_books
    from bktools.export.plan_file import read_plan
    from bktools.journal.unknown_outcomes import sent_until

    plan = read_plan(file).plan
    if plan.journal != journal.id:
        raise PlanError(f"{file} was composed with another journal: compose it again; nothing was recorded")
    since = sent_until(journal, company_id)
    if since is None:
        raise JournalError("no restore of the database was noticed: nothing was recorded")
    entries = not_in_the_books(plan, company_id, since, day)
    books = plan.books
    exported = books["exported_at"] or day
    return entries, f"ledger {books['source']} (SHA-256 {books['sha256']}), exported on {exported}"
