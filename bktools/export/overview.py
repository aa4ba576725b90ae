"""`Overview`: what a plan holds and lacks, as `print` and a notebook show it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools import views
from bktools.consoles import INDENT
from bktools.export.checks import FATE_OF_REASON
from bktools.export.rendered import sentences_by_check
from bktools.findings.check import ERROR, SEVERITIES
from bktools.frames.findings import lines_of
from bktools.frames.sums import Sum, money_of, number_of_entries, sums_of, with_one_reason
from bktools.frames.tables import with_column
from bktools.wording import words

# The columns of a summary of the findings.
SUMMARY = ("severity", "check", "entries", "value", "message", "to_do", "who")


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
        lines += lines_of(
            (
                (standing, entries, name, ": ".join(filter(None, [value, sentence])))
                for standing, name, value, entries, sentence, _ in self._reasons
            ),
            texts,
        )
        return [*lines, *(INDENT + line for line in self._not_checked())]

    @property
    def html(self) -> str:
        """The plan as HTML: its sums, why other entries are not ready, and the next steps."""
        texts, reasons = words(), self._reasons
        amounts = amounts_of_ready(self.rows)
        ready = [(currency, texts.amount(amount, currency)) for currency, amount in amounts.items()]

        def heads(*names: str) -> list[str]:
            return [texts(f"report.column.{name}") for name in names]

        not_checked = [[line] for line in self._not_checked()]
        parts = [
            views.heading(self._headline()),
            views.table(heads("currency", "ready"), ready, total=len(ready), looks=["", views.TO_THE_RIGHT]),
            views.table(
                heads("fate", "reason", "value", "entries", "message", "who"), reasons, total=len(reasons)
            ),
            views.table([""], not_checked, total=len(not_checked)),
            views.next_steps(self.next_steps),
        ]
        return "".join(parts)

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

    @property
    def _reasons(self) -> list[tuple[str, str, str, int, str, str]]:
        """What becomes of entries and why, their value and number, fact and step, and who takes it."""
        texts = words()
        return [
            (
                # Of an error its fate, of a warning its severity.
                texts.name("fate", FATE_OF_REASON[row["check"]])
                if row["severity"] == ERROR
                else texts.name("severity", row["severity"]),
                texts.name("entry", row["check"]),
                row["value"],
                row["entries"],
                texts("sentence.fact_and_step", fact=row["message"], step=row["to_do"]),
                row["who"],
            )
            for row in self.needs_action.to_dict("records")
        ]

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
