"""The result of a match: what became of each exported entry, with the evidence of the general ledger."""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
from collections.abc import Callable, Mapping

import pandas as pd

from bktools import views
from bktools.consoles import readable
from bktools.frames import codes
from bktools.frames.findings import as_html, as_lines
from bktools.frames.results import Result
from bktools.frames.schema import IN_DOUBT, to_arrow
from bktools.frames.sums import NOTHING, money_of
from bktools.ledger.checks import ARRIVED, STATUSES
from bktools.wording.numbers import shown

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
        One row per entry: its own columns; `status` (booked, in_a_sum, missing, booked_twice, another_amount,
        another_account, another_date, ambiguous, not_comparable); its posting as
        booked_date, booked_account_code, booked_amount, booked_text, booked_document_number, booked_voucher_id, booked_line
        and so on, for each entry of a sum the same; `bookings` (how often it is booked); `matched_by`; `score` (similarity of the texts, 0 to 100, where they were compared);
        `differences`; to_do and who.
    findings : DataFrame
        One row per entry that is not plainly booked, most severe first: check (its status), severity (error, warning,
        info), about, message, to_do, who, and the columns of `entries`.
    unchecked : tuple of str
        What was not compared, and why.
    not_from_export : int
        How many postings on the entries' accounts, in their months, are matched with no entry.
    ledger_from, ledger_until : date
        First and last day of the postings; None for an empty ledger.

    Notes
    -----
    Nothing of the interface: whether an export arrived is seen in the accounting system alone (sections 3 and 4.2).

    Examples
    --------
    >>> import pandas as pd
    >>> entries = pd.DataFrame({"entry_id": ["e1"], "batch_id": ["b1"], "account_code": ["5800"], "amount": [42]})
    >>> postings = pd.DataFrame({"account_code": ["5800", "1930"], "amount": [42, -42], "voucher_id": ["A 7", "A 7"]})
    >>> from bktools import match_ledger
    >>> match_ledger(entries, postings.assign(date=pd.Timestamp("2026-10-03"))).entries["booked_voucher_id"].tolist()
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
    # Tables that are computed on first use.
    _listed: Mapping[str, Callable[[], pd.DataFrame]]

    @functools.cached_property
    def postings(self) -> pd.DataFrame:
        """One row per posting of the ledger, with `entry_id` (the entry that it books) and `status`: that of the entry,
        "not from an export" on the entries' accounts in their months, or null.
        """  # noqa: D205 - the sentence takes two lines
        return self._listed["postings"]()

    @functools.cached_property
    def totals(self) -> pd.DataFrame:
        """Control totals, one row per account, month and currency.

        account_code, account_name, month, currency; entries and exported (count and sum of the entries, as they were
        exported: gross, where they hold tax); postings and ledger (those of the account: net, where tax is booked
        apart); on_other_accounts (the rest of the entries' vouchers, such as tax); difference (ledger less exported;
        null where the currencies cannot be compared); not_from_export (the part of the ledger that is matched with no
        entry); unexplained (the difference with on_other_accounts, without not_from_export: 0 where all is booked).
        """
        return self._listed["totals"]()

    @property
    def open_accounts(self) -> pd.DataFrame:
        """The control totals that are not settled: `unexplained` is not 0, or cannot be computed."""
        return self.totals[self.totals["unexplained"].isna() | (self.totals["unexplained"] != 0).fillna(value=True)]

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
        lines = [*self.sums, *as_lines(self._named), *self.remarks, *self.account_lines(".open_accounts")]
        return readable("\n  ".join([self.headline, *lines]))

    def _repr_html_(self) -> str:
        money, rows, right = self._money(), self._open_rows(), views.TO_THE_RIGHT
        of_money, of_totals = ["", right, right, right], ["", views.ON_ONE_LINE, "", *[right] * len(TOTALS)]
        headings = ["account", "month", "currency", *TOTALS.values()]
        parts = [
            views.heading(self.headline),
            views.table(["currency", "exported", "booked once", "missing"], money, total=len(money), looks=of_money),
            as_html(self._named, "entries", ".findings"),
            views.table(headings, rows, total=len(rows), where=".open_accounts", looks=of_totals),
            views.table([""], [[line] for line in self.remarks], total=len(self.remarks)),
        ]
        return "".join(parts)

    @property
    def headline(self) -> str:
        """One line: the days of the ledger, and how many entries have each status."""
        counts = self.counts
        numbers = ", ".join(
            f"{counts[status]:,} {codes.sentence(status)}" for status in codes.WORDS if status in counts
        )
        period = f", {self.ledger_from} to {self.ledger_until}" if self.ledger_from else " without postings"
        others = (
            f"; {codes.counted(self.not_from_export, 'posting')} not from an export" if self.not_from_export else ""
        )
        entries = codes.counted(len(self.entries), "exported entry", "exported entries")
        return f"Ledger{period}: {entries}: {numbers or 'none'}{others}"

    def _money(self) -> list[tuple[str, ...]]:
        """Return by currency the amounts that were exported, booked once, and missing."""
        if not {"amount", "currency"} <= set(self.entries.columns):
            return []
        status = self.entries["status"]
        frames = (self.entries, self.entries[status.isin(ARRIVED)], self.entries[status == "missing"])
        exported, *others = (money_of(to_arrow(frame[["amount", "currency"]])) for frame in frames)
        return [
            (currency, *(shown(sums.get(currency, NOTHING).amount or 0, currency) for sums in (exported, *others)))
            for currency in sorted(exported)
        ]

    @property
    def sums(self) -> list[str]:
        """A line for each currency: the amounts exported, booked once, and missing."""
        return [
            f"{currency}: {exported} exported, {booked} booked once, {missing} missing"
            for currency, exported, booked, missing in self._money()
        ]

    @property
    def remarks(self) -> list[str]:
        """A line for sums, split entries, entries that changed, batches in doubt, and columns that are not compared."""
        entries = self.entries
        lines = []
        in_sums = entries[entries["status"] == "in_a_sum"]
        if len(in_sums):
            kinds = in_sums["matched_by"].value_counts().sort_index()
            lines.append("in a sum: " + ", ".join(f"{count:,} entries by {kind}" for kind, count in kinds.items()))
        split = entries[entries["split_line"].fillna(0) > 0] if "split_line" in entries else entries[:0]
        if len(split):
            split_entries = codes.counted(split["entry_id"].nunique(), "entry", "entries")
            lines.append(f"split: {split_entries} with {len(split):,} lines; each line is compared by itself")
        if "changed_since_export" in entries:
            changed = entries.dropna(subset="changed_since_export")
            lines += [f"changed since export: {entry}: {change}" for entry, change in _changes(changed.head(SHOWN))]
            lines += [f"changed since export: {len(changed) - SHOWN:,} more"] if len(changed) > SHOWN else []
        if {"state", "batch_id"} <= {*entries}:
            counts = entries.loc[entries["state"].isin(IN_DOUBT), "batch_id"].value_counts(sort=False)
            proof = "bktools verify says whether the ledger proves it"
            lines += [
                f"outcome unknown: batch {batch} with {count:,} entries: {proof}" for batch, count in counts.items()
            ]
        return [*lines, *(f"not compared: {phrase}" for phrase in self.unchecked)]

    def _open_rows(self) -> list[tuple[str, ...]]:
        """Return the open accounts as text: account, month and currency, then the sums of TOTALS, "" for zero."""
        rows = []
        for row in self.open_accounts.to_dict("records"):
            account, month, currency = (
                " ".join(str(row[name]) for name in names if not pd.isna(row[name]))
                for names in (("account_code", "account_name"), ("month",), ("currency",))
            )
            sums = ["" if pd.isna(row[name]) or not row[name] else shown(row[name], currency) for name in TOTALS]
            rows.append((account or "no account", month, currency, *sums[:-1], sums[-1] or "an unknown amount"))
        return rows

    def account_lines(self, where: str) -> list[str]:
        """Return a line for each of the first open accounts; `where` names the place of the others."""
        rows = self._open_rows()
        if not rows:
            return [f"control totals: all {len(self.totals):,} accounts agree"] if len(self.totals) else []
        lines = []
        for account, month, currency, *sums in rows[:SHOWN]:
            values = ", ".join(f"{value} {name}" for value, name in zip(sums, TOTALS.values(), strict=True) if value)
            lines.append(f"  {', '.join(filter(None, (account, month, currency)))}: {values}")
        more = [f"  and {len(rows) - SHOWN:,} more in {where}"] if len(rows) > SHOWN else []
        return [f"control totals: {len(rows):,} of {len(self.totals):,} accounts are open", *lines, *more]

    @property
    def _named(self) -> pd.DataFrame:
        """The findings, each with its entry before its message."""
        return self.findings.assign(message=self.findings["about"] + ": " + self.findings["message"])


def _changes(entries: pd.DataFrame) -> list[tuple[str, str]]:
    """Return the name of each entry, and its change."""
    names = [name for name in ("date", "supplier", "description") if name in entries]
    rows = entries[[*names, "changed_since_export"]].astype("object").itertuples(index=False)
    return [
        (", ".join(str(value).removesuffix(" 00:00:00") for value in values if not pd.isna(value)), change)
        for *values, change in rows
    ]
