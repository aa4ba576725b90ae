"""The tables of a match: entries and postings with outcome, findings, and control totals of both sides."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pyarrow as pa

from bktools.frames.columns import with_column
from bktools.frames.names import in_reading_order
from bktools.frames.schema import COUNT, TEXT, to_pandas
from bktools.ledger.explained import by_group
from bktools.ledger.findings import found
from bktools.ledger.habits import CONTRA, COST
from bktools.ledger.inputs import OF_POSTING, Inputs
from bktools.ledger.ledger_match import LedgerMatch
from bktools.ledger.sides import Sides, money_column
from bktools.ledger.statuses import Status
from bktools.ledger.steps import Grain, How, Measure
from bktools.ledger.text_columns import Numbers, nulls, rows_of, taken
from bktools.ledger.verdict import Verdict
from bktools.wording import Words

# The posting's columns that an entry gets as evidence, with OF_POSTING in front.
EVIDENCE = (
    "date",
    "account_code",
    "account_name",
    "amount",
    "currency",
    "text",
    "document_number",
    "voucher_id",
    "cost_centre",
    "line",
)
NOT_FROM_EXPORT = "not from an export"
# How an entry was found, and of a sum what has one posting.
OF_A_SUM = (How.SUM, How.WHOLE_VOUCHER, How.REST_OF_DAY, How.REST_OF_MONTH)
MATCHED_BY = [*(how.name.lower() for how in How), *(f"sum_by_{grain.code}" for grain in Grain)]
PLAIN = (Status.BOOKED, Status.IN_A_SUM)


def result(inputs: Inputs, sides: Sides, verdict: Verdict, words: Words) -> LedgerMatch:
    """Return the match, with its sentences in a language."""
    owners = _owners(verdict)
    free = _not_exported(sides, verdict, owners)
    statuses = taken(pa.array([status.code for status in Status], TEXT), rows_of(verdict.status))
    entries = _with_evidence(inputs, verdict)
    entries = entries.append_column("status", statuses).append_column(
        "bookings", pa.array(_bookings(verdict))
    )
    numbers = np.flatnonzero(~np.isin(verdict.status, PLAIN))
    numbers = np.union1d(numbers, np.array([*verdict.other_cost_centres], dtype=np.int64))
    findings, rows = found(inputs, verdict, entries, numbers, words)
    own = np.full(len(entries), -1)
    # The first finding of an entry is the most severe one.
    own[rows[::-1]] = np.arange(len(rows))[::-1]
    at = rows_of(own)
    for name, source in {"differences": "message", "to_do": "to_do", "who": "who"}.items():
        entries = entries.append_column(name, taken(findings.column(source), at))
    days: Any = pl.Series(pl.from_arrow(inputs.ledger.column("date")))
    return LedgerMatch(
        entries=to_pandas(entries.select(in_reading_order(entries.column_names))),
        findings=to_pandas(_findings(entries, findings, rows)),
        unchecked=inputs.unchecked,
        not_from_export=int(free.sum()),
        ledger_from=days.min(),
        ledger_until=days.max(),
        habits=verdict.facts(),
        words=words,
        _listed={
            "totals": partial(_totals, inputs, sides, verdict, free),
            "postings": partial(_postings, inputs, statuses, owners, free),
        },
    )


def _owners(verdict: Verdict) -> Numbers:
    """Return for each posting its entry, of a sum the first one; -1 where it has none."""
    owners = np.full(verdict.postings.height, -1)
    members, lines = _of_sums(verdict)
    gid = members["gid"].to_numpy()
    first = by_group(np.minimum, gid, members["e"].to_numpy(), 1 + int(gid.max(initial=-1)))
    owners[lines["p"].to_numpy()] = first[lines["gid"].to_numpy()]
    judged = np.flatnonzero(verdict.posting >= 0)[::-1]
    alone = judged[owners[verdict.posting[judged]] < 0]
    owners[verdict.posting[alone]] = alone
    for postings in (verdict.doubles, verdict.reversals):
        owners[[*postings]] = [*postings.values()]
    return _with_tax(verdict, owners)


def _of_sums(verdict: Verdict) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the members and the lines of the groups that may have several entries or postings."""
    return verdict.members.filter(~pl.col("is_alone")), verdict.lines.filter(~pl.col("is_alone"))


def _with_tax(verdict: Verdict, owners: Numbers) -> Numbers:
    """Return the owners with those of what stands beside the costs in their vouchers, such as tax."""
    of_voucher = verdict.postings.select("p", "voucher", "role", "is_used").with_columns(e=pl.Series(owners))
    beside = of_voucher.filter(pl.col("e") < 0, ~pl.col("is_used"), pl.col("role") != CONTRA)
    own = of_voucher.filter(pl.col("voucher").is_not_null(), pl.col("e") >= 0)
    own = own.join(beside, on="voucher", how="semi").group_by("voucher").agg(first=pl.min("e"))
    beside = beside.join(own, on="voucher")
    owners[beside["p"].to_numpy()] = beside["first"].to_numpy()
    return owners


def _not_exported(sides: Sides, verdict: Verdict, owners: Numbers) -> npt.NDArray[np.bool_]:
    """Return the postings on the entries' accounts, in their months, that are of no entry and name none."""
    months = sides.entries["month"].drop_nulls()
    if not len(months):
        return np.zeros(len(owners), dtype=bool)
    of_months = pl.col("month").is_between(months.min(), months.max())
    is_open = pl.col("is_used") & (pl.col("role") == COST) & pl.col("id").is_null() & of_months
    open_ = verdict.postings.select(is_open.fill_null(value=False)).to_series().to_numpy()
    return open_ & (owners < 0)


def _with_evidence(inputs: Inputs, verdict: Verdict) -> pa.Table:
    """Return the entries with the columns of the posting of each, and how it was found."""
    entries, at = inputs.exported, rows_of(verdict.posting)
    for name in EVIDENCE:
        if name == "amount":
            entries = entries.append_column(
                f"{OF_POSTING}amount", money_column(_booked(verdict), verdict.scale)
            )
        elif name in inputs.ledger.column_names:
            entries = entries.append_column(f"{OF_POSTING}{name}", taken(inputs.ledger.column(name), at))
    is_sum = np.isin(verdict.how, OF_A_SUM) & (verdict.status == Status.IN_A_SUM)
    by = np.where(is_sum, len(How) + verdict.grain, verdict.how)
    return entries.append_column("matched_by", taken(pa.array(MATCHED_BY, TEXT), rows_of(by)))


def _booked(verdict: Verdict) -> pl.Series:
    """Return what is booked for each entry: its posting with tax; of a sum all of it, as entries are."""
    amounts = verdict.postings.select(amount=pl.coalesce("gross", "amount")).to_series()
    at = pl.Series(np.maximum(verdict.posting, 0))
    booked = amounts.gather(at) if len(amounts) else nulls(len(at), pl.Int64)
    booked = booked.set(pl.Series(verdict.posting < 0), None)
    members, lines = _of_sums(verdict)
    counts = np.bincount(lines["gid"].to_numpy())
    members, lines = (side.filter(pl.Series(counts[side["gid"].to_numpy()] > 1)) for side in (members, lines))
    lines = lines.with_columns(net=verdict.postings["amount"][lines["p"]], whole=amounts[lines["p"]])
    totals = lines.group_by("gid").agg(pl.sum("net"), pl.sum("whole"))
    sums = members.join(totals, on="gid")
    if sums.height:
        total = pl.when(pl.col("measure") == int(Measure.NET)).then("net").otherwise("whole")
        booked = booked.scatter(sums["e"], sums.select(total).to_series())
    return booked


def _bookings(verdict: Verdict) -> Numbers:
    """Return how often each entry is booked, after what takes it back."""
    bookings = (verdict.posting >= 0).astype(np.int64)
    again = np.bincount(np.array([*verdict.doubles.values()], dtype=np.int64), minlength=len(bookings))
    bookings += again
    bookings[(verdict.status == Status.BOOKED_TWICE) & (again == 0)] += 1
    bookings[verdict.status == Status.REVERSED] = 0
    return bookings


def _findings(entries: pa.Table, findings: pa.Table, rows: Numbers) -> pa.Table:
    """Return the findings with the columns of their entries, the facts last."""
    own = entries.drop_columns(["status", "to_do", "who"]).take(pa.array(rows, COUNT))
    for name in findings.column_names:
        own = own.append_column(name, findings.column(name))
    first = ["check", "severity", "about", "message", "to_do", "who", "reason"]
    others = [name for name in in_reading_order(own.column_names) if name not in {*first, "facts"}]
    return own.select([*first, *others, "facts"])


def _totals(inputs: Inputs, sides: Sides, verdict: Verdict, free: npt.NDArray[np.bool_]) -> pd.DataFrame:
    """Return the sums of both sides by account, month and currency."""
    by = ["account", "key", "month"]
    entries = sides.entries.select("account", "key", "month", "gross", "is_home")
    months = entries["month"].drop_nulls()
    postings = verdict.postings.with_columns(free=pl.Series(free)).filter("is_used")
    if len(months):
        postings = postings.filter(pl.col("month").is_between(months.min(), months.max()))
    ours = entries.group_by(by, maintain_order=True).agg(
        entries=pl.len(), exported=pl.sum("gross"), is_home=pl.first("is_home")
    )
    theirs = postings.group_by(by, maintain_order=True).agg(
        postings=pl.len(), ledger=pl.sum("amount"), not_from_export=pl.col("amount").filter("free").sum()
    )
    both = ours.join(theirs, on=by, how="full", coalesce=True, nulls_equal=True)
    both = both.join(_on_other_accounts(sides, verdict), on=by, how="left", nulls_equal=True)
    is_comparable = pl.col("is_home").fill_null(value=True) | pl.lit(verdict.postings.height == 0)
    whole = pl.col(
        "entries", "exported", "postings", "ledger", "on_other_accounts", "not_from_export"
    ).fill_null(0)
    filled = both.with_columns(whole)
    filled = filled.with_columns(
        exported=pl.when(both["exported"].is_not_null()).then("exported"),
        ledger=pl.when(both["ledger"].is_not_null()).then("ledger"),
        difference=pl.when(is_comparable).then(pl.col("ledger") - pl.col("exported")),
    )
    filled = filled.with_columns(
        unexplained=pl.col("difference") + pl.col("on_other_accounts") - pl.col("not_from_export")
    )
    return _named_totals(inputs, sides, verdict, filled)


def _on_other_accounts(sides: Sides, verdict: Verdict) -> pl.DataFrame:
    """Return what the entries have on other accounts, such as tax.

    It is what is explained, gross, less what is on the account.
    """
    entries = sides.entries.filter("is_home").select("e", "account", "key", "gross")
    lines = verdict.lines.join(verdict.postings.select("p", "account", "month", "amount"), on="p")
    theirs = lines.group_by("gid", "account").agg(pl.sum("amount"), pl.min("month"))
    ours = verdict.members.join(entries, on="e").group_by("gid", "account", "key").agg(pl.sum("gross"))
    groups = ours.join(theirs, on=["gid", "account"]).select(
        "account", "key", "month", rest=pl.col("gross") - pl.col("amount")
    )
    # The postings that are judged alone, and those that book an entry again.
    taken = pl.concat([verdict.lines["p"], pl.Series([*verdict.reversals], dtype=pl.Int64)])
    judged = [*verdict.posting[verdict.posting >= 0].tolist(), *verdict.doubles]
    others = verdict.postings.filter(
        pl.col("p").is_in(judged), ~pl.col("p").is_in(taken.implode()), pl.col("gross").is_not_null()
    )
    alone = others.select("account", "key", "month", rest=pl.col("gross") - pl.col("amount"))
    rest = pl.concat([groups, alone]).filter(pl.col("rest") != 0)
    return rest.group_by("account", "key", "month").agg(on_other_accounts=pl.sum("rest"))


def _named_totals(inputs: Inputs, sides: Sides, verdict: Verdict, totals: pl.DataFrame) -> pd.DataFrame:
    """Return totals with codes, names, months and currencies as people see them."""
    first = {"account": pl.Int64, "code": pl.String, "name": pl.String}
    named, currencies = (
        [pl.DataFrame(schema=first)],
        [pl.DataFrame(schema={"key": pl.Int64, "currency": pl.String})],
    )
    for numbers, table in ((sides.entries, inputs.exported), (sides.postings, inputs.ledger)):
        columns = {
            name: _texts(table, column)
            for name, column in {"code": "account_code", "name": "account_name"}.items()
        }
        named.append(numbers.select("account").with_columns(**columns))
        money = (
            numbers["currency"]
            if "currency" in numbers.columns
            else _texts(table, "currency").str.to_uppercase()
        )
        currencies.append(numbers.select("key").with_columns(currency=money))
    names = pl.concat(named).group_by("account").agg(pl.col("code", "name").drop_nulls().first())
    of_keys = pl.concat(currencies).group_by("key").agg(pl.col("currency").drop_nulls().first())
    totals = totals.join(names, on="account", how="left", nulls_equal=True).join(
        of_keys, on="key", how="left", nulls_equal=True
    )
    day = pl.date(1970 + (pl.col("month") - 1) // 12, (pl.col("month") - 1) % 12 + 1, 1)
    totals = totals.with_columns(of_month=day.dt.strftime("%Y-%m")).sort(
        "code", "month", "currency", nulls_last=False
    )
    money_columns = (
        "exported",
        "ledger",
        "on_other_accounts",
        "difference",
        "not_from_export",
        "unexplained",
    )
    sums = {name: money_column(totals[name], verdict.scale) for name in money_columns}
    return to_pandas(
        pa.table(
            {
                "account_code": totals["code"].to_arrow().cast(TEXT),
                "account_name": totals["name"].to_arrow().cast(TEXT),
                "month": totals["of_month"].to_arrow().cast(TEXT),
                "currency": totals["currency"].to_arrow().cast(TEXT),
                "entries": totals["entries"].cast(pl.Int64).to_arrow(),
                "exported": sums["exported"],
                "postings": totals["postings"].cast(pl.Int64).to_arrow(),
                **{name: sums[name] for name in money_columns[1:]},
            }
        )
    )


def _texts(table: pa.Table, name: str) -> pl.Series:
    if name not in table.column_names or pa.types.is_null(table.schema.field(name).type):
        return nulls(len(table), pl.String)
    return pl.Series(pl.from_arrow(table.column(name).cast(TEXT)))


def _postings(
    inputs: Inputs, statuses: pa.Array, owners: Numbers, free: npt.NDArray[np.bool_]
) -> pd.DataFrame:
    """Return the postings with the entry of each (of a sum the first one), and its status."""
    own = rows_of(owners)
    status = taken(statuses, own).to_numpy(zero_copy_only=False)
    status[free] = NOT_FROM_EXPORT
    table = with_column(inputs.ledger, "status", pa.array(status, TEXT, from_pandas=True))
    table = with_column(table, "entry_id", taken(inputs.exported.column("entry_id"), own))
    return to_pandas(table.select(in_reading_order(table.column_names)))
