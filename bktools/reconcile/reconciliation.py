"""The result of a reconciliation: what was found, the verb of each account, and the coverage of the categories."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Reconciliation:
    """What a reconciliation found."""

    findings: Any
    actions: Any
    coverage: Any
    summary: Any
