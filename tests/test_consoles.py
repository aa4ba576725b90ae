"""Tables of a terminal: columns below each other, as wide as there is room, and nothing is cut."""

from __future__ import annotations

import pytest

from bktools.consoles import laid_out, listed
from bktools.visible import width

ID = "c01e13ec-a01a-4e84-a1e0-d06c7ae97acb"
HEADINGS = ["supplier", "amount", "description", "id"]
ROW = ["Gothaer Versicherung AG in München", "1,234,567.89", "会議費 " * 12, ID]


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_every_letter_of_a_column_is_shown(columns):
    """No line is longer than the terminal; a column is shown with all its text, or not at all."""
    lines, shown = laid_out([ROW, ROW], columns, headings=HEADINGS, whole=[3], to_the_right=[1])
    assert max(map(width, lines)) <= columns
    text = "".join("".join(lines).split())
    for place, cell in enumerate(ROW):
        pieces = cell.split()
        assert all(text.count(piece) >= 2 for piece in pieces) == (place < shown)
    assert shown == {40: 2, 60: 3, 80: 3, 120: 4}[columns]
    assert "1,234,567.89" in lines[1]


def test_words_to_copy_are_whole():
    """An identifier in a sentence is not broken; a terminal without room for columns has plain lines."""
    rows = [("error", "12", "category_on_unknown_account", f"the account {ID}, which is not known here")]
    assert ID in "\n".join(listed(rows, 85))
    assert listed(rows, 50, indent="  ") == ["  " + "  ".join(rows[0])]
    assert listed([]) == []
    assert laid_out([], 80) == ([], 0)


def test_cells_begin_below_each_other():
    """Rows have one column each for their parts, and no part of one makes a line."""
    first, second = listed([("a", "b\nc"), ("会議", 2)])
    assert first == r"a     b\nc"
    assert second == "会議  2"
