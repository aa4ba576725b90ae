"""The month-end folder: the evidence of one close, written as a whole.

Each file is one line in `REPORTS`. The manifest lists the files and their sources, and by whom and when they were made.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import importlib.metadata
import io
import json
import platform
import secrets
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from bktools import disk
from bktools.errors import InputError, StorageError
from bktools.frames.delimited import to_csv
from bktools.frames.names import in_reading_order, with_names
from bktools.frames.schema import to_arrow, to_pandas
from bktools.journal.periods import EVENTS
from bktools.journal.records import this_process
from bktools.reconcile import Reconciliation
from bktools.reports.close import Close, outcomes
from bktools.reports.html import write_report
from bktools.reports.pictures import pictures_of
from bktools.reports.to_do import actions_of, as_frame
from bktools.reports.workbook import write_close

MANIFEST = "manifest.json"
MANIFEST_VERSION = 1
LIBRARIES = ("duckdb", "httpx", "msgspec", "pandas", "pyarrow")


NO_EVENTS = to_pandas(EVENTS.empty_table())


def _named_totals(close: Close) -> pd.DataFrame:
    """Return the totals of the ready entries with the names of their categories."""
    named = to_pandas(with_names(to_arrow(close.plan.totals), categories=close.categories))
    return named[in_reading_order(named.columns)]


REPORTS: dict[str, Callable[[Close], pd.DataFrame]] = {
    "categories.csv": lambda close: close.categories,
    "employees.csv": lambda close: close.employees,
    "reconciliation.csv": lambda close: close.after.findings,
    "actions.csv": lambda close: close.after.actions,
    "coverage.csv": lambda close: close.after.coverage,
    "to_do.csv": lambda close: as_frame(actions_of(close)),
    "accounts_created.csv": lambda close: close.accounts,
    "entries_not_ready.csv": lambda close: close.plan.not_ready,
    "export_plan.csv": lambda close: close.plan.entries,
    "totals.csv": _named_totals,
    "export_jobs.csv": lambda close: close.jobs,
    "export_history.csv": lambda close: close.history,
    "journal_events.csv": lambda close: NO_EVENTS if close.record is None else close.record.events,
}

WORKBOOK = "month-end.xlsx"
REPORT = "report.html"

# Folder of the same tables with plain values, for programs.
MACHINE = "machine"


def check_target(folder: Path) -> None:
    """Refuse a folder that a close must not replace, before anything else is done.

    Raises
    ------
    InputError
        When the folder holds other files than an earlier close, or is the current folder.
    StorageError
        When nothing can be written beside it.
    """
    disk.require_file_name(folder)
    if folder.is_dir() and folder.samefile(Path()):
        # The folder is replaced as a whole, which would leave the shell in a deleted folder.
        raise InputError(f"{folder} is the folder you are in: give another folder with --out, such as close")
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file: give another folder with --out")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MANIFEST).is_file():
        raise InputError(f"{folder} holds something else than a close: give another folder with --out")
    with disk.storage_errors(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        probe = folder.parent / f".{folder.name}.{secrets.token_hex(4)}"
        probe.mkdir(mode=0o700)
        probe.rmdir()


def require_closed(folder: Path) -> None:
    """Refuse a folder with a file that another program holds open; Windows cannot move it.

    Raises
    ------
    StorageError
        With the name of the file.
    """
    held = disk.held_file(folder)
    if held is not None:
        raise StorageError(f"{held} is open in another program, so {folder} cannot be replaced: {disk.CLOSE_IT}")


def write_month_end(close: Close, folder: Path, profile: str = "excel") -> Path:
    """Write the folder of a close. An earlier close is kept beside it, named after its time of start.

    Parameters
    ----------
    close : Close
        The results to write.
    folder : Path
        Folder to write; its files are readable by you alone.
    profile : str
        Of the CSV files, see `to_csv`.

    Raises
    ------
    StorageError
        When it cannot be written. The folder is whole or missing, and an earlier one stays. When a file of an earlier one
        is open in a program that keeps it from being moved, the new folder is named after the time of its start.
    """
    staging = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")
    with disk.storage_errors(folder):
        try:
            staging.mkdir(mode=0o700)
            (staging / MACHINE).mkdir(mode=0o700)
            files = {}
            for name, table in REPORTS.items():
                frame = table(close)
                path = to_csv(frame, staging / name, profile)
                files[name] = _described(path) | {"rows": len(frame), "columns": list(map(str, frame.columns))}
                files[f"{MACHINE}/{name}"] = _described(to_csv(frame, staging / MACHINE / name, "machine"))
            files[WORKBOOK] = _described(write_close(close, staging / WORKBOOK))
            inputs, copies = _inputs(close, staging)
            files |= copies
            pictures = pictures_of(close)
            for name, content in pictures.items():
                files[name] = _described(
                    disk.write_whole(staging / name, partial(shutil.copyfileobj, io.BytesIO(content)))
                )
            files[REPORT] = _described(write_report(close, staging / REPORT, pictures))
            text = json.dumps(_manifest(close, files, inputs, profile), indent=2, ensure_ascii=False, default=str)
            disk.write_whole(staging / MANIFEST, lambda file: file.write(f"{text}\n".encode()))
            _put_in_place(staging, folder, close.begun_at)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    return folder


def earlier_close(folder: Path) -> Path | None:
    """Return the folder to which an earlier close is moved, None if there is none.

    Raises
    ------
    StorageError
        When its manifest cannot be read.
    """
    if not folder.exists() or not any(folder.iterdir()):
        return None
    try:
        begun = dt.datetime.fromisoformat(_read_manifest(folder)["begun_at"])
    except (ValueError, KeyError, TypeError) as error:
        raise StorageError(f"the manifest in {folder} cannot be read, so the folder is not moved: {error}") from error
    return _dated(folder, begun)


def _dated(folder: Path, begun: dt.datetime) -> Path:
    return folder.with_name(f"{folder.name}.{begun:%Y-%m-%dT%H%M%S.%fZ}")


def planned_beside(folder: Path) -> Path:
    """Return the folder for a dry run: beside a close that was applied, never in its place."""
    manifest = folder / MANIFEST
    is_applied = manifest.is_file() and _read_manifest(folder).get("applied")
    return folder.with_name(f"{folder.name}.planned") if is_applied else folder


def _read_manifest(folder: Path) -> dict[str, Any]:
    try:
        return dict(json.loads((folder / MANIFEST).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise StorageError(f"the manifest in {folder} cannot be read, so the folder is not moved: {error}") from error


def _put_in_place(staging: Path, folder: Path, begun: dt.datetime) -> None:
    try:
        kept = earlier_close(folder)
        if kept is not None:
            disk.replace(folder, kept)
        elif folder.exists():
            folder.rmdir()
        disk.replace(staging, folder)
    except OSError as error:
        if not disk.is_held(error):
            raise
        own = _dated(folder, begun)
        disk.replace(staging, own)
        raise StorageError(
            f"the close was written to {own}, because a file in {folder} is open in another program: close it there (in "
            "Excel, a viewer or a notebook) and rename the folders yourself"
        ) from error


def _described(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"sha256": digest, "bytes": path.stat().st_size}


def _manifest(close: Close, files: Mapping[str, Any], inputs: Mapping[str, Any], profile: str) -> dict[str, Any]:
    return {
        "manifest_version": MANIFEST_VERSION,
        "period": close.period,
        "environment": close.environment,
        "company_id": close.company,
        "applied": close.applied,
        "begun_at": close.begun_at.isoformat(),
        "written_at": dt.datetime.now(dt.UTC).isoformat(),
        "done_by": this_process(),
        "prepared_by": close.prepared_by,
        "approved_by": close.approved_by,
        "period_state": None if close.record is None else close.record.state,
        "counts": {
            "categories": len(close.categories),
            "employees": len(close.employees),
            "chart_accounts": len(close.chart),
            "entries": len(close.entries),
            "entries_after_period": close.left_out,
            "accounts": outcomes(close.accounts),
            "entries_ready": len(close.plan.entries),
            "entries_not_ready": close.plan.not_ready["reason"].value_counts().to_dict(),
            "batches": len(close.plan.batches),
            "export_jobs": outcomes(close.jobs),
            "findings_before": _by_check(close.before),
            "findings_after": _by_check(close.after),
        },
        "totals": {currency: str(amount) for currency, amount in close.plan.amounts.items()},
        "not_checked": close.unchecked,
        "plan_id": close.plan.plan_id,
        "sources": {
            name: frame.attrs.get("bktools", {})
            for name, frame in (
                ("categories", close.categories),
                ("employees", close.employees),
                ("chart", close.chart),
                ("entries", close.entries),
            )
        },
        "inputs": inputs,
        "accounts_known": _accounts_known(close),
        "csv_profile": profile,
        "files": files,
        "seconds": {name: round(seconds, 3) for name, seconds in close.times.items()},
        "versions": {"bktools": importlib.metadata.version("bktools"), "python": platform.python_version()}
        | {name: importlib.metadata.version(name) for name in LIBRARIES},
        "platform": f"{platform.system()} {platform.machine()}",
    }


def _inputs(close: Close, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Copy the files that were read; return the source of each, and the copies as the manifest lists files.

    A file that is gone, or was changed after it was read, is not copied: the manifest says so.
    """
    inputs, copies = {}, {}
    for name, frame in (("chart", close.chart), ("entries", close.entries)):
        about = frame.attrs.get("bktools", {})
        source = Path(about.get("source") or "")
        copy = folder / f"input_{name}{source.suffix}"
        found: dict[str, Any] = {"source": about.get("source"), "sha256": about.get("sha256"), "file": None}
        if source.is_file():
            with source.open("rb") as read:
                disk.write_whole(copy, partial(shutil.copyfileobj, read))
            described = _described(copy)
            if described["sha256"] == found["sha256"]:
                copies[copy.name], found["file"] = described, copy.name
            else:
                copy.unlink()
        if found["file"] is None:
            found["note"] = "not copied: the file was changed or removed since it was read, or it was no file"
        inputs[name] = found
    return inputs, copies


def _accounts_known(close: Close) -> list[dict[str, Any]]:
    """Return where the known accounts come from: how many of each state and imported list, and when the last one came."""
    if close.known is None:
        return []
    known = close.known.assign(source=close.known["message"].where(close.known["state"] == "IMPORTED"))
    groups = known.groupby(["state", "source"], dropna=False)["updated_at"].agg(["count", "max"]).reset_index()
    return [
        {"state": state, "from": None if pd.isna(source) else source, "accounts": int(count), "last": last.isoformat()}
        for state, source, count, last in groups.itertuples(index=False)
    ]


def _by_check(reconciliation: Reconciliation) -> dict[str, int]:
    return {str(check): int(count) for check, count in reconciliation.findings["check"].value_counts().items()}
