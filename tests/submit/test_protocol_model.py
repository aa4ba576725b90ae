"""The protocol's rules, each needed: the shortest harm without it, and none with all of them."""

from __future__ import annotations

import os

import pytest
from protocol_model import RULES, Protocol, walk

# More faults make the worlds larger: two take minutes.
MORE_FAULTS = int(os.environ.get("MORE_FAULTS", "0"))

# By rule: the world, the number of its faults, the promise that breaks without the rule, and the way there.
WAYS = {
    "compare_and_set": (
        "shared",
        0,
        "twice",
        (
            "0 composes; 1 composes; 0 begins 0; 0 remembers the intent; 0 may send; 0 sends 0; 1 begins 1; "
            "1 remembers the intent; 1 may send; 1 sends 1; the service books 0; the service books 1"
        ),
    ),
    "age": (
        "shared",
        1,
        "twice",
        (
            "0 begins 0; 0 remembers the intent; A LONG SLEEP; 0 may send; 0 sends 0; 1 opens UNKNOWN; a "
            "person releases 0; 1 opens; 1 begins 1; 1 remembers the intent; 1 may send; 1 sends 1; the "
            "service books 0; the service books 1"
        ),
    ),
    "reread": (
        "process",
        1,
        "twice",
        (
            "0 begins 0; AN OLD COPY OF 1 EVENTS IS THE DATABASE; 0 remembers the intent; 0 may send; 0 "
            "sends 0; the service books 0; 0 reads ACCEPTED; 0 records ACCEPTED; 0 begins 1; 0 remembers the "
            "intent; 0 may send; 0 sends 1; the service books 1"
        ),
    ),
    "one_connection": (
        "shared",
        1,
        "twice",
        (
            "0 begins 0; 0 remembers the intent; 0 may send; A LONG SLEEP; 0 sends 0; 1 opens UNKNOWN; a "
            "person releases 0; 1 opens; 1 begins 1; 1 remembers the intent; 1 may send; 1 sends 1; the "
            "service books 0; the service books 1"
        ),
    ),
    "service_form": (
        "process",
        1,
        "twice",
        (
            "0 begins 0; 0 remembers the intent; 0 may send; 0 sends 0; 0 A GATEWAY REFUSES and passes the "
            "request on; 0 records REJECTED; 0 opens; 0 begins 1; 0 remembers the intent; 0 may send; 0 "
            "sends 1; the service books 0; the service books 1"
        ),
    ),
    "in_progress": (
        "process",
        1,
        "twice",
        (
            "0 begins 0; 0 remembers the intent; 0 may send; 0 sends 0; 0 A GATEWAY REPEATS the request, and "
            "the first one is booked; 0 reads IN PROGRESS; 0 records PLANNED; 0 opens; 0 begins 1; 0 "
            "remembers the intent; 0 may send; 0 sends 1; the service books 1"
        ),
    ),
    "release_later": (
        "process",
        1,
        "twice",
        (
            "0 begins 0; 0 remembers the intent; 0 may send; 0 sends 0; 0 LOSES THE ANSWER; 0 records "
            "UNKNOWN; a person releases 0; 0 opens; 0 begins 1; 0 remembers the intent; 0 may send; 0 sends "
            "1; the service books 0; the service books 1"
        ),
    ),
    "memory": (
        "process",
        1,
        "twice",
        (
            "0 begins 0; 0 remembers the intent; 0 may send; 0 sends 0; the service books 0; 0 reads "
            "ACCEPTED; 0 records ACCEPTED; AN OLD COPY OF 1 EVENTS IS THE DATABASE; 0 begins 1; 0 remembers "
            "the intent; 0 may send; 0 sends 1; the service books 1"
        ),
    ),
    "identity": (
        "shared",
        1,
        "twice",
        (
            "0 begins 0; 0 remembers the intent; 0 may send; 0 sends 0; the service books 0; AN OLD COPY OF "
            "1 EVENTS IS THE DATABASE; 1 opens; 1 begins 1; 1 remembers the intent; 1 may send; 1 sends 1; "
            "the service books 1"
        ),
    ),
    "stop": (
        "process",
        1,
        "twice",
        (
            "0 begins 0; 0 remembers the intent; 0 may send; 0 sends 0; the service books 0; 0 reads "
            "ACCEPTED; 0 records ACCEPTED; AN OLD COPY OF 1 EVENTS IS THE DATABASE; 0 opens; 0 begins 1; 0 "
            "remembers the intent; 0 may send; 0 sends 1; the service books 1"
        ),
    ),
    "closed": (
        "process",
        1,
        "twice",
        (
            "0 begins 0; 0 remembers the intent; 0 may send; 0 sends 0; the service books 0; 0 reads "
            "ACCEPTED; 0 records ACCEPTED; AN OLD COPY OF 1 EVENTS IS THE DATABASE; 0 opens stop; a person "
            "restores; 0 opens; 0 begins 1; 0 remembers the intent; 0 may send; 0 sends 1; the service books "
            "1"
        ),
    ),
    "ledger": (
        "process",
        1,
        "stuck",
        (
            "0 begins 0; 0 remembers the intent; AN OLD COPY OF 1 EVENTS IS THE DATABASE; 0 may not send; 0 "
            "records PLANNED"
        ),
    ),
    "begin_compares": (
        "shared",
        1,
        "twice",
        (
            "0 composes; 1 composes; 0 begins 0; 0 remembers the intent; 0 may send; 0 sends 0; the service "
            "books 0; AN OLD COPY OF 1 EVENTS IS THE DATABASE; 1 begins 1; 1 remembers the intent; 1 may "
            "send; 1 sends 1; the service books 1"
        ),
    ),
    "newcomer": (
        "computers",
        1,
        "twice",
        (
            "0 begins 0; 0 remembers the intent; 0 may send; 0 sends 0; the service books 0; AN OLD COPY OF "
            "1 EVENTS IS THE DATABASE; 1 opens; 1 begins 1; 1 remembers the intent; 1 may send; 1 sends 1; "
            "the service books 1"
        ),
    ),
    "first_export": (
        "computers",
        0,
        "twice",
        (
            "0 begins 0; 0 remembers the intent; 0 may send; 0 sends 0; 1 opens; 1 begins 1; 1 remembers the "
            "intent; 1 may send; 1 sends 1; the service books 0; the service books 1"
        ),
    ),
    "other_computers": (
        "computers",
        0,
        "twice",
        (
            "0 begins 0; 0 remembers the intent; 0 may send; 0 sends 0; 1 opens; 1 a person finds nothing; "
            "composes; 1 begins 1; 1 remembers the intent; 1 may send; 1 sends 1; the service books 0; the "
            "service books 1"
        ),
    ),
}


@pytest.mark.parametrize(("world", "faults"), [("shared", 1), ("process", 2), ("computers", 2)])
@pytest.mark.timeout(300 * 10**MORE_FAULTS)
def test_all_rules_keep_all_promises(world, faults):
    """Nothing is booked twice, no machine is unaware, and an honest way on exists, in every state."""
    assert walk(Protocol(RULES, world, faults=faults + MORE_FAULTS)).ways == {}


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_is_needed(rule):
    """Without the rule, this is the shortest way to harm."""
    world, faults, promise, way = WAYS[rule]
    harm = walk(Protocol({*RULES} - {rule}, world, faults=faults), promises=[promise])
    assert "; ".join(harm.ways[promise]) == way
