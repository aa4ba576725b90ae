"""Snapshots of past loads behind four verbs: `append`, `history`, `read`, `prune`."""

from bktools.store.folder import FolderStore
from bktools.store.history import Facts, History, Query, Snapshot
from bktools.store.store import Pruned, Store

__all__ = ["Facts", "FolderStore", "History", "Pruned", "Query", "Snapshot", "Store"]
