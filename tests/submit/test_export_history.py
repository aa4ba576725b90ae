"""What the journal keeps of export jobs is shown: each event with who and why, and what to do about doubt."""

from __future__ import annotations

import re
import time
from decimal import Decimal
from itertools import groupby

import pandas as pd
import pyarrow as pa
import pytest
from clocks import DAY, set_clock
from entries_by_hand import entries_of, submit

import bktools
from bktools.cli.exits import Exit
from bktools.errors import ArgumentError, InputError, JournalError
from bktools.frames.schema import EXPORT_EVENTS, EXPORTED_ENTRIES
from bktools.sandbox.faults import Fault


@pytest.fixture
def doubted(sandbox, run, monkeypatch):
    """Return a function that submits a one-batch plan, lost on its way, and gives plan and batch."""

    def submit(company: str | None = None, *, number: int = 0, lost: bool = True):
        plan = bktools.compose_export_jobs(entries_of(company or sandbox.server.company_id, 1, number))
        if lost:
            sandbox.server.inject(Fault("drop", "create_export_job", times=1))
        bktools.submit_export_jobs(plan, apply=True, first_export=True, by="Ada")
        return plan, plan.batches["batch_id"][0]

    return submit


def test_evidence_is_kept_for_good(doubted, sandbox):
    """After a release and a new submission the events still say who released the batch, and why."""
    plan, batch = doubted()
    begun = pd.Timestamp.now(tz="UTC")
    sandbox.server.clear_faults()
    # A day later its job has ended, which the sandbox's own clock does not know.
    while any(job["status"] in {"pending", "in_progress"} for job in sandbox.server.export_jobs()):
        time.sleep(0.02)
    with set_clock() as clock:
        clock.ahead = DAY
        bktools.resolve_export_job(batch, "released", evidence="no booking of 31 Oct", by="Ada")
        again = bktools.submit_export_jobs(plan, apply=True)
    assert again["outcome"].to_list() == ["ACCEPTED"]
    assert bktools.load_export_jobs()["message"].str.contains("no booking").to_list() == [False]
    events = bktools.load_export_jobs(events=True)
    assert list(events.columns) == EXPORT_EVENTS.names
    steps = ["PLANNED", "SENDING", "UNKNOWN", "RELEASED", "PLANNED", "SENDING", "ACCEPTED"]
    assert [step for step, _ in groupby(events["after"])] == steps
    assert events["before"].isna().to_list() == [True] + [False] * (len(events) - 1)
    released = events[events["after"] == "RELEASED"].iloc[0]
    assert (released["done_by"], released["message"]) == ("Ada", "no booking of 31 Oct")
    assert released["batch_id"] == batch
    assert released["company_id"] == sandbox.server.company_id
    assert begun <= released["at"] <= pd.Timestamp.now(tz="UTC") + DAY
    assert str(events["at"].dtype) == "datetime64[us, UTC]"
    assert events["at"].is_monotonic_increasing


def test_history_shows_events(doubted, run, tmp_path):
    """`history --events` has the same, on the screen and in a file; entries are another question."""
    _, batch = doubted()
    with set_clock() as clock:
        clock.ahead = DAY
        run(f'export resolve {batch} --outcome released --evidence "no booking of 31 Oct" --by Ada')
    shown = run(f"export status --events --batch {batch}")[1]
    assert re.search(rf"\t{batch}\tRELEASED\tno booking of 31 Oct\tAda\n", shown)
    run(f"export status --events --output {tmp_path}/events.csv")
    written = pd.read_csv(tmp_path / "events.csv")
    assert list(written.columns) == EXPORT_EVENTS.names
    assert written["after"].to_list() == ["PLANNED", "SENDING", "UNKNOWN", "RELEASED"]
    with pytest.raises(ArgumentError, match="events cannot be combined with entries"):
        run("export status --events --entries")


def test_a_batch_that_is_none_is_said(doubted, run):
    """An unknown batch has no entries, events or record: history says so, as resolve does."""
    doubted(lost=False)
    for option in ("", "--entries", "--events"):
        said = r"batch zzz was not found in the journal: bktools export status .* lists all batches"
        with pytest.raises(JournalError, match=said):
            run(f"export status --batch zzz {option}")


def test_a_job_of_another_batch_is_said(sandbox, doubted, run):
    """A job answers for one batch: whose it is, is said, and the batch stays in doubt."""
    other = sandbox.server.companies()[1].id
    sandbox.server.configure_company(other, has_integration=True, has_contra_accounts=True)
    _, first = doubted(other, number=1, lost=False)
    job = bktools.load_export_jobs()["job_id"][0]
    _, batch = doubted()
    said = f"job {job} belongs to batch {first} of company {other}, which is ACCEPTED"
    with pytest.raises(JournalError, match=said):
        run(f"export resolve {batch} --outcome accepted --evidence 'seen today' --by Ada --job {job}")
    assert bktools.load_export_jobs(batch=batch)["state"].to_list() == ["UNKNOWN"]


def test_what_comes_next_is_said(doubted, run):
    """History says how to settle a batch in doubt, settling says what to do then; one is no plural."""
    _, batch = doubted()
    said = run("export status")[1]
    assert re.search(rf"outcome unknown: batch {batch} .* bktools export resolve {batch} ", said)
    assert "outcome unknown" not in run("export status --entries")[1]
    assert run("export status")[0] == Exit.INCOMPLETE
    with set_clock() as clock:
        clock.ahead = DAY
        settled = run(f"export resolve {batch} --outcome released --evidence 'not booked' --by Ada")[1]
    assert "submit their plan again: bktools export submit PLAN --apply --environment" in settled
    assert "outcome unknown" not in run("export status")[1]


def test_the_history_has_what_was_known_of_each_entry(sandbox, service):
    """Dates are dates, amounts exact; the history still serves as the history of the next plan."""
    entries = entries_of(sandbox.server.company_id, 3).assign(
        date=pd.to_datetime(["2026-10-31", "2026-10-01", "2026-10-02"]),
        amount=pd.Series(
            [Decimal(1500), Decimal("-12.50"), Decimal("3.125")], dtype=pd.ArrowDtype(pa.decimal128(9, 3))
        ),
        currency=["JPY", "EUR", "KWD"],
        supplier=["=HYPERLINK()", "<b>Müller</b>", None],
    )
    submit(entries, service, period="2026-10")
    history = bktools.load_export_jobs(entries=True, service=service)
    assert list(history.columns) == EXPORTED_ENTRIES.names
    assert str(history["date"].dtype).startswith("datetime64")
    found = history.set_index("entry_id").loc[entries["id"].to_list()]
    assert found["amount"].to_list() == [1500.0, -12.5, 3.125]
    assert found["date"].dt.strftime("%Y-%m-%d").to_list() == ["2026-10-31", "2026-10-01", "2026-10-02"]
    assert found["currency"].to_list() == ["JPY", "EUR", "KWD"]
    assert found["supplier"].to_list()[:2] == ["=HYPERLINK()", "<b>Müller</b>"]
    assert set(found["period"]) == {"2026-10"}
    again = bktools.compose_export_jobs(entries, history=history)
    assert again.not_ready["reason"].to_list() == ["exported"] * 3
    lean = bktools.compose_export_jobs(entries, history=history[["entry_id", "state"]])
    assert lean.not_ready["reason"].to_list() == ["exported"] * 3


@pytest.mark.parametrize("period", ["2026-13", "October", 202610, "2026-1", "\u0662026-10"])
def test_a_period_that_is_no_month_is_refused(sandbox, service, period):
    """A wrong argument is named, and nothing is sent."""
    with pytest.raises(ArgumentError, match=r"period must be (a month such as 2026-10|text)"):
        submit(entries_of(sandbox.server.company_id, 1), service, period=period)
    assert sandbox.server.export_jobs() == []


def test_anothers_history_brings_what_was_booked(run, tmp_path, sandbox):
    """What was refused or released is no export; with jobs that are open, the list is refused."""
    states = ["ACCEPTED", "RELEASED", "REJECTED"]
    listed = entries_of(sandbox.server.company_id, 4).rename(columns={"id": "entry_id"})
    listed = listed.assign(date="2026-10-01", amount="1.00", currency="EUR")
    word = '--by Ada --evidence "history of Bob"'
    for others, outcome in ((["ACCEPTED"], "2 entries recorded"), (["PLANNED"], "jobs that are PLANNED")):
        listed.assign(state=states + others).to_csv(tmp_path / "history.csv", index=False)
        if outcome.startswith("jobs"):
            with pytest.raises(InputError, match=outcome):
                run(f"export import history.csv --company {sandbox.server.company_id} {word}")
        else:
            code, text = run(f"export import history.csv --company {sandbox.server.company_id} {word}")
            assert (code, outcome in text) == (Exit.DONE, True), text
