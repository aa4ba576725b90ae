"""What is right for each file of `tests/worlds/inputs`: read at once, or after one question."""

from __future__ import annotations

import tomllib
import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import bktools
from bktools import caller
from bktools.errors import QuestionError
from bktools.inputs.options import OF_KIND, checked, plus

READERS = ("read_chart_of_accounts", "read_entries", "read_general_ledger")
WORLDS = Path(__file__).parent.parent / "worlds" / "inputs"
PROMISES = tomllib.loads((WORLDS / "promises.toml").read_text(encoding="utf-8"))
# Notes that most files have.
USUAL = {"columns_as_text", "columns_not_read", "no_entry_ids", "unbalanced", "unbalanced_sum"}
USUAL |= {"mostly_negative", "day_of_several"}


def read(world: dict[str, Any], options: dict[str, Any]) -> pd.DataFrame:
    path, kind = WORLDS / world["file"], world["kind"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "chart":
            return bktools.read_chart_of_accounts(path, **options)
        if kind == "ledger":
            return bktools.read_general_ledger(path, **options, money="decimal")
        return bktools.read_entries(path, **options, money="decimal")


@pytest.mark.parametrize("world", PROMISES.values(), ids=PROMISES)
def test_a_file_is_read_or_asked_about_once(world):
    """The promise of each file: what is asked, and what is read, at once or with the answer."""
    options = world.get("options", {})
    if "asked" in world:
        with pytest.raises(QuestionError) as caught:
            read(world, options)
        assert sorted({problem.code for problem in caught.value.problems}) == world["asked"]
        doubtful = [problem.code for problem in caught.value.problems if problem.is_doubtful]
        assert doubtful == world.get("doubtful", doubtful)
        choices = str([problem.choices for problem in caught.value.problems])
        assert not any(heading in choices for heading in world.get("unoffered", ()))
        if "answer" not in world:
            assert not world.get("broken") or not all(one.has_way_out for one in caught.value.problems)
            return
        options = plus(checked(options), world["answer"])
    frame = read(world, options)
    if world["kind"] == "chart":
        assert frame[["code", "name"]].fillna("").to_numpy().tolist() == world["accounts"]
    else:
        assert frame["amount"].tolist() == [Decimal(amount) for amount in world["amounts"]]
        days = frame["date"].dt.strftime("%Y-%m-%d").tolist() if "date" in frame else []
        assert days == world.get("dates", [])
        currencies = frame.get("currency", pd.Series(dtype=str)).dropna()
        assert sorted(currencies.unique()) == world.get("currencies", [])
        assert frame.get("account_code", pd.Series(dtype=str)).tolist() == world.get("account_codes", [])
        if "texts" in world:
            assert frame["description"].tolist() == world["texts"]
        if "vouchers" in world:
            assert frame.get("voucher_id", pd.Series(dtype=str)).tolist() == world["vouchers"]
    notes = {note["code"] for note in frame.attrs["bktools"]["note_facts"]} - USUAL
    assert notes == {*world.get("notes", ())}


@pytest.mark.parametrize(
    "world", [one for one in PROMISES.values() if "answer" in one], ids=lambda one: one["file"]
)
def test_each_printed_command_reads_the_file(world):
    """Each printed call reads the file when it is pasted; values that only a person knows are put in."""
    with pytest.raises(QuestionError) as caught:
        read(world, world.get("options", {}))
    problems, readers = caught.value.problems, {name: getattr(bktools, name) for name in READERS}
    calls = [line.strip() for line in str(caught.value).splitlines() if line.startswith("  read_")]
    assert calls
    if any(problem.is_doubtful for problem in problems):
        return
    currency = repr(world["answer"].get("currency"))
    for call in calls:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert len(eval(call.replace("'CODE'", currency).replace("'YYYY'", "2026"), readers))
    if "commands" in world:
        flags = {name: option.flag for name, option in OF_KIND[world["kind"]].items()}
        with caller.command(flags), pytest.raises(QuestionError) as caught:
            read(world, world.get("options", {}))
        shown = [line for line in str(caught.value).splitlines() if line.startswith("  bktools ")]
        assert [line.partition(f"{world['file']} ")[2].split(" --save-mapping")[0] for line in shown] == (
            world["commands"]
        )


@pytest.mark.parametrize(
    "world", [one for one in PROMISES.values() if "answer" in one], ids=lambda one: one["file"]
)
def test_an_answer_is_one_of_the_choices(world):
    """Each answer consists of choices of the question, and of values that only a person knows."""
    with pytest.raises(QuestionError) as caught:
        read(world, world.get("options", {}))
    offered = {}
    for problem in caught.value.problems:
        assert problem.choices or problem.option
        for choice in problem.choices:
            wanted = {name: world["answer"].get(name) for name in choice}
            if all(
                wanted[name] == value
                or (isinstance(value, dict) and value.items() <= (wanted[name] or {}).items())
                for name, value in choice.items()
            ):
                offered = plus(offered, choice)
        if problem.option and problem.option in world["answer"]:
            offered = plus(offered, {problem.option: world["answer"][problem.option]})
    assert offered == world["answer"]
