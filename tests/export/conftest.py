"""Entries made by hand."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest
from hand_made import entries_of


@pytest.fixture(scope="session")
def entries() -> Callable[..., pd.DataFrame]:
    """A function that makes entries of one company: `entries(3, approved=[True, False, True])`."""
    return entries_of
