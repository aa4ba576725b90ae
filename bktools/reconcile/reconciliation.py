"""The result of a reconciliation: findings, an action for each account, and coverage of the categories."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa

from bktools import views
from bktools.consoles import readable
from bktools.contract.accounts import CompanyInFile
from bktools.findings.check import ROLES, SEVERITIES
from bktools.findings.sentences import fact_and_step, with_sentences
from bktools.frames.findings import as_html, as_lines
from bktools.frames.results import Result
from bktools.frames.schema import to_pandas
from bktools.reconcile.another_chart import Doubt, doubts_of
from bktools.reconcile.results import RESULTS
from bktools.reconcile.suggestions import suggest
from bktools.wording import Words, words

# Checks of lines of a chart that are never created.
NOT_CREATED = ("name_missing", "total_in_chart")


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Reconciliation(Result):
    """The result of a reconciliation.

    Parameters
    ----------
    not_compared : tuple of str
        What was not compared, because the chart does not tell it: `tax_codes`.
    company_in_file : CompanyInFile, optional
        The company that the chart's file names, where its format has a place for it.
    companies_before : mapping
        The same of the last chart that accounts were created from, by company.

    Notes
    -----
    Interface, sections 2.1 and 2.4.

    Examples
    --------
    >>> import bktools, pandas
    >>> chart = {"external_id": ["0400"], "code": ["0400"], "name": ["Bank"], "archived": [False]}
    >>> chart = pandas.DataFrame(chart)
    >>> with bktools.Sandbox() as service:
    ...     categories = bktools.load_categories(service=service)
    ...     result = bktools.reconcile_accounts(chart, bktools.load_accounts(service=service), categories)
    >>> result.actions[["code", "action"]].to_dict("records")
    [{'code': '0400', 'action': 'create'}]
    >>> len(result.coverage) == len(categories)
    True
    """

    _TABLES = ("findings", "actions", "coverage")

    # Returns a table of facts by its name; one that is not there yet is computed once.
    _listed: Callable[[str], pa.Table]
    not_compared: tuple[str, ...] = ()
    company_in_file: CompanyInFile | None = None
    companies_before: Mapping[str, CompanyInFile] = dataclasses.field(default_factory=dict)

    def table(self, name: str, language: Words | None = None) -> pa.Table:
        """Return a table by its name as Arrow, with facts in place of sentences.

        Parameters
        ----------
        name : str
            findings, coverage, actions, action_counts, chart_match or unused_accounts.
        language : Words, optional
            As `bktools.wording.words` returns it: findings and actions have their sentences, and the columns
            of the frames of these names. Default: codes and values alone.

        Returns
        -------
        pyarrow.Table
            The rows of the frame of that name.
        """
        rows = self._listed(name)
        return (
            rows
            if language is None or name not in _WORDED
            else _WORDED[name](pl.DataFrame(rows), language).to_arrow()
        )

    @functools.cached_property
    def findings(self) -> pd.DataFrame:
        """One row per finding, most severe first.

        Columns: check, severity (error, warning, info), action, company_id, external_id, account_id,
        category_id, field, erp_value, service_value, message (the fact, then what is to be done), about (the
        name of the account or category), to_do, who, facts (what the message says, as JSON).
        """
        return to_pandas(self.table("findings", words()))

    @functools.cached_property
    def coverage(self) -> pd.DataFrame:
        """One row per category.

        Columns: category_id, company_id, name, archived, account_id, external_id, account_name,
        tax_code_id, state (covered, no_account, unknown_account, archived_account, to_be_archived_account).
        """
        return to_pandas(self.table("coverage"))

    @functools.cached_property
    def actions(self) -> pd.DataFrame:
        """One row per account; computed on first use, because it is as long as the chart.

        Columns: company_id, external_id, account_id, action (create, update, archive, unarchive, none), why,
        name, code, archived, tax_code_external_id as the chart has them, reason (the code of why), facts
        (JSON).
        """
        return to_pandas(self.table("actions", words()))

    @functools.cached_property
    def unused_accounts(self) -> pd.DataFrame:
        """Active accounts that no category uses: company_id, external_id, account_id, code, name.

        Computed on first use. Companies without a category in the given frame are left out.
        """
        return to_pandas(self.table("unused_accounts"))

    @functools.cached_property
    def another_chart(self) -> str:
        """Why the chart looks like another company's, in one line; "" where it does not.

        It does when it lacks most accounts in use, when most of its accounts that are known here have another
        name, or when its file names another company than the last one's.
        """
        return doubt_in_words(self.doubts, words())

    @functools.cached_property
    def doubts(self) -> tuple[Doubt, ...]:
        """The same as codes with facts; empty where there is none."""
        return doubts_of(self.table("chart_match").to_pylist(), self.company_in_file, self.companies_before)

    @property
    def unchecked(self) -> tuple[str, ...]:
        """What was not compared and why, a phrase each."""
        return tuple(words()(f"not_compared.{code}") for code in self.not_compared)

    @property
    def companies_now(self) -> dict[str, CompanyInFile]:
        """The company that the chart's file names, by the company that has the chart; empty for none."""
        companies = self.table("chart_match")["company_id"].to_pylist()
        return dict.fromkeys(companies, self.company_in_file) if self.company_in_file else {}

    @property
    def not_created(self) -> list[str]:
        """A line for each line of the chart that is no account as it is, with what is to be done."""
        return self.findings.loc[self.findings["check"].isin(NOT_CREATED), "message"].tolist()

    @functools.cached_property
    def suggestions(self) -> pd.DataFrame:
        """Accounts with a name like that of a category without an account; bktools never applies them.

        Columns: category_id, company_id, name, external_id, account_name, score (0 to 100); up to three per
        category, best first.
        """
        return suggest(self.coverage, self.actions)

    def __getstate__(self) -> dict[str, Any]:
        """Return all tables for pickle and copy, computed now, because the input frames are not copied."""
        tables = {name: self._listed(name) for name in RESULTS}
        return self.__dict__ | {"_listed": tables.__getitem__}

    def __repr__(self) -> str:
        return readable("\n".join(["; ".join(self._headings), *as_lines(self.findings, words(), "account")]))

    def _repr_html_(self) -> str:
        findings = as_html(self.findings, words(), "account", "findings")
        return "".join(map(views.heading, self._headings)) + findings

    @property
    def _headings(self) -> list[str]:
        """The counts in one line, and what a person reads beside them."""
        texts, severities = words(), self.findings["severity"].value_counts()
        accounts = [texts(f"report.account_action.{action}", count=n) for action, n in self._action_counts]
        headline = texts(
            "command.reconciliation",
            findings=len(self.findings),
            counts=", ".join(texts.counted(severities.get(name, 0), name) for name in SEVERITIES),
            accounts=", ".join(accounts) or texts("command.none"),
            covered=int((self.coverage["state"] == "covered").sum()),
            all=len(self.coverage),
        )
        doubt = [self.another_chart] if self.another_chart else []
        unchecked = (texts("report.terminal.not_compared", phrase=phrase) for phrase in self.unchecked)
        return [headline, *doubt, *unchecked]

    @functools.cached_property
    def _action_counts(self) -> list[tuple[str, int]]:
        counts = pl.DataFrame(self.table("action_counts")).group_by("action").agg(pl.col("count").sum())
        return counts.sort("action").rows()


def doubt_in_words(doubts: Sequence[Doubt], language: Words) -> str:
    """Return in one line why a chart looks like another company's; "" where it does not."""
    reasons = [language(f"chart.{doubt.code}", **doubt.facts) for doubt in doubts]
    return language("chart.another", reasons="; ".join(reasons)) if reasons else ""


def _findings(rows: pl.DataFrame, language: Words) -> pl.DataFrame:
    roles = {role: language.name("role", role) for role in ROLES}
    company = pl.format(language("part.company", company_id="{}"), pl.col("company_id"))
    of_several = pl.when(pl.col("company_id").n_unique() > 1).then(company).otherwise(pl.lit(""))
    return with_sentences(rows, language, "account", fact="one", to_do="do").select(
        "check",
        "severity",
        "action",
        "company_id",
        "external_id",
        "account_id",
        "category_id",
        "field",
        "erp_value",
        "service_value",
        fact_and_step(language, "fact", "to_do").alias("message"),
        pl.coalesce("about", of_several).str.replace_all(r"[\r\n\t]+", " ").alias("about"),
        "to_do",
        pl.col("who").replace(roles),
        "facts",
    )


def _actions(rows: pl.DataFrame, language: Words) -> pl.DataFrame:
    return with_sentences(rows, language, "why", code="why", sentence="one").select(
        "company_id",
        "external_id",
        "account_id",
        "action",
        pl.col("sentence").alias("why"),
        "name",
        "code",
        "archived",
        "tax_code_external_id",
        pl.col("why").alias("reason"),
        "facts",
    )


_WORDED: Mapping[str, Callable[[pl.DataFrame, Words], pl.DataFrame]] = {
    "findings": _findings,
    "actions": _actions,
}
