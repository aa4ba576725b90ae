"""Whatever a file holds, it is read or refused in one line."""

from __future__ import annotations

import io
import tempfile
import zipfile
from functools import cache, partial
from pathlib import Path

import pandas as pd
import pytest
import xlsxwriter
from bktools.inputs.chart_of_accounts import read_chart_of_accounts
from bktools.inputs.entries import read_entries
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bktools.errors import InputError, PlanError
from bktools.export import compose_export_jobs
from bktools.export.plan_file import read_plan, write_plan
from bktools.inputs.readers.accounts import read_accounts

pytestmark = pytest.mark.filterwarnings("ignore::bktools.errors.GuessedEncodingWarning")

PIECES = [
    *"\n\r,;|\t\"' 01.-\0",
    *("\r\n", '""', "Konto", "Code", "Name", "Aktiv", "ja", "Tax Code", "0.1", "External ID", "id"),
    *("company_id", "amount", "date", "status", "1.234,5", "31.10.2026"),
    *("1b4e28ba-2fa1-41d2-883f-0016d3cca427", "ü", "sep=;", "<"),
]
LINES = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)
HEADED = st.tuples(
    st.sampled_from(
        ["Konto;Name;Aktiv;Tax Code\n", "id,company_id,amount,date,status,currency\n", "id\tcode\tname\n"]
    ),
    LINES,
).map("".join)


@given(
    data=st.one_of(
        st.binary(max_size=60),
        LINES.map(str.encode),
        HEADED.map(str.encode),
        HEADED.map(lambda text: text.encode("cp1252")),
        HEADED.map(lambda text: text.encode("utf-16")),
        st.sampled_from([b"PK\x03\x04", b"PAR1", b"\xd0\xcf\x11\xe0"]).flatmap(
            lambda magic: st.binary(max_size=40).map(magic.__add__)
        ),
    ),
    read=st.sampled_from([read_chart_of_accounts, read_entries, read_accounts]),
)
@example(data="ü".encode(), read=read_chart_of_accounts)
def test_read_or_refused(data, read):
    """Every file gives a frame with rows or an InputError of one line, perhaps with a proposal."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file.csv")
        path.write_bytes(data)
        try:
            frame = read(path)
        except InputError as error:
            outcome = str(error)
        else:
            outcome = f"{path} read"
            assert len(frame) == frame.attrs["bktools"]["rows"] > 0
    assert outcome.startswith(str(path))


ENTRIES = pd.DataFrame(
    {
        "id": [PIECES[-4]] * 2,
        "company_id": PIECES[-4],
        "amount": [1.5, 2.5],
        "currency": "EUR",
        "code": "1",
        "name": "a",
    }
)
CELLS = "".join(
    f'<table:table-cell office:value-type="string"><text:p>{{{at}}}</text:p></table:table-cell>'
    for at in (0, 1)
)
OPEN_DOCUMENT = (
    '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
    ' xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"'
    ' xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:spreadsheet>'
    f'<table:table table:name="A"><table:table-row>{CELLS.format("code", "name")}</table:table-row>'
    f"<table:table-row>{CELLS.format('1', 'a')}</table:table-row></table:table>"
    "</office:spreadsheet></office:body></office:document-content>"
)


@cache
def whole(kind):
    """Return a file of a kind that can be read."""
    file = io.BytesIO()
    if kind == "xlsx":
        with xlsxwriter.Workbook(file) as book:
            sheet = book.add_worksheet("A")
            for at, row in enumerate([ENTRIES.columns, *ENTRIES.itertuples(index=False)]):
                sheet.write_row(at, 0, row)
            sheet.write_formula(2, 6, "=1/0", None, "#DIV/0!")
    elif kind == "ods":
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
            archive.writestr("content.xml", OPEN_DOCUMENT)
            archive.writestr(
                "META-INF/manifest.xml",
                '<manifest xmlns="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>',
            )
    elif kind == "parquet":
        ENTRIES.to_parquet(file)
    else:
        with tempfile.TemporaryDirectory() as folder:
            plan = compose_export_jobs(ENTRIES[["id", "company_id"]].head(1))
            return write_plan(plan, Path(folder, "a.bkplan"), made_for="a", made_by="b").read_bytes()
    return file.getvalue()


EDIT = st.tuples(
    st.floats(0, 1, exclude_max=True),
    st.integers(0, 3),
    st.one_of(st.binary(max_size=4), st.sampled_from([b"9999999", b"<"])),
)
EDITS = st.lists(EDIT, max_size=4)


def edited(data, edits):
    """Return bytes with some of them replaced, wherever that is."""
    for place, removed, put in edits:
        at = int(place * len(data))
        data = data[:at] + put + data[at + removed :]
    return data


def repacked(data, member, edits):
    """Return an archive in which one member has other content, with its sizes and checksums right."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        names = old.namelist()
        chosen = names[int(member * len(names))]
        for name in names:
            content = old.read(name)
            new.writestr(name, edited(content, edits) if name == chosen else content)
    return file.getvalue()


@settings(max_examples=settings.default.max_examples // 4)
@given(
    kind=st.sampled_from(["xlsx", "ods"]),
    member=st.floats(0, 1, exclude_max=True),
    outside=EDITS,
    inside=EDITS,
)
def test_any_workbook(kind, member, outside, inside):
    """A workbook whose parts or whose archive were changed anywhere gives a frame or an error of one line."""
    said_of(f"a.{kind}", edited(repacked(whole(kind), member, inside), outside), read_chart_of_accounts)


@given(edits=EDITS, end=st.floats(0, 1))
def test_any_parquet_file(edits, end):
    """So does a Parquet file that was changed or cut off."""
    data = edited(whole("parquet"), edits)
    said_of("a.parquet", data[: int(end * len(data))] if end < 0.5 else data, read_entries)


@given(member=st.floats(0, 1, exclude_max=True), outside=EDITS, inside=EDITS)
def test_any_plan(member, outside, inside):
    """A plan that was changed anywhere is refused; nothing but what was written is a plan."""
    data = edited(repacked(whole("plan"), member, inside), outside)
    said_of("a.bkplan", data, read_plan, PlanError)


def test_what_was_not_changed_is_read():
    """The files that are changed here can be read as they are."""
    without_date = partial(read_entries, columns={"date": ""})
    for kind, read in (("ods", read_chart_of_accounts), ("parquet", without_date), ("plan", read_plan)):
        said_of(f"a.{kind}", whole(kind), read, refused=())
    said_of("a.xlsx", whole("xlsx"), without_date, refused=())


def said_of(name, data, read, refused=InputError):
    """Read a file; check that its message is one line that names it, perhaps with a proposal."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(data)
        said = f"{path} read"
        try:
            read(path)
        except refused as error:
            said = str(error)
    assert str(path) in said
