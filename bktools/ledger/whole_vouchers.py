"""Vouchers whose tax is that of several accounts, at unknown rates: judged as a whole, with their tax.

The cost side of a voucher with its tax is the gross of its entries; what it has on each account is the net of
those on it, each at one of the ledger's rates. One error explains a voucher only if both agree with it, and
with no other one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from bktools.ledger.habits import CONTRA, COST
from bktools.ledger.judgement import Judgement, amounts_of
from bktools.ledger.open_groups import Cell, Open
from bktools.ledger.sole_entry import share_off, sole
from bktools.ledger.statuses import Reason, Status
from bktools.ledger.steps import How
from bktools.ledger.taxes import meets_by_rates


@dataclass(frozen=True)
class Voucher:
    """A voucher that is not explained: its open entries, by account, and what it has on each account."""

    # By entry: its account, and its gross amount.
    accounts: Mapping[int, int]
    gross: Mapping[int, int]
    # By account: the posting, and all that the voucher has on it; and what it has of undone postings.
    postings: Mapping[int, int]
    amounts: Mapping[int, int]
    undone: Mapping[int, int]
    # The cost side with the tax, less that of the entries.
    difference: int
    rates: tuple[int, ...]

    def fits(
        self, *, without: int | None = None, twice: int | None = None, moved: tuple[int, int] | None = None
    ) -> bool:
        """Whether each account has its entries' net, if one is left out, is twice there, or was moved."""
        expected: dict[int, list[int]] = {}
        for entry, account in self.accounts.items():
            at = moved[1] if moved and moved[0] == entry else account
            if entry != without:
                expected.setdefault(at, []).extend([self.gross[entry]] * (2 if entry == twice else 1))
        amounts = {
            account: self.amounts.get(account, 0) + self.undone.get(account, 0)
            for account in (*self.amounts, *self.undone)
        }
        return {*expected} == {*amounts} and all(
            meets_by_rates(own, self.rates, amounts[account]) for account, own in expected.items()
        )


def judge_pooled(judgement: Judgement, rest: Open) -> None:
    """Judge vouchers with one tax for several accounts, by entries of their day, or supplier and day."""
    lines = defaultdict(list)
    for posting, row in rest.free.items():
        if row["gross"] is None:
            lines[row["voucher"]].append(posting)
    if not lines:
        return
    postings = judgement.state.books.postings
    own = postings.filter(pl.col("voucher").is_in([*lines]))
    sides = own.filter(pl.col("role") != CONTRA).group_by("voucher", maintain_order=True)
    undone = own.filter(pl.col("role") == COST, pl.col("p").is_in([*judgement.undone]))
    taken_back = {
        key: dict(frame.select("account", "amount").iter_rows())
        for (key,), frame in undone.group_by("voucher")
    }
    of_voucher = postings["voucher"]
    matched: Counter[int] = Counter()
    gross = dict(judgement.state.every_entry.select("e", "gross").iter_rows())
    for entry in np.flatnonzero(judgement.posting >= 0):
        matched[of_voucher[int(judgement.posting[entry])]] += gross.get(int(entry), 0)
    days = Counter(rest.free[free[0]]["day"] for free in lines.values())
    for voucher, side, day in sides.agg(pl.sum("amount"), pl.min("day")).iter_rows():
        entries = [
            entry
            for entry, row in rest.entries.items()
            if judgement.is_open(entry)
            and row["due"] == day
            and _may_be_of(judgement, row, lines[voucher][0], is_alone=days[day] == 1)
        ]
        if entries:
            _judge(
                judgement, rest, entries, lines[voucher], taken_back.get(voucher, {}), side - matched[voucher]
            )


def _may_be_of(judgement: Judgement, row: Mapping[str, Any], posting: int, *, is_alone: bool) -> bool:
    """Whether a voucher may have an entry of its day: by its text, where texts tell vouchers apart."""
    if judgement.state.texts.tell:
        return judgement.state.texts.agree(row["e"], posting) is not False
    text = judgement.state.books.postings["text"][posting]
    return is_alone or bool(row["supplier"] and text and row["supplier"].lower() in text.lower())


def _judge(
    judgement: Judgement,
    rest: Open,
    entries: Sequence[int],
    postings: Sequence[int],
    undone: Mapping[int, int],
    side: int,
) -> None:
    """Judge a voucher by the one error that explains it."""
    rows = {entry: rest.entries[entry] for entry in entries}
    amounts: Counter[int] = Counter()
    for posting in postings:
        amounts[rest.free[posting]["account"]] += rest.free[posting]["amount"]
    voucher = Voucher(
        {entry: row["account"] for entry, row in rows.items()},
        {entry: row["gross"] for entry, row in rows.items()},
        {rest.free[posting]["account"]: posting for posting in postings},
        amounts,
        undone,
        side - sum(row["gross"] for row in rows.values()),
        judgement.state.rates,
    )
    day = rest.free[postings[0]]["day"]
    cell = Cell(None, day, voucher.gross, postings, side, 0)
    errors: list[_Error] = []
    if all(row["is_home"] for row in rows.values()):
        errors = [*_errors(voucher, share_off(judgement, 1))]
    if len(errors) == 1:
        (error,) = errors
        error.say(judgement, rest)
        left = [entry for entry in entries if entry != error.entry]
        # The voucher's amount on this account was taken back.
        taken_back = [entry for entry in left if voucher.accounts[entry] in undone]
        rest.out += taken_back
        judgement.whole([entry for entry in left if entry not in taken_back], postings[0], How.WHOLE_VOUCHER)
    else:
        is_home = all(row["is_home"] for row in rows.values())
        reason = Reason.SUM_DIFFERS if is_home else Reason.OTHER_CURRENCY
        judgement.undecided(entries, reason, postings, cell.difference if is_home else None)
        rest.cells.append(Cell(None, day, {}, postings, 0, 0, entries=entries))
    rest.add_postings(cell)


@dataclass(frozen=True)
class _Error:
    """What is wrong with a voucher: nothing, or one entry that is out of it, or has a status at a posting."""

    entry: int | None = None
    status: Status = Status.OPEN
    posting: int = -1

    def say(self, judgement: Judgement, rest: Open) -> None:
        """Say of the entry what is wrong with it."""
        if self.entry is None:
            return
        back = (
            _taken_back(judgement, rest, self.entry, self.posting)
            if self.status is Status.ANOTHER_ACCOUNT
            else None
        )
        if back is not None:
            # The voucher was corrected, so that another voucher books the entry, or none.
            rest.use(back)
            judgement.undone.add(back)
        if self.status is Status.OPEN or back is not None:
            rest.out.append(self.entry)
        else:
            judgement.say(self.entry, self.status, How.WHOLE_VOUCHER, self.posting)


def _taken_back(judgement: Judgement, rest: Open, entry: int, posting: int) -> int | None:
    """Return a free posting that takes an entry from the account where a voucher has it."""
    at = rest.free[posting]
    amounts = {-amount for amount in amounts_of(judgement, rest.entries[entry])}
    return next(
        (
            other
            for other, row in rest.free.items()
            if row["key"] == at["key"] and row["amount"] in amounts and row["day"] >= at["day"]
        ),
        None,
    )


def _errors(voucher: Voucher, share: float) -> Iterator[_Error]:
    """Yield the errors that explain a voucher; only that there is none where that explains it."""
    if voucher.difference == 0:
        if voucher.fits():
            yield _Error()
            return
        for entry, own in voucher.accounts.items():
            for account in {*voucher.amounts, *voucher.undone} - {own}:
                if voucher.fits(moved=(entry, account)):
                    # An amount that was moved and taken back is booked by another voucher, or not at all.
                    posting = voucher.postings.get(account)
                    yield _Error(entry) if posting is None else _Error(entry, Status.ANOTHER_ACCOUNT, posting)
        return
    out = sole(voucher.gross, -voucher.difference, 0, share)
    if out is not None and len(voucher.gross) > 1 and voucher.fits(without=out):
        yield _Error(out)
    twice = sole(voucher.gross, voucher.difference, 0, share)
    if twice is not None and voucher.fits(twice=twice):
        posting = voucher.postings.get(voucher.accounts[twice], next(iter(voucher.postings.values())))
        yield _Error(twice, Status.BOOKED_TWICE, posting)
