"""The tables that the checks read, each made once from the frames of a reconciliation.

`accounts` has a row for each account that may have a finding, `coverage` one for each category. Accounts are
matched only on their exact external ID within a company.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from bktools.contract.accounts import LONGEST_TEXT
from bktools.frames.names import Import
from bktools.reconcile.inputs import Frames
from bktools.reconcile.spelling import differences, is_total, spelled, without_zeros
from bktools.reconcile.verbs import RULES

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
# In an imported list an empty value is unknown, because the list may lack the column.
IS_FROM_SERVICE = c.id.is_not_null() & (c.state != "IMPORTED")


@dataclass(frozen=True)
class Difference:
    """How a field is compared: its values on both sides, and whether the service's value is known."""

    field: str
    erp: pl.Expr
    service: pl.Expr
    is_known: pl.Expr


# By the column that says whether the values differ. The service always has a name and a flag, so a missing
# value is unknown; code and tax code may be empty there.
DIFFERENCES: Mapping[str, Difference] = {
    "name_differs": Difference("name", c.erp_name, c.name, c.name.is_not_null()),
    "archived_differs": Difference("archived", c.erp_archived, c.archived, c.archived.is_not_null()),
    "code_differs": Difference("code", c.erp_code, c.code, c.is_from_service | c.code.is_not_null()),
    "tax_code_differs": Difference(
        "tax_code_external_id", c.erp_tax, c.tax, c.is_from_service | c.tax.is_not_null()
    ),
}


# The states of a category by its account: the first that is so.
STATES: Mapping[str, pl.Expr] = {
    "no_account": c.account_id.fill_null("") == "",
    "unknown_account": c.external_id.is_null(),
    "archived_account": c.is_archived,
    "to_be_archived_account": c.is_gone | (c.action == "archive"),
    "covered": pl.lit(value=True),
}


def named(code: pl.Expr, external_id: pl.Expr, name: pl.Expr) -> pl.Expr:
    """Return how a person calls an account: its code, or without one its external ID, and its name."""
    return pl.concat_str(pl.coalesce(code, external_id), name, separator=" ", ignore_nulls=True)


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
        is_number = c.code.str.contains("^[0-9]+$")
        length = c.code.str.len_bytes().filter(is_number)
        return _as_text(
            self.frames.chart.group_by("company_id").agg(
                shortest=length.min(),
                longest=length.max(),
                has_zeros=(is_number & c.code.str.starts_with("0")).any(),
            )
        )

    @cached_property
    def charted(self) -> pl.Series:
        """The companies of the chart."""
        return self.frames.chart["company_id"].unique()

    @cached_property
    def doubled(self) -> pl.DataFrame:
        """One row per external ID that a side repeats: chart_rows, service_rows and one of its accounts."""
        sides = [self.frames.chart, self.frames.known]
        digests = [side.select(_DIGEST).to_series() for side in sides]
        # Few values are repeated, and counting digests takes a fraction of the time of counting texts.
        repeated = pl.concat(
            [digest.filter(digest.is_duplicated()) for digest in digests if digest.n_unique() < len(digest)]
            or [digests[0].clear()]
        )
        rows = [
            side.lazy()
            .filter(digest.is_in(repeated.implode()))
            .select(*KEY, "code", "name", in_chart=pl.lit(is_chart))
            for side, digest, is_chart in zip(sides, digests, (True, False), strict=True)
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
        return counted.filter((c.chart_rows > 1) | (c.service_rows > 1)).collect()

    @cached_property
    def pairs(self) -> pl.DataFrame:
        """One row per unrepeated external ID: the account of each side, and whether its fields differ."""
        chart, known = (self._single(side) for side in (self.frames.chart, self.frames.known))
        places = _places(chart, known)
        is_matched = _flags(places.drop_nulls(), len(known))
        theirs = known.select(**{new: c(old) for old, new in THEIRS.items()}, is_from_service=IS_FROM_SERVICE)
        beside = theirs.select(pl.all().gather(places))
        ours = chart.select(*KEY, **{new: c(old) for old, new in OURS.items()})
        alone = pl.concat([known.select(KEY), theirs], how="horizontal").filter(~is_matched)
        rows = pl.concat(
            [
                pl.concat([ours, beside], how="horizontal").with_columns(
                    in_chart=True, in_service=places.is_not_null()
                ),
                alone.with_columns(in_chart=False, in_service=True),
            ],
            how="diagonal",
        )
        is_both = c.in_chart & c.in_service
        differs = {
            name: is_both & compared.is_known & compared.erp.ne_missing(compared.service)
            if compared.field in self.frames.compared
            else pl.lit(value=False)
            for name, compared in DIFFERENCES.items()
        }
        return rows.with_columns(**differs)

    @cached_property
    def remarkable(self) -> pl.Series:
        """Which of the pairs may have a finding."""
        return self.pairs.select(
            ~c.in_chart
            | ~c.in_service
            | c.erp_name.is_null()
            | c.account_id.is_null()
            | pl.any_horizontal(*DIFFERENCES)
            | (_is_long(c.external_id) & c.in_chart)
            | _is_long(c.erp_name)
            | _is_long(c.erp_code)
        ).to_series()

    @cached_property
    def accounts(self) -> pl.DataFrame:
        """One row per account that may have a finding, with the rule that decides its action.

        An account on one side alone has the first similar external ID of the other side. A repeated external
        ID is ambiguous, so its row has no values.
        """
        doubled = self.doubled.with_columns(in_chart=c.chart_rows > 0, in_service=c.service_rows > 0)
        # The rows are few: each step at once takes less than planning all of them.
        rows = pl.concat([self.pairs.filter(self.remarkable), doubled], how="diagonal").with_columns(
            pl.col("chart_rows", "service_rows").fill_null(1),
            pl.col(*DIFFERENCES).fill_null(value=False),
            is_charted=c.company_id.is_in(self.charted.implode()),
        )
        rows = rows.with_columns(
            code_differs=c.code_differs & without_zeros(c.erp_code).ne_missing(without_zeros(c.code)),
            code_lost_zeros=c.code_differs
            & (without_zeros(c.erp_code) == without_zeros(c.code)).fill_null(value=False),
            is_new=c.in_chart & ~c.in_service,
            is_gone=c.in_service & ~c.in_chart & c.is_charted,
            is_single=(c.chart_rows <= 1) & (c.service_rows <= 1),
            is_long_id=_is_long(c.external_id) & c.in_chart,
            is_long_name=_is_long(c.erp_name),
            is_long_code=_is_long(c.erp_code),
        )
        rows = rows.with_columns(is_total=c.is_new & is_total(c.erp_name, c.erp_code))
        for name, spelling in (("looks_like", spelled), ("zeros_like", without_zeros)):
            rows = rows.join(_twins(rows, spelling).rename({"twin": name}), on=KEY, how="left")
        ours, theirs = named(c.erp_code, c.external_id, c.erp_name), named(c.code, c.external_id, c.name)
        is_short = c.is_new & c.zeros_like.is_not_null()
        decided = pl.coalesce(pl.when(rule.when).then(pl.lit(number)) for number, rule in enumerate(RULES))
        return rows.with_columns(rule=decided).with_columns(
            action=pl.lit(pl.Series([rule.action for rule in RULES])).gather(c.rule),
            account=pl.coalesce(c.account, pl.when(c.in_chart).then(ours).otherwise(theirs)),
            twin=pl.coalesce(c.looks_like, c.zeros_like),
            # An external ID or a code that differs in leading zeros alone, as both sides have it.
            zeros_in=pl.when(is_short)
            .then(pl.lit("external_id"))
            .when(c.code_lost_zeros)
            .then(pl.lit("code")),
            erp_zeros=pl.when(is_short).then(c.external_id).otherwise(c.erp_code),
            service_zeros=pl.when(is_short).then(c.zeros_like).otherwise(c.code),
            known_since=pl.lit(self.imported.day, pl.String),
            none_imported=pl.lit(self.imported.none, pl.Boolean),
            # The limit that sentences name for a text that is too long.
            most=pl.lit(LONGEST_TEXT),
            external_id_length=c.external_id.str.len_chars(),
            name_length=c.erp_name.str.len_chars(),
            code_length=c.erp_code.str.len_chars(),
        )

    @cached_property
    def coverage(self) -> pl.DataFrame:
        """One row per category, with its account and its state."""
        accounts = (
            self.frames.known.filter(self._is_used)
            .group_by("company_id", account_id=c.id)
            .agg(pl.col("external_id", "code").min(), account_name=c.name.min(), is_archived=c.archived.any())
        )
        ids = accounts.select(KEY).unique()
        taxes = (
            self.frames.chart.select(*KEY, "tax_code_external_id")
            .filter(c.external_id.is_in(ids["external_id"].implode()) & ~IS_EMPTY)
            .join(ids, on=KEY, how="semi")
            .group_by(KEY)
            .agg(erp_tax=c.tax_code_external_id.first(), rows=pl.len())
            .filter(c.rows == 1)
            .drop("rows")
        )
        decided = self.accounts.select(*KEY, "is_gone", "action").join(ids, on=KEY, how="semi")
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
        sides = {"chart": c.chart_rows, "service": c.service_rows}
        columns = (*KEY, "account")
        return pl.concat(
            self.doubled.filter(rows > 1).select(*columns, side=pl.lit(side), rows=rows)
            for side, rows in sides.items()
        )

    @cached_property
    def unidentified(self) -> pl.DataFrame:
        """One row per account without an external ID, with its side."""
        sides = {"chart": self.frames.chart, "service": self.frames.known}
        name = pl.concat_str("code", "name", separator=" ", ignore_nulls=True)
        return pl.concat(
            side.filter(IS_EMPTY).select(*KEY, side=pl.lit(noun), account=pl.when(name != "").then(name))
            for noun, side in sides.items()
        )

    @cached_property
    def alike(self) -> pl.DataFrame:
        """One row per account only in the chart that looks like one of the service: their differences."""
        rows = self.accounts.filter(c.is_new & c.looks_like.is_not_null())
        return (
            rows if rows.is_empty() else rows.with_columns(differing=differences(c.external_id, c.looks_like))
        )

    @cached_property
    def _is_used(self) -> pl.Series:
        """Which known accounts the categories of their company use."""
        used = (
            self.frames.categories.lazy()
            .select("company_id", id=c.account_id)
            .drop_nulls()
            .unique()
            .collect()
        )
        # Few accounts have one of the IDs, and a join of all would take most of the time.
        rows = (
            self.frames.known.lazy()
            .select("company_id", "id")
            .with_row_index()
            .filter(c.id.is_in(used["id"].implode()))
        )
        places = rows.join(used.lazy(), on=["company_id", "id"], how="semi").select("index").collect()
        return _flags(places["index"], len(self.frames.known))

    def _single(self, side: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of a side whose external ID is there, and is not repeated on either side."""
        is_repeated = pl.lit(value=False)
        if not self.doubled.is_empty():
            rows = (
                side.select(KEY)
                .with_row_index()
                .filter(c.external_id.is_in(self.doubled["external_id"].implode()))
            )
            is_repeated = pl.lit(_flags(rows.join(self.doubled, on=KEY, how="semi")["index"], len(side)))
        return side.filter(~IS_EMPTY & ~is_repeated)


_DIGEST = pl.struct(KEY).hash().alias("digest")


def _places(chart: pl.DataFrame, known: pl.DataFrame) -> pl.Series:
    """Return the place of the known account of each row of a chart, null where there is none.

    Digests are joined three times as fast as texts; the texts of a match are compared, so that it is exact.
    """
    digests = chart.select(_DIGEST).with_row_index("ours"), known.select(_DIGEST).with_row_index("theirs")
    matches = digests[0].join(digests[1], on="digest")
    ours, theirs = chart.select(KEY)[matches["ours"]], known.select(KEY)[matches["theirs"]]
    matches = matches.filter(pl.all_horizontal([ours[name] == theirs[name] for name in KEY]))
    places = np.full(len(chart), -1)
    places[matches["ours"].to_numpy()] = matches["theirs"].to_numpy()
    return pl.Series(places).to_frame("place").select(pl.when(c.place >= 0).then(c.place)).to_series()


def _flags(places: pl.Series, length: int) -> pl.Series:
    """Return a flag for each row of a table, which is true at some places."""
    flags = np.zeros(length, dtype=bool)
    flags[places.to_numpy()] = True
    return pl.Series(flags)


def _twins(rows: pl.DataFrame, spelling: Callable[[pl.Expr], pl.Expr]) -> pl.DataFrame:
    """Return the first similar external ID of the other side for accounts of one side alone.

    Only companies that have both sides are compared.
    """
    alone = rows.filter(
        (c.is_new | c.is_gone) & c.is_new.any().over("company_id") & c.is_gone.any().over("company_id")
    ).select(*KEY, "is_new", spelled=spelling(c.external_id))
    first = alone.group_by("company_id", "spelled").agg(
        of_chart=c.external_id.filter(c.is_new).min(), of_service=c.external_id.filter(~c.is_new).min()
    )
    return alone.join(first.drop_nulls(), on=["company_id", "spelled"]).select(
        *KEY, twin=pl.when(c.is_new).then(c.of_service).otherwise(c.of_chart)
    )


def _counted(rows: pl.DataFrame) -> pl.DataFrame:
    return _as_text(rows.group_by("company_id").agg(accounts=pl.len()))


def _as_text(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows with companies as text, since older Polars write an enumeration's number as a fact."""
    return rows.with_columns(c.company_id.cast(pl.String))


def _is_long(text: pl.Expr) -> pl.Expr:
    return (text.str.len_chars() > LONGEST_TEXT).fill_null(value=False)
