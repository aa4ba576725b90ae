"""A month is shown again at any time from the journal, to the cent, whatever the files hold by then."""

from __future__ import annotations

import csv
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest

import bktools
from bktools.errors import ArgumentError, JournalError


def lines_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def write(path: Path, rows: list[dict[str, str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def sums(rows: list[dict[str, str]], ids: set[str]) -> dict[str, Decimal]:
    """Return the exact sum by currency of the lines with these IDs, once each."""
    found: dict[str, Decimal] = defaultdict(Decimal)
    for row in {row["entry_id"]: row for row in rows}.values():
        if row["entry_id"] in ids:
            found[row["currency"]] += Decimal(row["amount"])
    return dict(found)


def amounts(record, name: str) -> dict[str, Decimal]:
    rows = record.totals[record.totals[name] > 0]
    return dict(zip(rows["currency"], map(Decimal, map(repr, rows[f"{name}_amount"].tolist())), strict=True))


def test_october_is_the_same_in_december(service, samples, tmp_path, closed):
    """October is closed, a fix is made, November applied: in December October's figures are equal."""
    october = lines_of(samples[1])

    def closes(rows: list[dict[str, str]], month: str, **options):
        entries = bktools.read_entries(write(tmp_path / f"{month}.csv", rows))
        return closed(entries, month=month, **options)

    first = closes(october, "2026-10", apply=True, by="Ada", approved_by="Grace")
    sent = set(first.entries.loc[first.entries["fate"] == "exported", "id"])
    waiting = first.entries
    fixed = set(waiting.loc[waiting["reason"] == "not_approved", "id"])
    assert len(sent) > 200
    assert len(fixed) == 15

    # The fix: what was not approved is approved. Of what was exported, the file now has other amounts.
    later = [dict(row, status="approved") if row["entry_id"] in fixed else row for row in october]
    november = [dict(row, amount="1.00") if row["entry_id"] in sent else row for row in later]
    one = "00000000-0000-4000-8000-00000000000a"
    november.append(dict(october[0], entry_id=one, date="2026-11-05", amount="10.01"))
    second = closes(november, "2026-11", apply=True, by="Ada")
    third = closes(november[:1], "2026-10")
    record, again = third.record, bktools.record_of("2026-10", service=service)
    # Of what was sent, the file has one entry, which it changed; nothing is said of those that it lacks.
    shown = third.entries[third.entries["fate"] == "exported"]
    assert shown["reason"].value_counts().to_dict() == {"": len(sent) - 1, "changed_since_export": 1}

    assert amounts(record, "exported") == sums(october, sent)
    assert set(record.exported["entry_id"]) == sent
    assert set(record.exported["job_id"]) == {job["job_id"] for job in first.run.jobs}
    assert set(record.exported["sent_by"]) == {"Ada"}
    held = set(waiting.loc[waiting["fate"] == "held_back", "id"])
    assert amounts(record, "held_back") == sums(october, held)
    assert amounts(record, "resolved") == sums(october, fixed)
    assert amounts(record, "open") == sums(october, held - fixed)
    resolved = record.held_back[record.held_back["outcome"] == "resolved"]
    assert set(resolved["entry_id"]) == fixed
    assert set(resolved["resolved_period"]) == {"2026-11"}
    assert set(resolved["resolved_job_id"]) == {job["job_id"] for job in second.run.jobs}
    assert set(resolved["reason"]) == {"not_approved"}
    assert record.state == "CLOSED"
    [close] = record.closes.to_dict("records")
    persons = (close["prepared_by"], close["approved_by"])
    assert (*persons, close["plan_id"]) == ("Ada", "Grace", first.run.plan.plan_id)
    assert repr(again) == repr(record)
    assert f"exported: {len(sent)} entries" in repr(third)
    assert list(record.exported.columns)[:2] == ["date", "supplier"]
    of_november = bktools.record_of("2026-11", service=service)
    assert amounts(of_november, "exported") == sums(november, fixed | {one})
    # Figures of October when it was closed, but for what was resolved since.
    assert first.record.totals["exported_amount"].equals(record.totals["exported_amount"])
    assert first.record.totals["held_back_amount"].equals(record.totals["held_back_amount"])

    with pytest.raises(JournalError, match=r"2026-10 of company .* was closed by Grace on 20"):
        closes(november, "2026-10", apply=True)
    assert len(bktools.load_export_jobs(service=service)) == 2


def test_what_was_sent_outside_of_a_close_is_in_the_month_of_its_date(sandbox, service):
    """September's entry is in September, one without a date in no month; a name is shown as text."""
    company = sandbox.server.company_id
    entries = pd.DataFrame(
        {
            "id": [f"00000000-0000-4000-8000-00000000000{number}" for number in range(2)],
            "company_id": company,
            "date": pd.to_datetime("2026-09-30"),
            "supplier": "\x1b[31m<script>",
            "category_name": "\u202emirrored",
        }
    )
    for part in (entries[:1], entries[1:].drop(columns="date")):
        bktools.submit_export_jobs(bktools.compose_export_jobs(part), apply=True, wait=5, service=service)
    record = bktools.record_of("2026-09", company, service=service)
    assert record.exported["entry_id"].to_list() == entries["id"].to_list()[:1]
    assert "exported: 1 entry" in repr(record)
    assert "\x1b" not in repr(record) + record._repr_html_()
    assert len(bktools.record_of("2026-10", company, service=service).exported) == 0
    assert bktools.load_periods(company, service=service)["period"].to_list() == ["2026-09"]
    with pytest.raises(ArgumentError, match="month must be a month such as 2026-10"):
        bktools.record_of("2026", company, service=service)
