"""Foreign entries: what the ledger has for each, where only one voucher can be its own."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bktools.ledger.entry_names import Entry
from bktools.ledger.leftovers import Kinds
from bktools.ledger.study import Study
from bktools.ledger.whole_numbers import Columns, Flags, Numbers, among

# So little do the rates of a currency differ in the days of a ledger.
DRIFT = 0.03


@dataclass(frozen=True)
class _Fact:
    """The amount that a voucher shows for the foreign entries of a group.

    Attributes
    ----------
    entries : sequence of Entry
        The foreign entries, all of one currency.
    currency : str
        Their currency.
    cents : int
        What the voucher has for them.
    parts : sequence of int
        The parts of vouchers that can be the group's.
    smallest : int or None
        The smallest other amount of the group; None where there is no other.
    """

    entries: Sequence[Entry]
    currency: str
    cents: int
    parts: Sequence[int]
    smallest: int | None

    @property
    def rate(self) -> float:
        return self.cents / sum(x.cents for x in self.entries)

    @property
    def shows_errors(self) -> bool:
        """Whether an entry that is left out, or there twice, would show in the rate."""
        return self.smallest is None or self.smallest > DRIFT * abs(self.cents)


def at_their_rates(study: Study) -> Columns:
    """Return the entries with the amounts that vouchers show for foreign ones.

    A voucher is a group's if it has its accounts, its gate and its kind, its text does not deny it, and no
    other group can have it. The rate of a sum has to agree with that of another voucher of its currency; the
    rate of a single entry with the others, if there are any.
    """
    facts = _facts(study)
    claims = Counter(part for fact in facts for part in fact.parts)
    facts = [
        fact
        for fact in facts
        if fact.cents and fact.shows_errors and all(claims[part] == 1 for part in fact.parts)
    ]
    rates = defaultdict(list)
    for fact in facts:
        rates[fact.currency].append(fact.rate)
    entries = study.entries
    cents, is_home = entries.cents.copy(), entries.is_home.copy()
    for fact in facts:
        near = sum(abs(fact.rate / rate - 1) <= DRIFT for rate in rates[fact.currency])
        count = len(rates[fact.currency])
        is_alone = count == 1 and not study.case.is_of_sums
        if is_alone or (near > 1 and 2 * near > count):
            _share_out(fact, entries, cents, is_home)
    return entries.also(cents=cents, is_home=is_home)


def _share_out(fact: _Fact, entries: Columns, cents: Numbers, is_home: Flags) -> None:
    """Write the amounts of a fact's entries; the last one has what rounding leaves."""
    left = fact.cents
    for place, x in enumerate(fact.entries):
        own = left if place == len(fact.entries) - 1 else round(x.cents * fact.rate)
        at = int(np.searchsorted(entries.e, x.e))
        cents[at], is_home[at] = own, True
        left -= own


def _facts(study: Study) -> list[_Fact]:
    """Return what vouchers show for each group with foreign entries: 0 where they show several amounts."""
    matching, entries, case = study.matching, study.entries, study.case
    groups, parts, books = matching.groups, matching.parts, study.books
    kinds = Kinds.of(study)
    is_free = ~among(books.count, matching.vouchers)
    free = np.flatnonzero(is_free[parts.v])
    texts = books.texts(parts.v[free].tolist())
    text = {part: texts[v] for part, v in zip(free.tolist(), parts.v[free].tolist(), strict=True)}
    by_accounts, by_due = defaultdict(list), defaultdict(list)
    for part in free.tolist():
        by_accounts[int(parts.accounts[part])].append(part)
        for due in range(
            int(parts.day[part]) - matching.gate[1], int(parts.day[part]) - matching.gate[0] + 1
        ):
            by_due[due].append(part)
    is_unpaired = entries.is_home & ~matching.has_pair
    open_totals = {*entries.cents[is_unpaired].tolist()}
    # Another entry that has no voucher of its own may be in a foreign one's.
    alone = zip(
        entries.account[is_unpaired].tolist(), groups.due[groups.of_entry[is_unpaired]].tolist(), strict=True
    )
    unpaired = {*alone} if not case.is_of_sums else set()
    facts = []
    currency = dict(zip(entries.e.tolist(), entries.table["currency"].to_list(), strict=True))
    home = dict(zip(entries.e.tolist(), entries.is_home.tolist(), strict=True))
    is_open = entries.is_foreign & ~entries.is_home
    for group in np.unique(groups.of_entry[is_open]).tolist():
        own, due = study.members(group), int(groups.due[group])
        foreign = [x for x in own if not home[x.e]]
        others = sum(x.cents for x in own if home[x.e])
        total = sum(x.cents for x in foreign)

        def is_possible(part: int, others: int = others, total: int = total) -> bool:
            return (int(parts.total[part]) - others) * total > 0

        here = [
            part
            for part in by_accounts[int(groups.accounts[group])]
            if matching.gate[0] <= parts.day[part] - due <= matching.gate[1]
            and is_possible(part)
            and kinds.is_kind[parts.v[part]]
            and int(parts.total[part]) not in open_totals
            and unpaired.isdisjoint((x.account, due) for x in foreign)
            and not case.denies(own, text[part])
        ]
        here = [part for part in here if any(x.is_named_in(text[part]) for x in foreign)] or here
        if not here and not case.is_of_sums and len(own) == 1:
            # On another account: with its text.
            here = [part for part in by_due[due] if own[0].is_named_in(text[part]) and is_possible(part)]
        totals = {int(parts.total[part]) for part in here}
        money = {currency[x.e] for x in foreign}
        # Where several amounts are possible, the group still claims the parts.
        cents = totals.pop() - others if len(totals) == 1 and len(money) == 1 and None not in money else 0
        smallest = _smallest(foreign, own, cents, total, home) if cents else None
        facts.append(_Fact(foreign, str(currency[foreign[0].e]), cents, here, smallest))
    return facts


def _smallest(
    foreign: Sequence[Entry], own: Sequence[Entry], cents: int, total: int, home: Mapping[int, bool]
) -> int | None:
    """Return the smallest amount of a group beside the one foreign entry that it is about, in cents."""
    sizes = [abs(x.cents) for x in own if home[x.e]]
    if len(foreign) > 1:
        sizes += [round(abs(x.cents * cents / total)) for x in foreign]
    return min(sizes, default=None)
