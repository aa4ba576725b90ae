import html.parser
import pickle

import matplotlib as mpl
import pandas as pd
import pytest
import reconcile_world as world

from bktools.errors import ArgumentError, StorageError
from bktools.frames import schema
from bktools.reconcile import Reconciliation, reconcile_accounts

mpl.use("Agg")


def reconciled(rows):
    return reconcile_accounts(**{noun: schema.to_pandas(table) for noun, table in world.tables(rows).items()})


@pytest.fixture(scope="module")
def result():
    """Give a reconciliation with findings of every severity, of two companies."""
    return reconciled(world.seeded(1, 40))


def test_text_says_what_was_found(result):
    """The text has a line a check with its count, the most severe first, and where all findings are."""
    text = repr(result)
    counts = result.findings.groupby(["severity", "check"]).size()
    errors = (result.findings["severity"] == "error").sum()
    assert text.startswith(f"Reconciliation: {len(result.findings)} findings ({errors} error, ")
    assert result.findings["about"][0] in text
    lines = text.splitlines()
    assert len(lines) == 2 + len(counts)
    for (severity, check), count in counts.items():
        assert any(line.split()[:3] == [severity, f"{count:,}", check] for line in lines)
    severities = [line.split()[0] for line in lines[1:-1]]
    assert severities == sorted(severities, key=("error", "warning", "info").index)
    assert lines[-1].endswith("all of them are in .findings")


def test_html_is_escaped_and_bounded(result):
    """Names cannot become markup, and a thousand findings do not fill the notebook."""
    page = result._repr_html_()
    tags = set()
    parser = html.parser.HTMLParser()
    parser.handle_starttag = lambda tag, _: tags.add(tag)
    parser.feed(page)
    assert tags == {"div", "p", "table", "thead", "tbody", "tr", "th", "td", "b"}
    assert "&lt;b&gt;" in page
    checks = len(result.findings[["severity", "check"]].drop_duplicates())
    assert page.count("<tr>") == 1 + min(checks, 20)
    assert len(page) < 25_000


def test_nothing_to_say_is_said():
    """Without findings the text, and the page say so."""
    fine = reconciled(world.plain())
    assert (
        repr(fine) == "Reconciliation: 0 findings (0 error, 0 warning, 0 info); accounts: 2 unchanged; "
        "2 of 2 categories covered"
    )
    assert "<table" not in fine._repr_html_()


def test_summary_counts_findings_and_verbs(result):
    """Counts add up to the findings and to the accounts."""
    severities = list(dict.fromkeys(result.summary["severity"]))
    assert severities == [name for name in ("error", "warning", "info", "") if name in severities]
    assert len(severities) > 2
    verbs = result.summary["severity"] == ""
    assert result.summary.loc[~verbs, "count"].sum() == len(result.findings)
    assert result.summary.loc[verbs, "count"].sum() == len(result.actions)


def test_suggestions_are_asked_for_and_not_applied():
    """A category without an account is offered accounts by name; the coverage stays as it is."""
    rows = world.plain()
    rows["categories"][1] |= {"name": "bank charges", "account_id": None}
    result = reconciled(rows)
    best = result.suggestions.iloc[0]
    assert best[["category_id", "external_id", "account_name"]].tolist() == ["category-1200", "1200", "Bank"]
    assert 70 <= best["score"] <= 100
    assert result.coverage["state"].tolist() == ["covered", "no_account"]


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
    suggested = set(reconciled(world.side_by_side(worlds)).suggestions["account_name"])
    assert suggested & {account for _, account, _ in NAMES} == {
        account for _, account, is_like in NAMES if is_like
    }


def test_csv_holds_the_tables(result, tmp_path):
    """The three files hold the three tables, codes to the letter."""
    paths = result.to_csv(tmp_path / "new" / "folder", "machine")
    assert [path.name for path in paths] == ["findings.csv", "actions.csv", "coverage.csv"]
    back = pd.read_csv(paths[1], dtype="str", keep_default_na=False)
    assert back["external_id"].tolist() == result.actions["external_id"].fillna("").tolist()
    assert sorted(path.name for path in tmp_path.rglob("*")) == sorted(
        [*(path.name for path in paths), "folder", "new"]
    )


def test_csv_opens_in_a_spreadsheet(tmp_path):
    """By default no name is a formula, codes keep zeros, only the owner reads them; profiles are known."""
    rows = world.plain()
    rows["chart"][0] |= {"name": "=1+1", "code": "0400"}
    found = reconciled(rows)
    actions = found.to_csv(tmp_path)[1]
    back = pd.read_csv(actions, dtype="str", keep_default_na=False)
    assert {"'=1+1"} < set(back["name"])
    assert {'="0400"'} < set(back["code"])
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    with pytest.raises(ArgumentError, match="profile must be one of excel, excel-eu, machine"):
        found.to_csv(tmp_path / "other", "lotus")
    assert not (tmp_path / "other").exists()


def test_csv_that_cannot_be_written_is_an_error(result, tmp_path):
    """A folder that is a file is named."""
    (tmp_path / "taken").write_text("here")
    with pytest.raises(StorageError, match="taken"):
        result.to_csv(tmp_path / "taken")


def test_it_can_be_pickled():
    """Another process gets every table, the actions too, whether they were computed before or not."""
    result = reconciled(world.seeded(1, 40))
    for _ in range(2):
        again = pickle.loads(pickle.dumps(result))
        for name in ("findings", "coverage", "actions", "unused_accounts", "summary", "suggestions"):
            pd.testing.assert_frame_equal(getattr(again, name), getattr(result, name))
        assert repr(again) == repr(result)


def test_what_is_listed_when_asked_is_listed_once(result):
    """Actions and unused accounts are the same tables however often they are asked for."""
    asked = []
    found = Reconciliation(lambda name: asked.append(name) or result.table(name))
    assert found.actions is found.actions
    assert found.unused_accounts is found.unused_accounts
    assert asked == ["actions", "unused_accounts"]
