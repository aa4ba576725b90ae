"""What every handler works on."""

from __future__ import annotations

from dataclasses import dataclass

from bktools.sandbox.store import Store


@dataclass(frozen=True)
class State:
    """The store, and what a server was started with.

    Parameters
    ----------
    store : Store
        The state, used by the server's thread alone.
    max_limit : int
        Most rows of a page; a request for more silently gets this many.
    job_seconds : float
        From the creation of an export job to its end.
    """

    store: Store
    max_limit: int
    job_seconds: float
