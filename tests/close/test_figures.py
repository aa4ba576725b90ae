"""The figures of a month: its largest entries, and what no month before had."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa

from bktools.close.figures import Figures

COLUMNS = pa.schema(
    {"id": pa.large_string(), "supplier": pa.large_string(), "category_id": pa.large_string()}
    | {"category_name": pa.large_string(), "amount": pa.decimal128(38, 2), "currency": pa.large_string()}
)


def _table(*rows: tuple) -> pa.Table:
    columns = [*zip(*rows, strict=True)] if rows else [()] * len(COLUMNS)
    return pa.table(
        [pa.array(column, kind) for column, kind in zip(columns, COLUMNS.types, strict=True)], schema=COLUMNS
    )


MONTH = _table(
    *((f"e{number}", "Bahn", "c1", "Travel", Decimal(number), "EUR") for number in range(1, 13)),
    ("credit", "Fair", "c2", "Fairs", Decimal(-500), "EUR"),
    ("yen", "Hotel", "c1", "Travel", Decimal(48211), "JPY"),
    ("unknown", None, None, None, None, "EUR"),
)


def test_the_ten_largest_entries_are_of_the_own_currency():
    """By size, credits too, with amounts only; in the company's own currency, else the most used."""
    largest = Figures(MONTH, "EUR", _table(), _table()).largest
    assert largest["id"].to_pylist() == ["credit", *(f"e{number}" for number in range(12, 3, -1))]
    assert Figures(MONTH, "JPY", _table(), _table()).largest["id"].to_pylist() == ["yen"]
    assert len(Figures(_table(), None, _table(), _table()).largest) == 0


def test_what_is_new_is_in_no_month_before():
    """New suppliers and categories have no entry in any month before; the first month has none."""
    earlier = _table(("a", "Bahn", "c1", "Travel", Decimal(1), "EUR"))
    new = Figures(MONTH, "EUR", earlier, earlier).new
    assert {key: [part.keys for part in parts] for key, parts in new.items()} == {
        "supplier": [{"id": "Fair", "name": "Fair"}, {"id": "Hotel", "name": "Hotel"}],
        "category": [{"id": "c2", "name": "Fairs"}],
    }
    assert new["supplier"][0].amounts == {"EUR": Decimal("-500.00")}
    assert Figures(MONTH, "EUR", _table(), _table()).new == {}
