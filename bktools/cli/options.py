"""Options that several commands share, declared once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bktools.caller import command, in_shell
from bktools.cli.output import tell
from bktools.errors import ArgumentError, InputError

if TYPE_CHECKING:
    from bktools.service import Service


# Groups of options in the help.
SERVICE, CHART, ENTRIES, FILE, OUTPUT = (
    "Service", "Reading the chart", "Reading the entries", "Reading the file", "Output",
)  # fmt: skip


def option(*names: str, panel: str | None = None, **given: Any) -> Any:
    """Return the declaration of an option, in a group of the help."""
    return typer.Option(*names, rich_help_panel=panel, **given)


def one_of(words: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Return the shell completion of an option; the words are computed only when the shell asks."""

    def offered(incomplete: str) -> list[str]:
        return [word for word in words() if word.startswith(incomplete)]

    return offered


def _profiles() -> Iterable[str]:
    from bktools.frames.delimited import PROFILES

    return PROFILES


def _checked_profile(context: typer.Context, name: str | None) -> str | None:
    if name is not None and not context.resilient_parsing:
        from bktools.frames.delimited import profile_named

        profile_named(name)
    return name


def profile_option(default: str | bool = True) -> Any:
    """Return the declaration of --profile."""
    return typer.Option(
        "--profile",
        metavar="PROFILE",
        help="How CSV is written: excel, excel-eu or machine.",
        autocompletion=one_of(_profiles),
        callback=_checked_profile,
        show_default=default,
        rich_help_panel=OUTPUT,
    )


Profile = Annotated[str, profile_option()]
Sandbox = Annotated[
    bool,
    typer.Option(
        "--sandbox", help="Use the embedded sandbox service: no real books are touched.", rich_help_panel=SERVICE
    ),
]
Environment = Annotated[
    str | None,
    option(
        "--environment",
        "-e",
        metavar="NAME",
        panel=SERVICE,
        help="production, staging, a table of the config file, or a base URL.",
    ),
]
Company = Annotated[
    str | None,
    option(
        "--company",
        metavar="COMPANY",
        panel=SERVICE,
        help="UUID or short name of the company; the configured one by default.",
    ),
]
Chart = Annotated[
    Path | None,
    option(
        "--chart",
        metavar="FILE",
        help="The ERP's chart of accounts: CSV, TSV, Excel or Parquet; - is standard input.",
        panel=CHART,
    ),
]
Column = Annotated[
    list[str] | None,
    option("--column", metavar="FIELD=HEADING", help="Heading of a field in the chart; may be repeated.", panel=CHART),
]
Delimiter = Annotated[
    str | None, option("--delimiter", metavar="CHARACTER", help="Delimiter of the chart's file.", panel=CHART)
]
Encoding = Annotated[
    str | None, option("--encoding", metavar="NAME", help="Encoding of the chart's file, such as cp1252.", panel=CHART)
]
Sheet = Annotated[str | None, option("--sheet", metavar="NAME", help="Name of the workbook's sheet.", panel=CHART)]
SaveMapping = Annotated[
    str | None,
    option(
        "--save-mapping",
        metavar="NAME",
        panel=CHART,
        help="Remember the options by this name, for files with the same headings.",
    ),
]
# For the entries of a command that reads a chart as well.
EntryColumn = Annotated[
    list[str] | None,
    option(
        "--entry-column",
        metavar="FIELD=HEADING",
        help="Heading of a field in the entries; may be repeated.",
        panel=ENTRIES,
    ),
]
EntryDelimiter = Annotated[
    str | None, option("--entry-delimiter", metavar="CHARACTER", help="Delimiter of the entries' file.", panel=ENTRIES)
]
EntryEncoding = Annotated[
    str | None,
    option("--entry-encoding", metavar="NAME", help="Encoding of the entries' file, such as cp1252.", panel=ENTRIES),
]
EntryDecimal = Annotated[
    str | None, option("--entry-decimal", metavar="MARK", help="Decimal mark of the amounts: . or ,", panel=ENTRIES)
]
EntryDateFormat = Annotated[
    str | None,
    option("--entry-date-format", metavar="FORMAT", help="Format of the dates, such as %d/%m/%Y.", panel=ENTRIES),
]
EntrySheet = Annotated[
    str | None,
    option("--entry-sheet", metavar="NAME", help="Name of the sheet in the entries' workbook.", panel=ENTRIES),
]
SaveEntryMapping = Annotated[
    str | None,
    option(
        "--save-entry-mapping",
        metavar="NAME",
        panel=ENTRIES,
        help="Remember the entries' options by this name, for the same headings.",
    ),
]
# For a command that reads one file.
FileColumn = Annotated[
    list[str] | None,
    option("--column", metavar="FIELD=HEADING", help="Heading of a field in the file; may be repeated.", panel=FILE),
]
# Also under the name that `month-end` has for it.
EntriesColumn = Annotated[
    list[str] | None,
    option(
        "--column",
        "--entry-column",
        metavar="FIELD=HEADING",
        help="Heading of a field in the entries; may be repeated.",
        panel=FILE,
    ),
]
FileDelimiter = Annotated[
    str | None, option("--delimiter", metavar="CHARACTER", help="Delimiter of the file.", panel=FILE)
]
FileEncoding = Annotated[
    str | None, option("--encoding", metavar="NAME", help="Encoding of the file, such as cp1252.", panel=FILE)
]
FileSheet = Annotated[str | None, option("--sheet", metavar="NAME", help="Name of the workbook's sheet.", panel=FILE)]
Decimal = Annotated[
    str | None, option("--decimal", metavar="MARK", help="Decimal mark of the amounts: . or ,", panel=FILE)
]
DateFormat = Annotated[
    str | None, option("--date-format", metavar="FORMAT", help="Format of the dates, such as %d/%m/%Y.", panel=FILE)
]
SPLITS_HELP = "Lines with one entry ID, company, date and currency are the parts of one split entry."
SplitLines = Annotated[bool, option("--split-lines", help=SPLITS_HELP, panel=FILE)]
EntrySplitLines = Annotated[bool, option("--split-lines", help=SPLITS_HELP, panel=ENTRIES)]
SaveFileMapping = Annotated[
    str | None,
    option(
        "--save-mapping",
        metavar="NAME",
        panel=FILE,
        help="Remember the options by this name, for files with the same headings.",
    ),
]
Apply = Annotated[bool, typer.Option("--apply", help="Write to the service (default: dry run).")]
NewChart = Annotated[
    bool,
    typer.Option(
        "--new-chart",
        help="The company has a new chart: create its accounts though it looks like another company's.",
        rich_help_panel=CHART,
    ),
]
ChangesFrom = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="AMOUNT|SHARE",
        help="The least change between two months that has a line: an amount such as 500, or a share such as 5%.",
    ),
]
OthersExport = Annotated[
    bool,
    typer.Option(
        "--others-export", help="People also export by hand: wait for a job in progress, which may be theirs."
    ),
]
Wait = Annotated[
    float,
    typer.Option(
        "--wait", min=0, metavar="SECONDS", help="Seconds to wait while an export job of the company is in progress."
    ),
]
MaxEntries = Annotated[
    int, typer.Option("--max-entries", min=1, metavar="COUNT", help="Entries of an export job at most.")
]

# Options by the argument that they set, for the readers' messages.
READS_FILE = {"columns": "--column", "delimiter": "--delimiter", "encoding": "--encoding", "sheet": "--sheet"}
READS_ENTRIES = READS_FILE | {"decimal": "--decimal", "date_format": "--date-format"}
READS_ENTRIES_BESIDE_CHART = {argument: f"--entry-{option[2:]}" for argument, option in READS_ENTRIES.items()}
READS_ENTRIES_BESIDE_CHART |= (SPLITS := {"split_lines": "--split-lines"})
READS_ENTRIES |= SPLITS


@contextmanager
def connected(
    environment: str | None, *, sandbox: bool, company: str | None = None, **overrides: Any
) -> Iterator[Service]:
    """Connect to the service that the options select; warnings are lines on standard error."""
    from bktools.connection import connect

    with (
        command({}),
        warnings.catch_warnings(),
        connect(selected(environment, sandbox=sandbox), company=company, **overrides) as service,
    ):
        warnings.showwarning = lambda message, *_: tell(f"bktools: {message}")
        yield service


def selected(environment: str | None, *, sandbox: bool) -> str | None:
    """Return the environment that the two options choose; None for the configured one."""
    if sandbox and environment not in {None, "sandbox"}:
        raise ArgumentError("--sandbox", f"cannot be combined with --environment {environment}")
    return "sandbox" if sandbox else environment


def same(environment: str | None, *, sandbox: bool) -> str:
    """Return the options that select the same environment, for a command in a message."""
    return " --sandbox" if sandbox else f" --environment {in_shell(environment)}" if environment else ""


def the_company(service: Service) -> str:
    """Return the one company a command is about."""
    from bktools.contract.rules import company_id

    company = service.settings.company
    if company is None:
        raise ArgumentError("--company", "must name the company (or set BKTOOLS_COMPANY)")
    return company_id("--company", company, service.settings.company_names)


def reading(
    column: list[str] | None,
    delimiter: str | None,
    encoding: str | None,
    sheet: str | None,
    decimal: str | None,
    date_format: str | None,
    option: str = "--column",
    **others: Any,
) -> dict[str, Any]:
    """Return the options that read entries or a ledger as the arguments of their readers."""
    return others | {
        "columns": columns(column, option),
        "delimiter": delimiter,
        "encoding": encoding,
        "sheet": sheet,
        "decimal": decimal,
        "date_format": date_format,
    }


def columns(given: list[str] | None, option: str = "--column") -> dict[str, str] | None:
    """Return `field=HEADING` options as a mapping."""
    if not given:
        return None
    found = {}
    for text in given:
        field, equals, heading = text.partition("=")
        if not equals:
            raise InputError(f"{option} takes field=HEADING, such as code=Konto, got {text!r}")
        found[field.strip()] = heading
    return found
