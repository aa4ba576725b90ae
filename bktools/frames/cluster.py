"""Runs a function of frames on a cluster of PySpark, one company at a time.

The rows of all frames go through one shuffle, each frame as a column of structs, so that a worker gets all rows of a company.
Only numbers of rows, and other counts of a company, are collected.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from bktools.errors import OutOfMemoryError
from bktools.frames.engine import scannable
from bktools.frames.schema import TEXT
from bktools.visible import visible_line

# The setting of a Spark session for the most rows of a company, in all frames; a worker needs about 1 KB of memory a row.
SETTING = "spark.bktools.companyRows"
MOST_ROWS = 5_000_000

# A worker gets about this many rows at once, always whole companies.
BUNDLE = 100_000

KEY = "key"

Tables: TypeAlias = Mapping[str, pa.Table]
# Returns a table from the tables of a company, by name.
Function: TypeAlias = Callable[[Tables], pa.Table]


def is_spark(frame: Any) -> bool:
    """Whether a frame is a PySpark frame, classic or of Spark Connect."""
    return _is_of_spark(native(frame))


def native(frame: Any) -> Any:
    """Return the frame that narwhals wraps, or the frame itself."""
    # A frame of Spark Connect has an attribute of every name.
    return frame.to_native() if not _is_of_spark(frame) and hasattr(frame, "to_native") else frame


def _is_of_spark(frame: Any) -> bool:
    return type(frame).__module__.startswith("pyspark.")


@dataclass(frozen=True, repr=False)
class OnCluster:
    """The tables of a result as lazy PySpark frames without an order: each runs when it is used.

    Attributes
    ----------
    task : str
        The function that was called.
    names : tuple of str
        The tables, each an attribute: `result.entries`.
    unchecked : tuple of str
        What was not checked, because a frame or a column was not given.
    """

    task: str
    names: tuple[str, ...]
    unchecked: tuple[str, ...]
    _listed: Callable[[str], Any]

    def __getattr__(self, name: str) -> Any:
        if name not in self.__dict__.get("names", ()):
            raise AttributeError(f"no table {name}: there are {', '.join(self.__dict__.get('names', ()))}")
        return self._listed(name)

    def __dir__(self) -> list[str]:
        return [*self.names, "names", "task", "unchecked"]

    def __repr__(self) -> str:
        return f"{self.task} on a cluster, not run yet: the tables {', '.join(self.names)} are PySpark frames"


@dataclass(frozen=True)
class Companies:
    """Frames on a cluster with a key, by which they are brought together.

    Attributes
    ----------
    rows : PySpark frame
        `key`, and a column for each frame: a struct, or an array of structs.
    kinds : mapping
        The columns of each frame as Arrow types.
    """

    rows: Any
    kinds: Mapping[str, pa.Schema]

    def counts(self, task: str, what: str, more: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Return the number of rows of each frame by key, and other aggregates; refuse a key that is too large.

        Parameters
        ----------
        task, what : str
            The function, and what a key is, for the error message.
        more : mapping, optional
            Aggregates of `rows` by name.

        Raises
        ------
        OutOfMemoryError
            When a key has more rows than a worker may get.
        """
        from pyspark.sql import functions as sql

        of_frames = [sql.count(column(noun)).alias(noun) for noun in self.kinds if noun in self.rows.columns]
        others = [aggregate.alias(name) for name, aggregate in (more or {}).items()]
        found = [row.asDict() for row in self.rows.groupBy(KEY).agg(*of_frames, *others).collect()]
        most = int(self.rows.sparkSession.conf.get(SETTING, str(MOST_ROWS)))
        for row in found:
            count = sum(row[noun] for noun in self.kinds if noun in row)
            if count > most:
                raise OutOfMemoryError(
                    f"{task}: {what} {visible_line(str(row[KEY]))} has {count:,} rows, and a worker gets at most {most:,}: "
                    f"nothing was started; set {SETTING} of the Spark session to more if a worker has 1 KB of memory for each "
                    "row, or do this one on one machine from Parquet"
                )
        return found

    def filled(self, key: str) -> Companies:
        """Return the frames with a key for rows without one."""
        return Companies(self.rows.fillna(key, [KEY]), self.kinds)

    def bundled(self, rows: int) -> Companies:
        """Return the frames with several keys as one, for a function of several companies; `rows` is the number of all rows.

        Starting a function takes longer than most companies need.
        """
        from pyspark.sql import functions as sql

        bundle = sql.pmod(sql.xxhash64(KEY), sql.lit(1 + rows // BUNDLE))
        return Companies(self.rows.withColumn(KEY, bundle.cast("string")), self.kinds)

    def table(self, function: Function) -> Any:
        """Return a lazy PySpark frame of what a function returns for each key; it runs on workers, which have bktools."""
        from pyspark.sql.pandas.types import from_arrow_schema

        kinds = dict(self.kinds)
        result = as_spark(function({noun: kind.empty_table() for noun, kind in kinds.items()}).schema)

        # Spark needs the annotations.
        def of_key(rows: pa.Table) -> pa.Table:
            return function({noun: _unpacked(rows, noun, kind) for noun, kind in kinds.items()}).cast(result)

        return self.rows.groupBy(KEY).applyInArrow(of_key, from_arrow_schema(result))


def lifted(session: Any, frame: Any, noun: str, columns: Collection[str] | None = None) -> Any:
    """Return a frame of any tool as a PySpark frame, with some columns where it has them."""
    if not is_spark(frame):
        table: Any = scannable(frame, noun, columns)
        return session.createDataFrame(table if isinstance(table, pa.Table) else table.to_table())
    found = native(frame)
    return found if columns is None else found.select(*[column(name) for name in found.columns if name in columns])


def kinds_of(frame: Any) -> pa.Schema:
    """Return the columns of a PySpark frame as Arrow types, with one type for all text."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return pa.schema(
        [
            field.with_type(TEXT if _is_text(field.type) else field.type)
            for field in to_arrow_schema(frame.schema, timezone="UTC")
        ]
    )


def column(name: str) -> Any:
    """Return a column by its exact name."""
    from pyspark.sql import functions as sql

    return sql.col("`" + name.replace("`", "``") + "`")


def packed(frame: Any, name: str, /, **keys: Any) -> Any:
    """Return a PySpark frame as one column of structs, of that name, beside keys."""
    from pyspark.sql import functions as sql

    row = sql.struct(*[column(field) for field in frame.columns]).alias(name)
    return frame.select(*[value.alias(key) for key, value in keys.items()], row)


def together(frames: Iterable[Any]) -> Any:
    """Return the rows of frames as one; a column that one lacks is null."""
    return functools.reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)


def carried(wanted: Any, known: Sequence[Any], by: Sequence[str], nouns: Sequence[str]) -> Any:
    """Return for each `key` of `wanted` the rows of other frames that it wants, whatever their own company is.

    Parameters
    ----------
    wanted : PySpark frame
        The columns `by`, and `key`: who wants the rows with these values.
    known : sequence of PySpark frames
        The columns `by`, and one of `nouns`: a struct, or an array of them.
    by, nouns : sequence of str
        Columns.

    Returns
    -------
    PySpark frame
        `key`, `by`, `nouns` (arrays of structs) and `wanted_by` (how many keys want them).
    """
    from pyspark.sql import functions as sql

    lists = [sql.flatten(sql.collect_list(noun)).alias(noun) for noun in nouns]
    in_arrays = [
        frame.select(
            *by,
            *[
                (sql.array(name) if dict(frame.dtypes)[name].startswith("struct") else sql.col(name)).alias(name)
                for name in frame.columns
                if name in nouns
            ],
        )
        for frame in known
    ]
    rows = together([wanted, *in_arrays]).dropna(subset=list(by))
    groups = rows.groupBy(*by).agg(sql.collect_set(KEY).alias("keys"), *lists)
    return groups.select(sql.explode("keys").alias(KEY), *by, *nouns, sql.size("keys").alias("wanted_by"))


def references(keyed: Any, others: Mapping[str, Any], *, with_shared: bool = False) -> list[Any]:
    """Return the rows of other frames that entries refer to, beside the key of the entries, whatever their own company is.

    Parameters
    ----------
    keyed : PySpark frame
        `key`, and where it has them category_id, employee_id and id (of an entry).
    others : mapping
        PySpark frames of categories, accounts (of these categories), employees and history, by name.
    with_shared : bool
        Whether to return the IDs of entries that several keys have, as `shared`.

    Returns
    -------
    list of PySpark frames
        One frame for `Companies`, or none when the entries refer to nothing.
    """
    from pyspark.sql import functions as sql

    refers = {"categories": "category_id", "employees": "employee_id", "history": "id"}
    nouns = [noun for noun, name in refers.items() if noun in others and name in keyed.columns]
    by = {noun: refers[noun] for noun in nouns} | ({"history": "id"} if with_shared else {})
    if not by:
        return []
    pairs = [sql.struct(sql.lit(noun).alias("noun"), _id(name).alias("id")) for noun, name in by.items()]
    wanted = keyed.select(KEY, sql.explode(sql.array(*pairs)).alias("pair")).select(KEY, "pair.noun", "pair.id")
    known = [
        packed(others[noun], noun, noun=sql.lit(noun), id=_id("entry_id" if noun == "history" else "id"))
        for noun in nouns
    ]
    if {"categories", "accounts"} <= {*others} and "categories" in nouns:
        account = sql.nullif(sql.btrim(_id("account_id"), sql.lit(" \t\r\n")), sql.lit(""))
        of_categories = others["categories"].select(_id("id").alias(KEY), account.alias("id"))
        accounts = carried(of_categories, [packed(others["accounts"], "accounts", id=_id("id"))], ["id"], ["accounts"])
        known.append(accounts.select(sql.lit("categories").alias("noun"), sql.col(KEY).alias("id"), "accounts"))
        nouns.append("accounts")
    found = carried(wanted, known, ["noun", "id"], nouns)
    is_shared = (sql.col("noun") == "history") & (sql.col("wanted_by") > 1) & sql.lit(with_shared)
    shared = sql.when(is_shared, sql.array(sql.struct("id"))).alias("shared")
    has_rows = functools.reduce(lambda one, other: one | other, [sql.size(noun) > 0 for noun in nouns], is_shared)
    return [found.where(has_rows).select(KEY, *nouns, shared)]


def _id(name: str) -> Any:
    from pyspark.sql import functions as sql

    return sql.lower(column(name).cast("string"))


def _unpacked(rows: pa.Table, noun: str, kind: pa.Schema) -> pa.Table:
    """Return the rows of one frame with its own columns."""
    if noun not in rows.column_names:
        return kind.empty_table()
    packs = rows.column(noun)
    packs = pa.chunked_array(
        [pc.list_flatten(chunk) if pa.types.is_list(packs.type) else chunk for chunk in packs.chunks]
    )
    return pa.Table.from_struct_array(packs.filter(pc.is_valid(packs))).cast(kind)


def as_spark(schema: pa.Schema) -> pa.Schema:
    """Return the columns of a table in the types that Spark takes."""
    return pa.schema([pa.field(field.name, _plainer(field.type)) for field in schema])


def _plainer(kind: pa.DataType) -> pa.DataType:
    if _is_text(kind) or pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_dictionary(kind):
        return _plainer(kind.value_type)
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", tz=kind.tz)
    if pa.types.is_int8(kind) or pa.types.is_int16(kind) or pa.types.is_int32(kind):
        return kind
    return pa.int64() if pa.types.is_integer(kind) else kind


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
