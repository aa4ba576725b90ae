"""A message names options of the command that prints it, and in Python the arguments."""

from __future__ import annotations

import re
import shlex
import warnings
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import bktools
from bktools.cli.app import app
from bktools.errors import GuessedEncodingWarning, InputError
from bktools.inputs.accounts import read_accounts

ENTRY = "123e4567-e89b-42d3-a456-426614174000"
COMPANY = "9b48711b-7e43-4f5c-8a36-341a5037711f"

# What is wrong with any file: its bytes and the argument that the message is about.
BYTES = {
    "mixed encodings": ("{head}\n{row}Büro\n".encode() + "{row}Öl\n".encode("cp1252"), "encoding"),
    "no UTF-8 behind a mark": (b"\xef\xbb\xbf{head}\n{row}\xff\n", "encoding"),
    "a NUL byte": (b"{head}\n{row}\0\n", "encoding"),
    "no encoding": (b"{head}\n{row}x\xb0y\n", "encoding"),
    "a guess": ("{head}\n{row}Größe\n".encode("cp1252"), "encoding"),
    "too many cells": (b"{head}\n{row}a;b;c\n", "delimiter"),
}
ENTRIES = {
    "no id": (f"Nr;company_id;category_id\n{ENTRY};{COMPANY};\n", "columns"),
    "no category": (f"id;company_id;Kategorie Nr\n{ENTRY};{COMPANY};\n", "columns"),
    "two ids": (f"entry id;uuid;company_id;category_id\n{ENTRY};{ENTRY};{COMPANY};\n", "columns"),
    "a point or a comma": (f"id;company_id;category_id;amount\n{ENTRY};{COMPANY};;1,234\n", "decimal"),
    "day or month": (f"id;company_id;category_id;date\n{ENTRY};{COMPANY};;01/02/2026\n", "date_format"),
    "no date": (f"id;company_id;category_id;date\n{ENTRY};{COMPANY};;1 Oct\n", "date_format"),
}
CHARTS = {
    "no code": ("Farbe;Name\n0400;a\n", "columns"),
    "two codes": ("Konto;Code;Name\n0400;1;a\n", "columns"),
    "an unknown word": ("Konto;Name;Aktiv\n0400;a;vielleicht\n", "columns"),
    "rates": ("Konto;Name;*Tax  Code\n0400;a;0.1\n", "columns"),
}
ACCOUNTS = {"no id": ("Nr;External ID;Name\n1;0400;a\n", "columns")}
# Command, what its file can be, heading and beginning of a row, and the beginning of an option's name.
ROW = ("id;company_id;category_id;date;description", f"{ENTRY};{COMPANY};;2026-10-01;")
COMMANDS = {
    "export compose FILE": (ENTRIES, *ROW, "--"),
    "month-end --entries FILE": (ENTRIES, *ROW, "--entry-"),
    "reconcile --chart FILE": (CHARTS, "Konto;Name", "0400;", "--"),
    "accounts import FILE": (ACCOUNTS, "id;External ID;Name", f"{ENTRY};0400;", "--"),
}
READERS = {
    "entries": (bktools.read_entries, ENTRIES, *ROW),
    "chart": (bktools.read_chart_of_accounts, CHARTS, *COMMANDS["reconcile --chart FILE"][1:3]),
    "accounts": (read_accounts, ACCOUNTS, *COMMANDS["accounts import FILE"][1:3]),
}
NAMES = {"columns": "column", "date_format": "date-format"}


def files_of(own, head: str, row: str):
    """Yield what is wrong with each file, its bytes and the argument that mends it."""
    for what, (content, argument) in own.items():
        yield what, content.encode(), argument
    for what, (content, argument) in BYTES.items():
        yield what, content.replace(b"{head}", head.encode()).replace(b"{row}", row.encode()), argument


def options_of(words: list[str]) -> set[str]:
    command = typer.main.get_command(app)
    for word in words:
        command = getattr(command, "commands", {}).get(word, command)
    return {name for parameter in command.params for name in parameter.opts}


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_name_their_options(line, tmp_path, monkeypatch):
    """Whichever option mends a file, the message names it, and it is one of the command."""
    monkeypatch.chdir(tmp_path)
    own, head, row, begin = COMMANDS[line]
    words = line.split()
    one_each = {argument: (what, content) for what, content, argument in files_of(own, head, row)}
    for argument, (what, content) in one_each.items():
        Path("file.csv").write_bytes(content)
        arguments = [word.replace("FILE", "file.csv") for word in words]
        done = CliRunner().invoke(app, [*arguments, "--sandbox"])
        said = f"{done.output}\n{done.exception}"
        # A close also says which month and which person it took, and the options that name others; a long
        # list says where all of it goes.
        named = set(re.findall(r"(?<!\S)'?(--(?!sandbox|apply|month|by|out)[a-z][a-z-]+)", said))
        assert named == {begin + NAMES.get(argument, argument)}, (what, said)
        assert named <= options_of(words)
        assert re.search(r"\b(columns|decimal|date_format|encoding|delimiter)=", said) is None


@pytest.mark.parametrize("reader", READERS)
def test_readers_name_their_arguments(reader, tmp_path):
    """In Python the same messages name what can be given in Python."""
    read, own, head, row = READERS[reader]
    for what, content, argument in files_of(own, head, row):
        if what == "no category":
            continue
        path = tmp_path / "file.csv"
        path.write_bytes(content)
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", GuessedEncodingWarning)
                said = "\n".join(
                    [*read(path).attrs["bktools"]["notes"], *(str(one.message) for one in caught)]
                )
        except InputError as error:
            said = str(error)
        assert f"{argument}=" in said, what
        assert re.search(r"(?<!\S)--[a-z]", said) is None


def test_the_options_that_are_named_settle_it(tmp_path, monkeypatch):
    """Copied from the messages one after the other, the options lead to a plan."""
    monkeypatch.chdir(tmp_path)
    row = f"{ENTRY};{COMPANY};;1,234;01/02/2026;gebucht;Größe\n"
    text = "*My  Id;company_id;Kat;Betrag;Datum;Status;Text\n" + row
    for line in ("export compose file.csv --column", "month-end --entries file.csv --entry-column"):
        arguments = [*shlex.split(line), "id=*My  Id"]
        Path("file.csv").write_text(text, encoding="cp1252")
        for heading in (None, "Kat", None):
            said = str(CliRunner().invoke(app, [*arguments, "--sandbox"]).exception)
            words = re.search(r"--[a-z-]+ \S+", said)[0]
            arguments += shlex.split(words.replace("HEADING", shlex.quote(heading)) if heading else words)
        done = CliRunner().invoke(app, [*arguments, "--sandbox", "--out", "made"])
        assert done.exception is None, done.output
        assert "encoding 'cp1252'" in done.output
        assert "taken as not approved: 'gebucht' (1)" in done.output
        assert "not checked: employees (the entries have no employee_id)" in done.output
        Path("made").rename("kept")
        Path("kept").rename(arguments[0])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("export compose --employee Ada", "--employee must be a UUID"),
        ("export compose --own-currency EURO", "--own-currency must be"),
        ("month-end --entry-column id", "--entry-column takes field=HEADING"),
    ],
)
def test_a_wrong_value_names_its_option(tmp_path, monkeypatch, options, said):
    """What an option cannot be is told with the option as it was given."""
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, [*options.split(), "--sandbox"])
    assert str(done.exception).startswith(said)


def test_headings_are_quoted_for_the_shell(tmp_path, monkeypatch):
    """An option that holds a heading of the file can be copied into a shell as it stands."""
    monkeypatch.chdir(tmp_path)
    Path("file.csv").write_text("Konto;Name;*Tax  Code\n0400;a;0.1\n", encoding="utf-8")
    done = CliRunner().invoke(app, ["reconcile", "--chart", "file.csv", "--sandbox"])
    assert "--column 'tax_code_external_id=*Tax Code'" in done.output
    again = ["--column", "tax_code_external_id=*Tax Code"]
    assert (
        "tax rates"
        not in CliRunner().invoke(app, ["reconcile", "--chart", "file.csv", "--sandbox", *again]).output
    )
