"""What a finding is about by name, what is to be done, and who does it."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pytest
import reconcile_world as world

from bktools.frames import schema
from bktools.frames.roles import ERP, PREPARER, SERVICE
from bktools.reconcile import CHECKS, reconcile_accounts


def reconciled(rows, **accounts):
    frames = {noun: schema.to_pandas(table) for noun, table in world.tables(rows).items()}
    frames["accounts"] = frames["accounts"].assign(**accounts)
    return reconcile_accounts(**frames)


def changed(noun, **values):
    rows = world.plain()
    rows[noun][0].update(values)
    return rows


def without(noun):
    rows = world.plain()
    del rows[noun][0]
    return rows


MACHINES = "0400 Machines"
CASES = {
    "missing_in_service": (without("accounts"), [MACHINES, "create it (bktools accounts create)", PREPARER]),
    "missing_in_erp": (
        without("chart"), [MACHINES, "archive it in the service, or bring it back in the ERP", SERVICE],
    ),
    "name_differs": (changed("chart", name="Other"), ["0400 Other", "update it in the service", SERVICE]),
    "archived_differs": (changed("chart", archived=True), [MACHINES, "archive it in the service", SERVICE]),
    "name_missing": (changed("chart", name=None), ["0400", "give it a name in the ERP", ERP]),
    "leading_zeros_lost": (
        changed("chart", code="400"),
        ["400 Machines", "use the ERP's own file (spreadsheets drop zeros) before anything is created", PREPARER],
    ),
    "account_id_unknown": (
        changed("accounts", id=None, state="EXISTS"), [MACHINES, "import it (bktools accounts import FILE)", PREPARER],
    ),
    "category_without_account": (
        changed("categories", account_id=None), ["Machines", "give it an account in the service", SERVICE],
    ),
    "archived_category_on_active_account": (
        changed("categories", archived=True, name="One\r\ntwo"), ["One two", "nothing to do", PREPARER],
    ),
    "external_id_empty": (
        changed("chart", external_id=None), [MACHINES, "give it an external ID in the ERP", ERP],
    ),
}  # fmt: skip


def test_a_finding_says_about_what_and_who_does_what():
    """Code and name of the account, or the name of the category; the next step of the message, and who takes it."""
    found = reconciled(world.side_by_side({check: rows for check, (rows, _) in CASES.items()})).findings
    for check, (_, expected) in CASES.items():
        own = found[(found["company_id"] == f"{check} company-z") & (found["check"] == check)]
        assert own[["about", "to_do", "who"]].to_numpy().tolist() == [expected]


def test_every_message_ends_with_what_is_to_be_done():
    """Every check's message is the fact, a colon, and the next step, and verb and next step are of one mind."""
    found = reconciled(world.side_by_side({seed: world.seeded(seed, 40) for seed in range(6)})).findings
    assert found[["about", "to_do", "who"]].notna().all().all()
    for row in found.itertuples():
        assert row.message.endswith(f": {row.to_do}") or row.to_do == "nothing to do"
        verb = row.to_do.split(" ")[0]
        assert row.action == verb or verb not in {"update", "unarchive"}, row.message
    assert {check.who for check in CHECKS} == {PREPARER, SERVICE, ERP}


def test_lost_zeros_are_repaired_not_updated():
    """A code that lost its zeros in the chart's file is no reason to change the account, which has the right one."""
    result = reconciled(changed("chart", code="400"))
    assert "code_differs" not in set(result.findings["check"])
    account = result.actions[result.actions["external_id"] == "0400"]
    why = "the code lost its leading zeros: use the ERP's own file (spreadsheets drop zeros)"
    assert account[["action", "why"]].to_numpy().tolist() == [["none", why]]
    both = reconciled(changed("chart", code="400", name="Other")).actions.set_index("external_id").loc["0400"]
    assert (both["action"], both["why"]) == ("update", "the chart has another name")


@pytest.mark.parametrize(
    ("state", "known"),
    [("IMPORTED", " (last list imported 2026-10-31)"), ("CREATED", " (no list was imported)")],
)
def test_what_is_not_known_ages_with_the_list(state, known):
    """A missing account is not among those that bktools knows, as of the last list; a frame without dates says no date."""
    moment = pd.Timestamp("2026-10-31T08:00Z")
    for dated, expected in ({"updated_at": moment, "state": state}, known), ({}, ""):
        found = reconciled(without("accounts"), **dated).findings
        message = f"0400 Machines is in the chart and not among the accounts bktools knows{expected}: create it"
        messages = found.loc[found["check"] == "missing_in_service", "message"].to_list()
        assert messages == [f"{message} (bktools accounts create)"]


def test_a_list_in_polars_says_when_it_was_imported():
    """The message names the day, whatever tool the accounts are of; a lazy frame is run once for its rows and dates."""
    frames = {noun: schema.to_pandas(table) for noun, table in world.tables(without("accounts")).items()}
    dated = pl.from_pandas(frames["accounts"].assign(updated_at=pd.Timestamp("2026-10-31T08:00Z"), state="IMPORTED"))
    runs = []
    lazy = dated.lazy().map_batches(lambda rows: runs.append(1) or rows)
    for accounts in (dated, lazy):
        found = reconcile_accounts(frames["chart"], accounts, frames["categories"]).findings
        assert found["message"].str.contains("last list imported 2026-10-31", regex=False).any()
    assert len(runs) == 1
