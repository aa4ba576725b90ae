"""The close of many companies on the real sandbox."""

from __future__ import annotations

import json
import uuid

import pandas as pd
import pytest

import bktools
from bktools.errors import ArgumentError
from bktools.sandbox import Fault


@pytest.fixture
def group(tmp_path, samples):
    """Two companies that can export, with the sample chart and entries of their own categories."""
    sandbox = bktools.Sandbox(tmp_path / "group", companies=2, categories=40, employees=4, job_seconds=0.5)
    with sandbox as service:
        ids = [company.id for company in sandbox.server.companies()]
        for company in ids:
            sandbox.server.configure_company(company, has_contra_accounts=True, has_integration=True)
        accounts = bktools.load_categories(ids, service=service).dropna(subset="account_id")
        lines = [
            f"{uuid.uuid4()},{row['company_id']},{row['id']},2026-10-{number % 20 + 5:02},10.50,EUR"
            for number, row in enumerate(accounts.groupby("company_id").head(6).to_dict("records"))
        ]
        path = tmp_path / "entries.csv"
        path.write_text("\n".join(["entry_id,company_id,category_id,date,amount,currency", *lines]), encoding="utf-8")
        sandbox.given = bktools.read_chart_of_accounts(samples[0]), bktools.read_entries(path)
        sandbox.service, sandbox.ids = service, ids
        yield sandbox


def test_one_company_fails_and_the_others_close(group, tmp_path):
    """A line for the failed one, a folder for each of the others, and an overview; a second run closes the rest."""
    group.server.inject(Fault("error", status=403, company=group.ids[1], operation="search_categories"))
    told = []
    options = {"month": "2026-10", "folder": tmp_path / "october", "apply": True, "service": group.service}
    with pytest.warns(bktools.errors.IncompleteTableWarning):
        first = bktools.close_companies(*group.given, seen=lambda *line: told.append(line[:2]), **options)
    outcomes = dict(zip(first.companies["company_id"], first.companies["outcome"], strict=True))
    assert outcomes == {group.ids[0]: "DONE", group.ids[1]: "FAILED"}
    assert sorted(told) == sorted(outcomes.items())
    folders = sorted(path.name for path in (tmp_path / "october").iterdir() if path.is_dir())
    assert folders == [group.ids[0]]
    assert {"companies.csv", "totals.csv"} <= {path.name for path in (tmp_path / "october").iterdir()}
    assert not first.is_complete
    assert f"{group.ids[1]}: " in repr(first)
    # A folder of one company has nothing of another one.
    categories = pd.read_csv(tmp_path / "october" / group.ids[0] / "machine" / "categories.csv")
    assert set(categories["company_id"]) == {group.ids[0]}
    group.server.clear_faults()
    second = bktools.close_companies(*group.given, **options)
    assert second.companies["outcome"].to_list() == ["DONE"] * 2
    assert (tmp_path / "october" / group.ids[1] / "manifest.json").exists()
    # The first company's six entries are exported, in the first run alone; each amount is exact.
    assert set(group.server.accepted_entries().values()) == {1}
    assert first.companies.set_index("company_id")["entries_exported"][group.ids[0]] == 6
    assert str(first.totals.set_index("company_id")["amount"][group.ids[0]]) == "63.00"


def test_without_apply_everything_is_planned(group, tmp_path):
    """Nothing is sent. The files that were read stay with the group, and the manifest of the company says so."""
    planned = bktools.close_companies(
        *group.given, companies=group.ids[:1], folder=tmp_path / "october", service=group.service
    )
    assert planned.companies["outcome"].to_list() == ["PLANNED"]
    assert (planned.is_complete, group.server.export_jobs()) == (True, [])
    manifest = json.loads((tmp_path / "october" / group.ids[0] / "manifest.json").read_text(encoding="utf-8"))
    assert "it holds several companies" in str(manifest["inputs"]["entries"]["note"])
    assert (tmp_path / "october" / "input_entries.csv").read_bytes() == (tmp_path / "entries.csv").read_bytes()


@pytest.mark.parametrize(
    ("options", "said"),
    [({"companies": ["ours"]}, r"companies\[0\] must be a UUID"), ({"companies": []}, "at least one company")],
)
def test_wrong_companies_are_refused_first(group, tmp_path, options, said):
    with pytest.raises(ArgumentError, match=said):
        bktools.close_companies(*group.given, month="2026-10", folder=tmp_path / "x", service=group.service, **options)
    assert not (tmp_path / "x").exists()
