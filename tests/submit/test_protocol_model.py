"""The protocol's rules, each needed: the shortest harm without it, and none with all of them."""

from __future__ import annotations

import os

import pytest
from protocol_model import RULES, Protocol, walk

# More faults make the worlds larger: two take minutes.
MORE_FAULTS = int(os.environ.get("MORE_FAULTS", "0"))

COPY, SLEEP = "AN OLD COPY OF 1 EVENTS IS THE DATABASE", "A LONG SLEEP"
PASSED_ON = "0 A GATEWAY REFUSES and passes the request on"
REPEATED = "0 A GATEWAY REPEATS the request, and the first one is booked"

# By rule: the world, the promise that breaks without the rule, the one fault of the shortest way there, and
# the number of its steps. `protocol_model.py WORLD --without RULE` prints the way.
HARMS = {
    "compare_and_set": ("shared", "twice", None, 12),
    "age": ("shared", "twice", SLEEP, 14),
    "reread": ("process", "twice", COPY, 13),
    "one_connection": ("shared", "twice", SLEEP, 14),
    "service_form": ("process", "twice", PASSED_ON, 13),
    "in_progress": ("process", "twice", REPEATED, 13),
    "release_later": ("process", "twice", "0 LOSES THE ANSWER", 14),
    "memory": ("process", "twice", COPY, 13),
    "identity": ("shared", "twice", COPY, 12),
    "stop": ("process", "twice", COPY, 14),
    "closed": ("process", "twice", COPY, 16),
    "ledger": ("process", "stuck", COPY, 5),
    "begin_compares": ("shared", "twice", COPY, 13),
    "newcomer": ("computers", "twice", COPY, 12),
    "first_export": ("computers", "twice", None, 11),
    "other_computers": ("computers", "twice", None, 12),
}


@pytest.mark.parametrize(("world", "faults"), [("shared", 1), ("process", 2), ("computers", 2)])
@pytest.mark.timeout(300 * 10**MORE_FAULTS)
def test_all_rules_keep_all_promises(world, faults):
    """Nothing is booked twice, no machine is unaware, and an honest way on exists, in every state."""
    assert walk(Protocol(RULES, world, faults=faults + MORE_FAULTS)).ways == {}


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_is_needed(rule):
    """Without the rule, the shortest way to harm has this fault and this number of steps."""
    world, promise, fault, steps = HARMS[rule]
    protocol = Protocol({*RULES} - {rule}, world, faults=int(fault is not None))
    way = walk(protocol, promises=[promise]).ways[promise]
    assert (len(way), fault is None or fault in way) == (steps, True), "; ".join(way)
