"""The join: one row per account of the chart or of the service, with what differs.

Accounts are matched on external ID within a company, to the letter, and on nothing else.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import narwhals as nw

from bktools.contract.accounts import LONGEST_TEXT
from bktools.frames.engine import Lazy
from bktools.reconcile.given import Given

KEY = ["company_id", "external_id"]
ERP = ["erp_name", "erp_code", "erp_archived", "erp_tax", "chart_rows"]
SERVICE = ["account_id", "name", "code", "archived", "tax", "service_rows"]
DIFFERENCES = ["name_differs", "code_differs", "tax_code_differs", "archived_differs"]


def is_empty(column: str) -> nw.Expr:
    """Whether a text is missing or has no character."""
    return nw.col(column).is_null() | (nw.col(column) == "").fill_null(False)


def is_long(column: str) -> nw.Expr:
    """Whether a text is longer than the service takes."""
    return (nw.col(column).str.len_chars() > LONGEST_TEXT).fill_null(False)


def is_single() -> nw.Expr:
    """Whether neither side has several rows of the pair's key, so that a missing value is missing, not ambiguous."""
    return (nw.col("chart_rows").fill_null(1) == 1) & (nw.col("service_rows").fill_null(1) == 1)


@dataclasses.dataclass(frozen=True)
class Pairs:
    """The chart joined with the accounts known here; rows without an external ID are left out.

    Each row has the key; `erp_*` as the chart has it; `account_id`, `name`, `code`, `archived`, `tax` as the service
    has it; `chart_rows`, `service_rows` how many rows have the key (null: none); `charted` whether there is a chart for
    the company; `*_differs`, named as their checks. What is ambiguous (several rows of a key) is null.
    """

    joined: Lazy
    several: Lazy
    charted: Lazy

    def all(self) -> Lazy:
        """Return every pair."""
        return self._settled(self.joined)

    def remarkable(self) -> Lazy:
        """Return the pairs that anything is to be said about: among a million accounts, a few."""
        said = [
            *[nw.col(flag) for flag in DIFFERENCES],
            *[nw.col(column).is_null() for column in ("chart_rows", "service_rows", "erp_name", "account_id")],
            *[is_long(column) for column in ("external_id", "erp_name", "erp_code")],
        ]
        return self._settled(self.joined.filter(nw.any_horizontal(*said, ignore_nulls=True)))

    def _settled(self, pairs: Lazy) -> Lazy:
        """Put one row, without the values, in the place of all that have the same key."""
        columns = pairs.collect_schema()
        given = self.several.collect_schema()
        ambiguous = self.several.select(
            *[nw.col(name) if name in given else nw.lit(None, dtype).alias(name) for name, dtype in columns.items()]
        )
        settled = nw.concat([pairs.join(self.several.select(KEY), on=KEY, how="anti"), ambiguous])
        return settled.join(self.charted, on="company_id", how="left").with_columns(nw.col("charted").fill_null(False))


def pair(given: Given, keep: Callable[[Lazy], Lazy]) -> Pairs:
    """Return the pairs; `keep` runs what is used many times once, where the engine would run it anew each time."""
    charted = keep(given.chart.select("company_id").unique().with_columns(charted=nw.lit(True)))
    chart = given.chart.filter(~is_empty("external_id")).select(
        *KEY,
        erp_name="name",
        erp_code="code",
        erp_archived="archived",
        erp_tax="tax_code_external_id",
        chart_rows=nw.lit(1, nw.Int64),
    )
    service = given.accounts.filter(~is_empty("external_id")).select(
        *KEY, "name", "code", "archived", account_id="id", tax="tax_code_external_id", service_rows=nw.lit(1, nw.Int64)
    )
    joined = chart.join(service, on=KEY, how="full", suffix="_service").select(
        *[nw.coalesce(column, f"{column}_service").alias(column) for column in KEY], *ERP, *SERVICE
    )
    joined = joined.with_columns(**_differences(given.compared))
    return Pairs(joined, keep(_several(chart, service)), charted)


def _several(chart: Lazy, service: Lazy) -> Lazy:
    """Return the keys that one side has several times, with how many times each side has them."""
    sides = [
        chart.select(*KEY, "chart_rows", service_rows=nw.lit(None, nw.Int64)),
        service.select(*KEY, nw.lit(None, nw.Int64).alias("chart_rows"), "service_rows"),
    ]
    rows = ["chart_rows", "service_rows"]
    counted = nw.concat(sides).group_by(*KEY).agg(*[nw.col(name).count() for name in rows])
    several = counted.filter((nw.col("chart_rows") > 1) | (nw.col("service_rows") > 1))
    some = [nw.when(nw.col(name) > 0).then(nw.col(name)).cast(nw.Int64).alias(name) for name in rows]
    return several.select(*KEY, *some, *[nw.lit(False).alias(flag) for flag in DIFFERENCES])


def _differences(compared: frozenset[str]) -> dict[str, nw.Expr]:
    """Return the flag of each field: both sides have the account and say something different."""
    told = ~nw.col("account_id").is_null()
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
