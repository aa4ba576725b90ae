"""Creating accounts, killed at any instant and run again: each exists once, and is in the journal."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter

import pandas as pd
import pyarrow as pa
import pytest
import warm

import bktools
from bktools.sandbox import Server

KILLS = int(os.environ.get("BKTOOLS_TEST_KILLS", "8"))


def creates(address, token, company, count):
    """Create accounts; yield when it begins and when all of them are there."""
    numbers = [f"{number:05}" for number in range(count)]
    columns = {
        "external_id": numbers,
        "code": numbers,
        "name": [f"Account {number} " for number in range(count)],
    }
    fixed = {"company_id": company, "action": "create", "archived": False, "tax_code_external_id": None}
    table = pa.Table.from_pandas(pd.DataFrame(columns).assign(**fixed))
    with bktools.connect(address, token=token) as service:
        yield "begins"
        bktools.create_accounts(
            bktools.Reconciliation(lambda _: table), apply=True, new_chart=True, service=service
        )
    yield "done"


@pytest.mark.skipif(
    not hasattr(os, "fork"), reason="this system cannot fork, so no process can be killed this way"
)
def test_killed_at_any_instant(tmp_path):
    """After kills at random instants and a full run, each account exists once, with its id known."""
    count = 150
    with Server(tmp_path / "server") as server:
        world = (server.base_url, server.token, server.company_id, count)
        chance, killed = random.Random(1), 0
        for _ in range(KILLS):
            with warm.Process(creates, *world) as process:
                assert process.read() == "begins"
                time.sleep(chance.uniform(0.005, 0.12))
                process.kill()
                killed += process.wait() == -signal.SIGKILL
        with warm.Process(creates, *world) as process:
            assert [process.read(), process.read()] == ["begins", "done"]
        with bktools.connect(server.base_url, token=server.token) as service:
            known = bktools.load_accounts(service=service)
        held = Counter(account.external_id for account in server.accounts())
        ids = {account.external_id: account.id for account in server.accounts()}
    print(f"{killed} kills, {len(known)} accounts known, {sum(held[f'{n:05}'] for n in range(count))} made")
    assert killed > KILLS / 4
    assert {held[f"{number:05}"] for number in range(count)} == {1}
    assert len(known) == count
    assert set(known["state"]) <= {"CREATED", "MATCHED"}
    assert all(row["id"] == ids[row["external_id"]] for row in known.to_dict("records"))
    assert known["name"].to_list() == [f"Account {number} " for number in range(count)]
