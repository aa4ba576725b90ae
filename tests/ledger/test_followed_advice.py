"""Advice that was followed in the books is gone next time, and nothing is in the books twice."""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal

import pytest
from csv_worlds import NAMES, entries_of, lines_of, match_of, read, write

from bktools import match_ledger

ORDERS = ("missing", "booked_twice", "another_amount", "another_account")
# Where a correction is in a sum with other entries, these stay open until a person has looked.
STAYS_OPEN = (
    "a_part_of_the_tax_is_in_the_cost",
    "double_apart_from_day_sum",
    "omitted_called_late",
    "twice_in_one_posting",
)


def vouchers(lines, name):
    return [line for line in lines if line["Voucher"] == name]


def voucher(lines, name, date, text, sides):
    """Return the lines of a voucher by hand, with the columns of the ledger."""
    own = dict.fromkeys(lines[0], "") | {"Date": date, "Text": text}
    own |= {"Voucher": name} if "Voucher" in own else {}
    own |= {"Currency": lines[0]["Currency"]} if "Currency" in own else {}
    return [own | {"Account": account, "Amount": str(amount)} for account, amount in sides]


def undone(lines, booked, text, name):
    """Return a voucher that takes back the lines with a text of another one; all, where it has no texts."""
    own = [line for line in vouchers(lines, booked) if line.get("Text", text) == text]
    sides = [(line["Account"], -Decimal(line["Amount"])) for line in own]
    total = sum(amount for _, amount in sides)
    sides += [(creditors(lines), -total)] if total else []
    return voucher(lines, name, own[0]["Date"], f"Storno {own[0].get('Text', '')}", sides)


def creditors(lines):
    """Return the account on the other side of most vouchers: the last of each, or what most lines have."""
    if "Voucher" not in lines[0]:
        return Counter(line["Account"] for line in lines).most_common(1)[0][0]
    last = {line["Voucher"]: line["Account"] for line in lines}
    return Counter(last.values()).most_common(1)[0][0]


def followed(lines, row, postings, number, sign):
    """Return the lines that a person adds who follows the advice about an entry."""
    other = creditors(lines)
    text, day = f"{row['supplier']} {row['description']}", f"{row['date']:%Y-%m-%d}"
    # Amounts of frames are floats: the file's cents.
    amount = sign * round(Decimal(str(row["amount"])), 2)
    anew = voucher(lines, f"H{number}", day, text, [(row["account_code"], amount), (other, -amount)])
    match row["reason"]:
        case "missing":
            return anew
        case "booked_twice":
            sides = [(row["account_code"], -amount), (other, amount)]
            return voucher(lines, f"S{number}", day, f"Storno {text}", sides)
        case _:
            own = postings[postings["entry_id"] == row["entry_id"]]["voucher_id"].tolist()
            return [*undone(lines, own[0], row.get("booked_text"), f"S{number}"), *anew]


@pytest.mark.parametrize("name", NAMES)
def test_followed_advice_is_gone(name, tmp_path):
    """Each order that a world's findings give is done in its ledger: none is given again."""
    entries, lines = entries_of(name), lines_of(name)
    match = match_of(name)
    orders = [
        row
        for row in match.findings.to_dict("records")
        if row["reason"] in ORDERS and not json.loads(row["facts"])["look_first"]
    ]
    for number, row in enumerate(orders):
        lines += followed(lines, row, match.postings, number, match.habits["sign"])
    again = match_ledger(entries, read(write(lines, tmp_path / "ledger.csv")))
    wanted = {row["entry_id"] for row in orders}
    own = again.entries[again.entries["entry_id"].isin(wanted)]
    assert {*own["status"]} <= {"booked", "in_a_sum", *(["open"] if name in STAYS_OPEN else [])}
    assert not {*again.findings["reason"]} & {*ORDERS, "reversed"} - {*match.findings["reason"]}
