"""Help pages: short, with an example, and quick; mistyped names get a suggestion."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from commands import every_command
from typer.testing import CliRunner

from bktools.cli.app import app, common_first
from bktools.cli.exits import exit_codes

HELP = [(" ".join(path), command) for path, command in every_command()]


def help_of(path: str, width: int = 80) -> str:
    return CliRunner().invoke(app, [*path.split(), "--help"], terminal_width=width).output


@pytest.mark.parametrize(("path", "command"), HELP, ids=[path for path, _ in HELP])
def test_a_page_of_help(path, command):
    """No summary is cut, every value has a name, a command has an example, the exit codes stand once."""
    text = help_of(path)
    # The summary of a nested command is one line.
    assert "..." not in text.partition("\n")[2]
    assert not re.findall(r"--[\w-]+ <(?:str|int|float|path|list)\b.*", text)
    assert ("Exit codes" in text) == (path == "")
    if not hasattr(command, "commands"):
        assert re.search(rf"^Example: .*\bbktools .*\b{command.name}\b", command.help, re.MULTILINE)
        assert "Also, in any place: --quiet" in text


def test_reading_options_stand_on_three_commands():
    """How a file is read is said on `chart`, `entries` and `ledger`, and nowhere else."""
    reading = {
        "--column",
        "--delimiter",
        "--encoding",
        "--sheet",
        "--decimal",
        "--date-format",
        "--skip-rows",
    }
    having = {path for path, command in HELP for one in command.params if reading & {*one.opts}}
    assert having == {"chart", "entries", "ledger"}


def test_the_exit_codes_are_listed():
    """`bktools --help` lists all exit codes."""
    assert exit_codes() in " ".join(help_of("", 200).split())


@pytest.mark.parametrize(
    ("line", "ordered"),
    [
        ("month-end --sandbox --quiet", "--quiet month-end --sandbox"),
        ("export submit --apply --verbose", "--verbose export submit --apply"),
        ("config --log-level debug", "--log-level=debug config"),
        ("config --log-level=debug", "--log-level=debug config"),
        ("config --log-level", "--log-level config"),
        ("guide -- --quiet", "guide -- --quiet"),
    ],
)
def test_common_options_stand_anywhere(line, ordered):
    """The options of every command are moved to the front, with their value."""
    assert common_first(line.split()) == ordered.split()


def test_the_shell_completes_commands_and_options():
    """Completion offers the commands and the options that begin as typed."""
    for typed, offered in (("sandbox ", {"serve", "reset"}), ("check --comp", {"--company"})):
        variables = {"_TYPER_COMPLETE_ARGS": f"bktools {typed}", "_BKTOOLS_COMPLETE": "complete_zsh"}
        output = CliRunner().invoke(app, [], env=variables, prog_name="bktools").output
        assert offered <= {*re.findall(r'^"([\w-]+)":', output.replace("(", "\n"), re.MULTILINE)}


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
