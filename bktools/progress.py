"""Progress of long steps: a bar in a terminal and in a notebook, nothing anywhere else."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from bktools.caller import is_command
from bktools.visible import visible


class Bar(Protocol):
    """What a step tells of its progress."""

    def update(self, n: int) -> object:
        """Say that `n` more were done."""


class _Shared:
    """A bar that threads may tell at once."""

    def __init__(self, bar: Bar) -> None:
        self._bar = bar
        self._lock = threading.Lock()

    def update(self, n: int) -> None:
        """Say that `n` more were done."""
        with self._lock:
            self._bar.update(n)


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
        yield _Shared(bar)


def note(text: str, *, shown: bool | None = None) -> None:
    """Say one line about a step where a bar would be shown, and in a command, whose standard error is kept by who runs it.

    Parameters
    ----------
    text : str
        One line.
    shown : bool, optional
        As in `progress`.
    """
    if shown or (shown is None and (_somebody_looks() or is_command())):
        # A notebook shows standard error as if something had gone wrong.
        print(visible(text), file=sys.stdout if in_notebook() else sys.stderr)


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook (not merely one that has the kernel's code loaded)."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


def _somebody_looks() -> bool:
    return sys.stderr.isatty() or in_notebook()


def _bar_class() -> type:
    # tqdm.auto warns in a notebook without ipywidgets; the plain bar is right there.
    if in_notebook():
        try:
            import ipywidgets  # noqa: F401
        except ImportError:
            from tqdm import tqdm as plain

            return plain
    from tqdm.auto import tqdm

    return tqdm
