"""What a plan knows, as a person reads it: findings and reasons with their sentences."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from bktools.findings.sentences import fact_and_step, facts_of_all, with_sentences
from bktools.frames.names import in_reading_order
from bktools.frames.schema import TEXT
from bktools.frames.sums import numbers_of_entries
from bktools.frames.tables import days_of, to_arrow
from bktools.wording import Words

c = pl.col

FIRST = ("check", "severity", "about", "message", "to_do", "who")
# What names an entry for a person, beside its day.
_NAMING = ("supplier", "description", "amount", "currency", "line")


def findings_in(words: Words, findings: pa.Table) -> pa.Table:
    """Return findings in the words of a language, with their facts as the last column."""
    rows = with_sentences(pl.DataFrame(findings), words, "entry", message="one", to_do="do")
    roles = {role: words.name("role", role) for role in rows["who"].unique()}
    about = pl.Series(_about(words, findings), dtype=pl.String)
    rows = rows.with_columns(c.who.replace(roles), about=about)
    return to_arrow(rows.select(*FIRST, pl.all().exclude(*FIRST, "facts"), "facts"))


def not_ready_in(words: Words, held: pa.Table) -> pa.Table:
    """Return entries that are not ready, with reason and next step as a message; their facts come last."""
    codes = pl.DataFrame(held.select(["reason", "facts"]))
    texts = with_sentences(codes, words, "entry", code="reason", fact="one", step="do")
    messages = texts.select(fact_and_step(words, "fact", "step")).to_series()
    table = held.append_column("message", pc.cast(messages.to_arrow(), TEXT))
    return table.select([*in_reading_order(name for name in table.column_names if name != "facts"), "facts"])


def sentences_by_check(words: Words, findings: pa.Table) -> dict[tuple[str, str], dict[str, str]]:
    """Return message, to_do and who of findings, by severity and check: of one entry, or of all of them."""
    codes = pl.DataFrame(findings.select(["severity", "check", "who", "facts"]))
    codes = codes.with_columns(entry=numbers_of_entries(findings))
    groups = codes.group_by("severity", "check", maintain_order=True).agg(
        pl.col("who").first(), pl.col("facts").unique(maintain_order=True), count=pl.col("entry").n_unique()
    )
    return {
        (row["severity"], row["check"]): _sentences_of(words, row) for row in groups.iter_rows(named=True)
    }


def _sentences_of(words: Words, row: Mapping[str, Any]) -> dict[str, str]:
    key, count = f"entry.{row['check']}", row["count"]
    facts = facts_of_all(words, map(json.loads, row["facts"]))
    fact, step = ("one", "do") if count == 1 else ("many", "do_many")
    texts = {
        "message": words(f"{key}.{fact}", **facts),
        "to_do": words(f"{key}.{step}", **facts, count=count),
    }
    return texts | {"who": words.name("role", row["who"])}


def _about(words: Words, findings: pa.Table) -> list[str]:
    """Return each entry by its day, text and amount, or by its line."""
    named = [name for name in _NAMING if name in findings.column_names]
    rows = findings.select(named).append_column("day", days_of(findings)).to_pylist()
    made = []
    for row in (dict.fromkeys(_NAMING) | row for row in rows):
        text = (row["supplier"] or "").strip() or row["description"]
        entry = words.entry(row["day"], text, row["amount"], row["currency"])
        made.append(entry or f"{words.noun('line', 1)} {row['line']}")
    return made
