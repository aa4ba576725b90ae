"""The verdict of a general ledger about exported entries: booked, contradicted, or open.

A ledger books GROUPS of entries as VOUCHERS. The BOOKING UNIT says which entries make a group: one entry, the
lines of one receipt, a document, a supplier's day, a day, a week, a batch or a month, over all accounts or
account by account. The COST SIDE of a voucher is all of it but its contra accounts; it is the group's total,
to the cent, on the group's accounts. A voucher follows its group within the GATE: as many days as this ledger
usually takes, such as 2 to 4.

1. Vouchers go by number, else by document, else by the running balance; rows of one document, day, text and
   other side, on accounts of their own, are one. A contra account (creditor, bank, card, clearing) carries at
   least half of the costs in most of its vouchers, and most amounts posted to it are not moved on. What waits
   on a clearing account, which gives its amounts to costs later, is a cost.
   What rounds a payment by less than a unit is of the other side, where that explains more entries.
   Without a contra account there is no cost side, and all stays open.
2. The booking unit is the one that explains most entries; of two that explain as many, the finer. The gate
   holds 97% of the vouchers whose accounts and amount only one group and one voucher have; with fewer than
   five of these it is 0 to 6 days. Days count from the group's day, the end of its week or month, or the day
   of sending: whichever makes the gate narrowest, and then holds most. An entry of a closed month counts from
   the first day of the month that it was sent for.
3. Proven: of a total on an account there are as many vouchers as groups in a stretch of days that no gate
   crosses. Where nine in ten vouchers carry a text of their entry, one without it proves nothing; of a total
   that occurs once, a word in common is enough, unless the text names another entry of the amount.
4. Tax stands beside the costs in a voucher, so that they add up to the exported (gross) amounts. A cost is a
   fixed share of its amount, by account or tax code: less its tax, or less the part of it that is input tax.
   The shares are solved from all vouchers together, and have to give most postings, to the cents of rounding.
   Where they are used, each account of a voucher, or each of its lines, is a voucher of its own; also where
   that explains more entries, as beside a fee, or what is retained. A receipt whose voucher has its gross has
   the nets of that voucher, at whatever rate.
5. Foreign entries compare by original amounts, if the ledger keeps them. Else an entry alone in its group has
   the amount of the one voucher, in its gate and on its account, that no other entry can have. No rate is
   estimated.
6. Reopened, for the stories to decide: a proven pair beside which a free posting has its amount again, or the
   opposite: on its account, by the same contra accounts and cost centre, within 45 days; or with a number
   that only its own texts have, for a quarter.
7. Stories tell each open or reopened group: booked (in the gate or late), left out, on another account,
   booked twice, taken back, of another amount. A story costs one for each mistake that it needs (late is one,
   from a week on two, unless its text or its amount is of one entry alone; other words than the ledger's
   vouchers carry are two; the table in `stories` has all), and one for each posting of the entries' kind that
   it leaves unexplained; two, if the posting's text names an entry by its ID, its document, or its supplier
   and description. An entry gets a status where ALL CHEAPEST STORIES AGREE on it. All else is open: a group,
   its difference, its candidates.
8. Missing is the last word: 80% of the entries that can be compared have their amount in the ledger, its days
   reach from the first to the last day of the gate, and nothing free may hold the entry (`lookalikes` has the
   list). Two entries of one account that cancel each other within a week are open: a ledger may book neither.

If the unit explains less than half of five or more entries, only exact pairs are booked. An entry without an
account, or whose gate lies wholly outside of the ledger's days, is not comparable. What takes back comes
after; a charge of a month later is another month's, unless its text names the entry.

It cannot tell which entry of a sum has an amount that is some units off, which of equal entries is missing,
accounts that the ERP replaces by others, or a sum with a foreign entry and others.

Asserted: pairs have equal accounts and totals, and are in the gate; a proven group has one voucher, and a
posting one group; an entry gets its status once, and each gets one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import polars as pl

from bktools.ledger.annotated_postings import (
    AnnotatedPostings,
    annotated_postings,
    with_account_numbers,
)
from bktools.ledger.booking_units import ACCOUNT, EARLIER, FEW, LATEST, VOUCHER, Gate, clocks_of, covered_by
from bktools.ledger.candidates import Entry, FreePieces, Group, Piece
from bktools.ledger.carried_texts import carried_texts, without_denied
from bktools.ledger.entry_rows import taken_back_in_a_row
from bktools.ledger.foreign_facts import at_their_rates
from bktools.ledger.leftovers import Kinds, on_their_accounts, pieces_left, reopened
from bktools.ledger.lookalikes import Lookalikes, decide_missing, look_first
from bktools.ledger.matching import DECIDABLE, Matching, matching_of, ranked_matchings
from bktools.ledger.net_views import View, on_lines, on_nets, with_gross_facts
from bktools.ledger.tax_rates import rates_of
from bktools.ledger.telling import Telling, hold, leave_by_account, leave_open, likeliest, with_tax
from bktools.ledger.verdict import Habits, Reason, Status, Verdict
from bktools.ledger.whole_numbers import Columns, Flags, among
from bktools.ledger.working_papers import WorkingPapers

# So many of the entries must have a voucher of the booking unit before one is called missing.
KNOWN = 0.8


def verdict_of(
    entries: pl.DataFrame,
    postings: pl.DataFrame,
    *,
    style: str | None = None,
    reverse_sign: bool | None = None,
    explained: Collection[int] = (),
    currency: str | None = None,
    until: int | None = None,
) -> Verdict:
    """Return what became of each entry.

    Parameters
    ----------
    entries : DataFrame
        As `inputs` makes it.
    postings : DataFrame
        As `inputs` makes it.
    style : str, optional
        What has one voucher, where a person knows it: one of `STYLES`.
    reverse_sign : bool, optional
        Whether credits are costs; by default, as most postings on the entries' accounts show it.
    explained : collection of int
        Rows of postings that hold none of the entries.
    currency : str, optional
        The ledger's currency, where the ledger has no column of it.
    until : int, optional
        The last day that the ledger shows, as days since 1970-01-01; by default that of its last posting.
    """
    ours = Columns(entries, e=np.arange(entries.height))
    has_values = (
        entries.select(pl.all_horizontal(pl.col("day", "cents", "account").is_not_null()))
        .to_series()
        .to_numpy()
    )
    ours = ours.take(has_values)
    ours = ours.also(**clocks_of(ours))
    theirs = Columns(postings, row=np.arange(postings.height))
    is_whole = postings.select(pl.all_horizontal(pl.col("day", "cents").is_not_null())).to_series().to_numpy()
    theirs = theirs.take(is_whole & ~among(postings.height, [*explained]))
    verdict = Verdict(entries.height, postings["cents"].fill_null(0).to_numpy())
    verdict.habits = Habits(currency=currency)
    verdict.decide(np.flatnonzero(~has_values), Status.NOT_COMPARABLE, Reason.VALUE_UNKNOWN)
    names = postings["account"].drop_nulls().implode()
    if postings.height and not entries["account"].is_in(names).any():
        verdict.covered = covered_by(theirs.day, until)
        verdict.decide(np.flatnonzero(has_values), Status.NOT_COMPARABLE, Reason.OTHER_ACCOUNTS)
    elif has_values.any():
        sign = None if reverse_sign is None else -1 if reverse_sign else 1
        verdict.habits, verdict.covered = _judge(verdict, ours, theirs, style, sign, currency, until)
    assert (verdict.status >= 0).all(), "each entry has a status"
    return verdict


def _judge(
    draft: Verdict,
    entries: Columns,
    lines: Columns,
    style: str | None,
    sign: int | None,
    currency: str | None,
    until: int | None,
) -> tuple[Habits, Gate]:
    """Judge entries and postings in the ledger's currency; foreign ones by their original amounts."""
    entries, lines = with_account_numbers(entries, lines, entries.table["account"], lines.table["account"])
    books = annotated_postings(entries, lines, sign)
    draft.gross = draft.gross * books.sign
    currency = _currency_of(entries, books, currency)
    is_home = _is_of(entries.table["currency"], currency)
    entries = entries.also(is_home=is_home, is_foreign=~is_home, is_original=np.zeros_like(is_home))
    money = _original_currencies(entries, lines, currency)
    is_original = money.is_not_null().to_numpy()
    if is_original.any():
        rows, gross = books.gross_by_row()
        draft.gross[rows] = gross
        entries, lines = _in_original_amounts(entries, lines, money)
        books = annotated_postings(entries, lines, books.sign)
    covered = covered_by(books.lines.day, until)
    home = entries.take(entries.is_home)
    ranked = ranked_matchings(home, books, style) if len(home) else []
    if not ranked:
        draft.decide(entries.e, Status.NOT_COMPARABLE, Reason.OTHER_CURRENCY)
        return Habits(currency=currency, sign=books.sign), covered
    rounded = books.without_rounding()
    if ranked[0].entries < len(home) and not np.array_equal(rounded.is_cost, books.is_cost):
        again = ranked_matchings(home, rounded, style)
        if again[0].entries > ranked[0].entries:
            books, ranked = rounded, again
    # What is shown of a posting has its tax, also where nets are compared, and is in the ledger's currency.
    rows, gross = books.gross_by_row()
    is_home = ~among(len(draft.gross), lines.row[is_original])[rows]
    draft.gross[rows[is_home]] = gross[is_home]
    with_tax = books
    entries, books, ranked = _without_tax(entries, books, ranked, style)
    matching = ranked[0]
    if books is not with_tax or not entries.is_home.all():
        matching = matching_of(entries, books, matching.unit, like=matching)
    papers = WorkingPapers(draft, entries, books, matching, covered)
    share = _decide(papers)
    return _habits_of(papers, share, currency), covered


def _habits_of(papers: WorkingPapers, share: float, currency: str | None) -> Habits:
    matching, books = papers.matching, papers.books
    return Habits(
        unit=matching.unit.name,
        by_account=matching.unit.part == ACCOUNT,
        clock=matching.clock,
        gate=matching.gate,
        share=share,
        is_known=share >= KNOWN,
        tax_rates=tuple(rate for rate in books.rates if rate),
        sign=books.sign,
        currency=currency,
        texts=papers.practice.carried or (),
    )


# ---- currencies


def _currency_of(entries: Columns, books: AnnotatedPostings, given: str | None) -> str | None:
    """Return the ledger's currency: of its column; as given; that of most entries, most of which it meets."""
    theirs, ours = books.lines.table["currency"].drop_nulls(), entries.table["currency"]
    if len(theirs):
        return str(theirs.mode().sort()[0])
    if given or ours.null_count() == len(ours):
        return given
    there = {*zip(books.cell_account.tolist(), books.gross[books.cell_v].tolist(), strict=True)}
    own = zip(entries.account.tolist(), entries.cents.tolist(), strict=True)
    met = pl.DataFrame({"currency": ours, "met": [key in there for key in own]}).drop_nulls()
    counts = met.group_by("currency").agg(pl.col("met").sum(), pl.len())
    first = counts.sort("met", "len", "currency", descending=True).row(0, named=True)
    return str(first["currency"]) if 2 * first["len"] > len(ours) else None


def _is_of(currencies: pl.Series, currency: str | None) -> Flags:
    """Return which entries are in the ledger's currency; where it is not known, none that names one."""
    if currency is None:
        return np.full(len(currencies), currencies.null_count() == len(currencies))
    return (currencies.is_null() | (currencies == currency).fill_null(value=False)).to_numpy()


def _original_currencies(entries: Columns, lines: Columns, currency: str | None) -> pl.Series:
    """Return the currency of each posting that counts by its original amount; null for all other postings.

    Such a posting is in another currency as a whole, or has an amount in a currency that entries have.
    """
    foreign = entries.table["currency"].filter(pl.Series(~entries.is_home)).drop_nulls().unique()
    is_other = pl.col("currency") != (currency or pl.col("currency"))
    has_original = pl.col("fcents").is_not_null() & pl.col("fcurrency").is_in(foreign.implode())
    money = pl.when(is_other).then("currency").when(has_original & (currency is not None)).then("fcurrency")
    return lines.table.select(money).to_series()


def _in_original_amounts(entries: Columns, lines: Columns, money: pl.Series) -> tuple[Columns, Columns]:
    """Return both sides with original amounts, on an account of its own for each currency."""
    own = pl.format("{} {}", "account", "currency")
    is_own = entries.table["currency"].is_in(money.drop_nulls().unique().implode()).fill_null(value=False)
    of_entries = entries.table.select(pl.when(is_own).then(own).otherwise("account")).to_series()
    has_original = money.is_not_null()
    of_account = pl.when(has_original).then(pl.format("{} {}", "account", money)).otherwise("account")
    of_lines = lines.table.select(of_account).to_series()
    is_whole = (lines.table["currency"] == money).fill_null(value=False)
    cents = np.where((has_original & ~is_whole).to_numpy(), lines.fcents, lines.cents)
    # What stands beside such costs alone, a tax and a contra account, is in the ledger's currency.
    is_original, count = has_original.to_numpy(), int(lines.v.max(initial=-1)) + 1
    is_used = of_lines.is_in(of_entries.unique().implode()).fill_null(value=False).to_numpy()
    is_alone = among(count, lines.v[is_original]) & ~among(count, lines.v[is_used & ~is_original])
    cents = np.where(is_alone[lines.v] & ~is_original, 0, cents)
    entries = entries.also(is_home=entries.is_home | is_own.to_numpy(), is_original=is_own.to_numpy())
    return with_account_numbers(entries, lines.also(cents=cents), of_entries, of_lines)


# ---- tax


def _without_tax(
    entries: Columns, books: AnnotatedPostings, ranked: list[Matching], style: str | None
) -> tuple[Columns, AnnotatedPostings, list[Matching]]:
    """Return entries, ledger and matchings without tax, where that explains as many entries."""
    best, home, gross, with_tax = ranked[0], int(entries.is_home.sum()), books, ranked
    views: list[View | None] = []
    if best.entries < home or best.unit.part == VOUCHER:
        views.append(on_nets(entries, books, ranked))
    is_odd = best.unit.is_sum or best.entries < KNOWN * home
    if is_odd and (books.gross != books.on_used).any():
        views.append((entries, books.by_lines(with_tax=True)))
    if best.entries < home or best.unit.is_sum:
        views.append(on_lines(entries, books, is_sum=best.unit.is_sum))
    for view in filter(None, views):
        own, ledger = view
        again = ranked_matchings(own.take(own.is_home), ledger, style)
        # Beside vouchers of entries, lines have to show more: a fee, a stamp, or what is retained.
        if again and again[0].entries >= ranked[0].entries + (not is_odd):
            entries, books, ranked = own, ledger, again
    if books is not gross:
        entries = with_gross_facts(entries, gross, with_tax, ranked[0])
    return entries, books, ranked


# ---- the steps


def _decide(papers: WorkingPapers) -> float:
    """Give each entry its status; return the share of entries that the booking unit explains."""
    practice = papers.practice
    practice.carried = carried_texts(papers)
    # Where vouchers carry the supplier, a description alone names no entry.
    describes = practice.carried is not None and "supplier" not in practice.carried
    papers.use(papers.entries, describes=describes)
    if practice.carried is not None:
        papers.matching = without_denied(papers)
    if not papers.entries.is_home.all() and papers.share >= DECIDABLE:
        papers.use(at_their_rates(papers), describes=describes)
        papers.matching = matching_of(
            papers.entries, papers.books, papers.matching.unit, like=papers.matching
        )
        if practice.carried is not None:
            papers.matching = without_denied(papers)
    practice.rates = rates_of(papers.entries, papers.voucher_of_entry(), papers.books)
    share, pairs = papers.share, len(papers.matching.group)
    papers.matching = on_their_accounts(papers)
    if len(papers.matching.group) < DECIDABLE * pairs:
        # Totals agree, accounts do not: this is not how the ledger books.
        share = papers.share
    kinds = Kinds.of(papers)
    # Of few pairs, and by another account than usual, an equal amount may be met by chance.
    is_few = share < DECIDABLE and papers.compared.sum() >= FEW
    by_chance = np.full(len(papers.matching.group), is_few) | ~kinds.is_kind[papers.matching.vouchers]
    papers.matching = papers.matching.only(~by_chance | _is_named(papers, by_chance.copy()))
    practice.is_known = share >= KNOWN
    practice.days = int(papers.entries.day.min()), int(papers.entries.day.max())
    outside = papers.entries.take(papers.is_outside)
    practice.outside = frozenset(zip(outside.account.tolist(), outside.cents.tolist(), strict=True))
    pieces, proven = pieces_left(papers, kinds), len(papers.matching.group)
    papers.matching = reopened(papers, pieces)
    if len(papers.matching.group) < proven:
        pieces = pieces_left(papers, kinds)
    _leave_taken_back(papers, pieces)
    _decide_proven(papers)
    _decide_foreign(papers, pieces)
    entries = papers.entries.e
    outside = entries[papers.is_outside & (papers.draft.status[entries] < 0)]
    papers.draft.decide(outside, Status.NOT_COMPARABLE, Reason.NOT_COVERED)
    _decide_others(papers, pieces, share)
    return share


def _is_named(papers: WorkingPapers, asked: Flags) -> Flags:
    """Return of the pairs in question in which ones a text names an entry."""
    some = papers.matching.only(asked)
    texts = papers.books.texts(some.vouchers.tolist())
    asked[asked] = [any(x.is_named_in(texts[v]) for x in papers.of(own)) for _, own, v, _ in some.rows()]
    return asked


def _leave_taken_back(papers: WorkingPapers, pieces: Sequence[Piece]) -> None:
    """Leave the groups open of which a later sum may take entries back."""
    taken_back = taken_back_in_a_row(papers, pieces)
    groups = np.unique(papers.matching.groups.of_entry[np.isin(papers.entries.e, [*taken_back])]).tolist()
    for number in groups:
        own = papers.members(number)
        rows = papers.first_rows(piece for x in own for piece in taken_back.get(x.e, ()))
        leave_open(papers, papers.group(number, own), own, Reason.SEVERAL_STORIES, rows)
    papers.matching = papers.matching.without(groups)


def _decide_proven(papers: WorkingPapers) -> None:
    """Give the entries of pairs their status."""
    matching, draft, groups = papers.matching, papers.draft, papers.matching.groups
    assert matching.is_paired.sum() == len(matching.group), "a group has one voucher"
    assert among(len(matching.parts.v), matching.part).sum() == len(matching.part), "a voucher has one group"
    late = matching.parts.day[matching.part] - groups.due[matching.group]
    assert ((late >= matching.gate[0]) & (late <= matching.gate[1])).all(), "pairs are in the gate"
    pair = np.full(len(groups.size), -1)
    pair[matching.group] = np.arange(len(matching.group))
    pair = pair[groups.of_entry]
    own, pair = papers.entries.take(pair >= 0), pair[pair >= 0]
    e, late = own.e, matching.parts.day[matching.part][pair] - own.day
    is_own = (groups.size[matching.group][pair] == 1) | (not matching.unit.is_sum)
    draft.decide(e, np.where(is_own, Status.BOOKED, Status.IN_A_SUM))
    draft.days_late[e] = np.where(is_own, late, 0)
    draft.match(e, pair, *papers.books.rows_of(matching.vouchers, matching.parts.account[matching.part]))


def _decide_foreign(papers: WorkingPapers, pieces: Sequence[Piece]) -> None:
    """Give entries without an amount in the ledger's currency their status.

    One in the ledger's currency has no known rate of tax, and is open.
    """
    entries = papers.entries
    is_open = ~entries.is_home & (papers.draft.status[entries.e] < 0)
    is_foreign = is_open & entries.is_foreign
    papers.draft.decide(entries.e[is_foreign], Status.NOT_COMPARABLE, Reason.OTHER_CURRENCY)
    for at in np.flatnonzero(is_open & ~is_foreign).tolist():
        (x,) = papers.of([int(entries.e[at])])
        own = papers.group(int(papers.matching.groups.of_entry[at]), [x])
        near = (
            piece for piece in pieces if x.account in piece.nets and papers.practice.is_on_time(own, piece)
        )
        leave_open(papers, own, [x], Reason.SEVERAL_STORIES, papers.first_rows(near))


def _decide_others(papers: WorkingPapers, pieces: Sequence[Piece], share: float) -> None:
    """Tell the open groups; what no story finds is missing, or open."""
    practice, draft, groups = papers.practice, papers.draft, papers.matching.groups
    undecided = np.unique(groups.of_entry[draft.status[papers.entries.e] < 0]).tolist()
    papers.load(undecided)
    opened: list[Group] = []
    foreign: list[Group] = []
    for number in undecided:
        own = papers.group(number, [x for x in papers.members(number) if draft.status[x.e] < 0])
        (opened if groups.is_home[number] else foreign).append(own)
    sums = [*foreign]
    decided = np.flatnonzero(~groups.is_home & ~among(len(groups.size), undecided)).tolist()
    foreign += [papers.group(number, papers.members(number)) for number in decided]
    practice.free = FreePieces(pieces, (x for own in (*opened, *sums) for x in own.entries))
    for own in sums:  # no rate is estimated
        leave_open(papers, own, _without_named(papers, own), Reason.OTHER_CURRENCY)
    # Fewer entries than show a habit are told by the plainest one.
    if share < DECIDABLE and papers.compared.sum() >= FEW:
        for own in opened:
            _leave_unknown(papers, own)
        free = Lookalikes(papers, ())
    else:
        telling = Telling(papers, opened)
        free = Lookalikes(papers, telling.used)
        decide_missing(papers, telling, foreign, free)
    leave_by_account(papers)
    look_first(papers, free)


def _leave_unknown(papers: WorkingPapers, group: Group) -> None:
    """Leave a group open where the ledger does not show how it books: beside a sum that is near, if any."""
    parts, part = papers.matching.parts, int(papers.matching.nearest[group.number])
    if part >= 0:
        booked = int(parts.total[part])
        rows = papers.books.rows_of_part(int(parts.v[part]), int(parts.account[part])).tolist()
        # What was moved with the text of an entry is no difference.
        free = papers.practice.free
        for account in group.accounts:
            moves = [p for p in free.on(account, group.start, group.due + LATEST) if p.is_move]
            for move in (move for move in moves if free.named.get(move.id)):
                booked += move.nets[account]
                rows += papers.books.rows_of_part(*move.id).tolist()
        others = likeliest(_without_named(papers, group), booked - group.total)
        booked = with_tax(papers, group, booked)
        hold(papers, group, rows, booked)
        leave_open(papers, group, others, Reason.SEVERAL_STORIES, rows, booked)
        return
    for x in group.entries:
        near = (
            p for p in papers.practice.free.of_gross.get(x.cents, ()) if -EARLIER <= p.day - x.day <= LATEST
        )
        leave_open(
            papers, papers.group(group.number, [x]), [x], Reason.STYLE_UNKNOWN, papers.first_rows(near)
        )


def _without_named(papers: WorkingPapers, group: Group) -> list[Entry]:
    """Leave the entries open that a posting names, each beside that posting; return the others of a group."""
    practice, others = papers.practice, []
    for x in group.entries:
        naming = [piece for piece in practice.free.naming.get(x.e, ()) if practice.is_near(group, piece, x)]
        if naming:
            single = papers.group(group.number, [x])
            leave_open(papers, single, [x], Reason.MAY_BE_IN, papers.first_rows(naming))
        else:
            others.append(x)
    return others
