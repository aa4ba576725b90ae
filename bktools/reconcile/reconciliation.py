"""The result of a reconciliation: what was found, the verb of each account, and the coverage of the categories."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from bktools.errors import StorageError
from bktools.frames.engine import collect, lazy_frames
from bktools.frames.schema import to_pandas
from bktools.reconcile import rendering
from bktools.reconcile.findings import summarised
from bktools.reconcile.suggestions import suggest

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Reconciliation:
    """What a reconciliation found.

    Frames are pandas DataFrames where pandas or pyarrow was given, else lazy frames of the engine that was given, which
    run when they are collected there.

    Parameters
    ----------
    findings : DataFrame
        One row per finding, most severe first: check, severity (error, warning, info), action, company_id, external_id,
        account_id, category_id, field, erp_value, service_value, message.
    coverage : DataFrame
        One row per category: category_id, company_id, name, archived, account_id, external_id, account_name,
        tax_code_id, state (covered, no_account, unknown_account, archived_account, to_be_archived_account).
    list_actions : callable
        Returns `actions`; asked once, when they are.

    Notes
    -----
    The interface, sections 2.1 and 2.4.

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

    findings: Any
    coverage: Any
    list_actions: Callable[[], Any]

    @functools.cached_property
    def actions(self) -> Any:
        """One row per account: company_id, external_id, account_id, action (create, update, archive, unarchive, none),
        why, and name, code, archived, tax_code_external_id as the chart has them.

        Listed when first asked: it is the one table as long as the chart.
        """  # noqa: D205 - the columns take two lines
        return self.list_actions()

    @functools.cached_property
    def summary(self) -> Any:
        """How many findings each check has, by severity, and how many accounts each verb: check, severity, count.

        Verbs have check "action: create" and so on, and no severity.
        """
        counted = summarised(*lazy_frames(self.findings, self.actions))
        return to_pandas(collect(counted)) if self._is_collected else counted.to_native()

    @functools.cached_property
    def suggestions(self) -> pd.DataFrame:
        """Accounts whose name is like that of a category without one; never applied by themselves.

        Columns: category_id, company_id, name, external_id, account_name, score (0 to 100); up to three per category,
        the best first. Frames of another engine are collected for it.
        """
        return suggest(_pandas(self.coverage), _pandas(self.actions))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the number of findings of each check, by severity.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure without it.
        """
        return rendering.draw(_pandas(self.summary), ax)

    def to_csv(self, folder: str | Path) -> list[Path]:
        """Write findings.csv, actions.csv and coverage.csv (UTF-8, comma) and return their paths.

        Parameters
        ----------
        folder : path
            Made where it does not exist; files of these names in it are replaced.

        Raises
        ------
        StorageError
            When a file cannot be written; a file that was there before stays as it was.
        """
        folder = Path(folder)
        tables = {"findings": self.findings, "actions": self.actions, "coverage": self.coverage}
        written = []
        for name, frame in tables.items():
            path = folder / f"{name}.csv"
            part = path.with_suffix(".csv.part")
            try:
                folder.mkdir(parents=True, exist_ok=True)
                _pandas(frame).to_csv(part, index=False, encoding="utf-8", lineterminator="\n")
                part.replace(path)
            except OSError as error:
                with contextlib.suppress(OSError):
                    part.unlink(missing_ok=True)
                raise StorageError(f"{path} cannot be written ({error.strerror}): give another folder") from error
            written.append(path)
        return written

    def __repr__(self) -> str:
        if not self._is_collected:
            return rendering.not_collected(type(self.findings))
        return rendering.text(self.findings, self.coverage, self.summary)

    def _repr_html_(self) -> str:
        if not self._is_collected:
            return rendering.paragraph(rendering.not_collected(type(self.findings)))
        return rendering.html(self.findings, self.coverage, self.summary)

    @property
    def _is_collected(self) -> bool:
        return isinstance(self.findings, pd.DataFrame)


def _pandas(frame: Any) -> pd.DataFrame:
    return frame if isinstance(frame, pd.DataFrame) else to_pandas(collect(*lazy_frames(frame)))
