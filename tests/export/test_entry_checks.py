"""Why an entry is not ready: each reason, and which one is told first."""

from __future__ import annotations

import html
import json
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest
from hand_made import COMPANY, entry_id

from bktools import compose_export_jobs
from bktools.errors import ArgumentError
from bktools.export.checks import CHECKS
from bktools.findings.check import ROLES
from bktools.frames.schema import STRINGS

OTHER = "00000000-0000-4000-8000-00000000000f"
CATEGORY = "00000000-0000-4000-8000-0000000000c1"
ACCOUNT = "00000000-0000-4000-8000-0000000000a1"


def categories(**changes) -> pd.DataFrame:
    row = {"id": CATEGORY, "company_id": COMPANY, "archived": False, "account_id": ACCOUNT} | changes
    return pd.DataFrame([row])


def accounts(**changes) -> pd.DataFrame:
    return pd.DataFrame([{"id": ACCOUNT, "archived": False} | changes])


def coded(entries, **columns) -> pd.DataFrame:
    return entries(1, category_id=[CATEGORY], **columns)


NOBODY = {"employees": pd.DataFrame({"id": [ACCOUNT]})}
KNOWN = {"categories": categories(), "accounts": accounts()}
OCTOBER = {"period": "2026-10"}


def history(state: str) -> dict[str, pd.DataFrame]:
    return {"history": pd.DataFrame({"entry_id": [entry_id(0)], "state": [state]})}


def sent(**changes) -> pd.DataFrame:
    """An entry of another ID that was exported on the day and with the amount of the entries made here."""
    row = {"entry_id": entry_id(99), "state": "ACCEPTED", "company_id": COMPANY, "batch_id": "b1"}
    row |= {"period": "2026-09", "date": pd.Timestamp("2026-10-01"), "amount": Decimal("10.10")}
    return pd.DataFrame([row | {"currency": "EUR"} | changes])


def imported() -> dict[str, pd.DataFrame]:
    """Accounts without the one of the category; another one was imported on the last of October."""
    moment = pd.Timestamp("2026-10-31T12:00Z")
    return {"categories": categories(), "accounts": accounts(id=OTHER, state="IMPORTED", updated_at=moment)}


# What a finding about a category says of it.
OF_CATEGORY = {"category_id": CATEGORY, "category_name": None}
AMOUNTS = {"before": ["10.2"], "before_categories": None, "after": ["10.1"], "after_categories": None}
CHANGED = {"history": history("ACCEPTED")["history"].assign(amount=Decimal("10.20"), currency="EUR")}
# The entry that fails each error, the arguments, and the facts of the finding.
ERRORS = {
    "no_service_id": ({"id": pd.array([None], dtype=STRINGS)}, {}, {}),
    "not_a_uuid": ({"id": ["7"]}, {}, {}),
    "no_company": ({"company_id": ["7"]}, {}, {}),
    "other_company": ({}, {"company": OTHER}, {}),
    "exported": ({}, history("ACCEPTED"), {}),
    "changed_since_export": ({}, CHANGED, {"changes": [{"field": "amount", "currency": "EUR"} | AMOUNTS]}),
    "lines_missing": ({"split_line": [1], "split_lines": [3]}, {}, {"missing": 2}),
    "in_doubt": ({}, history("UNKNOWN"), {}),
    "later_period": (
        {"date": pd.to_datetime(["2026-11-01"])},
        OCTOBER,
        {"day": "2026-11-01", "period": "2026-10"},
    ),
    "not_approved": ({"approved": [False]}, {}, {}),
    "no_date": ({"date": pd.to_datetime([None])}, {}, {}),
    "no_amount": ({"amount": [None]}, {}, {}),
    "zero_amount": ({"amount": [Decimal("0.00")]}, {}, {}),
    "no_currency": ({"currency": [None]}, {}, {}),
    "unknown_currency": ({"currency": ["XXQ"]}, {}, {"currency": "XXQ"}),
    "too_many_decimals": (
        {"currency": ["JPY"], "amount": [Decimal("12.50")]},
        {},
        {"currency": "JPY", "units": 0},
    ),
    "no_category": ({"category_id": [None]}, KNOWN, {}),
    "unknown_category": ({}, {"categories": categories(id=OTHER)}, OF_CATEGORY),
    "category_of_other_company": ({}, {"categories": categories(company_id=OTHER)}, OF_CATEGORY),
    "archived_category": ({}, {"categories": categories(archived=True)}, OF_CATEGORY),
    "no_account": ({}, {"categories": categories(account_id=None)}, OF_CATEGORY),
    "unknown_account": ({}, imported(), OF_CATEGORY | {"known_since": "2026-10-31", "none_imported": None}),
    "archived_account": ({}, KNOWN | {"accounts": accounts(archived=True)}, OF_CATEGORY),
    "unknown_employee": (
        {"employee_id": [OTHER], "employee_name": ["?ukasz"]},
        NOBODY,
        {"employee_name": "?ukasz"},
    ),
}


@pytest.mark.parametrize("reason", ERRORS)
def test_each_error_holds_an_entry_back(entries, reason):
    """An entry with one error is in no batch; reason and finding are this error with its facts."""
    columns, options, facts = ERRORS[reason]
    plan = compose_export_jobs(
        coded(entries, **columns) if "category_id" not in columns else entries(1, **columns), **options
    )
    assert plan.not_ready["reason"].to_list() == [reason]
    errors = plan.findings[plan.findings["severity"] == "error"]
    assert errors["check"].to_list() == [reason]
    assert [json.loads(told) for told in (*errors["facts"], *plan.not_ready["facts"])] == [facts, facts]
    assert plan.entries.empty
    assert plan.batches.empty
    [fact], [step] = errors["message"], errors["to_do"]
    assert plan.not_ready["message"].to_list() == [f"{fact}. {step}."]
    assert fact in repr(plan)
    assert html.escape(fact) in plan._repr_html_()


# The entries that get each warning or info, the arguments, the line with the first one, and its facts.
LOOKS = {
    "earlier_period": (
        {"date": pd.to_datetime(["2026-09-30"])},
        OCTOBER,
        1,
        {"day": "2026-09-30", "period": "2026-10"},
    ),
    "suspected_duplicate": (
        {"supplier": ["SJ AB", "Taxi", "sj ab ", "SJ AB", "SJ AB"], "employee_id": [OTHER] * 5},
        {},
        1,
        {"party_kind": "supplier", "same_lines": [3, 4, 5], "same_count": 3},
    ),
    "suspected_second_export": (
        {"supplier": ["SJ AB"]},
        {"history": sent(supplier="sj ab ")},
        1,
        {"party_kind": "supplier", "sent_day": "2026-10-01", "sent_party": "sj ab"}
        | {"sent_period": "2026-09", "sent_batch": "b1"},
    ),
    "unusual_amount": (
        {"amount": [Decimal(12500), *(Decimal(100 + number) for number in range(11))]},
        {},
        1,
        {"usual_of": "category", "usual_amount": 105.5, "usual_entries": 12, "currency": "EUR"},
    ),
    "no_tax_code": (
        {"tax_code": [" "]},
        {"categories": categories(), "accounts": accounts(tax_code_external_id="V25")},
        1,
        {"wanted_tax_code": "V25"},
    ),
    "no_employee": ({"employee_id": [OTHER, None]}, {}, 2, {}),
    "reversal": (
        {"amount": [Decimal(7), Decimal(-7)], "employee_id": [OTHER] * 2},
        {},
        1,
        {"party_kind": "employee", "opposite_lines": [2], "opposite_count": 1},
    ),
    "foreign_currency": (
        {"currency": ["EUR", "SEK"]},
        {"currency": "EUR"},
        2,
        {"currency": "SEK", "own_currency": "EUR"},
    ),
}


@pytest.mark.parametrize("name", LOOKS)
def test_each_warning_goes_out_with_the_plan(entries, name):
    """Entries with a warning or an info are ready; the finding has what to look at, and its values."""
    columns, options, line, facts = LOOKS[name]
    count = len(next(iter(columns.values())))
    plan = compose_export_jobs(entries(count, category_id=[CATEGORY] * count, **columns), **options)
    assert plan.not_ready.empty
    found = plan.findings[plan.findings["check"] == name]
    assert (found["line"].iloc[0], json.loads(found["facts"].iloc[0])) == (line, facts)
    severity = {check.code: check.severity for check in CHECKS}[name]
    assert set(found["severity"]) == {severity}
    assert (name in plan.needs_action["check"].to_list()) == (severity == "warning")
    assert f"{len(found):,} {severity}" in repr(plan).splitlines()[0]
    assert plan.totals["entries"].sum() == count


# The suppliers and the amounts of entries of one category, and the level, median and number that are usual.
UNUSUAL = {
    "ten times a supplier's median is usual": (["A"] * 6, [20, 20, 20, 20, 20, 200], None),
    "more is not": (["A"] * 6, [20, 20, 20, 20, 20, 200.01], ("supplier", 20.0, 6)),
    "a credit of this size, too": (["A"] * 6, [20, 20, 20, 20, 20, -201], ("supplier", 20.0, 6)),
    "a small amount is usual": (["A"] * 6, [20, 20, 20, 20, 20, 0.01], None),
    "spellings of a supplier are one": (
        ["A", "a ", "A", "a", " A"],
        [20, 20, 20, 20, 201],
        ("supplier", 20.0, 5),
    ),
    "the category counts where a supplier has four": (
        ["B", "A", "A", "A", "A"],
        [7] * 4 + [71],
        ("category", 7.0, 5),
    ),
    "the supplier counts before the category": (["B"] * 5 + ["A"] * 5, [7] * 5 + [100] * 4 + [900], None),
    "four entries show nothing": (["A"] * 4, [20, 20, 20, 2000], None),
    "without suppliers the category counts": ([None] * 6, [9, 9, 9, 9, 9, 99], ("category", 9.0, 6)),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_an_unusual_amount_is_more_than_ten_times_the_median(entries, name):
    """Of its supplier, else of its category, with at least five entries."""
    suppliers, amounts, usual = UNUSUAL[name]
    columns = {
        "category_id": [CATEGORY] * len(amounts),
        "amount": [Decimal(str(amount)) for amount in amounts],
        "supplier": suppliers,
        "description": [str(number) for number in range(len(amounts))],
    }
    plan = compose_export_jobs(entries(len(amounts), **columns))
    unusual = plan.findings[plan.findings["check"] == "unusual_amount"]
    facts = [json.loads(text) for text in unusual["facts"]]
    assert unusual["line"].tolist() == ([len(amounts)] if usual else [])
    assert [(each["usual_of"], each["usual_amount"], each["usual_entries"]) for each in facts] == (
        [usual] if usual else []
    )


def test_an_amount_is_compared_within_its_currency(entries):
    """A thousand yen is no large amount among euros."""
    plan = compose_export_jobs(
        entries(
            6, supplier=["A"] * 6, currency=["EUR"] * 5 + ["JPY"], amount=[*[Decimal(9)] * 5, Decimal(1000)]
        )
    )
    assert "unusual_amount" not in plan.findings["check"].tolist()


def test_every_check_has_a_case():
    """No check is without a test; errors come first, then warnings, then infos; each names who acts."""
    of_several = {"duplicate", "conflicting", "other_line_not_ready", "sent_under_another_id"}
    of_books = {"exported_elsewhere", "already_booked", "maybe_booked"}
    assert {check.code for check in CHECKS} == {*ERRORS, *LOOKS, *of_several, *of_books}
    ranks = [("error", "warning", "info").index(check.severity) for check in CHECKS]
    assert ranks == sorted(ranks)
    assert {check.who for check in CHECKS} == set(ROLES)


@pytest.mark.parametrize(
    ("changes", "known_since", "none_imported"),
    [
        ({"state": "CREATED", "updated_at": pd.Timestamp("2026-10-30T00:00Z")}, None, True),
        ({"state": "IMPORTED", "updated_at": pd.Timestamp("2026-09-30T23:00Z")}, "2026-09-30", None),
        ({}, None, None),
    ],
)
def test_an_unknown_account_ages_with_the_list(entries, changes, known_since, none_imported):
    """Bktools never says that the service has no such account: it says what it knows, and of when."""
    given = {"categories": categories(), "accounts": accounts(id=OTHER, **changes)}
    [told] = map(json.loads, compose_export_jobs(coded(entries), **given).not_ready["facts"])
    assert (told["known_since"], told["none_imported"]) == (known_since, none_imported)


def test_all_errors_of_an_entry_are_found(entries):
    """The reason is the first error, findings have all; of an entry that needs nothing no more is said."""
    plan = compose_export_jobs(
        entries(1, approved=[False], amount=[None], category_id=[None], employee_id=[None])
    )
    assert plan.not_ready["reason"].to_list() == ["not_approved"]
    assert plan.findings["check"].to_list() == ["not_approved", "no_amount", "no_category", "no_employee"]
    again = compose_export_jobs(entries(1, approved=[False], amount=[None]), **history("ACCEPTED"))
    assert again.findings["check"].to_list() == ["exported"]
    twice = pd.concat([entries(1, employee_id=[None]), entries(1, employee_id=[None])], ignore_index=True)
    assert compose_export_jobs(twice).findings[["check", "line"]].to_numpy().tolist() == [
        ["duplicate", 2],
        ["no_employee", 1],
    ]


def test_what_a_finding_is_about_is_named(entries):
    """Date, supplier or text, and amount in its currency's decimals; the line where an entry has none."""
    frame = entries(
        5,
        date=pd.to_datetime(["2026-10-03", "2026-10-03", None, "2026-10-03", None]),
        supplier=["SJ\r\nAB", None, "\u202eevil", "", None],
        description=["ignored", "Lunch", "x", " ", None],
        amount=pd.array(
            [Decimal("-1234567.50"), Decimal(1200), None, Decimal("12.345"), None],
            pd.ArrowDtype(pa.decimal128(20, 3)),
        ),
        currency=["EUR", "JPY", "EUR", "KWD", None],
        approved=[False] * 5,
    )
    found = compose_export_jobs(frame).findings
    assert found[found["check"] == "not_approved"].sort_values("line")["about"].to_list() == [
        "2026-10-03, SJ\\r\\nAB, EUR -1,234,567.50",
        "2026-10-03, Lunch, JPY 1,200",
        "\\u202eevil",
        "2026-10-03, KWD 12.345",
        "line 5",
    ]
    assert list(found.columns[:6]) == ["check", "severity", "about", "message", "to_do", "who"]
    assert list(found.columns[-4:]) == ["line", "id", "company_id", "facts"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        *(
            ({"period": period}, r"period.*must be a month such as 2026-10")
            for period in ("2026-13", "2026-1", "October", "0000-10", "2026-10-01")
        ),
        ({"currency": "XXQ"}, r"currency.*must be the code of a currency in ISO 4217, such as EUR"),
    ],
)
def test_month_and_currency_are_checked(entries, options, said):
    """Anything else than a month, and a currency that nobody has, are refused by name."""
    with pytest.raises(ArgumentError, match=said):
        compose_export_jobs(entries(1), **options)


def test_ids_in_capitals_are_the_same_ids(entries):
    """The same UUID in capitals is the same entry, beside itself, in the journal, and where it is known."""
    shouted = entries(2).assign(id=[entry_id(0).upper(), entry_id(1).upper()], company_id=COMPANY.upper())
    plan = compose_export_jobs(pd.concat([entries(1), shouted], ignore_index=True))
    assert plan.entries["id"].to_list() == [entry_id(0), entry_id(1)]
    assert plan.not_ready["reason"].to_list() == ["duplicate"]
    assert set(plan.entries["company_id"]) == {COMPANY}
    history = pd.DataFrame({"entry_id": [entry_id(0), entry_id(1)], "state": ["ACCEPTED", "SENDING"]})
    plan = compose_export_jobs(shouted, history=history)
    assert plan.not_ready["reason"].to_list() == ["exported", "in_doubt"]
    coded_in_capitals = coded(entries, employee_id=[OTHER.upper()]).assign(category_id=CATEGORY.upper())
    plan = compose_export_jobs(
        coded_in_capitals,
        categories=categories(account_id=ACCOUNT.upper(), company_id=COMPANY.upper()),
        accounts=accounts(),
        employees=pd.DataFrame({"id": [OTHER]}),
    )
    assert plan.not_ready.empty


def test_an_approval_that_is_not_known_is_none(entries):
    """Where nothing says that an entry is approved, it is not exported."""
    plan = compose_export_jobs(entries(2, approved=pd.array([True, None], dtype="boolean")))
    assert plan.not_ready["reason"].to_list() == ["not_approved"]
