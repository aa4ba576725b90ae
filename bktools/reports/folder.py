"""The month-end folder: the evidence of a month, written as a whole.

Each table is one line in `TABLES`, and one of `report.readme` in the wording. The manifest lists the files
and their sources, and by whom and when they were made.
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
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from bktools import disk
from bktools.caller import in_shell
from bktools.close.changes import CHANGE_COLUMNS
from bktools.close.close import Close, CloseRun
from bktools.close.sentences import actions_table
from bktools.errors import InputError, StorageError
from bktools.frames.delimited import csv_of
from bktools.frames.schema import COUNT, INSTANT, TEXT
from bktools.frames.tables import to_arrow
from bktools.journal.records import this_process
from bktools.reports.html import notebook, report_of
from bktools.reports.pictures import PICTURES, pictures_of
from bktools.reports.workbook import workbook_of
from bktools.settings import SANDBOX, Settings
from bktools.settings.values import folder_name_of
from bktools.wording import Sentence, reason_of

MANIFEST = "manifest.json"
MANIFEST_VERSION = 2
# What a later close reads of it.
READ = ("applied", "accounts", "jobs", "begun_at", "environment", "company", "company_name", "files")
LIBRARIES = ("httpx", "jinja2", "msgspec", "pandas", "polars", "pyarrow")

WORKBOOK = "month-end.xlsx"
REPORT = "report.html"
README = "README.txt"
EVENTS = "journal_events.csv"
# The files that differ in each run, also where the month is the same.
OF_A_RUN = {REPORT, WORKBOOK, EVENTS}

JOBS = pa.schema(
    {"sent_at": INSTANT, "sent_by": TEXT, "fate": TEXT, "entries": COUNT, "job_id": TEXT, "batch_id": TEXT},
)


# By file: its table. `report.readme` of the wording says what it is.
TABLES: dict[str, Callable[[Close], pa.Table | None]] = {
    "entries.csv": lambda close: close.tables["entries"],
    "figures.csv": lambda close: close.figures.table,
    "totals.csv": lambda close: close.figures.totals,
    "to_do.csv": lambda close: actions_table(close.words, close.actions),
    "changes.csv": lambda close: close.tables.get("all_changes", to_arrow(CHANGE_COLUMNS.to_frame())),
    "expected.csv": lambda close: close.tables["expected"],
    "budget.csv": lambda close: close.tables.get("all_budget"),
    "rates.csv": lambda close: close.tables.get("rates"),
    "export_jobs.csv": lambda close: pa.Table.from_pylist(
        [{**job.keys, "entries": job.entries} for job in close.figures.jobs], JOBS
    ),
    "chart.csv": lambda close: close.after.table("actions", close.words),
    "coverage.csv": lambda close: close.tables["coverage"],
    "categories.csv": lambda close: close.tables["categories"],
    "employees.csv": lambda close: close.tables["employees"],
    EVENTS: lambda close: close.record.tables["events"],
}


def target_of(
    folder: str | Path | None, month: str, settings: Settings, company: str, *, applied: bool
) -> Path:
    """Return the folder to write, which is checked; that of a dry run is beside a close that was applied."""
    books = settings.environment, company, settings.short_name(company)
    target = Path(folder) if folder else folder_of(month, *books)
    target = target if applied else planned_beside(target)
    check_target(target, *books)
    return target


def folder_of(month: str, environment: str, company: str, name: str) -> Path:
    """Return the folder of a month's close, with a name of the company beside the close of another one."""
    folder = Path(f"month-end-{month}")
    if not _other_owner(folder, environment, company):
        return folder
    return Path(f"{folder}-{folder_name_of(environment) if name == company else name}")


def _other_owner(folder: Path, environment: str, company: str) -> dict[str, str]:
    """Return whose close a folder holds, where it is of other books; those of the sandbox are invented."""
    if not (folder / MANIFEST).is_file():
        return {}
    earlier = _read_manifest(folder)
    books = earlier["environment"], earlier["company"]
    if books in {(environment, company), (SANDBOX, earlier["company"])}:
        return {}
    return {"name": earlier["company_name"] or books[1], "environment": books[0]}


def check_target(folder: Path, environment: str, company: str, name: str = "") -> None:
    """Refuse a folder that a close of a company must not replace, before anything else is done.

    A message proposes a folder with the short `name` of the company.

    Raises
    ------
    InputError
        When the folder holds other files than an earlier close, the close of another company or environment
        (those of the sandbox are invented), or is the current folder.
    StorageError
        When nothing can be written beside it.
    """
    disk.require_file_name(folder)
    code, facts = "", dict[str, str]()
    if folder.is_symlink() and not folder.exists():
        code = "link"
    elif folder.is_dir() and folder.samefile(Path()):
        # The folder is replaced as a whole, which would leave the shell in a deleted folder.
        code = "current"
    elif folder.exists() and not folder.is_dir():
        code = "file"
    elif facts := _other_owner(folder, environment, company):
        code = "other_close"
    elif folder.is_dir() and any(folder.iterdir()) and not (folder / MANIFEST).is_file():
        code = "other_files"
    if code:
        facts |= {"folder": str(folder), "other": in_shell(f"{folder}-{name or company}")}
        raise InputError(Sentence(f"error.folder_{code}", **facts))
    with disk.storage_errors(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        probe = folder.parent / f".{folder.name}.{secrets.token_hex(4)}"
        probe.mkdir(mode=0o700)
        probe.rmdir()


def write_close(close: Close, target: Path, profile: str) -> Close:
    """Write the folder of a close, and return the close with it and with the head of its report."""
    earlier = earlier_close(target)
    try:
        folder = write_folder(close, target, profile)
    except StorageError as error:
        if not close.run.applied:
            raise
        count = close.run.outcomes("jobs").get("ACCEPTED", 0)
        raise StorageError(Sentence("error.sent_and_not_written", why=str(error), count=count)) from error
    earlier = earlier if earlier and earlier.exists() else None
    return replace(close, folder=folder, earlier_folder=earlier, html=notebook(close))


def write_folder(close: Close, folder: Path, profile: str = "excel") -> Path:
    """Write the folder of a close. An earlier close is kept beside it, named after its time of start.

    One that nobody has changed is replaced where it wrote nothing to the service and has the same month, and
    a dry run by each later dry run.

    Raises
    ------
    StorageError
        When it cannot be written. The folder is whole or missing, and an earlier one stays. When a file of an
        earlier one is open in a program that keeps it from being moved, the new folder is named after the
        time of its start.
    """
    staging = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")
    files: dict[str, dict[str, Any]] = {}

    def put(name: str, content: bytes, **about: Any) -> None:
        with disk.exclusive(staging / name) as file:
            file.write(content)
            disk.to_disk(file)
        files[name] = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content), **about}

    with disk.storage_errors(folder):
        try:
            staging.mkdir(mode=0o700)
            for name, table in tables_of(close).items():
                put(name, _csv(table, profile), rows=len(table), columns=table.column_names)
            inputs, copies = _inputs(close)
            pictures = pictures_of(close)
            documents = {WORKBOOK: workbook_of(close), REPORT: report_of(close, pictures)}
            documents[README] = _readme(close, inputs).encode()
            for name, content in (copies | pictures | documents).items():
                put(name, content)
            text = json.dumps(
                _manifest(close, files, inputs, profile), indent=2, ensure_ascii=False, default=str
            )
            put(MANIFEST, f"{text}\n".encode())
            disk.folder_to_disk(staging)
            _put_in_place(staging, folder, close.run)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    return folder


def tables_of(close: Close) -> dict[str, pa.Table]:
    """Return the tables that a close has, by the names of their files."""
    tables = {name: table_of_close(close) for name, table_of_close in TABLES.items()}
    return {name: table for name, table in tables.items() if table is not None}


def _csv(table: pa.Table, profile: str) -> bytes:
    content = io.BytesIO()
    csv_of(table, profile)(content)
    return content.getvalue()


def earlier_close(folder: Path) -> Path | None:
    """Return the folder to which an earlier close is moved where it is kept, None if there is none."""
    if not folder.exists() or not any(folder.iterdir()):
        return None
    return _dated(folder, dt.datetime.fromisoformat(_read_manifest(folder)["begun_at"]))


def _is_replaced(folder: Path, staging: Path) -> bool:
    """Whether nothing is lost when a new close takes the place of an earlier one."""
    earlier, new = _read_manifest(folder), _read_manifest(staging)
    files, new_files = (
        {name: about["sha256"] for name, about in manifest["files"].items()} for manifest in (earlier, new)
    )
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    is_untouched = names == {*files, MANIFEST} and all(
        hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest for name, digest in files.items()
    )
    if not earlier["applied"] and not new["applied"]:
        return is_untouched
    has_written = earlier["accounts"] or earlier["jobs"]
    return (
        is_untouched
        and not has_written
        and {name for name, _ in files.items() ^ new_files.items()} <= OF_A_RUN
    )


def _dated(folder: Path, begun: dt.datetime) -> Path:
    return folder.with_name(f"{folder.name}.{begun:%Y-%m-%dT%H%M%S.%fZ}")


def planned_beside(folder: Path) -> Path:
    """Return the folder for a dry run: beside a close that was applied, never in its place."""
    manifest = folder / MANIFEST
    is_applied = manifest.is_file() and _read_manifest(folder)["applied"]
    return folder.with_name(f"{folder.name}.planned") if is_applied else folder


def _read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of an earlier close; refuse one that lacks what is read here."""
    try:
        manifest = dict(json.loads((folder / MANIFEST).read_text(encoding="utf-8")))
        dt.datetime.fromisoformat(manifest["begun_at"])
        return {name: manifest[name] for name in READ}
    except (OSError, ValueError, TypeError, KeyError) as error:
        facts = {"folder": str(folder), "why": reason_of(error)}
        raise StorageError(Sentence("error.manifest_unreadable", **facts)) from error


def _put_in_place(staging: Path, folder: Path, run: CloseRun) -> None:
    try:
        kept = earlier_close(folder)
        if kept is not None and not _is_replaced(folder, staging):
            disk.replace(folder, kept)
        elif folder.exists():
            left_over = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")
            disk.replace(folder, left_over)
            shutil.rmtree(left_over, ignore_errors=True)
        disk.replace(staging, folder)
    except OSError as error:
        if not disk.is_held(error):
            raise
        own = _dated(folder, run.begun_at)
        disk.replace(staging, own)
        facts = {"folder": str(folder), "own": str(own)}
        raise StorageError(Sentence("error.written_elsewhere", **facts)) from error


def _readme(close: Close, inputs: Mapping[str, Mapping[str, Any]]) -> str:
    """Return what each file of the folder is."""
    words = close.words
    about = {REPORT: "report_html", WORKBOOK: "month_end_xlsx"}
    about |= {name: name.replace(".", "_") for name in (*PICTURES, *tables_of(close))}
    about |= {
        one["file"]: f"input_{name.partition('_')[0]}" for name, one in inputs.items() if one["file"]
    } | {MANIFEST: "manifest_json"}
    width = max(map(len, about))
    sheet = words("report.sheet.to_do")
    lines = "\n".join(
        f"{name:<{width}}  {words(f'report.readme.{key}', sheet=sheet)}" for name, key in about.items()
    )
    title = words("report.title", month=close.period)
    head = words(
        "report.readme.head",
        title=title,
        name=close.name,
        environment=close.environment_name,
        state=close.title_state,
    )
    return f"{head}\n\n{lines}\n\n{words('report.readme.again')}\n{words('report.readme.of_the_run')}\n"


def _manifest(
    close: Close, files: Mapping[str, Any], inputs: Mapping[str, Any], profile: str
) -> dict[str, Any]:
    return {
        "manifest_version": MANIFEST_VERSION,
        **close.for_programs,
        "begun_at": close.run.begun_at.isoformat(),
        "written_at": dt.datetime.now(dt.UTC).isoformat(),
        "done_by": this_process(),
        "sources": close.run.sources,
        "inputs": inputs,
        "csv_profile": profile,
        "files": files,
        "versions": {"bktools": importlib.metadata.version("bktools"), "python": platform.python_version()}
        | {name: importlib.metadata.version(name) for name in LIBRARIES},
        "platform": f"{platform.system()} {platform.machine()}",
    }


def _inputs(close: Close) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the source of each file that was read, and the content of its copy by the copy's name.

    A file that is gone, or was changed after it was read, is not copied: the manifest says so.
    """
    inputs: dict[str, dict[str, Any]] = {}
    copies: dict[str, bytes] = {}
    for table in ("chart", "entries"):
        read = close.run.sources[table]
        for number, about in enumerate(read.get("files") or [read], start=1):
            name = table if number == 1 else f"{table}_{number}"
            source = Path(about.get("source") or "")
            content = source.read_bytes() if source.is_file() else b""
            inputs[name] = {"source": about.get("source"), "sha256": about.get("sha256"), "file": None}
            if hashlib.sha256(content).hexdigest() == about.get("sha256"):
                inputs[name]["file"] = f"input_{name}{source.suffix}"
                copies[inputs[name]["file"]] = content
            else:
                inputs[name]["note"] = (
                    "not copied: the file was changed or removed since it was read, or it was no file"
                )
    return inputs, copies
