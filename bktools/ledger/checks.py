"""The findings of a match: one entry of CHECKS for each way in which an entry did not plainly arrive."""

from __future__ import annotations

import dataclasses

from bktools.frames.roles import ERP, PREPARER, SERVICE

SEVERITIES = ("error", "warning", "info")

# The outcomes of an entry, the worst last: of those that fit, the last one is its status.
STATUSES = (
    "booked",
    "in_a_sum",
    "another_date",
    "not_comparable",
    "another_account",
    "another_amount",
    "booked_twice",
    "ambiguous",
    "missing",
)

# Each as it was exported.
ARRIVED = {"booked", "in_a_sum"}

# How an entry differs from its booking, by what is so; its words are in braces, as `findings.Evidence` gives them.
DIFFERENCES = {
    "ambiguous": "{equal} equal entries, {booked_equal} booked: {vouchers}",
    "another_amount": "amount {booked_money} instead of {expected}",
    "another_account": "account {booked_account} instead of {account}",
    "another_date": "date {booked_date} instead of {date}",
    "has_other_currency": "amount not compared: {booked_money} beside {money}",
    "booked_twice": "booked {bookings} times: {vouchers}",
    "in_a_sum": "booked in {expected}: {vouchers}",
}


@dataclasses.dataclass(frozen=True)
class Check:
    """One finding about an entry.

    Parameters
    ----------
    status : str
        The status of the entries it is about; the first check of a status whose `where` fits is theirs.
    severity : str
        One of SEVERITIES.
    message, to_do : str
        The message and the next step; words of the entry are in braces, as `findings.Evidence` gives them.
    who : str
        Who does it, one of `roles.ROLES`.
    where : str
        What must be so besides the status, by its name among the words of the entry.
    """

    status: str
    severity: str
    message: str
    to_do: str
    who: str = ERP
    where: str = "booked"


CHECKS: tuple[Check, ...] = (
    Check(
        "missing",
        "error",
        "{money} on {account} is not in the ledger, which ends on {ledger_until}",
        "export the ledger again up to {date} or later, then verify again",
        where="is_early",
    ),
    Check(
        "missing",
        "error",
        "{money} on {account} is not in the ledger within {days} days of {date}; batch {batch} is in doubt",
        "settle the batch first: bktools verify says whether the ledger proves its outcome",
        PREPARER,
        where="is_in_doubt",
    ),
    Check(
        "missing",
        "error",
        "{money} on {account} is not in the ledger within {days} days of {date}",
        "look up {job} in the service; where it failed, book the entry in the ERP by hand: it counts as exported, and"
        " is not sent again",
        SERVICE,
    ),
    Check(
        "booked_twice",
        "error",
        "booked {bookings} times on {booked_account}: {vouchers}",
        "reverse all of them but one",
    ),
    Check(
        "another_amount",
        "error",
        "{booked_money} is booked instead of {expected} on {booked_account}: {vouchers}",
        "correct the voucher, or the entry where the voucher is right",
    ),
    Check(
        "another_account",
        "warning",
        "{booked_money} is booked on {booked_account} instead of {account}: {vouchers}",
        "rebook it, or give the category the right account",
    ),
    Check(
        "another_date",
        "warning",
        "dated {booked_date} in the ledger instead of {date}, in another month: {vouchers}",
        "check that it is booked in the right month",
        where="is_in_another_month",
    ),
    Check(
        "another_date",
        "info",
        "dated {booked_date} in the ledger instead of {date}: {vouchers}",
        "nothing, where the ERP dates its postings itself",
    ),
    Check(
        "ambiguous",
        "error",
        "one of {equal} equal entries, of which only {booked_equal} are booked: {vouchers}; {missing_equal}",
        "find out in the ERP which of them is missing",
    ),
    Check(
        "not_comparable", "warning", "{money} cannot be compared: {why}", "look it up in the ERP by its day and text"
    ),
)
