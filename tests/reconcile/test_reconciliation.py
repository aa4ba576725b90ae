"""What a reconciliation shows, writes and hands on."""

import pickle

import matplotlib as mpl
import pandas as pd
import pytest
import reconcile_world as world

from bktools.errors import ArgumentError

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


def test_csv_holds_the_tables(result, tmp_path):
    """The three private files hold the three tables, codes to the letter; by default for a spreadsheet."""
    paths = result.to_csv(tmp_path / "new" / "folder", "machine")
    assert [path.name for path in paths] == ["findings.csv", "actions.csv", "coverage.csv"]
    back = pd.read_csv(paths[1], dtype="str", keep_default_na=False)
    assert back["external_id"].tolist() == result.actions["external_id"].fillna("").tolist()
    assert {*tmp_path.rglob("*")} == {*paths, tmp_path / "new", tmp_path / "new" / "folder"}
    assert {path.stat().st_mode & 0o777 for path in paths} == {0o600}
    assert all(path.read_bytes().startswith(b"\xef\xbb\xbf") for path in result.to_csv(tmp_path / "excel"))
    with pytest.raises(ArgumentError, match="profile must be one of excel, excel-eu, machine"):
        result.to_csv(tmp_path / "other", "lotus")
    assert not (tmp_path / "other").exists()


def test_it_can_be_pickled():
    """Another process gets every table, the actions too, whether they were computed before or not."""
    result = world.reconciled(world.seeded(1, 40))
    for _ in range(2):
        again = pickle.loads(pickle.dumps(result))
        for name in ("findings", "coverage", "actions", "unused_accounts", "summary", "suggestions"):
            pd.testing.assert_frame_equal(getattr(again, name), getattr(result, name))
        assert repr(again) == repr(result)
