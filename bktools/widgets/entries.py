"""`pick_entries`: a grid of accounting entries to sort, filter, search and select from."""

from __future__ import annotations

import html
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.errors import ConfigurationError, InputError
from bktools.export.selection import as_ids, as_mask, refuse_missing
from bktools.export.tables import days_of
from bktools.frames.schema import to_arrow

# More rows make the page slow; a filter in Python is quicker.
MAX_ROWS = 20_000
LONGEST_TEXT = 200

# Columns of the grid; hidden ones are still found by the search.
SHOWN = ("date", "amount", "currency", "category", "description", "status")
HIDDEN = ("category_id", "company_id", "employee_id", "id")


# The filters in the headings must not widen their columns.
STYLE = """<style>
.bktools-picker thead input { width: 100%; min-width: 4.5em; box-sizing: border-box; }
.bktools-picker { max-width: 100%; overflow-x: auto; }
.bktools-totals { font-weight: 600; }
</style>"""


class EntryPicker:
    """A grid of entries and its selection.

    Attributes
    ----------
    entries : DataFrame
        The entries of the grid.

    Notes
    -----
    Show it by naming it at the end of a cell. Selections by mouse and by `select` are equal.
    """

    def __init__(self, entries: pd.DataFrame, shown: pd.DataFrame, selection: Any = None) -> None:
        grid = _grid_class()
        import ipywidgets

        self.entries = entries
        self._totals = ipywidgets.HTML()
        self._grid = grid(
            shown,
            select={"style": "multi+shift"},
            selected_rows=_places(entries, selection),
            maxBytes=0,
            maxColumns=0,
            showIndex=False,
            allow_html=False,
            column_filters="header",
            classes="display compact",
            style="width:100%;table-layout:auto",
            columnDefs=_column_looks(list(shown.columns)),
            lengthMenu=[10, 25, 100],
        )
        self._grid.observe(self._tell_totals, names="selected_rows")
        self._box = ipywidgets.VBox([ipywidgets.HTML(STYLE), self._grid, self._totals])
        self._box.add_class("bktools-picker")
        self._tell_totals()

    @property
    def selection(self) -> pd.DataFrame:
        """The rows of `entries` that are selected, in their order: `compose_export_jobs(entries, selection=...)`."""
        return self.entries.iloc[sorted(self._grid.selected_rows)]

    @property
    def totals(self) -> pd.DataFrame:
        """One row a currency of the selection: currency, entries (count), amount (exact)."""
        return _totals(self.selection)

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
            A filtered frame of entries, a mask or IDs, as `compose_export_jobs` takes them; by default nothing.

        Raises
        ------
        InputError
            When it names unknown entries.
        """
        self._grid.selected_rows = _places(self.entries, selection)

    def _tell_totals(self, _change: Any = None) -> None:
        self._totals.value = (
            f'<div class="bktools-totals" role="status">{html.escape(_said(self.totals, len(self.entries)))}</div>'
        )

    def __repr__(self) -> str:
        return f"EntryPicker: {_said(self.totals, len(self.entries))}"

    def _repr_mimebundle_(self, **options: Any) -> Any:
        return self._box._repr_mimebundle_(**options)


def pick_entries(
    entries: pd.DataFrame, *, categories: pd.DataFrame | None = None, selection: Any = None
) -> EntryPicker:
    """Show accounting entries as a grid in JupyterLab, to sort, filter, search and select rows.

    Parameters
    ----------
    entries : DataFrame
        As `read_entries` returns it, 20,000 rows at most; it is not changed.
    categories : DataFrame, optional
        As `load_categories` returns it, to show the names of categories.
    selection : DataFrame, Series or list, optional
        The first selection: a filtered frame of entries, a boolean mask with one value per row, or entry IDs.

    Returns
    -------
    EntryPicker
        Name it at the end of a cell to show it. `.selection` is the frame of the rows selected, for
        `compose_export_jobs(entries, selection=picker.selection)`; `.totals` count and exact amount by currency;
        `.code` the same selection as a line of Python; `.select(ids)` selects without a mouse.

    Raises
    ------
    InputError
        When there are more entries than a page can show, no column `id`, dates that are text, or `selection` names
        entries not there.
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
    >>> len(picker.selection) == (entries["amount"] > 2_400).sum()
    True
    >>> plan = bktools.compose_export_jobs(entries, selection=picker.selection)
    """
    if "id" not in entries.columns:
        raise InputError("the entries have no column id: read them with read_entries")
    if len(entries) > MAX_ROWS:
        raise InputError(
            f"{len(entries):,} entries are more than a page can show ({MAX_ROWS:,}): filter them first, for example "
            'pick_entries(entries[entries["amount"] > 1000])'
        )
    return EntryPicker(entries, _shown(entries, categories), selection)


def _shown(entries: pd.DataFrame, categories: pd.DataFrame | None) -> pd.DataFrame:
    """Return the columns of the grid: dates as ISO text, amounts as numbers, texts shortened."""
    frame = entries.reset_index(drop=True)
    if categories is not None and "category_id" in frame.columns:
        frame["category"] = frame["category_id"].map(categories.drop_duplicates("id").set_index("id")["name"])
    shown = frame[[name for name in (*SHOWN, *HIDDEN) if name in frame.columns]].copy()
    for name in shown.columns:
        if name == "date":
            days = days_of(to_arrow(frame[[name]], "the entries"))
            shown[name] = pd.Series(pc.cast(days, pa.string()).to_pylist(), dtype="str")
        elif name == "amount":
            # Numbers for sorting in the page; totals are computed from the exact amounts.
            shown[name] = shown[name].astype("float64")
        else:
            shown[name] = shown[name].astype("str").str.slice(0, LONGEST_TEXT)
    return shown


def _column_looks(names: list[str]) -> list[dict[str, Any]]:
    looks: list[dict[str, Any]] = [
        {"targets": [place for place, name in enumerate(names) if name in HIDDEN], "visible": False}
    ]
    if "date" in names:
        looks.append({"targets": [names.index("date")], "className": "dt-left"})
    if "amount" in names:
        looks.append({"targets": [names.index("amount")], "className": "dt-right"})
    return looks


def _places(entries: pd.DataFrame, selection: Any) -> list[int]:
    """Return the positions of the selected rows."""
    if selection is None:
        return []
    mask = as_mask(selection, entries)
    if mask is None:
        wanted = as_ids(selection)
        ids = pc.ascii_lower(to_arrow(entries[["id"]], "the entries").column("id"))
        refuse_missing(wanted, ids)
        mask = pc.is_in(ids, value_set=wanted).to_numpy()
    return [int(place) for place in mask.nonzero()[0]]


def _totals(entries: pd.DataFrame) -> pd.DataFrame:
    if not {"amount", "currency"} <= set(entries.columns):
        return pd.DataFrame({"currency": [None], "entries": [len(entries)], "amount": [None]})
    sums = entries.groupby("currency", dropna=False)["amount"].agg(["size", "sum"]).reset_index()
    return sums.rename(columns={"size": "entries", "sum": "amount"})


def _said(totals: pd.DataFrame, of: int) -> str:
    count = int(totals["entries"].sum())
    if not count:
        return f"none of {of:,} entries selected: click rows to select them"
    sums = [
        f"{'without currency' if pd.isna(row['currency']) else row['currency']} {row['amount']:,} ({row['entries']:,})"
        for row in totals.to_dict("records")
        if not pd.isna(row["amount"])
    ]
    return f"{count:,} of {of:,} entries selected" + (": " if sums else "") + " · ".join(sums)


def _grid_class() -> Any:
    try:
        from itables.widget import ITable
    except ImportError as error:
        raise ConfigurationError(
            "the grid needs the extra notebook: pip install -e '.[notebook]' in the checkout (without it, give "
            f"compose_export_jobs a mask or IDs as selection): {error}"
        ) from error
    return ITable
