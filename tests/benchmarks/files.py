"""Benchmarks of reading files, in turn with pandas and calamine, which check nothing, by processor time."""

from __future__ import annotations

import datetime as dt
import random
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


def compared(work: str, peer: str, ways: tuple[Callable[[], object], Callable[[], object]], runs: int) -> Row:
    """Return how much longer bktools takes than a peer, by processor time."""
    ours, theirs = processor_seconds(runs, *ways)
    note = f"bktools {ours:.2f} s, {peer.partition('(')[0]} {theirs:.2f} s"
    return Row(work, f"time ÷ {peer}", ours / theirs, note, 1.5, at_most=True)


def of_size(rows: int, runs: int, folder: Path) -> Iterator[Row]:
    """Yield each goal with what was reached; `rows` is of the largest file."""
    some, few = rows * 3 // 10, rows // 10
    csv, text = entries(folder / "entries.csv", rows), fec(folder / "FEC.txt", some)
    read_csv = partial(pd.read_csv, dtype="str")
    yield compared(
        f"read entries, CSV of {rows:,} rows",
        "read_csv(dtype=str)",
        (lambda: bktools.read_entries(csv), lambda: read_csv(csv)),
        runs,
    )
    yield compared(
        f"read FEC of {some:,} rows",
        "read_csv(dtype=str)",
        (lambda: bktools.read_general_ledger(text), lambda: read_csv(text, sep="\t", encoding="latin-1")),
        runs,
    )
    path = sie(folder / "book.se", some)
    (ours,) = processor_seconds(runs, lambda: bktools.read_general_ledger(path))
    yield Row(f"read SIE 4 of {some:,} postings", "seconds", ours, "", 2.5, at_most=True)
    book = workbook(folder / "book.xlsx", few)
    open_book = partial(python_calamine.CalamineWorkbook.from_path, str(book))
    yield compared(
        f"read XLSX of {few:,} rows",
        "calamine, which makes lists",
        (lambda: bktools.read_entries(book), lambda: open_book().get_sheet_by_index(0).to_python()),
        runs,
    )
    small = entries(folder / "small.csv", 320)
    (ours,) = processor_seconds(runs * 3, lambda: bktools.read_entries(small))
    yield Row("read 320 entries", "ms", ours * 1000, "", 15, at_most=True)


def processor_seconds(runs: int, *ways: Callable[[], object]) -> list[float]:
    """Return the median seconds of the processor that each way takes, in turn."""
    figures = in_turn({str(place): partial(measured, way) for place, way in enumerate(ways)}, runs)
    return [processor for _, processor in figures.values()]


def measure(*, tiny: bool) -> list[Row]:
    """Return the rows of the table."""
    with tempfile.TemporaryDirectory() as folder:
        return [*of_size(1_000 if tiny else 1_000_000, 1 if tiny else 3, Path(folder))]
