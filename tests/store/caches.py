"""Cache folders with snapshots made by hand."""

from __future__ import annotations

import datetime as dt
import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from bktools.frames.schema import CATEGORIES
from bktools.settings import load_settings
from bktools.store import Facts, FolderStore, Query

COMPANY = str(uuid.UUID(int=1))
QUERY = Query("search_categories", {"company_id": COMPANY})
TOKEN = "the-token-of-the-service"
ADDRESS = "http://127.0.0.1:9"


class Cache:
    """The cache folder of one machine, with the settings of one credential."""

    def __init__(self, folder: Path, token: str = TOKEN, environment: str = ADDRESS, **settings: object) -> None:
        # The folder is the configured one, as automatic pruning is for the user's cache alone.
        self.settings = load_settings(environment, env={}, token=token, cache_dir=folder, data_dir=folder, **settings)
        self.store = FolderStore(self.settings)

    def commit(self, name: str, *, rows: int = 3, moment: dt.datetime | None = None, query: Query = QUERY):
        """Commit a snapshot whose rows have a name."""
        ids = [str(uuid.UUID(int=number + 1)) for number in range(rows)]
        columns = {"id": ids, "company_id": [COMPANY] * rows, "category_group_id": [COMPANY] * rows}
        columns |= {"name": [name] * rows, "archived": [False] * rows}
        columns |= {column: [None] * rows for column in ("account_id", "tax_code_id", "metadata")}

        def write(path: Path) -> Facts:
            pq.write_table(pa.table(columns, schema=CATEGORIES), path, write_page_checksum=True)
            return Facts((moment or dt.datetime.now(dt.UTC)).isoformat(), rows, ("ids", "total"))

        return self.store.append(query, write)
