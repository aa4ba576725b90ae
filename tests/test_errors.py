"""The errors: there as soon as bktools is, and whole in another process."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

import pytest

import bktools
from bktools import errors
from bktools.contract.rules import uuid_text

STATUS = {"status": 418, "body": b"{}", "type": "TEAPOT", "detail": "no coffee", "retry_after": 1.5}

# What an error takes besides its message; that of the nearest class above counts.
TAKEN = {
    errors.BktoolsError: {},
    errors.ArgumentError: {"rule": "must be a UUID", "value": "acme"},
    errors.InputError: {"source": "chart.csv", "line": 3},
    errors.UnreadableAnswerError: {"status": 200, "repeatable": True},
    errors.StatusError: STATUS,
}


def tree(root: type[errors.BktoolsError]) -> Iterator[type[errors.BktoolsError]]:
    yield root
    for kind in root.__subclasses__():
        yield from tree(kind)


@pytest.mark.parametrize("kind", list(tree(errors.BktoolsError)))
def test_every_error_can_be_sent_to_another_process(kind):
    """Class, message and fields come through a pickle and a copy; notes too."""
    error = kind("one line", **next(TAKEN[above] for above in kind.__mro__ if above in TAKEN))
    error.add_note("seen on the way")
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(other) is kind
        assert (str(other), other.args, vars(other)) == (str(error), error.args, vars(error))


def test_an_error_comes_back_from_a_pool_of_processes():
    """What is raised in a worker of a pool is raised where its result is asked for; the pool goes on."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        with pytest.raises(errors.ArgumentError, match="company must be a UUID") as caught:
            pool.submit(uuid_text, "company", "acme").result()
        assert (caught.value.argument, caught.value.value) == ("company", "acme")
        company = "123e4567-e89b-42d3-a456-426614174000"
        assert pool.submit(uuid_text, "company", company).result() == company


def test_errors_can_be_named_at_once():
    """An `except bktools.errors.…` needs nothing of bktools to be used before."""
    code = "import bktools; print(bktools.errors.BktoolsError.__name__, bktools.errors.StaleSnapshotWarning.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("BktoolsError StaleSnapshotWarning\n", "")
    assert bktools.errors is errors


def test_the_tree_is_drawn():
    """The picture of the tree names every class of it, each below the one above."""
    drawn = [line[line.rindex(" ", 0, line.index("Error")) + 1 :].split()[0] for line in _picture()]
    assert drawn == [kind.__name__ for kind in tree(errors.BktoolsError)]


def _picture() -> list[str]:
    return [line for line in errors.__doc__.split("::\n")[1].split("\nA message")[0].splitlines() if "Error" in line]
