"""`pick_entries`: a grid of accounting entries to sort, filter, search and select from."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools import views
from bktools.caller import install_command
from bktools.consoles import in_notebook, readable
from bktools.errors import ConfigurationError, InputError
from bktools.export import ExportPlan
from bktools.export.selection import selected_rows
from bktools.frames.names import FIRST, in_reading_order, with_names
from bktools.frames.schema import TEXT, to_pandas
from bktools.frames.sums import Sum, by_currency, numbers_of_entries, sums_of
from bktools.frames.tables import amounts_of, days_of, in_memory, text_of
from bktools.widgets.grid import MAX_ROWS, cell, display_grid, grid_class, grid_of, instead_of
from bktools.wording import Sentence, words
from bktools.wording.numbers import number, shown

# Rows of the static table.
KEPT_ROWS = 200

# Columns of the grid beside those that a person reads first; hidden ones are still found by the search.
STATE = "state"
# A narrow page shows these without scrolling.
BEFORE_STATE = ("date", "supplier", "amount", "currency")
HIDDEN = ("category_id", "company_id", "employee_id", "id")
LABELS = {"category_name": "category", "employee_name": "employee", "account_code": "account"}
KINDS = {"date": "date", "amount": "number"}
# Columns that name an entry for a screen reader.
NAMING = ("date", "supplier", "description", "amount", "currency")


class EntryPicker:
    """A grid of entries and its selection.

    Attributes
    ----------
    entries : DataFrame
        The entries of the grid.
    widget : AnyWidget
        The grid, for other notebooks and dashboards.

    Notes
    -----
    Show it by naming it at the end of a cell. Selections by mouse, by keyboard and by `select` are equal. A
    notebook that is saved or exported keeps a static table of what was selected.
    """

    def __init__(self, entries: pd.DataFrame, texts: dict[str, list[str]], selection: Any = None) -> None:
        self.entries = entries
        self._numbers = numbers_of_entries(in_memory(entries, "the entries")).to_pandas()
        self._texts = texts
        self._displays: list[Any] = []
        columns = [
            {
                "label": _label(name),
                "kind": KINDS.get(name, "text"),
                "hidden": name in HIDDEN,
                "naming": name in NAMING,
            }
            for name in texts
        ]
        rows = list(zip(*texts.values(), strict=True))
        self.widget = grid_of(
            columns, rows, picking=True, entries=self._numbers.to_list(), selected=_places(entries, selection)
        )
        self.widget.observe(self._tell, names="selected")
        self._tell()

    @property
    def selection(self) -> pd.DataFrame:
        """The selected rows of `entries`, in their order: `compose_export_jobs(entries, selection=...)`.

        Of a split entry they are all its lines, whichever of them was selected; a line that repeats the ID of
        another entry is not.
        """
        numbers = self._numbers
        return self.entries[numbers.isin(numbers.iloc[self.widget.selected]).to_numpy()]

    @property
    def totals(self) -> pd.DataFrame:
        """One row per currency of the selection: currency, entries (count), amount (exact)."""
        return to_pandas(by_currency((), self._sums))

    @property
    def _sums(self) -> list[Sum]:
        selection = self.selection
        used = [name for name in ("id", "split_line", "amount", "currency") if name in selection.columns]
        return sums_of(in_memory(selection[used], "the entries"))

    @property
    def code(self) -> str:
        """A line of Python that makes the same selection."""
        ids = ", ".join(f'"{value}"' for value in dict.fromkeys(self.selection["id"]))
        return f"selection = [{ids}]"

    def select(self, selection: Any = None) -> None:
        """Replace the selection.

        Parameters
        ----------
        selection : DataFrame, Series or list, optional
            A filtered frame of entries, a mask or IDs, as for `compose_export_jobs`; by default nothing.

        Raises
        ------
        InputError
            When it names unknown entries.
        """
        self.widget.selected = _places(self.entries, selection)

    def _tell(self, _: Any = None) -> None:
        summary = self._summary
        is_empty = not self.widget.selected
        self.widget.summary = words()("picker.advice", selection=summary) if is_empty else summary
        for display in self._displays:
            display.update(self._static(), raw=True)

    @property
    def _summary(self) -> str:
        """The selection in one line."""
        texts, count = words(), self._numbers.nunique()
        if not (sums := self._sums):
            return texts("picker.none", all=count)
        amounts = [
            f"{currency} {texts.amount(money.amount, currency)} ({number(money.entries, texts.language)})"
            for currency, money in sums[0].money.items()
            if money.amount is not None
        ]
        selected = texts("picker.some", count=sums[0].entries, all=count)
        return ": ".join(filter(None, [selected, " · ".join(amounts)]))

    def _static(self) -> dict[str, str]:
        """Return what is shown where there is no grid: a table of the selection, and a line of text."""
        names = [name for name in self._texts if name not in HIDDEN]
        places = sorted(self.widget.selected)
        # A reason is enough here; its message is in the plan.
        rows = ([self._texts[name][place].split("\n")[0] for name in names] for place in places[:KEPT_ROWS])
        looks = [{"amount": views.TO_THE_RIGHT, "date": views.ON_ONE_LINE}.get(name, "") for name in names]
        table = views.table(
            [*map(_label, names)], rows, total=len(places), shown=KEPT_ROWS, where=".selection", looks=looks
        )
        return instead_of(self.widget, views.heading(self._summary) + table, repr(self))

    def __repr__(self) -> str:
        return readable(f"EntryPicker: {self._summary}")

    def _display_(self) -> Any:
        """Return what marimo shows; its cells run again after a click on `mo.ui.anywidget(picker.widget)`."""
        return self.widget

    def _ipython_display_(self) -> None:
        handle = display_grid(self.widget, self._static())
        if in_notebook():
            self._displays.append(handle)


def pick_entries(
    entries: pd.DataFrame | ExportPlan,
    *,
    categories: Any = None,
    accounts: Any = None,
    employees: Any = None,
    selection: Any = None,
) -> EntryPicker:
    """Show accounting entries as a grid in a notebook, to sort, filter, search and select rows.

    A column's filter takes any part of a text, and for numbers and dates also `>100`, `<=2026-10-15`,
    `100..200` or `2026-10-01..2026-10-15`. With the keyboard: arrow keys move between rows, Space selects,
    Shift and arrow select a range.

    Parameters
    ----------
    entries : DataFrame or ExportPlan
        As `read_entries` returns it, 20,000 rows at most; it is not changed. A plan of all entries, as
        `compose_export_jobs` returns it, shows for each entry whether it is ready or why not, and all names.
    categories, accounts, employees : DataFrame, optional
        As `load_categories`, `load_accounts` and `load_employees` return them, to show names for IDs.
    selection : DataFrame, Series or list, optional
        The first selection: a filtered frame of entries, a boolean mask with one value per row, or entry IDs.

    Returns
    -------
    EntryPicker
        Name it at the end of a cell to show it. `.selection` is the frame of the rows selected, for
        `compose_export_jobs(entries, selection=picker.selection)`; `.totals` count and exact amount by
        currency; `.code` the same selection as a line of Python; `.select(ids)` selects without a mouse.

    Raises
    ------
    InputError
        When there are more entries than a page can show, no column `id`, dates that are text, or `selection`
        names entries not there.
    ConfigurationError
        When the extra `notebook` is not installed.

    Notes
    -----
    The entries of an export job: interface, section 4.2.

    Examples
    --------
    >>> import bktools
    >>> entries = bktools.read_entries("data/accounting_entries.csv")
    >>> picker = bktools.pick_entries(entries, selection=entries["amount"] > 2_400)
    >>> len(picker.selection) == len(entries[entries["amount"] > 2_400])
    True
    >>> plan = bktools.compose_export_jobs(entries, selection=picker.selection)
    """
    plan = entries if isinstance(entries, ExportPlan) else None
    if isinstance(entries, ExportPlan):
        entries = _entries_of(entries)
    if "id" not in entries.columns:
        raise InputError(Sentence("error.entries_without_id"))
    if len(entries) > MAX_ROWS:
        raise InputError(Sentence("error.too_many_to_show", count=len(entries), most=MAX_ROWS))
    names = {"categories": categories, "accounts": accounts, "employees": employees}
    try:
        grid_class()
    except ImportError as error:
        facts = {"command": install_command("notebook"), "why": str(error)}
        raise ConfigurationError(Sentence("error.no_grid", **facts)) from error
    return EntryPicker(entries, _shown(entries, names, plan), selection)


def _label(name: str) -> str:
    return LABELS.get(name, name.replace("_", " "))


def _entries_of(plan: ExportPlan) -> pd.DataFrame:
    """Return all entries of a plan, in the order of their file."""
    entries = pd.concat([plan.entries, plan.not_ready], ignore_index=True)
    entries = entries.sort_values("line", kind="stable") if "line" in entries.columns else entries
    return entries.reset_index(drop=True)


def _shown(entries: pd.DataFrame, names: dict[str, Any], plan: ExportPlan | None) -> dict[str, list[str]]:
    """Return the grid's columns as text: ISO dates, and amounts with the decimals of their currency."""
    used = [name for name in entries.columns if name in {*FIRST, *HIDDEN, "status", "reason", "message"}]
    table = with_names(in_memory(entries[used].reset_index(drop=True), "the entries"), **names)
    columns = {
        name: table.column(name).to_pylist() for name in table.column_names if name in {*FIRST, *HIDDEN}
    }
    if "date" in columns:
        columns["date"] = pc.cast(days_of(table), TEXT).to_pylist()
    if "amount" in columns:
        amounts_of(table)  # refused here, as compose_export_jobs would refuse them
        currencies = columns.get("currency", [None] * len(table))
        columns["amount"] = list(map(shown, columns["amount"], currencies))
    if "account_name" in columns:
        accounts = zip(columns.pop("account_code"), columns.pop("account_name"), strict=True)
        columns["account_code"] = [" ".join(filter(None, account)) for account in accounts]
    state = table.column("status").to_pylist() if "status" in table.column_names else None
    state = _states(table, plan) if plan is not None else state
    ordered = [name for name in in_reading_order(columns) if name not in HIDDEN]
    if state:
        columns[STATE] = state
        ordered = [*(name for name in BEFORE_STATE if name in ordered), STATE, *ordered]
    ordered += [name for name in HIDDEN if name in columns]
    return {name: [cell(value) for value in columns[name]] for name in dict.fromkeys(ordered)}


def _states(table: pa.Table, plan: ExportPlan) -> list[str]:
    """Return ready with its warnings, or the reason and its message, of each entry."""
    with_warnings = plan.findings[plan.findings["severity"] == "warning"]
    warnings: dict[str, list[str]] = defaultdict(list)
    for row in with_warnings.to_dict("records"):
        warnings[row["id"]].append(f"{words().name('entry', row['check'])}: {row['message']}")
    columns = (text_of(table, name).to_pylist() for name in ("id", "reason", "message"))
    return [
        f"{words().name('entry', reason)}\n{message}"
        if reason
        else "\n".join(filter(None, [words()("picker.ready"), "; ".join(warnings[id_])]))
        for id_, reason, message in zip(*columns, strict=True)
    ]


def _places(entries: pd.DataFrame, selection: Any) -> list[int]:
    """Return the positions of the selected rows."""
    if selection is None:
        return []
    mask = selected_rows(selection, entries, in_memory(entries[["id"]], "the entries"))
    return [int(place) for place in mask.nonzero()[0]]
