"""A journal whose bytes were changed is refused: every page carries a checksum."""

from __future__ import annotations

import random
from contextlib import closing
from dataclasses import replace

import pytest
from backends import without_triggers
from batches import batch

from bktools.errors import BktoolsError, StorageError
from bktools.journal.sqlite import connect
from bktools.journal.writing import open_for_writing

FLIPS = 60


@pytest.fixture
def settings(settings):
    """A journal of some pages."""
    with open_for_writing(settings) as journal:
        for number in range(40):
            journal.claim([replace(batch(f"batch-{number}", number), body=b"{}" * 200)], "plan")
        # Pages that hold nothing any more are checked too.
        with journal.transaction() as connection:
            connection.execute("CREATE TABLE gone AS SELECT randomblob(3000) AS x FROM batches")
        with journal.transaction() as connection:
            connection.execute("DROP TABLE gone")
    return settings


def problems(settings) -> list[str]:
    with open_for_writing(settings) as journal:
        return journal.problems()


def test_a_flipped_bit_anywhere_is_found(settings):
    """Each of many flipped bits is an error of bktools or a line of the check, in any page."""
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


TAMPERED = {
    "was changed after it was written": "UPDATE events SET facts = '{\"a\": 1}' WHERE event_id = 3",
    "batch batch-5: its state is RELEASED, its last event says PLANNED": (
        "UPDATE batches SET state = 'RELEASED' WHERE batch_id = 'batch-5'"
    ),
    "batch batch-7: its entries are not all there": "DELETE FROM batch_entries WHERE batch_id = 'batch-7'",
    "batch batch-9: its body was changed after it was planned": (
        "UPDATE batches SET body = x'7b7d' WHERE batch_id = 'batch-9'"
    ),
}


@pytest.mark.parametrize("said", TAMPERED)
def test_what_somebody_changed_by_hand_is_told(settings, said):
    """With valid checksums too, events, states, entries and bodies agree: the line names what does not."""
    with open_for_writing(settings) as journal:
        path = journal.path
    with closing(connect(path)) as connection:
        without_triggers(connection, None)
        connection.execute(TAMPERED[said])
    found = problems(settings)
    assert len(found) == 1
    assert said in found[0]


def test_a_history_in_pieces_is_the_whole_history(settings):
    """Every row comes once and in order, whatever the size of a piece."""
    with open_for_writing(settings) as journal:
        whole = [row["entry_id"] for piece in journal.history("entries") for row in piece]
        sql = "SELECT entry_id FROM batches JOIN batch_entries USING (batch_id) ORDER BY planned_at, 1"
        pieces = list(journal.pieces(sql, size=7))
    assert [len(piece) for piece in pieces] == [7] * 5 + [5]
    assert [row["entry_id"] for piece in pieces for row in piece] == whole
    assert len(set(whole)) == 40
