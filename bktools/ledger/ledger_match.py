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
from bktools.frames.incoming import arrow_of
from bktools.frames.results import Result
from bktools.frames.schema import IN_DOUBT
from bktools.frames.sums import NOTHING, money_of
from bktools.ledger.checks import ARRIVED, STATUSES
from bktools.wording import Words

# The sums of an open account, with their names.
TOTALS = {
    "exported": "exported (gross)",
    "ledger": "in the ledger (net)",
    "on_other_accounts": "on other accounts, such as tax",
    "not_from_export": "not from an export",
    "unexplained": "unexplained",
}
SHOWN = 10


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class LedgerMatch(Result):
    """What became of each exported entry in the general ledger.

    Attributes
    ----------
    entries : DataFrame
        One row per entry: its own columns; `status` (booked, in_a_sum, another_date, not_comparable,
        another_account, another_amount, booked_twice, reversed, not_decided, missing); its posting as
        booked_date, booked_account_code, booked_amount (with its tax), booked_text, booked_document_number,
        booked_voucher_id, booked_line and so on, for each entry of a sum the first one; `bookings` (how often
        it is booked, after what takes it back); `matched_by`; `differences`; to_do and who.
    findings : DataFrame
        One row per entry that is not plainly booked, most severe first: check (its status), severity (error,
        warning, info), about, message, to_do, who, reason (why it has the status), the columns of `entries`,
        and facts.
    unchecked : tuple of str
        What was not compared, and why.
    not_from_export : int
        How many postings on the entries' accounts, in their months, are of no entry.
    ledger_from, ledger_until : date
        First and last day of the postings; None for an empty ledger.
    habits : dict
        How the ledger books: style, lag (days), explained (%), is_known, is_net, tax_rates, sign, currency.

    Notes
    -----
    The interface has nothing on this: only the accounting system shows an export's arrival (sections 3, 4.2).

    Examples
    --------
    >>> import pandas as pd
    >>> entries = {"entry_id": ["e1"], "batch_id": ["b1"], "account_code": ["5800"], "amount": [42]}
    >>> entries = pd.DataFrame(entries)
    >>> postings = {"account_code": ["5800", "1930"], "amount": [42, -42], "voucher_id": ["A 7", "A 7"]}
    >>> postings = pd.DataFrame(postings).assign(date=pd.Timestamp("2026-10-03"))
    >>> from bktools import match_ledger
    >>> match_ledger(entries, postings).entries["booked_voucher_id"].tolist()
    ['A 7']
    """

    _TABLES = ("entries", "findings", "totals", "postings")
    _PREFIX = "ledger_"

    entries: pd.DataFrame
    findings: pd.DataFrame
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

        The status is that of the entry, "not from an export" on the entries' accounts in their months, or
        null.
        """
        return self._listed["postings"]()

    @functools.cached_property
    def totals(self) -> pd.DataFrame:
        """Control totals, one row per account, month and currency.

        account_code, account_name, month, currency; entries and exported (count and sum of the entries, as
        they were exported: gross, where they hold tax); postings and ledger (those of the account: net, where
        tax is booked apart); on_other_accounts (the rest of the entries' vouchers, such as tax); difference
        (ledger less exported; null where the currencies cannot be compared); not_from_export (the part of the
        ledger that is matched with no entry); unexplained (the difference with on_other_accounts, without
        not_from_export: 0 where all is booked).
        """
        return self._listed["totals"]()

    @property
    def open_accounts(self) -> pd.DataFrame:
        """The control totals that are not settled: `unexplained` is not 0, or cannot be computed."""
        return self.totals[
            self.totals["unexplained"].isna() | (self.totals["unexplained"] != 0).fillna(value=True)
        ]

    @property
    def counts(self) -> dict[str, int]:
        """The number of entries by status, the best first; a status that no entry has is left out."""
        counts = self.entries["status"].value_counts()
        return {status: int(counts[status]) for status in STATUSES if status in counts}

    @property
    def has_arrived(self) -> bool:
        """Whether every entry is booked once, alone or in a sum, with its account, amount and date."""
        return set(self.counts) <= ARRIVED

    def __repr__(self) -> str:
        others = [*self.remarks, *self.account_lines(".open_accounts")]
        findings = as_lines(self._named, self.words, "ledger")
        sums, others = ([INDENT + line for line in lines] for lines in (self.sums, others))
        return readable("\n".join([self.headline, *sums, *findings, *others]))

    def _repr_html_(self) -> str:
        money, rows, right = self._money(), self._open_rows(), views.TO_THE_RIGHT
        of_money, of_totals = ["", right, right, right], ["", views.ON_ONE_LINE, "", *[right] * len(TOTALS)]
        headings = ["account", "month", "currency", *TOTALS.values()]
        parts = [
            views.heading(self.headline),
            views.table(
                ["currency", "exported", "booked once", "missing"], money, total=len(money), looks=of_money
            ),
            as_html(self._named, self.words, "ledger", "entries", ".findings"),
            views.table(headings, rows, total=len(rows), where=".open_accounts", looks=of_totals),
            views.table([""], [[line] for line in self.remarks], total=len(self.remarks)),
        ]
        return "".join(parts)

    @property
    def headline(self) -> str:
        """One line: the days of the ledger, and how many entries have each status."""
        parts = [
            self.words("match.count", count=count, status=status) for status, count in self.counts.items()
        ]
        span = {"first": self.ledger_from, "last": self.ledger_until}
        return self.words(
            "match.headline",
            span=self.words("match.days", **span) if self.ledger_from else None,
            entries=len(self.entries),
            counts=", ".join(parts) or self.words("match.none"),
            others=self.not_from_export or None,
        )

    @property
    def style(self) -> str:
        """One line: how the ledger books entries, such as net sums by account and day, or is unknown."""
        habits = self.habits
        if not habits["is_known"]:
            return self.words("match.unknown", explained=habits["explained"])
        return self.words(
            "match.style",
            style=habits["style"],
            explained=habits["explained"],
            net=habits["tax_rates"] if habits["is_net"] else None,
            lag=habits["lag"] or None,
            reversed=True if habits["sign"] < 0 else None,
        )

    def _money(self) -> list[tuple[str, ...]]:
        """Return by currency the amounts that were exported, booked once, and missing."""
        if not {"amount", "currency"} <= set(self.entries.columns):
            return []
        status = self.entries["status"]
        frames = (self.entries, self.entries[status.isin(ARRIVED)], self.entries[status == "missing"])
        exported, *others = (money_of(arrow_of(frame[["amount", "currency"]])) for frame in frames)
        return [
            (
                currency,
                *(
                    self.words.amount(sums.get(currency, NOTHING).amount or 0, currency)
                    for sums in (exported, *others)
                ),
            )
            for currency in sorted(exported)
        ]

    @property
    def sums(self) -> list[str]:
        """A line for each currency: the amounts exported, booked once, and missing."""
        names = ("currency", "exported", "booked", "missing")
        return [self.words("match.money", **dict(zip(names, row, strict=True))) for row in self._money()]

    @property
    def remarks(self) -> list[str]:
        """A line for each: style, sums, splits, changes, batches in doubt, and what is not compared."""
        entries, words = self.entries, self.words
        lines = [self.style] if len(entries) else []
        in_sums = entries[entries["status"] == "in_a_sum"]
        if len(in_sums):
            kinds = in_sums["matched_by"].value_counts().sort_index()
            parts = [words("match.in_sum", count=int(count), how=kind) for kind, count in kinds.items()]
            lines.append(words("match.in_sums", sums=", ".join(parts)))
        split = entries[entries["split_line"].fillna(0) > 0] if "split_line" in entries else entries[:0]
        if len(split):
            lines.append(words("match.split", entries=split["entry_id"].nunique(), count=len(split)))
        if "changed_since_export" in entries:
            changed = entries.dropna(subset="changed_since_export")
            lines += [
                words("match.changed", about=entry, change=change)
                for entry, change in _changes(changed.head(SHOWN))
            ]
            lines += [words("match.more_changed", count=len(changed) - SHOWN)] if len(changed) > SHOWN else []
        if {"state", "batch_id"} <= {*entries}:
            counts = entries.loc[entries["state"].isin(IN_DOUBT), "batch_id"].value_counts(sort=False)
            lines += [
                words("match.in_doubt", batch=batch, count=int(count)) for batch, count in counts.items()
            ]
        return [*lines, *(words("match.not_compared", what=phrase) for phrase in self.unchecked)]

    def _open_rows(self) -> list[tuple[str, ...]]:
        """Return open accounts as text: account, month, currency, then the sums of TOTALS, "" for zero."""
        rows = []
        for row in self.open_accounts.to_dict("records"):
            account, month, currency = (
                " ".join(str(row[name]) for name in names if not pd.isna(row[name]))
                for names in (("account_code", "account_name"), ("month",), ("currency",))
            )
            sums = [
                "" if pd.isna(row[name]) or not row[name] else self.words.amount(row[name], currency or None)
                for name in TOTALS
            ]
            rows.append(
                (account or "no account", month, currency, *sums[:-1], sums[-1] or "an unknown amount")
            )
        return rows

    def account_lines(self, where: str) -> list[str]:
        """Return a line for each of the first open accounts; `where` names the place of the others."""
        rows = self._open_rows()
        if not rows:
            return [f"control totals: all {len(self.totals):,} accounts agree"] if len(self.totals) else []
        lines = []
        for account, month, currency, *sums in rows[:SHOWN]:
            values = ", ".join(
                f"{value} {name}" for value, name in zip(sums, TOTALS.values(), strict=True) if value
            )
            lines.append(f"  {', '.join(filter(None, (account, month, currency)))}: {values}")
        more = [f"  and {len(rows) - SHOWN:,} more in {where}"] if len(rows) > SHOWN else []
        return [f"control totals: {len(rows):,} of {len(self.totals):,} accounts are open", *lines, *more]

    @property
    def _named(self) -> pd.DataFrame:
        """The findings by the codes of their sentences, each with its entry before its message."""
        return self.findings.assign(
            message=self.findings["about"] + ": " + self.findings["message"], check=self.findings["reason"]
        )


def _changes(entries: pd.DataFrame) -> list[tuple[str, str]]:
    """Return the name of each entry, and its change."""
    names = [name for name in ("date", "supplier", "description") if name in entries]
    rows = entries[[*names, "changed_since_export"]].astype("object").itertuples(index=False)
    return [
        (", ".join(str(value).removesuffix(" 00:00:00") for value in values if not pd.isna(value)), change)
        for *values, change in rows
    ]
