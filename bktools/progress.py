"""Shows the progress of long steps: a bar in a terminal or a notebook, otherwise nothing."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from bktools.caller import is_command
from bktools.visible import visible


class Bar(Protocol):
    """The progress of one step."""

    def update(self, n: int) -> object:
        """Count `n` more items as done."""


class _ThreadSafe:
    """A bar that several threads may update."""

    def __init__(self, bar: Bar) -> None:
        self._bar = bar
        self._lock = threading.Lock()

    def update(self, n: int) -> None:
        """Count `n` more items as done."""
        with self._lock:
            self._bar.update(n)


class _Silent:
    def update(self, n: int) -> None:
        """Do nothing."""


SILENT: Bar = _Silent()


@contextmanager
def progress(label: str, *, total: int | None = None, unit: str = "row", shown: bool | None = None) -> Iterator[Bar]:
    """Show a bar while a step runs.

    Parameters
    ----------
    label : str
        Name of the step, a word or two.
    total : int, optional
        Number of items, where it is known.
    unit : str
        Name of one item.
    shown : bool, optional
        True always shows a bar, False never. Default: a bar in a terminal or a notebook.
    """
    if shown is False or (shown is None and not _is_interactive()):
        yield SILENT
        return
    with _bar_class()(total=total, desc=label, unit=f" {unit}", leave=False, delay=0.3) as bar:
        yield _ThreadSafe(bar)


def note(text: str, *, shown: bool | None = None) -> None:
    """Print one line about a step, where a bar would be shown and in every command.

    Parameters
    ----------
    text : str
        One line.
    shown : bool, optional
        As in `progress`.
    """
    if shown or (shown is None and (_is_interactive() or is_command())):
        # A notebook shows standard error in red, like an error.
        print(visible(text), file=sys.stdout if in_notebook() else sys.stderr)


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook; importing IPython alone does not count."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


def _is_interactive() -> bool:
    return sys.stderr.isatty() or in_notebook()


def _bar_class() -> type:
    # Without ipywidgets, tqdm.auto warns in a notebook; the plain bar does not.
    if in_notebook():
        try:
            import ipywidgets  # noqa: F401
        except ImportError:
            from tqdm import tqdm as plain

            return plain
    from tqdm.auto import tqdm

    return tqdm
