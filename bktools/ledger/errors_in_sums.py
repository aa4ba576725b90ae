"""Errors in sums: an entry that is in its sum twice, or has another amount there."""

from __future__ import annotations

from bktools.ledger.differences import explanations
from bktools.ledger.explained import EARLIER, KNOWN, LARGEST_TAX, LATER
from bktools.ledger.judgement import Judgement, known, may_be_net, nets_of
from bktools.ledger.open_groups import Cell, Open
from bktools.ledger.sole_entry import WHOLE, share_off
from bktools.ledger.statuses import Reason, Status
from bktools.ledger.steps import Grain, How


def judge_errors_in_sums(judgement: Judgement, rest: Open) -> None:
    """Say which entry each remaining cell holds twice, or which one with another amount.

    Cells that nothing explains are not decided.
    """
    share = share_off(judgement, len(rest.cells))
    for cell in rest.cells:
        if cell.is_settled or not cell.values:
            continue
        if cell.is_lone and not (judgement.is_open(*cell.values) and cell.postings[0] in rest.known):
            # The cell's entry is somewhere else, or its posting belongs to another entry.
            cell.is_settled = True
            continue
        entries = list(cell.values)
        out, twice = explanations(judgement, cell, share)
        if (
            twice is not None
            and out is None
            and not (_may_be_of_another(judgement, rest, twice) or _may_hold_another(judgement, rest, cell))
        ):
            judgement.say(twice, Status.BOOKED_TWICE, How.DIFFERENCE, cell.postings[0])
            judgement.whole([entry for entry in entries if entry != twice], cell.postings[0], How.DIFFERENCE)
            cell.is_settled = True
        elif twice is None and _is_another_amount(judgement, rest, cell):
            judgement.say(entries[0], Status.ANOTHER_AMOUNT, How.DIFFERENCE, cell.postings[0])
            cell.is_settled = True
        else:
            judgement.undecided(entries, Reason.SUM_DIFFERS, cell.postings, cell.difference)
        # Then they are no second posting of another entry.
        rest.add_postings(cell)


def _may_be_of_another(judgement: Judgement, rest: Open, entry: int) -> bool:
    """Whether an entry that is not found, of days near those of an entry, has its amount, too."""
    own = rest.entries[entry]
    return any(
        row["gross"] == own["gross"]
        and other != entry
        and abs(row["due"] - own["due"]) <= judgement.style.lag + EARLIER
        and judgement.status[other] in (Status.OPEN, Status.NOT_DECIDED)
        for other, row in rest.entries.items()
    )


def _may_hold_another(judgement: Judgement, rest: Open, cell: Cell) -> bool:
    """Whether an entry of another account and the cell's day is not found, and the difference may be of it.

    A further error makes the rest of the difference: where amounts are gross, one of whole units.
    """
    is_gross = all(value == rest.entries[entry]["gross"] for entry, value in cell.values.items())
    return any(
        rest.entries[other]["due"] == cell.due
        and judgement.is_open(other)
        and rest.entries[other]["home"] != cell.key
        and 0 < (gross := rest.entries[other]["gross"]) / cell.difference <= LARGEST_TAX
        and (not is_gross or (cell.difference - gross) % WHOLE == 0)
        and not judgement.is_refused(other, cell.postings[0])
        for other in rest.out
    )


def _is_another_amount(judgement: Judgement, rest: Open, cell: Cell) -> bool:
    """Whether a cell is one entry and one posting on one side, and no text or other entry says no."""
    if not cell.is_lone or cell.total * sum(cell.values.values()) <= 0:
        return False
    (entry,), (posting,) = cell.values, cell.postings
    said = judgement.state.texts.agree(entry, posting)
    if may_be_net(cell.values[entry], cell.total) and known(judgement) < KNOWN:
        return False
    if cell.total in nets_of(judgement, rest.entries[entry]["gross"]):
        # The entry has another tax than the others of its kind.
        return False
    if judgement.style.grain is Grain.ENTRY or (not said and judgement.style.grain is not Grain.ACCOUNT_DAY):
        return bool(said)
    if judgement.size[entry] > 1:
        # Another posting explains the other entries of its group.
        return False
    # The sum may hold an entry that another account or cell of its days lacks, or that is taken back later.
    days = range(rest.known[posting]["day"] - judgement.style.lag, rest.known[posting]["day"] + 1)
    others = [other for other in rest.out if rest.entries[other]["due"] in days and judgement.is_open(other)]
    off = [
        other for cell_ in rest.cells if cell_.due in days and not cell_.is_settled for other in cell_.entries
    ]
    back = [
        row
        for row in rest.free.values()
        if row["key"] == cell.key
        and row["amount"] * cell.total < 0
        and -EARLIER <= row["day"] - cell.due <= LATER
    ]
    claims = [other for other, note in judgement.notes.items() if posting in note.postings]
    is_alone = not claims and all(
        other == entry or judgement.is_refused(other, posting) for other in (*others, *off)
    )
    return said is not False and posting in rest.of_style and is_alone and not back
