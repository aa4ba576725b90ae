"""Shared snapshots: publish those of the cache, and read the published ones back by `as_of`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa

from bktools.connection import service_or_default
from bktools.errors import ArgumentError
from bktools.frames.schema import PUBLISHED, to_pandas
from bktools.service import Service
from bktools.settings import location
from bktools.store import DeltaStore, Facts, FolderStore, History, Pruned, Query, Snapshot, Store
from bktools.tables.options import Options


def to_delta(
    uri: str | Path | None = None,
    *,
    storage_options: Mapping[str, str] | None = None,
    service: Service | None = None,
) -> pd.DataFrame:
    """Publish the snapshots of past loads to Delta tables. Safe to re-run: adds only what is missing.

    Spark, DuckDB, Polars and data warehouses read the tables in place: `URI/categories` and `URI/employees` have the rows
    of every published snapshot, `URI/snapshots` lists the snapshots. With `BKTOOLS_SNAPSHOTS` set to the same address,
    `as_of` reads them, too.

    Parameters
    ----------
    uri : str or Path, optional
        Folder of the tables: s3://bucket/prefix, gs://, az://, abfss://, or a path. Default: the setting `snapshots`.
    storage_options : mapping of str to str, optional
        Options of the object storage, as the package `deltalake` takes them. Default: its environment variables, such as
        AWS_ACCESS_KEY_ID and AWS_ENDPOINT_URL.
    service : Service, optional
        Default: the configured one. Nothing is requested from it.

    Returns
    -------
    DataFrame
        One row per table: table, snapshots and rows (published now), already_there (snapshots), uri.

    Raises
    ------
    ArgumentError
        When no address is given, or the tables there mix the sandbox with a real service.
    ConfigurationError
        When the address is malformed, or the package `deltalake` is missing (`pip install 'bktools[delta]'`).
    StorageError
        When the storage refuses. Tables that were finished before stay.

    Notes
    -----
    Each row has the columns environment, service (its address), filters (JSON; {} for a whole table), fetched_at and
    snapshot before those of `load_categories` or `load_employees` (interface, sections 2.1 and 2.6). Everybody who can
    read the tables sees what the publisher was allowed to see.

    Examples
    --------
    >>> import bktools, tempfile
    >>> with bktools.Sandbox() as service, tempfile.TemporaryDirectory() as folder:
    ...     categories = bktools.load_categories(service=service)
    ...     published = bktools.to_delta(folder, service=service)
    >>> int(published["rows"].sum()) == len(categories)
    True
    """
    service = service_or_default(service)
    address = uri if uri is not None else service.settings.snapshots
    if address is None:
        raise ArgumentError(
            "uri", "must be given: an address such as s3://bucket/prefix, or a path (or set BKTOOLS_SNAPSHOTS)"
        )
    store = DeltaStore(service.settings, location("uri", address), storage_options)
    found = [asdict(published) for published in store.publish(FolderStore(service.settings))]
    return to_pandas(pa.Table.from_pylist(found, PUBLISHED))


@dataclass(frozen=True)
class WithShared:
    """The cache together with the shared snapshots, for a load of a past moment; a `Store` that is only read.

    Parameters
    ----------
    cache : Store
        The snapshots of this machine.
    shared : DeltaStore
        The snapshots that were published.
    options : Options
        The options of the load, with the moment.
    schemas : mapping
        Operation to the columns of its rows.
    """

    cache: Store
    shared: DeltaStore
    options: Options
    schemas: Mapping[str, pa.Schema]

    def history(self, query: Query) -> History:
        """Return the snapshot that each of the two has for the moment, the later one last."""
        found = [self.options.fresh(store.history(query)) for store in (self.shared, self.cache)]
        snapshots = sorted((item for item in found if item is not None), key=lambda item: item.time)
        return History(query, tuple(snapshots))

    def read(self, query: Query, snapshot: Snapshot) -> Iterator[pa.Table]:
        """Yield the rows of a snapshot from where it is."""
        # Only a file of the cache has a size.
        if snapshot.size:
            yield from self.cache.read(query, snapshot)
            return
        schema = self.schemas[query.operation]
        for rows in self.shared.read(query, snapshot):
            yield rows.select(schema.names).cast(schema)

    def append(self, query: Query, write: Callable[[Path], Facts]) -> Snapshot:
        """Commit to the cache."""
        return self.cache.append(query, write)

    def prune(self, query: Query, older_than: dt.timedelta, *, now: dt.datetime | None = None) -> Pruned:
        """Prune the cache."""
        return self.cache.prune(query, older_than, now=now)
