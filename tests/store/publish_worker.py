"""A program that publishes the snapshots of a cache, and kills itself before or after the commit with a number."""

from __future__ import annotations

import itertools
import os
import signal
import sys

import deltalake

from bktools.settings import load_settings
from bktools.store import DeltaStore, FolderStore

ADDRESS, TOKEN, CACHE, URI, MOMENT, NUMBER = sys.argv[1:]

write = deltalake.write_deltalake
commits = itertools.count(1)


def write_or_die(*args, **kwargs):
    """Commit, and die at the moment that was asked for."""
    number = str(next(commits))
    if (MOMENT, number) == ("before", NUMBER):
        os.kill(os.getpid(), signal.SIGKILL)
    write(*args, **kwargs)
    if (MOMENT, number) == ("after", NUMBER):
        os.kill(os.getpid(), signal.SIGKILL)


deltalake.write_deltalake = write_or_die
settings = load_settings(ADDRESS, env={}, token=TOKEN, cache_dir=CACHE, data_dir=CACHE)
print("ready", flush=True)
DeltaStore(settings, URI).publish(FolderStore(settings))
