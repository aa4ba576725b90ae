"""Whatever a file holds, it is read or refused in one line."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from bktools.errors import InputError
from bktools.inputs.accounts import read_accounts
from bktools.inputs.chart_of_accounts import read_chart_of_accounts
from bktools.inputs.entries import read_entries

PIECES = [
    *"\n\r,;|\t\"' 01.-\0",
    "\r\n",
    '""',
    "Konto",
    "Code",
    "Name",
    "Aktiv",
    "ja",
    "Tax Code",
    "0.1",
    "External ID",
    "id",
    "company_id",
    "amount",
    "date",
    "status",
    "1.234,5",
    "31.10.2026",
    "1b4e28ba-2fa1-41d2-883f-0016d3cca427",
    "ü",
    "sep=;",
    "<",
]
LINES = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)
HEADED = st.tuples(
    st.sampled_from(["Konto;Name;Aktiv;Tax Code\n", "id,company_id,amount,date,status,currency\n", "id\tcode\tname\n"]),
    LINES,
).map("".join)


@settings(deadline=None, max_examples=400)
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
def test_read_or_refused(data, read):
    """Every file gives a frame with rows or an InputError of one line, and nothing else."""
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
    assert "\n" not in outcome
