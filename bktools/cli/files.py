"""`bktools chart`, `entries` and `ledger`: how a file is read.

The options that read files stand on these three commands alone; a saved mapping takes them to all others.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import bktools
from bktools.caller import in_shell
from bktools.cli import options, reading, results
from bktools.cli.options import REQUIRED, argument, option, with_shared_options
from bktools.cli.output import tell
from bktools.cli.results import show
from bktools.consoles import listed
from bktools.errors import ArgumentError
from bktools.inputs.options import OF_KIND, Declared
from bktools.progress import note
from bktools.wording import Sentence, words
from bktools.wording.numbers import capitalized

if TYPE_CHECKING:
    import pandas as pd

FORM = ("format", "sheet", "heading_line", "delimiter", "encoding")
# Rows that are shown from each end of a table.
SHOWN_ROWS = 3
_BEHIND = ("mapping", "save_mapping", "text", "output", "profile")
FILE = argument("FILE", "CSV, TSV, Excel or Parquet.", REQUIRED)


def show_file(
    reader: Callable[..., Any],
    kind: str,
    file: Path,
    *,
    text: results.Text,
    mapping: str | None = option(
        "--mapping NAME",
        "Begin with a saved mapping, or its .toml file. By default the one with the file's headings.",
    ),
    save_mapping: str | None = option(
        "--save-mapping NAME", "Keep these options for files with the same headings; a name, or a .toml file."
    ),
    output: Path | None = results.OUTPUT,
    profile: str = options.PROFILE,
    **given: Any,
) -> None:
    """Read a file, and show how it was read; write it as a table, and save the options, where asked for.

    `given` are the options of the reader.
    """
    from bktools.inputs.notes import note_sentences

    options = {name: value for name, value in given.items() if value is not None}
    options |= {name: _pairs(name, options[name]) for name in ("columns", "sides") if name in options}
    if "skip_rows" in options:
        options["skip_rows"] = ";".join(options["skip_rows"])
    frame = reading.read(reader, kind, file, [mapping] if mapping else None, options=options)
    about = frame.attrs["bktools"]
    facts = {name: about.get(name) for name in ("source", "rows", *FORM, "columns")}
    facts |= {"days": _days(frame), "sums": _sums(frame), "notes": note_sentences(about)}
    if text.is_for_people:
        _say_reading(facts)
        _say_rows(frame)
    text.report(**facts)
    if output is not None:
        results.Table(results.TableFormat.TABLE, output, profile).hand_over(frame)
    if save_mapping is not None:
        _save(save_mapping, kind, frame)


def _reads(kind: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the options that read a kind of file to a command, and those for what is shown and kept."""
    shown = inspect.signature(show_file, eval_str=True).parameters
    more = [*starmap(_option, OF_KIND[kind].items()), *(shown[name] for name in _BEHIND)]
    return partial(with_shared_options, more=more)


def _option(name: str, declared: Declared) -> inspect.Parameter:
    """Return the parameter of an option that reads a file."""
    kind = str if declared.value else bool
    text = f"{declared.text} May be repeated." if declared.repeats else declared.text
    annotation: Any = (list[str] if declared.repeats else kind) | None
    default = option(f"{declared.flag} {declared.value}", text)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


@_reads("chart")
def chart(
    books: options.Environment,  # noqa: ARG001 - it selects the company's currency
    file: Path = FILE,
    account_list: bool = option(
        "--account-list", "The file is the account export of your spend tool.", False
    ),
    **given: Any,
) -> None:
    """Show how a chart of accounts is read.

    --save-mapping keeps the options: other commands find them by the file's headings.

    Example: bktools chart chart_of_accounts.csv --output chart.xlsx
    """
    from bktools.inputs.readers.accounts import read_accounts

    if account_list:
        show_file(read_accounts, "accounts", file, **given)
    else:
        show_file(bktools.read_chart_of_accounts, "chart", file, **given)


@_reads("entries")
def entries(
    books: options.Environment,  # noqa: ARG001 - it selects the company's currency
    file: Path = FILE,
    **given: Any,
) -> None:
    """Show how a file of entries is read.

    --save-mapping keeps the options: other commands find them by the file's headings.

    Example: bktools entries card.csv --column "amount=Amount (EUR)" --save-mapping card
    """
    show_file(partial(bktools.read_entries, money="decimal"), "entries", file, **given)


@_reads("ledger")
def ledger(
    books: options.Environment,  # noqa: ARG001 - it selects the company's currency
    file: Path = FILE,
    **given: Any,
) -> None:
    """Show how a general ledger is read.

    --save-mapping keeps the options: other commands find them by the file's headings.
    An ERP's own format, such as SIE, needs none (bktools guide files). A ledger is compared with its totals.

    Example: bktools ledger bookkeeping.se --output postings.csv
    """
    show_file(partial(bktools.read_general_ledger, money="decimal"), "ledger", file, **given)


def _pairs(argument: str, texts: list[str]) -> dict[str, str]:
    """Return the values of an option such as FIELD=HEADING as a mapping."""
    parts = [text.partition("=") for text in texts]
    for text, (_, equals, _) in zip(texts, parts, strict=True):
        if not equals:
            raise ArgumentError(argument, Sentence("rule.pair"), text)
    return {name.strip(): value for name, _, value in parts}


def _say_reading(facts: Mapping[str, Any]) -> None:
    # Formats with a grammar have no line of headings: it is 0 there.
    texts = words()
    form = [texts("command.how", what=name, value=facts[name]) for name in FORM if facts[name]]
    file = Path(facts["source"]).name
    typer.echo(f"{texts('command.read', count=facts['rows'], file=file, how=', '.join(form))}\n")
    typer.echo("\n".join(listed([(field, "←", heading) for field, heading in facts["columns"].items()])))
    if facts["days"]:
        typer.echo(f"\n{texts('command.days', **facts['days'])}")
    for row in facts["sums"]:
        money = texts.money({row["currency"] or "": row["amount"]})
        is_balanced = "account_code" in facts["columns"] and not row["amount"]
        key = "command.balanced" if is_balanced else "command.sum"
        typer.echo(texts(key, currency=row["currency"], money=money, count=row["rows"]))
    for text in facts["notes"]:
        typer.echo(capitalized(texts("command.note", text=text)))


def _say_rows(frame: pd.DataFrame) -> None:
    import pandas as pd

    is_long = len(frame) > 2 * SHOWN_ROWS
    title = words()("command.first_and_last" if is_long else "command.rows")
    typer.echo(f"\n{title}:")
    part = pd.concat([frame.head(SHOWN_ROWS), frame.tail(SHOWN_ROWS)]) if is_long else frame
    show(part.dropna(axis="columns", how="all"), whole=f"--output {words()('placeholder.file')}")


def _days(frame: pd.DataFrame) -> dict[str, str] | None:
    """Return the first and the last day of a table; None without days."""
    days = frame["date"].dropna() if "date" in frame else ()
    return {"first": f"{min(days):%Y-%m-%d}", "last": f"{max(days):%Y-%m-%d}"} if len(days) else None


def _sums(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the number of rows and the sum of each currency."""
    if "amount" not in frame:
        return []
    import pandas as pd

    groups = frame.assign(currency=frame.get("currency", None)).groupby("currency", dropna=False, sort=True)[
        "amount"
    ]
    return [
        {"currency": None if pd.isna(currency) else currency, "rows": len(amounts), "amount": amounts.sum()}
        for currency, amounts in groups
    ]


def _save(name: str, kind: str, frame: pd.DataFrame) -> None:
    """Save the options that a file was read with as a mapping."""
    from bktools.inputs.mappings import folder, made_from, path_of, replaced_by, write_mapping

    texts, path = words(), path_of(name)
    mapping = made_from(frame, path.stem, kind)
    if mapping is None:
        source = Path(frame.attrs["bktools"]["source"]).name
        tell(texts("command.mapping_not_saved", name=name, file=source))
        return
    in_folder = path.parent == folder()
    others = [other.name for other in replaced_by(mapping)] if in_folder else []
    file = write_mapping(mapping, None if in_folder else path)
    saved = texts("command.mapping_saved", name=name, file=file, others=others or None)
    note(saved if mapping.headings else texts("command.name_it", saved=saved, name=in_shell(name)))
