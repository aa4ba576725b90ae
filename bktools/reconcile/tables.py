"""The tables that the checks read, each made once from the frames of a reconciliation.

`accounts` has a row for each account, `coverage` one for each category. Accounts are
matched only on their exact external ID within a company.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from bktools.frames.names import Import
from bktools.reconcile.account_columns import (
    DETAILS,
    DIFFERENCES,
    FILLED,
    FLAGS,
    IS_FROM_SERVICE,
    RULE,
    named,
)
from bktools.reconcile.inputs import Frames
from bktools.reconcile.spelling import differences, is_total, spelled, without_zeros

c = pl.col
KEY = ("company_id", "external_id")
# The columns of an account on each side, and their names in `pairs`.
OURS = {
    "line": "line",
    "name": "erp_name",
    "code": "erp_code",
    "archived": "erp_archived",
    "tax_code_external_id": "erp_tax",
}
THEIRS = {
    "id": "account_id",
    "name": "name",
    "code": "code",
    "archived": "archived",
    "tax_code_external_id": "tax",
}
IS_EMPTY = c.external_id.fill_null("") == ""
# The states of a category by its account: the first that is so.
STATES: Mapping[str, pl.Expr] = {
    "no_account": c.account_id.fill_null("") == "",
    "unknown_account": c.external_id.is_null(),
    "archived_account": c.is_archived,
    "to_be_archived_account": c.is_gone | (c.action == "archive"),
    "covered": pl.lit(value=True),
}


@dataclass(frozen=True)
class Tables:
    """The tables of a reconciliation; each is made when it is first read.

    Parameters
    ----------
    frames : Frames
        Chart, accounts that exist in the service, and categories.
    imported : Import
        Until when the accounts of the service are known.
    """

    frames: Frames
    imported: Import

    @cached_property
    def charts(self) -> pl.DataFrame:
        """One row per company of the chart: lengths of its numeric codes, and whether one begins with 0."""
        length = pl.when(c.code.str.contains("^[0-9]+$")).then(c.code.str.len_bytes())
        codes = self.frames.chart.select("company_id", length=length, is_zero=c.code.str.starts_with("0"))
        return codes.group_by("company_id").agg(
            shortest=c.length.min(),
            longest=c.length.max(),
            has_zeros=(c.length.is_not_null() & c.is_zero).any(),
        )

    @cached_property
    def charted(self) -> pl.Series:
        """The companies of the chart."""
        return self.frames.chart["company_id"].unique()

    @cached_property
    def doubled(self) -> pl.DataFrame:
        """One row per external ID that a side repeats: chart_rows, service_rows and one of its accounts."""
        rows = pl.concat(
            rows.filter(~IS_EMPTY).select(*KEY, "code", "name", in_chart=pl.lit(side == "chart"))
            for side, rows in self._sides.items()
        )
        repeated = rows.filter(pl.struct(*KEY, "in_chart").is_duplicated()).select(KEY).unique()
        return (
            rows.join(repeated, on=KEY)
            .group_by(KEY)
            .agg(
                chart_rows=c.in_chart.sum(),
                service_rows=(~c.in_chart).sum(),
                account=named(c.code, c.external_id, c.name).min(),
            )
        )

    @cached_property
    def pairs(self) -> pl.DataFrame:
        """One row per unrepeated external ID: the account of each side, and whether its fields differ."""
        chart, known = (
            rows.filter(~IS_EMPTY).join(self.doubled, on=KEY, how="anti") for rows in self._sides.values()
        )
        ours = chart.select(*KEY, **{new: c(old) for old, new in OURS.items()}, in_chart=True)
        theirs = known.select(
            *KEY,
            **{new: c(old) for old, new in THEIRS.items()},
            is_from_service=IS_FROM_SERVICE,
            in_service=True,
        )
        differs = {
            name: (compared.is_known & compared.erp.ne_missing(compared.service)).fill_null(value=False)
            & (c.in_chart & c.in_service)
            & (compared.field in self.frames.compared)
            for name, compared in DIFFERENCES.items()
        }
        return (
            ours.join(theirs, on=KEY, how="full", coalesce=True)
            .with_columns(pl.col("in_chart", "in_service").fill_null(value=False))
            .with_columns(**differs)
        )

    @cached_property
    def accounts(self) -> pl.DataFrame:
        """One row per account, with the rule that decides its action.

        An account on one side alone has the first similar external ID of the other side. A repeated external
        ID is ambiguous, so its row has no values.
        """
        doubled = self.doubled.with_columns(in_chart=c.chart_rows > 0, in_service=c.service_rows > 0)
        rows = pl.concat([self.pairs, doubled], how="diagonal")
        rows = rows.with_columns(is_charted=c.company_id.is_in(self.charted.implode()), **FILLED)
        rows = rows.with_columns(**FLAGS)
        rows = rows.join(_twins(rows), on=KEY, how="left").with_columns(rule=RULE)
        return rows.with_columns(
            **DETAILS,
            known_since=pl.lit(self.imported.day, pl.String),
            none_imported=pl.lit(self.imported.none, pl.Boolean),
        )

    @cached_property
    def coverage(self) -> pl.DataFrame:
        """One row per category, with its account and its state."""
        named_ids = self.frames.categories["account_id"].unique().implode()
        by_id = self.frames.known.filter(c.id.is_in(named_ids)).group_by("company_id", account_id=c.id)
        accounts = by_id.agg(
            pl.col("external_id", "code").min(), account_name=c.name.min(), is_archived=c.archived.any()
        )
        # Of a repeated external ID, no tax code is known.
        decided = self.accounts.select(*KEY, "is_gone", "action", "erp_tax")
        return (
            self.frames.categories.rename({"id": "category_id"})
            .join(accounts, on=["company_id", "account_id"], how="left")
            .join(decided, on=KEY, how="left")
            .with_columns(
                state=pl.coalesce(pl.when(is_so).then(pl.lit(state)) for state, is_so in STATES.items()),
                first_tax=c.erp_tax.min().over("company_id", "tax_code_id"),
                last_tax=c.erp_tax.max().over("company_id", "tax_code_id"),
                of_this_name=pl.len().over("company_id", "name"),
                account=named(c.code, c.external_id, c.account_name),
                category=pl.coalesce(c.name, c.category_id),
            )
        )

    @cached_property
    def unused_accounts(self) -> pl.DataFrame:
        """The active accounts that no category of their company uses, of companies with categories."""
        used = self.frames.categories.select("company_id", id=c.account_id)
        is_asked = c.company_id.is_in(used["company_id"].unique().implode())
        return self.frames.known.filter(c.id.is_not_null(), c.archived.ne_missing(other=True), is_asked).join(
            used, on=["company_id", "id"], how="anti"
        )

    @cached_property
    def unused(self) -> pl.DataFrame:
        """One row per company with active accounts that no category uses: how many."""
        return _counted(self.unused_accounts)

    @cached_property
    def uncharted(self) -> pl.DataFrame:
        """One row per company without a chart: how many accounts are known."""
        return _counted(self.accounts.filter(~c.is_charted))

    @cached_property
    def repeated(self) -> pl.DataFrame:
        """One row per external ID and side that has it on several rows."""
        sides = self.doubled.select(*KEY, "account", chart="chart_rows", service="service_rows")
        return sides.unpivot(index=[*KEY, "account"], variable_name="side", value_name="rows").filter(
            c.rows > 1
        )

    @cached_property
    def unidentified(self) -> pl.DataFrame:
        """One row per account without an external ID, with its side."""
        name = pl.concat_str("code", "name", separator=" ", ignore_nulls=True)
        return pl.concat(
            rows.filter(IS_EMPTY).select(*KEY, side=pl.lit(side), account=pl.when(name != "").then(name))
            for side, rows in self._sides.items()
        )

    @cached_property
    def look_alikes(self) -> pl.DataFrame:
        """One row per account only in the chart that looks like one of the service: their differences."""
        rows = self.accounts.filter(c.is_new & c.looks_like.is_not_null())
        return (
            rows if rows.is_empty() else rows.with_columns(differing=differences(c.external_id, c.looks_like))
        )

    @property
    def _sides(self) -> Mapping[str, pl.DataFrame]:
        """The accounts of the chart, and those that are known."""
        return {"chart": self.frames.chart, "service": self.frames.known}


def _twins(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the first similar external ID of the other side for accounts of one side alone.

    `looks_like` is similar, `zeros_like` differs in leading zeros alone; `is_total` is a row of sums.
    """
    alone = rows.filter(c.is_new | c.is_gone).select(
        *KEY,
        "is_new",
        looks_like=spelled(c.external_id),
        zeros_like=without_zeros(c.external_id),
        is_total=c.is_new & is_total(c.erp_name, c.erp_code),
    )
    ours, theirs = c.external_id.filter(c.is_new).min(), c.external_id.filter(~c.is_new).min()
    twins = {
        name: pl.when("is_new").then(theirs.over("company_id", name)).otherwise(ours.over("company_id", name))
        for name in ("looks_like", "zeros_like")
    }
    return alone.select(*KEY, "is_total", **twins)


def _counted(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.group_by("company_id").agg(accounts=pl.len())
