"""`bktools guide`: the pages that travel with the package, in the terminal."""

from __future__ import annotations

import re
from importlib import resources

import typer

from bktools.cli import results
from bktools.cli.options import argument
from bktools.progress import note
from bktools.wording import words

# In the order in which a newcomer needs them.
FOR_ANALYSTS = (
    "first-month",
    "glossary",
    "files",
    "accounts",
    "reasons",
    "after-export",
    "team",
    "notebooks",
    "settings",
    "sandbox",
    "promises",
)
# For programs, and for whoever changes bktools.
FOR_PROGRAMS = ("automation", "agents", "programs", "changing")
TOPICS = (*FOR_ANALYSTS, *FOR_PROGRAMS)
# The guide's index and its rules in the forms that assistants load.
FOR_ASSISTANTS = ("llms.txt", "SKILL.md")

_FOLDER = resources.files("bktools").joinpath("guide")

# A longer line is hard to read.
WIDEST = 100

# Links between pages: files beside each other, which the terminal shows as commands.
_LINK = re.compile(r"\[([^\]]+)\]\(([a-z-]+)\.md\)")


def guide(
    table: results.Table,
    topic: str | None = argument("TOPIC", "A page, or a word to look for; without it, all pages are listed."),
) -> None:
    """Read the guide: short pages, each about one question.

    Example: bktools guide files
    """
    if topic in FOR_ASSISTANTS:
        typer.echo(_FOLDER.joinpath(topic).read_text(encoding="utf-8"), nl=False)
    # A page opens without pandas, which takes longer to import than the rest.
    elif table.is_for_people and topic in (None, *TOPICS):
        pages = "\n".join(f"  bktools guide {name:<14} {title_of(name)}" for name in TOPICS)
        typer.echo(in_terminal(topic) if topic else f"{pages}\n\n{words()('command.guide_words')}")
    else:
        lines = lines_of(topic)
        if not lines:
            note(words()("command.no_line_of_guide", word=topic, topics=", ".join(TOPICS)))
        if lines or not table.is_for_people:
            table.hand_over_rows("topic line", lines)


def text_of(topic: str) -> str:
    """Return a page as Markdown."""
    return _FOLDER.joinpath(f"{topic}.md").read_text(encoding="utf-8")


def lines_of(topic: str | None) -> list[tuple[str, str]]:
    """Return the titles of all pages, the lines of a page, or those of all pages that have another word."""
    if topic is None:
        return [(name, title_of(name)) for name in TOPICS]
    if topic in TOPICS:
        return [(topic, line) for line in text_of(topic).splitlines()]
    whole = re.compile(rf"(?<!\w){re.escape(topic)}(?!\w)", re.IGNORECASE)
    lines = [(name, line) for name in TOPICS for line in text_of(name).splitlines()]
    return [(name, line.strip("#|-* ")) for name, line in lines if whole.search(line)]


def title_of(topic: str) -> str:
    """Return the heading of a page."""
    return text_of(topic).partition("\n")[0].removeprefix("# ")


def with_commands(text: str) -> str:
    """Return Markdown with the command that shows a page in place of each link to one."""
    return _LINK.sub(r"`bktools guide \2`", text)


def in_terminal(topic: str, width: int | None = None) -> str:
    """Return a page for a terminal: plain text, at most 100 columns wide."""
    import io
    import shutil

    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.markdown import CodeBlock, Markdown, TableElement
    from rich.table import Table
    from rich.text import Text

    class Whole(CodeBlock):
        """Code without a break that the page does not have: a command is copied as it stands."""

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            for line in self.text.plain.rstrip().splitlines():
                yield Text(f" {line}", no_wrap=True, overflow="ignore")

    class Codes(TableElement):
        """A table whose columns of single words are not cut: a code can be copied and looked for."""

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            for table in super().__rich_console__(console, options):
                if isinstance(table, Table):
                    for column in table.columns:
                        column.no_wrap = not any(" " in str(cell) for cell in column.cells)
                        column.overflow = "fold"
                yield table

    class Page(Markdown):
        """Markdown with such code and such tables."""

        elements = Markdown.elements | {"fence": Whole, "table_open": Codes}

    width = width or min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns)
    page = io.StringIO()
    text = with_commands(text_of(topic))
    Console(file=page, width=width, color_system=None, legacy_windows=False).print(
        Page(text, hyperlinks=False), crop=False
    )
    lines = "\n".join(line.rstrip() for line in page.getvalue().splitlines())
    return re.sub(r"\n{3,}", "\n\n", lines).strip("\n")
