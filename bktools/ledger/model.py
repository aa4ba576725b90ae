"""The model."""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from bktools.ledger.annotated_postings import AnnotatedPostings, KEPT, annotated_postings
from bktools.ledger.booking_units import STYLES
from bktools.ledger.candidates import Group, Piece
from bktools.ledger.entry_names import Entry, FIELDS, words
from bktools.ledger.matching import (
    DRIFT,
    EARLIER,
    FEW,
    Groups,
    KNOWN,
    LARGEST_TAX,
    LATEST,
    Matching,
    TELLING,
    TOLD,
    WEEK,
    covered_by,
    matching_of,
    ranked_matchings,
)
from bktools.ledger.outcome import Draft, Habits, OpenGroup, Reason, Status, Verdict
from bktools.ledger.stories import Case, may_hold, solve, stories_of
from bktools.ledger.tax_rates import Rates, agrees, cells_at, net_of, on_lines, on_nets, solved
from bktools.ledger.two_tables import entries_of, postings_of
from bktools.ledger.whole_numbers import Columns, NONE, among, codes, number, places, sums


def verdict_of(
    entries: pl.DataFrame,
    postings: pl.DataFrame,
    *,
    style: str | None = None,
    reverse_sign: bool | None = None,
    explained: Sequence[int] = (),
    currency: str | None = None,
    until: int | None = None,
) -> Verdict:
    """Return what became of each entry.

    Parameters
    ----------
    entries : DataFrame
        As `entries_of` returns it.
    postings : DataFrame
        As `postings_of` returns it.
    style : str, optional
        What has one voucher, where a person knows it: one of `STYLES`.
    reverse_sign : bool, optional
        Whether credits are costs; by default, as most postings on the entries' accounts show it.
    explained : sequence of int
        Rows of postings that hold none of the entries.
    currency : str, optional
        The ledger's currency, where the ledger has no column of it.
    until : int, optional
        The last day that the ledger shows, as days since 1970-01-01; by default that of its last posting.
    """
    draft = Draft(entries.height, postings.height)
    own = Columns(entries, e=np.arange(entries.height))
    is_known = (own.day > NONE) & (own.cents > NONE) & entries["account"].is_not_null().to_numpy()
    unknown = np.flatnonzero(~is_known)
    draft.decide(unknown, Status.NOT_COMPARABLE)
    draft.leave(unknown.tolist(), Reason.VALUE_UNKNOWN)
    theirs = Columns(postings, row=np.arange(postings.height))
    is_shown = ~among(postings.height, [*explained])
    theirs = theirs.take((theirs.day > NONE) & (theirs.cents > NONE) & is_shown)
    sign = None if reverse_sign is None else -1 if reverse_sign else 1
    given = Given(style, sign, currency, until)
    habits, covered = _judge(draft, own.take(is_known), theirs, given) if is_known.any() else (None, None)
    return draft.verdict(habits, covered)


@dataclass(frozen=True)
class Given:
    """What a person says about the ledger."""

    style: str | None = None
    sign: int | None = None
    currency: str | None = None
    until: int | None = None


def _judge(
    verdict: Draft, entries: Columns, lines: Columns, given: Given
) -> tuple[Habits | None, tuple[int, int] | None]:
    both = codes(pl.concat([entries.table["account"], lines.table["account"].fill_null("")]))
    entries, lines = entries.also(account=both[: len(entries)]), lines.also(account=both[len(entries) :])
    books = annotated_postings(entries, lines, given.sign)
    currency = home_currency(entries, books, given.currency)
    money = entries.table["currency"]
    is_home = (
        money.is_null() | (money == currency).fill_null(value=False)
        if currency
        else money.is_null() & money.is_null().all()
    )
    entries = entries.also(is_home=is_home.to_numpy())
    kept = (
        lines.table.select(
            (pl.col("fcents").is_not_null() & (pl.col("fcurrency") != (currency or ""))).fill_null(
                value=False
            )
        )
        .to_series()
        .to_numpy()
    )
    if currency and kept.any() and not entries.is_home.all():
        before = entries
        entries = _by_currency(verdict, entries, lines.take(kept), replace(given, sign=books.sign))
        left = entries.table["currency"].unique().to_list()
        done = before.table["currency"].filter(~before.table["currency"].is_in(left)).unique().to_list()
        books = annotated_postings(
            entries,
            lines.take(~(kept & lines.table["fcurrency"].is_in(done).fill_null(value=False).to_numpy())),
            given.sign,
        )
    home = entries.take(entries.is_home)
    ranked = ranked_matchings(home, books, given.style) if len(home) else []
    covered = covered_by(books, given.until)
    if not ranked:
        verdict.decide(entries.e, Status.NOT_COMPARABLE)
        verdict.leave(entries.e.tolist(), Reason.OTHER_CURRENCY)
        return None, covered
    nets = (
        on_nets(entries, books, ranked)
        if ranked[0].entries < len(home) or ranked[0].grain.unit == "voucher"
        else None
    )
    ways = [(entries, books, ranked)]
    for other in (nets, on_lines(entries, books) if ranked[0].of_sums else None):
        again = ranked_matchings(other[0].take(other[0].is_home), other[1], given.style) if other else []
        if again and again[0].entries >= ways[-1][2][0].entries:
            ways.append((*other, again))
    entries, books, ranked = ways[-1]
    best = ranked[0]
    if not entries.is_home.all():
        best = matching_of(entries, books, best.grain, like=best)
    rest = _Rest(verdict, entries, books, best, ranked[1:], covered)
    rest.judge()
    best, grain = rest.best, rest.best.grain
    return (
        Habits(
            grain.name,
            grain.unit == "account",
            best.clock,
            best.gate,
            rest.share,
            rest.share >= KNOWN,
            tuple(rate for rate in books.rates if rate),
            books.sign,
            currency,
            rest.case.kept or (),
        ),
        covered,
    )


def _by_currency(verdict: Draft, entries: Columns, kept: Columns, given: Given) -> Columns:
    """Judge the entries of each currency in which the ledger keeps original amounts by these; return the
    others."""
    done = np.zeros(len(entries), bool)
    for currency in entries.table["currency"].filter(pl.Series(~entries.is_home)).unique(maintain_order=True):
        mask = (entries.table["currency"] == currency).fill_null(value=False).to_numpy()
        of_currency = (kept.table["fcurrency"] == currency).fill_null(value=False).to_numpy()
        lines, rows = kept.table.filter(pl.Series(of_currency)), kept.row[of_currency]
        lines = lines.with_columns(cents="fcents", currency="fcurrency", fcents=pl.lit(None, pl.Int64))
        if not lines.height:
            continue
        sign = None if given.sign is None else given.sign < 0
        part = verdict_of(
            entries.table.filter(pl.Series(mask)),
            lines,
            style=given.style,
            reverse_sign=sign,
            currency=currency,
            until=given.until,
        )
        if part.habits is None or not part.habits.is_known:
            continue
        numbers, done = entries.e[mask], done | mask
        verdict.adopt(part, numbers, rows)
    return entries.take(~done)


def home_currency(entries: Columns, books: AnnotatedPostings, given: str | None = None) -> str | None:
    """The ledger's currency: of its column, else that in which most entries are met to the cent; None if
    unknown."""
    theirs, ours = books.lines.table["currency"].drop_nulls(), entries.table["currency"]
    if len(theirs):
        return theirs.mode().sort()[0]
    if given:
        return given
    if ours.null_count() == len(ours):
        return None
    there = {*zip(books.cell_account.tolist(), books.gross[books.cell_v].tolist(), strict=True)}
    own = zip(entries.account.tolist(), entries.cents.tolist(), strict=True)
    is_met = pl.Series([key in there for key in own])
    counts = pl.DataFrame({"currency": ours, "met": is_met}).drop_nulls().group_by("currency")
    order = counts.agg(pl.col("met").sum(), pl.len()).sort("met", "len", "currency", descending=True)
    return order["currency"][0] if 2 * order["len"][0] > len(ours) else None


SHOWN = 5  # postings to look at


class _Rest:
    """The steps from what agrees to a status for each entry."""

    def __init__(
        self,
        verdict: Draft,
        entries: Columns,
        books: AnnotatedPostings,
        best: Matching,
        others: Sequence[Matching],
        covers: tuple[int, int],
    ) -> None:
        self.share = 0.0
        self.verdict, self.frame, self.books, self.others = verdict, entries, books, others
        self.covers = covers
        due = best.groups.due[best.groups.of]
        is_learned = best.is_singular.sum() >= FEW
        self.is_out = (
            (due + best.gate[1] < self.covers[0]) | (due + best.gate[0] > self.covers[1])
        ) & is_learned
        comparable = best.groups.is_home[best.groups.of] & ~self.is_out
        sent = comparable & entries.sent
        self.base = sent if sent.any() else comparable
        self.case = Case(
            best.gate,
            best.of_sums,
            frozenset(books.lines.account[books.is_used].tolist()),
            Rates(),
            books.slack,
            books.rates or (0,),
        )
        self.best = best
        self.objects: dict[int, Entry] = {}
        self.owned: dict[str, np.ndarray] = {}
        self.offs: dict[Any, int | None] = {}  # what is over, or lacks, in open groups
        self.spent: set = set()  # pieces that are used whatever is said of the rest
        self.kinds: frozenset = frozenset()
        self.centres = np.zeros(0, np.int64)
        if len(entries) <= 20_000:
            self.entries(entries.e.tolist())

    # ---- objects for the few that are looked at one by one
    def entries(self, numbers: Sequence[int]) -> list[Entry]:
        wanted = [e for e in numbers if e not in self.objects]
        if wanted:
            at, frame = np.searchsorted(self.frame.e, wanted), self.frame
            whole = [
                getattr(frame, name)[at].tolist() for name in ("account", "day", "cents", "sent", "code")
            ]
            texts = frame.table.select("supplier", "description", "document", "id")[at].rows()
            own = zip(
                self.is_own("description")[at].tolist(), self.is_own("document")[at].tolist(), strict=True
            )
            single = self.is_single[at].tolist()
            for e, *numbers_, more, is_own, alone in zip(wanted, *whole, texts, own, single, strict=True):
                self.objects[e] = Entry(e, *numbers_, *more, is_own, alone)
        return [self.objects[e] for e in numbers]

    @functools.cached_property
    def is_single(self) -> np.ndarray:
        amounts, first = number(self.frame.account, np.abs(self.frame.cents))
        return sums(amounts, len(first))[amounts] == 1

    def is_own(self, name: str) -> np.ndarray:
        """By entry, whether its text is of no other."""
        if name not in self.owned:
            code = np.maximum(getattr(self.frame, name), -1) + 1
            _, first = number(self.frame.id, code)
            self.owned[name] = (code > 0) & (sums(code[first], int(code.max()) + 1)[code] == 1)
        return self.owned[name]

    def load(self, groups: np.ndarray) -> None:
        """Make the entries of groups at once."""
        wanted = among(len(self.best.groups.n), groups)[self.best.groups.of]
        self.entries(self.frame.e[wanted].tolist())

    def members(self, g: int) -> list[Entry]:
        return self.entries(self.best.groups.members(g))

    def unit_texts(self, u: np.ndarray) -> list[frozenset[str]]:
        vouchers = self.best.units.v[u].tolist()
        of = self.books.text(vouchers)
        return [of[v] for v in vouchers]

    def judge(self) -> None:
        case, verdict = self.case, self.verdict
        case.kept = self._kept()
        if not case.kept or "supplier" in case.kept:  # there, a description alone names no entry
            self.owned["description"] = np.zeros(len(self.frame), bool)
            self.objects.clear()
        if case.kept:
            self._told()
        if not self.frame.is_home.all() and self._explained() >= TOLD:
            self._at_their_rates()
        case.rates = self._rates()
        self.share, before = self._explained(), len(self.best.g)
        self._on_their_accounts()
        if (
            len(self.best.g) < TOLD * before
        ):  # totals agree, accounts do not: this is not how the ledger books
            self.share = self._explained()
        sums_ = self._other_grains()
        self.kinds = self._kinds()
        pieces = self._pieces(sums_)
        before = len(self.best.g), len(sums_)
        self._reopen(pieces)
        sums_ = [one for one in sums_ if not self._is_touched(one[0], pieces)]
        if (len(self.best.g), len(sums_)) != before:
            pieces = self._pieces(sums_)
        self._say_proven(sums_)
        self._say_foreign(pieces)
        out = self.is_out & (verdict.status[self.frame.e] < 0)
        verdict.decide(self.frame.e[out], Status.NOT_COMPARABLE)
        verdict.leave(self.frame.e[out].tolist(), Reason.NOT_COVERED)
        self._tell(pieces)

    def _explained(self) -> float:
        """How many of the entries, of those that were sent if any were, have a voucher of the grain."""
        best = self.best
        return float(best.is_shown[best.groups.of][self.base].mean()) if self.base.any() else 0.0

    def _kept(self) -> tuple[str, ...] | None:
        """Which text of entries the ledger carries, by vouchers whose amount is singular on both sides."""
        some = np.flatnonzero(self.best.is_singular)[:400]
        self.load(self.best.g[some])
        texts = self.unit_texts(self.best.u[some])
        pairs = [(self.members(g), text) for g, text in zip(self.best.g[some].tolist(), texts, strict=True)]
        fields: tuple[str, ...] = ()
        for name in FIELDS if len(some) >= FEW else ():
            own = [any((x.text([name]) or {""}) <= text for x in group) for group, text in pairs]
            if sum(own) >= KEPT * len(pairs):
                fields, pairs = (*fields, name), list(itertools.compress(pairs, own))
        return fields or None

    def _told(self) -> None:
        """Release equal amounts that were paired by counting, where the texts say otherwise."""
        best, groups = self.best, self.best.groups
        counted = np.flatnonzero(~best.is_singular)
        self.load(best.g[counted])
        texts = [self._texted(text) for text in self.unit_texts(best.u[counted])]
        wrong = [
            i
            for i, p in zip(counted, texts, strict=True)
            if self.case.denies(self.members(int(best.g[i])), p)
        ]
        bad = {*zip(groups.key[best.g[wrong]].tolist(), groups.total[best.g[wrong]].tolist(), strict=True)}
        mine = zip(groups.key[best.g].tolist(), groups.total[best.g].tolist(), strict=True) if bad else ()
        if bad:
            self.best = best.only(np.array([one not in bad for one in mine], bool))

    def _at_their_rates(self) -> None:
        """Take what the ledger shows for an entry in another currency, where only one voucher can be its own.

        Only its group may have that voucher by account, days and text, and the rate is no other than those of its
        currency; so far as an error beside it would show in the rate.
        """
        best, frame, groups, found = self.best, self.frame, self.best.groups, []
        units, free = best.units, ~among(self.books.count, best.v)
        units_at = defaultdict(list)
        for u in np.flatnonzero(free[units.v]).tolist():
            units_at[int(units.key[u])].append(u)
        near: Any = defaultdict(list)
        for u in np.flatnonzero(free[units.v]).tolist():
            for due in range(int(units.day[u]) - best.gate[1], int(units.day[u]) - best.gate[0] + 1):
                near[due].append(u)
        texts, self.kinds = self.books.text(units.v[free[units.v]].tolist()), self._kinds()
        open_ = {*frame.cents[frame.is_home & ~best.paired[groups.of]].tolist()}
        claims: Counter = Counter()
        wanted = among(len(groups.n), groups.of[~frame.is_home])
        for g in np.flatnonzero(wanted).tolist():
            own, due = self.members(g), int(groups.due[g])
            rows = np.searchsorted(frame.e, [x.e for x in own])
            others = [x for x, home in zip(own, frame.is_home[rows].tolist(), strict=True) if not home]
            home = sum(x.cents for x in own) - sum(x.cents for x in others)
            here = [
                u for u in units_at[int(groups.key[g])] if best.gate[0] <= units.day[u] - due <= best.gate[1]
            ]
            here = [u for u in here if not self.case.denies(own, self._texted(texts[int(units.v[u])]))]
            here = [u for u in here if (int(units.total[u]) - home) * others[0].cents > 0]
            here = [
                u
                for u in here
                if self.books.kind[units.v[u]] in self.kinds and int(units.total[u]) not in open_
            ]
            named = [u for u in here if any(x.is_named_in(texts[int(units.v[u])]) for x in others)]
            here = named or here
            if not here and not best.of_sums and len(own) == 1:
                here = [
                    u
                    for u in near[due]
                    if own[0].is_named_in(texts[int(units.v[u])]) and int(units.total[u]) * own[0].cents > 0
                ]
            claims.update({*here})
            if len(others) == 1 and len({int(units.total[u]) for u in here}) == 1:
                cents = int(units.total[here[0]]) - home
                least = min((abs(x.cents) for x in own if x is not others[0]), default=0) if home else 0
                found.append((others[0], here, cents, cents / others[0].cents, least))
        rates, money = defaultdict(list), frame.table["currency"]
        currency = {x.e: money[int(np.searchsorted(frame.e, x.e))] for x, *_ in found}
        for x, here, _, rate, least in found:
            if not least and all(claims[u] == 1 for u in here):
                rates[currency[x.e]].append(rate)
        cents, is_home = frame.cents.copy(), frame.is_home.copy()
        for x, here, own, rate, least in found:
            usual = np.median(rates[currency[x.e]] or [np.nan])
            is_sure = all(claims[u] == 1 for u in here) and (not least or least > DRIFT * abs(own))
            shown = len(rates[currency[x.e]])
            if is_sure and (not best.of_sums if shown < 2 else abs(rate / usual - 1) <= DRIFT):
                at = int(np.searchsorted(frame.e, x.e))
                cents[at], is_home[at] = own, True
        self.frame = frame.also(cents=cents, is_home=is_home)
        self.objects.clear()
        self.best = matching_of(self.frame, self.books, best.grain, like=best)
        comparable = self.best.groups.is_home[self.best.groups.of] & ~self.is_out
        self.base = comparable & frame.sent if (comparable & frame.sent).any() else comparable
        if self.case.kept:
            self._told()

    @staticmethod
    def _texted(text: frozenset[str]) -> Piece:
        return Piece((), 0, 0, 0, {}, is_kind=False, text=text)

    def _rates(self) -> Rates:
        """The rates of all vouchers that agree; else those that entries alone on their account often show."""
        books, best, groups = self.books, self.best, self.best.groups
        if books.has_nets or (books.gross == books.on_used).all():
            return Rates(often=(0,))
        v = np.full(len(groups.n), NONE)
        v[best.g] = best.v
        cell = cells_at(books, v[groups.of], self.frame.account)
        found, _ = solved(self.frame, cell, books) if (cell >= 0).any() else (Rates(), None)
        inside = np.flatnonzero(cell >= 0)
        alone = inside[sums(cell[inside], len(books.net))[cell[inside]] == 1]
        cents, net = self.frame.cents[alone], books.net[cell[alone]]
        rate = np.round((cents / np.where(net == 0, 1, net) - 1) * 1000).astype(np.int64)
        shows = (np.abs(cents) >= TELLING) & (rate >= 0) & (rate <= 1000 * LARGEST_TAX)
        rate = rate[shows & (np.abs(net_of(cents, np.maximum(rate, 0)) - net) <= 1)]
        rates, count = np.unique(rate, return_counts=True)
        return replace(found, often=tuple(rates[count >= np.maximum(2, 0.02 * len(rate))].tolist()))

    def _on_their_accounts(self) -> None:
        """Keep vouchers of several accounts only where each account has what its entries make."""
        best, books = self.best, self.books
        if books.has_nets:
            return
        mixed = (books.accounts > 1) | (books.gross != books.on_used)
        some = best.only((best.groups.n[best.g] > 1) & mixed[best.v])
        pieces = self._whole(some.v)
        bad = [
            g
            for g, own, v, account in some.rows()
            if not agrees(self.entries(own), [self._part(pieces[v], account)], self.case)
        ]
        self.best = best.only(~among(len(best.groups.n), bad)[best.g])

    def _other_grains(self) -> list[tuple[list[int], int, int]]:
        """What other grains explain of the rest, as sums of two or more entries: (entries, voucher,
        account)."""
        taken = self.best.paired[self.best.groups.of] | ~self.frame.is_home | self.is_out
        free = np.ones(self.books.count, bool)
        free[self.best.v] = False
        found: list = []
        for other in self.others:
            if other.grain.by == ("e",) or (~taken).sum() < 2:
                continue
            most = other.gate[1] if other.clock != "day" else min(other.gate[1], max(WEEK, self.best.gate[1]))
            like = replace(other, gate=(other.gate[0], most))
            more = matching_of(self.frame.take(~taken), self.books, other.grain, 2, like, free)
            pieces = self._whole(more.v)
            for _, members, v, account in more.rows():
                if agrees(self.entries(members), [self._part(pieces[v], account)], self.case):
                    found.append((members, v, account))
                    taken[np.searchsorted(self.frame.e, members)], free[v] = True, False
        return found

    def _kinds(self) -> frozenset:
        """The contra accounts of proven vouchers: the entries' kind."""
        centres, count = np.unique(self.books.centre[self.best.v], return_counts=True)
        self.centres = centres[count >= 0.02 * count.sum()]
        kinds, count = np.unique(self.books.kind[among(self.books.count, self.best.v)], return_counts=True)
        return frozenset(kinds[count >= np.maximum(1, 0.02 * count.sum())].tolist())

    # ---- what is left of the ledger
    def _whole(self, vouchers: np.ndarray) -> dict[int, Piece]:
        books, out = self.books, {}
        vouchers = np.unique(vouchers)
        texts, starts, ends = (
            books.text(vouchers.tolist()),
            books.cell_of_v[vouchers],
            books.cell_of_v[vouchers + 1],
        )
        # A voucher on a cost centre that no proven one has is of others, whatever its text says.
        is_ours = np.isin(books.centre[vouchers], self.centres) | (len(self.centres) == 0)
        is_kind = np.isin(books.kind[vouchers], [*self.kinds]) & is_ours
        more = (books.day[vouchers], books.gross[vouchers], is_kind, is_ours, starts, ends)
        for v, day, gross, kind, ours, start, end in zip(
            vouchers.tolist(), *(one.tolist() for one in more), strict=True
        ):
            nets = dict(
                zip(books.cell_account[start:end].tolist(), books.net[start:end].tolist(), strict=True)
            )
            out[v] = Piece((v,), v, day, gross, nets, kind, texts[v] if ours else frozenset(), gross == 0)
        return out

    def _part(self, piece: Piece, account: int) -> Piece:
        """What a voucher without tax has on one account; a voucher of one account is whole."""
        if account == NONE or (len(piece.nets.keys() & self.case.used) == 1 and not self.books.has_nets):
            return piece
        return replace(
            piece, number=(piece.v, account), gross=piece.nets[account], nets={account: piece.nets[account]}
        )

    def _pieces(self, sums_: Sequence[tuple]) -> list[Piece]:
        """What no proven group has of the vouchers near the entries, cut as the grain cuts them."""
        books, best, used = self.books, self.best, self.case.used
        is_part = best.grain.unit == "account"
        # A voucher of one account is taken with all that stands beside it, such as its tax.
        alone = (books.accounts == 1) & is_part & (not books.has_nets)
        whole, taken = among(books.count, best.v[alone[best.v] | (not is_part)]), defaultdict(set)
        parts = best.only(~alone[best.v] & is_part)
        own = zip(parts.v.tolist(), parts.units.account[parts.u].tolist(), strict=True)
        for v, account in [*own, *(one[1:] for one in sums_)]:
            whole[v] |= account == NONE or alone[v]
            taken[v].add(account)
        near = (books.day >= self.frame.day.min() - EARLIER) & (
            books.day <= self.frame.month_end.max() + LATEST
        )
        left = {*(e for own, _, _ in sums_ for e in own)}
        opened = self.frame.e[self.frame.is_home & ~best.paired[best.groups.of]].tolist()
        opened = self.entries([e for e in opened if e not in left])
        out: list[Piece] = []
        for piece in self._uncancelled([*self._whole(np.flatnonzero(near & ~whole)).values()]):
            on_used = sum(net for a, net in piece.nets.items() if a in used)
            is_plain = (on_used == piece.gross or not self.case.rates.has_tax) and not used.isdisjoint(
                piece.nets
            )
            if not piece.gross and is_part:
                out += self._moves(piece, opened)
            elif piece.v in taken or (is_part and is_plain):
                rest = {a: net for a, net in piece.nets.items() if a not in taken.get(piece.v, ()) and net}
                out += [
                    replace(piece, number=(piece.v, a), gross=net, nets={a: net}) for a, net in rest.items()
                ]
            else:
                out.append(piece)
        return out

    def _uncancelled(self, pieces: Sequence[Piece]) -> list[Piece]:
        """Leave out postings that take back one another: moves and their opposites, and corrected mistakes.

        An amount that an entry has on the account is left, unless its text is of another one.
        """
        frame, best, sizes, equal = self.frame, self.best, defaultdict(list), defaultdict(list)
        receipts, first = number(frame.id if (frame.id >= 0).all() else frame.e)
        totals = sums(receipts, len(first), frame.cents)[receipts]
        for own in (frame.cents, totals, best.groups.total[best.groups.of]):
            for key in zip(frame.account.tolist(), np.abs(own).tolist(), frame.e.tolist(), strict=True):
                sizes[key[:2]].append(key[2])
        for piece in pieces:
            key = frozenset((account, abs(net)) for account, net in piece.nets.items() if net)
            equal[key, abs(piece.gross)].append(piece)
        found: set = set()
        for (key, gross), own in equal.items():
            own.sort(key=lambda p: (p.day, p.v))
            nets: Counter = Counter()
            for p in own:
                nets.update(p.nets)
            if len(own) < 2 or any(nets.values()) or own[0].gross < 0 or own[-1].day - own[0].day > LATEST:
                continue
            like = [e for account, _ in key for e in sizes.get((account, gross), ())] if gross else []
            if not like or (self.case.kept and all(self.case.denies(self.entries(like), p) for p in own)):
                found |= {p.number for p in own}
        return [piece for piece in pieces if piece.number not in found]

    def _moves(self, piece: Piece, entries: Sequence[Entry]) -> list[Piece]:
        """What moves an amount between accounts, as two parts; with the gross of the entry that it names."""
        sizes = {abs(x.cents) for x in entries if x.account in piece.nets and x.is_named_in(piece.text)}
        if len(piece.nets) != 2 or (len(sizes) != 1 and self.case.used.isdisjoint(piece.nets)):
            return [piece]
        size = sizes.pop() if len(sizes) == 1 else None
        signed = ((a, net) for a, net in piece.nets.items() if net)
        gross = {a: net if size is None else size if net > 0 else -size for a, net in signed}
        return [
            replace(piece, number=(piece.v, a), gross=cents, nets={a: piece.nets[a]}, is_correction=True)
            for a, cents in gross.items()
        ]

    def _reopen(self, pieces: Sequence[Piece]) -> None:
        """Open the pairs again beside which a free posting of their amount, or its opposite, may take back or
        repeat them."""
        best, case, frame, free = self.best, self.case, self.frame, defaultdict(list)
        for piece in pieces:
            for account in piece.nets.keys() & case.used if piece.gross else ():
                for cents in range(
                    abs(piece.gross) - self.books.slack, abs(piece.gross) + self.books.slack + 1
                ):
                    free[account, cents].append(piece)
        sizes, of = np.sort(np.array([size for _, size in free], np.int64)), best.groups.of
        last, again = int(frame.day.max()) + best.gate[1], set()
        # A receipt of several lines is taken back, or repeated, as a whole.
        receipt, first = number(frame.id if (frame.id >= 0).all() else frame.e)
        several = () if len(first) == len(frame) else (sums(receipt, len(first), frame.cents)[receipt],)
        for cents in (frame.cents, *several):
            beside = np.flatnonzero(best.paired[of] & (places(np.abs(cents), sizes) >= 0))
            own = zip(
                of[beside].tolist(),
                cents[beside].tolist(),
                self.entries(frame.e[beside].tolist()),
                strict=True,
            )
            for g, size, x in own:
                due = int(best.groups.due[g])
                for piece in free.get((x.account, abs(size)), ()):
                    opposite, on_time = (
                        size * piece.gross < 0,
                        best.gate[0] <= piece.day - due <= best.gate[1],
                    )
                    too_late = piece.day - max(due, x.day) > LATEST
                    if piece.day < x.day - EARLIER or too_late or (opposite and piece.day < x.day):
                        continue
                    named = x.is_named_in(piece.text) and (opposite or on_time or due <= piece.day <= last)
                    soon = best.gate[0] <= piece.day - due < best.gate[1] + WEEK
                    soon = on_time or (soon and not best.of_sums and bool(case.kept))
                    if named or (piece.is_kind and (opposite or (soon and not case.denies([x], piece)))):
                        again.add(g)
        self.best = best.only(~among(len(best.groups.n), [*again])[best.g])

    def _is_touched(self, members: Sequence[int], pieces: Sequence[Piece]) -> bool:
        """Whether a free posting may take back, or repeat, an entry of a sum that another grain explains."""
        slack = range(-self.books.slack, self.books.slack + 1)
        amounts = {(x.account, abs(x.cents) + off): x for x in self.entries(members) for off in slack}
        beside = (
            (amounts.get((account, abs(piece.gross))), piece)
            for piece in pieces
            if piece.gross
            for account in piece.nets
        )
        return any(
            x and 0 <= p.day - x.day <= LATEST and (p.is_kind or x.is_named_in(p.text)) for x, p in beside
        )

    # ---- what is said
    def _say_proven(self, sums_: Sequence[tuple]) -> None:
        best, verdict = self.best, self.verdict
        assert best.paired.sum() == len(best.g) == among(len(best.units.v), best.u).sum(), (
            "one group, one voucher"
        )
        lag = best.units.day[best.u] - best.groups.due[best.g]
        assert ((lag >= best.gate[0]) & (lag <= best.gate[1])).all(), "in the gate"
        pair = np.full(len(best.groups.n), -1)
        pair[best.g] = np.arange(len(best.g))
        pair = pair[best.groups.of]
        there, pair = pair >= 0, pair[pair >= 0]
        e, is_own = self.frame.e[there], (best.groups.n[best.g][pair] == 1) | ~np.bool_(best.of_sums)
        verdict.decide(e, np.where(is_own, Status.BOOKED, Status.IN_A_SUM))
        verdict.days_late[e] = np.where(is_own, lag[pair], 0)
        verdict.match_all(e, pair, *self.books.rows_of(best.v, best.units.account[best.u]))
        for members, v, account in sums_:
            verdict.decide(members, Status.IN_A_SUM)
            verdict.match(members, self._rows(v, account))

    def _rows(self, v: int, account: int) -> list[int]:
        return self.books.rows_of(np.array([v]), np.array([account]))[0].tolist()

    def _say_foreign(self, pieces: Sequence[Piece]) -> None:
        """What has no voucher to show its rate is not comparable; missing, if none by the texts may be its own."""
        case, frame, groups = self.case, self.frame, self.best.groups
        case.covers, case.is_known = self.covers, self.share >= KNOWN
        for at in np.flatnonzero(~frame.is_home).tolist():
            (x,), g = self.entries([int(frame.e[at])]), int(groups.of[at])
            own = Group(g, (x,), int(groups.due[g]))
            may_be = any(
                x.is_named_in(p.text)
                or (x.account in p.nets and -EARLIER <= p.day - x.day <= LATEST)
                or (p.is_kind and case.is_on_time(own, p) and not case.denies([x], p))
                for p in pieces
                if p.gross * x.cents > 0
            )
            is_there = may_be or not case.kept or case.of_sums or groups.n[g] > 1
            self.verdict.decide(x.e, Status.NOT_COMPARABLE if is_there else case.missing(own))
            self.verdict.leave([x.e], Reason.OTHER_CURRENCY)

    def _look(self, pieces: Iterable[Piece]) -> list[int]:
        """The first posting of each of a few pieces."""
        some = itertools.islice(pieces, SHOWN)
        return [self._rows(piece.v, piece.number[1] if len(piece.number) > 1 else NONE)[0] for piece in some]

    def _leave_group(
        self, group: Group, opened: Sequence[int], reason: Reason, looked: Sequence[int], off: int | None
    ) -> None:
        """Add an open group; `off`: what is booked less what the group has."""
        table, at = self.frame.table, np.searchsorted(self.frame.e, [x.e for x in group.entries])
        self.verdict.leave(opened, reason)
        self.verdict.open_groups.append(
            OpenGroup(
                tuple(opened),
                reason,
                tuple(dict.fromkeys(table["account"][at].to_list())),
                min(x.day for x in group.entries),
                max(x.day for x in group.entries),
                sum(x.cents for x in group.entries),
                None if off is None else off + group.total,
                off,
                tuple(looked[:SHOWN]),
            )
        )

    def _tell(self, pieces: Sequence[Piece]) -> None:
        """Tell the stories of the groups that are left, component by component."""
        best, case, verdict = self.best, self.case, self.verdict
        groups, foreign = [], []
        for g in np.flatnonzero(
            among(len(best.groups.n), best.groups.of[verdict.status[self.frame.e] < 0])
        ).tolist():
            own = Group(
                g, tuple(x for x in self.members(g) if verdict.status[x.e] < 0), int(best.groups.due[g])
            )
            if best.groups.is_home[g]:
                groups.append(own)
            else:  # a sum with an amount in another currency: no rate is guessed
                foreign.append(own)
                numbers = [x.e for x in own.entries]
                verdict.decide(numbers, Status.OPEN)
                self._leave_group(own, numbers, Reason.OTHER_CURRENCY, [], None)
        said = among(len(best.groups.n), [group.number for group in foreign]) | best.groups.is_home
        for g in np.flatnonzero(~said).tolist():  # of other currencies alone: their postings may hold others
            foreign.append(Group(g, tuple(self.members(g)), int(best.groups.due[g])))
        for piece in pieces:
            case.by_gross[piece.gross].append(piece)
            for account in piece.nets:
                case.by_account[account].append(piece)
        case.covers, case.is_known = self.covers, self.share >= KNOWN
        case.last_entry, case.names = int(self.frame.day.max()), _named(pieces, groups)
        if self.share < TOLD and self.base.sum() >= FEW:
            self._leave(groups)
            return
        others = defaultdict(list)
        for x in (x for group in groups if case.of_sums for x in group.entries):
            others[x.cents].append(x)
        holds = {group.number: may_hold(case, group) for group in groups}
        told = {group.number: stories_of(case, group, holds[group.number], others) for group in groups}
        for component in _components(groups, holds, told):
            self._say_component(component, holds, told)
        self._say_missing(groups, foreign, {p.number: p for p in pieces})

    def _leave(self, groups: Sequence[Group]) -> None:
        """How the ledger books is not known: nothing is said of what does not agree, but where to look."""
        for group in groups:
            for x in group.entries:
                equal = self.case.by_gross.get(x.cents, ())
                near = self._look(p for p in equal if x.day - EARLIER <= p.day <= x.day + LATEST)
                self.verdict.decide(x.e, Status.OPEN)
                self.verdict.look(x.e, near)
                self._leave_group(
                    Group(group.number, (x,), group.due), [x.e], Reason.STYLE_UNKNOWN, near, None
                )

    def _say_component(self, groups: Sequence[Group], holds: Mapping, told: Mapping) -> None:
        case, verdict = self.case, self.verdict
        pieces = {p.number: p for group in groups for p in holds[group.number]}
        strays = {number: self._price(piece, groups) for number, piece in pieces.items()}
        possible, solutions, all_tried = solve(groups, told, strays)
        # An entry is not decided while a posting that names it is left unexplained.
        unexplained = {
            n
            for n in pieces
            for chosen in solutions
            if not any(n in story.pieces for story in chosen.values())
        }
        named = {e: pieces[n] for n in unexplained for e in case.names.get(n, ())}
        for group in groups:
            own = holds[group.number]
            shown = (
                sorted({n for chosen in solutions for n in chosen[group.number].pieces}) if all_tried else []
            )
            names, opened = self._look(pieces[n] for n in shown), []
            for x in group.entries:
                states = set(possible[x.e]) if all_tried else set()
                if (
                    len(states) != 1
                    or Status.OPEN in states
                    or (x.e in named and case.is_near(group, named[x.e], x))
                ):
                    opened.append(x.e)
                    verdict.decide(x.e, Status.OPEN)
                    verdict.look(x.e, names)
                elif Status.MISSING not in states:
                    verdict.decide(x.e, *states)
                    verdict.look(x.e, names)
                    if Status.BOOKED in states and shown:
                        verdict.days_late[x.e] = pieces[shown[0]].day - x.day
            if opened:
                offs = {chosen[group.number].off for chosen in solutions if chosen[group.number].off}
                on_time = [p for p in own if case.is_on_time(group, p)]
                off = (
                    offs.pop()
                    if len(offs) == 1
                    else on_time[0].gross - group.total
                    if len(on_time) == 1
                    else None
                )
                self.offs[group.number] = off
                looked = [*(pieces[n] for n in shown), *(p for p in own if p.number not in shown)]
                self._leave_group(
                    group, _ranked(group, opened, off), Reason.SEVERAL_STORIES, self._look(looked), off
                )
        # Pieces that every solution uses are nobody else's.
        if solutions and all_tried:
            self.spent |= set.intersection(
                *({n for story in chosen.values() for n in story.pieces} for chosen in solutions)
            )

    def _price(self, piece: Piece, groups: Sequence[Group]) -> int:
        """What it costs to leave a posting unexplained: two if it names an entry, one if it is of the
        entries' kind."""
        if any(
            x.is_named_in(piece.text) and self.case.is_near(group, piece, x)
            for group in groups
            for x in group.entries
        ):
            return 2
        if not piece.is_kind or all(
            self.case.denies(group.entries, piece) and abs(piece.gross) not in group.amounts
            for group in groups
        ):
            return 0
        if any(self._is_like(group, piece) for group in groups):
            return 2
        return int(
            any(
                self.case.is_on_time(group, piece)
                or piece.gross * group.total <= 0
                or (piece.gross in group.amounts and group.start <= piece.day <= group.due + LATEST)
                for group in groups
            )
        )

    def _is_like(self, group: Group, piece: Piece) -> bool:
        """Whether a posting can but be of a receipt: its amount, or the opposite, on its accounts, and no text
        denies it."""
        case, like = self.case, piece.gross and abs(piece.gross) == abs(group.total)
        if case.of_sums:  # a posting of a sum takes back the one entry of its amount
            parts = [*((x,) for x in group.entries), *group.receipts]
            own = [
                part for part in parts if abs(sum(x.cents for x in part) + piece.gross) <= self.books.slack
            ]
            return (
                len(own) == 1
                and all(x.is_single and x.account in piece.nets for x in own[0])
                and bool(piece.gross)
            )
        if piece.gross * group.total > 0:  # a second one comes soon, and says what it is
            own = bool(case.kept) and piece.day - group.due < case.gate[1] + WEEK
        else:
            own = bool(case.kept) or all(x.is_single for x in group.entries)
        own = own and not case.denies(group.entries, piece)
        return bool(like) and group.accounts <= piece.nets.keys() and own

    def _may_be_in(self, x: Entry, group: Group, other: Group) -> bool:
        """Whether an open sum may hold an entry of another group: near it any, up to a week where so much is
        over."""
        days, off, gate = abs(other.due - group.due), self.offs.get(other.number), self.case.gate
        over = off is None or (off * x.cents > 0 and abs(off) >= abs(x.cents))
        return (
            days <= max(1, gate[1] - gate[0])
            or (days <= WEEK and over)
            or (days <= LATEST and off == x.cents)
        )

    def _say_missing(
        self, groups: Sequence[Group], foreign: Sequence[Group], pieces: Mapping[tuple, Piece]
    ) -> None:
        """What is left is missing, unless a free posting of the entries' kind, or an open sum nearby, may
        hold it."""
        case, verdict, named = self.case, self.verdict, defaultdict(list)
        unsolved = [
            *foreign,
            *(group for group in groups if any(verdict.status[x.e] == Status.OPEN for x in group.entries)),
        ]
        for n, some in case.names.items():
            for e in some:
                named[e].append(pieces[n])
        # What is left of a voucher of several accounts may hold several entries of other accounts.
        parts = [
            p
            for p in pieces.values()
            if p.is_kind and p.gross and self.books.accounts[p.v] > 1 and p.number not in self.spent
        ]
        # Two that cancel each other on their account leave nothing to book.
        left, cancelled = defaultdict(list), set()
        for x in (x for group in groups for x in group.entries if verdict.status[x.e] < 0):
            other = next((y for y in left[x.account, -x.cents] if abs(x.day - y.day) <= WEEK), None)
            cancelled |= {x.e, other.e} if other else set()
            left[x.account, x.cents].append(x)
        later = (
            2 * WEEK if case.of_sums or self.best.clock != "day" else 0
        )  # (a closed month's are in a later sum)
        for group in groups:
            for x in group.entries:
                if verdict.status[x.e] >= 0:
                    continue
                equal, kind = (
                    case.by_gross.get(x.cents, ()),
                    (p for p in case.by_account.get(x.account, ()) if p.is_kind and p.gross),
                )
                free = [
                    p
                    for p in (*equal, *kind, *parts)
                    if case.gate[0] - later <= p.day - group.due <= case.gate[1] + later
                    and not (case.denies([x], p) and (p.gross != x.cents or not p.is_kind))
                ]  # (no text alone makes an entry missing)
                if case.kept:  # Its own text, on its own account: another amount, at another time.
                    free += [
                        p
                        for p in case.by_account.get(x.account, ())
                        if p.is_kind and 0 <= p.day - x.day <= LATEST and not case.denies([x], p)
                    ]
                free += [p for p in named[x.e] if case.is_near(group, p, x)]
                free = self._look(p for p in free if p.number not in self.spent)
                if (
                    x.e in cancelled
                    or free
                    or (case.of_sums and any(self._may_be_in(x, group, other) for other in unsolved))
                ):
                    verdict.decide(x.e, Status.OPEN)
                    verdict.look(x.e, free)
                    own = Group(group.number, (x,), group.due)
                    self._leave_group(own, [x.e], Reason.MAY_BE_IN, free, None)
                else:
                    verdict.decide(x.e, Status.MISSING)


def _named(pieces: Sequence[Piece], groups: Sequence[Group]) -> dict[tuple, set[int]]:
    """Which entries of open groups each piece names, in the weeks after it; found by the rarest of the
    entry's words."""
    by_word, found = defaultdict(list), defaultdict(set)
    for piece in pieces:
        for word in piece.text:
            by_word[word].append(piece)
    for x in (x for group in groups for x in group.entries):
        for own in x.names:
            for piece in min((by_word.get(word, []) for word in own), key=len):
                if -EARLIER <= piece.day - x.day <= LATEST and x.is_named_in(piece.text):
                    found[piece.number].add(x.e)
    return found


def _components(groups: Sequence[Group], holds: Mapping, told: Mapping) -> list[list[Group]]:
    """Groups that one posting, or one entry, may belong to are told together."""
    owner = {x.e: group.number for group in groups for x in group.entries}
    parent = {group.number: group.number for group in groups}

    def root(name: Any) -> Any:
        while parent[name] != name:
            parent[name] = name = parent[parent[name]]
        return name

    first, out = {}, defaultdict(list)
    for group in groups:
        for piece in holds[group.number]:
            parent[root(group.number)] = root(first.setdefault(piece.number, group.number))
        for story in told[group.number]:
            if story.takes is not None:
                parent[root(group.number)] = root(owner[story.takes])
    for group in groups:
        out[root(group.number)].append(group)
    return [*out.values()]


def _ranked(group: Group, opened: Sequence[int], off: int | None) -> tuple[int, ...]:
    """The entries in question, those first that the difference points at."""

    def far(x: Entry) -> tuple:
        if off is None:
            return (0, -abs(x.cents))
        left = min(abs(off + x.cents), abs(off - x.cents))
        return (left != 0, off % 9 != 0 or left > 9 * abs(x.cents), left)

    return tuple(x.e for x in sorted((x for x in group.entries if x.e in opened), key=far))
