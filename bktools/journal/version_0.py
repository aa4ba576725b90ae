"""Reads version 0 of the journal: its events were subjects, states and sentences, which only this file reads.

Each event keeps what version 0 had of it, word by word, in the fact `version_0`, and with it its digest in
the chain: what the sent logs of all machines name stays true.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from bktools.frames.schema import ENTRY_DATA
from bktools.journal.records import VERSION_0, Connection, Facts, Row, dumped

# The digests of the texts from which version 0 made its tables, in a file and in a database.
FORMATS = (
    "03245303444380f3596c63912120f883a219ff4f20471b2561b9389bb3c2244a",
    "61995fabe735d57046474734ca62315681e36991fd72d42f34b3a88938a57617",
)
TABLES = (
    "about",
    "accounts",
    "batches",
    "batch_entries",
    "transitions",
    "events",
    "chain",
    "addresses",
    "other_journals",
    "facts",
    "held_back",
)

# How a message of version 0 begins that tells of the rate limit.
_RATE_LIMITED = "not taken up, because the service's rate limit is reached"

_PROCESS = re.compile(r"(?P<login>.*?)(#(?P<machine>[0-9a-f]{8}))? process (?P<process>\d+)", re.DOTALL)

# The code of a batch's event, by its states before and after where a process wrote it, else by the state
# alone.
_CODES = {
    (None, "PLANNED"): "planned",
    ("REJECTED", "PLANNED"): "planned",
    ("RELEASED", "PLANNED"): "planned",
    ("SENDING", "PLANNED"): "not_sent",
    ("PLANNED", "RELEASED"): "replaced",
}
_CODES_OF_STATES = {
    "SENDING": "sending",
    "ACCEPTED": "accepted",
    "REJECTED": "refused",
    "UNKNOWN": "unknown",
    "RELEASED": "settled",
    "PLANNED": "planned",
}

_EVENTS = """
    SELECT events.*, batches.company_id, batches.sender FROM {events} AS events
    LEFT JOIN {batches} AS batches ON subject IN ('batch', 'facts') AND batch_id = subject_id
    ORDER BY event_id
"""
_EVENT = "event_id, at, subject, subject_id, before, after, message, done_by, database_user"


def address_of(connection: Connection, address: str, old: Callable[[str], str]) -> str:
    """Return the address of a journal of version 0: the address asked for if it has that, else the newest."""
    known = [
        row["address"]
        for row in connection.execute(f"SELECT address FROM {old('addresses')} ORDER BY since, address")
    ]
    return address if address in known or not known else known[-1]


def broken_chain(connection: Connection) -> str:
    """Return the line about the first event of version 0 that is not as it was written, "" for none."""
    digest = ""
    for row in connection.execute(
        f"SELECT {_EVENT}, digest FROM events LEFT JOIN chain USING (event_id) ORDER BY event_id"
    ):
        values = [value for name, value in row.items() if name != "digest"]
        digest = hashlib.sha256(json.dumps([digest, *values]).encode()).hexdigest()
        if row["digest"] != digest:
            return f"event {row['event_id']} of {row['at']} was changed after it was written"
    return ""


def copy(connection: Connection, old: Callable[[str], str]) -> None:
    """Copy every row of version 0 into tables of version 1 without rules; `old` names version 0's tables."""
    connection.execute(
        f"INSERT INTO about SELECT * FROM {old('about')} WHERE name NOT IN ('format', 'release')"
    )
    _fill(
        connection,
        "events",
        map(_event, connection.execute(_EVENTS.format(events=old("events"), batches=old("batches")))),
    )
    _fill(connection, "batches", map(_batch, connection.execute(f"SELECT * FROM {old('batches')}")))
    _fill(connection, "accounts", map(_account, connection.execute(f"SELECT * FROM {old('accounts')}")))
    data = ", ".join(ENTRY_DATA)
    for target, source, columns in (
        ("chain", "chain", "event_id, digest"),
        ("batch_entries", "batch_entries", "batch_id, entry_id, live"),
        ("entry_data", "facts", f"batch_id, claim, entry_id, split_line, {data}, period"),
        ("held_back", "held_back", f"close, place, entry_id, split_line, reason, message, {data}"),
    ):
        connection.execute(f"INSERT INTO {target} ({columns}) SELECT {columns} FROM {old(source)}")


def _fill(connection: Connection, table: str, rows: Iterable[dict[str, Any]]) -> None:
    # In lists, because SQLite stops reading one table while it writes another with the same cursor.
    for row in list(rows):
        names = ", ".join(row)
        connection.execute(
            f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(row))})", [*row.values()]
        )


def _event(row: Row) -> dict[str, Any]:
    said = _said(row)
    facts = dict(said.pop("facts")) | {
        VERSION_0: [row[name] for name in ("subject", "subject_id", "before", "after", "message", "done_by")]
    }
    about = {"event_id": row["event_id"], "at": row["at"], "database_user": row["database_user"]}
    writer, sender = _writer(row["done_by"]), _writer(row["sender"] or "")
    # The row of a batch has the identity of the machine that sent it.
    if said["code"] == "sending" and writer.get("process") == sender.get("process"):
        writer = sender
    return {**about, **writer, **said, "facts": dumped(facts)}


def _said(row: Row) -> dict[str, Any]:
    """Return what an event of version 0 says, in the columns and facts of version 1."""
    thing, after, message = row["subject_id"], row["after"], row["message"]
    told: Facts = {"message": message} if message else {}
    company_id, period = thing[:36], thing[37:]
    match row["subject"], after:
        case "batch", _:
            code, facts = code_of(
                row["before"], after, message, by_person=not _PROCESS.fullmatch(row["done_by"])
            )
            said = {
                "code": code,
                "state": after,
                "company_id": row["company_id"],
                "batch_id": thing,
                "facts": facts,
            }
        case "facts", _:
            code, facts = (
                ("entries_kept", {"sha256": message}) if after == "KEPT" else ("entries_not_kept", told)
            )
            said = {"code": code, "company_id": row["company_id"], "batch_id": thing, "facts": facts}
        case "period", _:
            code, reason = (
                f"period_{'closed' if after == 'CLOSED' else 'opened'}",
                {"reason": message} if message else {},
            )
            said = {"code": code, "state": after, "company_id": company_id, "period": period, "facts": reason}
        case "close", _:
            said = {
                "code": "close_applied",
                "company_id": company_id,
                "period": period,
                "facts": json.loads(message),
            }
        case "account", _:
            company_id, external_id = json.loads(thing)
            facts = {"external_id": external_id, **told}
            said = {"code": "account", "state": after, "company_id": company_id, "facts": facts}
        case "chart", _:
            said = {"code": "chart_used", "company_id": thing, "facts": {"chart": json.loads(message)}}
        case "restore", _:
            facts = {"restore": thing, **json.loads(message)}
            facts |= {"senders": [_sender(name) for name in facts["senders"]]} if "senders" in facts else {}
            facts |= {"sender": _sender(facts["sender"])} if "sender" in facts else {}
            said = {"code": f"restore_{after.lower()}", "company_id": facts.get("company_id"), "facts": facts}
        case "journal", "imported" | "moved":
            said = {
                "code": after,
                "facts": {"journal": thing, **json.loads(message)}
                if after == "imported"
                else {"to": message},
            }

        case subject, _:
            said = {"code": f"{subject}_{after.lower()}", "facts": {"about": thing, **told}}
    return said


def code_of(before: str | None, after: str, message: str | None, *, by_person: bool) -> tuple[str, Facts]:
    """Return the code and the facts of a batch's event."""
    told: Facts = {"message": message} if message else {}
    if by_person and before == "UNKNOWN" and message:
        return "settled", {"evidence": message}
    if by_person and (before, after) == ("PLANNED", "RELEASED") and message:
        return "withdrawn", {"evidence": message}
    if (before, after) == ("SENDING", "PLANNED") and (message or "").startswith(_RATE_LIMITED):
        return "rate_limited", told
    return _CODES.get((before, after)) or _CODES_OF_STATES[after], told


def _writer(done_by: str) -> dict[str, Any]:
    process = _PROCESS.fullmatch(done_by)
    if process is None:
        return {"person": done_by}
    return {"login": process["login"], "machine": process["machine"], "process": int(process["process"])}


def _batch(row: Row) -> dict[str, Any]:
    kept = (
        "batch_id",
        "company_id",
        "state",
        "entries",
        "body",
        "body_sha256",
        "plan_id",
        "job_id",
        "job",
        "planned_at",
        "sent_at",
        "settled_at",
        "settled_by",
        "changed_at",
    )
    writer = _writer(row["changed_by"])
    by_person = writer.pop("person", None) is not None
    before = "UNKNOWN" if by_person and row["state"] == "ACCEPTED" else "SENDING" if row["sent_at"] else None
    if row["state"] == "RELEASED":
        before = "UNKNOWN" if by_person and row["sent_at"] else "PLANNED"
    code, facts = code_of(before, row["state"], row["message"], by_person=by_person)
    # Events name the sender of a request; the row of a batch that is being sent does, too.
    writer = _writer(row["sender"]) if row["state"] == "SENDING" and row["sender"] else writer
    return {name: row[name] for name in kept} | writer | {"code": code, "facts": dumped(facts)}


def _account(row: Row) -> dict[str, Any]:
    account = {name: value for name, value in row.items() if name != "message"}
    return account | {"facts": dumped({"message": row["message"]} if row["message"] else {})}


def lines_of(bodies: Iterable[dict[str, Any]], journal_id: str) -> Iterator[dict[str, Any]]:
    """Yield the lines of a sent log of version 0 as lines of version 1."""
    for body in bodies:
        message = body.pop("message")
        yield body | {
            "journal": journal_id,
            "code": _CODES_OF_STATES[body["state"]],
            "facts": dumped({"message": message} if message else {}),
        }


def answer_of(state: str, message: str) -> dict[str, Any]:
    """Return state, code and facts of an answer that version 0 kept on this machine."""
    code, facts = code_of("SENDING", state, message, by_person=False)
    return {"state": state, "code": code, "facts": facts}


def seen_of(body: dict[str, Any]) -> dict[str, Any]:
    """Return what a machine had seen of a shared database in the words of version 1."""
    return body | {"senders": [_sender(name) for name in body["senders"]]}


def _sender(name: str) -> list[str | None]:
    """Return login and identity of a machine from its name."""
    login, _, machine = name.rpartition("#")
    return [login, machine] if login else [machine, None]


def bodies(content: bytes) -> Iterator[dict[str, Any]]:
    """Yield the whole lines of a file of the sent log."""
    for line in content.splitlines():
        checksum, _, body = line.decode("ascii", errors="replace").strip().partition(" ")
        if body and checksum == _checksum(body):
            yield json.loads(body)


def seen_of_file(content: bytes) -> bytes:
    """Return the file of what a machine had seen of a shared database in the words of version 1."""
    lines = [json.dumps(seen_of(body)) for body in bodies(content)]
    return "".join(f"{_checksum(line)} {line}\n" for line in lines).encode()


def _checksum(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:16]
