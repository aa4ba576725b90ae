"""`check`: whether this machine can work with the service, and if not, the way out. The check only reads."""

from __future__ import annotations

import datetime as dt
import email.utils
import platform
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pandas as pd

import bktools
from bktools import disk
from bktools.connection import open_service
from bktools.contract import rules
from bktools.contract.categories import CATEGORIES
from bktools.contract.employees import EMPLOYEES
from bktools.contract.endpoint import Endpoint
from bktools.errors import (
    BktoolsError,
    ConfigurationError,
    JournalError,
    ScopeError,
    ServiceError,
    StorageError,
)
from bktools.journal.environments import changed_address
from bktools.journal.folders import command_for, environment_of
from bktools.journal.journal import Journal, has_none_yet, identity_of
from bktools.journal.right_journal import problems
from bktools.service.answers import read_answer
from bktools.service.auth import authorization
from bktools.service.transport import Answer, Limits, Transport, request_of
from bktools.settings import Settings, load_settings
from bktools.wording import Sentence, words

OK, WARNING, FAILED = "ok", "warning", "failed"

# Seconds that the clock may differ: the Date header has whole seconds, and answers take time.
CLOCK_TOLERANCE = 60.0
# Bytes that a close needs, with room to spare.
SPACE = 1 << 30
LIMITS = Limits(connect=10.0, read=20.0, whole=30.0)


class Page(msgspec.Struct, frozen=True):
    """The first page of an answer; whether its records agree with the interface is not checked here."""

    data: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Checked:
    """One check: its outcome, the fact, which never holds a secret, and the way out, if there is one."""

    check: str
    outcome: str
    message: str
    to_do: str = ""
    error: BktoolsError | None = None


def check(environment: str | None = None, *, company: str | None = None) -> pd.DataFrame:
    """Check the configuration, the service, the clock, the journal and the disk; the check only reads.

    Parameters
    ----------
    environment : str, optional
        As in `connect`.
    company : str, optional
        UUID or short name of the company; the configured one by default.

    Returns
    -------
    DataFrame
        One row per check, in the order of the work: check, outcome ("ok", "warning" or "failed"), message,
        to_do. What cannot be checked because an earlier check failed has no row.

    Raises
    ------
    Nothing
        A failure is a row.

    Notes
    -----
    The service is asked for one category (interface, section 4.1), or without a company for employees (4.4).

    Examples
    --------
    >>> import bktools
    >>> checked = bktools.check("sandbox")
    >>> checked.loc[checked["check"] == "company", "outcome"].item()
    'ok'
    """
    rows = [(one.check, one.outcome, one.message, one.to_do) for one in checks(environment, company=company)]
    return pd.DataFrame(rows, columns=["check", "outcome", "message", "to_do"]).astype("str")


def checks(environment: str | None = None, *, company: str | None = None) -> Iterator[Checked]:
    """Yield each check as it is done."""
    yield Checked(
        "version",
        OK,
        f"bktools {bktools.__version__}, Python {platform.python_version()}, {platform.system()}",
    )
    try:
        settings = load_settings(environment, company=company)
    except ConfigurationError as error:
        yield _failed("configuration", error)
        return
    sources, address = settings.sources, settings.base_url
    # A bare address is its own name.
    where = "" if address in (None, settings.environment) else f", {address} ({sources['base_url']})"
    yield Checked("configuration", OK, f"{settings.environment} ({sources['environment']}){where}")
    try:
        with open_service(settings) as service:
            yield from _of_service(service.settings)
    except BktoolsError as error:
        yield _failed("sandbox" if settings.is_sandbox else "connection", error)
    yield from _address(settings)
    yield _journal(settings)
    yield _disk(settings)


def _failed(check: str, error: BktoolsError, to_do: str = "") -> Checked:
    return Checked(check, FAILED, str(error), to_do, error)


def _of_service(settings: Settings) -> Iterator[Checked]:
    company = settings.company
    try:
        if company is not None:
            company = rules.company_of(settings)
        # Categories need a company; employees are of all companies that the credential can see.
        endpoint = EMPLOYEES.search if company is None else CATEGORIES.search
        header = authorization(endpoint, settings)
    except BktoolsError as error:
        yield _failed("credential", error)
        return
    name = "token" if header.startswith("Bearer") else "api_key"
    text = words()("checkup.credential", name=name, source=settings.sources[name])
    yield Checked("credential", OK, text)
    host = urlsplit(str(settings.base_url))
    body = None if company is None else msgspec.json.encode({"companyId": company})
    request = request_of(endpoint, settings, query=[("limit", "1")], body=body)
    begun = time.monotonic()
    try:
        with closing(Transport(settings)) as transport:
            answer = transport.send(request, LIMITS, begun + LIMITS.whole)
    except ServiceError as error:
        yield _failed("connection", error, words()("checkup.look"))
        return
    took = time.monotonic() - begun
    code = "trusted" if host.scheme == "https" else "plain"
    yield Checked("connection", OK, words()(f"checkup.{code}", address=host.netloc, seconds=f"{took:.2f}"))
    yield from _company(answer, endpoint, company, settings)
    yield _clock(answer[1])


def _company(
    answer: Answer, endpoint: Endpoint, company: str | None, settings: Settings
) -> Iterator[Checked]:
    try:
        rows = read_answer(answer, Page, endpoint).data
    except ServiceError as error:
        is_scope = isinstance(error, ScopeError)
        advice = words()("checkup.ask_for_access" if is_scope else "checkup.look")
        yield _failed("company" if is_scope else "access", error, advice)
        return
    texts = words()
    yield Checked("access", OK, texts("checkup.accepted", status=answer[0]))
    if company is None:
        yield Checked("company", WARNING, texts("checkup.no_company"), texts("checkup.set_company"))
        return
    name = settings.name_of(company)
    shown = company if name == company else f"{name} ({company})"
    if rows:
        yield Checked("company", OK, texts("checkup.readable", company=shown))
    else:
        text, advice = texts("checkup.no_categories", company=shown), texts("checkup.right_company")
        yield Checked("company", WARNING, text, advice)


def _clock(headers: Mapping[str, str]) -> Checked:
    texts = words()
    try:
        theirs = email.utils.parsedate_to_datetime(headers.get("date", ""))
    except ValueError:
        return Checked("clock", WARNING, texts("checkup.no_time"))
    off = (dt.datetime.now(dt.UTC) - theirs).total_seconds()
    if abs(off) <= CLOCK_TOLERANCE:
        return Checked("clock", OK, texts("checkup.same_time"))
    code = "checkup.ahead" if off > 0 else "checkup.behind"
    error = ConfigurationError(Sentence(code, by=str(dt.timedelta(minutes=round(abs(off) / 60)))))
    return _failed("clock", error, texts("checkup.set_clock"))


def _address(settings: Settings) -> Iterator[Checked]:
    """Yield the question about an address that changed since the journal of the environment was used."""
    try:
        changed = None if settings.is_sandbox or has_none_yet(settings) else changed_address(settings)
    except BktoolsError:
        # The check of the journal says why it cannot be opened.
        return
    if changed:
        before, after = changed
        facts = {"environment": settings.environment, "before": before, "after": after}
        accept = command_for(environment_of(settings), "check --accept-address")
        error = JournalError(Sentence("checkup.address", **facts))
        yield _failed("address", error, words()("checkup.accept", command=accept))


def _journal(settings: Settings) -> Checked:
    texts = words()
    try:
        if has_none_yet(settings):
            return Checked("journal", OK, identity_of(settings))
        with Journal(settings) as journal:
            faults = problems(journal)
            waiting = journal.rows(
                "SELECT count(*) AS batches FROM batches WHERE state IN ('UNKNOWN', 'SENDING')"
            )
            place, events = journal.location, journal.last_event()["event_id"]
    except BktoolsError as error:
        return _failed("journal", error)
    if faults:
        return _failed("journal", StorageError(f"{place}: {faults[0]}"), texts("checkup.problems"))
    if count := waiting[0]["batches"]:
        text = texts("checkup.waiting", count=count)
        return Checked("journal", WARNING, text, texts("checkup.resolve"))
    return Checked("journal", OK, texts("checkup.whole", location=place, events=events))


def _disk(settings: Settings) -> Checked:
    folder, texts = settings.data_dir, words()
    # Before the first run the folder is missing, and nothing is created for a check.
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        with disk.beside(existing / "check") as path:
            disk.exclusive(path).close()
        free = shutil.disk_usage(existing).free
    except OSError as error:
        facts = {"folder": str(folder), "why": str(error.strerror or error)}
        return _failed(
            "disk", StorageError(Sentence("checkup.not_writable", **facts)), texts("checkup.rights")
        )
    text = texts("checkup.writable", folder=folder, free=Decimal(free / 2**30).quantize(Decimal("0.1")))
    if free < SPACE:
        return Checked("disk", WARNING, text, texts("checkup.make_room"))
    return Checked("disk", OK, text)
