"""Files that commands read: each as its mapping says, which is found by its headings or named."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bktools
from bktools.cli.options import argument, option
from bktools.errors import ArgumentError, InputError
from bktools.progress import note
from bktools.wording import Sentence, words

if TYPE_CHECKING:
    import pandas as pd

# What makes two postings of a ledger the same, where its files have these columns.
POSTING = ("voucher_id", "document_number", "date", "account_code", "amount", "text")
_TABLE = "CSV, TSV, Excel or Parquet"
_LEDGER = f"The general ledger: an ERP's own format (bktools guide files), {_TABLE}"

CHART = option("--chart FILE", f"The ERP's chart of accounts: {_TABLE}.")
ENTRIES = option("--entries FILE", f"The entries: {_TABLE}. May be repeated.")
ENTRIES_FILES = argument("FILE", f"The entries: {_TABLE}. With --sandbox, by default a sample.")
LEDGER = option(
    "--ledger FILE", f"{_LEDGER}. May be repeated: a year in two files. With --sandbox, a sample."
)
ASKED_LEDGER = option(
    "--ledger FILE", "The general ledger: entries that it holds are not sent. May be repeated."
)
MAPPING = option(
    "--mapping NAME",
    "How a file is read: a saved mapping, or its .toml file. By default the mapping with the file's "
    "headings. May be repeated.",
)


def read(
    reader: Callable[..., pd.DataFrame],
    kind: str,
    file: Path,
    mappings: Sequence[str] | None = None,
    *,
    options: Mapping[str, Any] | None = None,
    must_fit: bool = False,
    **others: Any,
) -> pd.DataFrame:
    """Read a file with a function of bktools, as its mapping and the options say; the options go first.

    Where a mapping `must_fit`, one that is named is for another file unless this one has its headings.
    """
    from bktools.inputs.mappings import arguments, mapping_for, path_of, read_mapping

    named = list(mappings or ())
    if options is None:
        # Other commands may read files of several kinds, each with a mapping.
        named = [name for name in named if read_mapping(path_of(name)).kind == kind]
    if mappings and not named:
        note(words()("command.mapping_of_another_kind", names=list(mappings), file=file.name))
    mapping = mapping_for(file, kind, named, must_fit=must_fit)
    if mapping is None:
        return reader(file, **(options or {}), **others)
    note(words()("command.mapping_used", name=mapping.name, file=file.name))
    return reader(file, **arguments(mapping, options or {}), **others)


def tables_of(service: bktools.Service, company: str | list[str], **age: Any) -> dict[str, pd.DataFrame]:
    """Return the tables that entries of companies are checked against: categories, employees, accounts."""
    return {
        "categories": bktools.load_categories(company, service=service, **age),
        "employees": bktools.load_employees(company, service=service, **age),
        "accounts": bktools.load_accounts(company if isinstance(company, str) else None, service=service),
    }


def read_entries(
    files: Sequence[Path],
    mappings: Sequence[str] | None,
    company: str | None,
    tables: Mapping[str, pd.DataFrame],
    **others: Any,
) -> pd.DataFrame:
    """Read the entries of one or several files; names in them are looked up in the tables of `tables_of`."""
    names: dict[str, Any] = {name: tables.get(name) for name in ("categories", "employees")}
    frames = [
        read(
            bktools.read_entries,
            "entries",
            file,
            mappings,
            company=company,
            money="decimal",
            **names,
            **others,
        )
        for file in files
    ]
    return _joined(_once(frames, files))


def _once(frames: Sequence[pd.DataFrame], files: Sequence[Path]) -> list[pd.DataFrame]:
    """Read an entry that is in several files from the last one of them; a note counts other data."""
    import pandas as pd

    names = [name for name in frames[0] if name != "line" and all(name in frame for frame in frames)]
    rows = pd.concat([frame[names].assign(file=at) for at, frame in enumerate(frames)])
    is_before = rows["file"] < rows.groupby("id")["file"].transform("max")
    is_equal = is_before & rows.duplicated(names, keep="last")
    if is_equal.any():
        note(words()("command.entries_again", count=int(is_equal.sum())))
    if len(changed := rows[is_before & ~is_equal]):
        earlier = [files[at].name for at in changed["file"].unique()]
        row, texts = changed.iloc[0].dropna(), words()
        named = texts.entry(*(row.get(name) for name in ("date", "supplier", "amount", "currency")))
        facts = {"count": changed["id"].nunique(), "first": named or row["id"], "files": earlier}
        note(texts("command.entries_replaced", **facts))
    is_kept = ~is_before.to_numpy()
    return [frame[is_kept[rows["file"].to_numpy() == at]] for at, frame in enumerate(frames)]


def _joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the rows of several files as one frame."""
    import pandas as pd

    first, *more = frames
    if not more:
        return first
    about = [frame.attrs["bktools"] for frame in frames]
    names = [Path(facts["source"]).name for facts in about]
    files = [*zip(names, frames, about, strict=True)]
    rows = pd.concat([frame.assign(file=name) for name, frame, _ in files], ignore_index=True)
    rows.attrs["bktools"] = {
        **about[0],
        "source": ", ".join(names),
        "sha256": ", ".join(facts["sha256"] for facts in about),
        "files": [{name: facts[name] for name in ("source", "sha256")} for facts in about],
        "exported_at": max(filter(None, (facts.get("exported_at") for facts in about)), default=None),
        "rows": len(rows),
        "notes": [f"{name}: {text}" for name, _, facts in files for text in facts["notes"]],
        "note_facts": [fact | {"file": name} for name, _, facts in files for fact in facts["note_facts"]],
    }
    return rows


def read_ledger(
    files: Sequence[Path] | None,
    mappings: Sequence[str] | None,
    exported_at: dt.datetime | None = None,
    **others: Any,
) -> Any:
    """Read a general ledger of one or several files; `exported_at` is the day of its export."""
    if not files:
        return None
    frames = [read(bktools.read_general_ledger, "ledger", file, mappings, **others) for file in files]
    source = ", ".join(file.name for file in files)
    for name in ("style", "reverse_sign"):
        # The match takes them once, for the whole ledger.
        if len({frame.attrs["bktools"].get(name) for frame in frames}) > 1:
            raise InputError(Sentence("error.ledgers_differ", option=name.replace("_", "-")), source=source)
    _refuse_repeated(frames, source)
    ledger = _joined(frames)
    if exported_at is not None:
        ledger.attrs["bktools"]["exported_at"] = f"{exported_at:%Y-%m-%d}"
    return ledger


def _refuse_repeated(frames: Sequence[pd.DataFrame], source: str) -> None:
    """Refuse a posting that is in two files of a ledger: it would count as booked twice."""
    import pandas as pd

    if len(frames) == 1:
        return
    names = [name for name in POSTING if all(name in frame for frame in frames)]
    postings = pd.concat([frame[names].drop_duplicates() for frame in frames])
    repeated = postings[postings.duplicated()]
    if len(repeated):
        days = repeated["date"].dt.strftime("%Y-%m-%d")
        first = " ".join(str(value) for value in repeated.assign(date=days).iloc[0] if not pd.isna(value))
        raise InputError(Sentence("error.common_postings", count=len(repeated), first=first), source=source)


def samples(service: bktools.Service, missing: str) -> tuple[Path, Path]:
    """Return the sandbox's sample of a chart and of entries; elsewhere refuse the missing option."""
    from bktools.sandbox.sample import write_sample_data

    return write_sample_data(_sample_folder(service, missing))


def sample_ledger(service: bktools.Service) -> Path:
    """Return a sample of a ledger with what the sandbox has exported; elsewhere refuse the missing option."""
    from bktools.sandbox.sample import write_sample_ledger

    folder = _sample_folder(service, "--ledger")
    exported = bktools.load_export_jobs(entries=True, service=service)
    if exported.empty:
        raise ArgumentError("--ledger", Sentence("rule.nothing_exported"))
    return write_sample_ledger(exported[exported["state"] == "ACCEPTED"], folder)


def _sample_folder(service: bktools.Service, missing: str) -> Path:
    if not service.settings.is_sandbox:
        raise ArgumentError(missing, Sentence("rule.no_sample"))
    return service.settings.state_dir / "sample-data"


def recognised(about: Mapping[str, Any]) -> str:
    """Return how a file was read, from `frame.attrs["bktools"]`, with its notes."""
    from bktools.inputs.notes import note_sentences

    fields: dict[str, list[str]] = {}
    for field, heading in about["columns"].items():
        fields.setdefault(heading, []).append(field)
    # A heading equal to the field's name is left out.
    texts = words()
    both = texts("command.and")
    columns = [f"{heading} → {both.join(names)}" for heading, names in fields.items() if names != [heading]]
    form = [
        texts("command.how", what=name, value=repr(about[name]))
        for name in ("delimiter", "encoding")
        if about.get(name)
    ]
    lines = [
        texts(
            "command.read",
            count=about["rows"],
            file=Path(about["source"]).name,
            how=", ".join([*form, *columns]),
        ),
        *(texts("command.note", text=text) for text in note_sentences(about)),
    ]
    return "\n  ".join(lines)
