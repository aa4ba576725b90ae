"""Reads the worlds of tests: CSV files with a promise a line, which a person opens in any program."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

WORLDS = Path(__file__).parent / "worlds"


def lines_of(name: str) -> list[dict[str, str]]:
    """Return the lines of a file of worlds, such as `reconcile/checks.csv`."""
    with (WORLDS / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def pairs(text: str) -> dict[str, str]:
    """Return texts by name, from a text such as `code=17; name=Bank`; `x*300` is a long text."""
    return dict(pair.replace("x*300", "x" * 300).split("=", 1) for pair in text.split("; ") if pair)


def written(values: Mapping[str, Any]) -> dict[str, str]:
    """Return values by name as `pairs` reads them; the texts of a list have a plus between them."""
    return {name: _text(value) for name, value in values.items()}


def _text(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return "+".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
