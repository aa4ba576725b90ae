"""Whether an id came twice, told exactly and in bounded memory however long the table is."""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.uint64]

# 16 bytes each; more wait in a file.
MOST_HELD = 2**17
BUCKETS = 64

_WIDTH = 16
_ODD = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(58)  # the upper six bits of a hash are its bucket


class Ids:
    """The ids of a table, as pairs of 64-bit numbers.

    What is more than `MOST_HELD` goes to a nameless file in runs sorted by hash. Equal ids have equal hashes, so each
    of `BUCKETS` ranges of hashes can be looked at alone: the memory is that of one, a 64th of the table's.

    Parameters
    ----------
    folder : Path
        Where the file is made when it is needed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: list[Numbers] = []
        self._count_held = 0
        self._file: IO[bytes] | None = None
        self._runs: list[tuple[int, list[int]]] = []
        self.count = 0

    def add(self, ids: Numbers) -> None:
        """Take the ids of more rows."""
        self._held.append(ids)
        self._count_held += len(ids)
        self.count += len(ids)
        if self._count_held > MOST_HELD:
            self._spill()

    def repeated(self) -> int:
        """Return how many ids came that had come before."""
        if self._file is None:
            return _repeated(self._take_held())
        self._spill()
        return sum(_repeated(self._bucket(number)) for number in range(BUCKETS))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def _take_held(self) -> Numbers:
        held = np.concatenate(self._held) if self._held else np.empty((0, 2), np.uint64)
        self._held, self._count_held = [], 0
        return held

    def _spill(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - lives as long as this object
        ids = self._take_held()
        hashes = _hashes(ids)
        order = np.argsort(hashes)
        edges = np.searchsorted(hashes[order] >> _SHIFT, np.arange(BUCKETS + 1, dtype=np.uint64))
        self._runs.append((self._file.tell(), edges.tolist()))
        self._file.write(ids[order].data)

    def _bucket(self, number: int) -> Numbers:
        assert self._file is not None
        parts = []
        for begin, edges in self._runs:
            self._file.seek(begin + edges[number] * _WIDTH)
            raw = self._file.read((edges[number + 1] - edges[number]) * _WIDTH)
            parts.append(np.frombuffer(raw, np.uint64).reshape(-1, 2))
        return np.concatenate(parts)


def _hashes(ids: Numbers) -> Numbers:
    mixed: Any = (ids[:, 0] ^ (ids[:, 1] * _ODD)) * _ODD
    return mixed  # type: ignore[no-any-return]


def _repeated(ids: Numbers) -> int:
    hashes = np.sort(_hashes(ids))
    suspects = hashes[1:][hashes[1:] == hashes[:-1]]
    if not len(suspects):
        return 0
    # Another id may share the hash, so the few that do are compared whole.
    alike = ids[np.isin(_hashes(ids), suspects)]
    return len(alike) - len(np.unique(alike, axis=0))
