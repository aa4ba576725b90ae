"""Every booking style, with and without planted errors: nothing is falsely missing or falsely booked.

`python tests/ledger/test_styles.py [SEEDS] [ENTRIES…]` prints the table of RESULTS.md.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from erps import STYLES, world
from judge import attainable, judged

from bktools.ledger.inputs import read
from bktools.ledger.sides import sides_of
from bktools.ledger.statuses import Status
from bktools.ledger.verdict import verdict_of

# How many entries may be undecided where nothing is planted, and how many planted are found exactly.
LONG = ("month", "month, tax", "month, sign reversed", "month, foreign", "day, tax pooled, foreign")
OF_ENTRIES = 0.95
SUMS_OF_A_DAY = [name for name in STYLES if name.startswith(("supplier and day", "account and day", "day"))]
# In these the ledger has no text that tells a second posting from that of another document.
WITHOUT_TEXTS = ("entry, own texts of the system", "entry, late, own texts of the system")


# Companies in which chance brings together what says something else.
CHANCES = [
    ("a small error beside converted amounts", "month, foreign", 7, 5_000, 3),
    ("a small error and a rate that leaves much open", "month, foreign", 413, 5_000, 3),
    ("a small error and rates of one month", "month, foreign", 414, 5_000, 3),
    ("an amount that a rate leaves open, like a reversal", "month, foreign", 420, 5_000, 3),
    ("a small error near a known rate", "month, foreign", 215, 300, 3),
    ("a rate that two days share", "day, tax pooled, foreign", 3, 5_000, 3),
    ("a rate of another time", "day, tax pooled, foreign", 6, 5_000, 0),
    ("an error like an entry of another account", "day, tax pooled, foreign", 72, 5_000, 3),
    ("a rate of one day, which an error shows", "day, tax pooled, foreign", 410, 5_000, 3),
    ("late sums like one another", "account and day, late", 2, 5_000, 3),
    ("late sums like a single entry", "account and day, late", 70, 5_000, 3),
    ("late entries like the rest of a day", "account and day, late", 301, 300, 0),
    ("a net amount beside the text of its entry", "supplier and day, tax by entry", 308, 300, 3),
    ("a posting like a sum of another day", "account and day, tax", 453, 300, 3),
    ("two errors of a sum like one of its entries", "account and day, tax by code", 480, 300, 3),
    ("a cost like the opposite of a credit note", "month, tax", 102, 300, 3),
    ("two errors in the only voucher that shows rates", "batch, tax", 422, 300, 3),
    ("corrections in the only voucher that shows rates", "batch, tax", 443, 300, 3),
    ("wrong bookings that look like tax", "batch", 450, 300, 3),
    ("late entries like one another", "entry, late, own texts of the system", 301, 300, 0),
    ("late entries and errors like one another", "entry, late, own texts of the system", 322, 300, 3),
    ("a second posting before an equal entry", "entry, late, own texts of the system", 425, 300, 3),
    ("a correction of one of four equal entries", "entry, late, own texts of the system", 472, 300, 3),
    (
        "a reversal before the posting of an equal entry",
        "entry, late, own texts of the system",
        412,
        5_000,
        3,
    ),
    ("a credit note on the account of its opposite", "entry, own texts of the system", 411, 5_000, 3),
    ("an equal amount of another matter weeks later", "entry, late, own texts of the system", 493, 300, 3),
    ("an amount of another entry by a rate", "entry, foreign", 511, 300, 3),
    ("a sum of a day weeks later", "batch, tax", 415, 5_000, 3),
    ("a small error where each entry is rounded", "month, tax", 421, 5_000, 3),
    ("an accrual like an entry", "month, foreign", 427, 5_000, 3),
    ("a tax of its own among others of its kind", "supplier and day, tax by entry", 504, 300, 3),
    ("a voucher of nothing that holds a credit note of another account", "document, tax", 441, 5_000, 3),
    ("a correction of another sum of equal amount", "account and day", 446, 5_000, 3),
    ("a correction beside an error of its amount", "month", 445, 5_000, 3),
    ("an entry moved to the sum of its opposite", "day, tax pooled by code", 450, 5_000, 3),
    ("two slips of one amount", "account and day, late", 585, 300, 3),
    ("a credit note on an account that no entry has", "document", 588, 300, 3),
    ("a slip of the amount of an entry beside it", "supplier and day", 456, 5_000, 3),
    ("a document of other days", "day, tax pooled, foreign", 456, 5_000, 3),
    ("an accrual like a document", "month, tax", 453, 5_000, 3),
    ("a cost like the opposite of a sum of credit notes", "supplier and day", 482, 5_000, 3),
    ("a sum that is twice its entry", "day, one rate pooled", 500, 5_000, 3),
    ("nets that are nothing together", "document, tax", 527, 300, 0),
    ("a second posting for an entry of weeks before", "entry, own texts of the system", 480, 300, 3),
    ("another cost, without tax, of the net amount", "entry, late", 7, 5_000, 3),
    ("another cost, without tax, on another account", "entry, own texts of the system", 18, 5_000, 3),
    ("another cost, without tax, of the amount that a sum lacks", "day, tax pooled", 49, 5_000, 3),
    ("a net amount by another rate", "document, tax", 50, 5_000, 3),
    ("an error that cancels a correction", "month, sign reversed", 51, 5_000, 3),
    ("another cost weeks later in a ledger that little explains", "month, foreign", 54, 5_000, 3),
    ("a small error beside rates of few sums", "month, foreign", 60, 5_000, 3),
    ("another cost of the amount, without texts that tell", "entry, own texts of the system", 79, 5_000, 3),
    ("an accrual like the sum of a document", "month, foreign", 80, 5_000, 0),
    ("two suppliers with one amount on a day", "supplier and day", 81, 5_000, 3),
    ("an error like the entry of another document", "document, tax", 82, 5_000, 3),
    ("two sums that are opposites", "supplier and day, tax by entry", 85, 5_000, 0),
    ("a second posting beside an equal entry", "entry, late, own texts of the system", 91, 5_000, 3),
    ("sums that share a rate which is none", "month, foreign", 92, 5_000, 3),
    ("a slip of the amount of another entry", "supplier and day, tax by entry", 99, 5_000, 3),
    ("another cost on the account from which an entry was moved", "entry, foreign", 105, 5_000, 3),
    ("single entries that sum up to another one", "entry, late, own texts of the system", 112, 5_000, 0),
    ("another cost, without tax, of the amount and the day", "entry, foreign", 120, 5_000, 3),
    ("entries that a converted one cancels", "day, tax pooled, foreign", 139, 5_000, 0),
]


def verdicts(name, seeds, count, errors):
    """Return the counts of the judge over some seeds, and what is wrong."""
    counts, wrong = Counter(), []
    for seed in seeds:
        made = world(seed, STYLES[name], count, errors)
        status = verdict_of(sides_of(read(made.entries, made.ledger))).status
        own, mistakes = judged(made, [Status(int(code)).code for code in status])
        counts += own
        if name in SUMS_OF_A_DAY:
            counts["attainable"] += attainable(made, STYLES[name])
        wrong += [(name, seed, *mistake) for mistake in mistakes]
    return counts, wrong


@pytest.mark.parametrize("name", STYLES)
def test_nothing_planted(name):
    """Each entry is there, whatever the style; few are not decided."""
    counts, wrong = verdicts(name, range(2), 300, 0)
    assert wrong == []
    assert counts["plain not decided"] <= (0.10 if name in LONG else 0.02) * counts["plain"]


@pytest.mark.parametrize("name", STYLES)
def test_planted_errors(name):
    """Errors are found or named, none is overlooked, and no entry that is there is called missing."""
    counts, wrong = verdicts(name, range(1), 300, 3)
    assert wrong == []
    if name.startswith("entry") and name not in WITHOUT_TEXTS:
        assert counts["planted right"] >= OF_ENTRIES * counts["planted"] - 1


@pytest.mark.long
@pytest.mark.parametrize("seed", range(50))
def test_fifty_seeds(seed):
    """In fifty companies, with six styles each, nothing is falsely missing or falsely booked."""
    names = [name for place, name in enumerate(STYLES) if place % 5 == seed % 5]
    for name in names:
        for errors in (0, 3):
            _, wrong = verdicts(name, [seed], 300, errors)
            assert wrong == []


@pytest.mark.long
@pytest.mark.parametrize(("chance", "name", "seed", "count", "errors"), CHANCES)
def test_what_chance_brings_together(chance, name, seed, count, errors):
    """What looks like something else by chance is named right or is not decided."""
    _, wrong = verdicts(name, [seed], count, errors)
    assert wrong == [], chance


@pytest.mark.long
@pytest.mark.parametrize("name", SUMS_OF_A_DAY)
def test_sums_of_many_entries(name):
    """In three companies with 5,000 entries, most errors in sums of a day are found exactly."""
    counts, wrong = verdicts(name, range(3), 5_000, 3)
    assert wrong == []
    assert counts["planted right"] >= (0.50 if "foreign" in name else 0.65) * counts["planted"]


@pytest.mark.long
def test_rate_beside_others():
    """A rate of tax that hardly an account and day has alone is found beside the others."""
    counts, wrong = verdicts("day, tax pooled, foreign", [5], 5_000, 0)
    assert wrong == []
    assert counts["plain not decided"] <= 0.02 * counts["plain"]


def table(seeds, sizes):
    """Yield the lines of the table."""
    yield (
        "| style | entries | falsely missing | falsely booked | otherwise wrong | not decided, "
        "nothing planted | planted | exactly | attainable | named |"
    )
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for name in STYLES:
        for size in sizes:
            plain, _ = verdicts(name, range(seeds), size, 0)
            planted, _ = verdicts(name, range(seeds), size, 3)
            both = plain + planted
            share = 100 * plain["plain not decided"] / max(plain["plain"], 1)
            exact = 100 * planted["planted right"] / max(planted["planted"], 1)
            limit = f"{100 * planted['attainable'] / (18 * seeds):.0f}%" if name in SUMS_OF_A_DAY else ""
            yield (
                f"| {name} | {both['entries']:,} | {both['falsely missing']} | {both['falsely booked']} |"
                f" {both['otherwise wrong']} | {share:.1f}% | {planted['planted']} | {exact:.0f}% | {limit} |"
                f" {planted['planted not decided']} |"
            )


if __name__ == "__main__":
    numbers = [int(one) for one in sys.argv[1:]] or [50, 300, 5_000]
    for line in table(numbers[0], numbers[1:]):
        print(line, flush=True)
