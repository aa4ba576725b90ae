"""Whatever text a program writes into a table comes back to the letter, with the line it stands on."""

from __future__ import annotations

import codecs
import csv
import io
import tempfile
from pathlib import Path

from bktools.inputs.chart_of_accounts import read_chart_of_accounts
from hypothesis import example, given
from hypothesis import strategies as st

from bktools.inputs import table
from bktools.inputs.delimited import careful_body
from bktools.inputs.heading_row import read_head

ENCODINGS = {
    "utf-8": b"",
    "utf-8-sig": b"",
    "utf-16": b"",
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32": b"",
}

# NUL is refused, lone surrogates are no text.
TEXT = st.text(
    st.one_of(
        st.sampled_from("aZ0 ,;|\t\"'=\n\r\u00a0äłéßÅ\U0001f600\u05d0\u202e#*.-"),
        st.characters(exclude_characters="\0", exclude_categories=("Cs",)),
    ),
    max_size=12,
)
ROWS = st.lists(st.tuples(TEXT, TEXT, TEXT), min_size=1, max_size=8)


@given(
    rows=ROWS,
    delimiter=st.sampled_from(",;\t|"),
    line_end=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    ends=st.booleans(),
)
@example(rows=[("NA", "null", "")], delimiter=",", line_end="\n", quoting=csv.QUOTE_ALL, ends=True)
@example(rows=[("\r\n", "\n", '""')], delimiter=";", line_end="\r\n", quoting=csv.QUOTE_MINIMAL, ends=False)
def test_cells_come_back(rows, delimiter, line_end, quoting, ends):
    """Any cells in any dialect are read as Python's own reader reads them, with the line of each row."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator=line_end, quoting=quoting)
    writer.writerow(["Konto", "Bezeichnung", "Art"])
    writer.writerows(rows)
    text = out.getvalue() if ends else out.getvalue()[: -len(line_end)]
    score = {"Konto", "Bezeichnung", "Art"}.intersection
    head = read_head(
        text.encode(), lambda cells: len(score(cells)), delimiter=None, prefer=",", source="x.csv"
    )
    body = careful_body(text.encode(), head, "x.csv")

    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    expected, lines, line = [], [], 1
    for cells in reader:
        if line > 1 and cells:
            # A lone carriage return that the writer left without quotes ends a row, for every reader.
            expected.append(cells + [""] * (3 - len(cells)))
            lines.append(line)
        line = reader.line_num + 1
    assert head.delimiter == delimiter
    assert [
        list(row) for row in zip(*(column.to_pylist() for column in body.columns), strict=True)
    ] == expected
    assert body.lines.tolist() == lines


@given(
    names=st.lists(TEXT, min_size=1, max_size=6),
    delimiter=st.sampled_from(",;\t|"),
    encoding=st.sampled_from(sorted(ENCODINGS)),
    line_end=st.sampled_from(["\n", "\r\n"]),
)
def test_names_come_back_in_every_encoding(names, delimiter, encoding, line_end):
    """Names and codes with leading zeros survive every Unicode encoding, with byte order marks."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator=line_end, quoting=csv.QUOTE_ALL)
    writer.writerow(["Konto", "Bezeichnung"])
    writer.writerows([f"{at:04}", name] for at, name in enumerate(names))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "chart.csv")
        path.write_bytes(ENCODINGS[encoding] + out.getvalue().encode(encoding))
        chart = read_chart_of_accounts(path)
    assert chart["name"].tolist() == names
    assert chart["code"].tolist() == [f"{at:04}" for at in range(len(names))]


def test_many_rows(tmp_path, monkeypatch):
    """A file of many rows is read whole and in order, with the line of every row."""
    monkeypatch.setattr(table, "ROWS_A_CHUNK", 100)
    names = [f'N{at}\n"{at % 7}"' if at % 100 == 0 else f"Konto {at}" for at in range(1_050)]
    path = tmp_path / "chart.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=";", quoting=csv.QUOTE_ALL)
        writer.writerow(["Konto", "Bezeichnung", "Aktiv"])
        # A quote in a cell without quotes is a character like others.
        file.write('0x;a"b;ja\r\n')
        writer.writerows((f"{at:06}", name, "ja" if at % 3 else "nein") for at, name in enumerate(names))
    chart = read_chart_of_accounts(path)
    assert chart["name"].tolist() == ['a"b', *names]
    assert chart["archived"].tolist() == [False, *(at % 3 == 0 for at in range(1_050))]
    assert chart["line"].iloc[-1] == 3 + 1_049 + 11
    assert chart["line"].is_monotonic_increasing
