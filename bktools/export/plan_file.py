"""Saves a plan as a file, so that one person can prepare it and another one approve and submit it.

The file is a zip archive of `plan.json` (options, skipped checks, author, service, hashes) and the frames as
Parquet. Batches and totals are not saved, but computed again from the entries.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from bktools import disk
from bktools.errors import PlanError
from bktools.export.plan import ExportOptions, ExportPlan
from bktools.frames.unpacking import MIB, UNPACKED, archive_size, parquet_table

HEAD = "plan.json"
LARGEST_HEAD = 64 * MIB
FRAMES = ("entries", "not_ready", "findings")

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
    """Write a plan to a new file that only you can read, completely or not at all."""
    plan.verify()
    tables = plan.rows, plan.held, plan.finding_facts
    members = {f"{name}.parquet": _parquet(table) for name, table in zip(FRAMES, tables, strict=True)}
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
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in members.items()},
    }
    head |= {"digest": _digest(head)}
    members[HEAD] = json.dumps(head, indent=2, ensure_ascii=False, default=str).encode()
    with disk.new_file(path, "the plan"):
        return disk.write_whole(path, lambda file: _archive(file, members))


def _archive(file: IO[bytes], members: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def read_plan(path: Path) -> PlanFile:
    """Read and verify a plan file; one that is damaged or was changed is a `PlanError`."""
    try:
        members = _members(path)
        head = json.loads(members.pop(HEAD))
    except FileNotFoundError:
        raise PlanError(f"the plan {path} was not found: bktools export compose writes one") from None
    except OSError as error:
        raise PlanError(f"the plan {path} cannot be read: {error.strerror}") from error
    except DAMAGE as error:
        raise PlanError(f"{path} is not a plan, or is damaged ({error}): compose it again") from error
    if not isinstance(head, dict):
        raise PlanError(f"{path} is not a plan: compose it again")
    try:
        _refuse_changed(head, members, path)
        tables = {name: parquet_table(data, kind="plan", nested=True)[0] for name, data in members.items()}
        plan = _plan(head, *(tables[f"{frame}.parquet"] for frame in FRAMES))
        plan.verify()
        return PlanFile(plan, *(str(head[name]) for name in ("made_for", "made_by", "made_at")))
    except PlanError:
        raise
    except DAMAGE as error:
        raise PlanError(
            f"the plan {path} was changed after it was written, or is of another version of bktools "
            f"({error}): compose it again"
        ) from error


def _members(path: Path) -> dict[str, bytes]:
    """Return the members of the archive, unpacked after their total size is checked."""
    if path.stat().st_size > UNPACKED:
        raise ValueError("it is too large")
    data = path.read_bytes()
    archive_size(data, kind="plan")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if archive.getinfo(HEAD).file_size > LARGEST_HEAD:
            raise ValueError(f"its {HEAD} is too large")
        return {name: archive.read(name) for name in (HEAD, *(f"{frame}.parquet" for frame in FRAMES))}


def _refuse_changed(head: dict[str, Any], members: Mapping[str, bytes], path: Path) -> None:
    digests = head["sha256"] if isinstance(head["sha256"], dict) else {}
    changed = [
        name for name, data in members.items() if hashlib.sha256(data).hexdigest() != digests.get(name)
    ]
    changed += [name for name in digests if name not in members]
    if head.pop("digest", None) != _digest(head):
        changed.append(HEAD)
    if changed:
        raise PlanError(f"{changed[0]} in the plan {path} was changed after it was written: compose it again")


def _digest(head: Mapping[str, Any]) -> str:
    """Return the digest of the head, without the field `digest`."""
    return hashlib.sha256(json.dumps(head, sort_keys=True, default=str).encode()).hexdigest()


def _plan(head: dict[str, Any], rows: pa.Table, held: pa.Table, findings: pa.Table) -> ExportPlan:
    return ExportPlan(
        rows=rows,
        held=held,
        options=ExportOptions(**head["options"]),
        unchecked=tuple(head["unchecked"]),
        plan_id=head["plan_id"],
        provenance=dict(head["provenance"]),
        journal=str(head["journal"]),
        books=dict(head["books"]),
        _find=lambda: findings,
    )


def _parquet(table: pa.Table) -> bytes:
    data = io.BytesIO()
    pq.write_table(table, data, compression="zstd")
    return data.getvalue()
