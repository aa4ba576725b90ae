"""The one answer to "is this the right journal": tables of conditions, each with its code and its way out.

They are asked in their order, the first one that holds decides, and nothing is written before.
`record_intent` asks them in its own transaction, because a journal may be restored after it was opened. The
sentences are those of the section `journal` of `bktools.wording`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from bktools.errors import JournalError
from bktools.journal.folders import (
    FILE,
    MOVE,
    RESTORE,
    WORD,
    another_name,
    clearing,
    environment_of,
    folder_of,
    is_own,
    origin_of,
)
from bktools.journal.journal import Journal
from bktools.journal.memory import memories
from bktools.journal.records import Facts, File, named
from bktools.journal.sent_log import SentLine
from bktools.journal.sentences import refusal
from bktools.wording import words

# Conditions of a journal that lacks what was sent with it: it stops for everybody who opens it.
STOPS = frozenset({"another_database", "event_missing"})

# The facts of the sentence where the condition holds, None where it does not.
Holds = Callable[[Journal], Facts | None]


def _replaced(journal: Journal) -> Facts | None:
    return None if journal.is_in_place() else {}


def _moved(journal: Journal) -> Facts | None:
    moved = journal.about("moved_to")
    return {"to": moved} if moved and journal.path else None


def _another(name: str) -> Holds:
    """Return the condition that name or address of the journal's environment is another one than asked."""

    def holds(journal: Journal) -> Facts | None:
        origin, asked = journal.origin(), origin_of(journal.settings)
        if is_own(journal.settings, origin) or origin[name] == asked[name]:
            return None
        return {"before": origin[name], "asked": asked[name]}

    return holds


def _another_journal(journal: Journal) -> Facts | None:
    memory = journal.memory()
    if not memory.journal or memory.journal == journal.id or is_new_restore(journal):
        return None
    return {"other": memory.location}


def _history_left_in_file(journal: Journal) -> Facts | None:
    file = folder_of(journal.settings) / FILE
    if journal.path or not file.exists():
        return None
    with File(file) as own:
        is_used = own.newest("sending", "moved") is not None
        return {"other": str(file)} if is_used and own.id != journal.id else None


def _another_database(journal: Journal) -> Facts | None:
    recorded = journal.newest("created", "moved", "restored")
    return None if recorded and journal.token() == recorded.facts["database"] else {}


def _event_missing(journal: Journal) -> Facts | None:
    memory = journal.memory()
    if not memory.event:
        # Without a memory, the sent log alone shows what was sent from here.
        missing = journal.missing_batches(unrecorded=True)
        return {"missing": _ids(missing)} if missing else None
    if journal.digest_at(memory.event) == memory.digest or is_new_restore(journal):
        return None
    return {"missing": _ids(journal.missing_batches())}


def _ids(missing: Iterable[SentLine]) -> str | None:
    return ", ".join(line.batch_id for line in missing) or None


def _another_computer(journal: Journal) -> Facts | None:
    # Machines may share a database, and never a file: each would send from its own copy.
    if not journal.path or journal.settings.is_sandbox or not journal.has_exports():
        return None
    memory, writer = journal.memory(), journal.row(_WRITER)
    is_own = not memory.is_of_another_computer and (writer is None or writer["machine"] == memory.machine)
    return None if is_own else {"folder": str(journal.folder)}


def stopped(journal: Journal) -> Facts | None:
    """Return which machine found that the journal lacks something, where no person has ended that yet."""
    newest = journal.newest("stopped", "restored")
    if newest is None or newest.code == "restored":
        return None
    missing = ", ".join(newest.facts["missing"]) or None
    return {"sender": named(newest.login, newest.machine), "at": newest.at[:19], "missing": missing}


def is_new_restore(journal: Journal) -> bool:
    """Whether a person ended a stop after all that this machine has seen: its memory begins anew.

    A restore older than that memory does not count: what was sent since is missing.
    """
    memory, restored = journal.memory(), journal.newest("restored")
    if restored is None or restored.facts["restore"] == memory.restore or restored.at < memory.at:
        return False
    return memory.journal in {journal.id, restored.facts["replaces"]}


_WRITER = "SELECT machine FROM events WHERE machine IS NOT NULL ORDER BY event_id DESC LIMIT 1"


# By its code, each way in which a journal is not the right one, with the command of the way out, "" where
# it is no command of bktools.
CONDITIONS: dict[str, tuple[Holds, str]] = {
    "replaced": (_replaced, ""),
    "moved": (_moved, ""),
    "another_environment": (_another("environment"), ""),
    "another_address": (_another("address"), "check --accept-address"),
    "another_name": (lambda journal: another_name(journal.settings), ""),
    "another_journal": (_another_journal, RESTORE),
    "history_left_in_file": (_history_left_in_file, MOVE),
    "another_database": (_another_database, RESTORE),
    "event_missing": (_event_missing, RESTORE),
    "stopped": (stopped, RESTORE),
    "another_computer": (_another_computer, RESTORE),
}


def require_right(journal: Journal, *, but: Iterable[str] = ()) -> None:
    """Raise `JournalError` with its code where this is not the right journal; some codes are not asked."""
    for code, (holds, way_out) in CONDITIONS.items():
        facts = None if code in but else holds(journal)
        if facts is not None:
            command = journal.command(way_out) if way_out else ""
            raise refusal(code, location=journal.location, command=command, **facts)


# Conditions of a company


def require_company(journal: Journal, company_id: str, batch_id: str) -> None:
    """Raise `JournalError` with its code where a batch of a company is not sent from this machine."""
    entries = journal.dated_entries(batch_id)
    if error := company_refusal(journal, company_id, entries):
        raise error


def company_refusal(
    journal: Journal,
    company_id: str,
    entries: Iterable[tuple[str, str | None]],
    books: Mapping[str, Any] | None = None,
) -> JournalError | None:
    """Return why entries of a company are not sent from this machine, None where they may be.

    `entries` have ID and date. `books` is what the ledger of a plan shows that is not recorded yet.
    """
    if error := first_export_question(journal, company_id):
        return error
    since = needs_ledger_since(journal)
    if since is None:
        return None
    why, day = since
    lost = journal.lost_entries(company_id)
    day = max([day, *lost.values()])
    shown = journal.found_not_booked(company_id, day)
    if books and (books["exported_at"] or "") > day:
        shown |= {*books["lacks"]}
    waiting = [
        entry
        for entry, date in entries
        if entry not in shown and (entry in lost or not date or date[:10] <= day)
    ]
    if not waiting:
        return None
    next_day = (dt.date.fromisoformat(day) + dt.timedelta(days=1)).isoformat()
    names = (words()(f"placeholder.{name}") for name in ("entries", "file", "day"))
    composing = "export compose {} --ledger {} --exported-at {}".format(*names)
    saying = journal.command(clearing(waiting[:1]), company_id)
    about = {"company": company_id, "day": day, "next_day": next_day, "count": len(waiting)}
    return refusal(
        f"needs_ledger_{why}",
        **about,
        first=waiting[0],
        command=journal.command(composing, company_id),
        not_booked=saying,
    )


def first_export_question(journal: Journal, company_id: str) -> JournalError | None:
    """Return the question before the first export of a company from this machine, None where none is open.

    It is about other people, and about other and earlier computers: that the accounting system is empty is
    no answer, because a request may be on its way.
    """
    if journal.settings.is_sandbox or journal.row(_ANSWERED, company_id):
        return None
    own = environment_of(journal.settings)
    file = words()("placeholder.file")
    importing = f"{journal.command(f'export import {file}', company_id)} {WORD}"
    for memory in memories(journal.settings.sent_log_dir):
        if company_id in memory.companies and memory.environment != own:
            about = {"other": memory.environment, "address": memory.address}
            return refusal("company_of_another_environment", company=company_id, **about)
    return refusal("first_export", company=journal.settings.title_of(company_id), command=importing)


_ANSWERED = """
    SELECT 1 AS one FROM events
    WHERE company_id = $1 AND code IN ('sending', 'exported_elsewhere', 'first_export') LIMIT 1
"""


def needs_ledger_since(journal: Journal) -> tuple[str, str] | None:
    """Return since which day (UTC) this machine needs a ledger to send, and why; None where it needs none.

    Everybody needs one after a restore ("after_restore"), and a machine after its first use of a journal with
    exports ("for_newcomer"). Then only what a ledger of a later day, or a person on a later day, shows not to
    be booked is sent, and entries that are dated later and that nobody's sent log has.
    """
    row = journal.row(_NEEDS_LEDGER, journal.memory().machine)
    if row is None:
        return None
    return ("after_restore" if row["code"] == "restored" else "for_newcomer"), row["at"][:10]


# The latest time of all events until then, because the clock of one machine may be behind.
_NEEDS_LEDGER = """
    SELECT code, (SELECT max(at) FROM events AS until WHERE until.event_id <= events.event_id) AS at
    FROM events WHERE code = 'restored' OR (code = 'joined' AND machine = CAST($1 AS TEXT))
    ORDER BY event_id DESC LIMIT 1
"""


def problems(journal: Journal) -> list[str]:
    """Check the journal's bytes, events and rows, and whether it is the right one; return a line a fault."""
    faults = journal.damage()
    try:
        require_right(journal)
    except JournalError as error:
        faults.append(str(error))
    return faults
