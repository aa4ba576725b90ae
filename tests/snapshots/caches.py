"""Cache folders with snapshots made by hand."""

from __future__ import annotations

import datetime as dt
import uuid
from pathlib import Path

import pyarrow as pa

from bktools.frames.schema import CATEGORIES
from bktools.settings import load_settings
from bktools.snapshots.snapshot import Facts, Query, Snapshot
from bktools.snapshots.store import Store

COMPANY = str(uuid.UUID(int=1))
QUERY = Query("categories", {"company_id": COMPANY})
TOKEN = "the-token-of-the-service"
ADDRESS = "http://127.0.0.1:9"
ROWS = 200


def rows_of(name: object, count: int = ROWS) -> pa.Table:
    """Return rows that all have a name."""
    columns = {"id": [str(uuid.UUID(int=number + 1)) for number in range(count)], "name": [f"{name}"] * count}
    columns |= dict.fromkeys(("company_id", "category_group_id"), [COMPANY] * count)
    columns["archived"] = [False] * count
    return pa.table([columns.get(field.name, [None] * count) for field in CATEGORIES], schema=CATEGORIES)


class Cache:
    """The cache folder of one machine, as one credential sees it."""

    def __init__(self, folder: Path | str, environment: str = ADDRESS, **settings: object) -> None:
        given = {"token": TOKEN, "cache_dir": folder, "data_dir": folder} | settings
        self.settings = load_settings(environment, env={}, **given)
        self.store = Store(self.settings)

    def commit(
        self, name: object, *, rows: int = ROWS, moment: dt.datetime | None = None, query: Query = QUERY
    ) -> Snapshot:
        """Commit a snapshot whose rows have a name."""
        time = moment or dt.datetime.now(dt.UTC)
        return self.store.append(query, rows_of(name, rows), Facts(time.isoformat(), rows, ("ids", "total")))

    def history(self, query: Query = QUERY) -> list[Snapshot]:
        """Return the snapshots of a query."""
        return self.store.history(query)

    def name_in(self, snapshot: Snapshot) -> str | None:
        """Return the name in a snapshot's rows when it is whole, None when it is damaged."""
        found = self.store.read(snapshot)
        if found is None:
            return None
        rows, facts = found
        [name] = set(rows["name"].to_pylist())
        assert rows.num_rows == facts.rows == ROWS
        return str(name)

    def newest(self) -> str | None:
        """Return the name in the rows of the newest snapshot."""
        return self.name_in(self.history()[-1])
