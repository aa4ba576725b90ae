"""Which texts of entries the vouchers carry, and the pairs that a text denies."""

from __future__ import annotations

import itertools

import numpy as np

from bktools.ledger.entry_names import FIELDS
from bktools.ledger.gates import FEW, HABIT
from bktools.ledger.matching import Matching
from bktools.ledger.study import Study

# Pairs that show a habit; more show no other.
MOST_PAIRS = 400


def carried_texts(study: Study) -> tuple[str, ...] | None:
    """Return the texts of their entry that nine in ten singular vouchers carry, together; else None."""
    matching = study.matching
    some = np.flatnonzero(matching.is_singular)[:MOST_PAIRS]
    if len(some) < FEW:
        return None
    study.load(matching.group[some].tolist())
    vouchers = matching.vouchers[some].tolist()
    texts = study.books.texts(vouchers)
    pairs = [
        (study.members(group), texts[v])
        for group, v in zip(matching.group[some].tolist(), vouchers, strict=True)
    ]
    fields: tuple[str, ...] = ()
    for name in (name for name in FIELDS if (getattr(study.entries, name) >= 0).any()):
        carries = [any((x.text([name]) or {""}) <= text for x in own) for own, text in pairs]
        if sum(carries) >= HABIT * len(pairs):
            fields, pairs = (*fields, name), [*itertools.compress(pairs, carries)]
    return fields or None


def without_denied(study: Study) -> Matching:
    """Give up the pairs of equal accounts and total that were counted, where a text denies one of them."""
    matching, groups = study.matching, study.matching.groups
    counted = np.flatnonzero(~matching.is_singular)
    study.load(matching.group[counted].tolist())
    vouchers = matching.vouchers[counted].tolist()
    texts = study.books.texts(vouchers)
    denied = [
        group
        for group, v in zip(matching.group[counted].tolist(), vouchers, strict=True)
        if study.case.denies(study.members(group), texts[v])
    ]
    if not denied:
        return matching
    lots = {*zip(groups.accounts[denied].tolist(), groups.total[denied].tolist(), strict=True)}
    own = zip(groups.accounts[matching.group].tolist(), groups.total[matching.group].tolist(), strict=True)
    return matching.only(np.array([lot not in lots for lot in own], np.bool_))
