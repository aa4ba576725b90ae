"""Progress of long steps: a bar in a terminal and in a notebook, nothing anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Bar(Protocol):
    """What a step tells of its progress."""

    def update(self, n: int) -> object:
        """Say that `n` more were done."""


class _Silent:
    def update(self, n: int) -> None:
        """Say nothing."""


@contextmanager
def progress(label: str, *, total: int | None = None, unit: str = "row", shown: bool | None = None) -> Iterator[Bar]:
    """Show a bar while a step runs.

    Parameters
    ----------
    label : str
        What is done, a word or two.
    total : int, optional
        How many there are to do, where that is known.
    unit : str
        What is counted.
    shown : bool, optional
        False for silence, True for a bar in any case; by default, a bar where somebody can see it.
    """
    if shown is False or (shown is None and not _somebody_looks()):
        yield _Silent()
        return
    with _bar_class()(total=total, desc=label, unit=f" {unit}", leave=False, delay=0.3) as bar:
        yield bar


def _somebody_looks() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def _bar_class() -> type:
    # tqdm.auto warns in a notebook without ipywidgets; the plain bar is right there.
    if "ipykernel" in sys.modules:
        try:
            import ipywidgets  # noqa: F401
        except ImportError:
            from tqdm import tqdm as plain

            return plain
    from tqdm.auto import tqdm

    return tqdm
