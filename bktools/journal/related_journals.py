"""Checks the other journals of the same user: they may have sent an entry that this journal does not know.

A journal belongs to one service. Two spellings of one address share a journal. Whether two different addresses are the
same service, only a person can tell (`bktools journal addresses`); until then, a company that another journal sent for
is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from bktools import disk
from bktools.addresses import normalised
from bktools.contract import rules
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
    """Another journal: its identity, its file or database, and the addresses of its service."""

    id: str
    # "" where it is not known.
    location: str
    addresses: tuple[str, ...]

    @property
    def path(self) -> Path | None:
        """Its file; None for a database, and where it is not known."""
        return None if not self.location or is_database(self.location) else Path(self.location)

    def __str__(self) -> str:
        addresses = ", ".join(self.addresses) or "an unknown address"
        return f"{addresses} (journal {self.id[:8]} in {self.location or 'no file'})"

    def is_named(self, text: str) -> bool:
        """Whether a text names this journal: by an address, or by at least eight characters of its id."""
        # A text that is no address has no normal form.
        with suppress(ValueError):
            if normalised(text) in self.addresses:
                return True
        return len(text) >= 8 and self.id.startswith(text)  # noqa: PLR2004 - as messages show it


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


@dataclass(eq=False)
class RelatedJournals:
    """The other journals of the data folder and of the user of this machine, for the journal in use."""

    own: Records
    folder: Path
    sent_log: SentLog
    # Completes a command for a message, see `Journal.command`.
    command: Callable[[str], str]
    _open: dict[Path, File] = field(default_factory=dict)
    # The journals that were compared with their sent logs when they were opened, as one's own is at the start of a run.
    _current: set[str] = field(default_factory=set)

    def close(self) -> None:
        """Close the other journals that were opened."""
        while self._open:
            self._open.popitem()[1].close()

    def all(self, company_id: str | None = None) -> list[RelatedJournal]:
        """Return every other journal that has sent a batch, for a company or for any, in the data folder or outside."""
        beside = list(self._beside())
        sent = [other for other in beside if _has_sent(self._file(other), company_id)]
        known = {self.own.id, *(other.id for other in (sent if company_id is None else beside))}
        log = self.sent_log
        folders = log.outer.glob("*") if company_id is None else log.folders_of_others(company_id)
        logged = [_from_sent_log(folder) for folder in sorted(folders) if folder.name != "locks"]
        return [*sent, *(other for other in logged if other.id not in known)]

    def relation(self, other: RelatedJournal) -> str | None:
        """Return whether another journal has the same service ("same") or not ("other"); None while that is unknown."""
        named = self.own.row("SELECT relation FROM other_journals WHERE journal_id = ?", other.id)
        if named is not None:
            return str(named["relation"])
        shares_address = bool(set(other.addresses) & set(self.own.addresses()))
        return SAME if shares_address and self._is_beside(other) and self._file(other) is not None else None

    def obstacle(self, company_id: str, batch: BatchRequest | None = None) -> str:
        """Return the reason why another journal blocks a company, or a batch of it; "" when none does.

        A company that another journal sent for waits until a person says whether both have the same service.
        """
        for other in self.all(company_id):
            if self.relation(other) is None:
                return self._question(company_id, other)
        doubts = "SELECT batch_id, state FROM batches WHERE company_id = ? AND state IN ('SENDING', 'UNKNOWN')"
        for other, file, is_same in self._not_of_another_service():
            for row in file.rows(doubts, company_id) if is_same else ():
                return f"batch {row['batch_id']} is {row['state']} in {other}: nothing was sent; resolve it there first"
            reason = "" if batch is None else file.changed_by_hand(batch.entry_ids) or _sent_there(batch, other, file)
            if reason:
                return reason
        return ""

    def folders_of_same(self) -> list[Path]:
        """Return the folders of the journals of the same service."""
        return [file.path.parent for _, file, is_same in self._not_of_another_service() if is_same]

    def say(self, name: str, relation: str, by: str) -> str:
        """Record whether the journal of an address or an id has the same service; return one line about the effect."""
        by = rules.not_blank("by", by)
        named = [other for other in self.all() if other.is_named(name)]
        if len(named) != 1:
            names = "; ".join(map(str, self.all())) or "none"
            raise JournalError(f"{name!r} matches {len(named)} journals: give the id or the address of one of: {names}")
        other = named[0]
        file = self._file(other)
        if relation == SAME:
            if file is None:
                raise JournalError(
                    f"the journal {other} is not found: nothing was recorded; put its file back, or set "
                    "BKTOOLS_DATA_DIR to its data folder"
                )
            is_file = not is_database(self.own.location)
            if is_file and self._is_beside(other) and not _has_sent(self.own):
                _point_to(self.own.addresses()[0], self.folder, file, by)
                return f"from now on {self.own.addresses()[0]} uses the journal {file.path}"
        _relate(self.own, other, relation, by)
        if file is not None:
            _relate(file, RelatedJournal(self.own.id, self.own.location, tuple(self.own.addresses())), relation, by)
        effect = "entries sent with it are refused here" if relation == SAME else "the two journals ignore each other"
        return f"{other} has {'the same service' if relation == SAME else 'another service'}: {effect}"

    def _is_beside(self, other: RelatedJournal) -> bool:
        return other.path is not None and other.path.parent.parent == self.folder.parent

    def _question(self, company_id: str, other: RelatedJournal) -> str:
        """Return the message about a journal that sent for a company and may have the same service."""
        addresses, restore = self.command("journal addresses"), self.command("journal restore")
        name, what = other.id[:8], str(other)
        if is_database(other.location):
            same = "set BKTOOLS_JOURNAL to that database"
        elif self._file(other) is None:
            what += ", which is missing"
            same = (
                f"restore a backup ({restore} FILE --by NAME), or go on without one ({restore} --by NAME): a batch is "
                "UNKNOWN then if its line in the sent log holds no job"
            )
        else:
            name = other.addresses[0] if set(other.addresses) - set(self.own.addresses()) else name
            same = f"use its journal, or record it once: {addresses} --same {name} --by NAME"
        return (
            f"company {company_id} was exported before from {what}: nothing was sent. If that is the same service, "
            f"{same}; if it is another service, record it once: {addresses} --other {name} --by NAME"
        )

    def _not_of_another_service(self) -> Iterator[tuple[RelatedJournal, File, bool]]:
        """Yield the journals that may have the same service, with their files, and whether that is known."""
        same = self.own.rows("SELECT journal_id, folder FROM other_journals WHERE relation = 'same'")
        elsewhere = [
            RelatedJournal(row["journal_id"], str(Path(row["folder"], FILE)), ()) for row in same if row["folder"]
        ]
        candidates = {other.id: other for other in (*elsewhere, *self._beside())}
        for other in candidates.values():
            relation = self.relation(other)
            if relation != OTHER:
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
                file.require_in_place()
                if other.id not in self._current:
                    # An old copy lacks the batches that were sent after it was made.
                    SentLog(file.path.parent, self.sent_log.outer, file).require_current()
                    self._current.add(other.id)
                yield other, file, relation == SAME

    def _beside(self) -> Iterator[RelatedJournal]:
        """Yield the other journals of the data folder, except the sandbox's, which has no real books."""
        folder = self.folder
        if folder.name == SANDBOX:
            return
        for path in sorted(folder.parent.glob(f"*/{FILE}")):
            if str(path) != self.own.location and path.parent != folder.parent / SANDBOX and path.stat().st_size:
                file = self._opened(path)
                # What a moved journal sent is known from its sent log.
                if file.about("moved_to") is None:
                    yield RelatedJournal(file.id, str(path), tuple(file.addresses()))

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


def _sent_there(batch: BatchRequest, other: RelatedJournal, file: File) -> str:
    """Return which entries of a batch another journal sent; "" for none."""
    for row in file.holding(batch.entry_ids):
        if row["state"] != "PLANNED":
            return (
                f"{row['entries']} entries of batch {batch.batch_id} are in batch {row['batch_id']} of {other}, which is "
                f"{row['state']} (the first is {row['first']}): nothing was sent; compose again without them"
            )
    return ""


def _from_sent_log(folder: Path) -> RelatedJournal:
    """Return the journal that a folder of an outer sent log belongs to."""
    about = read_about(folder)
    return RelatedJournal(str(about["journal"]), str(about["path"]), tuple(map(str, about["addresses"])))


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
