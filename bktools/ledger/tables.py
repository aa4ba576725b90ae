"""The tables of a match: entries and postings with outcome, open groups, findings, control totals."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from bktools.frames.names import in_reading_order
from bktools.frames.schema import COUNT, DATE, TEXT, to_pandas
from bktools.frames.tables import with_column, without_columns
from bktools.ledger.findings import Finding, day_of, findings_of
from bktools.ledger.ledger_match import LedgerMatch
from bktools.ledger.matched_tables import CODES, OF_GROUP, MatchedTables, as_money, rows_of
from bktools.ledger.tax_rates import WHOLE
from bktools.ledger.verdict import THERE, Status
from bktools.ledger.whole_numbers import first_rows
from bktools.wording import Words

NOT_FROM_EXPORT = "matched to no entry"
OPEN_GROUPS = (
    *("accounts", "first_day", "last_day", "entries", "exported", "currency", "ledger", "difference"),
    *("reason", "vouchers", "likeliest", "entry_ids"),
)
# The codes and facts of a finding, with its sentences.
FINDING = ("check", "severity", "about", "message", "to_do", "who", "reason")


def match_of(matched: MatchedTables, words: Words) -> LedgerMatch:
    """Return the match, with its sentences in a language."""
    findings = findings_of(matched, words)
    entries = _entries(matched, findings)
    days = dict.fromkeys(("first_day", "last_day"), DATE) | {"entries": COUNT}
    money = dict.fromkeys(("ledger", "difference"), matched.table.schema.field("booked_amount").type)
    groups = pa.Table.from_pylist(
        [one.group for one in findings if one.group],
        pa.schema(dict.fromkeys(OPEN_GROUPS, TEXT) | days | money),
    )
    first, last = map(day_of, matched.verdict.covered) if matched.verdict.covered else (None, None)
    habits = matched.verdict.habits
    rates = [round(100 * rate / WHOLE, 3) for rate in habits.tax_rates]
    return LedgerMatch(
        entries=to_pandas(entries.select(in_reading_order(entries.column_names))),
        findings=to_pandas(_findings(matched, findings)),
        open_groups=to_pandas(groups),
        unchecked=tuple(_unchecked(matched, words)),
        not_from_export=int(matched.postings["is_from_no_export"].sum()),
        ledger_from=first,
        ledger_until=last,
        habits={**asdict(habits), "share": int(100 * habits.share), "tax_rates": rates},
        words=words,
        _listed={"totals": partial(_totals, matched), "postings": partial(_postings, matched)},
    )


def _entries(matched: MatchedTables, findings: Sequence[Finding]) -> pa.Table:
    """Return the entries that are shown, with the sentences of the first finding of each."""
    entries, at = matched.table, np.full(len(matched.table), -1)
    # The first finding of an entry is the most severe one.
    for number, finding in reversed([*enumerate(findings)]):
        at[[*finding.entries]] = number
    for name, source in {"differences": "message", "to_do": "to_do", "who": "who"}.items():
        texts = pa.array([one.sentences[source] for one in findings], TEXT)
        entries = entries.append_column(name, texts.take(rows_of(at)))
    is_shown = matched.entries["is_shown"]
    return entries if is_shown.all() else entries.filter(is_shown.to_arrow())


def _findings(matched: MatchedTables, findings: Sequence[Finding]) -> pa.Table:
    """Return the findings with the columns of their entry, where they have one alone, the facts last."""
    sentences = [one.sentences for one in findings]
    rows = pa.Table.from_pylist(sentences, pa.schema(dict.fromkeys((*FINDING, "facts"), TEXT)))
    alone = np.array([one.entries[0] if len(one.entries) == 1 else -1 for one in findings], np.int64)
    own = without_columns(matched.table, ["status", *rows.column_names]).take(rows_of(alone))
    for name in rows.column_names:
        own = own.append_column(name, rows.column(name))
    others = [name for name in in_reading_order(own.column_names) if name not in rows.column_names]
    return own.select([*FINDING, *others, "facts"])


def _unchecked(matched: MatchedTables, words: Words) -> list[str]:
    """Return what is compared without, and the entries that were left out, in words."""
    phrases = [words(f"lacking.{column}") for column in matched.inputs.lacking]
    if matched.inputs.not_sent:
        count = sum(matched.inputs.not_sent.values())
        phrases.append(words("lacking.not_sent", count=count, states=sorted(matched.inputs.not_sent)))
    return phrases


# ---- control totals

BY = ["account", "month"]
SUMS = ("exported", "of_other_months", "foreign", "ledger", "on_other_accounts", "not_from_export")


def _totals(matched: MatchedTables) -> pd.DataFrame:
    """Return the sums of both sides by account and month, in the ledger's currency.

    The postings of an account and a month are those that the accounting system adds up. An entry is exported
    in the month of its close, else of its date, and compared in that of its first posting, if it has one;
    what corrects it in another month belongs there, too.
    """
    postings, entries = matched.postings, matched.entries
    # Of postings that may hold an open entry, only those count whose sum is compared with its group's; and an
    # entry is in the month of that sum.
    is_held = matched.verdict.is_held
    first = entries["posting"].fill_null(-1).to_numpy().copy()
    for group in matched.verdict.open_groups:
        if group.booked is not None and group.postings:
            first[[*group.entries]] = group.postings[0]
    is_matched, cents = pl.col("group") >= 0, pl.col("cents")
    ledger = pl.when("is_home").then("cents").otherwise(0)
    postings = postings.with_columns(ledger=ledger, is_held=pl.Series(is_held) | is_matched)
    held = postings.filter(is_matched)
    of_group = held.group_by(OF_GROUP).agg(moved=pl.min("month"), in_group=pl.sum("ledger"))
    later = held.join(of_group, on=OF_GROUP, nulls_equal=True).filter(pl.col("month") > pl.col("moved"))
    entries = entries.with_columns(
        first=postings["month"].gather(pl.Series(first).replace(-1, None)),
        original=postings["fcents"].gather(entries["posting"]),
        has_own=postings["is_home"].gather(entries["posting"]),
        is_compared=pl.col("status") != Status.NOT_COMPARABLE,
    )
    # What was moved from another account is on its own one since then.
    entries = entries.join(of_group, on=OF_GROUP, how="left", nulls_equal=True, maintain_order="left")
    own = pl.col("month").alias("own_month")
    entries = entries.with_columns(own, month=pl.coalesce("moved", "first", "month"))
    # The lines of a split entry on one account are one entry.
    line = pl.struct("id", "account", "own_month", "is_compared")
    is_first_line = pl.col("id").is_null() | line.is_first_distinct()
    exported = pl.when("is_home").then(cents).otherwise(0)
    # What matched groups have on other accounts, and for other currencies.
    groups = entries.filter(is_matched).group_by("group", *BY)
    # A foreign entry with an error has what its own posting has, in proportion to its amount.
    is_wrong = pl.col("status").is_in([*THERE]) & ~is_matched & ~pl.col("is_home") & pl.col("has_own")
    is_more = pl.col("status") == Status.ANOTHER_AMOUNT
    own = pl.col("booked") * pl.when(is_more).then((cents / pl.col("original")).abs()).otherwise(1)
    more = pl.first("in_group").fill_null(0) - cents.filter("is_home").sum()
    is_home, is_other = pl.col("is_home").all(), ~pl.col("is_held")
    parts = (
        entries.select(
            "account",
            month="own_month",
            entries=pl.col("is_compared") & is_first_line,
            not_compared=~pl.col("is_compared") & is_first_line,
            exported=exported,
            of_other_months=-exported,
        ),
        entries.filter("is_compared").select("account", "month", of_other_months=exported),
        entries.filter(is_wrong).select("account", "month", foreign=own.round().cast(pl.Int64)),
        later.select("account", "month", of_other_months="ledger"),
        later.select("account", month="moved", of_other_months=-pl.col("ledger")),
        groups.agg(on_other_accounts=pl.when(is_home).then(-more), foreign=pl.when(~is_home).then(more)),
        postings.select(
            "account",
            "month",
            "is_held",
            "ledger",
            postings=pl.lit(1),
            not_from_export=pl.when(is_other).then("ledger"),
            on_other_accounts=pl.when(~is_other & ~is_matched).then(pl.col("gross") - cents),
        ),
    )
    both = pl.concat(parts, how="diagonal_relaxed").drop("group")
    both = both.group_by(BY).agg(pl.all().sum().cast(pl.Int64))
    # A second posting of an entry may be alone in its month; other accounts have none of the entries.
    accounts = entries["account"].unique().implode()
    is_own = (pl.col("is_held") > 0) & pl.col("account").is_in(accounts, nulls_equal=True)
    both = both.filter((pl.col("entries") + pl.col("not_compared") > 0) | is_own)
    if matched.months is not None:
        both = both.filter(matched.months)
    booked = pl.col("ledger") + pl.col("on_other_accounts") - pl.col("not_from_export") - pl.col("foreign")
    both = both.with_columns(difference=booked - pl.col("exported") - pl.col("of_other_months"))
    both = both.sort("account", "month", nulls_last=False)
    names = _account_names(matched)
    table = {
        "account_code": both["account"].to_arrow().cast(TEXT),
        "account_name": pa.array([names.get(code) for code in both["account"]], TEXT),
        "month": both["month"].dt.strftime("%Y-%m").to_arrow().cast(TEXT),
        "currency": pa.array([matched.currency] * both.height, TEXT),
        **{name: both[name].to_arrow() for name in ("entries", "not_compared", "postings")},
        **{name: as_money(both[name], matched.inputs.scale) for name in (*SUMS, "difference")},
    }
    return to_pandas(pa.table(table))


def _account_names(matched: MatchedTables) -> dict[str, str]:
    """Return the names of accounts, those of the entries first."""
    names = ["account_code", "account_name"]
    tables = (matched.inputs.exported, matched.inputs.ledger)
    both = [table.select(names).drop_null() for table in tables if {*names} <= {*table.column_names}]
    pairs = (table.group_by(names).aggregate([]).to_pylist() for table in both)
    return {pair["account_code"]: pair["account_name"] for pair in reversed([*itertools.chain(*pairs)])}


# ---- postings


def _postings(matched: MatchedTables) -> pd.DataFrame:
    """Return the postings with the entry of each (of a sum the first one), and its status."""
    verdict, ledger = matched.verdict, matched.inputs.ledger
    owner = first_rows(verdict.group, verdict.groups)[verdict.posting_group]
    for entry, rows in verdict.evidence.items():
        for row in rows:
            owner[row] = entry if owner[row] < 0 else owner[row]
    at = rows_of(owner)
    status = CODES.take(pa.array(verdict.status)).take(at).to_pandas().to_numpy(dtype=object)
    status[matched.postings["is_from_no_export"].to_numpy()] = NOT_FROM_EXPORT
    table = with_column(ledger, "status", pa.array(status, TEXT, from_pandas=True))
    table = with_column(table, "entry_id", matched.inputs.exported.column("entry_id").take(at))
    table = table.take(np.argsort(matched.inputs.order))
    return to_pandas(table.select(in_reading_order(table.column_names)))
