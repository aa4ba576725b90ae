"""Saves a plan as a file, so that one person can prepare it and another one approve and submit it.

The file is a zip archive of `plan.json` (options, skipped checks, author, service) and the frames as Parquet.
Batches and totals are not saved, but computed again from the entries. The plan's ID is a digest of these.
"""

from __future__ import annotations

import datetime as dt
import io
import json
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from bktools import disk
from bktools.errors import PlanError
from bktools.export.plan import ExportOptions, ExportPlan
from bktools.frames.parquet import UNPACKED, parquet_table
from bktools.wording import Sentence, reason_of

HEAD = "plan.json"
FRAMES = ("entries.parquet", "not_ready.parquet", "findings.parquet")

# Errors of reading a file with any content.
DAMAGE = (
    zipfile.BadZipFile,
    pa.ArrowException,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    EOFError,
    NotImplementedError,
    RecursionError,
)


@dataclass(frozen=True)
class PlanFile:
    """A verified plan that was read from a file."""

    plan: ExportPlan
    # Identity of the service whose categories, employees and journal it was checked against.
    made_for: str
    # Name of the person who composed it, and the time (ISO 8601, UTC).
    made_by: str
    made_at: str


def write_plan(plan: ExportPlan, path: Path, *, made_for: str, made_by: str) -> Path:
    """Write a plan to a new file that only you can read, completely or not at all.

    A file that has the same plan stays.
    """
    plan.verify()
    tables = plan.rows, plan.held, plan.finding_facts
    members = {name: _parquet(table) for name, table in zip(FRAMES, tables, strict=True)}
    head = {
        "plan_id": plan.plan_id,
        "unchecked": list(plan.unchecked),
        "provenance": plan.provenance,
        "journal": plan.journal,
        "books": plan.books,
        "made_for": made_for,
        "made_by": made_by,
        "made_at": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "options": asdict(plan.options),
    }
    members[HEAD] = json.dumps(head, indent=2, ensure_ascii=False, default=str).encode()
    with suppress(OSError, *DAMAGE):
        if _but_author(_members(path)) == _but_author(members):
            return path
    with disk.new_file(path):
        return disk.write_whole(path, lambda file: _archive(file, members))


def _but_author(members: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the members of a file, with the head as data, without who made it and when."""
    return {**members, HEAD: json.loads(members[HEAD]) | dict.fromkeys(("made_by", "made_at"))}


def _archive(file: IO[bytes], members: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def read_plan(path: Path) -> PlanFile:
    """Read a plan file; one that is damaged, or whose entries were changed, is a `PlanError`."""
    try:
        members = _members(path)
        head = json.loads(members.pop(HEAD))
        rows, held, findings = (parquet_table(members[name], kind="plan", nested=True)[0] for name in FRAMES)
        plan = ExportPlan(
            rows=rows,
            held=held,
            options=ExportOptions(**head["options"]),
            unchecked=tuple(head["unchecked"]),
            plan_id=head["plan_id"],
            provenance=head["provenance"],
            journal=head["journal"],
            books=head["books"],
            _find=None,
        )
        vars(plan)["finding_facts"] = findings
        plan.verify()
        return PlanFile(plan, head["made_for"], head["made_by"], head["made_at"])
    except FileNotFoundError:
        raise PlanError(Sentence("plan.not_found", path=path)) from None
    except PlanError:
        raise
    except OSError as error:
        raise PlanError(Sentence("plan.unreadable", path=path, reason=reason_of(error))) from error
    except DAMAGE as error:
        raise PlanError(Sentence("plan.damaged", path=path, reason=error)) from error


def _members(path: Path) -> dict[str, bytes]:
    """Return the members of the archive, unpacked after their total size is checked."""
    with zipfile.ZipFile(path) as archive:
        if sum(member.file_size for member in archive.infolist()) > UNPACKED:
            raise ValueError("it is too large")
        return {name: archive.read(name) for name in (HEAD, *FRAMES)}


def _parquet(table: pa.Table) -> bytes:
    data = io.BytesIO()
    pq.write_table(table, data, compression="zstd")
    return data.getvalue()
