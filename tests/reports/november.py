"""A full November: repeated and changed entries, corrections, a split, a batch in doubt, booked entries."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pandas as pd

import bktools
from bktools.close.close import Close

AGAIN, CHANGED, BOOKED = 20, 3, 3


@dataclass(frozen=True)
class November:
    """November planned, applied and applied again, in the folder `november`; a dry run stands beside it.

    Parameters
    ----------
    planned, first, again, after : Close
        A dry run; applied; applied a second time; a dry run after that.
    before : Close
        October, which exported the entries that come again.
    """

    before: Close
    planned: Close
    first: Close
    again: Close
    after: Close


def entries_of_november(october: pd.DataFrame, exported: set[str]) -> pd.DataFrame:
    """Return the file of November, made from October's."""
    sent = october[october["id"].isin(exported)]
    again = sent.head(AGAIN).copy()
    # Three were changed since: an amount, a supplier, a date.
    again.iloc[0, again.columns.get_loc("amount")] += 100.0
    again.iloc[1, again.columns.get_loc("supplier")] = "Another supplier"
    again.iloc[2, again.columns.get_loc("date")] += pd.Timedelta(days=1)
    new = sent.iloc[AGAIN : AGAIN + 40].copy()
    new["id"] = [f"00000000-0000-4000-8000-{number:012}" for number in range(len(new))]
    new["date"] += pd.DateOffset(months=1)
    # Two corrections of October's entries, and a credit note.
    for place in (0, 1, 2):
        new.iloc[place, new.columns.get_loc("amount")] = -abs(sent.iloc[AGAIN + 3 * place]["amount"])
    new.iloc[3:6, new.columns.get_loc("approved")] = False
    later = new.iloc[6:8].copy()
    later["id"] = [f"00000000-0000-4000-8000-{number:012}" for number in (900, 901)]
    later["date"] += pd.DateOffset(months=1)
    split = new.iloc[8:9].copy()
    whole = split["amount"].iloc[0]
    parts = pd.concat([split.assign(amount=whole - 1), split.assign(amount=1.0)])
    parts["amount"] = parts["amount"].astype(new["amount"].dtype)
    parts = parts.assign(split_line=[1, 2], split_lines=2)
    new = pd.concat([new.drop(new.index[8]), new.iloc[9:10]])
    whole_file = pd.concat([again, new, later, parts], ignore_index=True)
    whole_file[["split_line", "split_lines"]] = (
        whole_file[["split_line", "split_lines"]].fillna(0).astype("int64")
    )
    return whole_file.assign(line=range(2, len(whole_file) + 2))


def ledger_of(october: pd.DataFrame, entries: pd.DataFrame) -> pd.DataFrame:
    """Return a ledger with a voucher for each entry that October exported, and for some of November's."""
    codes = october.dropna(subset="account_code").set_index("category_id")["account_code"]
    codes = codes[~codes.index.duplicated()]
    booked = entries[entries["id"].str.startswith("00000000-")].iloc[20 : 20 + BOOKED]
    rows = pd.concat([october, booked], ignore_index=True)
    rows["account_code"] = rows["category_id"].map(codes)
    rows = rows.dropna(subset="account_code").reset_index(drop=True)
    sides = []
    for account, sign in ((None, 1), ("160000", -1)):
        side = rows[["date", "currency", "account_code"]].copy()
        side["account_code"] = side["account_code"] if account is None else account
        side["amount"] = [sign * Decimal(str(amount)) for amount in rows["amount"]]
        sides.append(side.assign(text=rows["supplier"], voucher_id=[f"V{row}" for row in rows.index]))
    return pd.concat(sides, ignore_index=True)


def closes_of_november(samples: tuple[Path, Path], root: Path) -> November:
    """Close October, then November: planned, applied with a lost answer to job two, applied again."""
    lost = "drop:operation=create_export_job,skip=2,times=1"
    with bktools.Sandbox(root / "sandbox", job_seconds=0.05, faults=[lost]) as service:
        chart = bktools.read_chart_of_accounts(samples[0], company=service.settings.company)
        october = bktools.read_entries(samples[1])
        options = {"by": "Ada", "service": service, "wait": 5, "profile": "machine"}
        before = bktools.close_month(chart, october, month="2026-10", folder=False, apply=True, **options)
        sent = {*before.entries.loc[before.entries["fate"] == "exported", "id"]}
        entries = entries_of_november(october, sent)
        entries.attrs["bktools"] = october.attrs["bktools"]
        options["ledger"] = ledger_of(before.entries[before.entries["fate"] == "exported"], entries)
        options |= {"month": "2026-11", "folder": root / "november", "max_entries": 12}
        planned, first, again, after = (
            bktools.close_month(chart, entries, apply=apply, **options)
            for apply in (False, True, True, False)
        )
    return November(before, planned, first, again, after)
