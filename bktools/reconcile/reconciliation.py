"""The result of a reconciliation: findings, the action for each account, and the coverage of the categories."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from bktools.consoles import readable
from bktools.frames.arrow import tables_to_arrow
from bktools.frames.delimited import tables_to_csv
from bktools.reconcile import rendering
from bktools.reconcile.suggestions import suggest

_TABLES = ("findings", "actions", "coverage")


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Reconciliation:
    """The result of a reconciliation.

    Parameters
    ----------
    findings : DataFrame
        One row per finding, most severe first: check, severity (error, warning, info), action, company_id, external_id,
        account_id, category_id, field, erp_value, service_value, message (the fact, then what is to be done), about (the
        name of the account or category), to_do, who.
    coverage : DataFrame
        One row per category: category_id, company_id, name, archived, account_id, external_id, account_name,
        tax_code_id, state (covered, no_account, unknown_account, archived_account, to_be_archived_account).

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

    findings: pd.DataFrame
    coverage: pd.DataFrame
    # Returns a table by its name, for the tables that are computed on first use.
    _listed: Callable[[str], pd.DataFrame]

    @functools.cached_property
    def actions(self) -> pd.DataFrame:
        """One row per account: company_id, external_id, account_id, action (create, update, archive, unarchive, none),
        why, and name, code, archived, tax_code_external_id as the chart has them.

        Computed on first use, because it is as long as the chart.
        """  # noqa: D205 - the columns take two lines
        return self._listed("actions")

    @functools.cached_property
    def unused_accounts(self) -> pd.DataFrame:
        """Active accounts that no category uses: company_id, external_id, account_id, code, name.

        Computed on first use. Companies without a category in the given frame are left out.
        """
        return self._listed("unused_accounts")

    @functools.cached_property
    def summary(self) -> pd.DataFrame:
        """Number of findings by check and severity, and number of accounts by action: check, severity, count.

        Rows of actions have the check "action: create" and so on, and no severity.
        """
        return rendering.summarised(self._listed("summary"))

    @functools.cached_property
    def suggestions(self) -> pd.DataFrame:
        """Accounts with a name similar to that of a category without an account. They are never applied automatically.

        Columns: category_id, company_id, name, external_id, account_name, score (0 to 100); up to three per category,
        best first.
        """
        return suggest(self.coverage, self.actions)

    def to_csv(self, folder: str | Path, profile: str = "excel") -> list[Path]:
        """Write findings.csv, actions.csv and coverage.csv, which only you can read; return their paths.

        Parameters
        ----------
        folder : path
            Created if missing. Files of these names in it are replaced.
        profile : str
            As in `bktools.to_csv`: "excel", "excel-eu" or "machine".

        Raises
        ------
        ArgumentError
            When the profile is unknown.
        StorageError
            When a file cannot be written; an existing file is unchanged.
        """
        return tables_to_csv({name: getattr(self, name) for name in _TABLES}, folder, profile)

    def to_arrow(self) -> dict[str, pa.Table]:
        """Return findings, actions and coverage by name, each as `bktools.to_arrow` does."""
        return tables_to_arrow({name: getattr(self, name) for name in _TABLES})

    def __getstate__(self) -> dict[str, Any]:
        """Return all tables for pickle and copy, computed now, because the input frames are not copied."""
        listed = {name: getattr(self, name) for name in ("actions", "unused_accounts", "summary")}
        return self.__dict__ | listed | {"_listed": None}

    def __repr__(self) -> str:
        return readable(rendering.text(self.findings, self.coverage, self.summary))

    def _repr_html_(self) -> str:
        return rendering.html(self.findings, self.coverage, self.summary)
