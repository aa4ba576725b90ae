"""The errors: there as soon as bktools is, and whole in another process."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Iterator

import pytest

import bktools
from bktools import errors

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


def test_errors_can_be_named_at_once():
    """An `except bktools.errors.…` needs nothing of bktools to be used before."""
    code = (
        "import bktools; print(bktools.errors.BktoolsError.__name__, "
        "bktools.errors.StaleSnapshotWarning.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("BktoolsError StaleSnapshotWarning\n", "")
    assert bktools.errors is errors


def test_the_tree_is_drawn():
    """The picture of the tree names every class of it, each below the one above."""
    drawn = [line[line.rindex(" ", 0, line.index("Error")) + 1 :].split()[0] for line in _picture()]
    assert drawn == [kind.__name__ for kind in tree(errors.BktoolsError)]


def _picture() -> list[str]:
    return [
        line
        for line in errors.__doc__.split("::\n")[1].split("\nA message")[0].splitlines()
        if "Error" in line
    ]
