"""Where an environment's journal lies, which journals of an address are known here, and the old folders."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import platformdirs

from bktools import disk
from bktools.caller import in_shell
from bktools.errors import JournalError, StorageError
from bktools.journal import version_0
from bktools.journal.lock import held
from bktools.journal.records import PATIENCE, Records
from bktools.journal.sent_log import ABOUT, MACHINE, SEEN, SentLine, SentLog, read_about
from bktools.settings import Settings, folder_name_of, name_of

FILE = "journal.sqlite"

# Names of version 0: the sent log beside a journal and of the sandbox, the databases' folder, the pointer.
_MARKS, _SUFFIX, _OUTER_OF_SANDBOX, _SHARED, _ELSEWHERE = (
    "marks",
    ".marks",
    "outer-marks",
    "shared",
    "journal-is-in.json",
)


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
    known = {about["environment"] for about in journals_of_address(settings)} - {""}
    # Several are an error as soon as something is to be written.
    return known.pop() if len(known) == 1 else name_of(settings.environment)


def folder_of(settings: Settings) -> Path:
    """Return the folder of the journal of the settings."""
    return settings.data_dir / folder_name_of(environment_of(settings))


def outer_folder(settings: Settings) -> Path:
    """Return the sent log's folder outside of the data folder; the sandbox's is removed with its state."""
    if settings.is_sandbox:
        return settings.state_dir / "sent-log-outside"
    return settings.sent_log_dir / folder_name_of(environment_of(settings))


def journals_of_address(settings: Settings) -> list[dict[str, Any]]:
    """Return what this machine knows of all journals of the address, from the outer sent logs."""
    if settings.is_sandbox:
        return []
    folders = [
        folder for root in _roots(settings) for folder in sorted(root.glob("*/")) if (folder / ABOUT).exists()
    ]
    abouts = [read_about(folder) for folder in folders]
    return [about for about in abouts if about and about["address"] == settings.identity]


def other_names(settings: Settings) -> list[dict[str, Any]]:
    """Return what this machine knows of journals of the address under other environments' names."""
    own = environment_of(settings)
    return [about for about in journals_of_address(settings) if about["environment"] not in {"", own}]


def require_one_environment(settings: Settings) -> None:
    """Refuse an address whose journal lies under another environment's name; both are named, and the way."""
    own = environment_of(settings)
    for about in other_names(settings):
        rename = f"journal rename {in_shell(about['environment'])} {in_shell(own)} --by NAME"
        raise JournalError(
            f"the address {settings.identity} has its journal under the environment {about['environment']!r} "
            f"({about['location']}), and is now used as {own!r}: nothing was sent or changed; "
            f"use one name for it, or give its journal the new name: bktools {rename}"
        )


def _roots(settings: Settings) -> list[Path]:
    """Return the folders outside of data folders that hold sent logs, with the default one of version 0."""
    roots = [settings.sent_log_dir]
    if settings.sources.get("sent_log_dir") == "default":
        roots.append(platformdirs.user_state_path("bktools-marks"))
    return roots


# Files of version 0 on disk


def take_folder_of_version_0(settings: Settings) -> None:
    """Rename the folder of version 0, which was named by a digest of the address, after the environment."""
    own = folder_of(settings)
    first = settings.data_dir / hashlib.sha256(settings.identity.encode()).hexdigest()[:32]
    if settings.is_sandbox or (own / FILE).exists() or not first.exists():
        return
    source = _pointed_to(first)
    with held(
        settings.data_dir / "upgrade.lock",
        PATIENCE,
        lambda: f"another process upgrades {own}: run again later",
    ):
        if (own / FILE).exists() or not source.exists():
            return
        with disk.storage_errors(own):
            # Nothing of the journal is in the new folder yet.
            renamed(source, own)


def renamed(old: Path, new: Path) -> None:
    """Rename a folder. If the new name exists and holds no journal, its files that the other lacks stay."""
    if new.exists():
        # A folder never replaces another one.
        for child in new.iterdir():
            if not (old / child.name).exists():
                child.rename(old / child.name)
        shutil.rmtree(new)
    old.rename(new)
    disk.folder_to_disk(new.parent)


def _pointed_to(first: Path) -> Path:
    """Return the folder of version 0 that holds the journal: an address could share that of another one."""
    try:
        pointer = json.loads((first / _ELSEWHERE).read_text(encoding="utf-8"))
        source = first.parent / Path(pointer["folder"]).name
    except FileNotFoundError:
        return first
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise StorageError(f"{first / _ELSEWHERE} cannot be read: {error}") from error
    if not (source / FILE).exists():
        raise JournalError(
            f"version 0 kept the journal of this address with that of another one, in {source}, "
            "which is now the journal of an environment: nothing was sent or changed; "
            "use that environment, with the address that it has now"
        )
    return source


def take_sent_log_of_version_0(sent_log: SentLog, folder: Path, settings: Settings, journal: Records) -> bool:
    """Read the sent log of version 0 into that of the environment, once; return whether there was one."""
    # Both: a process may have been killed between the two.
    if all((each / ABOUT).exists() for each in sent_log.folders):
        return False
    inner = [folder / _MARKS, folder / _SHARED / journal.id / _MARKS]
    roots = [folder / _OUTER_OF_SANDBOX] if settings.is_sandbox else _roots(settings)
    outer = [
        each
        for root in roots
        for each in sorted(root.glob("*/"))
        if each.name == journal.id or _is_of(each, settings)
    ]
    folders = [each for each in (*inner, *outer) if (each / ABOUT).exists()]
    if not folders:
        return False
    lines: dict[str, list[SentLine]] = {}
    for each in folders:
        for line in _lines_of(each):
            lines.setdefault(line.company_id, []).append(line)
    own = [each for each in folders if read_about(each)["journal"] == journal.id]
    for name in (MACHINE, SEEN):
        contents = [(each / name).read_bytes() for each in own if (each / name).exists()]
        if contents:
            sent_log.replace(name, contents[-1] if name == MACHINE else version_0.seen_of_file(contents[-1]))
    sent_log.merge(
        {
            company: sorted(dict.fromkeys(of_company), key=lambda line: line.at)
            for company, of_company in lines.items()
        }
    )
    return True


def _is_of(folder: Path, settings: Settings) -> bool:
    about = read_about(folder)
    # A folder of version 1 has the name of its environment; one of version 0 has none.
    return bool(about) and about["environment"] == "" and about["address"] == settings.identity


def _lines_of(folder: Path) -> Iterator[SentLine]:
    journal_id = read_about(folder)["journal"]
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        for body in version_0.lines_of(version_0.bodies(path.read_bytes()), journal_id):
            yield SentLine(**body)
