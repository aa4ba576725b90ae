"""Counts a verdict's results in a world with known truth, by statuses alone, apart from the product."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations

THERE = {"booked", "in_a_sum"}
OPEN = {"open", "not_comparable"}
EXACT = {
    "omitted": {"missing"},
    "twice": {"booked_twice"},
    "wrong account": {"another_account"},
    "wrong amount": {"another_amount"},
    "reversed": {"reversed"},
    "rebooked": THERE,
}
# The entries of an open group that a person is shown.
MOST_CANDIDATES = 3
# Errors of one account and month that cancel to the cent leave its total as it was: such entries may be said
# to be in a sum. Equal entries on one account are interchangeable: what was planted in one may be said of
# another.


def judged(world, statuses):
    """Return counts: entries, plain, undecided; false misses, false bookings, wrong; planted, exact."""
    counts: Counter = Counter(entries=len(statuses))
    wrong: list[tuple] = []
    cancelled = _cancelled(world)
    classes = defaultdict(list)
    for number, row in enumerate(world.rows):
        classes[row["account_code"], row["cents"], row["currency"]].append(number)
    for every in classes.values():
        in_a_total = [one for one in every if one in cancelled and statuses[one] == "in_a_sum"]
        counts.update(("planted", "planted right") * len(in_a_total))
        numbers = [one for one in every if one not in in_a_total]
        kinds = [world.planted.get(number) for number in numbers]
        said = [statuses[number] for number in numbers]
        if len(every) > 1 and any(kinds):
            counts.update(_of_equals(kinds, said, wrong, numbers))
            continue
        for number, kind, status in zip(numbers, kinds, said, strict=True):
            counts.update(_of_one(kind, status, wrong, number))
    return counts, wrong


def _cancelled(world):
    """Return the entries whose errors sum up to zero on their account in a month."""
    effects = defaultdict(list)
    for number, kind in world.planted.items():
        row = world.rows[number]
        cents, month = row["cents"], row["month"]
        change = {
            "omitted": -cents,
            "twice": cents,
            "wrong account": -cents,
            "rebooked": -cents,
            "wrong amount": row.get("wrong cents", cents) - cents,
            **({"reversed": -cents} if row.get("reversed in") == month else {}),
        }
        if kind in change:
            effects[row["account_code"], month].append((number, change[kind]))
        if kind in ("wrong account", "rebooked"):
            effects[row["wrong"], month].append((number, cents))
    return {
        number
        for own in effects.values()
        for size in (2, 3)
        for some in combinations(own, size)
        if sum(change for _, change in some) == 0
        for number, _ in some
    }


def _of_one(kind, status, wrong, number):
    name = "plain" if kind is None else "planted"
    yield name
    right = THERE if kind is None else EXACT[kind]
    if status in right:
        yield f"{name} right"
    elif status in OPEN:
        yield f"{name} not decided"
    else:
        wrong.append((number, kind, status))
        if status == "missing":
            yield "falsely missing"
        elif status in THERE:
            yield "falsely booked"
        else:
            yield "otherwise wrong"


def _of_equals(kinds, said, wrong, numbers):
    """Judge entries that nothing tells apart by how many of each status there are."""
    allowed = Counter(kind for kind in kinds if kind)
    for number, status in zip(numbers, said, strict=True):
        fits = next(
            (kind for kind in allowed if allowed[kind] and status in EXACT[kind] and kind != "rebooked"), None
        )
        if status not in THERE and fits:
            allowed[fits] -= 1
            yield from ("planted", "planted right")
        elif status in OPEN:
            yield from ("plain", "plain not decided")
        elif status in THERE:
            yield from ("plain", "plain right")
        else:
            wrong.append((number, kinds, status))
            yield "falsely missing" if status == "missing" else "otherwise wrong"
    if sum(allowed.values()) - allowed["rebooked"] > sum(status in OPEN for status in said):
        wrong.append((numbers, kinds, said))
        yield "falsely booked"


def tellable(world, style):
    """Return the planted errors that a person can tell from both files, who knows which voucher each sum has.

    A posting names what is taken back or moved. Of the others, the mistakes of one or two entries must be the
    difference of their sum, and three entries at most may have made these; or the sum has no more entries.
    """
    rows, sums, off = world.rows, defaultdict(list), defaultdict(list)
    named = {number for number, kind in world.planted.items() if kind in ("reversed", "rebooked")}

    def sum_of(row, account):
        return (*(row[name] for name in style.voucher), account)

    for number, row in enumerate(rows):
        sums[sum_of(row, row["account_code"])].append(number)
    for number, kind in world.planted.items():
        row, cents = rows[number], rows[number]["cents"]
        change = {"omitted": -cents, "twice": cents, "wrong account": -cents}
        change["wrong amount"] = row.get("wrong cents", cents) - cents
        if number not in named:
            off[sum_of(row, row["account_code"])].append((number, change[kind]))
        if kind == "wrong account":
            off[sum_of(row, row["wrong"])].append((number, cents))
    for key, errors in off.items():
        own = sums[key]
        candidates = _explaining(
            [(one, rows[one]["cents"]) for one in own], sum(cents for _, cents in errors)
        )
        few = own if len(own) <= MOST_CANDIDATES else candidates if len(candidates) <= MOST_CANDIDATES else ()
        named |= {number for number, _ in errors if number in few}
    return named


def _explaining(entries, off):
    """Return the entries whose mistakes, alone or by two, are a difference: left out, twice, ten times."""
    mistakes = [(one, factor * cents) for one, cents in entries for factor in (-1, 1, 9)]
    alone = {one for one, cents in mistakes if cents == off}
    by_cents = defaultdict(set)
    for one, cents in mistakes:
        by_cents[cents].add(one)
    return alone or {one for one, cents in mistakes if by_cents[off - cents] - {one}}
