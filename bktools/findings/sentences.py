"""Sentences beside findings: each distinct finding is worded once."""

from __future__ import annotations

import json
from collections.abc import Mapping

import polars as pl

from bktools.wording import Words


def with_sentences(findings: pl.DataFrame, words: Words, section: str, **forms: str) -> pl.DataFrame:
    """Return findings with sentences from their code and facts.

    Parameters
    ----------
    findings : DataFrame
        With the columns check (code) and facts (JSON).
    words : Words
        The language.
    section : str
        The section of the codes, such as "entry".
    **forms : str
        The form of a sentence by the column that it is put in, such as `message="one"`.
    """
    distinct = findings.select("check", "facts").unique(maintain_order=True)
    known = [(code, json.loads(facts)) for code, facts in distinct.iter_rows()]
    texts = {
        column: pl.Series([words(f"{section}.{code}.{form}", **facts) for code, facts in known], dtype=pl.String)
        for column, form in forms.items()
    }
    return findings.join(distinct.with_columns(**texts), on=["check", "facts"], how="left", maintain_order="left")


def facts_of(row: Mapping[str, str]) -> dict[str, object]:
    """Return the facts of a row of findings."""
    return dict(json.loads(row["facts"]))
