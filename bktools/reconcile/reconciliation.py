"""The result of a reconciliation: findings, the action for each account, and the coverage of the categories."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import pyarrow as pa

from bktools import views
from bktools.consoles import readable
from bktools.contract.accounts import CompanyInFile
from bktools.frames.codes import counted
from bktools.frames.findings import as_html, as_lines
from bktools.frames.results import Result
from bktools.frames.schema import STRINGS, to_arrow, to_pandas
from bktools.reconcile.another_chart import another_chart
from bktools.reconcile.checks import SEVERITIES
from bktools.reconcile.suggestions import suggest
from bktools.reconcile.tables import RESULTS
from bktools.wording import words

# Checks of lines of a chart that are never created.
NOT_CREATED = ("name_missing", "total_in_chart")


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Reconciliation(Result):
    """The result of a reconciliation.

    Parameters
    ----------
    unchecked : tuple of str
        What was not compared, because the chart does not tell it.
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
    >>> chart = pandas.DataFrame({"external_id": ["0400"], "code": ["0400"], "name": ["Bank"], "archived": [False]})
    >>> with bktools.Sandbox() as service:
    ...     categories = bktools.load_categories(service=service)
    ...     found = bktools.reconcile_accounts(chart, bktools.load_accounts(service=service), categories)
    >>> found.actions[["code", "action"]].to_dict("records")
    [{'code': '0400', 'action': 'create'}]
    >>> len(found.coverage) == len(categories)
    True
    """

    _TABLES = ("findings", "actions", "coverage")

    # Returns a table by its name; one that is not there yet is computed once.
    _listed: Callable[[str], pa.Table]
    unchecked: tuple[str, ...] = ()
    company_in_file: CompanyInFile | None = None
    companies_before: Mapping[str, CompanyInFile] = dataclasses.field(default_factory=dict)

    def table(self, name: str) -> pa.Table:
        """Return a table by its name: findings, coverage, actions, unused_accounts, summary."""
        return to_arrow(self.summary) if name == "summary" else self._listed(name)

    @functools.cached_property
    def findings(self) -> pd.DataFrame:
        """One row per finding, most severe first: check, severity (error, warning, info), action, company_id, external_id,
        account_id, category_id, field, erp_value, service_value, message (the fact, then what is to be done), about (the
        name of the account or category), to_do, who.
        """  # noqa: D205 - the columns take three lines
        return to_pandas(self.table("findings"))

    @functools.cached_property
    def coverage(self) -> pd.DataFrame:
        """One row per category: category_id, company_id, name, archived, account_id, external_id, account_name,
        tax_code_id, state (covered, no_account, unknown_account, archived_account, to_be_archived_account).
        """  # noqa: D205 - the columns take two lines
        return to_pandas(self.table("coverage"))

    @functools.cached_property
    def actions(self) -> pd.DataFrame:
        """One row per account: company_id, external_id, account_id, action (create, update, archive, unarchive, none),
        why, and name, code, archived, tax_code_external_id as the chart has them.

        Computed on first use, because it is as long as the chart.
        """  # noqa: D205 - the columns take two lines
        return to_pandas(self.table("actions"))

    @functools.cached_property
    def unused_accounts(self) -> pd.DataFrame:
        """Active accounts that no category uses: company_id, external_id, account_id, code, name.

        Computed on first use. Companies without a category in the given frame are left out.
        """
        return to_pandas(self.table("unused_accounts"))

    @functools.cached_property
    def summary(self) -> pd.DataFrame:
        """Number of findings by check and severity, and number of accounts by action: check, severity, count.

        Rows of actions have the check "action: create" and so on, and no severity.
        """
        # The most severe findings come first.
        checks = self.findings.groupby(["check", "severity"], sort=False).size().reset_index(name="count")
        actions = to_pandas(self.table("action_counts")).groupby("action")["count"].sum().reset_index()
        none = pd.Series("", actions.index, STRINGS)
        verbs = pd.DataFrame({"check": "action: " + actions["action"], "severity": none, "count": actions["count"]})
        return pd.concat([checks, verbs], ignore_index=True)

    @functools.cached_property
    def another_chart(self) -> str:
        """Why the chart looks like another company's, in one line; "" where it does not.

        It does when it lacks most accounts in use, when most of its accounts that are known here have another name, or
        when its file names another company than the last one's.
        """
        matches = self.table("chart_match").to_pylist()
        return another_chart(matches, self.company_in_file, self.companies_before)

    @property
    def companies_now(self) -> dict[str, CompanyInFile]:
        """The company that the chart's file names, by the company whose chart it is; empty where it names none."""
        companies = self.table("chart_match")["company_id"].to_pylist()
        return dict.fromkeys(companies, self.company_in_file) if self.company_in_file else {}

    @property
    def not_created(self) -> list[str]:
        """A line for each line of the chart that is no account as it is, with what is to be done."""
        return self.findings.loc[self.findings["check"].isin(NOT_CREATED), "message"].tolist()

    @functools.cached_property
    def suggestions(self) -> pd.DataFrame:
        """Accounts with a name similar to that of a category without an account. They are never applied automatically.

        Columns: category_id, company_id, name, external_id, account_name, score (0 to 100); up to three per category,
        best first.
        """
        return suggest(self.coverage, self.actions)

    def __getstate__(self) -> dict[str, Any]:
        """Return all tables for pickle and copy, computed now, because the input frames are not copied."""
        tables = {name: self._listed(name) for name in RESULTS}
        return self.__dict__ | {"_listed": tables.__getitem__}

    def __repr__(self) -> str:
        return readable("\n".join(["; ".join(self._headings), *as_lines(self.findings, words("en"), "account")]))

    def _repr_html_(self) -> str:
        return "".join(map(views.heading, self._headings)) + as_html(
            self.findings, words("en"), "account", "findings", ".findings"
        )

    @property
    def _headings(self) -> list[str]:
        """The counts in one line, and what a person reads beside them."""
        severities = self.findings["severity"].value_counts()
        counts = ", ".join(f"{severities.get(name, 0):,} {name}" for name in SEVERITIES)
        verbs = self.summary[self.summary["severity"] == ""]
        accounts = [
            f"{count:,} {check.removeprefix('action: ').replace('none', 'unchanged')}"
            for check, count in zip(verbs["check"], verbs["count"], strict=True)
        ]
        covered = int((self.coverage["state"] == "covered").sum())
        headline = (
            f"Reconciliation: {counted(len(self.findings), 'finding')} ({counts}); "
            f"accounts: {', '.join(accounts) or 'none'}; {covered:,} of {len(self.coverage):,} categories covered"
        )
        doubt = [self.another_chart] if self.another_chart else []
        return [headline, *doubt, *(f"not compared: {phrase}" for phrase in self.unchecked)]
