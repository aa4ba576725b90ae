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
from judge import EXACT, judged

from bktools import match_ledger

# How many entries may be open where nothing is planted; a month is open as a whole. There is no promise for
# sums with amounts in another currency: no rate is estimated.
OPEN, OPEN_IN_MONTHS = 0.02, 0.10
# So many errors are exact, or among the first entries of their open group; a sum of a batch or a month has
# too many entries that may have made its difference.
NAMED, MOST_CANDIDATES = 0.85, 3


def verdicts(name, seeds, count, errors):
    """Return the counts of the judge over some seeds, and what is wrong."""
    counts, wrong = Counter(), []
    for seed in seeds:
        made = world(seed, STYLES[name], count, errors)
        match = match_ledger(made.entries, made.ledger)
        statuses = match.entries["status"].to_list()
        own, mistakes = judged(made, statuses)
        counts += own
        likeliest = {one for ids in match.open_groups["entry_ids"] for one in ids.split()[:MOST_CANDIDATES]}
        for number, kind in made.planted.items():
            is_named = statuses[number] in EXACT[kind] or made.rows[number]["entry_id"] in likeliest
            counts.update({"errors": 1, "errors named": is_named})
        wrong += [(name, seed, *mistake) for mistake in mistakes]
    return counts, wrong


def most_open(name):
    """Return the share of sound entries that may be open in a style."""
    if "foreign" in name and not name.startswith("entry"):
        return 1
    return OPEN_IN_MONTHS if name.startswith(("month", "batch")) else OPEN


@pytest.mark.parametrize("errors", [0, 3])
@pytest.mark.parametrize("name", STYLES)
def test_no_status_is_wrong(name, errors):
    """Whatever the style, each status is right or open; few sound entries are open, and errors are named."""
    counts, wrong = verdicts(name, [0], 300, errors)
    assert wrong == []
    if not errors:
        assert counts["plain not decided"] <= most_open(name) * counts["plain"]
    elif not name.startswith(("month", "batch")):
        assert counts["errors named"] >= NAMED * counts["errors"]


@pytest.mark.parametrize(
    ("name", "seed"),
    [("supplier and day, tax by entry", 19), ("supplier and day, tax", 300), ("document, tax", 3006)],
)
def test_no_net_hides_a_wrong_account(name, seed):
    """An account has the nets of its own entries; a credit on a strange account is no contra account."""
    assert verdicts(name, [seed], 300, 3)[1] == []


def table(seeds, sizes):
    """Yield the lines of the table."""
    yield (
        "| style | entries | falsely missing | falsely booked | otherwise wrong | sound, open | planted "
        "| exact | or in the first three |"
    )
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for name in STYLES:
        for size in sizes:
            plain, _ = verdicts(name, seeds, size, 0)
            planted, _ = verdicts(name, seeds, size, 3)
            both = plain + planted
            share = 100 * plain["plain not decided"] / max(plain["plain"], 1)
            exact = 100 * planted["planted right"] / max(planted["planted"], 1)
            named = 100 * planted["errors named"] / max(planted["errors"], 1)
            yield (
                f"| {name} | {both['entries']:,} | {both['falsely missing']} | {both['falsely booked']} |"
                f" {both['otherwise wrong']} | {share:.1f}% | {planted['planted']} | {exact:.0f}% |"
                f" {named:.0f}% |"
            )


if __name__ == "__main__":
    numbers = [int(one) for one in sys.argv[1:]] or [3, 300]
    for line in table(range(numbers[0]), numbers[1:]):
        print(line, flush=True)
