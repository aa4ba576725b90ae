"""`plot_spend` and `plot_money`: spend by anything, and what is exported or held back, by currency."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd
import polars as pl
import pyarrow as pa

from bktools.close.entries import OF_REASON, entries_of_plan
from bktools.errors import ArgumentError, InputError
from bktools.export import ExportPlan
from bktools.findings.check import BEFORE, EXPORTED, HELD, IN_BOOKS, IN_DOUBT, READY
from bktools.frames.names import month_and_company
from bktools.frames.sums import shares_of, total, with_one_reason
from bktools.frames.tables import in_memory, to_arrow
from bktools.ledger import LedgerMatch
from bktools.ledger.ledger_match import ARRIVED_CODES
from bktools.reports import bars
from bktools.reports.bars import DONE, INK, NEUTRAL, STRIPES, WAITING, Chart, Look
from bktools.spending import spend
from bktools.wording import Sentence, Words, words
from bktools.wording.numbers import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

c = pl.col

# Outcomes of entries in the ledger.
ARRIVED, NOT_COMPARED, MISSING = IN_LEDGER = ("arrived", "not_compared", "missing_or_different")
# Outcomes of entries, in the order of the bars.
STATES: dict[str, Look] = {
    EXPORTED: (DONE, ""),
    IN_BOOKS: (NEUTRAL, ""),
    READY: (DONE, STRIPES),
    IN_DOUBT: (WAITING, STRIPES),
    HELD: (WAITING, ""),
    ARRIVED: (DONE, ""),
    NOT_COMPARED: (WAITING, STRIPES),
    MISSING: (WAITING, ""),
}
# States whose entries have a bar for each reason.
WITH_REASONS = {HELD, MISSING}
# The state by the status of an entry in a match.
OF_STATUSES = dict.fromkeys(ARRIVED_CODES, ARRIVED) | dict.fromkeys(("not_comparable", "open"), NOT_COMPARED)

# Parts of spend have no meaning that other pictures share: the largest is the darkest.
TINTS: tuple[Look, ...] = (("#2B3138", ""), (NEUTRAL, ""), ("#8E98A2", ""), ("#C3CAD1", ""))
OTHERS = "others"
SMALLEST_SHARE = Decimal("0.005")
# The look of bars without parts.
_PLAIN: dict[str, Look] = {"": (NEUTRAL, "")}
# Columns of money of `spend`, and of `versus`.
SUMS, DIFFERENCES = ("currency", "entries", "amount"), ("currency", "this", "that", "difference", "percent")


def plot_spend(
    spend: pd.DataFrame,
    *,
    title: str | None = None,
    currency: str | None = None,
    figure: Figure | None = None,
) -> dict[str, Axes]:
    """Draw what was spent: the company's own currency large, the others small beneath it.

    Parameters
    ----------
    spend : DataFrame
        As `spend` returns it: a bar per group, the largest first. With the key "month" a bar per month, in
        parts by the other keys: the four largest, and the others. Or as `versus` returns it: a bar per
        difference, the largest first.
    title : str, optional
        Month and company for the heading, such as "October 2026, Muster GmbH". Default: those of the entries.
    currency : str, optional
        The company's own currency, such as "EUR". Default: the currency with most entries.
    figure : matplotlib.figure.Figure, optional
        Where to draw, such as a figure of your own; its size is set. Default: a new figure.

    Returns
    -------
    dict of matplotlib.axes.Axes
        The chart of each currency; `["EUR"].figure.savefig(path)` saves all of them. Other groups and
        currencies than the largest are told as text, with their exact sums.

    Raises
    ------
    ArgumentError
        When the first argument is not a frame.
    InputError
        When the frame is not one that `spend` or `versus` returned.

    Notes
    -----
    Uses no interface of the service.

    Examples
    --------
    >>> import bktools
    >>> entries = bktools.read_entries("data/accounting_entries.csv")
    >>> monthly = bktools.spend(entries, ["month", "approved"])
    >>> charts = bktools.plot_spend(monthly, title="October 2026, Muster GmbH")
    >>> sorted(charts)
    ['CHF', 'EUR', 'JPY', 'SEK', 'USD']
    """
    frame = bars.checked(spend, "spend", pd.DataFrame, "spend").reset_index(drop=True)
    needed = DIFFERENCES if "difference" in frame.columns else SUMS
    missing = [name for name in needed if name not in frame.columns]
    if missing:
        raise InputError(Sentence("error.frame_of_spend", name=missing[0]))
    keys = list(frame.columns[: list(frame.columns).index("currency")])
    by = (
        " and ".join(key.removesuffix("_name").removesuffix("_id").replace("_", " ") for key in keys)
        or "currency"
    )
    title = frame.attrs.get("bktools", {}).get("title", "") if title is None else title
    if needed is DIFFERENCES:
        frame = frame.assign(bar=_labels(frame, keys))
        return _drawn(
            _of_differences(frame, currency),
            bars.titled(title, f"differences by {by}"),
            _PLAIN,
            figure,
            words(),
        )
    frame = frame.dropna(subset="amount")
    if "month" in keys:
        parts = _labels(frame, [key for key in keys if key != "month"], nothing="")
        looks = _tinted(frame.assign(part=parts), _own_first(frame["currency"], currency)[:1])
        frame = frame.assign(bar=frame["month"], part=[part if part in looks else OTHERS for part in parts])
    else:
        looks = _PLAIN
        frame = _largest_first(frame.assign(bar=_labels(frame, keys), part=""))
    charts = _charts(frame, looks, words(), first=currency, by_month="month" in keys)
    return _drawn(charts, bars.titled(title, f"spend by {by}"), looks, figure, words())


def plot_money(
    entries: ExportPlan | LedgerMatch | pd.DataFrame | pa.Table,
    *,
    title: str | None = None,
    currency: str | None = None,
    figure: Figure | None = None,
    language: str | None = None,
) -> dict[str, Axes]:
    """Draw the value of entries, exported and held back: the company's currency large, the others small.

    Parameters
    ----------
    entries : ExportPlan, LedgerMatch, DataFrame or pyarrow.Table
        As `compose_export_jobs` returns it, from entries with amounts and currencies; as `match_ledger`
        returns it, to draw what arrived; or entries with the columns `fate`, `reason`, `amount` and
        `currency`, such as those of a close, where entries that an earlier month exported are left out.
    title : str, optional
        Month and company for the heading, such as "October 2026, Muster GmbH". Default: those of the entries.
    currency : str, optional
        The company's own currency, such as "EUR". Default: the currency with most entries.
    figure : matplotlib.figure.Figure, optional
        Where to draw, such as a figure of your own; its size is set. Default: a new figure.
    language : str, optional
        Of its words: "en" or "de"; by default the configured one.

    Returns
    -------
    dict of matplotlib.axes.Axes
        The chart of each currency: a bar for what is exported, ready or arrived, and one for each reason why
        the rest is not, most money first. Other reasons and currencies than the largest are told as text,
        with their exact sums.

    Raises
    ------
    ArgumentError
        When the entries are none or have no amounts.

    Notes
    -----
    Export jobs: interface, section 4.2.

    Examples
    --------
    >>> import bktools
    >>> plan = bktools.compose_export_jobs(bktools.read_entries("data/accounting_entries.csv"))
    >>> charts = bktools.plot_money(plan, title="October 2026, Muster GmbH", currency="EUR")
    >>> [label.get_text() for label in charts["EUR"].get_yticklabels()]
    ['ready', 'not approved', 'no category']
    """
    texts = bars.words_of(language)
    rows = _with_states(entries, texts)
    title = month_and_company(rows, texts.language) if title is None else title
    there = set(rows.column("state").to_pylist())
    looks = {name: look for state, look in STATES.items() if (name := _name_of(texts, state)) in there}
    states = list(looks)
    about = _in_words(texts, states)
    sums = spend(rows, ["reason", "state"]).dropna(subset="amount")
    sums = sums.assign(bar=sums["reason"], part=sums["state"])
    codes = list(dict.fromkeys(sums["currency"]))
    ranks = sums.assign(currency=sums["currency"].map(codes.index), state=sums["state"].map(states.index))
    ranks = ranks.assign(amount=[-abs(amount) for amount in sums["amount"]])
    sums = sums.loc[ranks.sort_values(["currency", "state", "amount"], kind="stable").index]
    charts = _charts(sums, looks, texts, first=currency, by_month=False)
    return _drawn(charts, bars.titled(title, about), looks, figure, texts)


def _name_of(texts: Words, state: str) -> str:
    return texts(f"report.picture.{state}") if state in IN_LEDGER else texts.name("fate", state)


def _in_words(texts: Words, states: Sequence[str]) -> str:
    """Return what a picture is about: its states in a sentence."""
    *first, last = states or [texts("report.picture.nothing")]
    return texts("report.picture.and", first=", ".join(first), last=last) if first else last


def _with_states(entries: ExportPlan | LedgerMatch | pd.DataFrame | pa.Table, texts: Words) -> pa.Table:
    """Return the entries with `state`, and a `reason` in words: the state, for those not held back."""
    section = "entry"
    if isinstance(entries, LedgerMatch):
        section = "status"
        rows = pl.DataFrame(in_memory(entries.entries, "the entries"))
        rows = rows.with_columns(state=c.status.replace_strict(OF_STATUSES, default=MISSING), reason="status")
    elif isinstance(entries, ExportPlan):
        # A plan does not know which month's close exported an entry before.
        rows = pl.DataFrame(with_one_reason(to_arrow(entries_of_plan(entries, {})), OF_REASON))
        rows = rows.with_columns(state=c.fate.replace(BEFORE, EXPORTED))
    else:
        is_frame = isinstance(entries, pd.DataFrame | pa.Table)
        rows = pl.DataFrame(in_memory(entries, "the entries")) if is_frame else pl.DataFrame()
        if not {"fate", "reason"} <= {*rows.columns}:
            raise ArgumentError("entries", Sentence("rule.plan_or_match"))
        rows = rows.with_columns(state="fate")
    if not {"amount", "currency"} <= {*rows.columns}:
        raise ArgumentError("entries", Sentence("rule.amounts_and_currencies"))
    names = {state: _name_of(texts, state) for state in STATES}
    # Entries in another state are left out.
    rows = rows.filter(c.state.is_in([*names]))
    has_reason, state = c.state.is_in(WITH_REASONS), c.state.replace_strict(names, return_dtype=pl.String)
    reasons = {code: texts.name(section, code) for code in rows.filter(has_reason)["reason"].unique()}
    reason = pl.when(has_reason).then(c.reason.replace(reasons)).otherwise(state)
    rows = rows.with_columns(state=state, reason=reason)
    there = ("id", "company_id", "split_line", "date", "amount", "currency", "state", "reason")
    return to_arrow(rows.select(name for name in there if name in rows.columns))


def _charts(
    sums: pd.DataFrame,
    looks: Mapping[str, Look],
    texts: Words,
    *,
    first: str | None,
    by_month: bool,
) -> dict[str, Chart]:
    """Return a chart of each currency, that of `first` first, from sums with the columns `bar` and `part`."""
    sums = sums.assign(amount=in_memory(sums[["amount", "currency"]], "the sums")["amount"].to_pylist())
    charts: dict[str, Chart] = {}
    for code in _own_first(sums["currency"], first):
        rows, money, is_large = (
            sums[sums["currency"] == code],
            partial(texts.amount, currency=code),
            not charts,
        )
        names = _months(rows["bar"]) if by_month else list(dict.fromkeys(rows["bar"]))
        table = _table(rows, names, looks)
        entries = rows.groupby("bar")["entries"].sum()
        amounts = [total(row) for row in table.to_numpy()]
        figures = [money(amount) for amount in amounts]
        if is_large:
            counts = [texts.counted(int(entries.get(name, 0)), "entry") for name in table.index]
            beside = zip(figures, _shares(amounts, texts), counts, strict=True)
            figures = [" · ".join(filter(None, line)) for line in beside]
        named = {_name_of(texts, state) for state in STATES}
        parts: list[str] = list(table.columns) if is_large and set(table.columns) <= named else []
        sums_of_parts = [f"{money(total(table[part]))} {part}" for part in parts] or [
            _whole(amounts, money, texts) if is_large else money(total(amounts))
        ]
        heading = f"{code} {', '.join(sums_of_parts)}"
        charts[code] = bars.chart(heading, table, figures, money, texts, is_large=is_large, latest=by_month)
    return charts


def _whole(amounts: Sequence[Decimal], money: Callable[[Decimal], str], texts: Words) -> str:
    """Return the sum of amounts; where signs differ, also what the shares beside the bars are of."""
    whole = total(
        amount for amount, share in zip(amounts, shares_of(amounts), strict=True) if share is not None
    )
    if len(amounts) == 1 or whole == total(amounts) or not whole:
        return money(total(amounts))
    return texts("report.picture.shares_of", total=money(total(amounts)), whole=money(whole))


def _of_differences(frame: pd.DataFrame, first: str | None) -> dict[str, Chart]:
    """Return a chart of the differences of each currency, that of `first` before the others."""
    exact = in_memory(frame[["difference", "currency"]], "the differences")["difference"].to_pylist()
    frame = frame.assign(difference=exact)
    charts: dict[str, Chart] = {}
    for code in _own_first(frame["currency"], first):
        rows, money = frame[frame["currency"] == code], partial(words().amount, currency=code)
        table = pd.DataFrame({"": rows["difference"].to_list()}, rows["bar"], dtype="object")
        percents = ["" if pd.isna(share) else f" · {share:+.1f}%" for share in rows["percent"]]
        figures = [f"{money(amount)}{share}" for amount, share in zip(table[""], percents, strict=True)]
        charts[code] = bars.chart(
            f"{code} {money(total(table['']))}", table, figures, money, words(), is_large=not charts
        )
    return charts


def _own_first(codes: pd.Series, currency: str | None) -> list[str]:
    """Return the currencies: first the one asked for, where entries have it, then the others in order."""
    return sorted(dict.fromkeys(codes), key=lambda code: code != (currency or "").upper())


def _shares(amounts: Sequence[Decimal], texts: Words) -> list[str]:
    """Return the shares of amounts as text; a single amount has none."""
    if len(amounts) == 1:
        return [""]
    return [
        ""
        if share is None
        else percent(round(share * 100), texts.language, signed=False)
        if share >= SMALLEST_SHARE
        else texts("report.picture.under_one_percent")
        for share in shares_of(amounts)
    ]


def _table(sums: pd.DataFrame, names: list[str], looks: Iterable[str]) -> pd.DataFrame:
    """Return the exact amounts: a row per bar, a column per part."""
    cells: dict[tuple[str, str], list[Decimal]] = defaultdict(list)
    for name, part, amount in zip(sums["bar"], sums["part"], sums["amount"], strict=True):
        cells[name, part].append(amount)
    parts = [look for look in looks if look in set(sums["part"])]
    return pd.DataFrame(
        [[total(cells[name, part]) for part in parts] for name in names], names, parts, "object"
    )


def _largest_first(sums: pd.DataFrame) -> pd.DataFrame:
    """Return sums by size within their currency, those of the sign of its total first."""
    sides = sums.groupby("currency")["amount"].transform("sum").lt(0).map({True: 1, False: -1})
    ranks = sums["currency"].map(list(dict.fromkeys(sums["currency"])).index)
    sizes = pd.DataFrame({"currency": ranks, "size": sums["amount"].astype("float64") * sides})
    return sums.loc[sizes.sort_values(["currency", "size"], kind="stable").index]


def _months(months: pd.Series) -> list[str]:
    """Return months in their order, with those between them, where they are few; last what is no month."""
    names = sorted(set(months))
    dated = [name for name in names if name[:1].isdigit()]
    if dated and len(span := pd.period_range(dated[0], dated[-1], freq="M")) <= bars.LARGE_BARS:
        return [*map(str, span), *(name for name in names if name not in dated)]
    return names


def _labels(rows: pd.DataFrame, keys: list[str], nothing: str = "all") -> list[str]:
    """Return the name of each group; two groups of one name are told apart by their IDs."""
    names = [" · ".join(filter(None, values)) for values in zip(*(rows[key] for key in keys), strict=True)]
    labels = pd.Series(names or [nothing] * len(rows), rows.index, dtype="str")
    if not rows.columns[-1].endswith("_id") or rows.columns[-1] in keys:
        return labels.to_list()
    # One group has a row per month where the month is another key.
    identifiers = rows[rows.columns[-1]].astype("str").fillna("")
    twice = identifiers.groupby([rows["currency"], labels]).transform("nunique") > 1
    return [
        f"{label} ({identifier[:8]})" if is_twice and identifier else label
        for label, identifier, is_twice in zip(labels, identifiers, twice, strict=True)
    ]


def _tinted(frame: pd.DataFrame, own: Sequence[str]) -> dict[str, Look]:
    """Return a look for each of the largest parts in the company's own currency, and for the rest."""
    amounts = frame["amount"].astype("float64").abs().where(frame["currency"].isin(own), 0)
    sizes = amounts.groupby(frame["part"], sort=False).sum().sort_values(ascending=False, kind="stable")
    largest = list(sizes.index[: len(TINTS)])
    return dict(zip(largest, TINTS, strict=False)) | (
        {OTHERS: (INK, STRIPES)} if len(sizes) > len(largest) else {}
    )


def _drawn(
    charts: dict[str, Chart], title: str, looks: dict[str, Look], figure: Figure | None, texts: Words
) -> dict[str, Axes]:
    """Draw the charts of the first currencies; the sums of others are a line beneath them."""
    if not charts:
        charts = {"": Chart(texts("report.picture.no_amounts"), pd.DataFrame(), [])}
    drawn = list(charts)[: 1 + bars.SMALL_CHARTS]
    others = [charts[code].heading for code in charts if code not in drawn]
    note = texts("report.picture.not_drawn", charts=", ".join(others)) if others else ""
    axes = bars.draw([charts[code] for code in drawn], title=title, looks=looks, figure=figure, note=note)
    return dict(zip(drawn, axes, strict=True))
