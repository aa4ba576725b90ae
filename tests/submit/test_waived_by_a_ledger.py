"""After a restore of a shared journal, the ledger shows what a lost machine sent: nothing is sent twice."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from typing import Any

import pandas as pd
import pytest
from entries_by_hand import entries_of, submit

import bktools
from bktools.cli.exits import Exit
from bktools.errors import BktoolsError, JournalError
from bktools.export.plan_file import write_plan
from bktools.journal.backups import restore

COUNT = 24
TOMORROW = (dt.datetime.now(dt.UTC) + dt.timedelta(days=1)).date()


@pytest.fixture
def entries(sandbox) -> pd.DataFrame:
    """Entries of October on one account."""
    return entries_of(sandbox.server.company_id, COUNT).assign(
        amount=[Decimal(10_000 + 7 * number * number) / 100 for number in range(COUNT)],
        currency="EUR",
        date=pd.to_datetime([f"2026-10-{1 + number:02}" for number in range(COUNT)]),
        supplier=[f"Supplier {number}" for number in range(COUNT)],
        account_code="490000",
    )


def booked(entries: pd.DataFrame, *, account: str = "490000") -> pd.DataFrame:
    """Return a ledger with a voucher for each entry."""
    sides = []
    for code, sign in ((account, 1), ("160000", -1)):
        rows = entries[["date", "amount", "currency"]].assign(account_code=code, text=entries["supplier"])
        rows["amount"] = [sign * amount for amount in rows["amount"]]
        sides.append(rows.assign(voucher_id=[f"V{number}" for number in entries.index]))
    return pd.concat(sides, ignore_index=True)


@pytest.fixture
def machine(sandbox, tmp_path, postgres, database):
    """A function that gives the connection of a machine with folders of its own to the shared journal."""

    def connected(name: str) -> bktools.Service:
        folders = {f"{kind}_dir": tmp_path / name / kind for kind in ("data", "cache", "sent_log")}
        at = {"token": sandbox.server.token, "journal": postgres.address(database)}
        return bktools.connect(sandbox.server.base_url, **at, **folders)

    return connected


@pytest.fixture
def after_a_restore(machine, entries, sandbox, postgres, database):
    """Ada's connection after a restore: Bob, now gone, had sent entries 12 to 15, unknown to all journals."""
    ada, bob = machine("ada"), machine("bob")
    for person, first, end in ((ada, 0, 8), (bob, 8, 12)):
        assert outcomes(entries.iloc[first:end], person) == {"ACCEPTED"}
    copy = postgres.copy_of(database, "-Fc")
    assert outcomes(entries.iloc[12:16], bob) == {"ACCEPTED"}
    bob.close()
    postgres.restore(database, "new", copy)
    with pytest.raises(JournalError, match="was restored"):
        outcomes(entries.iloc[16:], ada)
    restore(ada.settings, None, by="Ada")
    return ada


def submitted(entries: pd.DataFrame, service: bktools.Service, **frames: object) -> list[dict[str, Any]]:
    """Compose and submit entries; return a row for each batch."""
    return submit(bktools.compose_export_jobs(entries, **frames), service, wait=20).to_dict("records")


def outcomes(entries: pd.DataFrame, service: bktools.Service, **frames: object) -> set[str]:
    """Compose and submit entries; return the outcomes."""
    return {row["outcome"] for row in submitted(entries, service, **frames)}


def test_what_the_ledger_holds_is_not_sent_and_the_rest_waits_no_longer(
    after_a_restore, entries, sandbox, run, monkeypatch, tmp_path
):
    """With a later ledger, a plan's ready entries go out, the lost machine's do not, and others wait."""
    ada = after_a_restore
    (row,) = submitted(entries.iloc[16:], ada)
    assert (row["outcome"], "--plan PLAN --by NAME" in row["message"]) == ("BLOCKED", True)
    (gone,) = {*re.findall(r"\w+@\w+#\w+", row["message"])}
    for name in ("data", "cache", "sent_log"):
        monkeypatch.setenv(f"BKTOOLS_{name.upper()}_DIR", str(tmp_path / "ada" / name))
    monkeypatch.setenv("BKTOOLS_JOURNAL", ada.settings.journal.reveal())
    history = bktools.load_export_jobs(entries=True, service=ada)

    def waived(ledger: pd.DataFrame | None, name: str, options: str) -> tuple[int, str]:
        plan = bktools.compose_export_jobs(entries.iloc[:23], history=history, ledger=ledger)
        path = write_plan(plan, tmp_path / name, made_for=ada.settings.identity, made_by="Ada")
        company = sandbox.server.company_id
        return run(f"journal waive {gone} --company {company} --plan {path} --by Ada {options}")

    later, today = f"--exported-at {TOMORROW}", f"--exported-at {dt.datetime.now(dt.UTC):%Y-%m-%d}"
    ledger = booked(entries.iloc[:16])
    for asked, name, options, said in (
        (None, "1.plan", later, "asked no ledger"),
        (ledger, "2.plan", "", "does not say when it was exported"),
        (ledger, "3.plan", today, "may lack what was sent"),
        (booked(entries.iloc[16:23]), "4.plan", later, "holds none of the batches"),
        (ledger, "5.plan", later, "no ready entry of company .* is dated from 2026-10-01 to 2026-10-16"),
        (ledger, "6.plan", f"{later} --from 2026-10-01", "stands instead of"),
    ):
        with pytest.raises(BktoolsError, match=said):
            waived(asked, name, options)
    # The ledger goes on: postings of other things until the end of the month.
    others = booked(entries.iloc[[23]].assign(amount=Decimal("7.77"), supplier="Rent"), account="700000")
    code, text = waived(pd.concat([ledger, others], ignore_index=True), "7.plan", later)
    assert (code, "7 entries of" in text) == (Exit.DONE, True), text
    assert outcomes(entries.iloc[16:23], ada, history=history) == {"ACCEPTED"}
    for waiting in ([12, 13, 14, 15], [23]):
        (row,) = submitted(entries.iloc[waiting], ada)
        assert (row["outcome"], "nobody looked those dates up" in row["message"]) == ("BLOCKED", True)
    assert set(sandbox.server.accepted_entries().values()) == {1}
    assert len(sandbox.server.accepted_entries()) == 23
