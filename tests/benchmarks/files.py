"""Benchmarks of reading files, in turn with pandas and calamine, which check nothing, by processor time.

Run: python tests/benchmarks/run.py files [--tiny].
"""

from __future__ import annotations

import datetime as dt
import random
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pandas as pd
import python_calamine
import xlsxwriter
from rows import Row, in_turn, measured

import bktools

LIBRARIES = ("pandas", "pyarrow", "python-calamine")
DAY = dt.date(2026, 1, 1)
# The MiB that a process takes beyond its imports.
PEAK = """
import sys, pandas as pd, bktools, bktools.inputs.readers.entries
from pathlib import Path
def peak():
    # What the kernel's other counter says begins with the memory of the parent.
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
small = Path(sys.argv[2])
{way}(small{more})
before = peak()
frame = {way}(Path(sys.argv[1]){more})
print(peak() - before)
"""


def entries(path: Path, rows: int) -> Path:
    """Write entries as the service exports them, with a quoted text in each row."""
    source = random.Random(5)
    ids = [str(uuid.UUID(int=source.getrandbits(128), version=4)) for _ in range(60)]
    with path.open("w", encoding="utf-8") as file:
        file.write("id,company_id,date,amount,currency,category_id,employee_id,status,supplier,description\n")
        for row in range(rows):
            entry = uuid.UUID(int=source.getrandbits(128), version=4)
            amount = f"{source.randint(-50_000, 9_999_999) / 100:.2f}"
            file.write(
                f"{entry},{ids[0]},{DAY + dt.timedelta(row * 360 // rows)},{amount},EUR,{source.choice(ids)},"
                f'{source.choice(ids)},APPROVED,Supplier number {row % 5_000} GmbH,"Lunch, '
                f'with {row} people"\n'
            )
    return path


def fec(path: Path, rows: int) -> Path:
    """Write an FEC of vouchers with two postings."""
    headings = (
        "JournalCode JournalLib EcritureNum EcritureDate CompteNum CompteLib CompAuxNum CompAuxLib "
        "PieceRef PieceDate"
    )
    headings += " EcritureLib Debit Credit EcritureLet DateLet ValidDate Montantdevise Idevise"
    lines = ["\t".join(headings.split())]
    for row in range(rows):
        day = f"{DAY + dt.timedelta(row * 360 // rows):%Y%m%d}"
        amount = f"{row // 2 + 1},{row // 2 % 100:02}"
        own = [f"{625100 + row % 100}", "Déplacements", "", "", f"F{row}", day, f"Achat {row}"]
        sides = ["0,00", amount] if row % 2 else [amount, "0,00"]
        lines.append("\t".join(["BQ", "Banque", f"BQ{row // 2}", day, *own, *sides, "", "", day, "", ""]))
    path.write_bytes("\n".join(lines).encode("iso8859-15"))
    return path


def datev(path: Path, rows: int) -> Path:
    """Write a Buchungsstapel of 44 columns."""
    head = (
        '"EXTF";700;21;"Buchungsstapel";13;20261101120000000;;"RE";"";"";1001;1;20260101;4;'
        '20260101;20261231;"";"";1;0;0;"EUR"'
    )
    names = (
        "Umsatz (ohne Soll/Haben-Kz);Soll/Haben-Kennzeichen;WKZ Umsatz;Kurs;Basis-Umsatz;WKZ Basis-Umsatz;"
        "Konto;Gegenkonto (ohne BU-Schlüssel);BU-Schlüssel;Belegdatum;Belegfeld 1;Belegfeld 2;Skonto"
    )
    lines = [head, ";".join([names, "Buchungstext", *(f"Zusatz {place}" for place in range(30))])]
    for row in range(rows):
        day = f"{DAY + dt.timedelta(row * 360 // rows):%d%m}"
        lines.append(
            f'{row + 1},{row % 100:02};"S";"EUR";;;"";{4000 + row % 999};1200;"";{day};"R-{row}";"";"";'
            f'"Büro {row}"{";" * 30}'
        )
    path.write_bytes("\n".join(lines).encode("cp1252"))
    return path


def sie(path: Path, rows: int) -> Path:
    """Write a SIE file of vouchers with three postings."""
    lines = ["#FLAGGA 0", "#FORMAT PC8", "#SIETYP 4"]
    lines += [f'#KONTO {code} "Konto för {code}"' for code in range(1000, 1500)]
    for row in range(rows // 3):
        day, amount = f"{DAY + dt.timedelta(row * 1080 // rows):%Y%m%d}", f"{row + 1}.{row % 100:02}"
        postings = [
            f'{1000 + row % 500} {{1 "10"}} {amount} {day} "Text"',
            f"2640 {{}} 0.00 {day}",
            f"1930 {{}} -{amount} {day}",
        ]
        lines += [f'#VER A {row + 1} {day} "Köp {row}" {day}', "{", *map("#TRANS {}".format, postings), "}"]
    path.write_bytes("\r\n".join(lines).encode("cp437"))
    return path


def workbook(path: Path, rows: int) -> Path:
    """Write a workbook of entries."""
    with xlsxwriter.Workbook(path, {"constant_memory": True}) as book:
        sheet, form = book.add_worksheet(), book.add_format({"num_format": "yyyy-mm-dd"})
        sheet.write_row(
            0, 0, ["Date", "Amount", "Currency", "Supplier", "Description", "Category", "Cost centre"]
        )
        for row in range(rows):
            sheet.write_datetime(row + 1, 0, DAY + dt.timedelta(row * 360 // rows), form)
            sheet.write_number(row + 1, 1, row + row % 100 / 100)
            sheet.write_row(
                row + 1, 2, ["EUR", f"Supplier {row % 5_000}", f"Lunch {row}", "Travel", str(row % 50)]
            )
    return path


def of_size(rows: int, runs: int, folder: Path) -> Iterator[Row]:
    """Yield each goal with what was reached; `rows` is of the largest file."""
    some, few = rows * 3 // 10, rows // 10
    csv, small = entries(folder / "entries.csv", rows), entries(folder / "small.csv", 320)
    ours, theirs = processor_seconds(
        runs, lambda: bktools.read_entries(csv), lambda: pd.read_csv(csv, dtype="str")
    )
    work = f"read entries, CSV of {rows:,} rows"
    note = f"bktools {ours:.2f} s, pandas {theirs:.2f} s"
    yield Row(work, "time ÷ read_csv(dtype=str)", ours / theirs, 1.5, at_most=True, note=note)
    of_ours, of_theirs = (
        peak("bktools.read_entries", "", csv, small),
        peak("pd.read_csv", ", dtype='str'", csv, small),
    )
    note = f"bktools {of_ours:.0f} MiB, pandas {of_theirs:.0f} MiB"
    yield Row(work, "memory ÷ read_csv(dtype=str)", of_ours / of_theirs, 1.5, at_most=True, note=note)
    for name, make, options in (
        ("FEC", fec, {"sep": "\t", "encoding": "iso8859-15"}),
        ("DATEV", datev, {"sep": ";", "encoding": "cp1252", "skiprows": 1}),
    ):
        path = make(folder / f"{name}.txt", some)
        ours, theirs = processor_seconds(
            runs,
            partial(bktools.read_general_ledger, path),
            partial(pd.read_csv, path, dtype="str", **options),
        )
        note = f"bktools {ours:.2f} s, pandas {theirs:.2f} s"
        work = f"read {name} of {some:,} rows"
        yield Row(work, "time ÷ read_csv(dtype=str)", ours / theirs, 4, at_most=True, note=note)
    path = sie(folder / "book.se", some)
    (ours,) = processor_seconds(runs, lambda: bktools.read_general_ledger(path))
    yield Row(f"read SIE 4 of {some:,} postings", "seconds", ours, 2.5, at_most=True)
    book = workbook(folder / "book.xlsx", few)
    ours, theirs = processor_seconds(
        runs,
        lambda: bktools.read_entries(book),
        lambda: python_calamine.CalamineWorkbook.from_path(str(book)).get_sheet_by_index(0).to_python(),
    )
    note = f"bktools {ours:.2f} s, calamine {theirs:.2f} s, which makes lists"
    yield Row(f"read XLSX of {few:,} rows", "time ÷ calamine", ours / theirs, 1.5, at_most=True, note=note)
    (ours,) = processor_seconds(runs * 3, lambda: bktools.read_entries(small))
    yield Row("read 320 entries", "ms", ours * 1000, 15, at_most=True)


def processor_seconds(runs: int, *ways: Callable[[], object]) -> list[float]:
    """Return the median seconds of the processor that each way takes, in turn."""
    figures = in_turn({str(place): partial(measured, way) for place, way in enumerate(ways)}, runs)
    return [processor for _, processor in figures.values()]


def peak(way: str, more: str, path: Path, small: Path) -> float:
    """Return the MiB that one run takes in a process of its own, beyond its imports."""
    code = PEAK.format(way=way, more=more)
    done = subprocess.run(
        [sys.executable, "-c", code, path, small], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def measure(*, tiny: bool, peers: bool) -> list[Row]:
    """Return the rows of the table."""
    with tempfile.TemporaryDirectory() as folder:
        return [*of_size(1_000 if tiny else 1_000_000, 1 if tiny else 3, Path(folder))]
