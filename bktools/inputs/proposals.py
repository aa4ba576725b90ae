"""Shows in a refusal how a file is read with the proposed columns: rows, sums, dates, and options.

Each proposal is tried before it is shown, so that who follows it is not refused again without knowing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import partial, wraps
from typing import Any, NamedTuple, ParamSpec

import pandas as pd
import pyarrow as pa

from bktools.errors import ArgumentError, InputError
from bktools.frames.money import floats
from bktools.inputs.cells import quoted
from bktools.inputs.refusals import Settings, settle
from bktools.wording.numbers import counted

# Stands for the currency in a printed command, because only the caller knows it. A try of the command uses
# the code for no currency.
UNKNOWN_CURRENCY = "CODE"
_NO_CURRENCY = "XXX"
_MOST_TRIES, _MOST_SHEETS = 8, 2
_FIRST, _LAST, _ODD = 3, 2, 3
_SHOWN = (
    *(
        "account_code",
        "code",
        "name",
        "account_name",
        "date",
        "amount",
        "currency",
        "supplier",
        "description",
        "text",
    ),
    *("category_id", "employee_id"),
)
_SHOWN_CHARACTERS = 40
_AMOUNTS = ("amount", "foreign_amount")

P = ParamSpec("P")


def proposing(rows: str, **exact: str) -> Callable[[Callable[P, pd.DataFrame]], Callable[P, pd.DataFrame]]:
    """Make a reader's refusal that options settle show the file as it would be read with them.

    `rows` is what its rows are, such as accounts; `exact` are the options that show amounts as in the file.
    """

    def decorate(read: Callable[P, pd.DataFrame]) -> Callable[P, pd.DataFrame]:
        @wraps(read)
        def read_or_propose(*path: P.args, **options: P.kwargs) -> pd.DataFrame:
            try:
                return read(*path, **options)
            except InputError as refused:
                _propose(partial(read, *path), options, exact, refused, rows)
                raise

        return read_or_propose

    return decorate


def _propose(
    read: Callable[..., pd.DataFrame],
    given: Mapping[str, Any],
    exact: Mapping[str, str],
    refused: InputError,
    rows: str,
) -> None:
    """Make what was tried the way out of a refusal, with the rows as they would be read."""
    options = {**given, **exact}
    tries = [_tried(read, options, refused, refused.settings)]
    # Another sheet of the workbook may be the one that is meant.
    others = () if _is_whole(tries[0].frame) else refused.sheets[:_MOST_SHEETS]
    tries += [_tried(read, options, refused, (("sheet", sheet),)) for sheet in others]
    best = max(tries, key=lambda one: (_is_whole(one.frame), -1 if one.frame is None else len(one.frame)))
    if best.frame is not None:
        # What was tried kept each amount exactly; the caller's own form may not.
        needed = {} if _are_kept(best.frame, given) else exact
        settle(refused, (*best.settings, *needed.items()))
        refused.proposal = tuple(_shown(best.frame, rows))
    elif best.settings:
        # A person should know of the problem that remains before correcting this one.
        settle(refused, () if best.is_circle else best.settings)
        refused.proposal = (f"Then: {best.error.why}",)


def _are_kept(frame: pd.DataFrame, given: Mapping[str, Any]) -> bool:
    """Whether the amounts, decimals here, are kept in the caller's own form, which is floats by default."""
    columns = [pa.chunked_array([pa.array(frame[name])]) for name in frame if name in _AMOUNTS]
    return given.get("money", "float") != "float" or all(floats(column) is not None for column in columns)


class _Try(NamedTuple):
    """What comes of a refusal's options: the frame, or the problem that remains."""

    settings: Settings
    frame: pd.DataFrame | None
    error: InputError
    # Whether the options of the last problem take back those of an earlier one.
    is_circle: bool = False


def _tried(
    read: Callable[..., pd.DataFrame], arguments: Mapping[str, Any], refusal: InputError, proposed: Settings
) -> _Try:
    settings: Settings = ()
    error = refusal
    for _ in range(_MOST_TRIES):
        if not proposed or any(
            "HEADING" in dict(value).values() for name, value in proposed if name == "columns"
        ):
            break
        if settings and _with(arguments, settings) in (_with(arguments, (*settings, *proposed)), arguments):
            return _Try(settings, None, error, is_circle=True)
        settings = (*settings, *proposed)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                return _Try(settings, read(**_with(arguments, settings)), error)
        except ArgumentError:
            # An option for these rows, such as fields to fill down, may suit no other sheet.
            break
        except InputError as again:
            error, proposed = again, again.settings
    return _Try(settings, None, error)


def _is_whole(frame: pd.DataFrame | None) -> bool:
    return frame is not None and not _lacking(frame).any()


def _lacking(frame: pd.DataFrame) -> pd.Series:
    """Return the rows with an empty cell where others have a code, name, account, date or amount."""
    fields = [name for name in ("code", "name", "account_code", "date", "amount") if name in frame]
    return (frame[fields].isna() | (frame[fields] == "")).any(axis="columns")


def _with(arguments: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    merged = dict(arguments)
    for name, value in settings:
        merged[name] = {**(merged.get(name) or {}), **value} if name == "columns" else value
    if merged.get("currency") == UNKNOWN_CURRENCY:
        merged["currency"] = _NO_CURRENCY
    return merged


def _shown(frame: pd.DataFrame, rows: str) -> list[str]:
    about = frame.attrs["bktools"]
    sheet = f" of the sheet {about['sheet']!r}" if about["sheet"] else ""
    columns = ", ".join(f"{field} = {heading!r}" for field, heading in about["columns"].items())
    places = range(len(frame))
    shown = sorted({*places[:_FIRST], *_odd(frame), *places[-_LAST:]})
    lines = [f"So {rows}{sheet} would be read from {counted(len(frame), 'row')} ({columns}):"]
    if "currency" in frame and (frame["currency"] == _NO_CURRENCY).all():
        frame = frame.drop(columns="currency")
    for _, row in frame.iloc[shown].iterrows():
        lines.append(
            f"  line {row['line']}: "
            f"{', '.join(f'{name} {_cell(row[name])}' for name in _SHOWN if name in row)}"
        )
    lines += [f"  {note}" for note in about["skipped"]]
    return [*lines, *_sums(frame)]


def _cell(value: Any) -> str:
    if pd.isna(value):
        return "(empty)"
    if isinstance(value, pd.Timestamp):
        return f"{value:%Y-%m-%d}"
    return quoted(value[:_SHOWN_CHARACTERS]) if isinstance(value, str) else str(value)


def _odd(frame: pd.DataFrame) -> list[int]:
    """Return the rows for a person to look at: without a value, codes without digits, the largest amount."""
    is_odd = _lacking(frame)
    for name in ("code", "account_code"):
        if name in frame:
            is_odd |= ~frame[name].fillna("0").str.contains(r"\d")
    odd = [*is_odd.to_numpy().nonzero()[0][: _ODD - 1]]
    if "amount" in frame and frame["amount"].notna().any():
        odd.append(int(frame["amount"].abs().to_numpy(dtype="float64", na_value=0).argmax()))
    return [int(place) for place in odd]


def _sums(frame: pd.DataFrame) -> list[str]:
    lines = []
    if "amount" in frame:
        amounts = [Decimal(str(amount)) for amount in frame["amount"].dropna()]
        positive = sum(amount for amount in amounts if amount > 0)
        negative = sum(amount for amount in amounts if amount < 0)
        lines.append(f"  positive {positive}, negative {negative}")
    if "date" in frame and frame["date"].notna().any():
        lines.append(f"  from {frame['date'].min():%Y-%m-%d} to {frame['date'].max():%Y-%m-%d}")
    return lines
