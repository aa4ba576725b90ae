"""The world and the sample files: from a seed, the same bytes every time."""

from __future__ import annotations

import hashlib
import uuid

import pandas as pd

import bktools
from bktools.sandbox.sample import SAMPLES
from bktools.sandbox.world import World, chart_of_accounts, row_json

# Typed from a first run: they change only when the world is changed on purpose.
WORLD_DIGEST = "cd55afc2506d509b"


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def test_the_same_bytes_every_time():
    """A seed is a world, to the byte; another seed is another one."""

    def whole(world):
        lines = [repr(company) for company in world.all_companies]
        for number in range(world.companies):
            lines += map(repr, world.accounts(number))
            lines += map(row_json, world.categories_of(number))
            lines += map(row_json, world.employees_of(number))
        return "\n".join(lines).encode()

    assert digest(whole(World())) == WORLD_DIGEST
    assert whole(World(seed=2)) != whole(World())


def test_ids_are_uuids_and_unique():
    """Every id is a UUID of version 4 and stands for one thing."""
    world = World(companies=9)
    ids = [company.id for company in world.all_companies]
    for number in range(9):
        ids += [account.id for account in world.accounts(number)]
        ids += [row["id"] for row in (*world.categories_of(number), *world.employees_of(number))]
    assert len(set(ids)) == len(ids)
    # Nor do two employees share an address, however many there are.
    assert len({row["email"] for row in World(employees=100).employees_of(0)}) == 100
    assert all(str(uuid.UUID(id_)) == id_ and uuid.UUID(id_).version == 4 for id_ in ids)


def test_the_sample_files_are_of_the_first_company():
    """Entries, accounts and chart name what the world has, but for the planted faults."""
    world = World()
    with_faults = bktools.read_entries(SAMPLES / "accounting_entries.csv")
    known = {row["id"] for row in world.categories_of(0)}
    assert [*with_faults["category_id"].dropna().isin(known)].count(False) == 1
    assert [*with_faults["company_id"].isin([world.all_companies[0].id])].count(False) == 1
    accounts = pd.read_csv(SAMPLES / "accounts.csv", dtype=str, keep_default_na=False)
    theirs = [(account.id, account.external_id, account.name) for account in world.accounts(0)]
    assert [*accounts[["id", "external_id", "name"]].itertuples(index=False, name=None)] == theirs
    chart = pd.read_csv(SAMPLES / "chart_of_accounts.csv", sep=";", dtype=str, keep_default_na=False)
    ours = [(row.code, row.name) for row in chart_of_accounts()]
    assert [*chart[["Konto", "Bezeichnung"]].itertuples(index=False, name=None)] == ours
