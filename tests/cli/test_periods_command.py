"""Months on the command line: closed by a person, refused, shown again, opened again."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

import bktools
from bktools.cli.exits import Exit
from bktools.errors import JournalError


def amounts(output: str) -> list[str]:
    """Return the amounts of what the month exported, in alphabetical order."""
    found = re.search(r"exported: 225 entries, (.*)", output)
    return sorted(re.findall(r"[A-Z]{3} [\d,.]+\d", found[1])) if found else []


def test_a_closed_month_is_shown_and_not_sent_again(command, samples, sandbox):
    """An approved month is refused with the way out; a dry run with another file shows its figures."""
    chart, entries = samples
    close = f"month-end --chart {chart} --month 2026-10"
    word = "--first-export --by Ada"
    code, applied = command(f"{close} --entries {entries} --apply {word} --approved-by Ada --fail-on error")
    assert code == Exit.FINDINGS, "everything was done, and there are findings"
    assert "approved by Ada; the month October 2026 is closed" in applied
    exported = amounts(applied)
    assert [line[:3] for line in exported] == ["CHF", "EUR", "JPY", "SEK", "USD"]

    with pytest.raises(JournalError, match=r"period 2026-10 of company .* was closed by Ada on ") as refused:
        command(f"{close} --entries {entries} --apply --first-export --by Ada")
    assert "open it again: bktools periods reopen 2026-10 --company " in str(refused.value)
    assert len(sandbox.server.export_jobs()) == 1

    sent = set(bktools.load_export_jobs(entries=True)["entry_id"])
    with entries.open(encoding="utf-8", newline="") as file:
        head, *lines = csv.reader(file)
    with Path("other.csv").open("w", encoding="utf-8", newline="") as file:
        # Another amount now; a new entry waits.
        changed = [[*line[:3], "1.00", *line[4:]] for line in lines if line[0] in sent]
        new = ["00000000-0000-4000-8000-000000000001", *changed[0][1:]]
        csv.writer(file).writerows([head, *changed, new])
    code, shown = command(f"{close} --entries other.csv --fail-on held")
    assert code == Exit.DONE, "what was exported is not held back"
    assert amounts(shown) == exported
    assert "Written to month-end-2026-10.planned/" in shown
    assert "Prepared by " in shown
    company = bktools.connect("sandbox").settings.company
    assert f"open it first: bktools periods reopen 2026-10 --company {company} --environment " in shown

    listed = [line.split("\t") for line in command("periods")[1].splitlines()[2:]]
    assert [f"{line[2]} {line[4]}" for line in listed] == [text.replace(",", "") for text in exported]
    held = bktools.record_of("2026-10").held_back
    counts = held[held["currency"] == "EUR"]
    assert [line[5:7] for line in listed if line[2] == "EUR"] == [
        [str(len(counts)), f"{counts['amount'].sum():.2f}"]
    ]
    assert {(line[0], line[1]) for line in listed} == {("2026-10", "CLOSED")}
    german = [line.split("\t") for line in command("periods --language de")[1].splitlines()[2:]]
    assert {line[1] for line in german} == {"abgeschlossen"}
    assert command('periods reopen 2026-10 --by Grace --reason "a late invoice"') == (
        Exit.DONE,
        "The period 2026-10 was opened again by Grace\n",
    )
    assert "a late invoice" in command("periods")[1]
    assert command("periods close 2026-10 --by Grace") == (
        Exit.DONE,
        "The period 2026-10 was closed by Grace\n",
    )
