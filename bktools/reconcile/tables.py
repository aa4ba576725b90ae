"""The tables that the checks read, each made once from the frames of a reconciliation.

`accounts` has a row for each account that may have a finding, `coverage` one for each category. Accounts are
matched only on their exact external ID within a company.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl

from bktools.frames.names import Import
from bktools.reconcile.account_columns import (
    DETAILS,
    DIFFERENCES,
    FILLED,
    FLAGS,
    IS_FROM_SERVICE,
    RULE,
    is_long,
    named,
)
from bktools.reconcile.inputs import Frames
from bktools.reconcile.spelling import differences, spelled, without_zeros

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


class Side(NamedTuple):
    """The accounts of one side, which of them have no external ID, and a digest of the key of each."""

    rows: pl.DataFrame
    is_empty: pl.Series
    digest: pl.Series


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
        return _as_text(
            codes.group_by("company_id").agg(
                shortest=c.length.min(),
                longest=c.length.max(),
                has_zeros=(c.length.is_not_null() & c.is_zero).any(),
            )
        )

    @cached_property
    def charted(self) -> pl.Series:
        """The companies of the chart."""
        return self.frames.chart["company_id"].unique()

    @cached_property
    def doubled(self) -> pl.DataFrame:
        """One row per external ID that a side repeats: chart_rows, service_rows and one of its accounts."""
        # Few values are repeated, and counting digests takes a fraction of the time of counting texts.
        repeated = [
            side.digest.filter(side.digest.is_duplicated())
            for side in self._sides.values()
            if side.digest.n_unique() < len(side.digest)
        ]
        if not repeated:
            return self.frames.chart.clear().select(
                *KEY, chart_rows=pl.lit(0, pl.UInt32), service_rows=pl.lit(0, pl.UInt32), account="name"
            )
        rows = [
            side.rows.filter(side.digest.is_in(pl.concat(repeated).implode())).select(
                *KEY, "code", "name", in_chart=pl.lit(noun == "chart")
            )
            for noun, side in self._sides.items()
        ]
        counted = (
            pl.concat(rows)
            .filter(~IS_EMPTY)
            .group_by(KEY)
            .agg(
                chart_rows=c.in_chart.sum(),
                service_rows=(~c.in_chart).sum(),
                account=named(c.code, c.external_id, c.name).min(),
            )
        )
        return counted.filter((c.chart_rows > 1) | (c.service_rows > 1))

    @cached_property
    def pairs(self) -> pl.DataFrame:
        """One row per unrepeated external ID: the account of each side, and whether its fields differ."""
        sides = [self._single(side) for side in self._sides.values()]
        places, (chart, known) = _places(*sides), (side.rows for side in sides)
        theirs = {new: c(old) for old, new in THEIRS.items()} | {"is_from_service": IS_FROM_SERVICE}
        beside = known.select(**{name: value.gather(places) for name, value in theirs.items()})
        ours = chart.select(*KEY, **{new: c(old) for old, new in OURS.items()})
        differs = {
            name: (compared.is_known & compared.erp.ne_missing(compared.service)).fill_null(value=False)
            if compared.field in self.frames.compared
            else pl.lit(value=False)
            for name, compared in DIFFERENCES.items()
        }
        rows = pl.concat([ours, beside], how="horizontal").with_columns(
            in_chart=True, in_service=places.is_not_null(), **differs
        )
        alone = known.filter(~_flags(places.drop_nulls(), len(known))).select(
            *KEY, **theirs, in_chart=False, in_service=True
        )
        return pl.concat([rows, alone], how="diagonal")

    @cached_property
    def remarkable(self) -> pl.Series:
        """Which of the pairs may have a finding."""
        return self.pairs.select(
            ~c.in_chart
            | ~c.in_service
            | c.erp_name.is_null()
            | c.account_id.is_null()
            | pl.any_horizontal(*DIFFERENCES)
            | (is_long(c.external_id) & c.in_chart)
            | is_long(c.erp_name)
            | is_long(c.erp_code)
        ).to_series()

    @cached_property
    def accounts(self) -> pl.DataFrame:
        """One row per account that may have a finding, with the rule that decides its action.

        An account on one side alone has the first similar external ID of the other side. A repeated external
        ID is ambiguous, so its row has no values.
        """
        doubled = self.doubled.with_columns(in_chart=c.chart_rows > 0, in_service=c.service_rows > 0)
        rows = pl.concat([self.pairs.filter(self.remarkable), doubled], how="diagonal")
        # The rows are few: each step at once takes less than planning all of them.
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
        accounts = (
            self.frames.known.filter(self._is_used)
            .group_by("company_id", account_id=c.id)
            .agg(pl.col("external_id", "code").min(), account_name=c.name.min(), is_archived=c.archived.any())
        )
        is_theirs = c.external_id.is_in(accounts["external_id"].unique().implode())
        # Of an external ID that the chart repeats, no tax code is known.
        taxes = (
            self.frames.chart.filter(is_theirs & ~IS_EMPTY)
            .group_by(KEY)
            .agg(erp_tax=pl.when(pl.len() == 1).then(c.tax_code_external_id.first()))
        )
        decided = self.accounts.filter(is_theirs).select(*KEY, "is_gone", "action")
        return (
            self.frames.categories.rename({"id": "category_id"})
            .join(accounts, on=["company_id", "account_id"], how="left")
            .join(taxes, on=KEY, how="left")
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
    def is_unused(self) -> pl.Series:
        """Whether a known account is active and unused by the company's categories, if there are any."""
        asked = self.frames.categories["company_id"].unique()
        is_active = c.id.is_not_null() & c.archived.ne_missing(other=True)
        return self.frames.known.select(
            ~self._is_used & is_active & c.company_id.is_in(asked.implode())
        ).to_series()

    @cached_property
    def unused(self) -> pl.DataFrame:
        """One row per company with active accounts that no category uses: how many."""
        return _counted(self.frames.known.select("company_id").filter(self.is_unused))

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
        rows = [
            side.rows.filter(side.is_empty).select(
                *KEY, side=pl.lit(noun), account=pl.when(name != "").then(name)
            )
            for noun, side in self._sides.items()
            if side.is_empty.any()
        ]
        return pl.concat(rows) if rows else pl.DataFrame()

    @cached_property
    def look_alikes(self) -> pl.DataFrame:
        """One row per account only in the chart that looks like one of the service: their differences."""
        rows = self.accounts.filter(c.is_new & c.looks_like.is_not_null())
        return (
            rows if rows.is_empty() else rows.with_columns(differing=differences(c.external_id, c.looks_like))
        )

    @cached_property
    def _is_used(self) -> pl.Series:
        """Which known accounts the categories of their company use."""
        known = self.frames.known
        used = self.frames.categories.select("company_id", id=c.account_id).drop_nulls()
        # Few accounts have one of the IDs, and a join of all would take most of the time.
        rows = known.select("company_id", "id").with_row_index().filter(c.id.is_in(used["id"].implode()))
        return _flags(rows.join(used, on=["company_id", "id"], how="semi")["index"], len(known))

    @cached_property
    def _sides(self) -> Mapping[str, Side]:
        """The accounts of the chart, and those that are known."""
        sides = {}
        for noun, rows in (("chart", self.frames.chart), ("service", self.frames.known)):
            read = rows.select(is_empty=IS_EMPTY, digest=pl.struct(KEY).hash())
            sides[noun] = Side(rows, read["is_empty"], read["digest"])
        return sides

    def _single(self, side: Side) -> Side:
        """Return the rows of a side whose external ID is there, and is not repeated on either side."""
        is_none = side.is_empty
        if not self.doubled.is_empty():
            is_repeated = c.external_id.is_in(self.doubled["external_id"].implode())
            rows = side.rows.select(KEY).with_row_index().filter(is_repeated)
            places = rows.join(self.doubled, on=KEY, how="semi")["index"]
            is_none = is_none | _flags(places, len(side.rows))
        if not is_none.any():
            return side
        return Side(side.rows.filter(~is_none), side.is_empty.filter(~is_none), side.digest.filter(~is_none))


def _places(chart: Side, known: Side) -> pl.Series:
    """Return the place of the known account of each row of a chart, null where there is none.

    Digests are joined three times as fast as texts; the texts of a match are compared, so that it is exact.
    """
    digests = (side.digest.to_frame().with_row_index("place") for side in (chart, known))
    ours, theirs = next(digests).join(next(digests), on="digest").select("place", "place_right")
    texts = chart.rows.select(KEY)[ours], known.rows.select(KEY)[theirs]
    is_same = (texts[0]["external_id"] == texts[1]["external_id"]) & (
        texts[0]["company_id"] == texts[1]["company_id"]
    )
    none = pl.Series([None], dtype=ours.dtype).new_from_index(0, len(chart.rows))
    return none.scatter(ours.filter(is_same), theirs.filter(is_same))


def _flags(places: pl.Series, length: int) -> pl.Series:
    """Return a flag for each row of a table, which is true at some places."""
    flags = np.zeros(length, dtype=bool)
    flags[places.to_numpy()] = True
    return pl.Series(flags)


def _twins(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the first similar external ID of the other side for accounts of one side alone.

    `looks_like` is similar, `zeros_like` differs in leading zeros alone. Only companies that have both sides
    are compared.
    """
    alone = rows.filter(
        (c.is_new | c.is_gone) & c.is_new.any().over("company_id") & c.is_gone.any().over("company_id")
    ).select(*KEY, "is_new", looks_like=spelled(c.external_id), zeros_like=without_zeros(c.external_id))
    ours, theirs = c.external_id.filter(c.is_new).min(), c.external_id.filter(~c.is_new).min()
    twins = {
        name: pl.when("is_new").then(theirs.over("company_id", name)).otherwise(ours.over("company_id", name))
        for name in ("looks_like", "zeros_like")
    }
    return alone.select(*KEY, **twins)


def _counted(rows: pl.DataFrame) -> pl.DataFrame:
    return _as_text(rows.group_by("company_id").agg(accounts=pl.len()))


def _as_text(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows with companies as text, since older Polars write an enumeration's number as a fact."""
    return rows.with_columns(c.company_id.cast(pl.String))
