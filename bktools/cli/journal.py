"""`bktools journal`: the durable record of everything that was sent."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import typer

from bktools.cli import options, results
from bktools.cli.exits import Exit
from bktools.cli.options import REQUIRED, argument, option, same
from bktools.consoles import listed
from bktools.wording import words

app = typer.Typer(help="The journal: the record of everything that was sent.", invoke_without_command=True)


@app.callback()
def show(context: typer.Context, books: options.Environment, text: results.Text) -> Exit:
    """Show the journal in use, its environment and address, and whether it is whole and the newest one.

    Example: bktools journal
    """
    if context.invoked_subcommand is not None:
        return Exit.DONE
    from bktools.journal.journal import Journal
    from bktools.journal.right_journal import problems

    with Journal(books.settings()) as journal:
        states = journal.rows("SELECT state, count(*) AS batches FROM batches GROUP BY state ORDER BY state")
        faults = problems(journal)
        facts = {
            "journal": journal.id,
            "location": journal.location,
            "sent_log": journal.folder,
            **journal.origin(),
            "events": journal.last_event()["event_id"],
        }
    numbers, texts = {row["state"]: row["batches"] for row in states}, words()
    named = {texts.name("journal_fact", name): value for name, value in facts.items()}
    named |= {texts.name("outcome", state): count for state, count in numbers.items()}
    text.report(
        *listed(named.items()),
        *(faults or [texts("journal.is_whole", location=facts["location"])]),
        **facts,
        batches=numbers,
        problems=faults,
    )
    return Exit.JOURNAL if faults else Exit.DONE


@app.command("backup")
def backup(
    books: options.Environment,
    text: results.Text,
    target: Path | None = argument("FILE", "File to write; by default named after the current time."),
) -> None:
    """Write a consistent copy of the journal.

    Works while export jobs are being sent.

    Example: bktools journal backup
    """
    from bktools.journal.journal import Journal

    path = target or Path(f"bktools-journal-{dt.datetime.now(dt.UTC):%Y%m%dT%H%M%SZ}.sqlite")
    with Journal(books.settings()) as journal:
        journal.backup(path)
        location = journal.location
    text.report(words()("journal.copied", location=location, file=path), journal=location, backup=path)


@app.command("restore")
def restore(
    books: options.Environment,
    text: results.Text,
    by: str = options.BY,
    evidence: str = option(
        "--evidence TEXT",
        "Where this journal comes from, and who else was asked; kept permanently.",
        REQUIRED,
    ),
    source: Path | None = argument("FILE", "The backup; by default the current journal is kept."),
) -> None:
    """Go on with a restored journal.

    One person does this once, for everybody. A database is restored with its own programs before. Every
    company is closed then: entries dated until today are sent from a plan whose ledger was exported on a
    later day and does not hold them.

    Example: bktools journal restore journal-20261031.sqlite --by Ada --evidence "backup of 31 Oct, disk lost"
    """
    from bktools.journal.restores import restore as put_back

    settings = books.settings()
    done = put_back(settings, source, by=by, evidence=evidence)
    texts = words()
    missing = [
        texts("done.missing", day=line.at[:10], batch=line.batch_id, company=line.company_id)
        for line in done.missing
    ]
    entries, file = texts("placeholder.entries"), texts("placeholder.file")
    compose = f"bktools export compose {entries} --ledger {file}{same(settings)}"
    text.report(
        texts("done.restored", location=done.location, source=source),
        texts("done.set_aside", file=done.set_aside) if done.set_aside else "",
        *missing,
        texts("done.all_closed", command=compose),
        journal=done.location,
        earlier_file=done.set_aside,
        missing=[line.batch_id for line in done.missing],
    )


@app.command("move")
def move(books: options.Environment, text: results.Text, by: str = options.BY) -> None:
    """Move the journal to the empty database of BKTOOLS_JOURNAL.

    It is copied and checked, then the file is closed and kept.

    Example: bktools journal move --by Ada
    """
    from bktools.journal.move import move as to_database
    from bktools.journal.postgres import location_of

    settings = books.settings()
    last = to_database(settings, by=by)
    assert settings.journal is not None
    location, events = location_of(settings.journal), last["event_id"]
    text.report(words()("done.moved", events=events, location=location), journal=location, events=events)
