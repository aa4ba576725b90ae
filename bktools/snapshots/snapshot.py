"""A query of the service, the facts of its rows, and a snapshot of them, whose file name tells its order."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from bktools import disk
from bktools.contract import rules
from bktools.errors import StorageError

# The facts of a snapshot in the metadata of its file.
METADATA = b"bktools"

# A damaged file keeps its name behind a prefix that starts with a dot, so that engines skip it.
DAMAGED = ".damaged-"

_TIME = "%Y-%m-%dT%H%M%S.%fZ"
_NAME = re.compile(
    rf"({re.escape(DAMAGED)})?(\d{{6,}})_(\d{{4}}-\d\d-\d\dT\d{{6}}\.\d{{6}}Z)_([0-9a-f]{{16}})\.parquet",
    re.ASCII,
)


@dataclass(frozen=True)
class Query:
    """A search of the service: "categories" or "employees", with its filters that are set, lists sorted."""

    table: str
    filters: Mapping[str, Any]


@dataclass(frozen=True)
class Facts:
    """Time, number and checks of fetched rows."""

    # Time of the request for the first page, by this machine's clock; ISO 8601, UTC.
    fetched_at: str
    rows: int
    # The passed checks: "ids", "filters", "total", "joins".
    verified: tuple[str, ...] = ()
    # The failed checks, which `verify="warn"` accepted.
    complaints: tuple[str, ...] = ()
    # A digest of the credential, where the rows depend on who asks; "" otherwise.
    asked_by: str = ""

    @property
    def time(self) -> dt.datetime:
        """`fetched_at` as a datetime, UTC."""
        return rules.timestamp(self.fetched_at)

    @property
    def complete(self) -> bool:
        """Whether the rows are proven to be the whole table, by the service's count or by pages that join."""
        return not self.complaints and bool({"total", "joins"} & set(self.verified))


@dataclass(frozen=True)
class About:
    """What a snapshot's file says of itself; the owner is the environment and the address at that time."""

    table: str
    filters: Mapping[str, Any]
    owner: tuple[str, ...]
    facts: Facts

    @property
    def query(self) -> Query:
        """The query that the rows answer."""
        return Query(self.table, self.filters)


def about_of(schema: pa.Schema) -> About:
    """Return what the schema of a file says; raise `ValueError` where it says nothing of that kind."""
    return msgspec.json.decode((schema.metadata or {}).get(METADATA, b""), type=About)


@dataclass(frozen=True, order=True)
class Snapshot:
    """A committed snapshot, described by its file's name. Commits give the order, clocks do not."""

    # The place in the history of the query. Two processes that commit at once may take the same number.
    number: int
    # When the rows were fetched, UTC.
    time: dt.datetime
    # The first 16 digits of the SHA-256 of the file.
    digest: str
    path: Path
    # Whether the file was set aside.
    is_damaged: bool = False

    @classmethod
    def named(cls, folder: Path, name: str) -> Self | None:
        """Return the snapshot of a file name, None for another file."""
        match = _NAME.fullmatch(name)
        if match is None:
            return None
        damaged, number, time, digest = match.groups()
        try:
            return cls(
                int(number), dt.datetime.fromisoformat(time), digest, folder / name, is_damaged=bool(damaged)
            )
        except ValueError:  # no date
            return None

    @classmethod
    def committed(cls, folder: Path, number: int, time: dt.datetime, digest: str) -> Self:
        """Return a new snapshot with the name of its file."""
        return cls(
            number, time, digest, folder / f"{number:06}_{time.astimezone(dt.UTC):{_TIME}}_{digest}.parquet"
        )

    def size(self) -> int:
        """Return the bytes of the file; 0 when it is gone."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    def about(self) -> About | None:
        """Return what the file says of itself, without reading its rows; None when it cannot be read."""
        try:
            disk.refuse_foreign(self.path)
            return about_of(pq.read_schema(self.path))
        except StorageError:
            raise
        except (OSError, ValueError, pa.ArrowException):
            return None

    def facts(self) -> Facts | None:
        """Return the facts of its rows, without reading these; None when the file cannot be read."""
        about = self.about()
        return None if about is None else about.facts
