"""The examples in public docstrings run, and every public docstring says what a user needs."""

from __future__ import annotations

import doctest
import importlib
import inspect

import pytest

import bktools

FUNCTIONS = [name for name in bktools.__all__ if not name[0].isupper()]


@pytest.mark.parametrize("name", bktools.__all__)
def test_examples_run(name: str, monkeypatch: pytest.MonkeyPatch):
    """Each example of a public name does what it shows."""
    thing = getattr(bktools, name)
    module = importlib.import_module(bktools._HOMES[name])
    finder = doctest.DocTestFinder(recurse=inspect.isclass(thing))
    tests = finder.find(thing, name, module=False, globs=vars(module).copy())
    runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    for test in tests:
        runner.run(test)
    assert runner.summarize().attempted > 0, f"{name} has no example"
    assert runner.summarize().failed == 0


@pytest.mark.parametrize("name", FUNCTIONS)
def test_docstrings_say_what_a_user_needs(name: str):
    """Parameters, what is returned, errors, source and an example."""
    text = getattr(bktools, name).__doc__
    missing = [part for part in ("Parameters\n", "Raises\n", "Examples\n") if part not in text]
    if inspect.signature(getattr(bktools, name)).return_annotation != "None":
        missing += ["Returns\n"] if "Returns\n" not in text else []
    assert missing == []
