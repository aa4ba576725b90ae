"""Arrow reads text as the careful reader does, and leaves irregular text to that reader."""

from __future__ import annotations

import random

import pytest

from bktools.errors import InputError
from bktools.inputs.raw.delimited import _careful_rows, regular_body

# Pieces of which random text is made: cells, quotes, delimiters and line ends, in any order.
PIECES = [
    *("a", "1,5", "é", " ", '"', '""', "", "\t", ";", ";", ";", "\n", "\n", "\r\n", "\r"),
    *('"a"', '"b;c"', '"d""e"', "漢", '="04"'),
]
LINE_ENDS = ("\n", "\r\n")


def both(text, width, *, first_line=1, delimiter=";"):
    """Return rows and lines by Arrow, None where it stops, and by the careful reader, None for an error."""
    # A row begins on the first line.
    first_line = min(first_line, text.count("\n") + 1)
    *above, below = text.split("\n", first_line - 1)
    text = "\n".join([*("x" for _ in above), below])
    data = text.encode()
    regular = regular_body(data, first_line=first_line, width=width, delimiter=delimiter)
    try:
        careful = [
            (line, row) for line, row in _careful_rows(data, delimiter, "x.csv") if line >= first_line and row
        ]
    except InputError:
        return rows(regular), None
    if any(len(row) > width for _, row in careful):
        return rows(regular), None
    return rows(regular), [(line, *row, *[""] * (width - len(row))) for line, row in careful]


def rows(body):
    if body is None:
        return None
    return [*zip(body.lines.tolist(), *(column.to_pylist() for column in body.columns), strict=True)]


def random_text(source):
    """Return text of random pieces, or of random cells in rows of one width."""
    if source.random() < 0.5:
        return "".join(source.choices(PIECES, k=source.randint(0, 40)))
    width, end = source.randint(1, 4), source.choice(LINE_ENDS)
    cells = ["x", "", "0400", "ä b", '"q"', '"a;b"', '"a""b"', '""', "1.234,56", " ", "'"]
    lines = [";".join(source.choices(cells, k=width)) for _ in range(source.randint(1, 12))]
    if source.random() < 0.2:
        lines.insert(source.randint(0, len(lines)), "")
    return end.join(lines) + source.choice(["", end])


def test_thousands_of_random_texts_by_both_readers():
    """Whatever Arrow reads, the careful reader reads alike, to the letter and to the line."""
    source = random.Random(42)
    by_arrow = 0
    for _ in range(2_000):
        text, width, first_line = random_text(source), source.randint(1, 4), source.choice([1, 1, 2, 3])
        regular, careful = both(text, width, first_line=first_line)
        assert regular is None or regular == careful, text
        by_arrow += regular is not None
    assert by_arrow > 150, "the comparison shows nothing if Arrow reads hardly any"


@pytest.mark.parametrize(
    "text",
    [
        *('a;"b\nc"\n', "a;b\rc;d\n", 'a"b;c\n', '"a"b;c\n', "a;b\nc\n", "a;b;c\n", '"a;b\n', ""),
        "a;b\n\nc;d\n",
    ],
)
def test_what_is_not_regular_is_left_to_the_careful_reader(text):
    """Line breaks in cells, lone returns, inner quotes, other widths, empty lines, nothing."""
    assert both(text, 2)[0] is None
