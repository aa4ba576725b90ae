"""Ledgers of each format, made from the exported entries by hand, with each kind of difference."""

from __future__ import annotations

import pytest
from worlds import FORMATS, exported, october, plainly_booked

import bktools


@pytest.mark.parametrize("name", FORMATS)
def test_every_planted_difference_is_found(tmp_path, name):
    """Each difference is found, with its voucher or document as evidence, and nothing else."""
    entries = exported(30)
    postings, planted = october(entries)
    (tmp_path / name).write_bytes(FORMATS[name](postings))
    match = bktools.match_ledger(entries, bktools.read_general_ledger(tmp_path / name))
    found = dict(zip(match.entries["entry_id"], match.entries["status"], strict=True))
    assert [found[entry] for entry in entries["entry_id"]] == [
        planted.get(number, "booked") for number in range(len(entries))
    ]
    assert match.not_from_export == 1
    assert match.postings.loc[match.postings["status"] == "matched to no entry", "text"].tolist() == ["Porto"]
    assert len(match.findings) == len(planted) - 1
    evidence = "booked_document_number" if name == "EXTF_ledger.csv" else "booked_voucher_id"
    booked = match.entries.set_index("entry_id")[evidence]
    form = "D{}" if name == "EXTF_ledger.csv" else "A {}"
    expected = [None if number == 1 else form.format(number + 1) for number in range(len(entries))]
    assert [
        None if missing else value
        for value, missing in zip(
            booked[entries["entry_id"]], booked[entries["entry_id"]].isna(), strict=True
        )
    ] == expected


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_else_is_found(tmp_path, name):
    """Where every entry is booked once, there is no finding, and the control totals agree."""
    entries = exported()
    (tmp_path / name).write_bytes(FORMATS[name](plainly_booked(entries)))
    match = bktools.match_ledger(entries, bktools.read_general_ledger(tmp_path / name))
    assert match.has_arrived
    assert match.counts == {"booked": len(entries)}
    assert match.findings.empty
    assert match.not_from_export == 0
    assert (match.totals["difference"] == 0).all()
    assert match.totals["exported"].sum() == entries["amount"].sum() == match.totals["ledger"].sum()
