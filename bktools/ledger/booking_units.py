"""Which entries a ledger books together."""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa


@dataclass(frozen=True)
class BookingUnit:
    """Which entries make a group, and what of a voucher holds one: all of it, or an account's part."""

    name: str
    by: tuple[str, ...]
    unit: str = "voucher"

    @property
    def of_sums(self) -> bool:
        return self.by not in (("e",), ("id",))

    @property
    def level(self) -> int:
        """How fine the unit is: days as a calendar, a working week or a closed month has them are alike."""
        return LEVELS.index("day" if self.name in ("work_day", "open_day") else self.name)

    @property
    def clock(self) -> str:
        return next((name for name in self.by if name in ("work_day", "week_end", "month_end")), "day")


SUMS = {
    "document": ("document",), "supplier_day": ("supplier", "day"), "day": ("day",), "work_day": ("work_day",), "open_day": ("open_day",), "week": ("week_end",),
    "batch_week": ("batch", "week_end"), "batch_supplier": ("batch", "supplier"),
    "batch_employee": ("batch", "employee"), "batch": ("batch",), "month": ("month_end",),
}  # fmt: skip
LEVELS = ["entry", "receipt", *(name for name in SUMS if name not in ("work_day", "open_day"))]
UNITS = (
    BookingUnit("entry", ("e",), "own"),
    BookingUnit("receipt", ("id",)),
    *(
        BookingUnit(name, by if unit == "voucher" else (*by, "account"), unit)
        for name, by in SUMS.items()
        for unit in ("account", "voucher")
    ),
)
CLOCKS = (
    "day",
    "work_day",
    "open_day",
    "week_end",
    "month_end",
    "sent_day",
)  # from which a voucher's delay may count

# The units of each way in which a person says that a ledger books.
STYLES = {
    "entry": ("entry", "receipt"),
    "supplier_day": ("supplier_day",),
    "account_day": ("day", "work_day", "open_day"),
    "document": ("document",),
    "batch": ("batch", "batch_supplier", "batch_employee"),
    "month": ("month",),
}


def units_of_style(style: str | None) -> tuple[BookingUnit, ...]:
    """The units of a ledger that books in a style, by default all."""
    return UNITS if style is None else tuple(unit for unit in UNITS if unit.name in STYLES[style])
