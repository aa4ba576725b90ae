"""The round trip: answers on the sheet "to do" are read back, each line checked, nothing lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from filling import Formula, Rows, column, filled, write
from office import needs_office, saved

import bktools
from bktools.close.actions import CATEGORY
from bktools.close.close import Close
from bktools.errors import InputError

OTHER = "123e4567-e89b-42d3-a456-426614174000"


@pytest.fixture(scope="module")
def book(folder: Path) -> Path:
    return folder / "month-end.xlsx"


@pytest.fixture(scope="module")
def category(close: Close) -> pd.Series:
    """A category without an account that entries wait for."""
    coverage = close.after.coverage
    waiting = close.entries.loc[close.entries["reason"] == "no_account", "category_id"]
    return coverage[coverage["category_id"].isin(waiting)].iloc[0]


@pytest.fixture(scope="module")
def account(close: Close) -> pd.Series:
    """An active account that the service has."""
    return close.accounts[
        close.accounts["state"].isin(["CREATED", "MATCHED"]) & ~close.accounts["archived"].astype(bool)
    ].iloc[0]


def _checked(close: Close, path: Path, categories: pd.DataFrame | None = None) -> pd.DataFrame:
    categories = close.categories if categories is None else categories
    return bktools.check_fixes(bktools.read_fixes(path), categories, close.accounts)


def test_nothing_filled_in(book: Path):
    """A workbook as it was written says nothing."""
    assert len(bktools.read_fixes(book)) == 0


def test_an_account_and_a_note(
    book: Path, close: Close, category: pd.Series, account: pd.Series, tmp_path: Path
):
    """A chosen account is checked and listed for whoever does it; a note is kept beside its line."""
    label, about = f"{account['code']} · {account['name']}", category["name"]

    def change(rows: Rows) -> None:
        write("new account", label, about)(rows)
        write("note", "ask Anna", about)(rows)
        rows[-1][column(rows, "note")] = "not now"

    found = _checked(close, filled(book, tmp_path / "filled.xlsx", change))
    assert list(found["outcome"]) == ["open", "note"]
    first = found.iloc[0]
    assert (first["about"], first["new_account"], first["note"]) == (about, label, "ask Anna")
    assert first["message"] == f"Set the account of the category to {label} in the service"
    assert (first["category_id"], first["account_id"]) == (category["category_id"], account["id"])
    assert found["note"].iloc[1] == "not now"


# What the categories loaded later say of a fix: their change, the outcome, and what is said.
LATER: dict[str, tuple[Callable[..., pd.DataFrame], str, str]] = {
    "open": (lambda now, *_: now, "open", "Set the account of the category to {account} in the service"),
    "done": (lambda now, row, own, _: _with_account(now, row, own), "done", ""),
    "other account": (
        lambda now, row, _, other: _with_account(now, row, other),
        "done_differently",
        "The category has {other} now",
    ),
    "archived": (lambda now, *_: now.assign(archived=True), "done_differently", "The category is archived"),
    "gone": (lambda now, row, *_: now[now["id"] != row], "not_valid", "The category was not found in"),
    "other company": (lambda now, *_: now.assign(company_id=OTHER), "not_valid", "The category belongs to"),
}


def _with_account(categories: pd.DataFrame, category: str, account: str) -> pd.DataFrame:
    accounts = categories["account_id"].mask(categories["id"] == category, account)
    return categories.assign(account_id=accounts)


@pytest.mark.parametrize("between", [" · ", " ", " - ", ": "])
def test_a_code_with_its_name_is_an_account(
    between: str, book: Path, close: Close, category: pd.Series, account: pd.Series, tmp_path: Path
):
    """A code and its name are an account, whatever stands between them."""
    written = f"{account['code']}{between}{account['name']}"
    path = filled(book, tmp_path / "filled.xlsx", write("new account", written, category["name"]))
    [row] = _checked(close, path).to_dict("records")
    assert (row["outcome"], row["account_id"]) == ("open", account["id"])


@pytest.mark.parametrize("case", LATER)
def test_what_became_of_it(
    case: str, book: Path, close: Close, category: pd.Series, account: pd.Series, tmp_path: Path
):
    """A code alone names an account; the categories of today say what became of the fix."""
    path = filled(book, tmp_path / "filled.xlsx", write("new account", account["code"], category["name"]))
    other = close.accounts[close.accounts["id"].notna() & (close.accounts["id"] != account["id"])].iloc[0]
    change, outcome, said = LATER[case]
    now = change(close.categories, category["category_id"], account["id"], other["id"])
    [found] = _checked(close, path, now).to_dict("records")
    labels = {
        name: f"{one['code']} · {one['name']}" for name, one in (("account", account), ("other", other))
    }
    assert (found["outcome"], found["account_id"]) == (outcome, account["id"])
    assert (found["message"] or "").startswith(said.format(**labels))


def test_a_category_on_an_unknown_account_may_get_another_one(
    book: Path, close: Close, account: pd.Series, tmp_path: Path
):
    """The list of accounts may be imported instead; both are answers to the step."""
    (step,) = (action for action in close.actions if action.key == "step.unknown_account")
    about = next(thing for thing in step.things if thing.kind == CATEGORY).name["name"]
    path = filled(book, tmp_path / "filled.xlsx", write("new account", account["code"], about))
    [outcome] = _checked(close, path).to_dict("records")
    assert (outcome["outcome"], outcome["about"], outcome["account_id"]) == ("open", about, account["id"])


def test_an_account_where_none_is_asked(book: Path, close: Close, tmp_path: Path):
    """An account on a line that asks for none is refused; other lines that a person moves or removes stay."""

    def change(rows: Rows) -> None:
        line = next(row for row in rows if row[column(rows, "code")] == "not_approved")
        line[column(rows, "new account")] = "0400"
        del rows[1]

    found = _checked(close, filled(book, tmp_path / "filled.xlsx", change))
    assert list(found["outcome"]) == ["not_valid"]
    assert found["message"][0].startswith("An account is filled in where none is asked for")


@pytest.mark.parametrize("heading", ["new account", "note"])
def test_a_formula_without_a_saved_value_is_not_an_empty_cell(
    heading: str, book: Path, category: pd.Series, tmp_path: Path
):
    """What a person filled in is never read as nothing: the cell is named, and how to save its value."""
    change = write(heading, Formula('=A1&""'), category["name"])
    with pytest.raises(InputError, match=rf"under '{heading}' is a formula whose value"):
        bktools.read_fixes(filled(book, tmp_path / "filled.xlsx", change))


def test_accounts_that_cannot_be(book: Path, close: Close, category: pd.Series, tmp_path: Path):
    """An unknown, an archived and an ambiguous account are refused, each by its name."""
    about = category["name"]
    is_archived = close.accounts["archived"].astype(bool)
    archived, first = close.accounts[is_archived].iloc[0], close.accounts[~is_archived].iloc[0]
    unknown = filled(book, tmp_path / "unknown.xlsx", write("new account", "9999 · Nowhere", about))
    assert _checked(close, unknown)["message"].iloc[0] == (
        "The account '9999 · Nowhere' is not among the accounts bktools knows"
        f": write the code of one, as in '{first['code']} · {first['name']}'"
    )
    old = filled(book, tmp_path / "old.xlsx", write("new account", archived["code"], about))
    assert _checked(close, old)["message"].iloc[0] == (
        f"The account '{archived['code']} · {archived['name']}' is archived: choose an active one"
    )
    twins = pd.concat(
        [close.accounts, close.accounts.iloc[[0]].assign(external_id="twin", id=OTHER, name="Twin")]
    )
    code = close.accounts["code"].iloc[0]
    path = filled(book, tmp_path / "twins.xlsx", write("new account", code, about))
    checked = bktools.check_fixes(bktools.read_fixes(path), close.categories, twins)
    assert checked["message"].iloc[0] == f"2 accounts have the code '{code}': write the external ID of one"


@needs_office
def test_a_workbook_saved_by_another_program(book: Path, close: Close, category: pd.Series, tmp_path: Path):
    """LibreOffice saves the workbook in its own format: every line is still as it was written."""
    path = filled(book, tmp_path / "filled.xlsx", write("note", "seen", category["name"]))
    assert list(_checked(close, saved(path, "ods", tmp_path))["outcome"]) == ["note"]
