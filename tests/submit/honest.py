"""A person who does what a message says, word by word, and who says what is in the books."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Mapping

import pandas as pd
import typer.testing

import bktools
from bktools.cli.app import app
from bktools.errors import BktoolsError, JournalBusyError, JournalError
from bktools.journal.statements import record_exported_elsewhere, record_not_booked
from bktools.journal.writing import open_for_writing

EVIDENCE = "ledger of November, every entry looked up"
WORD = {"evidence": EVIDENCE, "by": "Ada"}
# Typer builds all commands anew for each line, which takes longer than most of them run.
typer.testing._get_command = functools.cache(typer.main.get_command)  # type: ignore[attr-defined]
# Placeholders of a printed command, with what an honest person writes there.
WORDS = {"NAME": "Ada", '"..."': f'"{EVIDENCE}"', '"accepted|released"': "accepted"}
_PLACEHOLDER = re.compile("|".join(map(re.escape, WORDS)))
_COMMAND = re.compile(r'bktools ([a-z]+(?:-[a-z]+)*(?: (?:"[^"]*"|[^\s;),"]+(?<!\.)|\.(?=\S)))+)')


def printed_commands(text: str) -> list[str]:
    """Return the commands that a text prints, literally, without the name of the program."""
    return _COMMAND.findall(text)


def has_placeholder(command: str) -> bool:
    """Whether a printed command needs a word of a person."""
    return _PLACEHOLDER.search(command) is not None


def filled(command: str) -> str:
    """Return a printed command with name and evidence."""
    return _PLACEHOLDER.sub(lambda each: WORDS[each[0]], command)


def typed(command: str, environment: Mapping[str, str] | None = None) -> tuple[int | None, str]:
    """Run a command in this process; return its exit code, None for an error of bktools, and its text."""
    result = typer.testing.CliRunner().invoke(app, shlex.split(command), env=environment)
    if result.exception is None or isinstance(result.exception, SystemExit):
        return result.exit_code, result.output
    if not isinstance(result.exception, BktoolsError):
        raise result.exception
    return None, str(result.exception)


def settle(service: bktools.Service, booked: Mapping[str, int]) -> list[str]:
    """Settle each batch in doubt as the books have it; return the outcomes, "" for one that must wait."""
    history = bktools.load_export_jobs(entries=True, service=service)
    outcomes = []
    for batch_id, rows in history[history["state"] == "UNKNOWN"].groupby("batch_id"):
        times = {booked.get(entry, 0) for entry in rows["entry_id"]}
        outcome = "accepted" if times == {1} else "released"
        try:
            bktools.resolve_export_job(str(batch_id), outcome, service=service, **WORD)
        except (JournalBusyError, JournalError):
            # It is the day of the request, or the journal is an old copy.
            outcome = ""
        outcomes.append(outcome)
    return outcomes


def say(service: bktools.Service, entries: pd.DataFrame, booked: Mapping[str, int]) -> None:
    """Record of each entry whether it is in the books, on the day after the last request."""
    with open_for_writing(service.settings) as journal:
        sql = "SELECT entry_id FROM batch_entries JOIN batches USING (batch_id) WHERE state IN ($1, $2, $3)"
        sent = {row["entry_id"] for row in journal.rows(sql, "ACCEPTED", "SENDING", "UNKNOWN")}
        for company_id, rows in entries.groupby("company_id"):
            known = journal.exported_elsewhere(str(company_id))
            in_books = [entry for entry in rows["id"] if booked.get(entry)]
            elsewhere = [{"entry_id": entry} for entry in in_books if entry not in sent | {*known}]
            if elsewhere:
                record_exported_elsewhere(journal, str(company_id), elsewhere, **WORD)
            if missing := sorted({*rows["id"]} - {*in_books}):
                record_not_booked(journal, str(company_id), missing, **WORD)


def unknown_to(service: bktools.Service, entries: pd.DataFrame) -> pd.DataFrame:
    """Return the entries that a journal has neither as accepted nor as exported elsewhere.

    These are all entries where the journal cannot be read.
    """
    try:
        history = bktools.load_export_jobs(entries=True, service=service)
        with open_for_writing(service.settings) as journal:
            elsewhere = {*journal.exported_elsewhere()}
    except BktoolsError:
        return entries
    known = {*history.loc[history["state"] == "ACCEPTED", "entry_id"]} | elsewhere
    return entries[~entries["id"].isin(known)]
