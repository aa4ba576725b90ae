"""`Overview`: what a plan holds and lacks, as `print` and a notebook show it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools import views
from bktools.consoles import INDENT
from bktools.export.checks import FATE_OF_REASON
from bktools.export.rendered import sentences_by_check
from bktools.findings.check import ERROR, SEVERITIES
from bktools.frames.columns import with_column
from bktools.frames.findings import lines_of
from bktools.frames.names import in_reading_order
from bktools.frames.schema import to_pandas
from bktools.frames.sums import Sum, money_of, number_of_entries, sums_of, with_one_reason
from bktools.wording import words

# The columns of a summary of the findings.
SUMMARY = ("severity", "check", "entries", "value", "message", "to_do", "who")
# The first columns of entries that are not ready, as many as a notebook's page shows without a cut.
HELD_SHOWN = (
    *("date", "supplier", "amount", "currency", "reason"),
    *("description", "category_name", "account_code"),
)


@dataclass(frozen=True, eq=False)
class Overview:
    """The tables of a plan, and what a person reads of them; they are those of `ExportPlan`."""

    plan_id: str
    rows: pa.Table
    held: pa.Table
    batches: pa.Table
    findings: pa.Table
    unchecked: tuple[str, ...]

    @property
    def lines(self) -> list[str]:
        """The plan in lines: what is ready, why other entries are not, and what was not checked."""
        texts = words()
        lines = [f"ExportPlan {self.plan_id}: {self._headline()}"]
        lines += [
            INDENT + texts("command.ready", currency=currency, amount=amount)
            for currency, amount in amounts_of_ready(self.rows).items()
        ]
        rows: list[Any] = list(self.needs_action.itertuples())
        reasons = [
            (row.severity, row.entries, row.check, ": ".join(filter(None, [row.value, _fact_and_step(row)])))
            for row in rows
        ]
        lines += lines_of(reasons, texts)
        return [*lines, *(INDENT + line for line in self._not_checked())]

    @property
    def html(self) -> str:
        """The plan as HTML: its sums, reasons, first entries that are not ready, and first batches."""
        rows: list[Any] = list(self.needs_action.itertuples())
        reasons = pd.DataFrame(
            {
                "reason": [f"{views.MARKS[row.severity]} {words().name('entry', row.check)}" for row in rows],
                # A currency stays beside its amount.
                "value": [row.value.replace(" ", "\u00a0").replace(",\u00a0", ", ") for row in rows],
                "entries": [row.entries for row in rows],
                "message": [_fact_and_step(row) for row in rows],
                "who": [row.who for row in rows],
            }
        )
        columns = [name for name in HELD_SHOWN if name in self.held.column_names]
        held = to_pandas(self.held.select(columns).slice(0, views.SHOWN_ROWS))
        if "amount" in columns:
            currencies = held.get("currency", pd.Series(None, held.index))
            held = held.assign(amount=[*map(words().amount, held["amount"], currencies)])
        batches = to_pandas(self.batches.select(in_reading_order(self.batches.column_names)))
        amounts = amounts_of_ready(self.rows)
        ready = [(currency, words().amount(amount, currency)) for currency, amount in amounts.items()]
        not_checked = [[line] for line in self._not_checked()]
        return "".join(
            [
                views.heading(f"Export plan: {self._headline()}"),
                views.table(["currency", "ready"], ready, total=len(ready), looks=["", views.TO_THE_RIGHT]),
                _html(reasons, ".findings"),
                _html(held, ".not_ready", len(self.held)),
                _html(batches, ".batches"),
                views.table([""], not_checked, total=len(not_checked)),
                views.next_steps(self.next_steps),
            ]
        )

    @property
    def next_steps(self) -> list[str]:
        """What a person does next."""
        if len(self.batches):
            return [words()("command.submit_next")]
        return [words()("command.nothing_next")] if len(self.held) else []

    @property
    def needs_action(self) -> pd.DataFrame:
        """The summary without findings of the severity info."""
        return self._summary[self._summary["severity"] != "info"].reset_index(drop=True)

    @cached_property
    def _summary(self) -> pd.DataFrame:
        """A row for each reason and severity, those with most money first, with the columns SUMMARY."""
        held, findings = self.held, self.findings
        # The currency with most entries: amounts of two currencies cannot be compared.
        main = next(iter(money_of(held)), None)
        # A column of the file may have one of these names.
        errors = with_column(held, "check", with_one_reason(held, FATE_OF_REASON)["reason"])
        errors = with_column(errors, "severity", pa.repeat(ERROR, len(held)))
        others = findings.filter(pc.not_equal(findings["severity"], ERROR))
        sums = [part for rows in (errors, others) for part in sums_of(rows, "severity", "check", own=main)]
        sums.sort(key=lambda part: SEVERITIES.index(part["severity"]))
        sentences = sentences_by_check(words(), findings)
        summary = [
            {
                **part.keys,
                "entries": part.entries,
                "value": ", ".join(part.texts[1:]),
                **sentences[tuple(part.keys.values())],
            }
            for part in sums
        ]
        return pd.DataFrame(summary, columns=list(SUMMARY))

    def _headline(self) -> str:
        texts, counts = words(), self._summary.groupby("severity")["entries"].sum()
        ready, held = number_of_entries(self.rows), number_of_entries(self.held)
        headline = texts("command.plan", entries=ready, batches=len(self.batches), held=held)
        others = (texts.counted(counts[name], name) for name in ("warning", "info") if name in counts)
        return ", ".join([headline, *others])

    def _not_checked(self) -> list[str]:
        texts, key = words(), "report.terminal.not_checked"
        return [texts(key, phrase=texts.name("unchecked", code)) for code in self.unchecked]


def amounts_of_ready(rows: pa.Table) -> dict[str, Decimal]:
    """Return the exact sum of the ready entries by currency, in alphabetical order; empty without amounts."""
    if not {"currency", "amount"} <= set(rows.column_names):
        return {}
    return dict(sorted(Sum({}, money_of(rows)).amounts.items()))


def _fact_and_step(row: Any) -> str:
    """Return the fact and the next step of a row of `needs_action`."""
    return words()("sentence.fact_and_step", fact=row.message, step=row.to_do)


def _html(frame: pd.DataFrame, where: str, count: int | None = None) -> str:
    """Return the first rows of a frame of `count` rows as HTML: times as days, missing values empty."""
    rows = frame.head(views.SHOWN_ROWS).astype("object").itertuples(index=False)
    cells = [["" if pd.isna(value) else value for value in row] for row in rows]
    cells = [[value.date() if isinstance(value, pd.Timestamp) else value for value in row] for row in cells]
    looks = [
        {"amount": views.TO_THE_RIGHT, "reason": views.ON_ONE_LINE}.get(name, "") for name in frame.columns
    ]
    total = len(frame) if count is None else count
    return views.table(list(frame.columns), cells, total=total, where=where, looks=looks)
