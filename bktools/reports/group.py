"""`close_companies`: the close of many companies, each with its own folder, and one overview."""

from __future__ import annotations

import datetime as dt
import hashlib
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, SupportsIndex

import pandas as pd
import pyarrow as pa

from bktools import disk
from bktools.connection import service_or_default
from bktools.consoles import readable
from bktools.contract import rules
from bktools.errors import ArgumentError, BktoolsError, InputError
from bktools.frames.delimited import profile_named, to_csv
from bktools.frames.schema import COUNT, STRINGS, TEXT, Month, to_pandas
from bktools.journal.export_jobs import load_export_jobs
from bktools.journal.periods import NOT_WAITING, named
from bktools.journal.records import this_user
from bktools.reports.closing import close, month_of
from bktools.reports.month_end import Close
from bktools.service import Service
from bktools.service.workers import LOOK, as_they_end, pause
from bktools.snapshots.tables import load_categories, load_employees

# Closes in progress; most of their time they wait for export jobs.
COMPANIES = 32

COMPANIES_CSV = "companies.csv"
TOTALS_CSV = "totals.csv"

OVERVIEW = pa.schema(
    {
        "company": TEXT,
        "outcome": TEXT,
        "accounts_created": COUNT,
        "entries_exported": COUNT,
        "entries_ready": COUNT,
        "entries_held_back": COUNT,
        "jobs_open": COUNT,
        "message": TEXT,
        "folder": TEXT,
        "company_id": TEXT,
    }
)


@dataclass(frozen=True, eq=False, repr=False)
class GroupClose:
    """The results of the closes of many companies.

    Parameters
    ----------
    period : str
        The month, as 2026-10.
    applied : bool
        True when the closes wrote to the service.
    companies : DataFrame
        One row per company: company (its short name), outcome, accounts_created, entries_exported, entries_ready,
        entries_held_back, jobs_open (not ACCEPTED), message, folder, company_id. Outcomes: DONE (everything that is
        ready was done), PLANNED (without `apply`), INCOMPLETE (a part was not done; its folder says why) and FAILED
        (the message says why; run again).
    totals : DataFrame
        Exact amounts of the entries that are ready, by company and currency.
    folder : Path
        The folder of all companies.
    """

    period: str
    applied: bool
    companies: pd.DataFrame
    totals: pd.DataFrame
    folder: Path

    @property
    def is_complete(self) -> bool:
        """Whether no company failed and no part was left undone."""
        return bool(self.companies["outcome"].isin(["DONE", "PLANNED"]).all())

    def __repr__(self) -> str:
        counts = ", ".join(
            f"{count:,} {outcome}" for outcome, count in self.companies["outcome"].value_counts().items()
        )
        failed = self.companies[self.companies["outcome"] == "FAILED"]
        lines = [f"Month-end {self.period} of {len(self.companies):,} companies: {counts}"]
        lines += [
            f"  {company}: {message}" for company, message in zip(failed["company"], failed["message"], strict=True)
        ]
        return readable("\n".join([*lines, f"  written to {self.folder}"]))


def close_companies(
    chart: pd.DataFrame,
    entries: pd.DataFrame,
    *,
    companies: Iterable[str] | None = None,
    month: Month | None = None,
    categories: pd.DataFrame | None = None,
    employees: pd.DataFrame | None = None,
    folder: str | Path | None = None,
    apply: bool = False,
    max_entries: SupportsIndex = 500,
    wait: float | dt.timedelta = 300.0,
    others_export: bool = False,
    by: str | None = None,
    approved_by: str | None = None,
    profile: str = "excel",
    seen: Callable[[str, str, str], None] | None = None,
    service: Service | None = None,
) -> GroupClose:
    """Close a month for many companies. One that fails is one line, and the others close.

    Each company has its own folder, so that its accountant and its auditor get that company alone. The overview of all
    companies is beside them: who is done, who is not and why, and the amounts by company and currency.

    Parameters
    ----------
    chart : DataFrame
        As `read_chart_of_accounts` returns it. With a column company_id, the chart of each company; without one, one chart
        for all.
    entries : DataFrame
        As `read_entries` returns it, with company_id.
    companies : iterable of str, optional
        UUIDs or short names of the config file. Default: every company of the entries.
    categories, employees : DataFrame, optional
        As `load_categories` and `load_employees` return them for all companies; loaded fresh by default.
    folder : str or Path, optional
        `month-end-2026-10` by default; the folder of a company is named after its short name or UUID.
    seen : callable, optional
        Called as each company ends, with its name, the outcome and the message.
    month, apply, max_entries, wait, others_export, by, approved_by, profile, service
        As in `close_month`. The default month is chosen from the entries of all companies.

    Returns
    -------
    GroupClose
        One row per company in `companies`, the amounts in `totals`, and the `folder`.

    Raises
    ------
    ArgumentError, InputError
        When an argument breaks a rule or the entries name no company; nothing is sent.
    StorageError
        When the overview cannot be written. The journal has the completed steps, and a second run resumes after them.

    Notes
    -----
    The interface, sections 2.1, 2.4, 4.2 and 4.3. Export jobs are sent for all companies concurrently.

    Examples
    --------
    >>> import bktools, tempfile
    >>> with bktools.Sandbox() as service, tempfile.TemporaryDirectory() as folder:
    ...     chart = bktools.read_chart_of_accounts("data/chart_of_accounts.csv")
    ...     entries = bktools.read_entries("data/accounting_entries.csv")
    ...     group = bktools.close_companies(chart, entries, folder=f"{folder}/october", service=service)
    >>> group.companies["outcome"].to_list()
    ['PLANNED', 'PLANNED']
    """
    service, apply = service_or_default(service), rules.flag("apply", apply)
    names = service.settings.company_names
    profile_named(profile)
    # Checked here, so that a wrong argument is one error and not one for each company.
    prepared_by = this_user() if by is None else named("by", by)
    approved_by = None if approved_by is None else named("approved_by", approved_by)
    period = month_of(entries, dt.datetime.now(dt.UTC)) if month is None else rules.month("month", month)
    wanted = _companies_of(entries) if companies is None else rules.company_ids("companies", companies, names)
    if not wanted:
        raise ArgumentError("companies", "must name at least one company")
    target = Path(folder or f"month-end-{period}")
    if target.exists() and not target.is_dir():
        raise InputError(f"{target} is a file: give another folder")
    disk.private_folder(target.absolute())
    tables = {
        "categories": load_categories(wanted, refresh=True, on_error="collect", service=service)
        if categories is None
        else categories,
        "employees": load_employees(wanted, refresh=True, on_error="collect", service=service)
        if employees is None
        else employees,
    }
    not_loaded = {
        failure["company_id"]: f"{failure['message']}; {failure['to_do']}"
        for frame in tables.values()
        for failure in frame.attrs.get("bktools", {}).get("failures", [])
    }
    history = load_export_jobs(entries=True, service=service)
    parts = {name: _by_company(frame) for name, frame in {**tables, "chart": chart, "entries": entries}.items()}
    turn = _Turn()

    def closed(company_id: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        name = service.settings.name_of(company_id)
        if company_id in not_loaded:
            return _failed(company_id, name, not_loaded[company_id]), []
        try:
            with turn.taken():
                done = close(
                    **{part: of_company(company_id) for part, of_company in parts.items()},
                    month=period, company=company_id, folder=target / disk.file_name(name), apply=apply, max_entries=max_entries,
                    wait=wait, others_export=others_export, by=prepared_by, approved_by=approved_by, profile=profile,
                    seen=None, service=service, history=history, waiting=turn.given_up, progress=False,
                )  # fmt: skip
                return _row(done, name), _totals(done, name)
        except BktoolsError as error:
            return _failed(company_id, name, str(error)), []

    calls = [partial(closed, company_id) for company_id in wanted]
    found: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [({}, [])] * len(calls)
    ending = threading.Event()
    with closing(as_they_end(calls, min(len(calls), COMPANIES), ending=ending)) as ended:
        for number, result in ended:
            found[number] = result
            if seen is not None:
                seen(result[0]["company"], result[0]["outcome"], result[0]["message"])
    overview = to_pandas(pa.Table.from_pylist([row for row, _ in found], schema=OVERVIEW))
    sums = [row for _, rows in found for row in rows]
    # The scale of the finest amount.
    scale = max((-int(row["amount"].as_tuple().exponent) for row in sums), default=0)
    money = pa.decimal128(38, scale)
    shape = pa.schema({"company": TEXT, "currency": TEXT, "amount": money, "company_id": TEXT})
    totals = to_pandas(pa.Table.from_pylist(sums, schema=shape))
    to_csv(overview, target / COMPANIES_CSV, profile)
    to_csv(totals, target / TOTALS_CSV, profile)
    _copy_inputs(target, chart=chart, entries=entries)
    return GroupClose(period, apply, overview, totals, target)


class _Turn:
    """Lets one close compute at a time, while the others wait for the service: plots and tables are for one thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    @contextmanager
    def taken(self) -> Iterator[None]:
        self._take()
        try:
            yield
        finally:
            self._lock.release()

    @contextmanager
    def given_up(self) -> Iterator[None]:
        self._lock.release()
        try:
            yield
        finally:
            # Without an end: `taken` releases the lock also when this thread must stop.
            self._lock.acquire()

    def _take(self) -> None:
        while not self._lock.acquire(timeout=LOOK):
            pause(0)


def _companies_of(entries: pd.DataFrame) -> list[str]:
    if "company_id" not in entries.columns or entries["company_id"].isna().any():
        raise ArgumentError("entries", "must name the company of each entry: give them a column company_id")
    return sorted({rules.uuid_text("company_id", value) for value in entries["company_id"].unique()})


def _by_company(frame: pd.DataFrame) -> Callable[[str], pd.DataFrame]:
    """Return a function that gives the rows of a company; a frame without companies is the same for all."""
    about = {name: value for name, value in frame.attrs.get("bktools", {}).items() if name != "failures"}
    bare = frame.copy(deep=False)
    # pandas copies attrs with every selection, and those of a group are long.
    bare.attrs = {}
    if "company_id" not in frame.columns or frame["company_id"].isna().all():
        groups = None
    else:
        groups = {str(company).lower(): rows for company, rows in bare.groupby("company_id", sort=False)}

    def of_company(company_id: str) -> pd.DataFrame:
        if groups is None:
            found = bare.assign(company_id=pd.Series(company_id, index=bare.index, dtype=STRINGS))
        else:
            found = groups.get(company_id, bare.iloc[:0]).reset_index(drop=True)
        found.attrs["bktools"] = {
            name: value for name, value in about.items() if not isinstance(value, list) or name == "notes"
        } | {"rows": len(found), "of_several_companies": True}
        return found

    return of_company


def _failed(company_id: str, name: str, message: str) -> dict[str, Any]:
    return {"company": name, "company_id": company_id, "outcome": "FAILED", "message": message}


def _row(done: Close, name: str) -> dict[str, Any]:
    jobs_open = done.jobs[done.jobs["outcome"] != "ACCEPTED"]
    refused = done.accounts[done.accounts["outcome"].isin(["REJECTED", "UNKNOWN"])]
    messages = [done.stays_open, *jobs_open["message"], *refused["message"]] if done.applied else []
    reasons = [message for message in messages if message]
    accepted = done.jobs.loc[done.jobs["outcome"] == "ACCEPTED", "entries"]
    return {
        "company": name,
        "outcome": "INCOMPLETE" if reasons else "DONE" if done.applied else "PLANNED",
        "accounts_created": int((done.accounts["outcome"] == "CREATED").sum()),
        "entries_exported": int(accepted.sum()),
        "entries_ready": len(done.plan.entries),
        "entries_held_back": int((~done.plan.not_ready["reason"].isin(NOT_WAITING)).sum()),
        "jobs_open": len(jobs_open),
        "message": reasons[0] if reasons else "",
        "folder": str(done.folder),
        "company_id": done.company,
    }


def _totals(done: Close, name: str) -> list[dict[str, Any]]:
    return [
        {"company": name, "currency": currency, "amount": amount, "company_id": done.company}
        for currency, amount in done.plan.amounts.items()
    ]


def _copy_inputs(folder: Path, **frames: pd.DataFrame) -> None:
    """Copy the files that were read, unless they were changed since."""
    for name, frame in frames.items():
        about = frame.attrs.get("bktools", {})
        source = Path(about.get("source") or "")
        if source.is_file() and hashlib.sha256(source.read_bytes()).hexdigest() == about.get("sha256"):
            with source.open("rb") as read:
                disk.write_whole(folder / f"input_{name}{source.suffix}", partial(shutil.copyfileobj, read))
