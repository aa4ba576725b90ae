"""The table of the interface's sentences: each names what shows it, and that exists."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import pytest
import wire

from bktools.sandbox.openapi import openapi_document

ROOT = Path(__file__).parents[2]
CASES = {wire.name_of(case): case for case in wire.cases()}
PARTS = {"1": 0, "2": 7, "3": 0, "4": 6, "5": 0, "6": 0, "7": 3, "8": 0, "9": 0}
SECTIONS = {*PARTS, *(f"{section}.{part + 1}" for section, parts in PARTS.items() for part in range(parts))}


def rows():
    """Return the rows of the table: section, words, and what shows them."""
    lines = (wire.FOLDER / "sentences.md").read_text("utf-8").splitlines()
    table = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")][2:]
    return [(section, words, shown.split(" ; ")) for section, words, shown in table]


@functools.cache
def named_tests(path):
    """Return the names of a file's tests."""
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def unknown(shown):
    """Return what of a row exists nowhere: neither a case, nor a test, nor a reason."""
    if shown.startswith("not tested: "):
        return []
    path, _, name = shown.partition("::")
    if path.startswith("tests/"):
        return [] if (ROOT / path).exists() and name in named_tests(path) else [shown]
    return [] if shown in CASES else [shown]


@pytest.mark.parametrize(("section", "words", "shown"), rows())
def test_what_a_sentence_names_exists(section, words, shown):
    """Every sentence names cases and tests that there are, or says why there is none."""
    assert section in SECTIONS
    assert words
    assert [wrong for one in shown for wrong in unknown(one)] == []


def test_the_table_is_whole():
    """Every section has a row, every case is named by one, and few rows go without a case or a test."""
    table = rows()
    assert {section for section, _, _ in table} == SECTIONS
    named = {one for _, _, shown in table for one in shown}
    assert CASES.keys() - named - {name for name in CASES if CASES[name]["section"] == "5"} == set()
    untested = [words for _, words, shown in table if shown[0].startswith("not tested")]
    assert all(
        "not shown" in words or "not part" in words or "revision" in words or "change it" in words for words in untested
    )


def test_names_of_cases_are_their_own():
    """No two cases have one name, so a row of the table means one."""
    assert len(CASES) == len(wire.cases())


def test_an_unknown_name_is_seen():
    """The comparison itself can fail, so a pass says something."""
    assert unknown("categories: no such case")
    assert unknown("tests/wire/test_wire_sandbox.py::test_no_such_test")
    assert unknown("tests/wire/no_such_file.py::test_x")


def test_version_of_the_description():
    """The served description carries the version that the interface names (section 9)."""
    assert openapi_document("http://a", "http://b")["info"]["version"] == "24.14.0"
