import os
from collections import Counter

import reconcile_reference as reference
import reconcile_world as world
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reconcile_engines import in_pandas

from bktools.reconcile import CHECKS, reconcile_accounts
from bktools.reconcile.checks import SEVERITIES

RUNS = int(os.environ.get("BKTOOLS_TEST_RUNS", "3"))


def merged(seeds, size):
    """Small worlds side by side, each with companies of its own."""
    return world.side_by_side({seed: world.seeded(seed, size) for seed in seeds})


def compared(engine, rows):
    """Reconcile on the engine, assert that every row is as plain Python has it, and return the findings."""
    result = reconcile_accounts(**engine.frames(world.tables(rows)))
    findings, actions, coverage = reference.reconcile(**rows)
    found = engine.rows(result.findings)
    assert reference.in_order(row[:-4] for row in found) == reference.in_order(findings)
    assert reference.in_order(engine.rows(result.actions)) == reference.in_order(actions)
    assert reference.in_order(engine.rows(result.coverage)) == reference.in_order(coverage)
    unused = reference.unused(rows["accounts"], rows["categories"])
    assert reference.in_order(engine.rows(result.unused_accounts)) == reference.in_order(unused)
    return result, found


def test_every_engine_finds_what_plain_python_finds(engine):
    """Findings, actions and coverage of a world with everything wrong, and texts of all kinds, are the same to the letter."""
    rows = merged(range(8), 12)
    for noun, more in world.plain().items():
        rows[noun] += [{**row, "tax_code_id": "tax-1"} if noun == "categories" else row for row in more]
    for noun, more in world.side_by_side({"nasty": world.nasty()}).items():
        rows[noun] += more
    rows["chart"].append({**world.plain()["chart"][0], "external_id": "Summe", "code": "Summe", "name": "Summe"})
    result, found = compared(engine, rows)
    keys = [(SEVERITIES.index(row[1]), row[0]) for row in found]
    assert keys == sorted(keys), "the most severe come first"
    assert {row[0] for row in found} == {check.name for check in CHECKS}, "the world shows every check"
    summary = {row[:2]: row[2] for row in in_pandas().rows(result.summary)}
    counted = Counter((row[0], row[1]) for row in found)
    assert {key: count for key, count in summary.items() if key[1]} == counted


@settings(max_examples=RUNS, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_any_world_is_reconciled_as_plain_python_does(data):
    """Whatever chart, accounts and categories hold, the query and the loop over rows agree."""
    sizes = [data.draw(st.integers(0, 12)) for _ in range(3)]
    compared(in_pandas(), world.world(lambda options: data.draw(st.sampled_from(options)), *sizes))


def test_messages_are_one_line_and_name_the_thing():
    """Every message is one line of text, whatever line breaks the names have."""
    rows = merged(range(2), 10)
    for row in rows["chart"]:
        row["name"] = "Bank\r\nof\tall"
    found = in_pandas().rows(reconcile_accounts(**in_pandas().frames(world.tables(rows))).findings)
    messages = [row[-4] for row in found]
    assert any("Bank of all" in message for message in messages)
    assert all(message and len(message.splitlines()) == 1 and "{}" not in message for message in messages)
