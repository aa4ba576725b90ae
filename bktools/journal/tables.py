"""Opens a journal to read it, and turns its rows, whose values are text, into Arrow tables of a schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.connection import service_or_default
from bktools.contract import rules
from bktools.frames.schema import COUNT, FLAG, TEXT, to_pandas
from bktools.frames.tables import in_one_scale
from bktools.journal.database import Row
from bktools.journal.journal import Journal
from bktools.journal.records import loaded, named
from bktools.journal.sentences import sentence_of
from bktools.journal.writing import open_up_to_date
from bktools.service import Service


@contextmanager
def opened(company: str | None, service: Service | None) -> Iterator[tuple[Journal, str | None]]:
    """Yield the journal of a service, open to read, and the UUID of a company or None for all."""
    settings = service_or_default(service).settings
    company_id = None if company is None else rules.company_of(settings, company)
    with open_up_to_date(settings) as journal:
        yield journal, company_id


def frame_of(table: pa.Table, name: str, service: Service, **about: Any) -> pd.DataFrame:
    """Return a table of the journal as a frame, with where it came from."""
    source = {"environment": service.settings.environment, "table": name, "rows": len(table)}
    return to_pandas(table, {**source, "complete": True, **about})


def table_of(pieces: Iterable[Sequence[Row]], schema: pa.Schema) -> pa.Table:
    """Return rows, in several lists, as a table of a schema; columns that it lacks are left out.

    Amounts have the decimals of the finest one.
    """
    # As the journal has its values: text, and numbers as they are.
    texts = pa.schema([field.with_type(COUNT if field.type in {COUNT, FLAG} else TEXT) for field in schema])
    tables = [pa.Table.from_pylist(piece, schema=texts) for piece in pieces]
    if not tables:
        return schema.empty_table()
    table = pa.concat_tables(tables)
    for place, field in enumerate(schema):
        column = table.column(place)
        column = _exact(column) if pa.types.is_decimal(field.type) else pc.cast(column, field.type)
        table = table.set_column(place, field.with_type(column.type), column)
    return table


def _exact(amounts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return texts as amounts with the decimals of the finest one."""
    decimals = pc.utf8_length(pc.replace_substring_regex(amounts, r"^[^.]*\.?", ""))
    return in_one_scale(amounts, scale=pc.max(decimals).as_py() or 0)[0]


def with_words(row: Row) -> dict[str, Any]:
    """Return an event with its sentence, and with who did it: a person, or the process that wrote it."""
    facts = loaded(row["facts"])
    done_by = row.get("person") or named(row["login"], row["machine"], row["process"])
    return {**row, "message": sentence_of(row["code"], facts) or None, "done_by": done_by}
