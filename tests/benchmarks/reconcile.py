"""Benchmarks of reconciling: bktools, a merge in pandas, and what an analyst writes with it, in turn.

Run: python tests/benchmarks/run.py reconcile [--tiny].
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from rows import Row, in_turn, in_words, measured, ratios

from bktools.reconcile import reconcile_accounts

LIBRARIES = ("pandas", "polars", "pyarrow")
SMALL = "half of it runs 85 queries of Polars, a quarter builds them, a tenth reads the three frames"
PROFILE = "the merge alone finds nothing; what an analyst writes to find differences takes longer"
KEY = ["company_id", "external_id"]
FIELDS = ["name", "code", "tax_code_external_id", "archived"]
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
    used = used.assign(
        id="category", company_id=COMPANY, category_group_id="group", name="Category", archived=False
    )
    numbers = pd.Series(np.arange(categories).astype("str"), dtype="str")
    used["id"], used["name"], used["tax_code_id"] = used["id"] + numbers, used["name"] + numbers, "tax"
    frames = {"chart": chart, "accounts": known, "categories": used}
    return {
        noun: frame.astype({name: "str" for name in frame if name != "archived"})
        for noun, frame in frames.items()
    }


def by_pandas(chart: pd.DataFrame, accounts: pd.DataFrame, categories: pd.DataFrame) -> pd.DataFrame:
    """Return what an analyst would write: a merge, and a row for each field that differs."""
    merged = by_merge(chart, accounts, categories)
    both = merged[merged["_merge"] == "both"]
    found = []
    for field in FIELDS:
        left, right = both[field], both[f"{field}_service"]
        rows = both[(left != right) & ~(left.isna() & right.isna())]
        values = {"left": rows[field].astype("str"), "right": rows[f"{field}_service"].astype("str")}
        found.append(rows[["external_id"]].assign(field=field, **values))
    alone = merged.loc[merged["_merge"] != "both", ["external_id", "_merge"]]
    found.append(alone.rename(columns={"_merge": "field"}).astype({"field": "str"}))
    return pd.concat(found, ignore_index=True)


def by_merge(chart: pd.DataFrame, accounts: pd.DataFrame, categories: pd.DataFrame) -> pd.DataFrame:
    """Return the merge alone."""
    return chart.merge(accounts, on=KEY, how="outer", suffixes=("", "_service"), indicator=True)


def by_bktools(chart: pd.DataFrame, accounts: pd.DataFrame, categories: pd.DataFrame) -> pd.DataFrame:
    """Return the findings of all checks, with field and both values."""
    findings: pd.DataFrame = reconcile_accounts(chart, accounts, categories).findings
    return findings


def in_one_form(found: pd.DataFrame) -> list[tuple[str, str, str, str]]:
    """Return rows (external ID, field or side, left, right) of either way, so that they can be compared."""
    if "check" in found:
        sides = {"missing_in_service": "left_only", "missing_in_erp": "right_only"}
        differing = found["check"].str.endswith("_differs")
        found = found[differing | found["check"].isin(list(sides))].assign(
            field=found["field"].where(differing, found["check"].map(sides)), left=found["erp_value"]
        )
        found = found.rename(columns={"service_value": "right"})
    rows = (
        found[["external_id", "field", "left", "right"]].astype("object").fillna("").itertuples(index=False)
    )
    return sorted(tuple(row) for row in rows)


# Accounts on each side, and how many times faster than a pandas merge alone.
SIZES = {1_000_000: 4, 100_000: 2}


def measure_size(accounts: int, goal: float, rounds: int) -> Row:
    """Return the row of a size."""
    frames = world(accounts, 0)
    ours, theirs = in_one_form(by_bktools(**frames)), in_one_form(by_pandas(**frames))
    if ours != theirs:
        raise RuntimeError(f"bktools finds {len(ours)} differences and pandas {len(theirs)}, or other ones")
    ways = {
        "pandas merge": partial(measured, partial(by_merge, **frames)),
        "pandas": partial(measured, partial(by_pandas, **frames)),
        "bktools": partial(measured, partial(by_bktools, **frames)),
    }
    figures = in_turn(ways, rounds)
    wall, used = ratios(figures, "pandas merge")
    note = f"by processor time {used:.2f}; {in_words(figures)}; {PROFILE}"
    work = f"reconcile {accounts:,} by {accounts:,} accounts"
    return Row(work, "÷ pandas merge, times faster", wall, goal, at_most=False, note=note)


def measure(*, tiny: bool, peers: bool) -> list[Row]:
    """Return the rows of the table."""
    sizes, few, rounds = ({1_000: 2}, (100, 30), 1) if tiny else (SIZES, (1_000, 300), 5)
    rows = [measure_size(accounts, goal, rounds) for accounts, goal in sizes.items()]
    small = partial(measured, partial(by_bktools, **world(*few)))
    small()
    wall, used = (seconds * 1000 for seconds in in_turn({"": small}, rounds * 3)[""])
    work = f"reconcile {few[0]:,} accounts, {few[1]:,} categories"
    return [*rows, Row(work, "ms", wall, 25, at_most=True, note=f"by processor time {used:.2f}; {SMALL}")]
