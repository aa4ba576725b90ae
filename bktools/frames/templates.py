"""Converts texts with SQL in braces to SQL, for checks and actions: `"{erp_account} has no name in the chart"`."""

from __future__ import annotations

import re


def sql(template: str | None) -> str:
    """Return a text with SQL in braces as one SQL expression.

    Examples
    --------
    >>> sql("the chart has {shown(erp_code)}")
    "concat('the chart has ', shown(erp_code))"
    >>> sql("{action}"), sql("none"), sql(None)
    ('action', "'none'", 'NULL')
    """
    if template is None:
        return "NULL"
    pieces = re.split(r"\{(.*?)\}", template)
    parts = [piece if place % 2 else quoted(piece) for place, piece in enumerate(pieces) if piece]
    return parts[0] if len(parts) == 1 else f"concat({', '.join(parts)})"


def quoted(text: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"
