"""Where an environment's journal lies, and this machine's records of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bktools.caller import in_shell
from bktools.journal.memory import Memory, memories
from bktools.settings import SANDBOX, Settings
from bktools.settings.values import environment_name, folder_name_of

FILE = "journal.sqlite"

# What a person fills in: as it is printed, it is refused.
WORD = '--by NAME --evidence "..."'
# The commands that go on with the present journal, and that take a file's history into the database.
RESTORE, MOVE = f"journal restore {WORD}", "journal move --by NAME"


def origin_of(settings: Settings) -> dict[str, str]:
    """Return the environment and the address that a journal is opened for."""
    return {"environment": environment_of(settings), "address": settings.identity}


def is_own(settings: Settings, origin: Mapping[str, Any]) -> bool:
    """Whether a journal's origin is that of the settings; a bare address is its environment's."""
    asked = origin_of(settings)
    return origin == asked or ("://" in asked["environment"] and origin.get("address") == asked["address"])


def environment_of(settings: Settings) -> str:
    """Return the environment's name; for a bare address, the name by which this machine knows its journal."""
    if settings.is_sandbox or "://" not in settings.environment:
        return settings.environment
    known = {memory.environment for memory in memories_of_address(settings)}
    # Several are an error as soon as something is to be written.
    return known.pop() if len(known) == 1 else environment_name(settings.environment)


def folder_of(settings: Settings) -> Path:
    """Return the folder of the journal of the settings."""
    return settings.data_dir / folder_name_of(environment_of(settings))


def machine_folder(settings: Settings) -> Path:
    """Return the folder of this machine's memory and sent log; the sandbox's is removed with its state."""
    if settings.is_sandbox:
        return settings.state_dir / "sent-log"
    return settings.sent_log_dir / folder_name_of(environment_of(settings))


def memories_of_address(settings: Settings) -> list[Memory]:
    """Return this user's memories of journals of the address, whatever their environment is called."""
    if settings.is_sandbox:
        return []
    return [memory for memory in memories(settings.sent_log_dir) if memory.address == settings.identity]


def another_name(settings: Settings) -> dict[str, str] | None:
    """Return under which other name this machine has exported to the address, as facts; None for none."""
    own = environment_of(settings)
    for memory in memories_of_address(settings):
        if memory.environment != own and memory.companies:
            facts = {"before": memory.environment, "asked": own, "address": memory.address}
            return facts | {"other": memory.location}
    return None


def clearing(ids: Iterable[str]) -> str:
    """Return the command that clears entries, by their IDs."""
    return f"export not-booked {' '.join(ids)} {WORD}"


def command_for(environment: str, words: str, company_id: str | None = None) -> str:
    """Return a command ready to be run: it names the environment, and the company where it is given."""
    company = f" --company {in_shell(company_id)}" if company_id else ""
    where = "--sandbox" if environment == SANDBOX else f"--environment {in_shell(environment)}"
    return f"bktools {words}{company} {where}"
