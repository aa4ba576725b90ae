"""The world and the sample files: from a seed, the same bytes every time."""

from __future__ import annotations

import hashlib
import uuid

from bktools.sandbox import write_sample_data
from bktools.sandbox.world import World, row_json

# Typed from a first run: they change only when the world is changed on purpose.
WORLD_DIGEST = "cd55afc2506d509b"
CHART_DIGEST = "cb858de5494c4610"
ENTRIES_DIGEST = "0d64b1ef838b95c3"


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


def test_sample_files(tmp_path):
    """The files have the formats they claim, and the same bytes every time."""
    chart, entries = write_sample_data(tmp_path / "new")
    assert write_sample_data(tmp_path / "new") == (chart, entries)
    names = ["accounting_entries.csv", "chart_of_accounts.csv"]
    assert sorted(file.name for file in chart.parent.iterdir()) == names
    assert digest(chart.read_bytes()) == CHART_DIGEST
    assert digest(entries.read_bytes()) == ENTRIES_DIGEST
    text = chart.read_bytes().decode("utf-8")
    assert text.startswith("\ufeffKonto;Bezeichnung;Art;Steuerschlüssel;Aktiv\r\n")
    assert '"Sonstige Leistungen; EU (§ 13b UStG)"' in text
    assert ";Büroeinrichtung ;" in text
    assert text.count("\r\n") == text.count("\n") == 94
