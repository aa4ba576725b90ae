"""Several journals in one data folder: what a person says of two of them is kept in both."""

from __future__ import annotations

import pytest

from bktools.export.plan import BatchRequest
from bktools.journal.journal import Journal
from bktools.settings import load_settings

COMPANIES = ["9b2f9a3e-3f0c-4d62-8f0e-0d6f3a1c2b4d", "123e4567-e89b-42d3-a456-426614174000"]
HOSTS = ["https://one.example.com", "https://two.example.com"]


@pytest.fixture
def both(tmp_path):
    """The settings of two addresses in one data folder; each has sent for a company of its own."""
    settings = [load_settings(host, env={}, data_dir=tmp_path / "d", marks_dir=tmp_path / "m") for host in HOSTS]
    for number, company in enumerate(COMPANIES):
        entry = f"00000000-0000-4000-8000-{number:012d}"
        with Journal(settings[number]) as journal, journal.sending(company):
            journal.claim([BatchRequest(f"batch-{number}", company, [entry], b"{}")], "plan")
            journal.begin(f"batch-{number}")
            journal.settle(f"batch-{number}", "ACCEPTED", "said", job_id=entry)
    return settings


@pytest.mark.parametrize(("relation", "same"), [("same", 1), ("other", 0)])
def test_what_a_person_says_is_kept_in_both(both, relation, same):
    """Either journal knows the other one as the same service, whose right to send it takes too, or as another one."""
    with Journal(both[1]) as journal:
        assert journal.others.folders_of_same() == []
        said = journal.others.say(HOSTS[0], relation, "Ada")
        assert said.startswith(HOSTS[0])
    for settings, other in (both, both[::-1]):
        with Journal(settings) as journal:
            assert journal.others.folders_of_same() == [other.state_dir] * same
            (row,) = journal.rows("SELECT relation, said_by FROM other_journals")
            assert (row["relation"], row["said_by"]) == (relation, "Ada")
