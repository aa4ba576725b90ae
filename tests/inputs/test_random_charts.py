"""Any chart, written in any supported form, reads back to the letter or is refused."""

from __future__ import annotations

import csv
import io
import tempfile
import tomllib
from collections import Counter
from pathlib import Path

import pytest
import xlsxwriter
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bktools.errors import InputError
from bktools.inputs.chart_of_accounts import read_chart_of_accounts

pytestmark = pytest.mark.filterwarnings("ignore::bktools.errors.GuessedEncodingWarning")

CHARTS = tomllib.loads(Path(__file__).with_name("charts.toml").read_text(encoding="utf-8"))
ENCODINGS = [
    "utf-8",
    "utf-8-sig",
    "utf-16",
    "cp1252",
    "iso8859-1",
    "iso8859-15",
    "cp1250",
    "iso8859-2",
    "cp1251",
    "cp850",
]
ENDINGS = ["", ", net", " (old)", ' "A"', "; b", " | c", "  two blanks", "\tTab"]


@st.composite
def charts(draw):
    """Return accounts, and the rows around them, of one language."""
    headings, *known = (tuple(line.split(";")) for line in CHARTS[draw(st.sampled_from(sorted(CHARTS)))])
    width = draw(st.integers(3, 8))
    codes = draw(st.lists(st.integers(1, 10**width - 1), min_size=3, max_size=12, unique=True))
    accounts = [
        (str(code).zfill(width), draw(st.sampled_from(known))[1] + draw(st.sampled_from(ENDINGS)))
        for code in codes
    ]
    rows = [*accounts]
    if draw(st.booleans()):
        rows.insert(draw(st.integers(0, len(rows))), ("", ""))
    if draw(st.booleans()):
        rows += [("", "Total")]
    rows = [*[("Nordlicht", "")] * draw(st.integers(0, 1)), headings, *rows]
    return accounts, rows


def written(draw, folder, rows):
    """Write rows in one of the forms, return the path, and the arguments that a person may give."""
    if draw(st.integers(0, 9)) == 0:
        path = Path(folder, "chart.xlsx")
        with xlsxwriter.Workbook(path) as book:
            sheets = [book.add_worksheet(name) for name in ("Deckblatt", "Plan", "Notizen")]
            sheets[0].write_string(0, 0, "Nordlicht")
            for at, row in enumerate(rows):
                for place, cell in enumerate(row):
                    if cell:
                        sheets[1].write_string(at, place, cell)
        return path, {"sheet": draw(st.sampled_from(["Plan", None]))}
    delimiter, encoding = draw(st.sampled_from(",;\t|")), draw(st.sampled_from(ENCODINGS))
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator=draw(st.sampled_from(["\n", "\r\n"]))).writerows(
        rows
    )
    try:
        data = text.getvalue().encode(encoding)
    except UnicodeEncodeError:
        data, encoding = text.getvalue().encode(), "utf-8"
    path = Path(folder, draw(st.sampled_from(["chart.csv", "chart.txt"])))
    path.write_bytes(data)
    return path, {
        "delimiter": draw(st.sampled_from([delimiter, None])),
        "encoding": draw(st.sampled_from([encoding, None])),
    }


def test_any_chart_reads_back_or_is_refused():
    """No code and no name is changed, lost or added, in whatever form the chart is; most are read."""
    seen: Counter[str] = Counter()

    @settings(suppress_health_check=list(HealthCheck))
    @given(charts(), st.data())
    def check(chart, data):
        accounts, rows = chart
        with tempfile.TemporaryDirectory() as folder:
            path, arguments = written(data.draw, folder, rows)
            try:
                read = read_chart_of_accounts(path, **arguments)
            except InputError:
                seen["refused"] += 1
                return
        seen["read"] += 1
        assert read[["code", "name"]].to_numpy().tolist() == [list(account) for account in accounts]

    check()
    print(dict(seen))
    assert seen["read"] > seen["refused"]
