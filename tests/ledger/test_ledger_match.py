"""What a match shows of its verdict: sentences with their values, open groups, totals, tables, views."""

from __future__ import annotations

import functools
import json
from decimal import Decimal

import pandas as pd
import pytest
from csv_worlds import NAMES, entries_of, ledger_of, match_of
from worlds import MONEY, booking, exported, ledger, number_id, october, plainly_booked

from bktools import match_ledger
from bktools.errors import ArgumentError, InputError
from bktools.wording import words

ENGLISH = words("en")


@functools.cache
def october_match():
    entries = exported(30)
    return match_ledger(entries, ledger(october(entries)[0]))


def finding(match, reason):
    (row,) = match.findings[match.findings["reason"] == reason].to_dict("records")
    return row


# By world: the finding that it has, how severe it is, who acts, and what its sentence and its step name.
FINDINGS = {
    "one_entry_is_not_booked": (
        "missing",
        "error",
        "spend-tool administrator",
        ["EUR 222.40 on 4930"],
        "book the entry in the ERP by hand",
    ),
    "booked_twice": (
        "booked_twice",
        "error",
        "accountant",
        ["on 4930", "voucher V13", "voucher V14"],
        "Reverse all bookings but one",
    ),
    "booked_with_another_amount": (
        "another_amount",
        "error",
        "accountant",
        ["EUR 224.20 is booked instead of EUR 222.40", "difference 1.80", "voucher V13"],
        "Correct the voucher",
    ),
    "booked_on_another_account": (
        "another_account",
        "warning",
        "accountant",
        ["EUR 222.40", "on 4985 instead of 4930", "V13"],
        "Rebook it",
    ),
    "booked_in_the_next_month": (
        "another_month",
        "warning",
        "accountant",
        ["2026-11-02", "2026-10-30", "V13"],
        "Check the accruals of the month end",
    ),
    "correction_in_a_later_month": (
        "corrected_later",
        "warning",
        "accountant",
        ["1 entry of 2026-10-05", "voucher EXP 20", "voucher EXP 9004"],
        "nothing is to be corrected",
    ),
    "booked_and_taken_back": (
        "reversed",
        "error",
        "accountant",
        ["on 4930 and reversed", "V13", "V14"],
        "Look up why it was reversed",
    ),
}


@pytest.mark.parametrize("name", FINDINGS)
def test_a_finding_names_its_values(name):
    """Each error has one finding, which says what it is, who acts, and what to do."""
    reason, severity, who, named, to_do = FINDINGS[name]
    row = finding(match_of(name), reason)
    assert [row["severity"], ENGLISH.name("role", row["who"])] == [severity, who]
    assert [part for part in named if part not in row["message"]] == [], row["message"]
    assert to_do in row["to_do"]
    assert len(match_of(name).findings) == 1


def test_nothing_is_ordered_while_a_free_posting_has_the_amount_or_the_words():
    """A missing entry is not booked by hand before somebody looked at the posting with its words."""
    row = finding(match_of("the_words_of_a_free_posting"), "missing")
    assert 'Look at voucher V13, "Lastschrift Conrad"' in row["to_do"]
    assert "by hand" not in row["to_do"]
    looked_up = match_of("the_words_of_a_free_posting", explained=("V13",))
    assert "book the entry in the ERP by hand" in finding(looked_up, "missing")["to_do"]


@pytest.mark.parametrize("name", ["booked_twice", "booked_with_another_amount", "booked_and_taken_back"])
def test_a_voucher_that_proves_a_verdict_is_not_explained_away(name):
    """Without it one of two bookings would be the only one, or a booked entry missing."""
    with pytest.raises(ArgumentError, match="one of these holds 2026-10-"):
        match_of(name, explained=("V13",))


def test_a_voucher_with_the_document_of_an_entry_holds_it():
    """An invoice of which a part is withheld has the whole cost: its voucher is not explained away."""
    entries = exported(12).assign(document_number=[f"D{number}" for number in range(1, 13)])
    postings = plainly_booked(entries)
    withheld = {**postings[0], "account_code": "1740", "amount": Decimal(-20)}
    creditor = {**postings[1], "amount": postings[1]["amount"] + 20}
    books = ledger([postings[0], withheld, creditor, *postings[2:]])
    assert match_ledger(entries, books).counts == {"booked": 12}
    with pytest.raises(ArgumentError, match="one of these holds 2026-10-03, Bahn Köln"):
        match_ledger(entries, books, explained=["A 1"])


# By days after its day on which an entry's amount and words are posted, and whether it was exported with a
# posting of its own: its status, and the finding that names the other posting.
LATE_POSTINGS = {
    (60, False): ("open", "may_be_in"),
    (-200, False): ("open", "may_be_in"),
    (60, True): ("booked", None),
}


@pytest.mark.parametrize("case", LATE_POSTINGS)
def test_no_order_beside_a_posting_of_the_amount_on_any_day(case):
    """What was booked by hand months later, or on a mistyped day, is not booked again."""
    days, is_booked = case
    entries = exported(30)
    late = booking(99, entries.loc[4].to_dict(), date=entries["date"][4] + pd.Timedelta(days=days))
    end = booking(98, {"description": "Bank", "account_code": "1200", "date": "2027-02-28", "amount": 5})
    own = plainly_booked(entries if is_booked else entries.drop(index=4))
    match = match_ledger(entries, ledger([*own, *late, *end]))
    status, reason = LATE_POSTINGS[case]
    assert match.entries["status"][4] == status
    assert [row for row in match.findings["message"] if "voucher A 99" in row] == (
        [finding(match, reason)["message"]] if reason else []
    )
    assert "missing" not in {*match.findings["reason"]}


def test_what_is_open_is_one_row_a_group():
    """A group names account, days, both sums, the difference, and the likeliest entries first."""
    match = match_of("a_sum_of_a_day_with_a_difference")
    (group,) = match.open_groups.to_dict("records")
    assert [group[name] for name in ("accounts", "entries", "ledger", "difference")] == [
        "4930",
        3,
        889.57,
        13.37,
    ]
    assert f"{group['first_day']:%Y-%m-%d}" == f"{group['last_day']:%Y-%m-%d}" == "2026-10-05"
    assert (group["exported"], group["currency"]) == ("EUR 876.20", "EUR")
    assert group["likeliest"].count("; ") == 2
    row = finding(match, "several_stories")
    assert "EUR 876.20 exported, EUR 889.57 in the ledger, difference EUR 13.37" in row["message"]
    assert "--explained" not in row["to_do"]
    assert "explained=[VOUCHER]" in row["to_do"]


@pytest.mark.parametrize(
    ("column", "step"),
    [
        (
            "document_number",
            "name each that holds none of the entries (explained=[VOUCHER]) and match again",
        ),
        ("note", "Look at these postings, the likeliest entry first"),
    ],
)
def test_a_person_names_only_what_the_ledger_has(column, step):
    """Where postings have no voucher, a person names their documents; where they have neither, nothing."""
    postings = ledger_of("a_sum_of_a_day_with_a_difference").rename(columns={"voucher_id": column})
    match = match_ledger(entries_of("a_sum_of_a_day_with_a_difference"), postings)
    assert finding(match, "several_stories")["to_do"].split("; ")[-1] == step


def test_a_month_without_a_known_style_has_a_row_an_account():
    """220 entries that do not agree are the difference of each account, never 220 lines."""
    entries = pd.concat([exported(20).assign(batch_id=f"b{part}") for part in range(11)], ignore_index=True)
    entries["entry_id"] = [number_id(number) for number in range(len(entries))]
    entries["amount"] = entries["amount"] + pd.Series(range(len(entries))) / 100
    postings = [
        row | {"amount": 3 * row["amount"], "description": "x"} for row in plainly_booked(exported(20))
    ]
    strange = ledger(postings).assign(text="x")
    match = match_ledger(entries, strange)
    open_ = match.findings[match.findings["check"] == "open"]
    assert {*open_["reason"]} == {"style_unknown"}
    assert len(open_) == len(match.open_groups) == 3
    assert match.open_groups["difference"].notna().all()
    assert "How this ledger books is not known" in match.style


def test_a_job_that_never_arrived_is_missing():
    """Where earlier batches show how the ledger books, the entries of a whole batch are missing."""
    entries = exported(320)
    amounts = [Decimal(1000 + 137 * number + number**2) / 100 for number in range(320)]
    entries["amount"] = pd.array(amounts, dtype=MONEY)
    entries["description"] = [f"Text {number}" for number in range(320)]
    entries.loc[160:, "date"] += pd.Timedelta(days=31)
    bank = {"account_code": "1200", "description": "Bank", "date": pd.Timestamp("2026-12-31")}
    postings = ledger([*plainly_booked(entries.head(160)), *booking(999, bank, amount=1)])
    match = match_ledger(entries, postings)
    assert match.entries["status"].tolist() == ["booked"] * 160 + ["missing"] * 160
    november = match.totals[match.totals["month"] == "2026-11"]
    assert {*november["ledger"]} == {0}
    assert november["exported"].sum() == entries["amount"].tail(160).astype(float).sum().round(2)


NOT_COMPARED = {
    "entries_without_account_codes": ("value_unknown", ["account unknown"]),
    "entries_after_the_ledgers_last_day": ("not_covered", ["the ledger shows", "to 2026-10-14"]),
    "a_ledger_that_begins_in_the_month": ("not_covered", ["the ledger shows 2026-10-16 to"]),
}


@pytest.mark.parametrize("name", NOT_COMPARED)
def test_what_cannot_be_compared_is_one_line_a_reason(name):
    """The line counts the entries, and says what is lacking."""
    reason, named = NOT_COMPARED[name]
    row = finding(match_of(name), reason)
    count = int((match_of(name).entries["status"] == "not_comparable").sum())
    assert ENGLISH.counted(count, "entry") in row["message"]
    assert [part for part in named if part not in row["message"]] == [], row["message"]


def test_the_currency_of_a_ledger_without_one():
    """The company's currency counts; without it one line names the option."""
    name = "foreign_entries_ledger_without_currency"
    unknown = match_of(name)
    assert {*unknown.entries["status"]} == {"not_comparable"}
    assert "currency=" in finding(unknown, "currency_unknown")["to_do"]
    known = match_of(name, currency="EUR")
    assert known.habits["currency"] == "EUR"
    assert "currency_unknown" not in {*known.findings["reason"]}


# ---- control totals


def test_totals_of_booked_entries_agree():
    """Each account and month of booked entries agrees, also where they are corrected in a later month."""
    checked = 0
    for name in NAMES:
        match = match_of(name)
        if match.has_arrived:
            assert match.open_accounts.empty, name
            assert "no difference on" in match.totals_summary[0], name
            checked += 1
    assert checked > 20


def test_totals_of_what_is_not_compared_do_not_agree():
    """Where no entry could be compared, nothing is said of a difference."""
    name = "foreign_entries_ledger_without_currency"
    [line] = match_of(name).totals_summary
    assert line.startswith("control totals: no entry could be compared on ")


def test_totals_are_those_of_the_accounting_system():
    """A month's total is the sum of the account's postings of that month; no exported entry is lost."""
    for name in NAMES:
        match, entries, postings = match_of(name), entries_of(name), ledger_of(name)
        currency = match.habits["currency"]
        if "currency" in postings:
            postings = postings[postings["currency"].isna() | (postings["currency"] == currency)]
        month = postings["date"].dt.strftime("%Y-%m")
        amounts = postings["amount"].astype(float) * match.habits["sign"]
        by_month = amounts.groupby([postings["account_code"], month]).sum()
        totals = match.totals.dropna(subset=["account_code", "month"])
        expected = [float(by_month.get((row.account_code, row.month), 0)) for row in totals.itertuples()]
        assert totals["ledger"].tolist() == pytest.approx(expected), name
        assert match.totals[["entries", "not_compared"]].sum().sum() == len(entries), name


def test_a_late_entry_is_compared_in_the_month_of_its_posting():
    """September's receipt, sent by October's close, is of October's export, and in September's ledger."""
    entries = exported(30).assign(period="2026-10")
    entries.loc[0, "date"] -= pd.DateOffset(months=1)
    books = ledger(plainly_booked(entries))
    october, both = match_ledger(entries, books, period="2026-10"), match_ledger(entries, books)
    assert october.open_accounts.empty
    assert both.open_accounts.empty
    of_account = entries.groupby("account_code")["amount"].sum().astype(float)
    rows = october.totals.set_index("account_code")
    assert rows["exported"].to_dict() == of_account.to_dict()
    assert rows["of_other_months"].to_dict() == {"4930": 0, "5800": -100, "5810": 0}
    assert both.totals.set_index(["month", "account_code"])["of_other_months"]["2026-09", "5800"] == 100


def test_foreign_entries_are_in_the_totals_at_what_the_ledger_has():
    """The exported sum is of the ledger's currency; what is booked for others stands beside it."""
    match = match_of("foreign_entries_one_voucher_each_same_texts")
    row = match.totals.set_index("account_code").loc["4910"]
    assert [row["exported"], row["foreign"], row["ledger"]] == [2739.96, 806.08, 3546.04]
    assert match.open_accounts.empty


def test_totals_are_in_the_ledgers_currency():
    """A posting in another currency is in no total, and books no entry of the ledger's currency."""
    match = match_of("postings_in_their_own_currencies")
    totals = match.totals.set_index("account_code")
    names = ["exported", "foreign", "ledger", "not_from_export"]
    assert totals[names].loc["4660"].tolist() == [627.22, 0, 627.22, 0]
    assert match.open_accounts.set_index("account_code")["difference"].to_dict() == {"4930": -88.0}


def _receipts_with_pooled_tax(wrong, more=0, account="4930"):
    """Thirty receipts over one or two accounts, each a voucher with one line of tax; one line is wrong."""
    own, booked = [], []
    for number in range(30):
        day, words_of = pd.Timestamp(2026, 10, 1 + number % 28), f"Shop {number} receipt {1000 + number}"
        tax = Decimal(0)
        for code in ("4930", "4663") if number % 3 else ("4930",):
            amount = Decimal(2117 + 3571 * number + 97 * int(code)) / 100
            own.append((number_id(len(own)), day, amount, code, words_of))
            is_wrong = (number, code) == (wrong, "4930")
            gross = amount + (more if is_wrong else 0)
            net = (gross / Decimal("1.19")).quantize(Decimal("0.01"))
            booked.append((account if is_wrong else code, day, net, words_of, f"V{number}"))
            tax += gross - net
        booked.append(("1576", day, tax, words_of, f"V{number}"))
    entries = pd.DataFrame(own, columns=["entry_id", "date", "amount", "account_code", "description"])
    postings = pd.DataFrame(booked, columns=["account_code", "date", "amount", "text", "voucher_id"])
    return entries.astype({"amount": MONEY}), postings.astype({"amount": MONEY})


@pytest.mark.parametrize("wrong", [9, 10], ids=["one account", "two accounts"])
@pytest.mark.parametrize(("more", "account"), [(18, "4930"), (0, "4980")], ids=["amount", "account"])
def test_figures_have_their_tax_where_nets_are_compared(wrong, more, account):
    """An error is shown, and is in its account's difference, as it was exported: with the tax."""
    entries, postings = _receipts_with_pooled_tax(wrong, more, account)
    match = match_ledger(entries, postings)
    (row,) = match.entries[match.entries["status"].isin(["another_amount", "another_account"])].to_dict(
        "records"
    )
    assert row["booked_amount"] == row["amount"] + more
    difference = more or -row["amount"]
    assert match.open_accounts.set_index("account_code")["difference"].to_dict() == {"4930": difference}


def test_an_entry_of_a_later_close_is_in_the_totals_of_that_month():
    """October's ledger has nothing of an October bill that November's close sent: no difference."""
    entries = exported(12).assign(period=["2026-10"] * 11 + ["2026-11"])
    postings = ledger(plainly_booked(entries.head(11)))
    match = match_ledger(entries, postings, period="2026-10")
    assert (len(match.entries), match.open_accounts.empty) == (11, True)


def test_totals_name_each_difference():
    """A missing, a doubled and a wrong amount are the differences of their accounts, exactly."""
    match = october_match()
    assert match.open_accounts.set_index("account_code")["difference"].to_dict() == {
        "4930": 242.0,
        "5800": 10.0,
        "5810": -235.0,
    }
    travel = match.totals.set_index("account_code").loc["5800"]
    names = ("account_name", "month", "exported", "ledger", "on_other_accounts", "not_from_export")
    assert [travel[name] for name in names] == ["Travel", "2026-10", 1945.0, 1937.33, 22.67, 5.0]
    for view in (repr(match), match._repr_html_()):
        assert all(
            text in view for text in ("4930 Office", "5800 Travel", "5810 Hotels", "\N{MINUS SIGN}235.00")
        )


# ---- the month


def test_all_entries_are_matched_and_a_month_is_shown():
    """October's subscription is matched beside November's; the result has October's entries alone."""
    name = "subscription_booked_and_next_months_too"
    match = match_of(name, period="2026-10")
    assert {*match.entries["date"].dt.month} == {10}
    assert {*match.entries["status"]} == {"booked"}
    assert {*match.totals["month"]} == {"2026-10"}
    both = match_of(name, period=("2026-10", "2026-11"))
    assert len(both.entries) == len(entries_of(name))
    with pytest.raises(ArgumentError, match="period must be a month such as 2026-10"):
        match_of(name, period="October")


# ---- what a person adds


def test_cost_centres():
    """Another cost centre is an info beside an entry that is booked; corrected, it is gone."""
    entries = exported(12).assign(cost_centre="100")
    postings = ledger(plainly_booked(entries)).assign(cost_centre="100")
    wrong = postings.assign(cost_centre=postings["cost_centre"].mask(postings["voucher_id"] == "A 6", "200"))
    match = match_ledger(entries, wrong)
    assert match.findings[["check", "severity"]].to_numpy().tolist() == [["another_cost_centre", "info"]]
    assert match_ledger(entries, postings).findings.empty
    assert "cost centres (the entries have none)" in match_ledger(exported(12), postings).unchecked
    named = match_ledger(entries.assign(cost_centre="100 Nord"), wrong.replace("200", "100"))
    assert named.findings.empty


def test_each_line_of_a_split_receipt_may_have_its_own_cost_centre():
    """The lines are one voucher, and one entry: a line whose cost centre is there is booked on it."""
    entries = exported(12).assign(split_line=0, cost_centre="100")
    entries.loc[:1, ["entry_id", "date"]] = entries.loc[0, ["entry_id", "date"]].tolist()
    entries.loc[:1, "split_line"], entries.loc[1, "cost_centre"] = [1, 2], "200"
    postings = ledger(plainly_booked(entries)).replace({"voucher_id": {"A 2": "A 1"}})
    postings["cost_centre"] = ["100", None, "200", None, *["100", None] * 10]
    match = match_ledger(entries, postings)
    assert match.habits["unit"] == "receipt"
    assert match.findings.empty
    lines = entries[["entry_id", "account_code"]].assign(month=entries["date"].dt.strftime("%Y-%m"))
    assert match.totals["entries"].sum() == len(lines.drop_duplicates())


def test_style_and_sign_can_be_given():
    """What a person says goes before what the ledger shows; an unknown style is refused."""
    entries, postings = entries_of("credits_are_costs"), ledger_of("credits_are_costs")
    assert match_ledger(entries, postings).habits["sign"] == -1
    assert match_ledger(entries, postings, reverse_sign=True).counts == {"booked": len(entries)}
    assert match_ledger(entries, postings, reverse_sign=False).counts != {"booked": len(entries)}
    for style in ("week", "month"):
        assert style in match_ledger(entries, postings, style=style).habits["unit"]
    with pytest.raises(ArgumentError, match="style must be one of entry,"):
        match_ledger(entries, postings, style="quarter")
    with pytest.raises(ArgumentError, match="explained must name a voucher or a document"):
        match_ledger(entries, postings, explained=["A 78"])


def test_an_entry_in_doubt_is_not_booked_by_hand():
    """A missing entry of a batch in doubt is settled first; an accepted one is booked by hand."""
    entries = exported(12)
    entries.loc[3, "state"] = "UNKNOWN"
    match = match_ledger(entries, ledger(plainly_booked(entries.drop(index=[3, 6]))))
    assert {*match.findings["reason"]} == {"missing", "missing_in_doubt"}
    assert "by hand" not in finding(match, "missing_in_doubt")["to_do"]


# ---- tables and views


def test_facts_and_languages():
    """Facts are codes, exact amounts and days, last in the table; sentences are those of the language."""
    entries = exported(30)
    english, german = october_match(), match_ledger(entries, ledger(october(entries)[0]), language="de")
    facts = json.loads(finding(english, "another_amount")["facts"])
    assert facts.items() >= {"amount": "121.00", "booked_amount": "131.00", "difference": "10.00"}.items()
    assert english.findings.columns[-1] == "facts"
    assert "steht nicht im Hauptbuch" in finding(german, "missing")["message"]
    assert german.headline.startswith("Hauptbuch")


def test_what_is_not_compared_is_named():
    """A column that a frame lacks, and batches that were not sent, are lines of the result."""
    entries = exported(12).assign(state=["RELEASED", *["ACCEPTED"] * 11]).drop(columns="currency")
    match = match_ledger(entries, ledger(plainly_booked(exported(12))).drop(columns=["text", "voucher_id"]))
    named = [phrase.split(" (")[0] for phrase in match.unchecked]
    assert named == ["currencies", "texts", "vouchers", "1 entry of batches that were not sent"]
    assert "columns={'voucher_id': HEADING}" in match.unchecked[2]
    assert len(match.entries) == 11
    assert "not compared: texts" in repr(match)


@pytest.mark.parametrize(
    "codes",
    [
        lambda rows: rows["account_code"] + ".0",
        lambda rows: "00" + rows["account_code"],
        lambda rows: rows["account_name"].str.upper(),
    ],
)
def test_accounts_that_are_written_in_another_way(codes):
    """Names, and numbers with zeros, are compared where not one code of both sides is the same."""
    entries, postings = exported(12), ledger(plainly_booked(exported(12)))
    assert match_ledger(entries, postings.assign(account_code=codes(postings))).has_arrived
    assert match_ledger(entries.assign(account_code=codes(entries)), postings).has_arrived


def test_a_ledger_of_other_accounts():
    """None of the entries can be compared: the step names the accounts, not the style or the currency."""
    named = ledger(plainly_booked(exported(12))).assign(account_code="Kasse", account_name=None)
    match = match_ledger(exported(12), named.drop(columns="currency"))
    assert match.counts == {"not_comparable": 12}
    assert "codes of the entries' accounts" in finding(match, "other_accounts")["to_do"]
    assert not [word for word in ("style", "currency=") if word in repr(match)]


@pytest.mark.parametrize("empty", ["exported", "ledger"])
def test_empty_frames(empty):
    """Without entries all has arrived; without postings nothing is missing: it may be another ledger."""
    entries, postings = exported(2).assign(period="2026-10"), ledger(plainly_booked(exported(2)))
    match = match_ledger(
        entries[:0] if empty == "exported" else entries, postings[:0] if empty == "ledger" else postings
    )
    assert "missing" not in match.counts
    assert match.has_arrived == (empty == "exported")
    assert "exported entries" in repr(match)
    assert len(match.totals) == (0 if empty == "exported" else 2)


BAD = {
    "no id": (lambda e, p: (e.drop(columns="entry_id"), p), "exported: needs the column entry_id"),
    "no account": (lambda e, p: (e, p.drop(columns="account_code")), "ledger: needs the column account_code"),
    "amounts as text": (
        lambda e, p: (e, p.assign(amount="1.5")),
        "ledger: column amount must be an exact number, is text: make it numbers",
    ),
    "lost zeros": (
        lambda e, p: (e, p.assign(account_code=5800)),
        "must be text, is int64 .a number has lost its leading zeros",
    ),
    "dates as text": (lambda e, p: (e.assign(date="3.10.2026"), p), "exported: column date must be a date"),
    "twice": (
        lambda e, p: (pd.concat([e, e]), p),
        f"has 2 entries more than once, such as {number_id(0)}: give each entry once",
    ),
    "gaps": (lambda e, p: (e, p.assign(date=pd.NaT)), "column date is empty in 4 rows: fill it"),
    "companies": (
        lambda e, p: (e.assign(company_id=["a", "b"]), p),
        "exported holds 2 companies and a ledger is of one",
    ),
    "no frame": (lambda e, _: (e, None), "ledger must be a frame"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_frames(case):
    """A frame that cannot be matched is refused with its name, the column and the rule."""
    change, text = BAD[case]
    with pytest.raises((InputError, ArgumentError), match=text):
        match_ledger(*change(exported(2), ledger(plainly_booked(exported(2)))))


def test_postings_and_names():
    """Each posting has its entry; a person reads date, money, text and account first."""
    match = october_match()
    own = match.postings[match.postings["entry_id"] == number_id(6)]
    assert own["amount"].sum() == Decimal("142.00")
    assert (match.postings["status"] == "matched to no entry").sum() == match.not_from_export == 1
    columns = list(match.entries.columns)
    assert columns[:6] == ["date", "amount", "currency", "description", "account_code", "account_name"]
    assert columns[-2:] == ["entry_id", "batch_id"]
