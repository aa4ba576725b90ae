"""Help pages: short, in groups, in words, and quick; mistyped names get a suggestion."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from commands import every_command
from typer.testing import CliRunner

from bktools.cli.app import app
from bktools.cli.options import SECTIONS


def help_of(*path):
    return CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "80"}).output


def test_summaries_fit_and_values_have_names():
    """In 80 columns no summary is cut, and the value of each option has a name in capitals or its choices."""
    for path, _ in every_command():
        text = help_of(*path).partition("\n")[2]
        assert "..." not in re.sub(r"(MACHINE|BATCH|ENTRY)\.\.\.", "", text), path
    found = [
        help_of(*name.split()) for name in ("month-end", "categories", "export compose", "sandbox serve")
    ]
    assert not re.findall(r"--[\w-]+ <(?:str|int|float|path|list)\b.*", "".join(found))
    assert "--column FIELD=HEADING" in found[0]
    assert "--month YYYY-MM" in found[0]


def test_options_are_in_sections():
    """Every help has its sections in one order, and the options of every command are named below them."""
    order = ["Arguments", *SECTIONS, "Commands"]
    for path, _ in every_command():
        headings = re.findall(r"^(\w[\w ]+):$", help_of(*path), re.MULTILINE)
        assert headings == sorted(headings, key=order.index), path
    text = help_of("month-end")
    found = ", ".join(re.findall(r"^(\w[\w ]+):$", text, re.MULTILINE))
    assert found == "Options, Service, Reading the chart, Reading the ledger, Reading the entries, Output"
    assert "Also, in any place: --quiet" in text


def test_the_longest_help_is_two_screens():
    """In 100 columns the help of `month-end` has at most 74 lines."""
    assert CliRunner().invoke(app, ["month-end", "--help"], terminal_width=100).output.count("\n") <= 74


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("categories --formt json", r"No such option: --formt[\s\S]*--format"),
        ("reconcile --sandbox --column kode=Konto", r"--column may map .* \(did you mean code\?\): "),
    ],
)
def test_what_was_mistyped_gets_a_suggestion(line, said):
    """The nearest option or field is named."""
    done = CliRunner().invoke(app, line.split())
    assert re.search(said, f"{done.output}{done.exception}")


def test_help_imports_no_library_of_the_work():
    """A help page opens without pandas, Arrow, Polars, HTTP or plots, which take a second to import."""
    heavy = ["pandas", "pyarrow", "polars", "httpx", "matplotlib", "numpy", "rapidfuzz", "starlette", "apsw"]
    program = (
        "import sys\nfrom bktools.cli import main\nsys.argv = ['bktools', 'month-end', '--help']\n"
        f"try:\n    main()\nexcept SystemExit:\n    pass\nprint([name for name in {heavy} if name in "
        "sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
