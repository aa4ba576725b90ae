"""`Service.pages`: a table page by page, in bounded memory."""

from __future__ import annotations

import datetime as dt
import warnings
from collections.abc import Iterator
from contextlib import closing
from typing import Any, SupportsIndex

import pandas as pd

from bktools.contract import rules
from bktools.contract.categories import CATEGORIES
from bktools.contract.employees import EMPLOYEES
from bktools.contract.noun import Noun
from bktools.errors import ArgumentError, DriftError, UnverifiedTableWarning
from bktools.frames.records import rows_of
from bktools.frames.schema import schema_of, to_pandas
from bktools.service import Service
from bktools.service.pages import by_cursor, opening, search_of
from bktools.store import FolderStore, Query
from bktools.tables.options import Options
from bktools.tables.read import Company, Load
from bktools.tables.rows import Checks

TABLES: dict[str, Noun[Any]] = {noun.name: noun for noun in (CATEGORIES, EMPLOYEES)}


def pages(
    service: Service, table: str, company: Company = None, *, limit: SupportsIndex, verify: str, **filters: Any
) -> Iterator[pd.DataFrame]:
    """Check the arguments, and return the iterator of `Service.pages`."""
    noun = TABLES.get(table)
    if noun is None:
        raise ArgumentError("table", f"must be one of {', '.join(TABLES)}", table)
    known = [item.argument for item in noun.filters if item.argument != "company_id"]
    unknown = next((name for name in filters if name not in known), None)
    if unknown is not None:
        raise ArgumentError(unknown, f"is not a filter of the {table}: choose from {', '.join(known)}")
    rows = rules.whole_number("limit", limit, smallest=1, largest=rules.INT32_MAX)
    options = Options.of(verify=verify, progress=False)
    queries = Load(service, options, FolderStore(service.settings)).queries(noun, company, filters)
    return _pages(service, noun, queries, rows, strict=options.strict)


def _pages(
    service: Service, noun: Noun[Any], queries: list[Query], limit: int, *, strict: bool
) -> Iterator[pd.DataFrame]:
    schema, advice = schema_of(noun.record), '; verify="warn" reads them with a warning instead'
    for query in queries:
        checks = Checks(noun, query.narrowed_to, strict=strict, advice=advice)
        about = {
            "environment": service.settings.environment,
            "base_url": service.settings.identity,
            "table": noun.name,
            "filters": query.narrowed_to,
            "source": ["service"],
            "fetched_at": [dt.datetime.now(dt.UTC).isoformat()],
            "complete": False,
        }
        search = search_of(service, noun, query.filters)
        first = opening(search, limit=limit)
        # Without a count, only pages that join prove that the table is whole.
        with closing(by_cursor(search, first, prove=first.page.pagination.total is None)) as found:
            for page, joined in found:
                checks.page(page, joined=joined)
                if page.data:
                    yield to_pandas(checks.rows(rows_of(page.data, schema)), about)
        _conclude(noun, checks, strict=strict)


def _conclude(noun: Noun[Any], checks: Checks[Any], *, strict: bool) -> None:
    """Raise, or warn, when the pages are not the whole table."""
    repeated = checks.count - checks.distinct()
    problem = f"{checks.count} rows came, {repeated} of them a second time" if repeated else checks.drift()
    if problem and (strict or repeated):
        raise DriftError(
            f"the {noun.name} changed while their pages were read ({problem}): the pages are not the whole table; read "
            f"again, or use load_{noun.name}, which reads a table that changes a second time"
        )
    complaints = [*filter(None, [problem]), *checks.unfiltered()]
    if complaints:
        warnings.warn(
            f"the {noun.name} may be incomplete or wrong: {'; '.join(complaints)}", UnverifiedTableWarning, stacklevel=3
        )
