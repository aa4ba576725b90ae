"""The verdict of a ledger about entries, from the top down: habits, totals, groups, entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from bktools.ledger.by_text import judge_by_text
from bktools.ledger.differences import judge_cells
from bktools.ledger.elsewhere import judge_elsewhere
from bktools.ledger.errors_in_sums import judge_errors_in_sums
from bktools.ledger.exchange import Rate, exchanged
from bktools.ledger.explained import KNOWN, Explained
from bktools.ledger.explanation import explained_by_totals
from bktools.ledger.habits import books_of
from bktools.ledger.judgement import THERE, Judgement, Note, begun
from bktools.ledger.open_groups import excess, open_of
from bktools.ledger.proof import judge_missing
from bktools.ledger.reversals import (
    in_own_months,
    judge_late,
    judge_multiples,
    judge_whole_sums,
    without_undone,
)
from bktools.ledger.sides import Sides
from bktools.ledger.statuses import Reason, Status
from bktools.ledger.steps import Grain
from bktools.ledger.style import Style, style_of
from bktools.ledger.sums import without_late, without_odd_sums
from bktools.ledger.text_columns import Numbers
from bktools.ledger.whole_vouchers import judge_pooled

# Statuses of an entry that is in the ledger.
FOUND = (
    Status.BOOKED,
    Status.IN_A_SUM,
    Status.ANOTHER_DATE,
    Status.ANOTHER_ACCOUNT,
    Status.ANOTHER_AMOUNT,
    Status.BOOKED_TWICE,
)


@dataclass(frozen=True)
class Verdict:
    """What became of each entry, and how the ledger books. Entries and postings are named by their rows.

    Parameters
    ----------
    style : Style
        What has one posting, how late, and how much of the entries that explains.
    sign : int
        -1 where the ledger's credits are the entries' costs.
    tax_rates : tuple of int
        In thousandths, where the ledger books costs without their tax.
    has_pooled_tax : bool
        Whether one tax stands for several accounts.
    rates : tuple of Rate
        At which entries of other currencies are booked.
    status, how, grain : arrays
        Of each entry: its Status, and how it was found: a How, and for a sum its Grain.
    posting : array
        The posting of each entry, -1 where there is none; of a sum the first one.
    notes : mapping
        Why an entry has its status, where that is not plain.
    doubles, reversals : mapping
        Postings that book an entry again, or take it back, with the entry.
    undone : frozenset
        Postings that undo one another.
    members, lines : DataFrame
        The groups that agree to the cent: (gid, e, measure, is_alone) and (gid, p, is_alone). A group that is
        alone has one entry and one posting.
    postings : DataFrame
        The postings with their role, their gross amount, and the sign of the entries.
    scale : int
        Decimals of the whole minor units.
    currency : str or None
        The ledger's own currency, where it is known.
    other_cost_centres : mapping
        Entries that are booked with another cost centre, and with which.
    """

    style: Style
    sign: int
    tax_rates: tuple[int, ...]
    has_pooled_tax: bool
    rates: tuple[Rate, ...]
    status: npt.NDArray[np.int8]
    how: npt.NDArray[np.int8]
    grain: npt.NDArray[np.int8]
    posting: Numbers
    notes: Mapping[int, Note]
    doubles: Mapping[int, int]
    reversals: Mapping[int, int]
    undone: frozenset[int]
    members: pl.DataFrame
    lines: pl.DataFrame
    postings: pl.DataFrame
    scale: int
    currency: str | None
    other_cost_centres: Mapping[int, str]

    def money(self, units: int) -> str:
        """Return whole minor units as an exact amount."""
        return str(Decimal(units).scaleb(-self.scale))

    def facts(self) -> dict[str, Any]:
        """Return how the ledger books, as codes and numbers."""
        return {
            "style": self.style.grain.code,
            "lag": self.style.lag,
            "explained": round(100 * self.style.known),
            "is_known": self.style.is_known,
            "is_net": bool(self.tax_rates) and self.has_pooled_tax,
            "tax_rates": [f"{rate / 10:g}" for rate in self.tax_rates],
            "sign": self.sign,
            "currency": self.currency,
        }


def verdict_of(
    sides: Sides,
    *,
    grain: Grain | None = None,
    sign: int | None = None,
    explained: Sequence[int] = (),
    is_known: bool = False,
) -> Verdict:
    """Return the verdict.

    Parameters
    ----------
    sides : Sides
        Entries and postings.
    grain, sign
        How the ledger books, where a person says it or other entries show it.
    explained : sequence of int
        Postings that hold none of the entries.
    is_known : bool
        Whether the style is known though the entries do not show it.
    """
    books = books_of(sides, sign=sign)
    state = explained_by_totals(sides, books, pl.Series(explained, dtype=pl.Int64))
    style = style_of(state, grain)
    usual = without_odd_sums(state, style.grain)
    style, state = (style if usual is state else style_of(usual, grain)), usual
    explained_at_home = state
    state, rates = exchanged(state, style.grain, style.lag)
    if state is not explained_at_home:
        # What was little explained before may have shown another grain.
        state = without_odd_sums(state, style_of(state, grain).grain)
        style = style_of(state, grain)
    if is_known:
        style = replace(style, known=1.0, is_partial=True)
    elif style.known < KNOWN / 2:
        state = without_late(state)
        style = style_of(state, grain)
    state, undone = without_undone(state, style)
    state, undone = in_own_months(state, undone)
    judgement = begun(state, style, sides.entries.height)
    judgement.undone |= undone
    for entry in sides.entries.filter(~pl.col("is_known"))["e"].to_list():
        judgement.say(entry, Status.NOT_COMPARABLE, note=Note(Reason.VALUE_UNKNOWN))
    judge_late(judgement)
    judge_multiples(judgement, state.named_or_used, in_sums=False)
    _judge_rest(judgement, rates)
    judgement.undecided(np.flatnonzero(judgement.status == Status.OPEN).tolist(), Reason.STYLE_UNKNOWN)
    return _verdict(sides, judgement, rates)


def _judge_rest(judgement: Judgement, rates: tuple[Rate, ...]) -> None:
    """Judge what totals do not explain: by texts, groups and other places; the rest is missing or open."""
    rest = open_of(judgement, rates)
    if rest is None:
        return
    if judgement.style.grain is Grain.ENTRY:
        judge_by_text(judgement, rest)
        rest.out = [*rest.entries]
        judge_elsewhere(judgement, rest)
        rest.out = []
    if judgement.state.books.has_pooled_tax and not judgement.state.has_net:
        judge_pooled(judgement, rest)
    judge_cells(judgement, rest)
    judge_elsewhere(judgement, rest)
    judge_errors_in_sums(judgement, rest)
    # What is open beside single entries may be the second posting of another one.
    cells = excess(rest.cells) if judgement.style.grain is Grain.ENTRY else []
    beside = (posting for cell in cells for posting in cell.postings)
    free = judgement.state.used.filter(pl.col("p").is_in([*rest.free, *beside]))
    judge_whole_sums(judgement, free, rest.of_style)
    judge_multiples(judgement, free, in_sums=True)
    rest.use(*judgement.doubles, *judgement.reversals)
    judge_missing(judgement, rest)


def _verdict(sides: Sides, judgement: Judgement, rates: tuple[Rate, ...]) -> Verdict:
    state = judgement.state
    members, lines = _groups(state)
    return Verdict(
        style=judgement.style,
        sign=state.books.sign,
        tax_rates=state.rates,
        has_pooled_tax=state.books.has_pooled_tax,
        rates=rates,
        status=judgement.status,
        how=judgement.how,
        grain=judgement.grain,
        posting=judgement.posting,
        notes=judgement.notes,
        doubles=judgement.doubles,
        reversals=judgement.reversals,
        undone=frozenset(judgement.undone),
        members=members,
        lines=lines,
        postings=state.books.postings.select(
            "p", "account", "key", "day", "month", "amount", "gross", "role", "is_used", "voucher", "id"
        ),
        scale=sides.scale,
        currency=sides.currency,
        other_cost_centres=_other_cost_centres(sides, judgement),
    )


def _groups(state: Explained) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the members and the lines of all groups, numbered through."""
    members = [
        pl.DataFrame(schema={"gid": pl.Int64, "e": pl.Int64, "measure": pl.Int8, "is_alone": pl.Boolean})
    ]
    lines = [pl.DataFrame(schema={"gid": pl.Int64, "p": pl.Int64, "is_alone": pl.Boolean})]
    first = 0
    for group in state.groups:
        gid, is_alone = pl.col("gid").cast(pl.Int64) + first, pl.lit(group.is_alone)
        measure = pl.lit(int(group.measure), pl.Int8)
        members.append(group.members.select(gid, "e", measure=measure, is_alone=is_alone))
        lines.append(group.lines.select(gid, "p", is_alone=is_alone))
        first += 1 + int(group.members["gid"].max())  # type: ignore[arg-type]
    return pl.concat(members), pl.concat(lines)


def _other_cost_centres(sides: Sides, judgement: Judgement) -> dict[int, str]:
    """Return the entries alone in their posting with another cost centre there, if both sides have one."""
    if sides.entries["cost_centre"].null_count() == sides.entries.height:
        return {}
    is_alone = (
        np.isin(judgement.status, THERE) & (judgement.status != Status.IN_A_SUM) & (judgement.posting >= 0)
    )
    entries = np.flatnonzero(is_alone)
    ours = sides.entries["cost_centre"].gather(entries)
    theirs = sides.postings["cost_centre"].gather(judgement.posting[entries])
    differs = (ours.str.to_lowercase() != theirs.str.to_lowercase()).fill_null(value=False)
    return dict(zip(entries[differs.to_numpy()].tolist(), theirs.filter(differs).to_list(), strict=True))
