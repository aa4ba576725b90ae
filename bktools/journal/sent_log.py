"""The log of sent batches, kept outside of the journal's file: it reveals an old copy of the journal.

Each company has one file of lines, each written once. It is kept in two folders of the environment: beside
the journal, and outside of the data folder. A line is written before a batch is sent, with the request's
body, and when its outcome is known. The line names the journal, its last event and the digest of that event.
A journal without the event of the last line, or with another digest for it, is an old copy. A journal that
was moved to a database is known there by its import.
"""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import os
import secrets
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from bktools import disk
from bktools.errors import JournalError, StorageError
from bktools.journal.lock import held
from bktools.journal.records import PATIENCE, Records, command_for, loaded

log = logging.getLogger("bktools")

FOLDER = "sent-log"
ABOUT = "about.json"
SUFFIX = ".log"
SEEN = "seen.json"
MACHINE = "machine"
CHECKSUM = 16  # characters of a line's digest

# States in which nothing was booked.
NOT_BOOKED = frozenset({"PLANNED", "REJECTED", "RELEASED"})


@dataclass(frozen=True)
class SentLine:
    """A line of the sent log: a batch changed its state."""

    # The journal, and its last event.
    journal: str
    event: int
    digest: str
    batch_id: str
    plan_id: str
    company_id: str
    state: str
    # The cause of the batch's state, and its facts as JSON.
    code: str
    facts: str
    at: str
    # The compressed request, only in the line written before sending.
    body: str = ""
    job_id: str = ""


@dataclass(frozen=True)
class Seen:
    """The newest state of a shared database that this machine has seen, whoever wrote it."""

    event: int
    digest: str
    # Server, database, timeline and number of the table of events, see `bktools.journal.postgres`.
    database: str
    # The highest position of the server's log that was on its disk.
    position: int
    # The last restore that this machine confirmed, or that was before its first use; "" for none.
    restore: str
    # The machines that had sent: login and identity of the sent log, null where version 0 did not keep one.
    senders: tuple[tuple[str | None, str | None], ...]


def packed(body: bytes) -> str:
    """Return a request's body compressed, as text for a line."""
    return base64.b64encode(zlib.compress(body)).decode()


def unpacked(text: str) -> bytes:
    """Return a request's body from the text of a line."""
    return zlib.decompress(base64.b64decode(text))


class SentLog:
    """The sent log of an environment on this machine: beside its journal, and outside of the data folder.

    `origin` has the environment and its address.
    """

    def __init__(self, inner: Path, outer: Path, journal: Records, origin: Mapping[str, Any]) -> None:
        self.outer = outer
        self.folders = (inner / FOLDER, outer)
        self.journal = journal
        self._about = {"journal": journal.id, "location": journal.location, **origin}
        # The content and lines read from each file, which only grows; a command may compare it many times.
        self._read: dict[Path, tuple[bytes, list[SentLine]]] = {}

    def write(self, line: SentLine) -> None:
        """Append a line in both folders and flush it to disk. Hold the company's lock."""
        try:
            self.describe()
            for path in self.files_of(line.company_id):
                with disk.storage_errors(path.parent):
                    _append(path, _line(line))
        except StorageError as error:
            raise StorageError(
                f"{error}; set BKTOOLS_SENT_LOG_DIR to a permanent, writable folder"
            ) from error

    def of_all(self) -> dict[str, list[SentLine]]:
        """Return the lines of each company."""
        names = {path.name for folder in self.folders for path in folder.glob(f"*{SUFFIX}")}
        logs = map(self._lines, sorted(names))
        return {lines[0].company_id: lines for lines in logs if lines}

    def files_of(self, company_id: str) -> list[Path]:
        """Return the files of a company's lines, one in each folder."""
        return [folder / _name(company_id) for folder in self.folders]

    def are_known_outside(self) -> bool:
        """Whether this user of this machine has sent with the journal before, or confirmed it."""
        return (self.folders[1] / ABOUT).exists()

    def have_sent(self) -> bool:
        """Whether this machine has sent with the journal."""
        return any(path for folder in self.folders for path in folder.glob(f"*{SUFFIX}"))

    def merge(self, more: Mapping[str, Sequence[SentLine]] | None = None) -> None:
        """Write the lines of both folders, merged, to each of them, after further lines by company."""
        more = more or {}
        for company_id in {**self.of_all(), **more}:
            name = _name(company_id)
            # Read again under the lock: another process may have begun to send.
            with self.alone(company_id):
                lines = dict.fromkeys([*more.get(company_id, ()), *self._lines(name)])
                self.replace(name, b"".join(map(_line, lines)))
        self.describe()

    def machine(self) -> str:
        """Return the random identity of this sent log. A machine that lost both folders is another one."""
        with self._locked(MACHINE):
            texts = [_content(folder / MACHINE).decode(errors="ignore") for folder in self.folders]
            machines = [text for text in texts if text]
            machine = machines[-1] if machines else secrets.token_hex(4)
            if len(machines) < len(self.folders):
                self.replace(MACHINE, machine.encode())
        return machine

    def seen(self) -> list[Seen]:
        """Return what this machine has seen of a shared database, by folder; nothing before the first use."""
        contents = ((_content(folder / SEEN), folder / SEEN) for folder in self.folders)
        bodies = (body for content, path in contents for body in _bodies(content, path))
        return [
            Seen(**body | {"senders": tuple((login, machine) for login, machine in body["senders"])})
            for body in bodies
        ]

    def see(self, newest: Seen, *, anew: bool = False) -> None:
        """Write what this machine has seen, unless another process has seen more.

        After a person confirmed a restored database, it counts `anew` also where it is less.
        """
        with self._locked(SEEN):
            has_more = [
                (seen.event, seen.position) >= (newest.event, newest.position) for seen in self.seen()
            ]
            if not anew and all(has_more) and len(has_more) == len(self.folders):
                return
            self.describe()
            self.replace(SEEN, _line(newest))

    def lost(self) -> list[SentLine]:
        """Return the lines whose events are missing in the journal, or differ."""
        return [line for lines in self.of_all().values() for line in lost(self.journal, lines)]

    def require_current(self) -> None:
        """Refuse to send when an event that the sent log names is missing in the journal, or differs."""
        missing = self.lost()
        if not missing:
            return
        first, restore = min(missing, key=lambda line: line.at), self._command("journal restore")
        batches, companies = (
            {getattr(line, name) for line in missing} for name in ("batch_id", "company_id")
        )
        raise JournalError(
            f"the journal {self.journal.location} is an old copy: {len(batches)} batches of "
            f"{len(companies)} companies, sent since {first.at[:19]} UTC, are missing in it (the first is "
            f"{first.batch_id} of company {first.company_id}): nothing was sent; "
            f"restore a newer backup with {restore} FILE --by NAME, or keep this copy with {restore} --by "
            "NAME: a batch is UNKNOWN then if its line in the sent log has no job"
        )

    def _command(self, words: str) -> str:
        return command_for(self._about["environment"], words)

    def alone(self, company_id: str) -> AbstractContextManager[None]:
        """Hold a lock: no other copy of this user's journal starts to send for the company meanwhile."""
        return self._locked(_name(company_id))

    def _lines(self, name: str) -> list[SentLine]:
        """Return the lines of a file, merged from both folders."""
        (content, lines), (other, others) = (self._content_of(folder / name) for folder in self.folders)
        # Both folders have the same, unless one of them lost something.
        return lines if content == other else _joined([lines, others])

    def _content_of(self, path: Path) -> tuple[bytes, list[SentLine]]:
        content = _content(path)
        before, lines = self._read.get(path, (b"", []))
        if not content.startswith(before):
            before, lines = b"", []
        lines = [*lines, *(SentLine(**body) for body in _bodies(content[len(before) :], path))]
        # A last line that is not whole yet is read again.
        if content.endswith(b"\n"):
            self._read[path] = content, lines
        return content, lines

    def journal_in_use(self) -> dict[str, Any]:
        """Return this machine's facts about the environment's journal, nothing before the first sending."""
        return read_about(self.outer) or read_about(self.folders[0])

    def require_own(self) -> None:
        """Refuse a second journal of the environment, unless the history of the known one was moved here."""
        known = self.journal_in_use()
        if known and known["journal"] != self.journal.id and known["journal"] not in imports(self.journal):
            raise another_journal(known, self.journal.location)

    def describe(self) -> None:
        """Write which journal the environment has, unless it stands there; refuse a second one."""
        content = json.dumps(self._about, indent=1).encode()
        if any(_content(folder / ABOUT) != content for folder in self.folders):
            # When two journals begin at the same time, the second one finds the first.
            with self._locked(ABOUT):
                self.require_own()
                self.replace(ABOUT, content)

    def replace(self, name: str, content: bytes) -> None:
        """Replace a file's content in both folders.

        The outer folder comes first, because it shows that this machine has sent.
        """
        for folder in reversed(self.folders):
            with disk.storage_errors(folder):
                disk.replace_content(disk.private_folder(folder) / name, content)

    def _locked(self, name: str) -> AbstractContextManager[None]:
        path = self.outer / "locks" / f"{name}.lock"
        return held(
            path,
            PATIENCE,
            lambda: f"another process has held {path} for {PATIENCE:g} s: nothing was sent; run again later",
        )


def imports(journal: Records) -> dict[str, int]:
    """Return the journals whose history was moved to this one, with the last event that came from each."""
    rows = journal.rows("SELECT facts FROM events WHERE code = 'imported' ORDER BY event_id")
    return {facts["journal"]: facts["last_event"] for facts in map(loaded, (row["facts"] for row in rows))}


def lost(journal: Records, lines: Sequence[SentLine]) -> list[SentLine]:
    """Return the lines whose events are missing in a journal.

    Each digest includes the one before, so when the last line matches, all of them do.
    """

    def is_known(line: SentLine, moved: Mapping[str, int]) -> bool:
        if line.journal == journal.id:
            return journal.digest_at(line.event) == line.digest
        return line.event <= moved.get(line.journal, -1)

    if not lines or is_known(lines[-1], moved := imports(journal)):
        return []
    return [line for line in lines if not is_known(line, moved)]


def at_risk(lines: Iterable[SentLine]) -> list[SentLine]:
    """Return, for each batch that may have been booked, its last line, with the request body."""
    last: dict[str, SentLine] = {}
    for line in lines:
        before = last.get(line.batch_id)
        last[line.batch_id] = line if line.body or before is None else replace(line, body=before.body)
    return [line for line in last.values() if line.state not in NOT_BOOKED]


def read_about(folder: Path) -> dict[str, Any]:
    """Return journal, location, environment and address from a sent log's folder; nothing without one."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(about, dict):
        return {}
    if "addresses" in about:
        # As version 0 wrote it.
        addresses = [*about["addresses"], ""]
        about = {
            "journal": about["journal"],
            "location": about["path"],
            "environment": "",
            "address": addresses[0],
        }
    return {"journal": "", "location": "", "environment": "", "address": ""} | about


def another_journal(known: Mapping[str, Any], location: str) -> JournalError:
    """Return the error for a second journal of an environment, with the way to the one in use here."""
    where = known["location"]
    way_out = (
        "set BKTOOLS_JOURNAL to that database, or put it into the config file as journal"
        if where.startswith("postgresql://")
        else f"move it there first ({command_for(known['environment'] or known['address'], 'journal move')} "
        "--by NAME)"
        if location.startswith("postgresql://")
        else f"set BKTOOLS_DATA_DIR to {Path(where).parent.parent}, or put that file back"
    )
    name = known["environment"] or known["address"]
    return JournalError(
        f"this machine sends for {name} with the journal {where} ({known['journal'][:8]}), "
        f"not with {location}: nothing was sent or changed; {way_out}"
    )


def _name(company_id: str) -> str:
    return f"{hashlib.sha256(company_id.encode()).hexdigest()[:32]}{SUFFIX}"


def _append(path: Path, line: bytes) -> None:
    is_new = not path.exists()
    path.touch(disk.PRIVATE_FILE)
    with path.open("ab+") as file:
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            # Start a new line after one that a kill cut short.
            line = line if file.read(1) == b"\n" else b"\n" + line
        file.write(line)
        file.flush()
        os.fsync(file.fileno())
    if is_new:
        disk.folder_to_disk(path.parent)


def _line(content: SentLine | Seen) -> bytes:
    body = json.dumps(asdict(content))
    return f"{_checksum(body)} {body}\n".encode()


def _checksum(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:CHECKSUM]


def _bodies(content: bytes, path: Path) -> list[dict[str, Any]]:
    """Return what the lines of a file hold, without the damaged ones, which the other folder has."""
    bodies = []
    for line in filter(None, content.splitlines()):
        checksum, _, body = line.decode("ascii", errors="replace").strip().partition(" ")
        if checksum == _checksum(body):
            bodies.append(json.loads(body))
        else:
            log.warning("skipped a damaged line of %s", path)
    return bodies


def _content(path: Path) -> bytes:
    """Return the content of a file, nothing where there is none."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError as error:
        raise StorageError(
            f"the sent log in {path} cannot be read: {error.strerror or error}; nothing was sent"
        ) from error


def _joined(logs: Sequence[list[SentLine]]) -> list[SentLine]:
    """Merge the lines of both folders in the order of writing.

    Lines that both folders have divide each list into parts. Inside a part, lines are ordered by event.
    """
    both = set.intersection(*map(set, logs))
    order: dict[SentLine, tuple[int, int]] = {}
    for lines in logs:
        step, event = 0, 0
        for line in lines:
            # After a restore, events start at a lower number; `max` keeps the lines of one folder in order.
            step, event = (step + 1, 0) if line in both else (step, max(event, line.event))
            order[line] = step, event
    return sorted(order, key=order.__getitem__)
