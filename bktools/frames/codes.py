"""The words for reasons and statuses: short ones for pictures and narrow columns, a sentence for pages and lines."""

from __future__ import annotations

import re

# By code. To add a check of entries, a state of a category or a status in the ledger, add its words.
WORDS = {
    # Why an entry is not exported.
    "no_service_id": ("no entry ID", "the entry has no ID of the service"),
    "not_a_uuid": ("invalid entry ID", "the entry ID is not a valid UUID"),
    "no_company": ("no company", "the company ID is not a valid UUID"),
    "lines_missing": ("lines missing", "lines of the split entry are missing"),
    "conflicting": ("conflicting", "lines with the same entry ID have different data"),
    "duplicate": ("duplicate", "duplicate of an earlier line"),
    "other_company": ("other company", "of another company"),
    "changed_since_export": ("changed since export", "changed since the export"),
    "exported": ("exported", "exported already"),
    "in_doubt": ("in doubt", "the outcome of its export job is unknown"),
    "later_period": ("later period", "dated after the month"),
    "not_approved": ("not approved", "not approved yet"),
    "no_date": ("no date", "the entry has no date"),
    "no_amount": ("no amount", "the entry has no amount"),
    "zero_amount": ("zero amount", "the amount is zero"),
    "no_currency": ("no currency", "the entry has no currency"),
    "unknown_currency": ("unknown currency", "the currency is not one of ISO 4217"),
    "too_many_decimals": ("too many decimals", "the amount has more decimals than its currency"),
    "no_category": ("no category", "the entry has no category"),
    "unknown_category": ("unknown category", "the category is not in the service"),
    "category_of_other_company": ("category of other company", "the category belongs to another company"),
    "archived_category": ("archived category", "the category is archived"),
    "no_account": ("no account", "the category has no account"),
    "unknown_account": ("unknown account", "the account is not known to bktools"),
    "archived_account": ("archived account", "the account of the category is archived"),
    "unknown_employee": ("unknown employee", "the employee is not in the service"),
    "other_line_not_ready": ("other line not ready", "another line of the split entry is held back"),
    # Why an entry that is ready was not sent.
    "planned": ("planned", "to be sent"),
    "planned_account": ("planned account", "to be sent, if its account is one of those to be created"),
    "refused": ("refused", "refused by the service"),
    "blocked": ("blocked", "not sent: an earlier export job of the company is not settled"),
    # Other states of the account of a category.
    "covered": ("covered", "the account of the category exists"),
    "to_be_archived_account": ("account to be archived", "the account of the category is to be archived"),
    # What became of an exported entry in the ledger.
    "booked": ("booked", "booked once"),
    "in_a_sum": ("in a sum", "booked in a sum"),
    "missing": ("missing", "missing"),
    "booked_twice": ("booked twice", "booked twice or more"),
    "another_amount": ("another amount", "with another amount"),
    "another_account": ("another account", "on another account"),
    "another_date": ("another date", "on another date"),
    "reversed": ("reversed", "booked and taken back"),
    "not_decided": ("not decided", "not decided"),
    "not_comparable": ("not comparable", "not comparable"),
}


# What a check says of one entry, said of several.
SEVERAL = {
    "it is": "they are", "it has": "they have", "it was": "they were", "it may": "they may", "it waits": "they wait",
    "its": "their", "it": "them",
}  # fmt: skip


def short(code: str) -> str:
    """Return the short form of a code; of one without words, the code with spaces."""
    return WORDS[code][0] if code in WORDS else code.replace("_", " ")


def sentence(code: str) -> str:
    """Return the words of a code in a sentence; of one without words, its short form."""
    return WORDS[code][1] if code in WORDS else short(code)


def capitalized(text: str) -> str:
    """Return a text whose first letter is a capital, and whose others stay."""
    return text[:1].upper() + text[1:]


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun, in the plural unless it is one."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def of_several(to_do: str, message: str) -> tuple[str, str]:
    """Return what a check says of one entry, said of several; a fact that does not begin with the entry stays."""
    pattern = rf"\b({'|'.join(SEVERAL)})\b"
    to_do, plural = (re.sub(pattern, lambda words: SEVERAL[words[0]], text) for text in (to_do, message))
    return to_do, plural if message.startswith("it") else message
