"""Entries made by hand, each one ready unless a test says otherwise."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest

COMPANY = "9b2f9a3e-3f0c-4d62-8f0e-0d6f3a1c2b4d"


def entry_id(number: int) -> str:
    """Return the id of an entry by its number; numbers and ids sort alike."""
    return str(uuid.UUID(int=number + 1, version=4))


@pytest.fixture
def entries() -> Callable[..., pd.DataFrame]:
    """A function that makes entries of one company: `entries(3, approved=[True, False, True])`."""

    def make(count: int, **columns: object) -> pd.DataFrame:
        frame = pd.DataFrame(
            {
                "id": [entry_id(number) for number in range(count)],
                "company_id": [COMPANY] * count,
                "date": pd.to_datetime(["2026-10-01"] * count),
                "amount": pd.array([Decimal("10.10")] * count, dtype=pd.ArrowDtype(pa.decimal128(12, 2))),
                "currency": ["EUR"] * count,
            }
        )
        return frame.assign(**columns)

    return make
