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
