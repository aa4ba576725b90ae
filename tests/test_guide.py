"""The guide: every example runs, every link leads somewhere, and nothing that a user can name is missing."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from make_guide import GUIDE, for_assistants, made
from typer.main import get_command
from typer.testing import CliRunner

import bktools
from bktools import errors
from bktools.cli.app import app
from bktools.cli.exits import BY_ERROR
from bktools.cli.guide import FOR_ASSISTANTS, TOPICS, in_terminal, text_of, title_of
from bktools.sandbox.sample import write_account_list, write_sample_ledger
from bktools.settings import SETTINGS, load_settings

PAGES = {topic: text_of(topic) for topic in TOPICS}


def test_the_pages_are_those_of_the_folder():
    """Each page is listed, and begins with its title."""
    assert {f"{topic}.md" for topic in TOPICS} | {*FOR_ASSISTANTS} == {path.name for path in GUIDE.iterdir()}
    assert all(PAGES[topic].startswith(f"# {title_of(topic)}\n\n") for topic in TOPICS)


@pytest.mark.parametrize("topic", TOPICS)
def test_tables_are_those_of_the_code(topic: str):
    """The page has the code's reasons, statuses, files and exit codes; `tests/make_guide.py` writes it."""
    assert made(PAGES[topic]) == PAGES[topic]


def test_what_assistants_load_is_made_of_the_pages():
    """The instructions are sections of the pages, whose commands run; the index has each page's question."""
    texts = for_assistants()
    assert {*texts} == {*FOR_ASSISTANTS}
    for name, text in texts.items():
        assert CliRunner().invoke(app, ["guide", name]).output == text


@pytest.mark.parametrize("topic", ["reasons", "accounts"])
def test_no_code_is_cut_in_the_terminal(topic: str):
    """Each code of a table stands whole in a line of the page, so that it can be copied and looked for."""
    codes = re.findall(r"^\| `(\w+)` \|", PAGES[topic], re.MULTILINE)
    words = set(in_terminal(topic, 100).split())
    assert codes
    assert set(codes) <= words


def test_links_lead_somewhere():
    """Links between pages are pages, and each error leads to one."""
    links = {link for text in PAGES.values() for link in re.findall(r"\]\(([^)]+)\)", text)}
    assert {link.removesuffix(".md") for link in links} <= {*TOPICS}
    assert {page for *_, page in BY_ERROR} <= {*TOPICS, ""}


def test_everything_that_has_a_name_is_in_the_guide():
    """Public names, settings and commands are there; each name of a page exists, errors too."""
    text = "\n".join(PAGES.values())
    listed = bktools.__doc__.partition(":\n\n")[2].partition("\n\n`help")[0]
    assert sorted(re.findall(r"`(\w+)`", listed)) == sorted(bktools.__all__)
    table = PAGES["notebooks"].partition("## Public names")[2].partition("\n## ")[0]
    assert set(bktools.__all__) <= set(re.findall(r"`(\w+)`", table))
    variables = {name.upper() for name in SETTINGS} | {"ENVIRONMENT", "CONFIG"}
    assert set(re.findall(r"BKTOOLS_([A-Z_]+)", PAGES["settings"])) == variables
    commands = get_command(app).commands
    assert set(re.findall(r"(?:`|^)bktools ([a-z][a-z-]+)", text, re.MULTILINE)) == {*commands}
    assert "Read more: bktools guide" in " ".join(CliRunner().invoke(app, ["--help"]).output.split())
    assert [name for name in re.findall(r"errors\.(\w+)", text) if not hasattr(errors, name)] == []


def test_the_config_file_is_read(tmp_path):
    """The config file of the settings page is a valid one."""
    path = tmp_path / "guide.toml"
    text = re.search(r"```toml\n(.*?)```", PAGES["settings"], re.DOTALL)[1].replace("…", "token")
    path.write_text(text, encoding="utf-8")
    settings = load_settings(env={"BKTOOLS_CONFIG": str(path)})
    assert (settings.environment, settings.base_url) == ("production", "https://books.example.com")
    assert load_settings("staging", env={"BKTOOLS_CONFIG": str(path)}).token is None


def test_a_word_is_looked_for_on_all_pages():
    """Reasons and settings are found where they are explained; a word of no page is one line."""
    for word, topic, said in (
        ("ARCHIVED_account", "reasons", "Give the category another account in the service"),
        ("bktools_proxy", "settings", "SSL_CERT_FILE"),
    ):
        done = CliRunner().invoke(app, ["guide", word, "--format", "json"])
        assert done.exit_code == 0
        assert [topic for row in json.loads(done.output) if row["topic"] == topic and said in row["line"]]
    done = CliRunner().invoke(app, ["guide", "nowhere-at-all"])
    assert (done.exit_code, "first-month, glossary" in done.output) == (0, True)


def test_a_page_in_the_terminal():
    """On a terminal lines fit and links are commands."""
    for topic in TOPICS:
        lines = in_terminal(topic, 80).splitlines()
        code = {f" {line}".rstrip() for _, text in blocks(topic) for line in text.splitlines()}
        assert code <= {*lines}
        assert max(len(line) for line in lines if line not in code) <= 80
        # Some versions draw a box around the heading.
        assert title_of(topic) in " ".join(lines[:2])
    assert "bktools guide files" in " ".join(in_terminal("first-month").split())


def blocks(topic: str) -> list[tuple[str, str]]:
    """Return the language, "" where it is not run, and the text of each block of code of a page."""
    found = re.findall(r"(<!-- not run: [^>]+ -->\n\n)?```(\w+)\n(.*?)```", PAGES[topic], re.DOTALL)
    return [("" if mark else language, text) for mark, language, text in found]


def examples(topic: str) -> list[tuple[str, str]]:
    """Return the language and the text of each example of a page that is run here."""
    return [(language, text) for language, text in blocks(topic) if language in {"console", "python"}]


@pytest.fixture(scope="module")
def world(tmp_path_factory, samples):
    """A folder with the pages' files, and a served sandbox's variables, after a first export."""
    folder = tmp_path_factory.mktemp("guide")
    (folder / "config.toml").touch()
    (folder / "chart.csv").write_bytes(samples[0].read_bytes())
    for name in ("entries", "august", "september", "october", "november"):
        (folder / f"{name}.csv").write_bytes(samples[1].read_bytes())
    (folder / "budget.csv").write_text("Category;Budget;Currency\nBeratung;5000,00;EUR\n", encoding="utf-8")
    rates = {"USD": "0.8712", "CHF": "1.05", "SEK": "0.0899", "JPY": "0.0058"}
    lines = ["currency,rate", *(f"{currency},{rate}" for currency, rate in rates.items())]
    (folder / "rates.csv").write_text("\n".join(lines), encoding="utf-8")
    chart = (folder / "chart.csv").read_text("utf-8-sig").replace("Konto;Bezeichnung", "Kontonr;Text", 1)
    (folder / "konten.csv").write_text(chart, encoding="utf-8")
    write_account_list(folder)
    with (
        bktools.Sandbox(folder / "state", job_seconds=0.05) as sandbox,
        pytest.MonkeyPatch.context() as patch,
    ):
        settings = sandbox.settings
        variables = {"COMPANY": settings.company, "CONFIG": folder / "config.toml"}
        variables |= {"BASE_URL": settings.base_url, "TOKEN": settings.token.reveal()}
        variables |= {"BALANCE_URL": settings.balance_url, "BALANCE_TOKEN": settings.balance_token.reveal()}
        variables |= {f"{name.upper()}_DIR": folder / name for name in ("data", "cache", "sent_log")}
        variables = {f"BKTOOLS_{name}": str(value) for name, value in variables.items()}
        for name, value in variables.items():
            patch.setenv(name, value)
        patch.chdir(folder)
        first = "accounts create --chart chart.csv --apply"
        for command in (first, "export compose entries.csv --out a.plan --max-entries 100"):
            assert CliRunner().invoke(app, command).exit_code == 0
        CliRunner().invoke(app, "export submit a.plan --apply --wait 9 --first-export --by Ada")
        with bktools.connect() as service:
            exported = bktools.load_export_jobs(entries=True, service=service)
        ledger = write_sample_ledger(exported[exported["state"] == "ACCEPTED"], folder)
        ledger.rename(folder / "bookkeeping.se")
        yield folder, variables


@pytest.mark.parametrize("topic", [topic for topic in TOPICS if examples(topic)])
def test_every_example_is_run(topic: str, world, tmp_path, monkeypatch):
    """The commands and the Python of a page work as they stand there, in their order."""
    folder, variables = world
    for path in filter(Path.is_file, folder.iterdir()):
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    names: dict[str, object] = {}
    for language, text in examples(topic):
        if language == "python":
            exec(compile(text, f"{topic}.md", "exec"), names)
            continue
        for line in text.splitlines():
            code = re.search(r"# exit code (\d+)$", line)
            done = CliRunner().invoke(app, shlex.split(line, comments=True)[1:])
            told = f"{line}\n{done.output}\n{done.exception!r}"
            assert done.exit_code == (int(code[1]) if code else 0), told
