"""Commands run as a user runs them: arguments, variables, exit code and output, in an empty folder."""

from __future__ import annotations

import functools
import os
import re
import shlex
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import pytest
import typer.main
import typer.testing
from click.testing import Result
from typer.testing import CliRunner

import bktools
from bktools.cli import main
from bktools.cli.app import app
from bktools.wording import reader

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session", autouse=True)
def _commands_are_built_once() -> Iterator[None]:
    """Typer builds all commands anew for each line, which takes longer than most of them run."""
    once = functools.cache(typer.main.get_command)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", once)
        patch.setattr(typer.testing, "_get_command", once)
        yield


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `bktools` with a line or with arguments, and with variables beside those of the test."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def run(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
        words = shlex.split(str(arguments[0])) if len(arguments) == 1 else [*map(str, arguments)]
        output, errors = tmp_path / "output", tmp_path / "errors"
        with (
            pytest.MonkeyPatch.context() as patch,
            # A command sets the language of its process.
            mock.patch.dict(os.environ),
            output.open("w", encoding="utf-8") as out,
            errors.open("w", encoding="utf-8") as err,
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("default")
            for name, value in variables.items():
                patch.setenv(name, value)
            patch.setattr(reader, "language", None)
            for name, value in {"argv": ["bktools", *words], "stdout": out, "stderr": err}.items():
                patch.setattr(sys, name, value)
            with pytest.raises(SystemExit) as end:
                main()
            sys.stdout.flush()
        # On a slow machine a command says that it is still running.
        stderr = re.sub(r"bktools: still running after .*\n", "", errors.read_text(encoding="utf-8"))
        stdout = output.read_text(encoding="utf-8")
        return subprocess.CompletedProcess(words, int(end.value.code or 0), stdout, stderr)

    return run


@pytest.fixture
def access(sandbox: bktools.Sandbox) -> dict[str, str]:
    """The variables for the test's sandbox."""
    server = sandbox.server
    values = {"BASE_URL": server.base_url, "TOKEN": server.token, "COMPANY": server.company_id}
    return {f"BKTOOLS_{name}": value for name, value in values.items()}


@pytest.fixture
def typed(access: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], Result]:
    """Run a line against the test's sandbox, as in a pipe; an error of bktools is raised."""
    monkeypatch.chdir(tmp_path)
    for name, value in access.items():
        monkeypatch.setenv(name, value)

    def typed(line: str) -> Result:
        # A command sets the language of its process.
        with mock.patch.dict(os.environ), mock.patch.object(reader, "language", None):
            done = CliRunner().invoke(app, shlex.split(line))
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done

    return typed


@pytest.fixture
def command(typed: Callable[[str], Result]) -> Callable[[str], tuple[int, str]]:
    """Run a line as `typed` does, and return its exit code and all that it prints."""

    def command(line: str) -> tuple[int, str]:
        done = typed(line)
        return done.exit_code, done.output

    return command
