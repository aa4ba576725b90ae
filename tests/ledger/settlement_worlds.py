"""Random companies whose systems book a batch in doubt or not, and what the ledger's evidence shows.

Run: python tests/ledger/settlement_worlds.py --worlds 2000 [--seed 0]. It prints how often each outcome was
proposed, and fails when one is wrong.
"""

from __future__ import annotations

import argparse
import datetime as dt
import random
import sys
from collections import Counter, defaultdict
from decimal import Decimal

import pandas as pd
from worlds import MONEY, number_id

from bktools.ledger.settlements import Sending, settlements

CENT = Decimal("0.01")
ACCOUNTS = ("5800", "5810", "4930", "6540")
OTHER = {"5800": "7100", "5810": "7110", "4930": "7120", "6540": "7130"}
TAX, CREDITORS, BANK = "1576", "1600", "1200"
# How an accounting system sums up: the columns of which one posting is made; None is every entry by itself.
WAYS = {
    "entry": ("entry_id",),
    "voucher": ("entry_id",),
    "document": ("document_number", "account_code"),
    "account and day": ("date", "account_code"),
    "account and month": ("month", "account_code"),
    "batch and account": ("batch_id", "account_code"),
    "batch": ("batch_id",),
    "employee": ("employee", "account_code"),
}
TEXTS = ("Bahn", "Hotel Berlin", "Papier A4", "Taxi Hamburg", "Flug Wien", "Parken Bonn")


class World:
    """A company with some accepted batches and one in doubt, and the ledger of its accounting system.

    Parameters
    ----------
    seed : int
        The world is the same for the same seed.
    """

    def __init__(self, seed: int) -> None:
        self._random = pick = random.Random(seed)
        self.way = pick.choice(list(WAYS))
        # Now and then the accounting system changes its ways.
        self.way_in_doubt = self.way if pick.random() < 0.8 else pick.choice(list(WAYS))
        self.is_elsewhere = pick.random() < 0.2
        self.fate = pick.choice(["booked", "booked", "not booked", "not booked", "a part"])
        self.entries = []
        start = dt.date(2026, 9, pick.randint(1, 28))
        self._accounts = pick.sample(ACCOUNTS, pick.randint(1, len(ACCOUNTS)))
        for batch in range(pick.choice([0, 1, 2, 3, 3])):
            self._add_batch(
                f"batch{batch}", start + dt.timedelta(14 * batch), "ACCEPTED", pick.randint(2, 30)
            )
        self._add_batch(
            "doubt", start + dt.timedelta(pick.randint(0, 50)), "UNKNOWN", pick.choice([1, 2, 3, 8, 20, 40])
        )
        postings = self._postings()
        self.ledger = self._cut(postings)

    def _add_batch(self, batch: str, first: dt.date, state: str, count: int) -> None:
        pick = self._random
        # Now and then a batch has accounts that no other one has.
        accounts = (
            self._accounts if pick.random() < 0.8 else pick.sample(ACCOUNTS, pick.randint(1, len(ACCOUNTS)))
        )
        days = pick.choice([1, 5, 20])
        document = 0
        rows = []
        for _ in range(count):
            document += pick.random() < 0.6
            day = first + dt.timedelta(pick.randrange(days))
            amount = CENT * pick.randint(100, 99_999) * (-1 if pick.random() < 0.06 else 1)
            rows.append(
                {
                    "entry_id": number_id(len(self.entries) + len(rows)),
                    "batch_id": batch,
                    "state": state,
                    "date": day,
                    "month": day.replace(day=1),
                    "amount": amount,
                    "currency": "EUR",
                    "account_code": pick.choice(accounts),
                    "document_number": f"{batch[-1]}-{document:04d}",
                    "description": pick.choice(TEXTS),
                    "employee": pick.choice("AB"),
                }
            )
        sent = max(row["date"] for row in rows) + dt.timedelta(pick.randint(0, 5))
        self.entries += [
            row | {"sent_at": pd.Timestamp(sent, tz="UTC") + pd.Timedelta(hours=18)} for row in rows
        ]

    def _postings(self) -> list[dict]:
        pick = self._random
        rows = [row for row in self.entries if row["state"] == "ACCEPTED"]
        postings = self._booked(rows, self.way)
        doubt = [row for row in self.entries if row["state"] == "UNKNOWN"]
        if self.fate == "a part" and len(doubt) < 2:
            self.fate = "not booked"
        if self.fate == "booked" and self.way == self.way_in_doubt:
            # What is summed up over batches is one posting.
            postings = self._booked([*rows, *doubt], self.way)
        elif self.fate != "not booked":
            part = doubt if self.fate == "booked" else doubt[: pick.randint(1, len(doubt) - 1)]
            postings += self._booked(part, self.way_in_doubt)
        for number in range(pick.choice([0, 0, 0, 3, 10])):
            row = pick.choice(self.entries)
            amount = row["amount"] + CENT * pick.randint(1, 500)
            postings += _voucher(f"M {number}", row["date"], [(row["account_code"], amount)], "Manual", None)
        last = max(row["sent_at"] for row in self.entries).date()
        for day in (dt.date(2026, 8, 1), *(last + dt.timedelta(after) for after in (0, 1, 2, 5, 20, 40))):
            postings += _voucher(f"B {day}", day, [("6900", CENT * pick.randint(1, 99_999))], "Rent", None)
        return postings

    def _booked(self, rows: list[dict], way: str) -> list[dict]:
        """Return the vouchers of entries, each with a payment now and then."""
        pick = self._random
        groups = defaultdict(list)
        for row in rows:
            groups[tuple(row[column] for column in WAYS[way])].append(row)
        has_tax, has_text, late = pick.random() < 0.3, pick.random() < 0.6, pick.choice([0, 0, 0, 2])
        postings = []
        for number, members in enumerate(groups.values()):
            total = sum((row["amount"] for row in members), Decimal())
            account = OTHER[members[0]["account_code"]] if self.is_elsewhere else members[0]["account_code"]
            day = max(row["date"] for row in members) + dt.timedelta(late)
            if way == "account and month":
                day = (members[0]["month"] + dt.timedelta(31)).replace(day=1) - dt.timedelta(1)
            elif way.startswith("batch"):
                day = members[0]["sent_at"].date()
            tax = (total * Decimal("0.19")).quantize(CENT) if has_tax or way == "voucher" else Decimal()
            lines = [(account, total - tax), *([(TAX, tax)] if tax else [])]
            text = members[0]["description"] if has_text and len(members) == 1 else "Import"
            document = (
                members[0]["document_number"]
                if way in ("entry", "document") and pick.random() < 0.5
                else None
            )
            voucher = f"{way[0].upper()}{len(postings)} {number}"
            postings += _voucher(voucher, day, lines, text, document)
            if pick.random() < 0.2:
                postings += _voucher(
                    f"P{voucher}", day + dt.timedelta(3), [(CREDITORS, total)], "Paid", None, BANK
                )
        return postings

    def _cut(self, postings: list[dict]) -> pd.DataFrame:
        """Return the ledger, which begins late or ends early in some worlds."""
        pick = self._random
        days = sorted({row["date"] for row in postings})
        first, last = days[0], days[-1]
        if pick.random() < 0.15:
            first = pick.choice(days)
        if pick.random() < 0.2:
            last = pick.choice(days)
        rows = [row for row in postings if first <= row["date"] <= last] or postings[:1]
        frame = pd.DataFrame(rows).assign(currency="EUR", line=range(2, len(rows) + 2))
        frame["amount"] = pd.array([row["amount"] for row in rows], dtype=MONEY)
        return frame.assign(date=pd.to_datetime(frame["date"]), text=frame["text"].astype("str"))

    def exported(self) -> pd.DataFrame:
        """Return the entries as the journal has them."""
        frame = pd.DataFrame(self.entries).drop(columns=["month", "employee"])
        frame["amount"] = pd.array([row["amount"] for row in self.entries], dtype=MONEY)
        return frame.assign(date=pd.to_datetime(frame["date"]))

    def proposed(self) -> tuple[str | None, str]:
        """Return the outcome that is proposed for the batch in doubt, and the reason."""
        sent = max(row["sent_at"] for row in self.entries if row["state"] == "UNKNOWN")
        sending = Sending(sent.to_pydatetime() + dt.timedelta(hours=1))
        (found,) = settlements(
            self.exported(), self.ledger, {"doubt": sending}, exported_at=dt.date(2027, 12, 31)
        )
        return found.outcome, found.text

    def is_wrong(self, outcome: str | None) -> bool:
        """Whether a proposal books entries twice or loses them."""
        right = {"booked": "accepted", "not booked": "released"}
        return outcome is not None and outcome != right.get(self.fate)


def _voucher(voucher, day, lines, text, document, contra=CREDITORS) -> list[dict]:
    rows = [*lines, (contra, -sum((amount for _, amount in lines), Decimal()))]
    shared = {"voucher_id": voucher, "date": day, "text": text, "document_number": document}
    return [shared | {"account_code": account, "amount": amount} for account, amount in rows]


def attack(worlds: int, seed: int = 0) -> tuple[Counter, list[str]]:
    """Return how often each outcome was proposed by way and fate, and a line for each wrong one."""
    counts, wrong = Counter(), []
    for number in range(seed, seed + worlds):
        world = World(number)
        outcome, text = world.proposed()
        counts[world.way, world.fate, outcome or "not decided"] += 1
        if world.is_wrong(outcome):
            wrong.append(
                f"world {number} ({world.way}, {world.way_in_doubt}, {world.fate}): {outcome}: {text}"
            )
    return counts, wrong


def main() -> None:
    """Run the attack and print what was proposed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    counts, wrong = attack(options.worlds, options.seed)
    for (way, fate, outcome), count in sorted(counts.items()):
        print(f"{way:<18} {fate:<11} {outcome:<12} {count:>6}")
    print("\n".join([*wrong, f"{len(wrong)} wrong of {options.worlds}"]))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
