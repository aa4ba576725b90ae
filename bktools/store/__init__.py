"""Snapshots of past loads behind four verbs: `append`, `history`, `read`, `prune`."""

from bktools.store.folder import FolderStore, Pruned
from bktools.store.history import Facts, History, Query, Snapshot

__all__ = ["Facts", "FolderStore", "History", "Pruned", "Query", "Snapshot"]
