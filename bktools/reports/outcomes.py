"""Outcomes as a person reads them: how many of each, what that means, and what to do next."""

from __future__ import annotations

import pandas as pd

from bktools import views
from bktools.errors import InputError
from bktools.visible import visible

# What an outcome means, and what to do about it; None when there is nothing to do.
MEANINGS: dict[str, tuple[str, str | None]] = {
    "ACCEPTED": ("the service created the job; whether it completes is seen in the service", None),
    "CREATED": ("the account is new in the service", None),
    "MATCHED": ("the account was in the service already, the same", None),
    "IMPORTED": ("the account was made known here", None),
    "PLANNED": ("nothing was sent", "run again with apply=True to send what is planned"),
    "SENDING": ("another process is sending it right now", "wait for that process, then run again"),
    "BLOCKED": (
        "not sent, because an earlier batch of the company is in doubt or was refused",
        "settle the earlier batch first, then run again: completed batches are skipped",
    ),
    "REJECTED": ("the service refused it, nothing was booked", "read the message, repair the cause, then run again"),
    "UNKNOWN": (
        "it may have been done, the answer was lost",
        "look it up in the service before anything else, then say what you found: resolve_export_job for a batch",
    ),
    "EXISTS": (
        "the service has an account under this external ID; it did not tell its id",
        "look the account up in the service and import it: import_accounts",
    ),
}

# A second request makes no second account: its external ID is unique in the service.
OF_ACCOUNTS = MEANINGS | {
    "REJECTED": (
        "the service refused it, no account was created",
        "read the message, repair the cause, then run again",
    ),
    "UNKNOWN": ("it may have been created, the answer was lost", "run again: a create may be repeated"),
}

COLUMNS = ("outcome", "external_id", "code", "name", "batch_id", "entries", "message")


class Outcomes:
    """A view of what `create_accounts` or `submit_export_jobs` returned.

    Parameters
    ----------
    frame : DataFrame
        With the column `outcome`; it is not changed.

    Raises
    ------
    InputError
        When the frame has no outcomes.

    Examples
    --------
    >>> import pandas as pd
    >>> Outcomes(pd.DataFrame({"outcome": ["ACCEPTED", "ACCEPTED"], "entries": [500, 33]}))
    2 ACCEPTED: the service created the job; whether it completes is seen in the service
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        if "outcome" not in frame.columns:
            raise InputError(
                "the frame has no column 'outcome': give what create_accounts or submit_export_jobs returned"
            )
        self.frame = frame
        self._meanings = OF_ACCOUNTS if "external_id" in frame.columns else MEANINGS

    @property
    def next_steps(self) -> list[str]:
        """What to do about the outcomes, the most urgent first; empty when there is nothing to do."""
        there = set(self.frame["outcome"])
        return [
            f"{outcome}: {step}"
            for outcome, (_, step) in reversed(self._meanings.items())
            if outcome in there and step is not None
        ]

    def _counts(self) -> list[tuple[int, str, str]]:
        counts = self.frame["outcome"].value_counts()
        return [(int(count), str(name), self._meanings.get(str(name), ("", None))[0]) for name, count in counts.items()]

    def __repr__(self) -> str:
        lines = [f"{count:,} {name}{f': {meaning}' if meaning else ''}" for count, name, meaning in self._counts()]
        shown = [*(lines or ["nothing to do: no outcomes"]), *(f"  next: {step}" for step in self.next_steps)]
        return visible("\n".join(shown))

    def _repr_html_(self) -> str:
        counts = self._counts()
        shown = self.frame[[name for name in COLUMNS if name in self.frame.columns]]
        # What needs somebody's attention comes first.
        is_done = shown["outcome"].map(lambda name: self._meanings.get(name, ("", ""))[1] is None)
        rows = shown.loc[is_done.sort_values(kind="stable").index].astype("object")
        return "".join(
            [
                views.heading(
                    ", ".join(f"{count:,} {name}" for count, name, _ in counts) or "nothing to do: no outcomes"
                ),
                views.table(["", "", ""], counts, total=len(counts)),
                views.next_steps(self.next_steps),
                views.table(
                    list(shown.columns),
                    ([None if pd.isna(value) else value for value in row] for row in rows.itertuples(index=False)),
                    total=len(shown),
                    where="the frame",
                ),
            ]
        )
