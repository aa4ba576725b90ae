"""The result of a match: what became of each exported entry, with the evidence of the general ledger."""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from bktools import views
from bktools.consoles import INDENT, readable
from bktools.frames.findings import as_html, as_lines
from bktools.frames.results import Result
from bktools.frames.schema import IN_DOUBT
from bktools.frames.sums import NO_MONEY, money_of, number_of_entries
from bktools.frames.tables import in_memory
from bktools.ledger.verdict import ARRIVED, Status
from bktools.wording import Words

STATUSES = [status.code for status in Status]
ARRIVED_CODES = {status.code for status in ARRIVED}
# The sums of an open account, with their names in the section `total` of the sentences.
TOTALS = (
    *("exported", "of_other_months", "foreign", "ledger", "on_other_accounts", "not_from_export"),
    "difference",
)
SHOWN = 10


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class LedgerMatch(Result):
    """What became of each exported entry in the general ledger.

    Attributes
    ----------
    entries : DataFrame
        One row per entry: its own columns; `status` (booked, in_a_sum, not_comparable, open, another_account,
        another_amount, booked_twice, reversed, missing); `days_late` (of a booked one, how many days after it
        its posting is dated); `reason` (why it is open or not comparable); its posting as booked_date,
        booked_account_code, booked_amount (with its tax; of a sum all of it), booked_text,
        booked_document_number, booked_voucher_id, booked_line and so on; `differences`, to_do and who.
    findings : DataFrame
        What is not plainly booked, most severe first: one row per entry with an error, one per open group,
        one per reason why entries cannot be compared. check (the status), severity (error, warning, info),
        about, message, to_do, who, reason (the code of its sentences), the columns of its entry where it has
        one, and facts.
    open_groups : DataFrame
        One row per open group: accounts, first_day, last_day, entries (number), exported (with its currency),
        currency (the ledger's), ledger, difference, reason, vouchers (postings to look at), likeliest (the
        three likeliest entries), entry_ids.
    unchecked : tuple of str
        What was not compared, and why.
    not_from_export : int
        How many postings on the entries' accounts, in their months, are of no entry.
    ledger_from, ledger_until : date
        First and last day that the ledger shows; None for an empty ledger.
    habits : dict
        How the ledger books: unit (which entries have one voucher), by_account (whether each account has one
        of its own), clock (from when delays count), gate (after how many days a voucher follows), share (% of
        the entries that agree), is_known, tax_rates, sign, currency, texts (which the ledger keeps).

    Notes
    -----
    The interface has nothing on this: only the accounting system shows an export's arrival (sections 3, 4.2).

    Examples
    --------
    >>> import pandas as pd
    >>> day = pd.Timestamp("2026-10-03")
    >>> entries = pd.DataFrame({"entry_id": ["e1"], "account_code": ["5800"], "amount": [42], "date": [day]})
    >>> postings = {"account_code": ["5800", "1930"], "amount": [42, -42], "voucher_id": ["A 7", "A 7"]}
    >>> postings = pd.DataFrame(postings).assign(date=day)
    >>> from bktools import match_ledger
    >>> match_ledger(entries, postings).entries["booked_voucher_id"].tolist()
    ['A 7']
    """

    _TABLES = ("entries", "findings", "open_groups", "totals", "postings")
    _PREFIX = "ledger_"

    entries: pd.DataFrame
    findings: pd.DataFrame
    open_groups: pd.DataFrame
    unchecked: tuple[str, ...]
    not_from_export: int
    ledger_from: dt.date | None
    ledger_until: dt.date | None
    habits: Mapping[str, Any]
    words: Words
    # Tables that are computed on first use.
    _listed: Mapping[str, Callable[[], pd.DataFrame]]

    @functools.cached_property
    def postings(self) -> pd.DataFrame:
        """One row per posting of the ledger, with `entry_id` (the entry that it books) and `status`.

        The status is that of the entry, "matched to no entry" on the entries' accounts in their months, or
        null.
        """
        return self._listed["postings"]()

    @functools.cached_property
    def totals(self) -> pd.DataFrame:
        """Control totals in the ledger's currency, one row per account and month of the accounting system.

        An entry is exported in the month of its close, else of its date. It is compared in the month of its
        first posting, if it has one, with what corrects it later. With a period, its months are shown.

        account_code, account_name, month, currency; entries (how many are compared) and not_compared (how
        many are not: other currencies, days or accounts that are not known); postings; exported (the month's
        entries in the ledger's currency, gross where they hold tax); of_other_months (what other months'
        entries have here, less what this month's have in others, or what is not compared); foreign (what the
        ledger has for entries in other currencies that are booked); ledger (the account's postings, net where
        tax is booked apart); on_other_accounts (what the entries' vouchers have elsewhere, such as tax);
        not_from_export (the postings of no entry); difference (ledger with on_other_accounts, less
        not_from_export, exported, of_other_months and foreign: 0 where all is booked). The differences of an
        account's findings add up to it.
        """
        return self._listed["totals"]()

    @property
    def open_accounts(self) -> pd.DataFrame:
        """The control totals with a difference."""
        return self.totals[self.totals["difference"] != 0]

    @property
    def counts(self) -> dict[str, int]:
        """The number of entries by status, the best first; a status that no entry has is left out."""
        counts = self.entries["status"].value_counts()
        return {status: int(counts[status]) for status in STATUSES if status in counts}

    @property
    def has_arrived(self) -> bool:
        """Whether every entry is booked once, alone or in a sum, with its account and amount."""
        return set(self.counts) <= ARRIVED_CODES

    def __repr__(self) -> str:
        others = [*self.remarks, *self._account_lines()]
        findings = as_lines(self._named, self.words, "ledger")
        sums, others = ([INDENT + line for line in lines] for lines in (self.sums, others))
        return readable("\n".join([self.headline, *sums, *findings, *others]))

    def _repr_html_(self) -> str:
        lines = [*self.sums, *self._account_lines(), *self.remarks]
        parts = [
            views.heading(self.headline),
            as_html(self._named, self.words, "ledger", "entries"),
            views.table([""], [[line] for line in lines], total=len(lines)),
        ]
        return "".join(parts)

    @property
    def headline(self) -> str:
        """One line: the days of the ledger, the number of entries, and the statuses of their lines."""
        parts = [
            self.words("match.count", count=count, status=status) for status, count in self.counts.items()
        ]
        span = {"first": self.ledger_from, "last": self.ledger_until}
        return self.words(
            "match.headline",
            span=self.words("match.days", **span) if self.ledger_from else None,
            entries=(count := number_of_entries(in_memory(self.entries))),
            lines=len(self.entries) if len(self.entries) > count else None,
            counts=", ".join(parts) or self.words("match.none"),
            others=self.not_from_export or None,
        )

    @property
    def style(self) -> str:
        """One line: how the ledger books entries, such as in sums of a day, or that it is unknown."""
        habits, words = self.habits, self.words
        if not habits["is_known"]:
            return words("match.unknown", share=habits["share"])
        return words(
            "match.style",
            unit=habits["unit"],
            share=habits["share"],
            by_account=True if habits["by_account"] else None,
            net=[f"{rate:g}" for rate in habits["tax_rates"]] or None,
            lag=habits["gate"][1] or None,
            clock=habits["clock"],
            reversed=True if habits["sign"] < 0 else None,
        )

    @property
    def sums(self) -> list[str]:
        """A line for each currency: the amounts exported, booked once, missing, and of other statuses."""
        entries, status = self.entries, self.entries["status"]
        if not {"amount", "currency"} <= {*entries}:
            return []
        frames = {
            "exported": entries,
            "booked": entries[status.isin(ARRIVED_CODES)],
            "missing": entries[status == "missing"],
            "others": entries[~status.isin([*ARRIVED_CODES, "missing"])],
        }
        sums = {name: money_of(in_memory(own[["amount", "currency"]])) for name, own in frames.items()}
        lines = []
        for currency in sorted(sums["exported"]):
            amounts = {name: own.get(currency, NO_MONEY).amount or 0 for name, own in sums.items()}
            texts: dict[str, str | None] = {
                name: self.words.amount(amount, currency) for name, amount in amounts.items()
            }
            texts |= {} if currency in sums["others"] else {"others": None}
            lines.append(self.words("match.money", currency=currency, **texts))
        return lines

    @property
    def remarks(self) -> list[str]:
        """A line for each: style, batches in doubt, and what is not compared."""
        entries, words = self.entries, self.words
        lines = [self.style] if self.habits["unit"] else []
        if {"state", "batch_id"} <= {*entries}:
            counts = entries[entries["state"].isin(IN_DOUBT)].groupby("batch_id", sort=False)["entry_id"]
            lines += [
                words("match.in_doubt", batch=batch, count=count) for batch, count in counts.nunique().items()
            ]
        return [*lines, *(words("match.not_compared", what=phrase) for phrase in self.unchecked)]

    @property
    def totals_summary(self) -> list[str]:
        """On how many accounts the totals differ or agree, and of how many no entry could be compared."""
        is_left = (self.totals["entries"] == 0) & (self.totals["not_compared"] > 0)
        parts = self.open_accounts, self.totals[~is_left], self.totals
        differing, compared, every = (part["account_code"].nunique(dropna=False) for part in parts)
        facts = {"count": differing or compared, "of": max(differing, compared)}
        lines = [self.words(f"total.{'open' if differing else 'agree'}", **facts)] if facts["count"] else []
        left = every - facts["of"]
        return [*lines, *([self.words("total.not_compared", count=left)] if left else [])]

    def _account_lines(self) -> list[str]:
        """Return a line for each of the first open accounts."""
        rows, words = self.open_accounts, self.words
        lines = self.totals_summary
        for row in rows.head(SHOWN).to_dict("records"):
            account, *others = (
                " ".join(str(row[name]) for name in names if not pd.isna(row[name]))
                for names in (("account_code", "account_name"), ("month",), ("currency",))
            )
            named = ", ".join(filter(None, (account or words("total.no_account"), *others)))
            sums = {
                words.name("total", name): words.amount(row[name], others[-1] or None)
                for name in TOTALS
                if row[name]
            }
            lines.append(f"  {named}: {', '.join(f'{name} {amount}' for name, amount in sums.items())}")
        more = [f"  {words('total.more', count=len(rows) - SHOWN)}"] if len(rows) > SHOWN else []
        return [*lines, *more]

    @property
    def _named(self) -> pd.DataFrame:
        """The findings by the codes of their sentences, each with its entry before its message."""
        return self.findings.assign(
            message=(self.findings["about"] + ": ").str.removeprefix(": ") + self.findings["message"],
            check=self.findings["reason"],
        )
