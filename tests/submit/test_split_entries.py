"""Split entries: several lines with one ID, which the service exports as one entry."""

from __future__ import annotations

from decimal import Decimal

import pandas as pd
import pytest
from entries_by_hand import outcomes, submit

import bktools

ONE, TWO, THREE = (f"00000000-0000-4000-8000-00000000000{number}" for number in (1, 2, 3))
TRAVEL, MEALS = "00000000-0000-4000-8000-0000000000c1", "00000000-0000-4000-8000-0000000000c2"
HEAD = "entry id,date,amount,currency,category id,tax code,supplier,status"
LINES = (
    (ONE, "2026-10-01", "10.00", "EUR", TRAVEL, "V19", "Hotel", "approved"),
    (ONE, "2026-10-01", "5.50", "EUR", MEALS, "V7", "Hotel", "approved"),
    (TWO, "2026-10-02", "7.00", "EUR", MEALS, "V7", "Taxi", "approved"),
)


@pytest.fixture
def read(sandbox, tmp_path):
    """A function that writes lines with further columns to a file and reads them."""

    def read(lines=LINES, more: dict[str, list[str]] | None = None, **options) -> pd.DataFrame:
        columns = zip(*more.values(), strict=True) if more else [()] * len(lines)
        rows = [",".join([*line, *values]) for line, values in zip(lines, columns, strict=True)]
        path = tmp_path / "entries.csv"
        path.write_text("\n".join([",".join([HEAD, *(more or ())]), *rows]), encoding="utf-8")
        return bktools.read_entries(path, company=sandbox.server.company_id, **options)

    return read


@pytest.mark.parametrize(
    ("more", "options"),
    [
        ({"Split line": ["1", "2", "1"]}, {}),
        ({"Line number": ["0", "1", "0"]}, {}),
        ({"Teil": ["2", "1", ""]}, {"columns": {"split_line": "Teil"}}),
        ({"Receipt total": ["15.50", "15.50", "7.00"]}, {}),
        ({"Summe": ["15.50", "15.50", "7.00"]}, {"columns": {"entry_total": "Summe"}}),
        ({}, {"split_lines": True}),
    ],
)
def test_a_file_says_that_lines_are_the_parts_of_one_entry(read, more, options):
    """By line numbers, by a total that the lines add up to, or by the caller's word; otherwise they wait."""
    held = bktools.compose_export_jobs(read()).not_ready
    assert held["reason"].to_list() == ["conflicting"] * 2
    assert all(way in held["message"][0] for way in ("split_line", "entry_total", "split_lines=True"))
    entries = read(more=more, **options)
    assert sorted(entries.loc[entries["id"] == ONE, "split_line"]) == [1, 2]
    assert entries["split_lines"].to_list() == [2, 2, 0]
    plan = bktools.compose_export_jobs(entries)
    assert (plan.not_ready.empty, plan.batches["entries"].to_list()) == (True, [2])
    assert repr(plan).startswith(f"ExportPlan {plan.plan_id}: 2 entries ready in 1 batch, 0 not ready")
    assert plan.amounts == {"EUR": Decimal("22.50")}


def test_lines_are_held_back_and_selected_together(read):
    """Where one line is not ready, or is left out, nothing of its entry is sent; a mask selects it whole."""
    missing = (*LINES[1][:4], "", *LINES[1][5:])
    plan = bktools.compose_export_jobs(read((LINES[0], missing, LINES[2]), split_lines=True))
    assert plan.entries["id"].to_list() == [TWO]
    assert plan.not_ready["reason"].to_list() == ["other_line_not_ready", "no_category"]
    entries = read(split_lines=True)
    plan = bktools.compose_export_jobs(entries, selection=entries["amount"] < 7)
    assert plan.entries["id"].to_list() == [ONE, ONE]
    part = bktools.compose_export_jobs(entries[entries["amount"] != Decimal("5.50")])
    assert part.not_ready["reason"].to_list() == ["lines_missing"]
    picker = bktools.pick_entries(entries, selection=entries["amount"] < 7)
    picker.widget.selected = [0, 2]
    assert picker.selection["id"].to_list() == [TWO], "a line was left out"


def test_a_split_entry_is_sent_once(read, sandbox, service, tmp_path):
    """Its ID is once in the body and counts as one entry; the journal keeps each line, exactly."""
    lines = (*LINES, (THREE, "2026-10-03", "1.00", "EUR", TRAVEL, "V19", "Bus", "approved"))
    plan = bktools.compose_export_jobs(read(lines, split_lines=True), max_entries=2)
    assert [plan.request(batch).entry_ids for batch in plan.batches["batch_id"]] == [[ONE, TWO], [THREE]]
    assert outcomes(plan, service, wait=30) == ["ACCEPTED"] * 2
    assert sandbox.server.accepted_entries() == dict.fromkeys((ONE, TWO, THREE), 1)
    history = bktools.load_export_jobs(entries=True, service=service)
    sent = history[history["entry_id"] == ONE]
    kept = [[1, Decimal("10.00"), TRAVEL], [2, Decimal("5.50"), MEALS]]
    assert sent[["split_line", "amount", "category_id"]].to_numpy().tolist() == kept
    record = bktools.record_of("2026-10", sandbox.server.company_id, service=service)
    assert record.lines[0].startswith("exported: 3 entries, EUR 23.50")
    assert record.totals[["exported", "exported_amount"]].to_numpy().tolist() == [[3, Decimal("23.50")]]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({1: {2: "6.50"}}, "amount 10.00 + 5.50 → 10.00 + 6.50"),
        ({0: {4: MEALS}, 1: {4: TRAVEL}}, f"10.00 {TRAVEL} + 5.50 {MEALS} → 10.00 {MEALS} + 5.50 {TRAVEL}"),
        ({}, None),
    ],
)
def test_the_lines_are_compared_when_they_come_again(read, service, change, text):
    """A changed line is an error of its entry; another order is no change."""
    submit(read(split_lines=True), service)
    lines = [
        [change.get(place, {}).get(column, value) for column, value in enumerate(line)]
        for place, line in enumerate(LINES)
    ]
    history = bktools.load_export_jobs(entries=True, service=service)
    again = bktools.compose_export_jobs(read(lines[::-1], split_lines=True), history=history)
    changes = again.findings[again.findings["check"] == "changed_since_export"]
    assert all(text in message for message in changes["message"])
    assert len(changes) == (0 if text is None else 2)
