"""Pieces: the vouchers that no proven group has, and the parts of them that may hold open groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bktools.ledger.booking_units import ACCOUNT, CORRECTED, EARLIER, LATEST
from bktools.ledger.candidates import Entry, Piece
from bktools.ledger.matching import Matching
from bktools.ledger.whole_numbers import NONE, Flags, Numbers, among, places
from bktools.ledger.working_papers import WorkingPapers

# What fewer of the proven vouchers have is no kind of them: a single pair may be of others by chance.
SELDOM = 0.02


@dataclass(frozen=True)
class Kinds:
    """The entries' kind: of each voucher, whether its contra accounts and its cost centre are of proven ones.

    Attributes
    ----------
    is_ours : array of bool
        Whether proven vouchers have its cost centre; another one is of another company, whatever its text.
    is_kind : array of bool
        Whether proven vouchers have its contra accounts, too.
    """

    is_ours: Flags
    is_kind: Flags

    @classmethod
    def of(cls, papers: WorkingPapers) -> Kinds:
        """Return the kinds of a ledger's proven vouchers."""
        books, proven = papers.books, among(papers.books.count, papers.matching.vouchers)
        if not proven.any():
            none = np.zeros(books.count, np.bool_)
            return cls(~none, none)
        is_ours = np.isin(books.centre, _usual(books.centre[proven]))
        return cls(is_ours, is_ours & np.isin(books.kind, _usual(books.kind[proven])))


def _usual(values: Numbers) -> Numbers:
    """Return the values that are not seldom."""
    each, count = np.unique(values, return_counts=True)
    return np.asarray(each[count >= np.maximum(1, SELDOM * count.sum())])


def on_their_accounts(papers: WorkingPapers) -> Matching:
    """Keep vouchers of several accounts only where each account has what its entries make."""
    matching, books = papers.matching, papers.books
    is_mixed = (books.accounts > 1) | (books.gross != books.on_used)
    some = matching.only((matching.groups.size[matching.group] > 1) & is_mixed[matching.vouchers])
    pieces = whole_pieces(papers, some.vouchers, None)
    wrong = [
        group
        for group, own, v, account in some.rows()
        if not papers.practice.agree(papers.of(own), [_part(papers, pieces[v], account)])
    ]
    return matching.without(wrong)


def whole_pieces(papers: WorkingPapers, vouchers: Numbers, kinds: Kinds | None) -> dict[int, Piece]:
    """Return vouchers as pieces; without their kinds, where only their amounts are asked for."""
    books, wanted = papers.books, np.unique(vouchers)
    texts = books.texts(wanted.tolist()) if kinds else {}
    pieces = {}
    for v in wanted.tolist():
        gross = int(books.gross[v])
        text = texts[v] if kinds and kinds.is_ours[v] else frozenset[str]()
        is_kind = bool(kinds and kinds.is_kind[v])
        day, nets = int(books.day[v]), books.nets_of(v)
        amounts, is_report = books.amounts_of(v), bool(books.is_report[v])
        pieces[v] = Piece((v, NONE), day, gross, nets, is_kind, text, amounts, is_report)
    return pieces


def _part(papers: WorkingPapers, piece: Piece, account: int) -> Piece:
    """Return what a voucher without tax has on one account; a voucher of one account is whole."""
    if account == NONE or papers.books.is_of_one[piece.v]:
        return piece
    net = piece.nets[account]
    return replace(piece, id=(piece.v, account), gross=net, nets={account: net})


def pieces_left(papers: WorkingPapers, kinds: Kinds) -> list[Piece]:
    """Return what no proven group has of the vouchers, cut as the booking unit cuts them."""
    books, matching, used = papers.books, papers.matching, papers.practice.used
    is_of_parts = matching.unit.part == ACCOUNT
    is_of_one = books.is_of_one & is_of_parts
    is_used = among(books.count, matching.vouchers[is_of_one[matching.vouchers] | (not is_of_parts)])
    used_accounts: dict[int, set[int]] = defaultdict(set)
    parts = matching.only(~is_of_one[matching.vouchers] & is_of_parts)
    accounts = parts.parts.account[parts.part].tolist()
    for v, account in zip(parts.vouchers.tolist(), accounts, strict=True):
        is_used[v] |= account == NONE or is_of_one[v]
        used_accounts[v].add(account)
    entries = papers.entries
    first, last = entries.day.min() - LATEST, entries.month_end.max() + CORRECTED
    # A posting of any day may be an entry's after all, if it is on an account of theirs.
    is_near = ((books.day >= first) & (books.day <= last)) | (books.accounts > 0)
    left = whole_pieces(papers, np.flatnonzero(is_near & ~is_used), kinds).values()
    pieces: list[Piece] = []
    for piece in left:
        on_used = sum(net for account, net in piece.nets.items() if account in used)
        is_plain = on_used == piece.gross or not papers.practice.rates.has_tax
        can_be_cut = is_of_parts and is_plain and not used.isdisjoint(piece.nets)
        if piece.gross and (piece.v in used_accounts or can_be_cut):
            free = {a: net for a, net in piece.nets.items() if net and a not in used_accounts[piece.v]}
            pieces += [replace(piece, id=(piece.v, a), gross=net, nets={a: net}) for a, net in free.items()]
        elif any(piece.nets.values()):  # a voucher that cancels itself holds nothing
            pieces.append(piece)
    return pieces


# ---- proven pairs that are judged again


def reopened(papers: WorkingPapers, pieces: Sequence[Piece]) -> Matching:
    """Give up the pairs beside which a free piece has their amount, or its opposite."""
    matching, entries, slack = papers.matching, papers.entries, papers.practice.slack
    free = defaultdict(list)
    for piece in pieces:
        for account in piece.nets.keys() & papers.practice.used:
            for amount in piece.sizes_on(account):
                for size in range(amount - slack, amount + slack + 1):
                    free[account, size].append(piece)
    sizes = np.unique(np.array([size for _, size in free], np.int64))
    of_entry, groups = matching.groups.of_entry, set()
    # A receipt of several lines, and a sum, are taken back or repeated as a whole.
    for amounts in (entries.cents, papers.receipts, matching.groups.total[of_entry]):
        beside = np.flatnonzero(matching.has_pair & (places(np.abs(amounts), sizes) >= 0))
        own = papers.of(entries.e[beside].tolist())
        rows = zip(of_entry[beside].tolist(), amounts[beside].tolist(), own, strict=True)
        for group, cents, x in rows:
            due, near = int(matching.groups.due[group]), free.get((x.account, abs(cents)), ())
            is_one = len(near) == 1 and near[0].takes_away(x) and x.is_single
            if is_one or any(_may_be_about(x, due, cents, piece) for piece in near):
                groups.add(group)
    return matching.without([*groups])


def _may_be_about(x: Entry, due: int, cents: int, piece: Piece) -> bool:
    """Whether a piece may take back an entry, or book it again."""
    # What takes back, or moves, comes after.
    earliest = x.day if cents * piece.gross <= 0 else x.day - EARLIER
    last = max(due, x.day) + (CORRECTED if piece.is_move or x.is_named_alone_in(piece.text) else LATEST)
    is_own = x.is_named_in(piece.text) or (piece.is_kind and not piece.is_move)
    return earliest <= piece.day <= last and is_own
