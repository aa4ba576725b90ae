"""What a reconciliation shows, writes and hands on."""

import pickle

import matplotlib as mpl
import pandas as pd
import pytest
import reconcile_world as world

mpl.use("Agg")


@pytest.fixture(scope="module")
def result():
    """Give a reconciliation with findings of every severity, of two companies."""
    return world.reconciled(world.seeded(1, 40))


NAMES = [
    ("Bürobedarf Köln", "Bürobedarf", True),
    ("Versicherung Zürich", "Versicherungen", True),
    ("Kfz-Reparatur München", "Kfz-Reparaturen", True),
    ("Hardware Köln", "EDV-Hardware", True),
    ("Messe Göteborg", "Kasse", False),
    ("Tanken Köln", "Bank", False),
    ("Mitarbeiteressen Köln", "Beiträge", False),
    ("Versicherung Köln", "Heizung", False),
]


def test_letters_in_common_are_no_suggestion():
    """Names of the sample data that mean the same are suggested, those that only share letters are not."""
    worlds = {}
    for category, account, _ in NAMES:
        rows = worlds[account] = world.plain()
        rows["categories"][1] |= {"name": category, "account_id": None}
        for side in ("chart", "accounts"):
            rows[side][1]["name"] = account
    suggested = set(world.reconciled(world.side_by_side(worlds)).suggestions["account_name"])
    assert suggested & {account for _, account, _ in NAMES} == {
        account for _, account, is_like in NAMES if is_like
    }


def test_it_can_be_pickled():
    """Another process gets every table, the actions too, whether they were computed before or not."""
    result = world.reconciled(world.seeded(1, 40))
    for _ in range(2):
        again = pickle.loads(pickle.dumps(result))
        for name in ("findings", "coverage", "actions", "unused_accounts", "suggestions"):
            pd.testing.assert_frame_equal(getattr(again, name), getattr(result, name))
        assert repr(again) == repr(result)
