"""Snapshots of past loads behind four verbs: `append`, `history`, `read`, `prune`; shared as Delta tables by `publish`."""

from bktools.store.delta import DeltaStore, Published
from bktools.store.folder import FolderStore
from bktools.store.history import Facts, History, Query, Snapshot
from bktools.store.store import Pruned, Store

__all__ = ["DeltaStore", "Facts", "FolderStore", "History", "Pruned", "Published", "Query", "Snapshot", "Store"]
