"""What each finding is about by name, what is to be done and who does it: added to the rows that the queries found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames.engine import Scannable, has_order, scannable
from bktools.frames.schema import TEXT, plain
from bktools.reconcile.checks import CHECKS, KNOWN

ACTION = "{action}"


def described(found: pa.Table, frames: Mapping[str, Scannable], known_since: str = "") -> pa.Table:
    """Return findings with the columns about, to_do and who at the end.

    Parameters
    ----------
    found : pyarrow.Table
        As the queries return it; the message is the fact, then what is to be done.
    frames : mapping
        Chart, accounts and categories, as `inputs.read` returns them.
    known_since : str
        As `last_import` returns it; messages that say what bktools does not know say it too.
    """
    name, action, message = (found.column(column) for column in ("check", "action", "message"))
    told = message
    to_do = pa.chunked_array([pa.array(["nothing to do"] * len(found), TEXT)])
    who = pa.chunked_array([pa.nulls(len(found), TEXT)])
    for check in CHECKS:
        fact, _, ending = check.message.rpartition(": ")
        # Several checks share a name, and differ in what is to be done.
        is_found = pc.equal(name, check.name)
        if fact:
            words = ending.removeprefix(ACTION)
            is_found = pc.and_(is_found, pc.ends_with(message, words))
            text = _joined(action, words) if ending.startswith(ACTION) else pa.scalar(ending, TEXT)
            to_do = pc.if_else(is_found, text, to_do)
            if known_since and fact.endswith(KNOWN):
                begin = pc.utf8_slice_codeunits(message, 0, stop=-len(f": {ending}"))
                told = pc.if_else(is_found, _joined(begin, f"{known_since}: {ending}"), told)
        who = pc.if_else(is_found, pa.scalar(check.who, TEXT), who)
    about = _about(found, frames)
    found = found.set_column(found.column_names.index("message"), "message", pc.cast(told, TEXT))
    for column, values in {"about": about, "to_do": to_do, "who": who}.items():
        found = found.append_column(column, pc.cast(values, TEXT))
    return found


def last_import(accounts: Any) -> str:
    """Return when a list of accounts was last imported, in brackets; empty where the frame does not say.

    Only frames in memory are asked, because a lazy one would run once more.
    """
    if not has_order(accounts):
        return ""
    table: Any = scannable(accounts, "accounts", ("state", "updated_at"))
    if len(table.column_names) != 2:  # noqa: PLR2004 - both of them
        return ""
    last = pc.max(table.filter(pc.equal(pc.cast(table.column("state"), TEXT), "IMPORTED")).column("updated_at")).as_py()
    return " (no list was imported)" if last is None else f" (last list imported {str(last)[:10]})"


def _about(found: pa.Table, frames: Mapping[str, Scannable]) -> pa.ChunkedArray:
    """Return the name of the category, or code and name of the account, or the company."""
    categories = _rows(frames["categories"], "id", found.column("category_id"), ("id", "name"))
    category = _looked_up(found.column("category_id"), categories.column("id"), categories.column("name"))
    accounts = [
        _looked_up(_keys(found, found), _keys(rows, found), _named(rows))
        for rows in (
            _rows(
                frames[noun], "external_id", found.column("external_id"), ("company_id", "external_id", "code", "name")
            )
            for noun in ("chart", "accounts")
        )
    ]
    company = _joined(pa.scalar("company ", TEXT), found.column("company_id"))
    named = pc.coalesce(category, found.column("category_id"), *accounts, found.column("external_id"))
    return pc.replace_substring_regex(
        pc.if_else(pc.equal(pc.fill_null(named, ""), ""), company, named), "[\r\n\t]+", " "
    )


def _rows(frame: Scannable, key: str, wanted: pa.ChunkedArray, columns: Sequence[str]) -> pa.Table:
    """Return the rows of a frame that the findings are about, as text; nulls in a column that it lacks."""
    table = frame if isinstance(frame, pa.Table) else frame.to_table()
    table = plain(table.select([name for name in columns if name in table.column_names]), "the frame")
    # Some types of text cannot be filtered.
    texts = pa.table(
        {
            name: pc.cast(table.column(name), TEXT)
            if name in table.column_names
            else pa.chunked_array([pa.nulls(len(table), TEXT)])
            for name in columns
        }
    )
    return texts.filter(pc.is_in(texts.column(key), value_set=pc.unique(wanted.drop_null())))


def _keys(rows: pa.Table, found: pa.Table) -> pa.ChunkedArray:
    """Return company and external ID as one text; a chart without companies is of the only one."""
    only = found.column("company_id")[0] if len(found) else pa.scalar("", TEXT)
    company = pc.ascii_lower(pc.fill_null(rows.column("company_id"), pc.cast(only, TEXT)))
    external_id = rows.column("external_id")
    # An account without an external ID is none that could be looked up.
    external_id = pc.if_else(pc.equal(external_id, ""), pa.scalar(None, TEXT), external_id)
    return pc.binary_join_element_wise(company, external_id, pa.scalar("\0", TEXT))


def _named(rows: pa.Table) -> pa.ChunkedArray:
    code = pc.coalesce(rows.column("code"), rows.column("external_id"))
    return pc.binary_join_element_wise(code, rows.column("name"), pa.scalar(" ", TEXT), null_handling="skip")


def _looked_up(wanted: pa.ChunkedArray, keys: pa.ChunkedArray, values: pa.ChunkedArray) -> pa.ChunkedArray:
    keys = pa.chunked_array(keys.chunks, TEXT).combine_chunks()
    places = pc.index_in(wanted, pc.if_else(pc.is_valid(keys), keys, pa.scalar("", TEXT)))
    return values.take(pc.if_else(pc.is_valid(wanted), places, pa.scalar(None, pa.int32())))


def _joined(first: Any, second: Any) -> Any:
    parts = [pa.scalar(part, TEXT) if isinstance(part, str) else pc.cast(part, TEXT) for part in (first, second)]
    return pc.binary_join_element_wise(*parts, pa.scalar("", TEXT))
