"""Foreign entries: what the ledger has for each, where only one voucher can be its own."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from bktools.ledger.candidates import Entry
from bktools.ledger.leftovers import Kinds
from bktools.ledger.whole_numbers import Columns, among
from bktools.ledger.working_papers import WorkingPapers

# So little do the rates of a currency differ in the days of a ledger.
DRIFT = 0.03


def at_their_rates(papers: WorkingPapers) -> Columns:
    """Return the entries with the amounts that vouchers show for foreign ones, each alone in its group.

    A voucher is a group's if it has its accounts, its gate and its kind, its text does not deny it, and no
    other group can have it. Its rate has to agree with most of the others of its currency; in a ledger of
    sums with one other at least.
    """
    entries, totals = papers.entries, papers.matching.parts.total
    cents, is_home = entries.cents.copy(), entries.is_home.copy()
    candidates = [*_candidates(papers)]
    claims = Counter(part for _, parts in candidates for part in parts)
    facts = []
    for own, parts in candidates:
        amounts = {*totals[parts].tolist()}
        if len(own) == len(amounts) == 1 and all(claims[part] == 1 for part in parts):
            at = int(np.searchsorted(entries.e, own[0].e))
            facts.append((at, entries.table["currency"][at], *amounts))
    rates = defaultdict(list)
    for at, currency, amount in facts:
        rates[currency].append(amount / int(entries.cents[at]))
    for at, currency, amount in facts:
        same = rates[currency]
        near = sum(abs(amount / int(entries.cents[at]) / rate - 1) <= DRIFT for rate in same)
        is_alone = len(same) == 1 and not papers.practice.is_of_sums
        if currency is not None and (is_alone or (near > 1 and 2 * near > len(same))):
            cents[at], is_home[at] = amount, True
    return entries.also(cents=cents, is_home=is_home)


def _candidates(papers: WorkingPapers) -> Iterator[tuple[Sequence[Entry], list[int]]]:
    """Yield the groups with foreign entries, and the free parts of vouchers that may be theirs."""
    matching, entries, practice = papers.matching, papers.entries, papers.practice
    groups, parts, books = matching.groups, matching.parts, papers.books
    is_kind = Kinds.of(papers).is_kind[parts.v]
    free = np.flatnonzero(~among(books.count, matching.vouchers)[parts.v])
    texts = books.texts(parts.v[free].tolist())
    is_unpaired = entries.is_home & ~matching.has_pair
    # Another entry that has no voucher of its own may be in a foreign one's.
    due = groups.due[groups.of_entry]
    places = zip(entries.account[is_unpaired].tolist(), due[is_unpaired].tolist(), strict=True)
    unpaired = set() if practice.is_of_sums else {*places}
    is_open_total = np.isin(parts.total, entries.cents[is_unpaired])
    for group in np.unique(groups.of_entry[entries.is_foreign & ~entries.is_home]).tolist():
        own, late = papers.members(group), parts.day[free] - groups.due[group]
        in_gate = free[(matching.gate[0] <= late) & (late <= matching.gate[1])]
        if len(own) == 1:
            in_gate = in_gate[parts.total[in_gate] * own[0].cents > 0]
        is_place = (parts.accounts == groups.accounts[group]) & is_kind & ~is_open_total
        is_place &= unpaired.isdisjoint((x.account, int(groups.due[group])) for x in own)
        here = [
            part
            for part in in_gate[is_place[in_gate]].tolist()
            if not practice.denies(own, texts[parts.v[part]])
        ]
        named = [part for part in in_gate.tolist() if any(x.is_named_in(texts[parts.v[part]]) for x in own)]
        # One with the text of a single entry may be on another account.
        is_single = len(own) == 1 and not practice.is_of_sums
        yield own, [part for part in here if part in named] or here or (named if is_single else [])
