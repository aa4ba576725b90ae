"""Text from outside that is shown: nothing of it steers a terminal or turns the reading order."""

from __future__ import annotations

import pytest

from bktools import views
from bktools.errors import ArgumentError, InputError, StorageError
from bktools.visible import visible, visible_line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;title\x07\x1b[31mred\x9b0m", r"\x1b]0;title\x07\x1b[31mred\x9b0m"),
        (
            "invoice\u202efdp.exe\u2066\u2069\u200f\u200e\u061c",
            r"invoice\u202efdp.exe\u2066\u2069\u200f\u200e\u061c",
        ),
        ("over\rwritten\x08\x7f\x00", r"over\rwritten\x08\x7f\x00"),
        ("a\u2028b\u2029c\ud800", r"a\u2028b\u2029c\ud800"),
        ("Größe, 東京, שלום, سلام, می\u200cشود, 👨\u200d👩\u200d👧, e\u0301, a\u00a0b", None),
        ("two lines\n\tand a tab", None),
    ],
)
def test_what_steers_is_written_out(text, shown):
    """Controls and direction marks are escapes; the letters of every script and what joins them stay."""
    assert visible(text) == (text if shown is None else shown)


def test_a_line_stays_a_line():
    """An error and a cell of a view are one line each, whatever is in them."""
    assert visible_line("a\nbktools: fine\tb") == r"a\nbktools: fine\tb"
    name = "\x1b[2J\u202ename\nbktools: fine"
    for error in (InputError(name), ArgumentError(name, "is wrong"), StorageError(name)):
        assert str(error).startswith(r"\x1b[2J\u202ename\nbktools: fine")
    assert views.short(name) == r"\x1b[2J\u202ename bktools: fine"
