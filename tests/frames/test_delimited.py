"""`to_csv`: each profile as a file, and every value back from it."""

from __future__ import annotations

import csv
import datetime as dt
import re
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import bktools
from bktools.errors import ArgumentError, InputError, StorageError
from bktools.frames.delimited import PROFILES

# The signs of East Asian keyboards for = + - @.
FULL_WIDTH = "\uff1d\uff0b\uff0d\uff20"


def _cells(path: Path, profile: str) -> list[list[str]]:
    form = PROFILES[profile]
    with path.open(encoding="utf-8-sig" if form.for_spreadsheet else "utf-8", newline="") as file:
        return list(csv.reader(file, delimiter=form.delimiter))


def _as_meant(cell: str) -> str:
    """Undo what the profiles for spreadsheets add to text: ="0400", and an apostrophe before a formula."""
    if cell.startswith('="'):
        return cell[2:-1]
    return cell[1:] if re.match(r"'+[=+\-@\t\r]", cell) else cell


@pytest.mark.parametrize("profile", PROFILES)
def test_round_trip(awkward: pd.DataFrame, tmp_path: Path, profile: str):
    """Every value of every type comes back from every profile."""
    path = bktools.to_csv(awkward, tmp_path / "awkward.csv", profile)
    head, *rows = _cells(path, profile)
    assert head == list(awkward.columns)
    read = pd.DataFrame(rows, columns=head)
    guarded = PROFILES[profile].for_spreadsheet
    codes = [_as_meant(cell) if guarded else cell for cell in read["code"]]
    assert codes == [value if isinstance(value, str) else "" for value in awkward["code"]]
    amounts = [cell.replace(PROFILES[profile].decimal, ".") for cell in read["amount"]]
    assert [Decimal(cell) if cell else None for cell in amounts] == [
        None if pd.isna(value) else value for value in awkward["amount"]
    ]
    assert list(read["date"]) == ["2026-10-31"] * (len(awkward) - 1) + [""]
    assert list(read["at"]) == ["2026-10-31T23:59:59Z"] * (len(awkward) - 1) + [""]
    assert [cell == "true" for cell in read["archived"]] == list(awkward["archived"])
    assert [int(cell) for cell in read["count"]] == list(awkward["count"])


def test_bytes_of_the_profiles(tmp_path: Path):
    """BOM, delimiter, decimal mark and line end are those of the profile."""
    money = pd.ArrowDtype(pa.decimal128(38, 2))
    frame = pd.DataFrame({"code": ["0400"], "amount": pd.array([Decimal("-12.50")], dtype=money)})
    written = {name: bktools.to_csv(frame, tmp_path / f"{name}.csv", name).read_bytes() for name in PROFILES}
    assert written == {
        "excel": b'\xef\xbb\xbfcode,amount\r\n"=""0400""",-12.50\r\n',
        "excel-eu": b'\xef\xbb\xbfcode;amount\r\n"=""0400""";-12,50\r\n',
        "machine": b"code,amount\n0400,-12.50\n",
    }


def test_amounts_are_never_in_scientific_notation(tmp_path: Path):
    """A rate of many decimals is written out."""
    rates = pd.array(
        [Decimal("0.00000001"), None, Decimal("0E-8")], dtype=pd.ArrowDtype(pa.decimal128(38, 8))
    )
    path = bktools.to_csv(pd.DataFrame({"rate": rates, "n": [1, 2, 3]}), tmp_path / "rates.csv", "machine")
    assert path.read_text() == "rate,n\n0.00000001,1\n,2\n0.00000000,3\n"


@pytest.mark.parametrize("text", ["Mar 5", "1. Dez", "5 may 26", "3/4", "10:30", "5%", "FALSE"])
def test_text_that_a_spreadsheet_changes_is_kept(tmp_path: Path, text: str):
    """A day, a time, a share or a flag would become another value."""
    rows = _cells(
        bktools.to_csv(pd.DataFrame({"code": [text, f"{text} b"]}), tmp_path / "codes.csv"), "excel"
    )
    assert rows[1:] == [[f'="{text}"'], [f"{text} b"]]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("sign", [*"=+-@\t\r\n", *FULL_WIDTH], ids=lambda sign: f"U+{ord(sign):04X}")
def test_each_sign_of_a_formula_is_guarded(tmp_path: Path, profile: str, sign: str):
    """Text, bytes and headings with a sign get an apostrophe for a spreadsheet, none for a machine."""
    text = f"{sign}cmd|x"
    frame = pd.DataFrame({text: [text, f"'{text}"], "bytes": [text.encode()] * 2})
    led = "'" if PROFILES[profile].for_spreadsheet else ""
    assert _cells(bktools.to_csv(frame, tmp_path / "signs.csv", profile), profile) == [
        [led + text, "bytes"],
        [led + text, led + text],
        [f"{led}'{text}", led + text],
    ]


def test_codes_of_a_column_are_written_in_one_way(tmp_path: Path):
    """Where one code of a column needs it, all its numbers are text; other columns stay."""
    frame = pd.DataFrame({"code": ["027000", "425000", "A1", None], "number": ["425000", "7", "", "x"]})
    for profile in ("excel", "excel-eu"):
        _, *rows = _cells(bktools.to_csv(frame, tmp_path / "codes.csv", profile), profile)
        assert rows == [['="027000"', "425000"], ['="425000"', "7"], ["A1", ""], ["", "x"]]


def test_amounts_have_the_decimals_of_their_currency(tmp_path: Path):
    """Yen have no decimals, euros two, dinars three; a digit that says something is never dropped."""
    money = pd.ArrowDtype(pa.decimal128(38, 3))
    amounts = [Decimal(text) for text in ("3590", "-12.5", "100", "1.25", "0", "12.345")]
    frame = pd.DataFrame(
        {
            "amount": pd.array([*amounts, None], dtype=money),
            "currency": ["JPY", "EUR", "KWD", "JPY", "JPY", "EUR", "JPY"],
            "exported_amount": pd.array([*amounts, None], dtype=money),
            "exported_currency": [*["JPY"] * 6, None],
        }
    )
    for profile in PROFILES:
        _, *rows = _cells(bktools.to_csv(frame, tmp_path / "money.csv", profile), profile)
        written = [[cell.replace(PROFILES[profile].decimal, ".") for cell in row] for row in rows]
        assert [row[0] for row in written] == ["3590", "-12.50", "100.000", "1.250", "0", "12.345", ""]
        assert [row[2] for row in written] == ["3590", "-12.500", "100", "1.250", "0", "12.345", ""]
    plain = bktools.to_csv(frame[["amount"]], tmp_path / "plain.csv").read_text("utf-8-sig")
    assert plain.splitlines()[1] == '"3590.000"'


def test_headings_keep_their_zeros(tmp_path: Path):
    """A heading that a spreadsheet would take for a number or a month is kept as text, as a code is."""
    path = bktools.to_csv(pd.DataFrame({"0400": [1], "2026-10": [2], 7: [3]}), tmp_path / "headings.csv")
    assert _cells(path, "excel")[0] == ['="0400"', '="2026-10"', '="7"']


def test_times_without_a_zone(tmp_path: Path):
    """They are dates only where every one of a column is midnight; else none loses its time of day."""
    days = pd.to_datetime(["2026-10-31", None])
    frame = pd.DataFrame({"day": days, "time": days + pd.Timedelta(minutes=750), "late": [days[0], days[0]]})
    frame.loc[1, "late"] += pd.Timedelta(milliseconds=250)
    frame["clock"] = [dt.time(12, 30), dt.time(12, 30, 0, 250_000)]
    for profile in PROFILES:
        _, *rows = _cells(bktools.to_csv(frame, tmp_path / "times.csv", profile), profile)
        assert rows == [
            ["2026-10-31", "2026-10-31T12:30:00", "2026-10-31T00:00:00", "12:30:00"],
            ["", "", "2026-10-31T00:00:00.250", "12:30:00.250"],
        ]


def test_times_with_a_zone_are_in_utc(tmp_path: Path):
    """A zone may be a name, or an offset as ISO 8601 has it."""
    times = pd.to_datetime(["2026-10-31T12:30:00.5+02:00"])
    frame = pd.DataFrame({"offset": times, "zone": times.tz_convert("Asia/Tokyo")})
    _, row = _cells(bktools.to_csv(frame, tmp_path / "times.csv", "machine"), "machine")
    assert row == ["2026-10-31T10:30:00.500Z"] * 2


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([pd.Timedelta(hours=1)], r"column code holds duration\[.*which cannot be written as text"),
        ([["a", "b"]], r"column code holds list<.*which cannot be written as text"),
        ([{"a": 1}], r"column code holds struct<.*which cannot be written as text"),
        ([pd.Period("2026-10")], r"column code holds extension<.*which cannot be written as text"),
        ([b"\xff"], "column code holds bytes that are not UTF-8"),
    ],
)
def test_what_has_no_one_form_is_refused(tmp_path: Path, values: list[object], said: str):
    """A column that could only be guessed at is one line that names it, and the file is as it was."""
    path = tmp_path / "kept.csv"
    path.write_text("kept")
    with pytest.raises(InputError, match=said) as caught:
        bktools.to_csv(pd.DataFrame({"code": values}), path, "machine")
    assert "\n" not in str(caught.value)
    assert path.read_text() == "kept"


def test_refusals_leave_what_was_there(awkward: pd.DataFrame, tmp_path: Path):
    """An unknown profile and a folder that is not there are one line, and nothing is written."""
    path = tmp_path / "kept.csv"
    path.write_text("kept")
    with pytest.raises(ArgumentError, match="profile must be one of excel, excel-eu, machine"):
        bktools.to_csv(awkward, path, "lotus")
    with pytest.raises(StorageError, match="cannot be written"):
        bktools.to_csv(awkward, tmp_path / "no-such-folder" / "file.csv")
    assert path.read_text() == "kept"
    assert [item.name for item in tmp_path.iterdir() if "csv" in item.name] == ["kept.csv"]
