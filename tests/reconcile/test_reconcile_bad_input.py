"""Text that spreadsheets, terminals and queries trip over goes through to the letter."""

import pytest
import reconcile_world as world


def test_every_text_comes_back_to_the_letter():
    """Quotes, line breaks, emoji, right-to-left text and formulas stay; messages are one line."""
    result = world.reconciled(world.nasty())
    assert all(len(message.splitlines()) == 1 for message in result.findings["message"])
    assert set(result.actions.loc[result.actions["action"] == "create", "name"]) == set(world.NASTY[1::2])


@pytest.mark.parametrize("empty", ["chart", "accounts", "categories"])
def test_one_empty_frame(empty):
    """Without a chart nothing is compared and nothing archived; without accounts all is created."""
    result = world.reconciled(world.plain() | {empty: []})
    expected = {
        "chart": ({"company_without_chart"}, {"none"}, 2),
        "accounts": ({"missing_in_service", "category_on_unknown_account"}, {"create"}, 0),
        "categories": (set(), {"none"}, 0),
    }
    covered = int((result.coverage["state"] == "covered").sum())
    found = (set(result.findings["check"]), set(result.actions["action"]), covered)
    assert found == expected[empty]
