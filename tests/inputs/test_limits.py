"""Files made to take the machine down: each is refused in one line, soon, and in little memory."""

from __future__ import annotations

import hashlib
import importlib
import io
import json
import os
import re
import struct
import subprocess
import sys
import time
import zipfile
import zlib
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import warm
import xlsxwriter
from bktools.inputs.chart_of_accounts import read_chart_of_accounts
from bktools.inputs.entries import read_entries
from bktools.inputs.file import read_table

from bktools.errors import BktoolsError, InputError
from bktools.export import plan_file
from bktools.export.plan_file import read_plan
from bktools.frames.unpacking import archive_size
from bktools.inputs import workbook_process
from bktools.inputs.formats import format as format_module

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def _xlsx(path, cells, shared=""):
    """Write a workbook with these cells in place of its own."""
    made = io.BytesIO()
    with xlsxwriter.Workbook(made) as book:
        book.add_worksheet("A").write_string(0, 0, "Code")
    with zipfile.ZipFile(made) as parts, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in parts.namelist():
            content = parts.read(name).decode()
            if name == "xl/worksheets/sheet1.xml":
                content = re.sub(
                    "<sheetData>.*</sheetData>", lambda _: f"<sheetData>{cells}</sheetData>", content
                )
            if name == "xl/sharedStrings.xml" and shared:
                content = f'<sst xmlns="{MAIN}">{shared}</sst>'
            archive.writestr(name, content)
    return path


def _row(number, *cells):
    return f'<row r="{number}">{"".join(cells)}</row>'


def _text(reference, text):
    return f'<c r="{reference}" t="inlineStr"><is><t>{text}</t></is></c>'


HEAD = _row(1, _text("A1", "Code"), _text("B1", "Name"))


def _zeros(size):
    """Return a deflate stream of zeros without making them, a block at a time."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = deflate.compress(bytes(1 << 24)) + deflate.flush(zlib.Z_FULL_FLUSH)
    return block * (size >> 24) + deflate.flush()


def _archive(path, members, declared=None):
    """Write a zip archive of deflate streams that says of each member what it is told to."""
    file, entries = io.BytesIO(), b""
    for name, (packed, size) in members.items():
        sizes = struct.pack("<III", 0, len(packed), declared if declared is not None else size)
        entries += (
            b"PK\x01\x02"
            + struct.pack("<6H", 20, 20, 0, 8, 0, 33)
            + sizes
            + struct.pack("<5HII", len(name), 0, 0, 0, 0, 0, file.tell())
            + name.encode()
        )
        file.write(
            b"PK\x03\x04" + struct.pack("<5H", 20, 0, 8, 0, 33) + sizes + struct.pack("<HH", len(name), 0)
        )
        file.write(name.encode() + packed)
    end = struct.pack("<4HIIH", 0, 0, len(members), len(members), len(entries), file.tell(), 0)
    file.write(entries + b"PK\x05\x06" + end)
    path.write_bytes(file.getvalue())
    return path


def _plan(path, frame=b"", head="{}"):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("plan.json", head)
        for name in plan_file.FRAMES:
            archive.writestr(f"{name}.parquet", frame)
    return path


def _parquet(column, groups=1, rows=1_000_000, **options):
    file = io.BytesIO()
    table = pa.table({"code": column})
    with pq.ParquetWriter(file, table.schema, compression="zstd", **options) as writer:
        for _ in range(groups):
            writer.write_table(table, row_group_size=rows)
    return file.getvalue()


def _repeated_text(size, rows):
    """A column that says one long text again and again."""
    return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), rows), pa.array(["x" * size]))


def _sparse(path, size, begin=b"", end=b""):
    with path.open("wb") as file:
        file.write(begin)
        file.truncate(size)
        file.seek(0, io.SEEK_END)
        file.write(end)
    return path


@cache
def _numbers():
    return _parquet(pa.repeat(pa.scalar(7, pa.int64()), 1_000_000), 40)


def _true_head(frame):
    """Return a plan's head that says of its members what they are."""
    digest = hashlib.sha256(frame).hexdigest()
    head = {"sha256": {f"{name}.parquet": digest for name in plan_file.FRAMES}}
    return json.dumps({**head, "digest": plan_file._digest(head)})


FAR = _row(1_048_576, '<c r="XFD1048576"><v>1</v></c>')
LARGE = {"xl/workbook.xml": (_zeros(6 << 30), (6 << 30) % (1 << 32))}
REPEATED = "".join(_row(line, f'<c r="A{line}" t="s"><v>0</v></c>') for line in range(2, 20_000))

HOSTILE = {
    "far cell.xlsx": (lambda path: _xlsx(path, HEAD + FAR), "takes more memory or time to read"),
    "far corners.xlsx": (
        lambda path: _xlsx(path, HEAD + _row(60_000, '<c r="XFD60000"><v>1</v></c>')),
        "takes more memory or time to read",
    ),
    "out of range.xlsx": (
        lambda path: _xlsx(path, HEAD + _row(2, '<c r="ZZZZ99999999"><v>1</v></c>')),
        "takes more memory or time to read",
    ),
    "repeated text.xlsx": (
        lambda path: _xlsx(path, HEAD + REPEATED, f"<si><t>{'x' * (1 << 20)}</t></si>"),
        "takes more memory or time to read",
    ),
    "declared.xlsx": (lambda path: _archive(path, LARGE, 0xF0000000), "unpacks to more than 1,024 MB"),
    "lying.xlsx": (lambda path: _archive(path, LARGE, 100), "unpacks to more than 1,024 MB"),
    "numbers.parquet": (lambda path: path.write_bytes(_numbers()), "unpacks to far more than its"),
    "text.parquet": (
        lambda path: path.write_bytes(_parquet(_repeated_text(1 << 20, 4000))),
        "unpacks to far more than its",
    ),
    "plan.bkplan": (
        lambda path: _plan(path, _numbers(), _true_head(_numbers())),
        "unpacks to far more than its",
    ),
    "head.bkplan": (lambda path: _plan(path, head=" " * (65 << 20)), "its plan.json is too large"),
    "archive.bkplan": (lambda path: _archive(path, LARGE, 0xF0000000), "unpacks to more than 1,024 MB"),
    "one line.csv": (
        lambda path: _sparse(path, 2 << 30, b"Code;Name\n"),
        "line 2: the line has more than 16 MB",
    ),
    "long.csv": (
        lambda path: _sparse(path, 3 << 30, b"Code;Name\n"),
        "has more than 2,048 MB: export it again in parts",
    ),
}


def peaks(paths):
    """Read each file; yield its message, the seconds, and this process's peak in megabytes."""
    # Windows has none.
    resource = importlib.import_module("resource")
    for path in paths:
        begin = time.perf_counter()
        try:
            (read_plan if path.suffix == ".bkplan" else read_chart_of_accounts)(path)
            said = "read"
        except BktoolsError as error:
            said = str(error)
        status = Path("/proc/self/status")
        # A process begins with the getrusage peak of its parent: a test runner, which may have a gigabyte.
        own = (
            int(status.read_text().partition("VmHWM:")[2].split()[0])
            if status.exists()
            else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        )
        most = max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
        yield path.name, said, round(time.perf_counter() - begin, 2), most >> 10


@pytest.mark.long
def test_bombs_are_refused_in_little_memory(tmp_path):
    """Every hostile file is one line with its fault; no process takes a gigabyte for it."""
    paths = []
    for name, (make, _) in HOSTILE.items():
        make(tmp_path / name)
        paths.append(tmp_path / name)
    with warm.Process(peaks, paths) as reader:
        told = [reader.read() for _ in paths]
    for name, said, seconds, megabytes in told:
        print(f"{name}: {seconds} s, {megabytes} MB: {said}")
    assert [name for name, *_ in told] == list(HOSTILE)
    for name, said, _, megabytes in told:
        assert "\n" not in said
        assert re.search(HOSTILE[name][1], said), (name, said)
        assert megabytes < 1000, name


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda file: [file.writestr(f"{at}.xml", "") for at in range(10_001)], "holds 10,001 files"),
        (lambda file: file.writestr("a.xml", bytes(1000)), "unpacks to more than 0 MB"),
        (lambda file: file.writestr("a.xml", "x", zipfile.ZIP_BZIP2), "unsupported compression"),
    ],
)
def test_an_archive_is_looked_through_first(make, message):
    """Number of members, their size and how they are packed have limits."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        make(archive)
    with pytest.raises(InputError, match=message):
        archive_size(data.getvalue(), kind="workbook", most=999)


def test_members_do_not_overlap(tmp_path):
    """One stream that several members share unpacks once a member."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", bytes(1000))
        archive.filelist.append(archive.filelist[0])
    with pytest.raises(InputError, match="its files overlap"):
        archive_size((tmp_path / "a.zip").read_bytes(), kind="workbook")


def test_a_line_and_a_heading_row_have_limits(tmp_path, monkeypatch):
    """A line that is too long is named before the file is read, and so is a row of very many headings."""
    path = tmp_path / "chart.csv"
    path.write_text("Code;Name\n1;" + "x" * 3_000_000 + "\n2;y\n", encoding="utf-8")
    with pytest.raises(InputError, match="line 2: a cell has more than 131,072 characters"):
        read_table(path, len)
    with monkeypatch.context() as patched:
        patched.setattr(format_module, "LONGEST_LINE", 2 << 20)
        with pytest.raises(InputError, match=r"line 2: the line has more than 2 MB"):
            read_table(path, len)
    path.write_text(";".join(map(str, range(100_000))) + "\n1;2\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"line 1: 100,000 cells: a table has at most 16,384 columns"):
        read_chart_of_accounts(path)
    headings = ["Code", "Name", *(f"a heading that is long {at}" for at in range(2_000))]
    path.write_text(";".join(headings) + "\n1;x" + ";" * 2_000 + "\n", encoding="utf-8")
    assert read_chart_of_accounts(path)["name"].tolist() == ["x"]


def test_a_pipe_is_not_waited_for(tmp_path):
    """A named pipe that nobody writes to is refused at once."""
    os.mkfifo(tmp_path / "chart.csv")
    with pytest.raises(InputError, match="is a device or a pipe, not a file"):
        read_chart_of_accounts(tmp_path / "chart.csv")


def test_a_workbook_is_read_where_less_memory_is_allowed(tmp_path):
    """A machine that allows a process 4 GB, less than it may take, still reads a workbook."""
    path = _xlsx(tmp_path / "chart.xlsx", HEAD + _row(2, _text("A2", "0400"), _text("B2", "Bank")))
    command = [
        "sh",
        "-c",
        'ulimit -v 4000000 && exec "$0" -P "$1"',
        sys.executable,
        workbook_process.__file__,
    ]
    asked = json.dumps({"sheet": None, "memory": 1 << 40, "seconds": 60}).encode() + b"\n" + path.read_bytes()
    answer, cells = subprocess.run(command, input=asked, capture_output=True, check=True).stdout.split(
        b"\n", 1
    )
    assert json.loads(answer)["sheets"] == {"A": [[10, 0], [10, 0]]}
    assert cells == b"Code\x000400\0Name\0Bank\0"


def _amounts(*cells):
    return "Date;Amount;Text\n" + "".join(f"2026-10-31;{cell};x\n" for cell in cells)


BAD = {
    "digits.csv": (_amounts("9" * 100_000), "line 2: 'Amount' must have at most 38 digits"),
    "exponent.csv": (_amounts("1e999999999"), "line 2: 'Amount' must hold amounts, got '1e999999999'"),
    "years.csv": ("Date;Amount\n99999-01-01;1\n", "line 2: 'Date' must hold dates"),
    "half.csv": (_amounts("1,50").encode("utf-16")[:-1], "is not valid utf-16-le"),
    "escape.csv": (_amounts("1\x1b[31m"), r"line 2: 'Amount' must hold amounts, got '1\x1b[31m'"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_cells_are_one_line(tmp_path, name):
    """No numbers, no text and cut-off files are named with their line, at once."""
    content, said = BAD[name]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    begin = time.perf_counter()
    with pytest.raises(InputError) as caught:
        read_entries(path)
    assert time.perf_counter() - begin < 5
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500 + len(str(path))


@pytest.mark.parametrize("name", ["whole.csv", "total.csv"])
def test_a_last_line_without_an_end_is_read(tmp_path, name):
    """A last line that has all its cells, or is a sum with fewer, needs no end."""
    last = {"whole.csv": "2026-10-31;2,50;x", "total.csv": "Total;4,00"}[name]
    (tmp_path / name).write_text(_amounts("1,50", "2,50").rpartition("2026")[0] + last, encoding="utf-8")
    assert len(read_entries(tmp_path / name)) == {"whole.csv": 2, "total.csv": 1}[name]


def test_entities_in_a_workbook_do_not_grow(tmp_path):
    """A workbook whose sheet defines entities that grow is refused in one line."""
    _xlsx(tmp_path / "plain.xlsx", HEAD)
    entities = "".join(f'<!ENTITY l{at} "{f"&l{at - 1};" * 10}">' for at in range(1, 12))
    bomb = f'?><!DOCTYPE x [<!ENTITY l0 "lol">{entities}]>'
    with (
        zipfile.ZipFile(tmp_path / "plain.xlsx") as parts,
        zipfile.ZipFile(tmp_path / "bomb.xlsx", "w") as archive,
    ):
        for name in parts.namelist():
            content = parts.read(name).decode()
            if name.endswith("sheet1.xml"):
                content = content.replace("?>", bomb, 1).replace(
                    "</sheetData>", _row(2, _text("A2", "&l11;")) + "</sheetData>"
                )
            archive.writestr(name, content)
    with pytest.raises(InputError, match="is not a readable workbook") as caught:
        read_chart_of_accounts(tmp_path / "bomb.xlsx")
    assert "\n" not in str(caught.value)
