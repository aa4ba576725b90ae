"""Saves a plan as a file, so that one person can prepare it and another one approve and submit it.

The file is a zip archive of `plan.json` (options, skipped checks, author, service, hashes) and the frames as Parquet. A plan
that does not fit in memory is a folder of the same members. Totals are not saved, but computed again from the entries.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from bktools import disk
from bktools.errors import PlanError, StorageError
from bktools.export.findings import FOUND
from bktools.export.plan import BATCHES, SENT, TOTALS_BY, ExportOptions, ExportPlan, added_totals, totals_of
from bktools.export.stored import StoredPlan, StoredTable
from bktools.frames.schema import TEXT, to_arrow, to_pandas
from bktools.frames.unpacking import MIB, UNPACKED, archive_size, parquet_table

HEAD = "plan.json"
LARGEST_HEAD = 64 * MIB
FRAMES = ("batches", "entries", "not_ready", "findings")

# Errors of reading a file with any content.
DAMAGE = (
    zipfile.BadZipFile, pa.ArrowException, LookupError, TypeError, ValueError, AttributeError, EOFError,
    NotImplementedError, RecursionError,
)  # fmt: skip


@dataclass(frozen=True)
class PlanFile:
    """A verified plan that was read from a file.

    Parameters
    ----------
    plan : ExportPlan
        The plan.
    made_for : str
        Identity of the service whose categories, employees and journal it was checked against.
    made_by, made_at : str
        Name of the person who composed it, and the time (ISO 8601, UTC).
    """

    plan: ExportPlan
    made_for: str
    made_by: str
    made_at: str


def write_plan(plan: ExportPlan, path: Path, *, made_for: str, made_by: str) -> Path:
    """Write a plan to a new file that only you can read, completely or not at all.

    Raises
    ------
    PlanError
        When the plan was changed after it was composed.
    StorageError
        When the file exists or cannot be written.
    """
    if isinstance(plan, StoredPlan):
        raise PlanError(
            f"the plan {plan.plan_id} is in the folder {plan.rows.path.parent} already: hand over that folder"
        )
    plan.verify()
    frames = {
        "batches": to_arrow(plan.batches),
        "entries": plan.rows,
        "not_ready": to_arrow(plan.not_ready),
        "findings": to_arrow(plan.findings),
    }
    members = {f"{name}.parquet": _parquet(table) for name, table in frames.items()}
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}
    head = head_of(
        sums,
        options=plan.options,
        plan_id=plan.plan_id,
        unchecked=list(plan.unchecked),
        provenance=plan.provenance,
        journal=plan.journal,
        made_for=made_for,
        made_by=made_by,
    )
    members[HEAD] = head_bytes(head)
    try:
        # Reserve the name first, so that only one of two plans to the same file goes on.
        disk.exclusive(path).close()
    except FileExistsError:
        raise StorageError(f"{path} exists already: choose another file, or remove it first") from None
    except OSError as error:
        raise StorageError(f"the plan {path} cannot be written: {disk.told(error)}") from error
    try:
        return disk.write_whole(path, lambda file: _archive(file, members))
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def head_of(sums: Mapping[str, str], *, options: ExportOptions, **facts: Any) -> dict[str, Any]:
    """Return the content of `plan.json`.

    Parameters
    ----------
    sums : mapping
        The SHA-256 of each other member.
    options : ExportOptions
        Options of the jobs.
    **facts : object
        plan_id, unchecked, provenance, journal, made_for, made_by.
    """
    head = {
        **facts,
        "made_at": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "options": asdict(options),
        "sha256": dict(sums),
    }
    return head | {"digest": _digest(head)}


def head_bytes(head: Mapping[str, Any]) -> bytes:
    """Return the content of `plan.json` as it is written."""
    return json.dumps(head, indent=2, ensure_ascii=False, default=str).encode()


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, which is read a piece at a time."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _archive(file: IO[bytes], members: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def read_plan(path: Path) -> PlanFile:
    """Read and verify a plan file, or the folder of a plan, whose entries stay there.

    Raises
    ------
    PlanError
        When the file or folder is not a plan, is damaged or was changed.
    """
    try:
        is_folder = path.is_dir()
        members = {} if is_folder else _members(path)
        head = json.loads((path / HEAD).read_bytes() if is_folder else members.pop(HEAD))
    except FileNotFoundError:
        if path.is_dir():
            raise PlanError(
                f"the folder {path} is not a plan: compose_export_jobs(..., to=FOLDER) writes one"
            ) from None
        raise PlanError(f"the plan {path} was not found: bktools export compose writes one") from None
    except OSError as error:
        raise PlanError(f"the plan {path} cannot be read: {error.strerror}") from error
    except DAMAGE as error:
        raise PlanError(f"{path} is not a plan, or is damaged ({error}): compose it again") from error
    if not isinstance(head, dict):
        raise PlanError(f"{path} is not a plan: compose it again")
    try:
        if is_folder:
            files = [f"{name}.parquet" for name in (*FRAMES, "findings")]
            _refuse_changed(head, {name: sha256_of(path / name) for name in files}, path)
            plan: ExportPlan = plan_in(path, head)
        else:
            _refuse_changed(head, {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}, path)
            plan = _plan(head, {name.removesuffix(".parquet"): _frame(data) for name, data in members.items()})
        plan.verify()
        return PlanFile(plan, *(str(head[name]) for name in ("made_for", "made_by", "made_at")))
    except PlanError:
        raise
    except (OSError, *DAMAGE) as error:
        raise PlanError(
            f"the plan {path} was changed after it was written, or is of another version of bktools ({error}): "
            "compose it again"
        ) from error


def read_export_plan(path: str | Path) -> ExportPlan:
    """Read and verify a plan of export jobs from its file or folder.

    Parameters
    ----------
    path : path
        The file that `bktools export compose` wrote, or the folder that `compose_export_jobs(..., to=folder)` wrote. The
        entries of a folder stay there, and are read while they are submitted.

    Returns
    -------
    ExportPlan
        The plan, which is unchanged since it was composed.

    Raises
    ------
    PlanError
        When it is not a plan, is damaged or was changed.

    Notes
    -----
    Export jobs: interface, section 4.2.

    Examples
    --------
    >>> import bktools, pandas as pd, tempfile, uuid
    >>> entries = pd.DataFrame({"id": [str(uuid.uuid4())], "company_id": str(uuid.uuid4())})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     composed = bktools.compose_export_jobs(entries, to=f"{folder}/plan")
    ...     bktools.read_export_plan(f"{folder}/plan").plan_id == composed.plan_id
    True
    """
    return read_plan(Path(path)).plan


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


def _refuse_changed(head: dict[str, Any], sums: Mapping[str, str], path: Path) -> None:
    changed = [name for name, found in sums.items() if found != head["sha256"][name]]
    changed += [name for name in head["sha256"] if name not in sums]
    if head.pop("digest", None) != _digest(head):
        changed.append(HEAD)
    if changed:
        raise PlanError(f"{changed[0]} in the plan {path} was changed after it was written: compose it again")


def _digest(head: Mapping[str, Any]) -> str:
    """Return the digest of the head, without the field `digest`."""
    return hashlib.sha256(json.dumps(head, sort_keys=True, default=str).encode()).hexdigest()


def _plan(head: dict[str, Any], frames: dict[str, pa.Table]) -> ExportPlan:
    rows, not_ready = frames["entries"], frames["not_ready"]
    _require_columns(rows.schema, not_ready.schema, {name: rows.column(name).null_count for name in SENT})
    return ExportPlan(
        **_common(head, frames["batches"], totals_of(rows)),
        rows=rows,
        not_ready=to_pandas(not_ready, head["provenance"]),
        _find=_findings(frames["findings"]),
    )


def plan_in(folder: Path, head: dict[str, Any]) -> StoredPlan:
    """Return the plan in a folder; `head` is the content of its plan.json."""
    rows, held, found = (StoredTable(folder / f"{name}.parquet") for name in ("entries", "not_ready", "findings"))
    totals, gaps = [], dict.fromkeys(SENT, 0)
    wanted = [name for name in (*SENT, *TOTALS_BY, "amount") if name in rows.schema.names]
    for part in rows.pieces([*dict.fromkeys(wanted)]):
        totals.append(totals_of(part))
        gaps = {name: count + part.column(name).null_count for name, count in gaps.items()}
    _require_columns(rows.schema, held.schema, gaps)
    found.schema.empty_table().select(FOUND)
    batches = _frame((folder / "batches.parquet").read_bytes())
    common = _common(head, batches, added_totals(pa.concat_tables(totals)))
    return StoredPlan(rows=rows, held=held, found=found, **common)


def _require_columns(rows: pa.Schema, not_ready: pa.Schema, gaps: Mapping[str, int]) -> None:
    for name in SENT:
        if gaps[name] or rows.field(name).type != TEXT:
            raise TypeError(f"the column {name} of its entries holds {rows.field(name).type}, or gaps")
    for name in ("reason", "message"):
        not_ready.field(name)


def _common(head: dict[str, Any], batches: pa.Table, totals: pa.Table) -> dict[str, Any]:
    provenance = dict(head["provenance"])
    return {
        "batches": to_pandas(batches.cast(BATCHES), provenance),
        "totals": to_pandas(totals, provenance),
        "options": ExportOptions(**head["options"]),
        "unchecked": tuple(head["unchecked"]),
        "plan_id": head["plan_id"],
        "provenance": provenance,
        "journal": str(head["journal"]),
    }


def _findings(table: pa.Table) -> Callable[[], pa.Table]:
    table.select(FOUND)
    return lambda: table


def _frame(data: bytes) -> pa.Table:
    table, _ = parquet_table(data, kind="plan", nested=True)
    return table


def _parquet(table: pa.Table) -> bytes:
    data = io.BytesIO()
    pq.write_table(table, data, compression="zstd")
    return data.getvalue()
