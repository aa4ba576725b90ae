"""Open entries and free postings with one text: another amount, another date, another account."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bktools.ledger.explained import KNOWN, LATER
from bktools.ledger.judgement import Judgement, entry_amounts, has_amount, known, may_be_net, place_amounts
from bktools.ledger.open_groups import Open
from bktools.ledger.statuses import Status
from bktools.ledger.steps import How

# Postings by words are looked for up to so many open entries, and this many for each.
MOST, BEST = 50_000, 20
# A word of more postings is looked for only where no other one is there, and one of many tells nothing.
SELDOM, OFTEN = 50, 500


class Candidate(NamedTuple):
    """A posting with the text of an entry; the best one is the least."""

    has_other_amount: bool
    has_other_account: bool
    delay: int
    posting: int


def judge_by_text(judgement: Judgement, rest: Open) -> None:
    """Judge open entries by the free posting with their text, unless another entry or posting fits too."""
    entries = {
        entry: row for entry, row in rest.entries.items() if judgement.is_open(entry) and row["is_home"]
    }
    if not entries or len(entries) > MOST or not judgement.state.texts.tell:
        return
    by_word = defaultdict(set)
    for posting in rest.free:
        for word in judgement.state.texts.posting_words(posting):
            by_word[word].add(posting)
    is_known = known(judgement) >= KNOWN
    best: dict[int, Candidate] = {}
    near: Counter[int] = Counter()
    sharing: Counter[tuple[int, frozenset[str]]] = Counter()
    words_of = judgement.state.texts.entry_words
    for entry, row in entries.items():
        candidates = [*_candidates(judgement, rest, entry, by_word)]
        near.update(
            one.posting
            for one in candidates
            if not one.has_other_account and one.delay <= judgement.style.lag
        )
        sharing.update((one.posting, words_of(entry)) for one in candidates if not one.has_other_account)
        candidates = [one for one in candidates if _is_possible(rest, one, row, is_known=is_known)]
        first = min(candidates, default=None)
        if first and sum(one[:3] == first[:3] for one in candidates) == 1:
            best[entry] = first
    # A posting that several entries claim, such as one with the supplier's name, may be their sum.
    claims = Counter(candidate.posting for candidate in best.values())
    for entry, candidate in best.items():
        if candidate.has_other_amount and sharing[candidate.posting, words_of(entry)] > 1:
            # A text of several open entries of the account, such as the supplier alone, names none of them.
            continue
        if claims[candidate.posting] == 1 and near[candidate.posting] <= 1:
            judgement.say(entry, _status(judgement, rest, entry, candidate), How.TEXT, candidate.posting)
            rest.use(candidate.posting)


def _candidates(
    judgement: Judgement, rest: Open, entry: int, by_word: Mapping[str, set[int]]
) -> Iterator[Candidate]:
    """Yield the free postings with the text of an entry, some weeks around it."""
    row, texts = rest.entries[entry], judgement.state.texts
    # The rarest words, because a word of many postings tells little.
    places = sorted((by_word[word] for word in texts.entry_words(entry) if word in by_word), key=len)
    rare = [one for one in places if len(one) <= SELDOM] or [one for one in places[:1] if len(one) <= OFTEN]
    counts = Counter(posting for one in rare for posting in one)
    for posting, _ in counts.most_common(BEST):
        place = rest.free[posting]
        delay = abs(place["day"] - row["day"])
        if delay <= LATER and texts.agree(entry, posting):
            yield Candidate(not has_amount(judgement, row, place), place["key"] != row["key"], delay, posting)


def _is_possible(rest: Open, candidate: Candidate, row: Mapping[str, Any], *, is_known: bool) -> bool:
    """Whether a posting is on the side of an entry, and has its amount or its account.

    Where the style is not known, a smaller amount may be the entry without its tax.
    """
    amount, gross = rest.free[candidate.posting]["amount"], row["gross"]
    if candidate.has_other_amount and (
        candidate.has_other_account or (not is_known and may_be_net(gross, amount))
    ):
        return False
    return bool((amount > 0) == (gross > 0))


def _status(judgement: Judgement, rest: Open, entry: int, candidate: Candidate) -> Status:
    row, place = rest.entries[entry], rest.free[candidate.posting]
    if candidate.has_other_amount:
        twice = {(is_gross, 2 * amount) for is_gross, amount in entry_amounts(judgement, row)}
        return Status.BOOKED_TWICE if twice & place_amounts(place) else Status.ANOTHER_AMOUNT
    if candidate.has_other_account:
        return Status.ANOTHER_ACCOUNT
    return Status.BOOKED if place["day"] == row["day"] else Status.ANOTHER_DATE
