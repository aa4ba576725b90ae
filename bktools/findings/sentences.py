"""Sentences beside findings: each distinct finding is worded once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import polars as pl

from bktools.wording import Words


def with_sentences(
    findings: pl.DataFrame, words: Words, section: str, *, code: str = "check", **forms: str
) -> pl.DataFrame:
    """Return findings with sentences from their code and facts.

    Parameters
    ----------
    findings : DataFrame
        With a column of codes, and facts (JSON).
    words : Words
        The language.
    section : str
        The section of the codes, such as "entry".
    code : str
        The column of the codes.
    **forms : str
        The form of a sentence by the column that it is put in, such as `fact="one"`.
    """
    distinct = findings.select(code, "facts").unique()
    texts = _worded(distinct, words, section, forms)
    return findings.join(
        distinct.with_columns(**texts), on=[code, "facts"], how="left", maintain_order="left"
    )


def _worded(
    distinct: pl.DataFrame, words: Words, section: str, forms: Mapping[str, str]
) -> dict[str, pl.Series]:
    decode = msgspec.json.Decoder().decode
    names, facts = distinct.to_dict(as_series=False).values()
    read = [decode(each) for each in facts]
    texts = {}
    for column, form in forms.items():
        keys = {name: f"{section}.{name}.{form}" for name in {*names}}
        # A sentence without facts is the same for all.
        same = {name: words(key) for name, key in keys.items() if not words.facts_of(key)}
        sentences = [
            same.get(name) or words(keys[name], **each) for name, each in zip(names, read, strict=True)
        ]
        texts[column] = pl.Series(sentences, dtype=pl.String)
    return texts


def fact_and_step(words: Words, fact: str, step: str) -> pl.Expr:
    """Return the sentences of two columns, a fact and a step, put together as one message."""
    return pl.format(words("sentence.fact_and_step", fact="{}", step="{}"), fact, step)


def facts_of_all(words: Words, facts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the facts of several findings of one check for a sentence about all of them.

    Equal texts stay as they are; texts that differ become a list of the first of them; other facts are
    unknown.
    """
    rows = list(facts)
    merged = {}
    for name in rows[0]:
        values = list({json.dumps(row[name]): row[name] for row in rows}.values())
        texts = [value for value in values if isinstance(value, str)]
        merged[name] = values[0] if len(values) == 1 else words.listed(texts) if texts else None
    return merged
