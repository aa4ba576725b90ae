"""Reconciling a chart against as many accounts: bktools and a pandas merge in turn, medians and their ratio.

Run: python tests/benchmarks/reconcile.py --accounts 1000000 --categories 0 --rounds 3
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np
import pandas as pd

from bktools.reconcile import reconcile_accounts

KEY = ["company_id", "external_id"]
FIELDS = ["name", "code", "tax_code_external_id", "archived"]
COMPANY = "123e4567-e89b-42d3-a456-426614174000"


def world(accounts: int, categories: int) -> dict[str, pd.DataFrame]:
    """Return a chart and accounts in another order, of which 1 % differ in name and 1.5 % are on one side alone."""
    ids = np.char.mod("%08d", np.arange(accounts) + 1000).astype(object)
    chart = pd.DataFrame({"company_id": COMPANY, "external_id": ids, "code": ids, "name": ids, "archived": False})
    chart["name"] = "Account " + chart["name"]
    chart["tax_code_external_id"] = "V19"
    known = chart.sample(frac=1, random_state=1).reset_index(drop=True).assign(state="CREATED")
    known["id"] = "id-" + known["external_id"]
    known.loc[::100, "name"] = "renamed"
    chart, known = chart.iloc[: int(accounts * 0.995)], known.iloc[: int(accounts * 0.99)]
    places = np.arange(categories) * 3 % max(len(known), 1)
    used = pd.DataFrame({"account_id": known["id"].to_numpy()[places]})
    used = used.assign(id="category", company_id=COMPANY, category_group_id="group", name="Category", archived=False)
    numbers = pd.Series(np.arange(categories).astype("str"), dtype="str")
    used["id"], used["name"], used["tax_code_id"] = used["id"] + numbers, used["name"] + numbers, "tax"
    frames = {"chart": chart, "accounts": known, "categories": used}
    return {noun: frame.astype({name: "str" for name in frame if name != "archived"}) for noun, frame in frames.items()}


def by_pandas(chart: pd.DataFrame, accounts: pd.DataFrame, categories: pd.DataFrame) -> pd.DataFrame:
    """Return what an analyst would write: a merge, and a row for each field that differs, with both values."""
    merged = chart.merge(accounts, on=KEY, how="outer", suffixes=("", "_service"), indicator=True)
    both = merged[merged["_merge"] == "both"]
    found = []
    for field in FIELDS:
        left, right = both[field], both[f"{field}_service"]
        rows = both[(left != right) & ~(left.isna() & right.isna())]
        found.append(
            pd.DataFrame({"external_id": rows["external_id"], "field": field, "left": rows[field].astype("str")})
        )
        found[-1]["right"] = rows[f"{field}_service"].astype("str")
    sides = {side: merged.loc[merged["_merge"] == side, ["external_id"]] for side in ("left_only", "right_only")}
    found += [rows.assign(field=side) for side, rows in sides.items()]
    return pd.concat(found, ignore_index=True)


def by_bktools(chart: pd.DataFrame, accounts: pd.DataFrame, categories: pd.DataFrame) -> pd.DataFrame:
    """Return the findings of all checks, with field and both values."""
    findings: pd.DataFrame = reconcile_accounts(chart, accounts, categories).findings
    return findings


def measure(accounts: int, categories: int, rounds: int) -> dict[str, float]:
    """Return median seconds of each way, run in turn, and how many times faster bktools is."""
    frames = world(accounts, categories)
    ways = {"pandas": by_pandas, "bktools": by_bktools}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            start = time.perf_counter()
            way(**frames)
            seconds[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(taken) for name, taken in seconds.items()}
    return medians | {"ratio": medians["pandas"] / medians["bktools"]}


def main() -> None:
    """Measure as the command line says and print one line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--accounts", type=int, default=1_000_000)
    parser.add_argument("--categories", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    measured = measure(asked.accounts, asked.categories, asked.rounds)
    print(f"{asked.accounts:,} accounts, {asked.categories:,} categories: pandas {measured['pandas']:.3f} s, ", end="")
    print(f"bktools {measured['bktools']:.3f} s, {measured['ratio']:.1f} times faster")


if __name__ == "__main__":
    main()
