"""Creating accounts, killed at any instant and run again: each exists once, and the journal knows of every one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter

import pytest

import bktools
from bktools.sandbox import Server

KILLS = int(os.environ.get("BKTOOLS_TEST_KILLS", "20"))

# Forks from a process without threads, so that each child begins quickly and as a whole.
PROGRAM = """
import json, os, random, signal, sys, time
import pandas as pd
import pyarrow as pa
import bktools
from bktools.submit import create_accounts

address, token, company, kills, count = json.loads(sys.argv[1])
actions = pd.DataFrame({
    "company_id": [company] * count, "external_id": [f"{n:05}" for n in range(count)], "action": ["create"] * count,
    "name": [f"Account {n} " for n in range(count)], "code": [f"{n:05}" for n in range(count)],
    "archived": [False] * count, "tax_code_external_id": [None] * count,
})
table = pa.Table.from_pandas(actions)
found = bktools.Reconciliation(lambda _: table)
chance = random.Random(1)

def run():
    with bktools.connect(address, token=token) as service:
        create_accounts(found, apply=True, new_chart=True, service=service)

killed = 0
for _ in range(kills):
    child = os.fork()
    if not child:
        run()
        os._exit(0)
    time.sleep(chance.uniform(0.005, 0.12))
    os.kill(child, signal.SIGKILL)
    killed += os.WIFSIGNALED(os.waitpid(child, 0)[1])
run()
print(killed)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork, so no process can be killed this way")
def test_killed_at_any_instant(tmp_path):
    """After kills at random instants and one run to the end, each account exists once and is known with its id."""
    count = 400
    with Server(tmp_path / "server") as server:
        told = json.dumps([server.base_url, server.token, server.company_id, KILLS, count])
        done = subprocess.run([sys.executable, "-c", PROGRAM, told], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        with bktools.connect(server.base_url, token=server.token) as service:
            known = bktools.load_accounts(service=service)
        held = Counter(account.external_id for account in server.accounts())
        ids = {account.external_id: account.id for account in server.accounts()}
    killed = int(done.stdout)
    print(f"{killed} kills, {len(known)} accounts known, {sum(held[f'{n:05}'] for n in range(count))} made")
    assert killed > KILLS / 4
    assert {held[f"{number:05}"] for number in range(count)} == {1}
    assert len(known) == count
    assert set(known["state"]) <= {"CREATED", "MATCHED"}
    assert all(row["id"] == ids[row["external_id"]] for row in known.to_dict("records"))
    assert known["name"].to_list() == [f"Account {number} " for number in range(count)]
