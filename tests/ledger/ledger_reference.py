"""The results of `match_ledger` in plain Python that reads like its definition: row by row, without an engine."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from rapidfuzz import fuzz, utils

SIMILAR, CLEARLY = 70, 10
ID = re.compile("[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
EXACT = ["account", "amount", "currency"]


@dataclass
class Found:
    """What became of one entry."""

    status: str = ""
    posting: int | None = None
    total: Any = None
    by: str | None = None
    score: float | None = None
    bookings: int = 0
    # Of a sum: the total of its entries, the first of them, and whether it is on other accounts.
    expected: Any = None
    first: int | None = None
    is_elsewhere: bool = False


@dataclass
class Reference:
    """The reference for entries and postings: dictionaries with the columns of the frames."""

    entries: list[dict[str, Any]]
    postings: list[dict[str, Any]]
    days: int
    found: list[Found] = field(default_factory=list)
    # Posting to the entry it answers for.
    answers: dict[int, int] = field(default_factory=dict)
    tied: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        both = {
            name: all(not rows or any(row[name] is not None for row in rows) for rows in (self.entries, self.postings))
            for name in ("account_code", "currency", "date")
        }
        self.both = both
        self.ours = [_plain(row, both, "?") for row in self.entries]
        self.theirs = [_plain(row, both, "??") for row in self.postings]
        ids = {row["id"]: number for number, row in enumerate(self.ours)}
        documents = {row["document"] for row in self.ours} - {None}
        for row, given in zip(self.theirs, self.postings, strict=True):
            named = ID.search(f"{given['document_number'] or ''} {given['text'] or ''}")
            row["id"] = named[0].lower() if named and named[0].lower() in ids else None
            words = re.split(r"[\s,;()]+", (given["text"] or "").lower())
            in_text = [word for word in words if word in documents and len(word) >= 4 and re.search("[0-9]", word)]
            if row["document"] not in documents and in_text:
                row["document"] = min(in_text)
        self.found = [Found() for _ in self.entries]
        self.match()

    def match(self) -> None:
        """Take the steps in their order."""
        self.step("entry ID", ["id", *EXACT], named=True)
        self.step("entry ID", ["id", *EXACT], named=True, sums=True)
        self.step("entry ID", ["id", "side"], named=True)
        self.step("document number", ["document", *EXACT])
        self.sums("sum of the document", ["document", *EXACT], ["document", "account", "currency"])
        self.step("account, amount and date", [*EXACT, "date"])
        self.step("document number", ["document", *EXACT], sums=True)
        self.step("account, amount and date", [*EXACT, "date"], sums=True)
        self.sums("sum of account and day", [*EXACT, "date"], ["account", "currency", "date"])
        self.sums("sum of batch and account", EXACT, ["batch", "account", "currency"])
        self.sums("sum of account and month", [*EXACT, "month"], ["account", "currency", "month"])
        self.sums("sum of the batch", ["amount", "currency"], ["batch", "currency"], sides=True)
        self.sums("sum of the document", ["document", "amount", "currency"], ["document", "currency"], sides=True)
        self.step("account and amount", [*EXACT, "date"], nearby=True, text="agrees")
        self.step("account and amount", [*EXACT, "date"], nearby=True, text="agrees", sums=True)
        self.sums("sum of account and day", [*EXACT, "date"], ["account", "currency", "date"], nearby=True)
        for by, columns in (
            ("the document", ["document"]),
            ("account and day", ["date"]),
            ("account and month", ["month"]),
        ):
            keys = [*columns, "account", "currency"]
            self.sums(f"sum of {by}", keys, keys, differs=True)
        self.step("document number and account", ["document", "account", "currency", "date"], nearby=True)
        self.step("document number and amount", ["document", "amount", "currency", "date"], nearby=True)
        self.step("account and date", ["account", "size", "currency", "date"], text="agrees")
        doubles = self.doubles()
        self.step("amount and date", ["amount", "currency", "date"], text="decides", uncommon=True)
        self.step("account and date", ["account", "currency", "date"], text="decides")
        self.judge(doubles)

    def step(self, by, keys, *, named=False, sums=False, nearby=False, text="orders", uncommon=False) -> None:
        """Let open postings answer for open entries that agree in the keys."""
        candidates = self.vouchers() if sums else {number: (row, [number]) for number, row in enumerate(self.theirs)}
        if uncommon:
            common = self.common_accounts()
            candidates = {number: one for number, one in candidates.items() if one[0]["account"] not in common}
        for offset in self.offsets(nearby):
            groups = defaultdict(lambda: ([], []))
            for number, row in enumerate(self.ours):
                if self.found[number].posting is None and (named or row["amount"] is not None):
                    groups[_key(row, keys)][0].append(number)
            for number, (row, members) in candidates.items():
                is_open = not any(member in self.answers for member in members)
                if is_open and (named or row["id"] is None):
                    groups[_key(row, keys, offset)][1].append(number)
            groups.pop(None, None)
            for entries, postings in groups.values():
                rows = {number: candidates[number][0] for number in postings}
                pairs = self.told_apart(self.ours, entries, rows, postings, text)
                for entry, posting, score in pairs:
                    row, members = candidates[posting]
                    self.answers |= dict.fromkeys(members, entry)
                    total = row["amount"] if sums else None
                    self.found[entry] = Found("", posting, total, by, score, 1)

    def sums(self, by, keys, group, *, sides=False, nearby=False, differs=False) -> None:
        """Let open postings, then the sums of vouchers, answer for all entries of a group with their total."""
        needed = {"account": "account_code", "date": "date", "month": "date"}
        if not all(self.both[needed[key]] for key in group if key in needed):
            return
        for candidates in [self.sides] if sides else [self.alone, self.vouchers]:
            if differs and not any(one.by == by for one in self.found):
                continue
            totals, rows = self.totals(group), candidates()
            for offset in self.offsets(nearby):
                for entries, postings in self.agreeing(totals, rows, keys, offset):
                    is_alone = len(entries) == len(postings) == 1
                    if len(entries) <= len(postings) and (is_alone or not differs):
                        for entry, posting in zip(entries, postings, strict=False):
                            self.book(by, totals[entry], group, posting, rows[posting], sides=sides)

    def totals(self, group):
        """Return by its first entry the total of each group of open entries, unless an amount is unknown or it is zero."""
        members = defaultdict(list)
        for number, row in enumerate(self.ours):
            if self.found[number].posting is None and _key(row, group):
                members[_key(row, group)].append(number)
        found = {}
        for numbers in members.values():
            amounts = [self.ours[number]["amount"] for number in numbers]
            if len(numbers) > 1 and None not in amounts and sum(amounts):
                found[numbers[0]] = (self.ours[numbers[0]] | {"amount": sum(amounts)}, numbers)
        return found

    def agreeing(self, totals, rows, keys, offset):
        """Return the open totals and postings that agree in the keys."""
        groups = defaultdict(lambda: ([], []))
        for number, (row, _) in totals.items():
            if self.found[number].posting is None:
                groups[_key(row, keys)][0].append(number)
        for number, (row, numbers) in rows.items():
            if row["id"] is None and not any(one in self.answers for one in numbers):
                groups[_key(row, keys, offset)][1].append(number)
        groups.pop(None, None)
        return groups.values()

    def book(self, by, total, group, posting, side, *, sides) -> None:
        """Let a posting answer for all entries of a group, if it is all that was exported, and nothing is ambiguous."""
        row, numbers = total
        whole = [number for number, other in enumerate(self.ours) if _key(other, group) == _key(row, group)]
        if whole != numbers or self.tied & set(numbers):
            return
        self.answers |= dict.fromkeys(side[1], numbers[0])
        accounts = {self.theirs[number]["account"] for number in side[1]}
        for number in numbers:
            booked = side[0]["amount"] if len(side[1]) > 1 else None
            self.found[number] = Found("", posting, booked, by, None, 1, row["amount"], numbers[0])
            self.found[number].is_elsewhere = sides and not {self.ours[one]["account"] for one in numbers} <= accounts

    def alone(self):
        """Return each posting as a candidate."""
        return {number: (row, [number]) for number, row in enumerate(self.theirs)}

    def sides(self):
        """Return the sums of the sides of vouchers of which no posting is taken, on any accounts."""
        sides = defaultdict(list)
        for number, row in enumerate(self.theirs):
            voucher = number if row["voucher"] is None else row["voucher"]
            sides[voucher, row["currency"], row["date"], row["amount"] < 0].append(number)
        found = {}
        for members in sides.values():
            rows = [self.theirs[number] for number in members]
            row = rows[0] | {"amount": sum(row["amount"] for row in rows)}
            for name in ("id", "document"):
                row[name] = min((other[name] for other in rows if other[name] is not None), default=None)
            found[members[0]] = (row, members)
        return found

    def offsets(self, nearby):
        """Return the days that a posting may be later than its entry, the nearest first."""
        return sorted(range(-self.days, self.days + 1), key=lambda day: (abs(day), -day)) if nearby else [0]

    def told_apart(self, ours, left, theirs, right, text, *, ties=True):
        """Return pairs: the most similar text first, then the nearest amount, the nearest day, and the order."""
        scores = {(one, other): _score(ours[one], theirs[other]) for one in left for other in right}
        alone = len(left) == len(right) == 1

        def may(score):
            if text == "orders":
                return True
            if score is None:
                return text == "agrees" or alone
            return score >= SIMILAR

        def rank(pair):
            one, other = ours[pair[0]], theirs[pair[1]]
            amount = abs(one["amount"] - other["amount"]) if one["amount"] is not None else 0
            days = abs((one["date"] - other["date"]).days) if one["date"] is not None else 0
            return -(scores[pair] or 0), amount, days, *pair

        pairs = []
        for one, other in sorted((pair for pair, score in scores.items() if may(score)), key=rank):
            if one not in [pair[0] for pair in pairs] and other not in [pair[1] for pair in pairs]:
                compared = scores[one, other] if not alone or text != "orders" else None
                pairs.append((one, other, compared))
        without = [one for one in left if one not in [pair[0] for pair in pairs]]
        unclear = [
            one
            for one, other, score in pairs
            if any(score is None or score < SIMILAR or (scores[rest, other] or 0) > score - CLEARLY for rest in without)
        ]
        if ties and text != "decides" and without and unclear:
            self.tied |= {*without, *unclear}
        return pairs

    def vouchers(self):
        """Return the sums of the sides of vouchers with several postings, of which one account is an entry's."""
        accounts = {row["account"] for row in self.ours} - {None}
        sides = defaultdict(list)
        for number, row in enumerate(self.theirs):
            if row["voucher"] is not None:
                sides[row["voucher"], row["currency"], row["date"], row["amount"] < 0].append(number)
        found = {}
        for members in sides.values():
            expected = [number for number in members if self.theirs[number]["account"] in accounts]
            if len(members) > 1 and len({self.theirs[number]["account"] for number in expected}) == 1:
                rows = [self.theirs[number] for number in members]
                row = self.theirs[expected[0]] | {"amount": sum(row["amount"] for row in rows)}
                for name in ("id", "document"):
                    row[name] = min((other[name] for other in rows if other[name] is not None), default=None)
                found[expected[0]] = (row, members)
        return found

    def common_accounts(self):
        """Return the accounts of vouchers that are found, other than those of entries."""
        vouchers = {self.theirs[number]["voucher"] for number in self.answers} - {None}
        accounts = {row["account"] for row in self.theirs if row["voucher"] in vouchers}
        return accounts - {row["account"] for row in self.ours}

    def doubles(self):
        """Return the postings that are like one that answers for an entry."""
        doubles = {}
        first = sorted({one.posting for one in self.found if one.posting is not None})
        for keys, named, nearby, text in (
            (["id", *EXACT], True, False, "orders"),
            (["document", *EXACT, "date"], False, True, "orders"),
            ([*EXACT, "date"], False, False, "agrees"),
        ):
            for offset in self.offsets(nearby):
                while True:
                    groups = defaultdict(lambda: ([], []))
                    for number in first:
                        groups[_key(self.theirs[number], keys)][0].append(number)
                    for number, row in enumerate(self.theirs):
                        if number not in self.answers and (named or row["id"] is None):
                            groups[_key(row, keys, offset)][1].append(number)
                    groups.pop(None, None)
                    more = {}
                    for left, right in groups.values():
                        rows = dict(enumerate(self.theirs))
                        pairs = self.told_apart(rows, left, rows, right, text, ties=False)
                        more |= {other: self.answers[one] for one, other, _ in pairs}
                    if not more:
                        break
                    doubles |= more
                    self.answers |= more
        return doubles

    def judge(self, doubles) -> None:  # noqa: C901, PLR0912 - a line for each status
        """Give each entry its status."""
        currencies = {row["currency"] for row in self.theirs}
        equal = defaultdict(list)
        for number in self.tied:
            equal[tuple(self.ours[number][name] for name in (*EXACT, "date"))].append(number)
        for numbers in equal.values():
            there = [number for number in numbers if self.found[number].posting is not None]
            if 0 < len(there) < len(numbers):
                for number in numbers:
                    self.found[number] = Found("ambiguous")
                self.answers = {posting: entry for posting, entry in self.answers.items() if entry not in numbers}
        for number, (one, row) in enumerate(zip(self.found, self.ours, strict=True)):
            if one.status:
                continue
            if one.posting is None:
                is_foreign = bool(self.theirs) and row["currency"] not in currencies
                unknown = row["amount"] is None or row["date"] is None or is_foreign
                one.status = "not_comparable" if unknown else "missing"
                continue
            posting = self.theirs[one.posting]
            amount = posting["amount"] if one.total is None else one.total
            is_sum = one.first is not None
            one.bookings = 1 + list(doubles.values()).count(one.first if is_sum else number)
            expected = one.expected if is_sum else row["amount"]
            is_elsewhere = one.is_elsewhere if is_sum else row["account"] != posting["account"]
            has_day = not is_sum or one.by == "sum of account and day"
            is_same_currency = row["currency"] == posting["currency"]
            if one.bookings > 1:
                one.status = "booked_twice"
            elif row["amount"] is not None and is_same_currency and expected != amount:
                one.status = "another_amount"
            elif is_elsewhere:
                one.status = "another_account"
            elif has_day and row["date"] is not None and row["date"] != posting["date"]:
                one.status = "another_date"
            elif is_sum:
                one.status = "in_a_sum"
            else:
                one.status = "booked"


def _plain(row, both, unknown):
    return {
        "id": (row.get("entry_id") or "").lower() or None,
        "document": (row["document_number"] or "").strip().lower() or None,
        "account": ((row["account_code"] or "").strip() or None) if both["account_code"] else "",
        "amount": row["amount"],
        "size": None if row["amount"] is None else abs(row["amount"]),
        "side": None if row["amount"] is None else row["amount"] < 0,
        "currency": (row["currency"] or unknown) if both["currency"] else "",
        "date": row["date"] if both["date"] else timedelta(0),
        "month": row["date"].replace(day=1) if both["date"] and row["date"] else None,
        "batch": row.get("batch_id"),
        "voucher": row.get("voucher_id"),
        "text": utils.default_process(
            " ".join(filter(None, (row.get("supplier"), row.get("description"), row.get("text"))))
        ),
    }


def _key(row, keys, offset=0):
    values = [row[key] for key in keys]
    if None in values:
        return None
    return tuple(value - timedelta(offset) if key == "date" else value for key, value in zip(keys, values, strict=True))


def _score(one, other):
    return fuzz.token_set_ratio(one["text"], other["text"]) if one["text"] and other["text"] else None
