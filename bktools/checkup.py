"""`check`: whether this machine can work with the service, and if not, the way out. The check only reads."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pandas as pd

from bktools.connection import open_service
from bktools.contract import rules
from bktools.errors import BktoolsError, ConfigurationError, JournalError, ScopeError
from bktools.journal.journal import Journal, has_none_yet, identity_of
from bktools.journal.right_journal import problems
from bktools.release import version_line
from bktools.service import Service
from bktools.settings import Settings, load_settings
from bktools.settings.values import source_in_words
from bktools.wording import words

OK, WARNING, FAILED = "ok", "warning", "failed"

# Seconds to wait for the service.
PATIENCE = 20.0


@dataclass(frozen=True)
class Checked:
    """One check: its outcome, the fact, which never holds a secret, and the way out, if there is one."""

    check: str
    outcome: str
    message: str
    to_do: str = ""
    error: BktoolsError | None = None


def check(environment: str | None = None, *, company: str | None = None) -> pd.DataFrame:
    """Check the configuration, the service, the company and the journal; the check only reads.

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
    yield Checked("version", OK, version_line())
    try:
        settings = load_settings(environment, company=company)
    except ConfigurationError as error:
        yield _failed("configuration", error)
        return
    sources, address = settings.sources, settings.base_url
    # A bare address is its own name.
    where = "" if address in (None, settings.environment) else f", {address} ({sources['base_url']})"
    yield Checked(
        "configuration", OK, f"{settings.environment} ({source_in_words(sources['environment'])}){where}"
    )
    try:
        with open_service(replace(settings, retries=0, timeout=PATIENCE)) as service:
            yield from _of_service(service)
    except ScopeError as error:
        yield _failed("company", error, words()("checkup.ask_for_access"))
    except BktoolsError as error:
        yield _failed("connection", error, words()("checkup.look"))
    yield _journal(settings)


def _failed(check: str, error: BktoolsError, to_do: str = "") -> Checked:
    return Checked(check, FAILED, str(error), to_do, error)


def _of_service(service: Service) -> Iterator[Checked]:
    settings, texts, begun = service.settings, words(), time.monotonic()
    company = None if settings.company is None else rules.company_of(settings)
    if company is None:
        # Employees are of all companies that the credential can see.
        service.search_employees(limit=1)
    rows = () if company is None else service.search_categories(company, limit=1).data
    seconds = f"{time.monotonic() - begun:.2f}"
    yield Checked("connection", OK, texts("checkup.answered", address=settings.base_url, seconds=seconds))
    if company is None:
        yield Checked("company", WARNING, texts("checkup.no_company"), texts("checkup.set_company"))
    elif rows:
        yield Checked("company", OK, texts("checkup.readable", company=settings.title_of(company)))
    else:
        text = texts("checkup.no_categories", company=settings.title_of(company))
        yield Checked("company", WARNING, text, texts("checkup.right_company"))


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
        return _failed("journal", JournalError(f"{place}: {faults[0]}"), texts("checkup.problems"))
    if count := waiting[0]["batches"]:
        text = texts("checkup.waiting", count=count)
        return Checked("journal", WARNING, text, texts("checkup.resolve"))
    return Checked("journal", OK, texts("checkup.whole", location=place, events=events))
