"""Benchmarks of reconciling: bktools, and a merge in pandas, which finds nothing, in turn."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from rows import Row, in_turn, measured, shown

from bktools.reconcile import reconcile_accounts

LIBRARIES = ("pandas", "polars", "pyarrow")
KEY = ["company_id", "external_id"]
COMPANY = "123e4567-e89b-42d3-a456-426614174000"


def world(accounts: int, categories: int) -> dict[str, pd.DataFrame]:
    """Return a chart and accounts in another order: 1 % differ in name, 1.5 % are on one side alone."""
    ids = np.char.mod("%08d", np.arange(accounts) + 1000).astype(object)
    chart = pd.DataFrame(
        {"company_id": COMPANY, "external_id": ids, "code": ids, "name": ids, "archived": False}
    )
    chart["name"] = "Account " + chart["name"]
    chart["tax_code_external_id"] = "V19"
    known = chart.sample(frac=1, random_state=1).reset_index(drop=True).assign(state="CREATED")
    known["id"] = "id-" + known["external_id"]
    known.loc[::100, "name"] = "renamed"
    chart, known = chart.iloc[: int(accounts * 0.995)], known.iloc[: int(accounts * 0.99)]
    places = np.arange(categories) * 3 % max(len(known), 1)
    used = pd.DataFrame({"account_id": known["id"].to_numpy()[places]})
    numbers = pd.Series(np.arange(categories).astype("str"), dtype="str")
    used = used.assign(id="category" + numbers, name="Category" + numbers, tax_code_id="tax")
    used = used.assign(company_id=COMPANY, category_group_id="group", archived=False)
    frames = {"chart": chart, "accounts": known, "categories": used}
    return {
        noun: frame.astype({name: "str" for name in frame if name != "archived"})
        for noun, frame in frames.items()
    }


def by_merge(chart: pd.DataFrame, accounts: pd.DataFrame, categories: pd.DataFrame) -> pd.DataFrame:
    """Return the merge alone."""
    return chart.merge(accounts, on=KEY, how="outer", suffixes=("", "_service"), indicator=True)


def by_bktools(chart: pd.DataFrame, accounts: pd.DataFrame, categories: pd.DataFrame) -> pd.DataFrame:
    """Return the findings of all checks, with field and both values."""
    findings: pd.DataFrame = reconcile_accounts(chart, accounts, categories).findings
    return findings


def check(frames: dict[str, pd.DataFrame]) -> None:
    """Raise unless bktools and the merge find the same names that differ, and accounts on one side alone."""
    merged = by_merge(**frames)
    is_renamed = (merged["_merge"] == "both") & (merged["name"] != merged["name_service"])
    theirs = {"name_differs": set(merged.loc[is_renamed, "external_id"])}
    for code, side in (("missing_in_service", "left_only"), ("missing_in_erp", "right_only")):
        theirs[code] = set(merged.loc[merged["_merge"] == side, "external_id"])
    rows = by_bktools(**frames).groupby("check")["external_id"].agg(set)
    if any(rows[code] != found for code, found in theirs.items()):
        raise RuntimeError("bktools and the merge find other differences")


def measure(*, tiny: bool) -> list[Row]:
    """Return the rows of the table."""
    # Accounts on each side, and how many times faster than a pandas merge alone.
    sizes = {1_000: 2} if tiny else {1_000_000: 4, 100_000: 2}
    few, rounds = ((100, 30), 1) if tiny else ((1_000, 300), 5)
    rows = []
    for accounts, goal in sizes.items():
        frames = world(accounts, 0)
        check(frames)
        ways = {name: partial(measured, partial(way, **frames)) for name, way in WAYS.items()}
        work = f"reconcile {accounts:,} by {accounts:,} accounts"
        figures = shown(in_turn(ways, rounds), "pandas merge")
        rows.append(Row(work, "÷ pandas merge, times faster", *figures, goal, at_most=False))
    small = partial(measured, partial(by_bktools, **world(*few)))
    small()
    wall, used = (seconds * 1000 for seconds in in_turn({"": small}, rounds * 3)[""])
    work = f"reconcile {few[0]:,} accounts, {few[1]:,} categories"
    return [*rows, Row(work, "ms", wall, f"by processor time {used:.2f}", 25, at_most=True)]


WAYS = {"pandas merge": by_merge, "bktools": by_bktools}
