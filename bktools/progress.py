"""Shows the progress of long steps: a bar in a terminal or a notebook, otherwise nothing."""

from __future__ import annotations

import html
import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from bktools.caller import is_command
from bktools.consoles import in_notebook
from bktools.visible import visible

log = logging.getLogger("bktools")


class Bar:
    """The progress of one step, for several threads; it is drawn where it is shown."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.drawn: Any = None

    def update(self, n: int) -> None:
        """Count `n` more items as done."""
        if self.drawn is not None:
            with self._lock:
                self.drawn.update(n)


# Set for a process that shows neither bars nor notes; notes are still logged.
hushed = threading.Event()

# The bar for a step within another step whose bar is shown.
SILENT = Bar()


@contextmanager
def progress(
    label: str, *, total: int | None = None, unit: str = "row", shown: bool | None = None
) -> Iterator[Bar]:
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
        True always shows a bar, False never. Default: a bar in a terminal or in a notebook of Jupyter.
    """
    bar = Bar()
    with ExitStack() as stack:
        if shown or (shown is None and _is_interactive() and not hushed.is_set()):
            from tqdm import tqdm

            where: Any = {"file": _Output(), "ncols": 80} if in_notebook() else {}
            drawn = tqdm(total=total, desc=label, unit=f" {unit}", leave=False, delay=0.3, **where)
            bar.drawn = stack.enter_context(drawn)
        yield bar


def note(text: str, *, shown: bool | None = None) -> None:
    """Log one line about a step; print it in commands, and where `progress` would show a bar for `shown`."""
    log.info("%s", text)
    is_page = in_notebook()
    if shown or (shown is None and (is_page or _is_interactive() or is_command()) and not hushed.is_set()):
        # A notebook shows standard error in red, like an error.
        print(visible(text), file=sys.stdout if is_page else sys.stderr, flush=True)


class _Output:
    """An output of a notebook that a bar is written to.

    The bar of tqdm for notebooks is a widget, of which a saved or exported notebook keeps an error or half a
    bar. This output is empty in the end.
    """

    encoding = "utf-8"

    def __init__(self) -> None:
        self._handle: Any = None

    def write(self, text: str) -> None:
        """Replace what the output shows."""
        from IPython.display import display

        line = text.strip()
        shown = {"text/html": f"<pre>{html.escape(line)}</pre>" if line else "", "text/plain": line}
        if self._handle is not None:
            self._handle.update(shown, raw=True)
        elif line:
            self._handle = display(shown, raw=True, display_id=True)

    def flush(self) -> None:
        """Do nothing: it is shown already."""


def _is_interactive() -> bool:
    return sys.stderr.isatty() or in_notebook()
