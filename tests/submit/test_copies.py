"""Copies of the journal in every state of a batch: none sends, settles, closes or imports unrestored."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest
from entries_by_hand import COMPANY, entries_of, to_create
from raw_service import send

import bktools
from bktools.errors import JournalError
from bktools.journal.backups import restore
from bktools.journal.journal import Journal
from bktools.journal.statements import record_exported_elsewhere
from bktools.journal.writing import open_for_writing

REFUSED = '{"type": "MISSING_CONTRA_ACCOUNTS"}'
# By the state at which the copy is taken: what the service answers to the first batch.
STATES = dict.fromkeys(("nothing", "PLANNED", "SENDING", "ACCEPTED"), 201)
STATES |= {"UNKNOWN": 500, "REJECTED": 400, "RELEASED": 500}
ACCOUNT = pd.DataFrame(
    {"id": ["123e4567-e89b-42d3-a456-426614174000"], "external_id": ["0400"], "company_id": [COMPANY]}
)
TOLD = {"evidence": "the books", "by": "Ada"}


def _writes(service: bktools.Service, plan: bktools.ExportPlan, batch: str):
    """Everything that writes to a journal, by name."""
    yield "submit", lambda: bktools.submit_export_jobs(plan, apply=True, wait=0, service=service)
    for name in ("accepted", "released"):
        yield name, lambda name=name: bktools.resolve_export_job(batch, name, service=service, **TOLD)
    yield "close", lambda: bktools.close_period("2026-10", by="Ada", company=COMPANY, service=service)
    yield "import", lambda: bktools.import_accounts(ACCOUNT, service=service)
    create = to_create({"external_id": "1", "name": "Bank"})
    yield "create", lambda: bktools.create_accounts(create, apply=True, service=service)
    yield "elsewhere", lambda: _elsewhere(service)


def _elsewhere(service: bktools.Service) -> None:
    with open_for_writing(service.settings) as journal:
        record_exported_elsewhere(journal, COMPANY, [{"entry_id": ACCOUNT["id"][0]}], **TOLD)


def _files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(folder.rglob("*.log"))}


@pytest.mark.parametrize("state", STATES)
def test_an_old_copy_writes_nothing_and_books_nothing_twice(talking, tmp_path, state):
    """Each command refuses any old copy, and the sent log stays; once restored, each entry is booked once."""
    data, copied = tmp_path / "own" / "data", tmp_path / "copy"
    # The request during which the copy is taken: the first is on its way, or accepted during the second.
    during = {"SENDING": 1, "ACCEPTED": 2}.get(state)

    def answer(raw, connection, request):
        if len(raw.requests) == during:
            shutil.copytree(data, copied)
        status = STATES[state] if len(raw.requests) == 1 else 201
        send(connection, status, raw.accept(request) if status == 201 else REFUSED if status == 400 else "")

    with talking(answer) as (raw, _):
        folders = {f"{kind}_dir": tmp_path / "own" / kind for kind in ("data", "cache", "sent_log")}
        with bktools.connect(raw.base_url, token="t", requests_per_minute=0, **folders) as service:
            plan = bktools.compose_export_jobs(entries_of(COMPANY, 4), max_entries=2)
            for reached in _course(service, plan, STATES[state]):
                if state in reached and not copied.exists():
                    shutil.copytree(data, copied)
            assert len(raw.accepted) == 4
            shutil.rmtree(data)
            shutil.copytree(copied, data)
            _require_refused(service, plan, tmp_path / "own" / "sent_log")
            restore(service.settings, None, by="Ada")
            for batch in bktools.load_export_jobs(service=service).query("state == 'UNKNOWN'")["batch_id"]:
                bktools.resolve_export_job(batch, "accepted", service=service, **TOLD)
            bktools.submit_export_jobs(plan, apply=True, wait=0, service=service)
            assert set(raw.accepted.values()) == {1}
            with open_for_writing(service.settings) as journal:
                assert journal.problems() == []


def _course(service: bktools.Service, plan: bktools.ExportPlan, status: int):
    """Bring the plan to its end; yield the states that the first batch has at each step."""
    batch = plan.batches["batch_id"][0]
    Journal(service.settings).close()
    yield {"nothing"}
    with open_for_writing(service.settings) as journal, journal.sending(COMPANY):
        journal.claim(plan.requests(), plan.plan_id)
    yield {"PLANNED"}
    bktools.submit_export_jobs(plan, apply=True, wait=0, service=service)
    yield {"UNKNOWN", "REJECTED"}
    if status == 500:
        bktools.resolve_export_job(batch, "released", service=service, **TOLD)
        yield {"RELEASED"}
    for _ in range(2):
        bktools.submit_export_jobs(plan, apply=True, wait=0, service=service)


def _require_refused(service: bktools.Service, plan: bktools.ExportPlan, outside: Path) -> None:
    """Everything that writes refuses the old copy, and the sent log outside of it stays as it is."""
    before = _files(outside)
    for name, write in _writes(service, plan, plan.batches["batch_id"][0]):
        with pytest.raises(JournalError, match="old copy"):
            write()
        assert _files(outside) == before, name
    bktools.load_export_jobs(service=service)
    assert _files(outside) == before
