"""The words of actions, sums and amounts in a language, as every view of a close shows them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from bktools.close.actions import ENTRY, EXPORT_JOB, IDS, Action, Thing
from bktools.close.figures import NO_REASON, Figures
from bktools.contract.rules import UUID_PATTERN
from bktools.frames.sums import NO_MONEY, Sum, Valued, by_currency
from bktools.visible import visible_line
from bktools.wording import Words
from bktools.wording.words import LISTED


class Step(NamedTuple):
    """An action in words: who does it, the step, the things that it concerns, and the reason."""

    who: str
    to_do: str
    about: str
    why: str


def step_of(words: Words, action: Action) -> Step:
    """Return the words of an action, with the names of its first things."""
    who = words.name("role", action.role)
    count, (first, *others) = len(action.things), action.things or (None,)
    facts = {**action.facts, "count": count, "entries": action.entries}
    is_one = first is not None and not others
    why, do = ("one", "do") if is_one else ("many", "do_many")
    facts |= first.facts if first is not None and is_one else {}
    # Of hundreds, the last ones are not shown.
    named = [_listed(words, action, thing) for thing in action.things[: LISTED + 1]]
    reasons = [words(f"{action.key}.{why}", **facts)]
    if action.counted_elsewhere:
        reasons.append(words("report.counted_elsewhere", count=action.counted_elsewhere))
    return Step(
        f"{who} ({visible_line(action.person)})" if action.person else who,
        words(f"{action.key}.{do}", **facts),
        words.listed(named, of=count),
        "; ".join(filter(None, reasons)),
    )


def name_of(words: Words, thing: Thing) -> str:
    """Return the name of a thing: of an entry its day, supplier and amount."""
    if thing.kind == EXPORT_JOB:
        return words("thing.export_job", **thing.name)
    if thing.kind != ENTRY:
        name = str(thing.name["name"])
        # A person reads no UUID; the identifiers stand in columns of their own.
        return words("thing.without_name", id=name[:8]) if UUID_PATTERN.match(name) else visible_line(name)
    named = thing.name
    is_changed = named.get("sent") != named.get("now")
    currency, amount = next(iter((named.get("sent") or {named["currency"]: named["amount"]}).items()))
    # All of a split entry waits for what is found of one of its lines.
    amount = amount and thing.amounts.get(currency, amount)
    entry = words.entry(named["day"], named["party"], None if is_changed else amount, currency)
    changed = [words("thing.changed_amount", **named)] if is_changed else []
    # What changed beside the amount, too.
    others = [change for change in thing.facts.get("changes", ()) if change["field"] != "amount"]
    changed += [words("part.change", **change) for change in others]
    return ", ".join(filter(None, (entry, *changed))) or words("thing.line", **named)


def detail_of(words: Words, action: Action, thing: Thing) -> str:
    """Return what is known of one of several things alone; "" where all of them have the same reason."""
    key = f"{action.key}.one"
    if len(action.things) == 1 or words.facts_of(key) <= action.facts.keys():
        return ""
    return words(key, **{**thing.facts, **action.facts})


def valued(words: Words, part: Valued) -> str:
    """Return the number of entries, and their amount in each currency."""
    return ", ".join(filter(None, (words.counted(part.entries, "entry"), words.money(part.amounts))))


def label_of(words: Words, line: Sum) -> str:
    """Return the name of a fate, or of a reason below it."""
    return (
        words.name("fate", line["fate"])
        if line["reason"] == NO_REASON
        else words.name("entry", line["reason"])
    )


def not_spent(words: Words, figures: Figures) -> str:
    """Return what of all entries is not in what was spent, "" where all of it is."""
    parts = [f"{words.name('fate', part['fate'])} ({valued(words, part)})" for part in figures.not_spent]
    facts = {"parts": "; ".join(parts), "spent": valued(words, figures.spent)}
    return words("report.not_spent", **facts) if parts else ""


def actions_table(words: Words, actions: Iterable[Action]) -> pa.Table:
    """Return actions as a table: one row per action and currency, because currencies are never added."""
    first = ("severity", *Step._fields)
    others = ("check", "role", "person", "command", "facts", *IDS, *LISTS)
    table = by_currency((*first, *others), [_row(words, action) for action in actions])
    return table.select([*first, "entries", "amount", "currency", *others])


LISTS = ("entry_ids", "category_ids")


def _row(words: Words, action: Action) -> Sum:
    texts = step_of(words, action)._asdict() | {
        "severity": action.severity,
        "role": action.role,
        "check": action.code,
    }
    texts |= {"person": action.person, "command": action.command, "facts": _json(action.facts)}
    texts |= {name: action.ids.get(name) for name in IDS}
    texts |= {name: " ".join(getattr(action, name)) for name in LISTS}
    return Sum(texts, action.money or {None: NO_MONEY})  # type: ignore[dict-item]


def _json(facts: Mapping[str, Any]) -> str:
    return json.dumps(facts, sort_keys=True, ensure_ascii=False, default=str) if facts else ""


def _listed(words: Words, action: Action, thing: Thing) -> str:
    """Return the name of a thing in a list, with what waits for it where its name does not tell it."""
    name = name_of(words, thing)
    has_value = thing.entries and thing.kind != ENTRY and len(action.things) > 1
    return f"{name} ({valued(words, thing)})" if has_value else name
