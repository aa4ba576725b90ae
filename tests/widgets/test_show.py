"""`show`: frames as a person reads them, in a notebook and on a terminal."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from html.parser import HTMLParser

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from bktools import show, spend
from bktools.errors import ArgumentError
from bktools.visible import width
from bktools.widgets.show import in_a_pipe
from bktools.wording import reader
from bktools.wording.numbers import MINUS

EVIL = "<script>alert('x')</script> & \x1b[31m\u202ered"
ID = "c01e13ec-a01a-4e84-a1e0-d06c7ae97acb"
FRAME = pa.table(
    {
        "id": [ID] * 3,
        "category_id": [ID, None, ID],
        "Project": [EVIL, "two\nlines", None],
        "approved": [True, False, None],
        "line": [1234, 2, 3],
        "currency": ["EUR", "JPY", None],
        "amount": pa.array([Decimal("1234567.500"), Decimal(1200), None], pa.decimal128(38, 3)),
        "date": [dt.date(2026, 10, 31), None, dt.date(2026, 11, 1)],
        "sent_at": pa.array(
            [dt.datetime(2026, 10, 31, 12, 30, tzinfo=dt.UTC), None, None], pa.timestamp("us", "UTC")
        ),
        "share": [25.0, None, 100.0],
    }
)


class _Cells(HTMLParser):
    """The rows of the tables of a page: of each cell its text and its style."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.last = ""
        self.rows: list[list[tuple[str, str]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.last = tag
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append(("", dict(attrs)["style"] or ""))

    def handle_data(self, data: str) -> None:
        if self.last in {"td", "th"} and not data.isspace():
            text, style = self.rows[-1][-1]
            self.rows[-1][-1] = (text + data, style)


def test_a_notebook_shows_names_and_money_first():
    """Money has its currency's decimals, dates are ISO, null is empty, identifiers are last and whole."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BKTOOLS_LANGUAGE", "de")
        patch.setattr(reader, "language", None)
        assert "1.234.567,50" in show(FRAME)._repr_html_()
    head, *rows = _Cells(show(FRAME)._repr_html_()).rows
    columns = [text for text, _ in head]
    assert " ".join(columns) == "date amount currency Project approved sent_at share line id category_id"
    shown = r"<script>alert('x')</script> & \x1b[31m\u202ered"
    assert [text for text, _ in rows[0]] == [
        *("2026-10-31", "1,234,567.50", "EUR", shown, "yes"),
        *("2026-10-31 12:30:00 UTC", "25.0%", "1,234", ID, ID),
    ]
    assert [text for text, _ in rows[1]] == ["", "1,200", "JPY", "two lines", "no", "", "n/m", "2", ID, ""]
    assert [text for text, _ in rows[2]] == ["2026-11-01", "", "", "", "", "", "100.0%", "3", ID, ID]
    styles = dict(zip(columns, (style for _, style in rows[0]), strict=True))
    assert {name for name, style in styles.items() if "nowrap" not in style} == {"Project", "sent_at"}
    on_the_right = {name for name, style in styles.items() if "text-align:right" in style}
    assert on_the_right == {"amount", "share", "line"}


def test_nothing_runs_and_every_page_suits():
    """Text of a frame is text, and neither text nor page has a colour of its own."""
    html = show(FRAME.rename_columns([EVIL, *FRAME.column_names[1:]]))._repr_html_()
    assert _Cells(html).tags == {"div", "table", "thead", "tbody", "tr", "th", "td", "p"}
    assert not re.search(r"[;\"](color|background)", html)
    assert "\x1b" not in html + repr(show(FRAME))


def test_a_terminal_shows_columns():
    """Every cell stands below its heading, however wide its letters are; long text is shortened."""
    frame = pd.DataFrame({"amount": [Decimal(1), Decimal("2.5"), None], "name": ["会議費", "a" * 399, None]})
    first, *rows = repr(show(frame)).split("\n")
    assert first == "amount  name"
    assert rows == ["  1.00  会議費", f"  2.50  {'a' * 299}…", ""]
    assert width("会議費") == 6
    assert "\u202e" not in repr(show(FRAME))


def test_rows_are_bounded():
    """Only the first rows are shown, with how many there are; a frame without rows says so."""
    frame = pd.DataFrame({"number": range(1000)})
    shown = show(frame, rows=3)
    assert repr(shown) == "number\n     0\n     1\n     2\n… and 997 more rows"
    assert shown._repr_html_().count("<tr>") == 4
    assert "… and 997 more rows" in shown._repr_html_()
    assert show(frame)._repr_html_().count("<tr>") == 21
    assert repr(show(frame[:0])).splitlines() == ["number", "no rows"]
    assert "no rows" in show(frame[:0])._repr_html_()


def test_frames_of_other_tools_and_of_the_sandbox(tmp_path):
    """Polars and Parquet look as Arrow does; what is of the sandbox says so."""
    expected = repr(show(FRAME))
    assert repr(show(pl.from_arrow(FRAME))) == expected
    pl.from_arrow(FRAME).write_parquet(tmp_path / "frame.parquet")
    assert repr(show(tmp_path / "frame.parquet")) == expected
    frame = pd.DataFrame({"a": [1]})
    frame.attrs["bktools"] = {"environment": "sandbox"}
    assert "sandbox: invented data, no real books" in show(frame)._repr_html_()


def test_a_grid_has_all_rows_a_title_and_the_order_of_the_frame():
    """A notebook sorts and searches all rows, a page has the number asked for; spend keeps its keys first."""
    days = pd.to_datetime(["2026-10-01", "2026-10-02", "2026-10-03"])
    amounts = [Decimal(n) for n in (1, 2, 3)]
    frame = pd.DataFrame({"who": ["Ada", "Ben", "Ben"], "amount": amounts, "currency": "EUR", "date": days})
    spent = spend(frame, ["who", "month"], shares=True)
    shown = show(spent, rows=1, title="October 2026, Muster GmbH")
    grid = shown._grid()
    kinds = {column["label"]: column["kind"] for column in grid.columns}
    assert " ".join(kinds) == "who month currency entries amount share"
    assert " ".join(kinds.values()) == "text text text number number number", "each is sorted as what it is"
    kinds = {column["label"]: column["kind"] for column in show(frame)._grid().columns}
    assert kinds == {"date": "date", "who": "text", "amount": "number", "currency": "text"}
    assert grid.rows == [
        ["Ada", "2026-10", "EUR", "1", "1.00", "100.0%"],
        ["Ben", "2026-10", "EUR", "2", "5.00", "100.0%"],
    ]
    assert (grid.page, grid.picking, grid.summary) == (1, False, "October 2026, Muster GmbH")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BKTOOLS_LANGUAGE", "de")
        patch.setattr(reader, "language", None)
        german = show(frame.assign(amount=[Decimal("1789.68"), *amounts[1:]]))._grid()
    assert german.rows[0] == ["Ada", "1.789,68", "EUR", "2026-10-01"], "a day is sorted by its text"
    assert {column["point"] for column in german.columns} == {","}
    assert repr(shown).split("\n")[0] == "October 2026, Muster GmbH"
    assert "<b>October 2026, Muster GmbH</b>" in shown._repr_html_()


def test_titles_keep_what_a_column_is():
    """A heading of one's own leaves money with its decimals, on a terminal, in a page and in a grid."""
    frame = pd.DataFrame({"supplier": ["Bahn"], "currency": "EUR", "this": [1200.5], "that": [80.0]})
    shown = show(frame, titles={"this": "October", "that": "September"})
    head, row = repr(shown).split("\n")
    assert head.split() == ["supplier", "currency", "October", "September"]
    assert row.split() == ["Bahn", "EUR", "1,200.50", "80.00"]
    head = _Cells(shown._repr_html_()).rows[0]
    assert [text for text, _ in head] == ["supplier", "currency", "October", "September"]
    grid = shown._grid()
    assert [column["label"] for column in grid.columns] == ["supplier", "currency", "October", "September"]
    assert grid.rows == [["Bahn", "EUR", "1,200.50", "80.00"]]


def test_a_pipe_has_one_minus_sign_and_no_groups():
    """Numbers, and texts that name amounts, have the sign that a program reads; a text keeps its letters."""
    table = pa.table(
        {"amount": [Decimal("-1202.30")], "drivers": [f"Bahn {MINUS}1.202,30"], "code": ["1.000"]}
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BKTOOLS_LANGUAGE", "de")
        patch.setattr(reader, "language", None)
        assert in_a_pipe(table) == [["-1202,30", "Bahn -1.202,30", "1.000"]]


@pytest.mark.parametrize(("wrong", "rows"), [([1], 20), (FRAME, 0), (FRAME, 1.5), (FRAME, True)])
def test_wrong_arguments(wrong, rows):
    """No frame, and no number of rows, is one line."""
    with pytest.raises(ArgumentError, match=r"must be (a|at)"):
        show(wrong, rows)
