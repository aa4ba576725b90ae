"""A journal whose bytes were changed is refused: every page carries a checksum."""

from __future__ import annotations

import random

import pytest

from bktools.errors import BktoolsError, StorageError
from bktools.export.plan import BatchRequest
from bktools.journal.journal import Journal
from bktools.settings import load_settings

COMPANY = "9b2f9a3e-3f0c-4d62-8f0e-0d6f3a1c2b4d"
FLIPS = 60


@pytest.fixture
def settings(tmp_path):
    made = load_settings("https://books.example.com", env={}, data_dir=tmp_path / "data", marks_dir=tmp_path / "marks")
    with Journal(made) as journal:
        for number in range(40):
            entry = f"00000000-0000-4000-8000-{number:012d}"
            journal.claim([BatchRequest(f"batch-{number}", COMPANY, [entry], b"{}" * 200)], "plan")
        # Pages that hold nothing any more are checked too.
        with journal.transaction() as connection:
            connection.execute("CREATE TABLE gone AS SELECT randomblob(3000) AS x FROM batches")
        with journal.transaction() as connection:
            connection.execute("DROP TABLE gone")
    return made


def problems(settings) -> list[str]:
    with Journal(settings) as journal:
        return journal.problems()


def test_a_flipped_bit_anywhere_is_found(settings):
    """Each of many flipped bits is an error of bktools or a line of the check, in pages in use and in free ones."""
    path = settings.state_dir / "journal.sqlite"
    assert problems(settings) == []
    whole = path.read_bytes()
    chance = random.Random(1)
    places = [0, 20, 99, 100, len(whole) - 1, *(chance.randrange(len(whole)) for _ in range(FLIPS))]
    found = 0
    for place in places:
        flipped = bytearray(whole)
        flipped[place] ^= 1 << chance.randrange(8)
        path.write_bytes(flipped)
        try:
            found += bool(problems(settings))
        except BktoolsError:
            found += 1
    assert found == len(places)


def test_the_message_names_the_way_out(settings):
    """A damaged journal is one line that names the file and the command that puts a backup back."""
    path = settings.state_dir / "journal.sqlite"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(StorageError, match=r"journal\.sqlite is damaged .*bktools journal restore FILE"):
        problems(settings)
