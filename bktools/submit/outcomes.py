"""Outcomes for people: the number of each, its meaning, and the next step."""

from __future__ import annotations

import pandas as pd

from bktools import views
from bktools.consoles import readable
from bktools.errors import InputError

# Meaning of an outcome and the next step; None when nothing is to be done.
MEANINGS: dict[str, tuple[str, str | None]] = {
    "ACCEPTED": ("the service created the job; only the service shows whether it completes", None),
    "CREATED": ("the account is new in the service", None),
    "MATCHED": ("the account existed in the service with the same data", None),
    "IMPORTED": ("the account was imported here", None),
    "PLANNED": ("nothing was sent", "run again with apply=True"),
    "SENDING": ("another process is sending it now", "wait for that process, then run again"),
    "BLOCKED": (
        "not sent, because an earlier batch of the company was refused or has an unknown outcome",
        "settle the earlier batch first, then run again: completed batches are skipped",
    ),
    "REJECTED": (
        "the service refused it, nothing was booked",
        "read the message, correct the cause, then run again",
    ),
    "UNKNOWN": (
        "outcome unknown: the answer was lost",
        "look its entries up in the accounting system, then record the outcome with resolve_export_job",
    ),
    "EXISTS": (
        "the service has an account with this external ID, but its data is not known here",
        "import the account list of the service with import_accounts",
    ),
}

# Creating an account twice is safe: its external ID is unique in the service.
OF_ACCOUNTS = MEANINGS | {
    "REJECTED": (
        "the service refused it, no account was created",
        "read the message, correct the cause, then run again",
    ),
    "UNKNOWN": ("outcome unknown: the answer was lost", "safe to run again"),
}

NOTHING = "nothing to do: no outcomes"
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
    2 ACCEPTED: the service created the job; only the service shows whether it completes
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
        """The next steps, the most urgent first; empty when nothing is to be done."""
        there, meanings = set(self.frame["outcome"]), reversed(self._meanings.items())
        return [
            f"{outcome}: {step}" for outcome, (_, step) in meanings if outcome in there and step is not None
        ]

    def _counts(self) -> list[tuple[int, str, str]]:
        counts = self.frame["outcome"].value_counts()
        return [
            (int(count), str(name), self._meanings.get(str(name), ("", None))[0])
            for name, count in counts.items()
        ]

    def __repr__(self) -> str:
        lines = [
            f"{count:,} {name}{f': {meaning}' if meaning else ''}" for count, name, meaning in self._counts()
        ]
        shown = [*(lines or [NOTHING]), *(f"  next: {step}" for step in self.next_steps)]
        return readable("\n".join(shown))

    def _repr_html_(self) -> str:
        counts = self._counts()
        shown = self.frame[[name for name in COLUMNS if name in self.frame.columns]]
        # Rows that need a next step come first.
        is_done = shown["outcome"].map(lambda name: self._meanings.get(name, ("", ""))[1] is None)
        rows = shown.loc[is_done.sort_values(kind="stable").index].astype("object")
        values = (
            [None if pd.isna(value) else value for value in row] for row in rows.itertuples(index=False)
        )
        head = ", ".join(f"{count:,} {name}" for count, name, _ in counts) or NOTHING
        return (
            views.heading(head)
            + views.table(["", "", ""], counts, total=len(counts))
            + views.next_steps(self.next_steps)
            + views.table(list(shown.columns), values, total=len(shown), where="the frame")
        )
