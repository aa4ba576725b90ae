"""A ledger that is given to a close: one that cannot be compared stops it; what it holds is remembered."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import bktools
from bktools.close.close import Close
from bktools.close.verification import Verification, record, verify
from bktools.errors import PlanError
from bktools.journal.journal import EXPORTED_ELSEWHERE
from bktools.journal.statements import record_not_booked, undo_exported_elsewhere
from bktools.journal.writing import open_for_writing


@dataclass
class World:
    """A company with its chart and entries, whose October is closed with and without a ledger."""

    sandbox: bktools.Sandbox
    service: bktools.Service
    folder: Path
    chart: pd.DataFrame
    entries: pd.DataFrame

    def close(self, **options: Any) -> Close:
        """Close October, by default without the folder, which takes longest."""
        options = {"folder": False, "service": self.service, "by": "Ada"} | options
        return bktools.close_month(self.chart, self.entries, month="2026-10", **options)

    def ledger(self, entries: pd.DataFrame, accounts: str = "account_code") -> pd.DataFrame:
        """Return a ledger, read from a file, with a voucher for each entry."""
        rows = pd.DataFrame(
            {
                "voucher": [f"V{number}" for number in range(len(entries))],
                "date": entries["date"].to_list(),
                "account": entries[accounts].to_list(),
                "amount": entries["amount"].to_list(),
                "text": entries["supplier"].to_list(),
            }
        )
        bank = rows.assign(account="B1", amount=-rows["amount"])
        file = self.folder / f"{accounts}.csv"
        pd.concat([rows, bank]).to_csv(file, index=False, date_format="%Y-%m-%d")
        columns = {"voucher_id": "voucher", "account_code": "account"}
        return bktools.read_general_ledger(file, columns=columns, currency="EUR")

    def verified(self, ledger: pd.DataFrame) -> Verification:
        """Compare what October exported with a ledger, beside the entries as they are now."""
        tables = {
            "categories": bktools.load_categories(service=self.service),
            "accounts": bktools.load_accounts(service=self.service),
        }
        options = {"month": "2026-10", "entries": self.entries, "tables": tables}
        return verify(self.service, self.service.settings.company, ledger, **options)


@pytest.fixture
def world(samples: tuple[Path, Path], tmp_path: Path) -> Iterator[World]:
    sandbox = bktools.Sandbox(tmp_path / "sandbox", job_seconds=0)
    with sandbox as service:
        chart = bktools.read_chart_of_accounts(samples[0], company=service.settings.company)
        yield World(sandbox, service, tmp_path, chart, bktools.read_entries(samples[1]))


def test_a_ledger_of_other_accounts_stops_a_close_before_anything_is_written(world: World):
    """Its accounts are names that no chart has: a dry run names it, and an applied close is refused."""
    ledger = world.ledger(world.entries.dropna(subset=["amount", "date"]), accounts="supplier")
    bktools.create_accounts(world.close().before, apply=True, service=world.service)
    planned = world.close(ledger=ledger)
    assert any("no account of the entries" in phrase for phrase in planned.run.unchecked)
    accounts = len(bktools.load_accounts(service=world.service))
    with pytest.raises(PlanError, match=r"supplier\.csv has no account of the entries.*nothing was sent"):
        world.close(ledger=ledger, apply=True)
    assert (world.sandbox.server.export_jobs(), accounts) == (
        [],
        len(bktools.load_accounts(service=world.service)),
    )
    # So is the plan of an export.
    plan = bktools.compose_export_jobs(
        world.entries.assign(account_code="4930", company_id=world.service.settings.company), ledger=ledger
    )
    assert len(plan.batches)
    with pytest.raises(PlanError, match="no account of the entries"):
        bktools.submit_export_jobs(plan, apply=True, service=world.service)
    assert world.sandbox.server.export_jobs() == []


def test_what_an_applied_close_saw_in_the_ledger_is_not_sent_later(world: World):
    """Entries booked by hand stay in the books without the ledger, too, until a person takes it back."""
    known = bktools.load_accounts(service=world.service)
    categories = bktools.load_categories(service=world.service)
    reconciliation = bktools.reconcile_accounts(world.chart, known, categories)
    bktools.create_accounts(reconciliation, apply=True, service=world.service)
    ready = world.close().entries
    ready = ready[(ready["fate"] == "ready") & (ready["currency"] == "EUR")]
    by_hand = ready.drop_duplicates(["account_code", "amount"], keep=False).head(32)
    # Of the last two, the ledger has account and amount, with the text of somebody else.
    by_hand = by_hand.assign(supplier=[*by_hand["supplier"][:30], "Nobody & Sons", "Unknown Ltd"])
    booked, unclear = {*by_hand["id"][:30]}, {*by_hand["id"][30:]}
    ledger = world.ledger(by_hand)
    first = world.close(ledger=ledger, apply=True, folder=world.folder / "october")
    open_ones = _ids(first, "maybe_booked")
    assert _ids(first, "already_booked") == booked
    assert unclear <= open_ones
    known = first.entries.drop_duplicates("id").set_index("id")["message"]
    messages = known.loc[[*booked, *open_ones]].to_dict()
    assert [t for t in messages.values() if Path(ledger.attrs["bktools"]["source"]).name not in t] == []
    assert not booked & {*world.sandbox.server.accepted_entries()}
    manifest = json.loads((world.folder / "october" / "manifest.json").read_text())
    digest = hashlib.sha256(Path(ledger.attrs["bktools"]["source"]).read_bytes()).hexdigest()
    assert manifest["sources"]["ledger"]["sha256"] == digest
    for close in (world.close(apply=True), world.close(ledger=ledger, apply=True)):
        assert _ids(close, "already_booked") == booked
        assert _ids(close, "maybe_booked") == open_ones
        assert (
            close.entries.drop_duplicates("id").set_index("id")["message"].loc[[*messages]].to_dict()
            == messages
        )
        assert close.figures.spent == first.figures.spent
    assert not (booked | open_ones) & {*world.sandbox.server.accepted_entries()}
    with open_for_writing(world.service.settings) as journal:
        (event,) = journal.events(EXPORTED_ELSEWHERE)
        assert (event.person, digest in event.facts["evidence"]) == ("Ada", True)
        # Each names the file with the line, the day, the voucher and the text.
        vouchers = {entry["voucher"].split(", ")[2] for entry in event.facts["entries"]}
        assert vouchers == {f"V{number}" for number in range(len(booked))}
        record_not_booked(
            journal, event.company_id, open_ones, by="Grace", evidence="the postings are of somebody else"
        )
        undo_exported_elsewhere(journal, event.event_id, by="Grace", evidence="the vouchers were reversed")
    again = world.close().entries
    assert {*again.loc[again["fate"] == "ready", "id"]} == booked | open_ones


def _ids(close: Close, reason: str) -> set[str]:
    return {*close.entries.loc[close.entries["reason"] == reason, "id"]}


def test_a_change_that_was_corrected_in_the_erp_comes_to_rest(world: World):
    """A recorded verification with the entries' file that finds it booked as it is now ends its step."""
    exported = world.close(apply=True).entries.query("fate == 'exported' and currency == 'EUR'")
    changed = exported.iloc[0]
    is_changed = world.entries["id"] == changed["id"]
    world.entries.loc[is_changed, "amount"] = changed["amount"] + 12.25
    (step,) = (action for action in world.close().actions if action.code == "changed_since_export")
    assert " --month 2026-10 --record " in step.command
    booked = exported.assign(
        amount=exported["amount"].mask(exported["id"] == changed["id"], changed["amount"] + 12.25)
    )
    ledger, company = world.ledger(booked), world.service.settings.company
    verified = world.verified(ledger)
    entries = verified.match.entries.set_index("entry_id")
    assert (entries.loc[changed["id"], "status"], [*verified.changed]) == ("booked", [changed["id"]])
    assert verified.remarks[-1].endswith("compared as they are now: EUR 12.25 beside what was exported")
    about = {"by": "Grace", "reason": "of other currencies"}
    record(world.service, company, "2026-10", verified, ledger, **about)
    close = world.close()
    assert "changed_since_export" not in {*close.entries["reason"]}
    assert close.entries.set_index("id").loc[changed["id"], ["fate", "amount"]].tolist() == [
        "exported",
        changed["amount"],
    ], "the month shows what was sent"
    world.entries.loc[is_changed, "amount"] += 1
    assert "changed_since_export" in {*world.close().entries["reason"]}, "another change is another step"


def test_a_persons_word_ends_the_step_of_a_change_that_no_ledger_proves(world: World):
    """The ledger has no amounts in the entry's currency; what is exported afterwards was not verified."""
    exported = world.close(apply=True).entries.query("fate == 'exported'")
    changed = exported.loc[exported["currency"] == "USD", "id"].iloc[0]
    world.entries.loc[world.entries["id"] == changed, "amount"] += 1
    ledger, company = world.ledger(exported.query("currency == 'EUR'")), world.service.settings.company
    verified = world.verified(ledger)
    assert verified.match.entries.set_index("entry_id").loc[changed, "status"] == "not_comparable"
    assert ([*verified.changed], verified.corrected()) == ([changed], [])
    about = {"by": "Grace", "reason": "looked up in the ERP"}
    [by_word] = record(world.service, company, "2026-10", verified, ledger, **about)
    assert " USD " in by_word.replace("\N{NO-BREAK SPACE}", " ")
    assert "changed_since_export" not in {*world.close().entries["reason"]}
    first, attrs = world.entries["id"] == exported["id"].iloc[0], world.entries.attrs
    more = world.entries[first].assign(id="00000000-0000-4000-8000-0000000000aa", supplier="Neu AG")
    world.entries = pd.concat([world.entries, more], ignore_index=True)
    world.entries.attrs = attrs
    assert world.close(apply=True).tables["verified"]["unverified"].to_pylist() == [1]
    periods = bktools.load_periods(service=world.service).set_index("currency")
    assert periods["unverified"].drop("EUR").eq(0).all()
    assert periods.loc["EUR", "unverified"] == 1


def test_nothing_is_sent_to_an_account_that_the_chart_does_not_have(world: World):
    """An account of the service that left the chart: its entries wait, and the step has their amount."""
    bktools.create_accounts(world.close().before, apply=True, service=world.service)
    ready = world.close().entries.query("fate == 'ready'")
    gone = ready["account_code"].iloc[0]
    attrs = world.chart.attrs
    world.chart = world.chart[world.chart["code"] != gone]
    world.chart.attrs = attrs
    close = world.close(apply=True)
    on_it = close.entries[close.entries["account_code"] == gone]
    held = on_it[on_it["reason"] == "to_be_archived_account"]
    assert {*ready.loc[ready["account_code"] == gone, "id"]} <= {*held["id"]}
    assert not on_it["fate"].isin(["exported", "ready"]).any()
    [step] = (action for action in close.actions if action.code == "to_be_archived_account")
    assert {*held["id"]} <= {*step.entry_ids}
    assert (step.is_apart, step.wants_account) == (False, True)
