"""`bktools compare`: the keys that are asked for, by name or with the largest difference first."""

import json

import pandas as pd


def test_only_the_keys_that_are_asked_for(typed, samples, tmp_path):
    november = pd.read_csv(samples[1], dtype=str)
    november["entry_id"] = [one and f"{one[:-1]}{15 - int(one[-1], 16):x}" for one in november["entry_id"]]
    november["date"] = november["date"].str.replace("-10-", "-11-").str.replace("-11-31", "-11-30")
    november.iloc[::2].to_csv(tmp_path / "november.csv", index=False)
    for month, file in (("2026-10", samples[1]), ("2026-11", "november.csv")):
        close = f'month-end --chart {samples[0]} --entries {file} --month {month} --apply --by "Ada Lovelace"'
        assert typed(f"{close} --first-export").exit_code == 0

    def compared(options):
        return json.loads(
            typed(f"compare 2026-10 2026-11 --threshold 100 --format json --quiet {options}").stdout
        )

    every = compared("--largest-first")
    wanted = [row["about"] for row in every if row["table"] == "exported_by_category"]
    assert len(wanted) > 5
    assert [row["about"] for row in compared("--by category --largest-first")] == wanted
    by_name = compared("--by category")
    assert sorted(row["about"] for row in by_name) == sorted(wanted)
    for _, group in pd.DataFrame(by_name).groupby("currency"):
        assert group["about"].is_monotonic_increasing
