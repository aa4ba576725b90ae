"""Outcomes for people: the number of each, its meaning, and the next step."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from bktools import views
from bktools.consoles import readable
from bktools.errors import InputError
from bktools.views import SHOWN_ROWS
from bktools.visible import visible_line
from bktools.wording import Sentence, words
from bktools.wording.numbers import number

# The outcomes, the most urgent last; the section `outcome` of `wording` has what they mean and what to do.
DONE = ("ACCEPTED", "CREATED", "MATCHED", "IMPORTED")
OUTCOMES = (*DONE, "PLANNED", "SENDING", "BLOCKED", "REJECTED", "UNKNOWN", "EXISTS")

SHOWN_COLUMNS = ("outcome", "external_id", "code", "name", "batch_id", "entries", "message")


def meaning_of(outcome: str, form: str, *, of_accounts: bool) -> str:
    """Return what an outcome means ("one") or what is to be done ("do"); "" for nothing.

    Some mean another thing for an account than for a batch.
    """
    texts = words()
    keys = [f"{section}.{outcome.lower()}.{form}" for section in ("outcome_of_account", "outcome")]
    return next((texts(key) for key in keys[not of_accounts :] if texts.has(key)), "")


class OutcomeFrame(pd.DataFrame):
    """A frame of outcomes that shows itself as `Outcomes` does; what is selected from it is a plain frame."""

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    def __repr__(self) -> str:
        """Return the number of each outcome, the next steps, and every message as a whole."""
        return repr(Outcomes(self))

    def _repr_html_(self) -> str:
        return Outcomes(self)._repr_html_()


def outcome_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame of outcomes that shows itself as `Outcomes` does."""
    shown = OutcomeFrame(frame)
    shown.attrs = frame.attrs
    return shown


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
            raise InputError(Sentence("submit.no_outcomes"))
        self.frame = frame
        self._of_accounts = "external_id" in frame.columns

    @property
    def next_steps(self) -> list[str]:
        """The next steps, the most urgent first; empty when nothing is to be done."""
        steps = {name: self._step(name) for name in reversed(OUTCOMES) if name in {*self.frame["outcome"]}}
        return [f"{name}: {step}" for name, step in steps.items() if step]

    def _step(self, outcome: str) -> str:
        return meaning_of(outcome, "do", of_accounts=self._of_accounts)

    def _counts(self) -> list[tuple[int, str, str]]:
        counts = self.frame["outcome"].value_counts().items()
        meaning = partial(meaning_of, form="one", of_accounts=self._of_accounts)
        return [(int(count), str(name), meaning(str(name))) for name, count in counts]

    def __repr__(self) -> str:
        counts = self._counts()
        lines = [
            f"{number(count, words().language)} {name}{f': {meaning}' if meaning else ''}"
            for count, name, meaning in counts
        ]
        steps = (f"  {words()('submit.next', step=step)}" for step in self.next_steps)
        shown = [*(lines or [words()("submit.no_outcome")]), *steps, *self._messages()]
        return readable("\n".join(shown))

    def _messages(self) -> list[str]:
        """Return a line with the whole message of each row that needs a step, the first of them."""
        if "message" not in self.frame.columns:
            return []
        needs_step = [bool(self._step(outcome)) for outcome in self.frame["outcome"]]
        rows = self.frame[np.array(needs_step, dtype="bool") & self.frame["message"].notna()]
        name = "external_id" if self._of_accounts else "batch_id"
        first = rows.head(SHOWN_ROWS).to_dict("records")
        lines = [f"  {row[name]}: {visible_line(row['message'])}" for row in first]
        more = len(rows) - SHOWN_ROWS
        return [*lines, f"  {words()('submit.more_messages', count=more)}"] if more > 0 else lines

    def _repr_html_(self) -> str:
        counts = self._counts()
        shown = self.frame[[name for name in SHOWN_COLUMNS if name in self.frame.columns]]
        # Rows that need a next step come first.
        is_done = shown["outcome"].map(lambda name: name in OUTCOMES and not self._step(name))
        rows = shown.loc[is_done.sort_values(kind="stable").index].astype("object")
        values = rows.where(rows.notna(), None).itertuples(index=False)
        head = ", ".join(f"{number(count, words().language)} {name}" for count, name, _ in counts) or words()(
            "submit.no_outcome"
        )
        return (
            views.heading(head)
            + views.table(["", "", ""], counts, total=len(counts))
            + views.next_steps(self.next_steps)
            + views.table(list(shown.columns), values, total=len(shown), where="the frame")
        )
