"""The close's workbook: figures first, then what is to be done, then details and reference data; it prints on few pages.

The sheet "to do" comes back: its columns to fill in are read by `bktools.read_fixes`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import IO, Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools import disk
from bktools.export.plan import SENT_BEFORE, as_exported
from bktools.frames.currencies import MINOR_UNITS, USUAL
from bktools.frames.currencies import shown as shown_amount
from bktools.frames.engine import in_pandas
from bktools.frames.names import FIRST, IDENTIFIERS, in_reading_order
from bktools.frames.schema import STRINGS, to_arrow
from bktools.journal.periods import NOT_WAITING
from bktools.reports.close import Close
from bktools.reports.excel import EXACT_DIGITS, NARROWEST, look_of, too_large, write_column
from bktools.reports.to_do import IDS, Action, actions_of, in_pandas_records, sums

CLOSE, TO_DO, CHANGES, CHART, LINES = "close", "to do", "changes", "chart", "lines"
# The headings of the columns to fill in, and of the identity of a line.
NEW_ACCOUNT, NOTE, LINE_ID = "new account", "note", "line id"
# Between code and name of an account to choose.
BETWEEN = " · "
FORMAT = "bktools to do 1"

# Excel's paper number of A4. A sheet prints so many rows on a page, or fewer; its columns always fit.
A4 = 9
ROWS_A_PAGE, LINES_A_PAGE = 95, 75
# Points of a line of text.
LINE = 12.5
# Letters of the font in the unit of a column's width, which is a digit of Excel's own font.
LETTERS = 1.25
MARGINS = {"left": 0.4, "right": 0.4, "top": 0.6, "bottom": 0.5}
WIDEST, WIDEST_PROSE = 44, 120
PROSE = ("about", "message", "to_do", "why")
# Columns with codes that are written as words.
CODES = ("check", "reason", "state", "status")
# Text is at the left whatever its script, so that a column stays a column.
FONT = {"font_name": "Arial", "font_size": 9, "valign": "top", "align": "left"}
NAVY, BLUE, RED, AMBER, QUIET, PALE = "#1F3A5F", "#0072B2", "#D55E00", "#E69F00", "#BBBBBB", "#FFF7D6"

# Reasons of entries that are neither sent nor held back by this close.
NOT_OF_THIS_CLOSE = NOT_WAITING | {"later_period"}
STATES = ("exported", "ready", "held back", "left out")
COLOURS = dict(zip(STATES, (BLUE, AMBER, RED, QUIET), strict=True))

Cell = tuple[int, int]


def write_close(close: Close, path: Path) -> Path:
    """Write the workbook of a close; the same close gives the same bytes."""

    def write(file: IO[bytes]) -> None:
        import xlsxwriter

        with xlsxwriter.Workbook(file, {"in_memory": True, "strings_to_urls": False}) as book:
            book.set_properties({"title": f"Month-end {close.period}", "created": close.begun_at})
            _Writer(book, close).write()

    return disk.write_whole(path, write)


def label_of(code: str | None, external_id: str, name: str | None) -> str:
    """Return an account as a person chooses it: code (the external ID without one) and name."""
    return BETWEEN.join(filter(None, (code or external_id, name)))


def figures(close: Close) -> dict[str, list[dict[str, Any]]]:
    """Return the entries of a close by their state, one of STATES; exported ones are those of all its runs."""
    accepted = set(close.jobs.loc[close.jobs["outcome"] == "ACCEPTED", "batch_id"])
    of_state: dict[str, list[dict[str, Any]]] = {state: [] for state in STATES}
    for row in to_arrow(close.plan.rows).to_pylist():
        of_state["exported" if row["batch_id"] in accepted else "ready"].append(row)
    if close.record is not None:
        sent = close.record.exported
        of_state["exported"] = in_pandas_records(sent[sent["state"] == "ACCEPTED"])
    exported = {row.get("entry_id") for row in of_state["exported"]}
    for row in as_exported(to_arrow(close.plan.not_ready)).to_pylist():
        if row["reason"] not in SENT_BEFORE or row["id"] not in exported:
            of_state["left out" if row["reason"] in NOT_OF_THIS_CLOSE else "held back"].append(row)
    return of_state


@dataclass
class _Writer:
    """Writes the sheets of one close into a workbook."""

    book: Any
    close: Close
    _formats: dict[tuple[tuple[str, Any], ...], Any] = field(default_factory=dict)

    def write(self) -> None:
        actions = actions_of(self.close)
        details = _details(self.close)
        refused = {
            name: f"only in its CSV file: it {why}" for name, frame in details.items() if (why := too_large(frame))
        }
        refused |= {name: "none" for name, frame in details.items() if frame.empty}
        self._first(actions, refused)
        labels = self._labels()
        self._to_do(actions, bool(labels) and CHART not in refused)
        for name, frame in details.items():
            if name not in refused:
                self._table(name, frame, labels if name == CHART else [])
        self._lines(actions)

    # The first sheet

    def _first(self, actions: Sequence[Action], refused: Mapping[str, str]) -> None:
        sheet = self._sheet(CLOSE, 0)
        sheet.set_column(0, 0, 44)
        sheet.set_column(1, 30, 13)
        sheet.hide_gridlines(2)
        close = self.close
        sheet.set_row(0, 26)
        sheet.write_string(0, 0, f"Month-end {close.period}", self._format(bold=True, font_size=16, font_color=NAVY))
        sheet.write_string(1, 0, _subtitle(close), self._format(font_color="#555555"))
        of_state = figures(close)
        row = self._facts(sheet, 3, refused)
        row, by_currency = self._by_currency(sheet, row + 1, of_state)
        row, by_reason = self._by_reason(sheet, row + 1, of_state["held back"])
        row = self._by_who(sheet, row + 1, actions)
        row = self._compared(sheet, row + 1, of_state)
        self._charts(sheet, row + 1, by_currency, by_reason)
        sheet.print_area(0, 0, row + 18, 10)
        sheet.fit_to_pages(1, 1)

    def _facts(self, sheet: Any, row: int, refused: Mapping[str, str]) -> int:
        close = self.close
        accounts = close.accounts["outcome"].value_counts()
        jobs = close.jobs["outcome"].value_counts()
        infos = int((in_pandas(close.after.findings)["severity"] == "info").sum())
        facts = [
            ("written to the service", "yes" if close.applied else "no, planned only"),
            ("begun at", f"{close.begun_at:%Y-%m-%d %H:%M} UTC"),
            *([("prepared by", close.prepared_by)] if close.prepared_by else []),
            ("approved by", close.approved_by or "nobody yet"),
            *([("month", close.record.state.lower())] if close.record is not None else []),
            *((f"accounts {str(outcome).lower()}", int(count)) for outcome, count in accounts.items()),
            *((f"export jobs {str(outcome).lower()}", int(count)) for outcome, count in jobs.items()),
            *([("entries dated after the month", close.left_out)] if close.left_out else []),
            *((f"categories: {state.replace('_', ' ')}", int(count)) for state, count in _coverage(close).items()),
            *([] if close.changes is None else [("changes since the last close (see the sheet)", len(close.changes))]),
            ("infos about accounts and categories (reconciliation.csv)", infos),
            *(("not checked", phrase) for phrase in close.unchecked),
            *refused.items(),
        ]
        for name, value in facts:
            sheet.write_string(row, 0, name, self._format(font_color="#555555"))
            if isinstance(value, int):
                sheet.write_number(row, 1, value, self._format(num_format="#,##0", align="left"))
            else:
                sheet.write_string(row, 1, value, self._format())
            row += 1
        return row

    def _by_currency(self, sheet: Any, row: int, of_state: Mapping[str, list[dict[str, Any]]]) -> tuple[int, Cell]:
        """Write count and amount of the entries by currency and state; amounts are added within a currency alone."""
        self._heading(sheet, row, "Entries and amounts by currency")
        head = row + 1
        titles = [name for state in STATES for name in (f"{state}: entries", "amount")]
        self._titles(sheet, head, ["currency", *titles, "all: entries", "amount"])
        counts = {state: _counts(rows) for state, rows in of_state.items()}
        amounts = {state: sums(rows) for state, rows in of_state.items()}
        currencies = sorted(set().union(*counts.values()))
        last = head + len(currencies)
        for at, currency in enumerate(currencies, head + 1):
            sheet.write_string(at, 0, currency, self._format())
            for place, state in enumerate(STATES):
                self._number(sheet, at, 1 + 2 * place, counts[state].get(currency, 0))
                self._amount(sheet, at, 2 + 2 * place, amounts[state].get(currency, Decimal(0)), currency)
            every = [1 + 2 * place for place in range(len(STATES))]
            self._count(sheet, at, 9, _plus(at, every), sum(counts[state].get(currency, 0) for state in STATES))
            parts = [amounts[state].get(currency, Decimal(0)) for state in STATES]
            self._total(sheet, at, 10, _plus(at, [one + 1 for one in every]), parts, currency)
        total_row = last + 1
        sheet.write_string(total_row, 0, "all currencies", self._format(bold=True, top=1))
        for place in range(1, 11):
            if place % 2:
                states = STATES if place == 9 else [STATES[place // 2]]  # noqa: PLR2004 - the column of all
                count = sum(sum(counts[state].values()) for state in states)
                self._count(sheet, total_row, place, _sum(place, head + 1, last), count, bold=True, top=1)
            else:
                sheet.write_blank(total_row, place, None, self._format(top=1))
        return total_row + 1, (head + 1, last)

    def _by_reason(self, sheet: Any, row: int, held: list[dict[str, Any]]) -> tuple[int, Cell]:
        """Write the held-back entries by reason: count, and amount in each currency."""
        currencies = sorted(_counts(held))
        self._heading(sheet, row, "Held back, by reason")
        head = row + 1
        self._titles(sheet, head, ["reason", "entries", *currencies])
        of_reason = defaultdict(list)
        for one in held:
            of_reason[one["message"].partition(":")[0]].append(one)
        ordered = sorted(of_reason.items(), key=lambda item: -len(item[1]))
        for at, (reason, rows) in enumerate(ordered, head + 1):
            sheet.write_string(at, 0, reason, self._format(text_wrap=True))
            sheet.set_row(at, LINE * _lines_of(reason, 44))
            self._number(sheet, at, 1, len(rows))
            amounts = sums(rows)
            for place, currency in enumerate(currencies, 2):
                if currency in amounts:
                    self._amount(sheet, at, place, amounts[currency], currency)
        last = head + len(ordered)
        sheet.write_string(last + 1, 0, "held back", self._format(bold=True, top=1))
        if not ordered:
            self._number(sheet, last + 1, 1, 0)
            return last + 2, (head + 1, last)
        self._count(sheet, last + 1, 1, _sum(1, head + 1, last), len(held), bold=True, top=1)
        for place, currency in enumerate(currencies, 2):
            parts = [amount for _, rows in ordered if (amount := sums(rows).get(currency)) is not None]
            self._total(sheet, last + 1, place, _sum(place, head + 1, last), parts, currency, bold=True, top=1)
        return last + 2, (head + 1, last)

    def _by_who(self, sheet: Any, row: int, actions: Sequence[Action]) -> int:
        self._heading(sheet, row, f"To do, by whom (see the sheet {TO_DO!r})")
        head = row + 1
        self._titles(sheet, head, ["who", "errors", "warnings", "entries waiting"])
        who = list(dict.fromkeys(one.who for one in actions))
        for at, name in enumerate(who, head + 1):
            own = [one for one in actions if one.who == name]
            sheet.write_string(at, 0, name, self._format())
            for place, severity in enumerate(("error", "warning"), 1):
                self._number(sheet, at, place, sum(one.severity == severity for one in own))
            self._number(sheet, at, 3, sum(one.entries for one in own if one.severity == "error"))
        return head + len(who) + 1

    def _compared(self, sheet: Any, row: int, of_state: Mapping[str, list[dict[str, Any]]]) -> int:
        """Write what this close exports beside what the last one did, by currency."""
        period, before = _last_close(self.close)
        if period is None:
            self._heading(sheet, row, "No earlier close is in the journal to compare with")
            return row + 1
        self._heading(sheet, row, f"Exported, compared with {period}")
        head = row + 1
        self._titles(
            sheet,
            head,
            ["currency", f"{period}: entries", "amount", f"{self.close.period}: entries", "amount", "change", "%"],
        )
        now = [*of_state["exported"], *of_state["ready"]]
        counts, amounts = (_counts(before), _counts(now)), (sums(before), sums(now))
        currencies = sorted({*counts[0], *counts[1]})
        for at, currency in enumerate(currencies, head + 1):
            sheet.write_string(at, 0, currency, self._format())
            was, is_now = (one.get(currency, Decimal(0)) for one in amounts)
            for place, (count, amount) in enumerate(zip(counts, (was, is_now), strict=True)):
                self._number(sheet, at, 1 + 2 * place, count.get(currency, 0))
                self._amount(sheet, at, 2 + 2 * place, amount, currency)
            self._total(sheet, at, 5, f"=E{at + 1}-C{at + 1}", (is_now, -was), currency)
            if was and _is_exact(was) and _is_exact(is_now):
                form = self._format(RIGHT, num_format="+0%;-0%;0%")
                share = float((is_now - was) / abs(was))
                sheet.write_formula(at, 6, f"=(E{at + 1}-C{at + 1})/ABS(C{at + 1})", form, share)
        return head + len(currencies) + 1

    def _charts(self, sheet: Any, row: int, by_currency: Cell, by_reason: Cell) -> None:
        if by_currency[1] < by_currency[0]:
            return
        chart = self.book.add_chart({"type": "bar", "subtype": "stacked"})
        head = by_currency[0] - 1
        for place, (state, colour) in enumerate(COLOURS.items()):
            chart.add_series(
                {
                    "name": state,
                    "categories": [CLOSE, by_currency[0], 0, by_currency[1], 0],
                    "values": [CLOSE, head + 1, 1 + 2 * place, by_currency[1], 1 + 2 * place],
                    "fill": {"color": colour},
                    "gap": 60,
                }
            )
        self._insert(sheet, row, 0, chart, "Entries by currency", 560)
        if by_reason[1] >= by_reason[0]:
            reasons = self.book.add_chart({"type": "bar"})
            reasons.add_series(
                {
                    "name": "held back",
                    "categories": [CLOSE, by_reason[0], 0, by_reason[1], 0],
                    "values": [CLOSE, by_reason[0], 1, by_reason[1], 1],
                    "fill": {"color": RED},
                    "data_labels": {"value": True},
                    "gap": 60,
                }
            )
            self._insert(sheet, row, 4, reasons, "Entries held back, by reason", 650, legend=False)

    def _insert(
        self, sheet: Any, row: int, place: int, chart: Any, title: str, width: int, *, legend: bool = True
    ) -> None:
        chart.set_title({"name": title, "name_font": {"size": 11, "bold": True}, "overlay": False})
        chart.set_legend({"position": "bottom"} if legend else {"none": True})
        # Bars are drawn from the bottom up.
        chart.set_y_axis({"reverse": True, "num_font": {"size": 8}})
        chart.set_x_axis({"major_gridlines": {"visible": True, "line": {"color": "#DDDDDD"}}, "num_format": "#,##0"})
        chart.set_size({"width": width, "height": 300})
        sheet.insert_chart(row, place, chart, {"description": title, "x_offset": 4})

    # The sheet to fill in

    def _to_do(self, actions: Sequence[Action], has_list: bool) -> None:  # noqa: FBT001 - one caller
        close, sheet = self.close, self._sheet(TO_DO, 1)
        titles = ["severity", "who", "to do", "about", "why", "entries", "amount", "currency", NEW_ACCOUNT, NOTE]
        widths = [9, 13, 28, 44, 36, 8, 15, 9, 32, 24]
        self._titles(
            sheet, 0, [*titles, "check", *(name.replace("_", " ") for name in IDS), LINE_ID], ("entries", "amount")
        )
        for place, width in enumerate([*widths, *[12] * (len(IDS) + 2)]):
            sheet.set_column(place, place, width)
        wrapped = self._format(text_wrap=True)
        fill, closed = (self._format(bg_color=colour, num_format="@", border=1, border_color="#DDDDDD", text_wrap=True)
                        for colour in (PALE, "#F2F2F2"))  # fmt: skip
        lines = 1
        for at, one in enumerate(actions, 1):
            texts = (one.severity, one.who, one.to_do, one.about, one.why)
            for place, text in enumerate(texts):
                sheet.write_string(at, place, text, wrapped)
            # Programs that print without a screen do not find the height of a row by themselves.
            height = max(len(one.amounts), *map(_lines_of, texts, widths))
            sheet.set_row(at, LINE * height)
            lines += height
            if one.entries:
                self._number(sheet, at, 5, one.entries)
            self._amounts(sheet, at, 6, one.amounts)
            sheet.write_blank(at, 8, None, fill if one.wants_account else closed)
            sheet.write_blank(at, 9, None, fill)
            known = [one.check, *(one.ids.get(name) or "" for name in IDS), one.key(close.company, close.period)]
            for place, text in enumerate(known, 10):
                sheet.write_string(at, place, text, self._format())
            if one.wants_account and has_list:
                sheet.data_validation(at, 8, at, 8, CHOICE)
        sheet.freeze_panes(1, 0)
        sheet.autofilter(0, 0, max(len(actions), 1), 11 + len(IDS))
        sheet.repeat_rows(0)
        sheet.print_area(0, 0, max(len(actions), 1), 9)
        sheet.fit_to_pages(1, _pages(lines, LINES_A_PAGE))

    def _amounts(self, sheet: Any, row: int, place: int, amounts: Mapping[str, Decimal]) -> None:
        """Write the amount of an action; amounts of several currencies stand below each other as text."""
        if len(amounts) == 1:
            [(currency, amount)] = amounts.items()
            self._amount(sheet, row, place, amount, currency)
            sheet.write_string(row, place + 1, currency, self._format(indent=1))
        elif amounts:
            texts = (shown_amount(amount, currency) for currency, amount in amounts.items())
            sheet.write_string(row, place, "\n".join(texts), self._format(RIGHT, text_wrap=True))
            sheet.write_string(row, place + 1, "\n".join(amounts), self._format(text_wrap=True, indent=1))

    # Details and reference data

    def _table(self, name: str, frame: pd.DataFrame, labels: Sequence[str]) -> None:
        sheet = self._sheet(name, 2)
        table = to_arrow(frame, f"the table {name!r}")
        named = [title for title in table.column_names if not _is_identifier(title)]
        currencies = table.column("currency").to_pylist() if {"amount", "currency"} <= {*table.column_names} else []
        follows_number = is_number = False
        for place, title in enumerate(table.column_names):
            column, heading = _in_words(table.column(place), title), _title(title)
            follows_number, is_number = is_number, title == "amount" or pa.types.is_integer(column.type)
            side = RIGHT if is_number else {"indent": int(follows_number)}
            if title == "amount" and currencies:
                longest = 14
                for row, (value, currency) in enumerate(zip(column.to_pylist(), currencies, strict=True), 1):
                    if value is not None:
                        self._amount(sheet, row, place, value, currency)
            else:
                form = self._format(look_of(column), side)
                longest = write_column(sheet, place, column, form, form)
            sheet.write_string(0, place, heading, self._format(HEAD, side))
            widest = WIDEST_PROSE if title in PROSE else WIDEST
            sheet.set_column(place, place, min(max(longest + 1, len(heading) + 3, NARROWEST), widest))
        for row, height in _taller(table).items():
            sheet.set_row(row, LINE * height)
        if labels:
            place = table.num_columns
            sheet.write_string(0, place, "account to choose", self._format(HEAD))
            for row, label in enumerate(labels, 1):
                sheet.write_string(row, place, label, self._format())
            sheet.set_column(place, place, WIDEST)
            self.book.define_name(CHOICES, f"={name}!${_letter(place)}$2:${_letter(place)}${len(labels) + 1}")
        rows = table.num_rows
        last = self._totals(sheet, table) if currencies else rows
        sheet.freeze_panes(1, 0)
        sheet.autofilter(0, 0, max(rows, 1), max(table.num_columns - 1, 0))
        sheet.repeat_rows(0)
        sheet.print_area(0, 0, last, max(len(named) - 1, 0))
        sheet.fit_to_pages(1, _pages(last, ROWS_A_PAGE))

    def _totals(self, sheet: Any, table: pa.Table) -> int:
        """Write the total of each currency below a table; return the last row."""
        place, of = table.column_names.index("amount"), table.column_names.index("currency")
        last = int(table.num_rows)
        amounts = defaultdict(list)
        for row in table.select(["amount", "currency"]).to_pylist():
            if row["amount"] is not None:
                amounts[row["currency"]].append(row["amount"])
        end = last
        for at, currency in enumerate(sorted(amounts, key=lambda one: one or ""), last + 2):
            cells = (f"{_letter(one)}2:{_letter(one)}{last + 1}" for one in (of, place))
            # Whole texts are compared: SUMIF would read signs in a currency as an operator.
            formula = "=SUMPRODUCT(--EXACT({},{}),{})".format(next(cells), f"{_letter(of)}{at + 1}", next(cells))
            sheet.write_string(at, 0, "total", self._format(bold=True))
            sheet.write_string(at, of, currency or "", self._format(bold=True, indent=1))
            self._total(sheet, at, place, formula, amounts[currency], currency, bold=True)
            end = at
        return end

    def _labels(self) -> list[str]:
        """Return the active accounts of the chart as a person chooses them."""
        active = self.close.chart[~self.close.chart["archived"].fillna(value=False).astype(bool)]
        rows = in_pandas_records(active[["code", "external_id", "name"]].sort_values(["code", "external_id"]))
        return [label_of(row["code"], row["external_id"], row["name"]) for row in rows if row["external_id"]]

    def _lines(self, actions: Iterable[Action]) -> None:
        """Write a hidden sheet with the identity of the file and of its lines, so that a missing line is noticed."""
        close = self.close
        sheet = self.book.add_worksheet(LINES)
        facts = [
            ("fact", "value"),
            ("format", FORMAT),
            ("company_id", close.company),
            ("environment", close.environment),
            ("period", close.period),
            ("begun_at", close.begun_at.isoformat()),
            *(("line", f"{one.key(close.company, close.period)} {one.about}") for one in actions),
        ]
        for row, pair in enumerate(facts):
            for place, text in enumerate(pair):
                sheet.write_string(row, place, text)
        sheet.hide()

    # Parts of a sheet

    def _sheet(self, name: str, colour: int) -> Any:
        sheet = self.book.add_worksheet(name)
        sheet.set_tab_color((NAVY, RED, QUIET)[colour])
        sheet.set_landscape()
        sheet.set_paper(A4)
        sheet.set_margins(**MARGINS)
        about = f"Month-end {self.close.period}{BETWEEN}{_where(self.close)}".replace("&", "&&")
        sheet.set_header(f"&L&8{about[:150]}&R&8&A")
        sheet.set_footer(f"&L&8begun {self.close.begun_at:%Y-%m-%d %H:%M} UTC&R&8page &P of &N")
        return sheet

    def _format(self, *looks: Mapping[str, Any], **look: Any) -> Any:
        """Return the format with the properties of looks; later ones go before earlier ones."""
        whole: dict[str, Any] = {**FONT}
        for one in (*looks, look):
            whole |= one
        key = tuple(sorted(whole.items()))
        if key not in self._formats:
            self._formats[key] = self.book.add_format(whole)
        return self._formats[key]

    def _heading(self, sheet: Any, row: int, text: str) -> None:
        sheet.write_string(row, 0, text, self._format(bold=True, font_size=11, font_color=NAVY))

    def _titles(self, sheet: Any, row: int, titles: Sequence[str], numbers: Sequence[str] | None = None) -> None:
        """Write headings; those of numbers are at the right: all but the first, unless they are named."""
        for place, title in enumerate(titles):
            is_number = place > 0 if numbers is None else title in numbers
            sheet.write_string(row, place, title, self._format(HEAD, RIGHT if is_number else {}))

    def _number(self, sheet: Any, row: int, place: int, value: int, **look: Any) -> None:
        sheet.write_number(row, place, value, self._format(RIGHT, num_format=COUNT, **look))

    def _amount(self, sheet: Any, row: int, place: int, amount: Decimal, currency: str | None, **look: Any) -> None:
        """Write an amount as a number with the decimals of its currency; as text where Excel would round it."""
        if _is_exact(amount):
            form = self._format(RIGHT, num_format=_money(amount, currency), **look)
            sheet.write_number(row, place, amount, form)
        else:
            sheet.write_string(row, place, shown_amount(amount, currency), self._format(RIGHT, **look))

    def _total(
        self,
        sheet: Any,
        row: int,
        place: int,
        formula: str,
        parts: Iterable[Decimal],
        currency: str | None,
        **look: Any,
    ) -> None:
        """Write a sum as a formula with its value, for programs that do not compute; without where Excel would round."""
        parts = list(parts)
        total = sum(parts, Decimal(0))
        if all(map(_is_exact, (*parts, total))):
            form = self._format(RIGHT, num_format=_money(total, currency), **look)
            sheet.write_formula(row, place, formula, form, total)
        else:
            self._amount(sheet, row, place, total, currency, **look)

    def _count(self, sheet: Any, row: int, place: int, formula: str, total: int, **look: Any) -> None:
        sheet.write_formula(row, place, formula, self._format(RIGHT, num_format=COUNT, **look), total)


HEAD = {
    "bold": True, "font_color": "#FFFFFF", "bg_color": NAVY, "text_wrap": True, "border": 1, "border_color": "#FFFFFF",
}  # fmt: skip
RIGHT = {"align": "right"}
DASH = "\N{EN DASH}"
COUNT = f"#,##0;-#,##0;{DASH}"


# The name of the cells with the accounts to choose: on the sheet of the chart, after its own columns.
CHOICES = "accounts_to_choose"
CHOICE = {
    "validate": "list",
    "source": f"={CHOICES}",
    "error_title": "Unknown account",
    "error_message": "Choose an active account of the chart from the list.",
    "input_message": "Choose the account that the category shall have.",
}


def _is_exact(amount: Decimal) -> bool:
    return len(amount.normalize().as_tuple().digits) <= EXACT_DIGITS


def _in_words(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Return flags as yes and no, codes as words, other values as they are."""
    if name in CODES:
        return pc.replace_substring(column, "_", " ")
    return pc.if_else(column, "yes", "no") if pa.types.is_boolean(column.type) else column


def _taller(table: pa.Table) -> dict[int, int]:
    """Return the number of lines of each row with a text of several lines."""
    found: dict[int, int] = {}
    for column in table.columns:
        if pa.types.is_large_string(column.type) or pa.types.is_string(column.type):
            counts = pc.fill_null(pc.count_substring(column, "\n"), 0).to_numpy()
            for row in counts.nonzero()[0].tolist():
                found[row + 1] = max(found.get(row + 1, 1), int(counts[row]) + 1)
    return found


def _lines_of(text: str, width: int) -> int:
    """Return the number of lines of a text in a column."""
    return sum(max(1, math.ceil(len(line) / (width * LETTERS))) for line in text.split("\n"))


def _details(close: Close) -> dict[str, pd.DataFrame]:
    """Return the sheets after "to do" that are one table each, in order."""
    sheets: dict[str, Callable[[Close], Any]] = {
        "entries ready": lambda close: close.plan.entries,
        "entries held back": lambda close: close.plan.not_ready,
        "findings": _findings,
        CHANGES: lambda close: close.changes,
        "export jobs": lambda close: close.jobs,
        "accounts created": lambda close: close.accounts,
        "categories": _categories,
        "employees": _employees,
        CHART: lambda close: close.chart,
    }
    if close.changes is None:
        del sheets[CHANGES]
    return {name: _readable(in_pandas(table(close))) for name, table in sheets.items()}


def _findings(close: Close) -> pd.DataFrame:
    """Return errors and warnings, without those that are the reason why an entry is held back: these are on their sheet."""
    of_accounts = in_pandas(close.after.findings)
    facts = [
        message.removesuffix(f": {to_do}")
        for message, to_do in zip(of_accounts["message"], of_accounts["to_do"], strict=True)
    ]
    of_accounts = of_accounts.assign(message=pd.Series(facts, of_accounts.index, dtype=STRINGS))
    entries = close.plan.findings
    held = set(zip(close.plan.not_ready["id"], close.plan.not_ready["reason"], strict=True))
    known = [key not in held for key in zip(entries["id"], entries["check"], strict=True)] if len(entries) else []
    shown = [of_accounts, entries[known]] if len(entries) else [of_accounts]
    found = pd.concat([one for one in shown if len(one)] or [of_accounts], ignore_index=True)
    found = found[found["severity"] != "info"]
    return found.drop(columns=[name for name in ("field", "erp_value", "service_value", "action") if name in found])


def _categories(close: Close) -> pd.DataFrame:
    """Return the categories with their account and the state of their coverage."""
    coverage = in_pandas(close.after.coverage)
    known = coverage[["name", "external_id", "account_name", "state", "archived", "category_id", "account_id"]]
    return known.rename(columns={"name": "category_name", "external_id": "account_code"}).sort_values("category_name")


def _employees(close: Close) -> pd.DataFrame:
    names = ["first_name", "last_name"]
    return close.employees[[*names, *(name for name in close.employees.columns if name not in names)]]


def _coverage(close: Close) -> dict[str, int]:
    counts = in_pandas(close.after.coverage)["state"].value_counts()
    return {str(state): int(count) for state, count in counts.items()}


def _readable(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table in reading order, without the columns that hold nothing."""
    kept = [str(name) for name in frame.columns if frame.empty or frame[name].notna().any()]
    ordered = [name for name in in_reading_order(kept) if not _is_identifier(name)]
    return frame[[*ordered, *(name for name in in_reading_order(kept) if _is_identifier(name))]]


def _is_identifier(name: str) -> bool:
    return (name in IDENTIFIERS or name.endswith(("_id", "_url"))) and name != "external_id"


def _last_close(close: Close) -> tuple[str | None, list[dict[str, Any]]]:
    """Return the last period before this one that sent something, with its entries as the journal keeps them."""
    if close.sent is None:
        return None, []
    sent = close.sent
    sent = sent[(sent["company_id"] == close.company) & (sent["state"] == "ACCEPTED") & (sent["period"] < close.period)]
    if sent.empty:
        return None, []
    period = str(sent["period"].max())
    return period, in_pandas_records(sent.loc[sent["period"] == period, ["amount", "currency"]])


def _counts(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    found: dict[str, int] = defaultdict(int)
    for row in rows:
        # The lines of a split entry are one entry.
        found[row.get("currency") or "no currency"] += (row.get("split_line") or 0) <= 1
    return dict(found)


def _money(amount: Decimal, currency: str | None) -> str:
    """Return the number format of an amount: the decimals of its currency, more where the amount has them."""
    own = -int(amount.normalize().as_tuple().exponent)
    decimals = max(MINOR_UNITS.get(currency or "", USUAL), own)
    positive = f"#,##0.{'0' * decimals}" if decimals else "#,##0"
    return positive if amount else f"{positive};-{positive};{DASH}"


def _pages(rows: int, most: int) -> int:
    return max(1, -(-rows // most))


def _sum(place: int, first: int, last: int) -> str:
    return f"=SUM({_letter(place)}{first + 1}:{_letter(place)}{last + 1})"


def _plus(row: int, places: Sequence[int]) -> str:
    return "=" + "+".join(f"{_letter(place)}{row + 1}" for place in places)


def _letter(place: int) -> str:
    from xlsxwriter.utility import xl_col_to_name

    return str(xl_col_to_name(place))


def _title(name: str) -> str:
    return (name.removesuffix("_name") if name in FIRST else name).replace("_", " ")


def _subtitle(close: Close) -> str:
    return f"{_where(close)}{BETWEEN}company {close.company}{BETWEEN}plan {close.plan.plan_id}"


def _where(close: Close) -> str:
    return "sandbox (not real books)" if close.environment == "sandbox" else close.environment
