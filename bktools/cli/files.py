"""Files that a command reads: the options that say how, the mapping that keeps them, and standard input."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import bktools
from bktools import disk
from bktools.caller import command, in_shell
from bktools.cli.options import ACCOUNT_LIST, CHART, ENTRIES, LEDGER, REQUIRED, Group, argument, option
from bktools.cli.output import tell
from bktools.cli.results import STREAM
from bktools.errors import ArgumentError, InputError
from bktools.progress import note

if TYPE_CHECKING:
    import pandas as pd


# By argument of the readers: the type of its option, its default, its name with the value's name, its help.
OPTIONS: dict[str, tuple[Any, Any, str, str]] = {
    "columns": (list[str] | None, None, "--column FIELD=HEADING", "Heading of a field; may be repeated."),
    "delimiter": (str | None, None, "--delimiter CHARACTER", "Character between two cells, such as ;"),
    "encoding": (str | None, None, "--encoding NAME", "Encoding, such as cp1252."),
    "sheet": (str | None, None, "--sheet NAME", "Sheet of a workbook."),
    "decimal": (str | None, None, "--decimal MARK", "Decimal mark of the amounts: . or ,"),
    "date_format": (str | None, None, "--date-format FORMAT", "Format of the dates, such as %d/%m/%Y."),
    "currency": (
        str | None,
        None,
        "--currency CODE",
        "Currency of the amounts where no column says it, such as EUR.",
    ),
    "spending": (
        str | None,
        None,
        "--spending positive|negative",
        "Sign of spending in the column of amounts.",
    ),
    "approved_values": (
        str | None,
        None,
        "--approved-values VALUES",
        "Values of the approval column that count, such as OK,NOT_REQUIRED.",
    ),
    "fill_down": (
        str | None,
        None,
        "--fill-down FIELDS",
        "Fields that stand only in the first of their rows, such as date.",
    ),
    "report_rows": (
        str | None,
        None,
        "--report-rows skip|keep",
        "Rows of a word such as Total, a date and an amount alone.",
    ),
    "split_account": (
        bool,
        False,
        "--split-account",
        "A column holds the code and the name of an account in one cell.",
    ),
    "split_lines": (
        bool,
        False,
        "--split-lines",
        "Lines with equal ID, company, date and currency are one entry.",
    ),
    "style": (
        str | None,
        None,
        "--style STYLE",
        (
            "What has one posting, where the ledger does not show it: entry, supplier_day, account_day, "
            "document, batch or month."
        ),
    ),
    "reverse_sign": (
        bool | None,
        None,
        "--reverse-sign/--keep-sign",
        "Credits of the ledger are costs. By default the ledger shows it.",
    ),
    "verify": (
        str,
        "strict",
        "--verify strict|warn",
        "strict: the ledger must agree with its own totals. warn: a warning.",
    ),
    "save_mapping": (
        str | None,
        None,
        "--save-mapping NAME",
        "Remember these options for files with the same headings.",
    ),
}
_OF_TABLES = ("columns", "delimiter", "encoding", "sheet")
_OF_ROWS = (*_OF_TABLES, "decimal", "date_format")
# By kind of file: its section in the help, and the arguments of its reader.
KINDS = {
    "chart": (CHART, (*_OF_TABLES, "split_account")),
    "accounts": (ACCOUNT_LIST, _OF_TABLES),
    "ledger": (
        LEDGER,
        (
            *_OF_ROWS,
            "currency",
            "split_account",
            "fill_down",
            "report_rows",
            "style",
            "reverse_sign",
            "verify",
        ),
    ),
    "entries": (
        ENTRIES,
        (*_OF_ROWS, "currency", "spending", "approved_values", "fill_down", "report_rows", "split_lines"),
    ),
}
# In the help of a command that reads several files, one line names those of these options that have a prefix;
# a refusal names the one that helps.
_IN_ONE_LINE = (
    *(
        "delimiter",
        "encoding",
        "sheet",
        "decimal",
        "date_format",
        "fill_down",
        "report_rows",
        "split_account",
    ),
    *("style", "reverse_sign"),
)
# Options that only one of the files of a command has keep their names.
_UNPREFIXED = (
    "currency",
    "spending",
    "approved_values",
    "fill_down",
    "report_rows",
    "split_lines",
    "split_account",
)


@dataclass(frozen=True)
class FileOptions:
    """A file that a command reads, and how.

    The path is None where the command does not need it, and so are arguments that were not given. `names` has
    the option for each argument of the reader, for messages.
    """

    kind: str
    path: Path | None
    arguments: Mapping[str, Any]
    save_mapping: str | None
    names: Mapping[str, str]

    def read(self, reader: Callable[..., pd.DataFrame], **others: Any) -> pd.DataFrame:
        """Read the file with a function of bktools, as its mapping and options say; save these if asked."""
        from bktools.inputs import mappings

        assert self.path is not None
        arguments = dict(self.arguments)
        with readable(self.path) as path, command(self.names):
            if self.save_mapping is not None:
                mappings.path_of(self.save_mapping)
            mapping = mappings.mapping_for(path, self.kind, arguments)
            if mapping is not None:
                if self.save_mapping not in {None, mapping.name}:
                    why = f"must be {mapping.name}, the mapping that is for these headings already"
                    raise ArgumentError(self.names["save_mapping"], why, self.save_mapping)
                arguments = mappings.arguments(path, mapping, arguments)
                note(f"mapping {mapping.name!r} used for {path.name}")
            frame = reader(path, **arguments, **others)
            if self.save_mapping is not None:
                _save(self.save_mapping, self.kind, path, arguments)
        return frame

    def or_sample(self, service: bktools.Service, missing: str = "") -> FileOptions:
        """Return the same with the sandbox's sample file where none was given; elsewhere refuse the gap."""
        from bktools.sandbox.sample import write_sample_data

        if self.path is not None:
            return self
        if not service.settings.is_sandbox:
            raise ArgumentError(
                missing or self.names["path"], "must be given: sample files are for the sandbox alone"
            )
        chart, entries = write_sample_data(service.settings.state_dir / "sample-data")
        return replace(self, path=chart if self.kind == "chart" else entries)


def _save(name: str, kind: str, path: Path, arguments: Mapping[str, Any]) -> None:
    from bktools.inputs import mappings

    mapping = mappings.made_from(path, name, kind, arguments)
    if mapping is None or not (mapping.columns or mapping.options):
        why = "has no headings to know it by" if mapping is None else "is read without any option"
        tell(f"mapping {name!r} not saved: {path.name} {why}")
    else:
        note(f"mapping {name!r} saved as {mappings.write_mapping(mapping)}")


def _by_field(settings: list[str] | None, option_name: str) -> dict[str, str] | None:
    """Return `field=HEADING` options as a mapping."""
    headings = {}
    for text in settings or ():
        field, equals, heading = text.partition("=")
        if not equals:
            raise InputError(f"{option_name} takes field=HEADING, such as code=Konto, got {text!r}")
        headings[field.strip()] = heading
    return headings or None


def reads(
    kind: str,
    path: str,
    text: str,
    *,
    prefix: str = "",
    beside: str | tuple[str, ...] = (),
    is_required: bool = False,
) -> Group:
    """Return the options of a file of one of KINDS.

    These are the one that names it, such as "--chart FILE", and those of its reader. In a command that reads
    two files, a prefix stands before their names; `beside` names the kinds of the others.
    """
    section, arguments = KINDS[kind]
    others = (beside,) if isinstance(beside, str) else beside
    own_names = {name for name in _UNPREFIXED if not any(name in KINDS[other][1] for other in others)}
    default = REQUIRED if is_required else None
    declared = option(path, text, default, section=section) if "--" in path else argument(path, text, default)
    names, declarations = {"path": path.split(maxsplit=1)[0]}, {f"{kind}_path": (Path | None, declared)}
    flags = {}
    for name in (*arguments, "save_mapping"):
        begin, shown = "--save-" if name == "save_mapping" else "--", OPTIONS[name][2]
        flags[name] = shown if name in own_names else shown.replace(begin, begin + prefix)
        # A flag with an opposite is named by the first of the two.
        names[name] = flags[name].split()[0].partition("/")[0]
    hidden = [name for name in flags if prefix and name in _IN_ONE_LINE and name not in own_names]
    rest = ", ".join(names[name].removeprefix(f"--{prefix}") for name in hidden)
    seldom = f" More options begin with --{prefix}: {rest} (bktools guide files)." if hidden else ""
    for name, shown in flags.items():
        value_type, default, _, text = OPTIONS[name]
        text += seldom * (name == "columns")
        declarations[f"{kind}_{name}"] = (
            value_type,
            option(shown, text, default, section=section, hidden=name in hidden),
        )

    def build(**values: Any) -> FileOptions:
        own = {name.removeprefix(f"{kind}_"): value for name, value in values.items()}
        own["columns"] = _by_field(own["columns"], names["columns"])
        return FileOptions(
            kind, own.pop("path"), save_mapping=own.pop("save_mapping"), arguments=own, names=names
        )

    return Group(build, declarations)


_TABLE = "CSV, TSV, Excel or Parquet; - is standard input."
LEDGER_HELP = f"The general ledger: SIE, DATEV, FEC, SAF-T, JPK_KR, GnuCash, {_TABLE}"

ASKED_LEDGER = "The general ledger: what it holds already, or may hold, is not sent."

Chart = Annotated[FileOptions, reads("chart", "--chart FILE", f"The ERP's chart: {_TABLE}")]
EntriesBesideChart = Annotated[
    FileOptions, reads("entries", "--entries FILE", f"The entries: {_TABLE}", prefix="entry-", beside="chart")
]
Entries = Annotated[
    FileOptions, reads("entries", "FILE", f"{_TABLE} With --sandbox, by default the sample file.")
]


def tables_of(service: bktools.Service, company: str | list[str], **age: Any) -> dict[str, pd.DataFrame]:
    """Return the tables that entries of companies are checked against: categories, employees, accounts."""
    return {
        "categories": bktools.load_categories(company, service=service, **age),
        "employees": bktools.load_employees(company, service=service, **age),
        "accounts": bktools.load_accounts(company if isinstance(company, str) else None, service=service),
    }


def read_entries(
    file: FileOptions, company: str | None, tables: Mapping[str, pd.DataFrame], **others: Any
) -> pd.DataFrame:
    """Read entries; names in them are looked up in the tables of `tables_of`."""
    from bktools.inputs.entries import read_entries as reader

    names = {name: tables.get(name) for name in ("categories", "employees")}
    return file.read(reader, company=company, money="decimal", **names, **others)


def refuse_in_question(file: FileOptions, entries: pd.DataFrame) -> None:
    """Refuse a file if a check lacks a column and another looks like it, until it is named or left out."""
    about = entries.attrs["bktools"]
    if about["in_question"]:
        ways = "; ".join(
            f"{column} {field}={in_shell(heading)} (or leave it out with {column} {field}=)"
            for column in (file.names["columns"],)
            for field, heading in about["in_question"].items()
        )
        alike = ", ".join(
            f"{heading!r} looks like {field}" for field, heading in about["in_question"].items()
        )
        raise InputError(
            f"nothing was written, because a check would be skipped: {alike}: {ways}", source=about["source"]
        )


@contextmanager
def readable(path: Path) -> Iterator[Path]:
    """Yield a file to read: standard input, where it is named -, as a private temporary file."""
    if str(path) != STREAM:
        yield path
        return
    if sys.stdin.isatty():
        raise InputError(
            "standard input is a terminal: write to it with a pipe, such as cat FILE | bktools …"
        )
    with disk.temporary_folder() as folder:
        # A suffix of text: the readers recognise other kinds by the bytes.
        copy = Path(folder) / "standard-input.txt"
        with disk.exclusive(copy) as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        if not copy.stat().st_size:
            raise InputError("is empty", source="standard input")
        yield copy


def recognised(about: Mapping[str, Any]) -> str:
    """Return the description of a file that was read, from `frame.attrs["bktools"]`."""
    # A heading equal to the field's name is left out.
    columns = [f"{heading} → {field}" for field, heading in about["columns"].items() if heading != field]
    form = [f"{name} {about[name]!r}" for name in ("delimiter", "encoding") if about.get(name)]
    notes = "".join(f"\n                 note: {note}" for note in about["notes"])
    return f"{about['rows']} rows of {Path(about['source']).name} ({', '.join([*form, *columns])}){notes}"
