"""Checks the other journals of the same user: they may have sent an entry that this journal does not know.

A journal belongs to one service. Two spellings of one address share a journal. Whether two different addresses are the
same service, only a person can tell (`bktools journal addresses`); until then, a company that another journal sent for
is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bktools import disk
from bktools.addresses import normalised
from bktools.errors import JournalError, StorageError
from bktools.frames.batches import BatchRequest
from bktools.journal.postgres import is_database
from bktools.journal.records import Connection, Records, now, record_event
from bktools.journal.sent_log import SentLog, read_about
from bktools.journal.sqlite import File
from bktools.settings import SANDBOX, Settings

FILE = "journal.sqlite"

# This file names the folder of the journal to use, where a person said that two addresses are one service.
ELSEWHERE = "journal-is-in.json"

SAME = "same"
OTHER = "other"

# States in which a batch was sent, or may have been sent.
_SENT = "('SENDING', 'ACCEPTED', 'UNKNOWN')"


@dataclass(frozen=True)
class RelatedJournal:
    """Another journal.

    Parameters
    ----------
    id : str
        Its identity.
    path : Path, optional
        Its file, where it is known.
    addresses : tuple of str
        The addresses of its service.
    database : str
        Its database, "" for a file.
    """

    id: str
    path: Path | None
    addresses: tuple[str, ...]
    database: str = ""

    def __str__(self) -> str:
        return (
            f"{', '.join(self.addresses) or 'an unknown address'} (journal {self.id[:8]} in "
            f"{self.path or self.database or 'no file'})"
        )

    def is_named(self, text: str) -> bool:
        """Whether a text names this journal: by an address, or by at least eight characters of its id."""
        by_address = "://" in text and normalised(text) in self.addresses
        return by_address or (len(text) >= 8 and self.id.startswith(text))  # noqa: PLR2004 - as messages show it


def folder_of(settings: Settings) -> Path:
    """Return the folder of the journal for the service of the settings."""
    own = settings.state_dir
    if settings.is_sandbox:
        return own
    try:
        about = json.loads((own / ELSEWHERE).read_text(encoding="utf-8"))
        # Only the last part of the path, so that it stays inside the data folder.
        return settings.data_dir / Path(about["folder"]).name
    except FileNotFoundError:
        return own
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise StorageError(f"{own / ELSEWHERE} cannot be read: {error}") from error


class RelatedJournals:
    """The other journals of the data folder and of the user of this machine.

    Parameters
    ----------
    own : Records
        The journal in use.
    folder : Path
        The folder of its service.
    path : Path, optional
        Its file; a database has none.
    sent_log : SentLog
        Its sent log.
    command : callable
        Completes a command for a message, see `Journal.command`.
    """

    def __init__(
        self, own: Records, folder: Path, path: Path | None, sent_log: SentLog, command: Callable[[str], str]
    ) -> None:
        self._own = own
        self._folder = folder
        self._path = path
        self._sent_log = sent_log
        self._command = command
        self._open: dict[Path, File] = {}

    def close(self) -> None:
        """Close the other journals that were opened."""
        while self._open:
            self._open.popitem()[1].close()

    def all(self) -> list[RelatedJournal]:
        """Return every other journal that has sent a batch, in the data folder and outside of it."""
        journals = {other.id: other for other in self._beside() if _has_sent(self._file(other))}
        for folder in sorted(self._sent_log.outer.glob("*")):
            other = _from_sent_log(folder)
            if other.id != self._own.id and folder.name != "locks":
                journals.setdefault(other.id, other)
        return list(journals.values())

    def relation(self, other: RelatedJournal) -> str | None:
        """Return whether another journal has the same service ("same") or not ("other"); None while that is unknown."""
        named = self._own.row("SELECT relation FROM other_journals WHERE journal_id = ?", other.id)
        if named is not None:
            return str(named["relation"])
        shares_address = bool(set(other.addresses) & set(self._own.addresses()))
        return SAME if shares_address and self._is_beside(other) and self._file(other) is not None else None

    def require_none(self, company_id: str) -> None:
        """Refuse a company that another journal sent for, until a person says whether both have the same service.

        Raises
        ------
        JournalError
            With the command that answers this, or with the unresolved batch in another journal of the same service.
        """
        reason = self._question(company_id) or self._doubt(company_id, self._not_of_another_service())
        if reason:
            raise JournalError(reason)

    def obstacle(self, batch: BatchRequest) -> str:
        """Return the reason why another journal blocks a batch, "" when none does."""
        reason = self._question(batch.company_id)
        if reason:
            return reason
        journals = list(self._not_of_another_service())
        return self._doubt(batch.company_id, journals) or self._sent_there(batch, journals)

    def folders_of_same(self) -> list[Path]:
        """Return the folders of the journals of the same service."""
        journals = self._not_of_another_service()
        return [file.path.parent for other, file in journals if self.relation(other) == SAME]

    def say(self, name: str, relation: str, by: str) -> str:
        """Record whether another journal has the same service, and return one line about the effect.

        Parameters
        ----------
        name : str
            An address of the other journal, or its id.
        relation : str
            "same" or "other".
        by : str
            Name of the person who decided it.
        """
        named = [other for other in self.all() if other.is_named(name)]
        if len(named) != 1:
            names = "; ".join(map(str, self.all())) or "none"
            raise JournalError(f"{name!r} matches {len(named)} journals: give the id or the address of one of: {names}")
        other = named[0]
        file = self._file(other)
        if relation == SAME and file is None:
            raise JournalError(
                f"the journal {other} is not found: nothing was recorded; put its file back, or set BKTOOLS_DATA_DIR to its "
                "data folder"
            )
        if relation == SAME and file is not None and self._path and self._is_beside(other) and not _has_sent(self._own):
            _point_to(self._own.addresses()[0], self._folder, file, by)
            return f"from now on {self._own.addresses()[0]} uses the journal {file.path}"
        _relate(self._own, other, relation, by)
        if file is not None:
            _relate(file, RelatedJournal(self._own.id, self._path, tuple(self._own.addresses())), relation, by)
        effect = "entries sent with it are refused here" if relation == SAME else "the two journals ignore each other"
        return f"{other} has {'the same service' if relation == SAME else 'another service'}: {effect}"

    def _is_beside(self, other: RelatedJournal) -> bool:
        return other.path is not None and other.path.parent.parent == self._folder.parent

    def _question(self, company_id: str) -> str:
        """Return the message about another journal that sent for a company and may have the same service, "" if none."""
        for other in self._that_sent_for(company_id):
            if self.relation(other) is not None:
                continue
            say = self._command(f"journal addresses --other {other.id[:8]}")
            if other.database:
                return (
                    f"company {company_id} was exported before from {other}: nothing was sent. If that is the same service, set "
                    f"BKTOOLS_JOURNAL to that database; if it is another service, record it once: {say} --by NAME"
                )
            if self._file(other) is None:
                restore = self._command("journal restore")
                return (
                    f"company {company_id} was exported before from {other}, which is missing: nothing was sent. Restore a "
                    f"backup ({restore} FILE --by NAME), or go on without one ({restore} --by NAME): a batch "
                    f"is UNKNOWN then if its line in the sent log holds no job. If it was another service, record that: {say} "
                    "--by NAME"
                )
            name = other.addresses[0] if len(set(other.addresses) - set(self._own.addresses())) else other.id[:8]
            say = self._command("journal addresses")
            return (
                f"company {company_id} was exported before from {other}: nothing was sent. If that is the same service, "
                f"use its journal, or record it once: {say} --same {name} --by NAME; if it is another service: {say} "
                f"--other {name} --by NAME"
            )
        return ""

    def _doubt(self, company_id: str, journals: Iterable[tuple[RelatedJournal, File]]) -> str:
        sql = "SELECT batch_id, state FROM batches WHERE company_id = ? AND state IN ('SENDING', 'UNKNOWN')"
        for other, file in journals:
            for row in file.rows(sql, company_id) if self.relation(other) == SAME else ():
                return f"batch {row['batch_id']} is {row['state']} in {other}: nothing was sent; resolve it there first"
        return ""

    def _sent_there(self, batch: BatchRequest, journals: Iterable[tuple[RelatedJournal, File]]) -> str:
        sql = f"""
            SELECT batch_id, state, count(*) AS entries, min(entry_id) AS first
            FROM batch_entries JOIN batches USING (batch_id)
            WHERE entry_id IN (SELECT id FROM wanted) AND live = 1 AND state IN {_SENT} GROUP BY batch_id
        """
        for other, file in journals:
            reason = file.changed_by_hand(batch.entry_ids)
            if reason:
                return reason
            for row in file.rows(sql):
                return (
                    f"{row['entries']} entries of batch {batch.batch_id} are in batch {row['batch_id']} of {other}, which is "
                    f"{row['state']} (the first is {row['first']}): nothing was sent; compose again without them"
                )
        return ""

    def _that_sent_for(self, company_id: str) -> Iterator[RelatedJournal]:
        beside = {other.id: other for other in self._beside()}
        yield from (other for other in beside.values() if _has_sent(self._file(other), company_id))
        named = [_from_sent_log(folder) for folder in self._sent_log.folders_of_others(company_id)]
        yield from (other for other in named if other.id not in beside)

    def _not_of_another_service(self) -> Iterator[tuple[RelatedJournal, File]]:
        same = self._own.rows("SELECT journal_id, folder FROM other_journals WHERE relation = 'same'")
        elsewhere = [RelatedJournal(row["journal_id"], Path(row["folder"]) / FILE, ()) for row in same if row["folder"]]
        candidates = {other.id: other for other in (*elsewhere, *self._beside())}
        for other in candidates.values():
            if self.relation(other) != OTHER:
                file = self._file(other)
                if file is None:
                    raise JournalError(
                        f"the journal {other} of the same service is missing: nothing was sent; put its file back"
                    )
                moved = file.about("moved_to")
                if moved:
                    raise JournalError(
                        f"the history of the journal {other} was moved to {moved}: nothing was sent; set BKTOOLS_JOURNAL to that "
                        "database"
                    )
                # An old copy lacks the batches that were sent after it was made.
                SentLog(file.path.parent, self._sent_log.outer, other.id).require_current(file)
                yield other, file

    def _beside(self) -> Iterator[RelatedJournal]:
        """Yield the other journals of the data folder, except the sandbox's, which has no real books."""
        folder = self._folder
        if folder.name == SANDBOX:
            return
        for path in sorted(folder.parent.glob(f"*/{FILE}")):
            if path != self._path and path.parent != folder.parent / SANDBOX and path.stat().st_size:
                file = self._opened(path)
                # What a moved journal sent is known from its sent log.
                if file.about("moved_to") is None:
                    yield RelatedJournal(file.id, path, tuple(file.addresses()))

    def _file(self, other: RelatedJournal) -> File | None:
        if other.path is None or not other.path.exists():
            return None
        file = self._opened(other.path)
        # Another journal may have taken its path.
        return file if file.id == other.id else None

    def _opened(self, path: Path) -> File:
        if path not in self._open:
            self._open[path] = File(path)
        return self._open[path]


def _has_sent(file: Records | None, company_id: str | None = None) -> bool:
    """Whether a journal sent a batch, for one company or for any; False when it cannot be opened."""
    sql = f"SELECT 1 FROM batches WHERE state IN {_SENT} AND (CAST(?1 AS TEXT) IS NULL OR company_id = ?1) LIMIT 1"
    return file is not None and bool(file.rows(sql, company_id))


def _from_sent_log(folder: Path) -> RelatedJournal:
    """Return the journal that a folder of an outer sent log belongs to."""
    about = read_about(folder)
    location = str(about["path"])
    addresses = tuple(map(str, about["addresses"]))
    if is_database(location):
        return RelatedJournal(str(about["journal"]), None, addresses, location)
    return RelatedJournal(str(about["journal"]), Path(location) if location else None, addresses)


def _point_to(address: str, folder: Path, file: File, by: str) -> None:
    """Make an address that has not sent yet use the journal of another address."""
    with file.transaction() as connection:
        connection.execute(
            "INSERT INTO addresses VALUES (?, ?, ?) ON CONFLICT DO NOTHING", (address, now().isoformat(), by)
        )
        record_event(connection, "address", address, None, SAME, "the same service", by)
    about = json.dumps({"folder": file.path.parent.name, "by": by, "at": now().isoformat()})
    with disk.storage_errors(folder):
        disk.replace_content(folder / ELSEWHERE, about.encode())


def relate(connection: Connection, journal_id: str, relation: str, folder: str | None, by: str) -> None:
    """Write whether another journal has the same service, and its folder where it is a file."""
    connection.execute(
        "INSERT INTO other_journals VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (journal_id) DO UPDATE SET relation = ?2, "
        "folder = ?3, said_by = ?4, said_at = ?5",
        (journal_id, relation, folder, by, now().isoformat()),
    )


def _relate(file: Records, other: RelatedJournal, relation: str, by: str) -> None:
    with file.transaction() as connection:
        relate(connection, other.id, relation, str(other.path.parent) if other.path else None, by)
        record_event(connection, "journal", other.id, None, relation, str(other), by)
