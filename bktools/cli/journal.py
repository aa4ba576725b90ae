"""`bktools journal`: the durable record of everything that was sent."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bktools.cli import options, results
from bktools.cli.exits import Exit
from bktools.errors import ArgumentError, ConfigurationError

if TYPE_CHECKING:
    from bktools.journal.journal import Journal
    from bktools.settings import Settings

app = typer.Typer(help="The journal: the only record of everything that was sent.", invoke_without_command=True)

By = Annotated[str | None, typer.Option("--by", metavar="NAME", help="Your name; kept permanently.")]


@app.callback()
@results.facts
def show(context: typer.Context, environment: options.Environment = None, sandbox: options.Sandbox = False) -> None:
    """Show the journal in use, its addresses, and the number of batches by state.

    Example: bktools journal
    """
    if context.invoked_subcommand is not None:
        return
    with _journal(environment, sandbox=sandbox) as journal:
        states = journal.rows("SELECT state, count(*) AS batches FROM batches GROUP BY state ORDER BY state")
        rows = [
            ("journal", journal.id),
            ("file" if journal.path else "database", journal.place),
            ("marks", ", ".join(map(str, journal.sent_log.places))),
            *(("address", address) for address in journal.addresses()),
            ("events", journal.last_event()["event_id"]),
            *((row["state"], row["batches"]) for row in states),
            *(("other", f"{other}: {journal.related.relation(other) or 'unknown'}") for other in journal.related.all()),
        ]
        others = [{"name": other, "relation": journal.related.relation(other)} for other in journal.related.all()]
        results.result(
            journal=journal.id, place=journal.place, marks=journal.sent_log.places, addresses=journal.addresses(),
            events=journal.last_event()["event_id"], batches={row["state"]: row["batches"] for row in states}, others=others,
        )  # fmt: skip
    for name, value in rows:
        results.say(f"{name:<10} {value}")


@app.command("backup")
@results.facts
def backup(
    target: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="File to write; named after the current time by default.")
    ] = None,
    environment: options.Environment = None,
    sandbox: options.Sandbox = False,
) -> None:
    """Write a consistent copy of the journal.

    Works while export jobs are being sent.

    Example: bktools journal backup
    """
    path = target or Path(f"bktools-journal-{dt.datetime.now(dt.UTC):%Y%m%dT%H%M%SZ}.sqlite")
    with _journal(environment, sandbox=sandbox) as journal:
        journal.backup(path)
        results.say(f"{journal.place} was copied to {path}")
        results.result(journal=journal.place, backup=path)


@app.command("restore")
@results.facts
def restore(
    source: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="The backup; by default the current file is kept.")
    ] = None,
    by: By = None,
    evidence: Annotated[
        str | None,
        typer.Option(
            "--evidence",
            metavar="TEXT",
            help="Where you looked for exports after the copy and found none, when this machine has no marks.",
        ),
    ] = None,
    environment: options.Environment = None,
    sandbox: options.Sandbox = False,
) -> None:
    """Restore a backup of the journal.

    A database is restored with its own programs; every machine that sent then confirms it with this command. Batches sent
    after the backup are accepted where their marks hold the job. The others have an unknown outcome until a person
    settles them.

    Example: bktools journal restore bktools-journal-20261031T180000Z.sqlite --by Ada
    """
    from bktools.journal.backups import restore as put_back

    done = put_back(_settings(environment, sandbox=sandbox), source, by=_named(by), evidence=evidence)
    results.say(f"{done.place} was restored" + (f" from {source}" if source else ""))
    for line in done.booked_twice:
        results.say(line)
    if done.set_aside is not None:
        results.say(f"The earlier file is kept as {done.set_aside}")
    if done.accepted:
        results.say(f"{len(done.accepted)} batches sent since are ACCEPTED: their marks hold the jobs of the service")
    if done.in_doubt:
        results.say(
            f"{len(done.in_doubt)} batches have an unknown outcome; bktools export status{options.same(environment, sandbox=sandbox)} says "
            "how to settle them"
        )
    if done.unconfirmed:
        results.say(f"Nothing is sent before these machines have confirmed it, too: {', '.join(done.unconfirmed)}")
    results.result(
        journal=done.place, earlier_file=done.set_aside, accepted=done.accepted, outcome_unknown=done.in_doubt,
        booked_twice=done.booked_twice, unconfirmed=done.unconfirmed,
    )  # fmt: skip


@app.command("waive")
@results.facts
def waive(
    machines: Annotated[
        list[str], typer.Argument(metavar="MACHINE...", help="Machines that cannot confirm a restored database.")
    ],
    company: options.Company = None,
    evidence: Annotated[
        str, typer.Option("--evidence", metavar="TEXT", help="Where none of the entries to send is booked.")
    ] = "",
    by: By = None,
    environment: options.Environment = None,
    sandbox: options.Sandbox = False,
) -> None:
    """Waive the confirmation of a machine that is gone.

    Without --evidence, only entries dated after today are sent.

    Example: bktools journal waive bob@old-laptop#3f9c2a1b --company 123e4567-e89b-42d3-a456-426614174000 --by Ada
    """
    from bktools.contract import rules
    from bktools.journal.journal import Journal

    settings = _settings(environment, sandbox=sandbox)
    company_id = rules.company_id("--company", company or settings.company, settings.company_names)
    with Journal(settings) as journal:
        if journal.restores is None:
            raise ConfigurationError("the journal is a file, which no other machine uses: nothing was recorded")
        done = journal.restores.waive(machines, company_id, evidence=evidence.strip(), by=_named(by))
    results.say(
        f"Company {company_id} does not wait for {', '.join(done)}"
        + ("" if evidence.strip() else "; only entries dated after today are sent")
    )
    results.result(company=company_id, waived=done, evidence=evidence.strip())


@app.command("verify")
@results.facts
def verify(environment: options.Environment = None, sandbox: options.Sandbox = False) -> None:
    """Check the journal's pages, events and marks.

    Example: bktools journal verify
    """
    with _journal(environment, sandbox=sandbox) as journal:
        problems = journal.problems()
        events, place = journal.last_event()["event_id"], journal.place
    results.result(journal=place, events=events, problems=problems)
    for problem in problems:
        results.say(problem)
    if problems:
        raise typer.Exit(Exit.JOURNAL)
    results.say(f"{place} is whole: {events} events, and the marks agree")


@app.command("addresses")
@results.facts
def addresses(
    is_same: Annotated[
        str | None, typer.Option("--same", metavar="ADDRESS", help="Address or ID of a journal of the same service.")
    ] = None,
    other: Annotated[
        str | None, typer.Option("--other", metavar="ADDRESS", help="Address or ID of a journal of another service.")
    ] = None,
    by: By = None,
    environment: options.Environment = None,
    sandbox: options.Sandbox = False,
) -> None:
    """Show or record which addresses and journals are of one service.

    Example: bktools journal addresses --same https://books.example.com --by Ada
    """
    from bktools.journal.related_journals import OTHER, SAME

    if is_same and other:
        raise ArgumentError("--same", "cannot be combined with --other")
    with _journal(environment, sandbox=sandbox) as journal:
        if is_same or other:
            name, relation = (is_same, SAME) if is_same else (other, OTHER)
            said = journal.related.say(str(name), relation, _named(by))
            results.say(said)
            results.result(recorded=said)
            return
        own = journal.addresses()
        others = {found: journal.related.relation(found) for found in journal.related.all()}
    for address in own:
        results.say(f"{address}  this journal")
    for found, known in others.items():
        results.say(f"{found}  {known or 'not known whether it is of the same service'}")
    results.result(addresses=own, others=[{"name": found, "relation": known} for found, known in others.items()])


@app.command("move")
@results.facts
def move(
    by: By = None,
    evidence: Annotated[
        str | None,
        typer.Option("--evidence", metavar="TEXT", help="How you corrected entries that both journals had sent."),
    ] = None,
    environment: options.Environment = None,
    sandbox: options.Sandbox = False,
) -> None:
    """Move the journal to the database of BKTOOLS_JOURNAL.

    Histories that are there stay. The file is closed and kept.

    Example: bktools journal move --by Ada
    """
    from bktools.journal.move import move as to_database
    from bktools.journal.postgres import place_of

    settings = _settings(environment, sandbox=sandbox)
    last = to_database(settings, by=_named(by), evidence=evidence)
    assert settings.journal is not None
    place = place_of(settings.journal)
    results.say(f"{last['event_id']} events are in {place}; the file is closed and kept")
    results.result(journal=place, events=last["event_id"])


@app.command("rights")
@results.facts
def rights(
    role: Annotated[str, typer.Argument(metavar="ROLE", help="A role of the database.")],
    environment: options.Environment = None,
    sandbox: options.Sandbox = False,
) -> None:
    """Print the SQL that grants a role the least rights.

    It is for the database of BKTOOLS_JOURNAL.

    Example: bktools journal rights analyst | psql
    """
    from bktools.journal.postgres import rights as grants

    settings = _settings(environment, sandbox=sandbox)
    if settings.journal is None:
        raise ConfigurationError("the journal is a file, which has no roles: set BKTOOLS_JOURNAL to a database")
    sql = grants(settings.journal, role)
    results.say(sql.rstrip("\n"))
    results.result(role=role, sql=sql)


def _journal(environment: str | None, *, sandbox: bool) -> Journal:
    from bktools.journal.journal import Journal

    return Journal(_settings(environment, sandbox=sandbox))


def _settings(environment: str | None, *, sandbox: bool) -> Settings:
    from bktools.settings import load_settings

    return load_settings(options.selected(environment, sandbox=sandbox))


def _named(by: str | None) -> str:
    if by is None or not by.strip():
        raise ArgumentError("--by", "must name the person who decides")
    return by.strip()
