"""The join: one row per account of the chart or of the service, with what differs.

Accounts are matched on external ID within a company, to the letter, and on nothing else.
"""

from __future__ import annotations

import dataclasses

import narwhals as nw

from bktools.contract.accounts import LONGEST_TEXT
from bktools.frames.engine import Lazy
from bktools.reconcile.given import Given

KEY = ["company_id", "external_id"]
ERP = ["erp_name", "erp_code", "erp_archived", "erp_tax", "chart_rows"]
SERVICE = ["account_id", "name", "code", "archived", "tax", "told", "service_rows"]
DIFFERENCES = ["name_differs", "code_differs", "tax_code_differs", "archived_differs"]

# What a spreadsheet or a person may add to a text without anybody seeing it. Spelled out, because engines do not agree
# on what white space is.
BLANKS = "[ \t\n\x0b\x0c\r\u0085\u00a0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u2060\u3000\ufeff]+"


def is_empty(column: str) -> nw.Expr:
    """Whether a text is missing or has no character."""
    return nw.col(column).is_null() | (nw.col(column) == "").fill_null(False)


def is_long(column: str) -> nw.Expr:
    """Whether a text is longer than the service takes."""
    return (nw.col(column).str.len_chars() > LONGEST_TEXT).fill_null(False)


def is_single() -> nw.Expr:
    """Whether neither side has several rows of the pair's key, so that a missing value is missing, not ambiguous."""
    return (nw.col("chart_rows").fill_null(1) == 1) & (nw.col("service_rows").fill_null(1) == 1)


def without_zeros(column: str) -> nw.Expr:
    """Return a text without its leading zeros."""
    return nw.col(column).str.replace_all("^0+", "")


@dataclasses.dataclass(frozen=True)
class Pairs:
    """The chart joined with the accounts known here; rows without an external ID are left out.

    Each row has the key; `erp_*` as the chart has it; `account_id`, `name`, `code`, `archived`, `tax` as the service
    has it, and whether it `told` them all itself; `chart_rows`, `service_rows` how many rows have the key (null: none);
    `charted` whether there is a chart for the company; `*_differs`, named as their checks. What is ambiguous (several
    rows of a key) is null.

    `several` are the keys of more than one row, None where it is known that there are none; `charted` the companies of
    the chart, None where it is known that every account is of them.
    """

    joined: Lazy
    several: Lazy | None
    charted: Lazy | None

    def remarkable(self) -> Lazy:
        """Return the pairs that anything is to be said about: among a million accounts, a few.

        `looks_like`, `zeros_like` name the account that the other side alone has and one that a side alone has is like.
        """
        pairs = self._single(self.joined.filter(_is_remarkable()))
        if self.several is not None:
            pairs = nw.concat([pairs, self._ambiguous()])
        if self.charted is None:
            pairs = pairs.with_columns(charted=nw.lit(True))
        else:
            pairs = pairs.join(self.charted, on="company_id", how="left")
            pairs = pairs.with_columns(nw.col("charted").fill_null(False))
        return _with_likes(pairs)

    def quiet(self) -> Lazy:
        """Return the other pairs, which are the same on both sides."""
        return self._single(self.joined.filter(~_is_remarkable()))

    def _single(self, pairs: Lazy) -> Lazy:
        return pairs if self.several is None else pairs.join(self.several.select(KEY), on=KEY, how="anti")

    def _ambiguous(self) -> Lazy:
        """Return one row, without the values, for all that have the same key."""
        assert self.several is not None
        given = self.several.collect_schema()
        columns = self.joined.collect_schema()
        return self.several.select(
            *[nw.col(name) if name in given else nw.lit(None, dtype).alias(name) for name, dtype in columns.items()]
        )


def pair(given: Given) -> Pairs:
    """Return the pairs."""
    chart = given.chart.filter(~is_empty("external_id")).select(
        *KEY,
        erp_name="name",
        erp_code="code",
        erp_archived="archived",
        erp_tax="tax_code_external_id",
        chart_rows=nw.lit(1, nw.Int64),
    )
    service = given.accounts.filter(~is_empty("external_id")).select(
        *KEY,
        "name",
        "code",
        "archived",
        account_id="id",
        tax="tax_code_external_id",
        # A list that was imported may have no column for what the service has.
        told=~nw.col("id").is_null() & (nw.col("state") != "IMPORTED"),
        service_rows=nw.lit(1, nw.Int64),
    )
    # The company is long and always the same: left out of the key, joining takes two thirds of the time.
    key = KEY if given.company is None else ["external_id"]
    joined: Lazy = chart.join(service, on=key, how="full", suffix="_service").select(
        *[nw.coalesce(column, f"{column}_service").alias(column) for column in key], *ERP, *SERVICE
    )
    joined = joined.with_columns(**_differences(given.compared))
    several = None if given.unique else _several(chart, service, key)
    charted: Lazy | None = given.charts.select("company_id", charted=nw.lit(True))
    if given.company is not None:
        company = nw.lit(given.company).alias("company_id")
        joined, charted = joined.with_columns(company), None
        several = None if several is None else several.with_columns(company)
    return Pairs(joined, None if several is None else given.keep(several), charted)


def _several(chart: Lazy, service: Lazy, key: list[str]) -> Lazy:
    """Return the keys that one side has several times, with how many times each side has them."""
    sides = [
        chart.select(*key, "chart_rows", service_rows=nw.lit(None, nw.Int64)),
        service.select(*key, nw.lit(None, nw.Int64).alias("chart_rows"), "service_rows"),
    ]
    rows = ["chart_rows", "service_rows"]
    counted = nw.concat(sides).group_by(*key).agg(*[nw.col(name).count() for name in rows])
    several = counted.filter((nw.col("chart_rows") > 1) | (nw.col("service_rows") > 1))
    some = [nw.when(nw.col(name) > 0).then(nw.col(name)).cast(nw.Int64).alias(name) for name in rows]
    return several.select(*key, *some, *[nw.lit(False).alias(flag) for flag in DIFFERENCES])


def _is_remarkable() -> nw.Expr:
    said = [
        *[nw.col(flag) for flag in DIFFERENCES],
        *[nw.col(column).is_null() for column in ("chart_rows", "service_rows", "erp_name", "account_id")],
        *[is_long(column) for column in ("external_id", "erp_name", "erp_code")],
    ]
    return nw.any_horizontal(*said, ignore_nulls=True)


def _with_likes(pairs: Lazy) -> Lazy:
    """Add which account of the other side alone, the first by external ID, each that one side alone has is like."""
    new, gone = nw.col("service_rows").is_null(), nw.col("chart_rows").is_null() & nw.col("charted")
    spelled = pairs.with_columns(
        new=nw.when(new).then(nw.col("external_id")),
        gone=nw.when(gone).then(nw.col("external_id")),
        bare=nw.col("external_id").str.replace_all(BLANKS, "").str.to_lowercase(),
        digits=without_zeros("external_id"),
    )
    likes = {
        name: nw.when(new).then(nw.col("gone").min().over(*key)).when(gone).then(nw.col("new").min().over(*key))
        for name, key in (("looks_like", ("company_id", "bare")), ("zeros_like", ("company_id", "digits")))
    }
    return spelled.with_columns(**likes).drop("new", "gone", "bare", "digits")


def _differences(compared: frozenset[str]) -> dict[str, nw.Expr]:
    """Return the flag of each field: both sides have the account and say something different."""
    told = nw.col("told")
    # (flag, column of the chart, column of the service, name of both, where the service's side is known)
    fields = [
        # The service always has a name and a flag, so a missing one is unknown, not different.
        ("name_differs", "erp_name", "name", "name", ~nw.col("name").is_null()),
        ("archived_differs", "erp_archived", "archived", "archived", ~nw.col("archived").is_null()),
        # These may be missing in the service, but are unknown where the service never told the account.
        ("code_differs", "erp_code", "code", "code", told | ~nw.col("code").is_null()),
        ("tax_code_differs", "erp_tax", "tax", "tax_code_external_id", told | ~nw.col("tax").is_null()),
    ]
    both = ~nw.col("chart_rows").is_null() & ~nw.col("service_rows").is_null()
    return {
        flag: both & known & _differs(erp, service) if column in compared else nw.lit(False)
        for flag, erp, service, column, known in fields
    }


def _differs(erp: str, service: str) -> nw.Expr:
    """Whether two values are different; two nulls are the same."""
    left, right = nw.col(erp), nw.col(service)
    return (left != right).fill_null(False) | (left.is_null() != right.is_null())
