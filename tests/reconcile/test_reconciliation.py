"""What a reconciliation shows, writes and hands on."""

import html.parser
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


def test_the_headline_counts_findings_accounts_and_categories():
    """Findings are counted by severity, accounts by action, and covered categories of all."""
    rows = world.plain()
    fine = world.reconciled(rows)
    assert repr(fine) == (
        "Reconciliation: 0 findings (0 error, 0 warning, 0 info); accounts: 2 unchanged; "
        "2 of 2 categories covered"
    )
    assert "<table" not in fine._repr_html_()
    rows["categories"].append(rows["categories"][0] | {"id": "c-9", "name": "Third", "account_id": None})
    assert "Reconciliation: 1 finding (1 error, 0 warning" in repr(world.reconciled(rows))
    rows["chart"] += [rows["chart"][0] | {"external_id": f"07{n}", "code": f"07{n}"} for n in range(3)]
    rows["accounts"][0]["name"] = "Other"
    assert repr(world.reconciled(rows)).splitlines()[0] == (
        "Reconciliation: 5 findings (1 error, 4 warning, 0 info); "
        "accounts: 3 create, 1 unchanged, 1 update; 2 of 3 categories covered"
    )


def test_html_is_escaped_and_bounded(result):
    """Names cannot become markup, severities have marks, a thousand findings do not fill the notebook."""
    page = result._repr_html_()
    assert all(f"{mark} {name}" in page for name, mark in {"error": "✖", "warning": "▲", "info": "●"}.items())
    tags = set()
    parser = html.parser.HTMLParser()
    parser.handle_starttag = lambda tag, _: tags.add(tag)
    parser.feed(page)
    assert tags == {"div", "p", "table", "thead", "tbody", "tr", "th", "td", "b"}
    assert "&lt;b&gt;" in page
    checks = len(result.findings[["severity", "check"]].drop_duplicates())
    assert page.count("<tr>") == 1 + min(checks, 20)
    assert len(page) < 25_000


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
    result = world.reconciled(rows)
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
