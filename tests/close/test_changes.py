"""What changed between two months."""

from __future__ import annotations

import datetime as dt
import uuid
from collections import defaultdict
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest

import bktools
from bktools.close import changes
from bktools.errors import ArgumentError
from bktools.frames.tables import in_memory
from bktools.wording import words
from bktools.wording.numbers import MINUS


def test_a_month_is_compared_with_a_later_month(service):
    """A second month that is not the later one, and a day in place of one, are refused."""
    for after in ("2026-10", "2026-09"):
        with pytest.raises(ArgumentError, match="after must be a month after 2026-10, got"):
            bktools.compare("2026-10", after, service=service)
    with pytest.raises(ArgumentError, match="after must be a month such as 2026-10"):
        bktools.compare("2026-10", "2026-11-30", service=service)


def test_two_months(sandbox, service, samples, closed):
    """Counts and amounts agree with both closes to the cent; changes in the service are named."""
    october = bktools.read_entries(samples[1])
    closes = [closed(october, month="2026-10", apply=True)]
    added = sandbox.server.add_category("Drones")
    entries = closes[0].entries
    approved = entries.loc[entries["reason"] == "not_approved", "id"]
    late = october[october["id"].isin(approved)].assign(status="approved", approved=True)
    ids = [str(uuid.uuid5(uuid.NAMESPACE_OID, name)) for name in october["id"]]
    november = october.assign(id=ids, date=october["date"] + pd.DateOffset(months=1)).iloc[::2]
    closes.append(closed(pd.concat([november, late], ignore_index=True), month="2026-11", apply=True))
    found = bktools.compare("2026-10", "2026-11", service=service)
    sent = [_sums(close, []) for close in closes]
    assert len(sent[0]) > 1
    # What October held back is not new in November.
    assert closes[1].figures.new == {}
    assert _figures(found[found["table"] == "exported"], "currency") == _differing(*sent)
    totals = found[found["table"] == "exported"]
    shown = [
        str(bktools.show(totals[totals["currency"] == code][["percent"]])) for code in totals["currency"]
    ]
    percents = [float(text.split()[-1].replace(MINUS, "-").removesuffix("%")) for text in shown]
    assert percents == [
        round(float(row["difference"] / row["amount_before"] * 100), 1) for row in totals.to_dict("records")
    ]
    by_category = found[found["table"] == "exported_by_category"]
    named = [_sums(close, ["category_name"]) for close in closes]
    assert _figures(by_category, "about", "currency") == _differing(*named)
    for _, rows in found[found["currency"].notna()].groupby(["table", "currency"], sort=False):
        assert rows["difference"].abs().is_monotonic_decreasing, "the largest first"
    categories = found[found["table"] == "categories"]
    assert categories[["change", "about", "id"]].to_numpy().tolist() == [["added", "Drones", added]]
    held = found[found["table"] == "held_back"]
    was, now = ({*close.entries.loc[close.entries["fate"] == "held_back", "id"]} for close in closes)
    sent_later = {*closes[1].entries.loc[closes[1].entries["fate"] == "exported", "id"]}
    assert len(approved) > 1
    still_open = held[held["change"] == "still_open"]
    assert (still_open["entries_before"] == still_open["entries_after"]).all()
    assert (still_open["amount_before"] == still_open["amount_after"]).all()
    counts = held[["entries_before", "entries_after"]].max(axis=1).groupby(held["change"]).sum()
    assert counts.to_dict() == {
        "resolved": len(was & sent_later),
        "still_open": len(was - sent_later),
        "new": len(now - was),
    }
    assert held.loc[held["change"] == "resolved", "about"].unique().tolist() == ["not approved"]
    about = found.attrs["bktools"]
    assert (about["not_compared"], about["below_threshold"]) == ([], 0)
    [told] = [line for line in about["headline"] if line.startswith("held back: ")]
    assert f"{len(approved)} resolved" in told
    assert closes[0].changes is None
    pd.testing.assert_frame_equal(closes[1].changes, found)
    large = bktools.compare("2026-10", "2026-11", threshold=500, service=service)
    is_small = (found["difference"].abs().lt(500) & found["table"].ne("exported")).fillna(value=False)
    expected = {"headline": about["headline"], "below_threshold": int(is_small.sum())}
    assert {name: large.attrs["bktools"][name] for name in expected} == expected
    pd.testing.assert_frame_equal(large, found[~is_small].reset_index(drop=True))
    about = bktools.compare("2026-08", "2026-10", service=service).attrs["bktools"]
    assert about["not_compared"] == ["nothing was exported in August 2026, according to the journal"]
    assert not [line for line in about["headline"] if line.startswith("exported")]


def _sums(close, keys):
    """Return exact amount and count of the exported entries of a close by these columns and currency."""
    sums = defaultdict(lambda: (Decimal(0), 0))
    for row in close.entries[close.entries["fate"] == "exported"].to_dict("records"):
        key = (*(row[name] for name in keys), row["currency"]) if keys else row["currency"]
        sums[key] = (sums[key][0] + Decimal(repr(row["amount"])), sums[key][1] + 1)
    return sums


def _differing(old, new):
    """Return both amounts, the difference and both counts where one of them differs."""
    pairs = {key: (old[key], new[key]) for key in old.keys() | new.keys()}
    return {key: (a[0], b[0], b[0] - a[0], a[1], b[1]) for key, (a, b) in pairs.items() if a != b}


def _figures(frame, *keys):
    columns = ["amount_before", "amount_after", "difference", "entries_before", "entries_after"]
    exact = frame.assign(
        **{name: [Decimal(repr(amount)) for amount in frame[name].tolist()] for name in columns[:3]}
    )
    rows = exact[[*keys, *columns]].itertuples(index=False, name=None)
    return {(row[0] if len(keys) == 1 else row[: len(keys)]): row[len(keys) :] for row in rows}


def test_the_service_at_two_moments(sandbox, service):
    """What came is named, an account shows by code and name, and what is archived as yes or no."""
    accounts = pd.DataFrame(
        {
            "id": ["00000000-0000-4000-8000-000000000001"],
            "external_id": ["0400"],
            "code": ["0400"],
            "name": ["Bank"],
        }
    ).assign(company_id=service.settings.company)
    bktools.import_accounts(accounts, service=service)
    one = sandbox.server.add_category("Fees", account_id=accounts["id"][0])
    sample = next(sandbox.server._world.categories_of(0))
    other = "00000000-0000-4000-8000-000000000002"
    bktools.load_categories(refresh=True, service=service)
    bktools.load_employees(service=service)
    moment = dt.datetime.now(dt.UTC)
    sandbox.server.remove_category(one)
    sandbox.server.remove_category(sample["id"])
    with sandbox.server._store() as store:
        store.add_category(sample | {"archived": True})
    sandbox.server.add_category("Fees", id=one, account_id=other)
    added = sandbox.server.add_category("Drones")
    bktools.load_categories(refresh=True, service=service)
    now = dt.datetime.now(dt.UTC)
    known = in_memory(bktools.load_accounts(service=service))
    rows = changes.between_moments((moment, now), service.settings.company, known, service, words())
    found = rows.to_pandas().set_index("id")
    assert found["table"].unique().tolist() == ["categories"]
    assert found.loc[added, ["change", "about"]].tolist() == ["added", "Drones"]
    assert found.loc[one, ["change", "about", "field", "before", "after"]].tolist() == [
        "mapped",
        "Fees",
        "account",
        "0400 Bank",
        other,
    ]
    assert found.loc[sample["id"], ["field", "before", "after"]].tolist() == ["archived", "no", "yes"]
    assert len(found) == 3


USUAL = {"id": "1", "company_id": "c", "name": "Travel", "archived": False, "account_id": "a"}
USUAL |= {"tax_code_id": None}
# The rows of a category before and after, and its change: code, field, value before and after.
FIELDS = [
    (USUAL, USUAL | {"name": "Trips"}, ("renamed", "name", "Travel", "Trips")),
    (USUAL, USUAL | {"archived": True}, ("archived", "archived", "false", "true")),
    (USUAL, USUAL | {"account_id": None}, ("mapped", "account_id", "a", None)),
    (USUAL, USUAL | {"tax_code_id": "t"}, ("tax_code", "tax_code_id", None, "t")),
    (USUAL, None, ("removed", None, None, None)),
    (None, USUAL, ("added", None, None, None)),
]


@pytest.mark.parametrize(("before", "after", "change"), FIELDS, ids=[row[2][0] for row in FIELDS])
def test_each_change_of_a_category_is_a_row(before, after, change):
    """Each field has its code, with the values before and after and null for none."""
    kinds = pa.schema([(name, pa.bool_() if name == "archived" else pa.string()) for name in USUAL])
    old, new = (pa.Table.from_pylist([row] if row else [], kinds) for row in (before, after))
    [row] = changes.field_changes(old, new).to_dicts()
    assert tuple(row.get(name) for name in ("change", "field", "before", "after")) == change
    assert row["about"] == (after or before)["name"], "the name that it has now"
