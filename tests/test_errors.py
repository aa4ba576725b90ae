"""The errors: there as soon as bktools is, and whole in another process."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Iterator

import pandas as pd
import pytest

import bktools
from bktools import errors
from bktools.wording import Sentence, reader

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


@pytest.mark.parametrize("language", ["en", "de"])
def test_an_error_has_its_code_and_facts_in_every_language(language, monkeypatch):
    """A program reads the same of an error, whatever language its sentence is in."""
    monkeypatch.setattr(reader, "language", language)
    of_rule = errors.ArgumentError("month", Sentence("rule.at_least", least=3), 1)
    of_file = errors.InputError(Sentence("error.workbook_of_version", sheet="x"), source="a.xlsx", line=2)
    assert (of_rule.code, of_rule.facts, of_rule.argument) == ("at_least", {"least": 3}, "month")
    assert (of_file.code, of_file.facts, of_file.line) == ("workbook_of_version", {"sheet": "x"}, 2)
    texts = {
        "en": ("month must be at least 3, got 1", "a.xlsx, line 2: has no sheet 'x'"),
        "de": ("month muss mindestens 3 sein, angegeben ist 1", "a.xlsx, Zeile 2: enthält kein Blatt „x“"),
    }[language]
    assert str(of_rule) == texts[0]
    assert str(of_file).startswith(texts[1])
    again = pickle.loads(pickle.dumps(of_file))
    assert (str(again), again.code, again.facts) == (str(of_file), of_file.code, of_file.facts)
    assert errors.InputError("only text").code == ""


AMOUNTS_AS_TEXT = pd.DataFrame({"amount": ["1,00"], "currency": "EUR"})
ADDRESS = {"base_url": "http://127.0.0.1:9"}


def employees_of(**options: str) -> object:
    """Load the employees of a service."""
    with bktools.connect(**options) as service:
        return bktools.load_employees("all", cache=False, service=service)


# What an analyst meets: how it is raised, the code of its sentence, and its German beginning.
IN_GERMAN = {
    "connection": (lambda: employees_of(**ADDRESS, token="t" * 12), "no_connection", "keine Verbindung zu"),
    "token": (lambda: employees_of(**ADDRESS), "no_token", "für http://127.0.0.1:9 sind keine"),
    "setting": (
        lambda: employees_of(base_url="http://a.example"),
        "wrong_setting",
        "base_url (argument)",
    ),
    "frame": (lambda: bktools.spend(None), "a_frame", "the entries muss ein DataFrame sein"),
    "column": (
        lambda: bktools.spend(AMOUNTS_AS_TEXT, []),
        "no_exact_numbers",
        "entries: die Spalte amount",
    ),
}


@pytest.mark.parametrize("case", IN_GERMAN)
def test_what_an_analyst_meets_is_said_in_the_language(case: str, monkeypatch: pytest.MonkeyPatch):
    """An error of the connection, the credential, a setting, a frame or a column is a sentence with facts."""
    call, code, beginning = IN_GERMAN[case]
    monkeypatch.setenv("BKTOOLS_LANGUAGE", "de")
    monkeypatch.setenv("BKTOOLS_RETRIES", "0")
    monkeypatch.setattr(reader, "language", None)
    with pytest.raises(errors.BktoolsError) as error:
        call()
    assert (error.value.code, str(error.value)[: len(beginning)]) == (code, beginning)
