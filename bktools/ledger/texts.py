"""Whether the ledger has the entries' texts, and whether texts of an entry and a posting agree."""

from __future__ import annotations

import functools
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

# A word, or a number, that tells texts apart.
WORD = re.compile(r"[^\W_]{3,}")
# Texts tell when so many of the entries that are matched by amount have a text like that of their posting.
MOST = 0.5
SAMPLE = 1_000
FEW = 300
# Pairs of which others show whether texts tell.
SEVERAL = 4
# Among more entries than this, no posting names one; a word in more entries than this names none.
MOST_NAMED, SELDOM = 50_000, 50

# An entry's text as ledgers have it.
FORMS = (
    ("supplier", "description"),
    ("description",),
    ("supplier", "document"),
    ("description", "supplier"),
    ("supplier",),
)


@dataclass(frozen=True)
class Texts:
    """What texts say in this ledger."""

    # The entry's text in the ledger's form, in lower case.
    form: pl.Expr
    # Whether the ledger has that very text of most entries, and whether it is that of few others.
    has_form: bool
    is_exact: bool
    # The texts of all postings, in lower case.
    posting_texts: pl.Series
    # Whether texts of one matter are at least similar, so that others are of another matter.
    tell: bool
    # The words of an entry, and of a posting, by their rows.
    entry_words: Callable[[int], frozenset[str]]
    posting_words: Callable[[int], frozenset[str]]
    # Postings that name an entry by its ID: rows of both.
    named: Mapping[int, int]
    # The one entry whose whole text a posting has, by the row of the posting.
    by_text: Callable[[int], int | None]

    def entry_named(self, posting: int) -> int | None:
        """Return the only entry that a posting names, by its ID or whole text; None for none or several."""
        return self.named.get(posting, self.by_text(posting))

    def agree(self, entry: int, posting: int) -> bool | None:
        """Whether the text of a posting is the entry's; None where texts do not say."""
        if posting in self.named:
            return self.named[posting] == entry
        ours, theirs = self.entry_words(entry), self.posting_words(posting)
        # Where texts tell nothing apart, one with a number does all the same.
        names_it = self.tell or any(map(_is_number, ours))
        if names_it and ours and (ours == theirs or (len(ours) > 1 and ours <= theirs)):
            return True
        if self.tell and not self.is_exact and len(theirs) > 1 and theirs <= ours:
            return True
        same = _are_similar(ours, theirs)
        if not self.tell or same is None:
            return None
        # Where the ledger has the very texts, one that is merely similar says nothing.
        return (None if self.is_exact else True) if same else False

    def share_a_word(self, entry: int, posting: int) -> bool:
        """Whether the texts of an entry and a posting have a word or a number in common."""
        return bool(self.entry_words(entry) & self.posting_words(posting))


# What texts say before any is read.
UNREAD = Texts(
    form=pl.lit(None, pl.String),
    has_form=False,
    is_exact=False,
    posting_texts=pl.Series(dtype=pl.String),
    tell=False,
    entry_words=lambda _: frozenset(),
    posting_words=lambda _: frozenset(),
    named={},
    by_text=lambda _: None,
)


def posting_text() -> pl.Expr:
    """Return the text of a posting as texts are compared."""
    return pl.col("text").str.to_lowercase()


def texts_of(entries: pl.DataFrame, postings: pl.DataFrame, pairs: pl.DataFrame) -> Texts:
    """Return what texts say, by a sample of the entries and by pairs (e, p) that amounts have matched."""
    longest = int(postings["text"].str.len_chars().fill_null(0).max() or 0)  # type: ignore[arg-type]
    forms = [_form(entries, names, longest) for names in FORMS]
    sample = entries.gather_every(max(1, entries.height // SAMPLE)).select(
        form.alias(str(place)) for place, form in enumerate(forms)
    )
    wanted = sample.unpivot(value_name="said").select("said").unique()
    posting_texts = postings.select(said=posting_text())
    said = {*posting_texts.join(wanted, on="said", how="semi")["said"]} if longest else set()
    shares = [sum(text in said for text in sample[str(place)] if text) for place in range(len(forms))]
    # The first form that most entries have, else the best one.
    best = next((place for place, share in enumerate(shares) if share >= MOST * sample.height), None)
    # Texts that several entries share, such as the supplier, name none of them.
    is_exact = best is not None and sample.height > 0 and sample[str(best)].n_unique() >= MOST * sample.height
    form = forms[best if best is not None else shares.index(max(shares))]
    # Both frames begin with the row 0 and have every row.
    spoken = form if is_exact else _form(entries, FORMS[0], None)
    entry_texts = functools.cache(lambda: entries.select(spoken).to_series())
    entry_words = functools.cache(lambda row: words(entry_texts()[row]))
    posting_words = functools.cache(lambda row: words(posting_texts["said"][row]))
    first = pairs.head(FEW)
    ours = [words(text) for text in entries[first["e"]].select(spoken).to_series()]
    theirs = [posting_words(row) for row in first["p"]]
    own = _alike(ours, theirs)
    # Where the posting of another entry agrees as well, as "Import" does, texts tell nothing apart.
    # Neighbours may be of one document.
    half = first.height // 2
    others = _alike(ours, [*theirs[half:], *theirs[:half]])
    tell = (own >= MOST or (is_exact and own == 0)) and (first.height < SEVERAL or others < own / 2)
    ids = (
        postings.filter(pl.col("id").is_not_null()).select("p", "id").join(entries.select("e", "id"), on="id")
    )
    index = functools.cache(
        lambda: _by_rarest_word([entry_words(row) for row in range(entries.height)], tell=tell)
    )
    by_text = functools.cache(
        lambda row: _sole(index(), posting_words(row)) if 0 < entries.height <= MOST_NAMED else None
    )
    return Texts(
        form,
        best is not None,
        is_exact,
        posting_texts["said"],
        tell,
        entry_words,
        posting_words,
        dict(ids.select("p", "e").iter_rows()),
        by_text,
    )


def _by_rarest_word(
    texts: Sequence[frozenset[str]], *, tell: bool
) -> Mapping[str, list[tuple[int, frozenset[str]]]]:
    """Return entries with their words, by the word of each that the fewest entries have.

    A text of one word names no entry, nor does one without a number where texts tell nothing apart.
    """
    counts = Counter(word for words_ in texts for word in words_)
    index = defaultdict(list)
    for entry, words_ in enumerate(texts):
        if len(words_) > 1 and (tell or any(map(_is_number, words_))):
            rarest = min(words_, key=lambda word: (counts[word], word))
            if counts[rarest] <= SELDOM:
                index[rarest].append((entry, words_))
    return index


def _sole(index: Mapping[str, list[tuple[int, frozenset[str]]]], theirs: frozenset[str]) -> int | None:
    """Return the one entry all of whose words a text has."""
    found = [entry for word in theirs for entry, ours in index.get(word, ()) if ours <= theirs]
    return found[0] if len(found) == 1 else None


def _alike(ours: Sequence[frozenset[str]], theirs: Sequence[frozenset[str]]) -> float:
    """Return the share of pairs whose texts are similar."""
    return sum(map(bool, map(_are_similar, ours, theirs))) / max(len(ours), 1)


def _form(entries: pl.DataFrame, names: tuple[str, ...], longest: int | None) -> pl.Expr:
    names = tuple(name for name in names if entries[name].null_count() < entries.height) or names[:1]
    joined = pl.concat_str(names, separator=" ", ignore_nulls=True).str.to_lowercase()
    return joined if longest is None else joined.str.slice(0, longest)


def words(text: str | None) -> frozenset[str]:
    """Return the words and numbers of a text."""
    return frozenset(WORD.findall(text.lower())) if text else frozenset()


def _is_number(word: str) -> bool:
    return any(map(str.isdigit, word))


def _are_similar(ours: frozenset[str], theirs: frozenset[str]) -> bool | None:
    """Whether half of the words are equal, and a number where both have one; None for an empty side."""
    if not (ours and theirs):
        return None
    if ours.isdisjoint(theirs):
        return False
    numbers = [set(filter(_is_number, side)) for side in (ours, theirs)]
    if all(numbers) and not numbers[0] & numbers[1]:
        return False
    return 2 * len(ours & theirs) >= min(len(ours), len(theirs))
