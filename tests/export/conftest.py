"""Entries made by hand, each one ready unless a test says otherwise."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest
from hand_made import COMPANY, entry_id


@pytest.fixture(scope="session")
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
