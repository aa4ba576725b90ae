"""The result of a reconciliation: what was found, the verb of each account, and the coverage of the categories."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Reconciliation:
    """What a reconciliation found."""

    findings: Any
    coverage: Any
    list_actions: Callable[[], Any]

    @functools.cached_property
    def actions(self) -> Any:
        return self.list_actions()
