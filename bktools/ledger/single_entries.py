"""Entries with a posting of their own: by their ID, their document, their day and amount, or their text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from bktools.ledger.explained import EARLIER, LATER, Explained, measures
from bktools.ledger.habits import COST
from bktools.ledger.pairs import comparable, paired
from bktools.ledger.sides import Sides
from bktools.ledger.steps import How, Measure
from bktools.ledger.text_columns import Flags
from bktools.ledger.texts import MOST_NAMED, Texts, posting_text, texts_of

# Entries of an account and tax code have tax when so many pairs show it, and hardly one is without it.
MANY, UNTAXED = 20, 0.02


def named_entries(state: Explained, sides: Sides) -> Explained:
    """Match entries with postings that name them by ID, whatever else differs, or by document number."""
    named = state.postings.filter(pl.col("id").is_not_null(), pl.col("role") == COST)
    for key in (["id", "key", "total"], ["id", "key"], ["id"]) if named.height else ():
        left = named.join(state.postings.select("p"), on="p", how="semi").with_columns(total="gross")
        entries = state.entries.with_columns(total="gross")
        if len(key) < 3:
            # A split entry's lines, and a reversal's, count once, by the first one.
            left = left.unique("id", keep="first", maintain_order=True)
            entries = entries.unique("id", keep="first", maintain_order=True)
        found = _found(entries, left, key)
        state = state.take(How.ENTRY_ID, *_alone(found))
    if sides.entries["document"].null_count() == sides.entries.height:
        return state
    if sides.postings["document"].null_count() == sides.postings.height:
        return state
    return matched_entries(state, How.DOCUMENT_NUMBER, ["document", "key", "total"], surplus=True)


def single_entries(state: Explained, sides: Sides) -> Explained:
    """Match entries one by one, on their day, then by their text, then on other days."""
    strict = ["day", "key", "total"]
    before = state
    state = matched_entries(state, How.EXACTLY, strict)
    pairs = _pairs_of(state, since=len(before.groups))
    # Where the ledger has no single entries, sums show whether they have texts.
    texts = texts_of(sides.entries, sides.postings, pairs if pairs.height else _pairs_of(state, since=0))
    taxed, untaxed = _taxed(before, sides, pairs)
    before, state = (replace(one, texts=texts, taxed=taxed, untaxed=untaxed) for one in (before, state))
    if pairs.height:
        is_other = _are_of_others(texts, pairs) | state.lacks_tax(pairs["e"], pairs["p"])
        if texts.has_form:
            # Where texts tell entries apart, a posting of another text may be that of another entry.
            ours = sides.entries.select(texts.form).to_series()[pairs["e"]]
            is_other |= (ours != texts.posting_texts[pairs["p"]]).fill_null(value=True)
        if is_other.any():
            state = before.take(How.EXACTLY, *(side.filter(~is_other) for side in _alone(pairs)))
    state = _with_names(state, sides)
    if texts.has_form and state.entries.height:
        state = matched_entries(state, How.EXACTLY, [*strict, "said"])
        if texts.is_exact:
            state = matched_entries(state, How.TEXT, ["key", "total", "said"], is_near=True)
        state = matched_entries(state, How.EXACTLY, strict)
    return state


def _taxed(state: Explained, sides: Sides, pairs: pl.DataFrame) -> tuple[Flags, Flags]:
    """Return which entries have an account and tax code booked with tax, and which postings have no tax."""
    kind, nothing = ["account", "tax_code"], np.zeros(0, np.bool_)
    if not (state.books.has_tax and pairs.height):
        return nothing, nothing
    kinds, postings = sides.entries.select(kind), state.books.postings
    pairs = kinds[pairs["e"]].with_columns(is_plain=postings["is_plain"][pairs["p"]])
    counts = pairs.group_by(kind).agg(count=pl.len(), plain=pl.mean("is_plain"))
    taxed = counts.filter(pl.col("count") >= MANY, pl.col("plain") <= UNTAXED).select(*kind, is_taxed=True)
    if not taxed.height:
        return nothing, nothing
    every = kinds.join(taxed, on=kind, how="left", nulls_equal=True, maintain_order="left")
    untaxed = postings["is_plain"] & postings["voucher"].is_not_null()
    return every["is_taxed"].fill_null(value=False).to_numpy(), untaxed.to_numpy()


def _are_of_others(texts: Texts, pairs: pl.DataFrame) -> pl.Series:
    """Return whether the posting of each pair (e, p) names another entry by its text."""
    if pairs.height > MOST_NAMED:
        return pl.Series(np.zeros(pairs.height, np.bool_))
    return pl.Series(
        [texts.by_text(p) not in (None, e) for e, p in pairs.select("e", "p").iter_rows()], dtype=pl.Boolean
    )


def _with_names(state: Explained, sides: Sides) -> Explained:
    """Add to open postings the entry that each names by its text, unless there are too many to read."""
    used = state.used["p"]
    if not state.entries.height or max(len(used), sides.entries.height) > MOST_NAMED:
        return state
    names = pl.Series([state.texts.by_text(posting) for posting in used], dtype=pl.Int64)
    postings = state.postings.drop("names").join(
        pl.DataFrame({"p": used, "names": names}), on="p", how="left"
    )
    return replace(state, postings=postings)


def without_others(pairs: pl.DataFrame, postings: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs (e, p) whose posting names no other entry."""
    if postings["names"].null_count() == postings.height:
        return pairs
    both = pairs.join(postings.select("p", "names"), on="p", how="left", maintain_order="left")
    return both.filter(pl.col("names").is_null() | (pl.col("names") == pl.col("e"))).drop("names")


def _alone(pairs: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return pairs (e, p) as members and lines of groups."""
    return pairs.select("e", gid="e"), pairs.select("p", gid="e")


def _pairs_of(state: Explained, since: int) -> pl.DataFrame:
    """Return the pairs of the groups of one entry and one posting since some group."""
    parts = [
        group.first.select("e", "p")
        if group.is_alone
        else group.members.join(group.lines, on="gid").select("e", "p")
        for group in state.groups[since:]
    ]
    return pl.concat([pl.DataFrame(schema={"e": pl.Int64, "p": pl.Int64}), *parts])


def matched_entries(
    state: Explained, how: How, key: list[str], *, is_near: bool = False, surplus: bool = True
) -> Explained:
    """Match open entries with postings by a key, in each measure."""
    for measure in (*measures(state), Measure.OWN):
        entries = state.entries if measure is not Measure.OWN else state.foreign
        if not entries.height or (
            measure is Measure.OWN and state.postings["own"].null_count() == state.postings.height
        ):
            continue
        said = {"said": state.texts.form} if "said" in key else {}
        ours = entries.with_columns(total=pl.col(measure.ours), **said)
        theirs = state.used_for(entries).with_columns(
            key=measure.key, total=measure.theirs, **({"said": posting_text()} if said else {})
        )
        if said:
            # A short text of another day is that of anything.
            least = 5 if is_near else 1
            ours, theirs = (side.filter(pl.col("said").str.len_chars() >= least) for side in (ours, theirs))
        found = _found(ours, theirs, key, surplus=surplus)
        if is_near:
            found = found.filter(pl.col("delay").is_between(-EARLIER, LATER))
        found = without_others(found, theirs)
        found = found.filter(~state.lacks_tax(found["e"], found["p"]))
        state = state.take(how, *_alone(found), measure=measure)
    return state


def _found(ours: pl.DataFrame, theirs: pl.DataFrame, key: list[str], *, surplus: bool = True) -> pl.DataFrame:
    """Return the pairs (e, p) with equal keys, and their delay in days."""
    ours, theirs = comparable(ours.select({*key, "day", "e"}), theirs.select({*key, "day", "p"}), key)
    x, y = paired(ours, theirs, key, surplus=surplus)
    return pl.DataFrame({"e": ours["e"][x], "p": theirs["p"][y], "delay": theirs["day"][y] - ours["day"][x]})
