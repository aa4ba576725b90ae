"""What the journal keeps of entries, by month: a closed month receives nothing, each amount is exact."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest
from backends import BOTH, typed_by_hand
from batches import COMPANY, ENTRIES, LOOKED, answer, batch, claimed, send

import bktools
from bktools.errors import ArgumentError, JournalError
from bktools.export.plan import BatchRequest
from bktools.frames.tables import in_memory
from bktools.journal.attempts import record_intent, record_outcome
from bktools.journal.periods import approve, record_close
from bktools.journal.resolving import resolve
from bktools.journal.writable import WritableJournal
from bktools.wording import words


def of_amounts(name: str, *amounts: str, first: int = 0, currency: str = "EUR", **more) -> BatchRequest:
    """Return a batch whose entries have these amounts."""
    numbers = range(first, first + len(amounts))
    return batch(name, *numbers, amount=[*map(Decimal, amounts)], currency=currency, **more)


def dated(name: str, date: str | None, *, first: int = 0) -> BatchRequest:
    """Return a batch of one entry with a date, or without one."""
    dates = pa.array([date and dt.date.fromisoformat(date)], pa.date32())
    return of_amounts(name, "1.00", first=first, date=dates)


def held(*entries: tuple[str | None, str, str, str | None]) -> pd.DataFrame:
    """Return entries that are not ready: id, reason, amount, currency."""
    columns = pd.DataFrame(entries, columns=["id", "reason", "amount", "currency"]).to_dict("list")
    amounts = pd.array(list(map(Decimal, columns["amount"])), dtype=pd.ArrowDtype(pa.decimal128(9, 3)))
    return pd.DataFrame(columns | {"amount": amounts}).assign(message="choose another category")


def close(journal, month: str, *entries: tuple | pd.DataFrame) -> None:
    """Record a close that held these entries back."""
    not_ready = entries[0] if entries and isinstance(entries[0], pd.DataFrame) else held(*entries)
    about = {"plan_id": "plan", "prepared_by": "Ada", "approved_by": "Grace"}
    record_close(journal, COMPANY, month, **about, held_back=in_memory(not_ready))


def rows_of(frame: pd.DataFrame, *names: str) -> list[tuple]:
    """Return columns of a frame as rows, with None for what is not there."""
    shown = frame[list(names)].astype("object")
    return list(shown.where(shown.notna(), None).itertuples(index=False, name=None))


@BOTH
def test_a_closed_period_receives_nothing(journal, service, backend):
    """Neither claim nor intent sends into it; the message names who closed it."""
    claimed(journal, of_amounts("waiting", "1.00"), month="2026-11")
    bktools.close_period("2026-10", by="Grace", company=COMPANY, service=service)
    with pytest.raises(JournalError) as refused:
        claimed(journal, of_amounts("a", "1.00", first=1), month="2026-10")
    text = str(refused.value)
    assert f"the period 2026-10 of company {COMPANY} was closed by Grace on 20" in text
    assert text.endswith(
        f"open it again: bktools periods reopen 2026-10 --company {COMPANY} --sandbox "
        '--by NAME --reason "..."'
    )
    assert journal.row_of("a") is None
    claimed(journal, of_amounts("b", "1.00", first=2), month="2026-09")
    claimed(journal, of_amounts("waiting", "1.00"), month="2026-11")
    with typed_by_hand(journal, backend) as by_hand:
        by_hand.execute(
            "INSERT INTO events (event_id, at, code, state, company_id, period, person, facts, digest) "
            "VALUES ((SELECT max(event_id) + 1 FROM events), 't', 'period_closed', 'CLOSED', "
            f"'{COMPANY}', '2026-11', 'Eve', '{{}}', 'd')"
        )
    with pytest.raises(JournalError, match="was closed by Eve"):
        record_intent(journal, "waiting")
    bktools.reopen_period("2026-11", by="Grace", reason="late invoice", company=COMPANY, service=service)
    record_intent(journal, "waiting")
    assert journal.row_of("waiting")["state"] == "SENDING"


def test_an_entry_without_a_date_goes_into_no_closed_period(journal, service):
    """It may belong to any month: it waits while one is closed, and none is closed meanwhile."""
    claimed(journal, dated("before", None))
    with pytest.raises(JournalError, match="stays open: batch before of it is planned"):
        bktools.close_period("2026-10", by="Grace", company=COMPANY, service=service)
    resolve(journal, "before", "RELEASED", **LOOKED)
    bktools.close_period("2026-10", by="Grace", company=COMPANY, service=service)
    text = r"an entry has no date, and the period 2026-10 .* was closed by Grace"
    with pytest.raises(JournalError, match=text):
        claimed(journal, dated("a", None, first=1))
    assert journal.row_of("a") is None
    with pytest.raises(JournalError, match="was closed by Grace"):
        claimed(journal, dated("a", None, first=1), month="2026-10")
    claimed(journal, dated("b", "2026-11-03", first=2))
    claimed(journal, dated("a", None, first=1), month="2026-11")
    assert journal.row_of("a")["state"] == "PLANNED"


def test_each_entry_is_held_back_in_the_record_of_one_month(journal, service):
    """The first month whose last close held it back: a later month changes no earlier one."""

    def waiting(*entries):
        frame = held(*((entry, reason, amount, "EUR") for entry, reason, amount, _ in entries))
        return frame.assign(date=pd.to_datetime([date for *_, date in entries]))

    first, second, third, fourth = ENTRIES[:4]
    unknown = (None, "no_service_id", "3.00", None)
    october = [(first, "no_account", "1.00", "2026-10-05"), (second, "no_account", "2.00", None), unknown]
    # What an earlier close of the month held back, and the last one did not, is none of its entries.
    new = (fourth, "no_account", "5.00", "2026-11-02")
    close(journal, "2026-10", waiting(new))
    close(journal, "2026-10", waiting(*october, (third, "no_account", "4.00", "2026-09-30")))
    before = bktools.record_of("2026-10", COMPANY, service=service).held_back
    bktools.close_period("2026-10", by="Grace", company=COMPANY, service=service)
    changed = [(entry, "not_approved", "9.00", date) for entry, _, _, date in october if entry]
    third_again = (third, "not_approved", "4.50", "2026-09-30")
    close(journal, "2026-11", waiting(*changed, unknown, third_again, new))
    facts = ("entry_id", "reason", "amount")
    listed = {
        month: bktools.record_of(month, COMPANY, service=service).held_back
        for month in ("2026-10", "2026-11")
    }
    assert {month: rows_of(frame, *facts) for month, frame in listed.items()} == {
        "2026-10": rows_of(before, *facts),
        "2026-11": [(fourth, "no_account", Decimal("5.00"))],
    }
    periods = bktools.load_periods(COMPANY, service=service).set_index("period")
    assert periods["held_back"].to_dict() == {"2026-10": 4, "2026-11": 1}
    # A second close of the month holds each entry back once, with its newest reason.
    close(journal, "2026-11", waiting((fourth, "not_approved", "5.50", "2026-11-02"), unknown))
    record = bktools.record_of("2026-11", COMPANY, service=service)
    assert rows_of(record.held_back, *facts) == [(fourth, "not_approved", Decimal("5.50"))]
    assert len(record.closes) == 2


def test_a_period_is_closed_once_and_reopened_with_a_reason(journal, service):
    """A second close, a reopening without a reason, and nobody's name are refused; what happened is kept."""
    change = {"company": COMPANY, "service": service}
    with pytest.raises(JournalError, match=r"2026-10 of company .* is OPEN already"):
        bktools.reopen_period("2026-10", by="Ada", reason="late", **change)
    bktools.close_period("2026-10", by=" Ada ", **change)
    with pytest.raises(JournalError, match="is CLOSED already: nothing was recorded"):
        bktools.close_period("2026-10", by="Ada", **change)
    for missing in ("by", "reason"):
        with pytest.raises(ArgumentError, match=f"{missing} must be given"):
            bktools.reopen_period("2026-10", **{"by": "Ada", "reason": "late"} | {missing: " "}, **change)
    with pytest.raises(ArgumentError, match="month must be a month such as 2026-10"):
        bktools.close_period("October", by="Ada", **change)
    bktools.reopen_period("2026-10", by="Grace", reason="late invoice", **change)
    sql = "SELECT code, facts, person FROM events WHERE period = '2026-10' ORDER BY event_id"
    assert [tuple(row.values()) for row in journal.rows(sql)] == [
        ("period_closed", "{}", "Ada"),
        ("period_opened", '{"reason": "late invoice"}', "Grace"),
    ]


def test_a_month_that_has_not_begun_is_not_closed(service):
    """It is refused: a later sending into it would be refused by mistake."""
    with pytest.raises(ArgumentError, match=r"^month must have begun"):
        bktools.close_period("2999-01", by="Grace", service=service)


@BOTH
@pytest.mark.parametrize("state", ["PLANNED", "UNKNOWN"])
def test_a_period_with_an_unfinished_batch_stays_open(journal, service, state, today, monkeypatch):
    """The message names the batch, its state and the command that settles it; an approval is no way round."""
    today("2026-11-02T10:00")
    original = WritableJournal.lock

    def later(closing, company_id):
        # Another process takes it up before the lock of the company is held.
        monkeypatch.setattr(WritableJournal, "lock", original)
        send(journal, of_amounts("a", "1.00"), state, month="2026-10")
        return original(closing, company_id)

    monkeypatch.setattr(WritableJournal, "lock", later)
    named = words().name("outcome", state)
    text = f"stays open: batch a of it is {named}; .*bktools export resolve a --company {COMPANY} --sandbox"
    with pytest.raises(JournalError, match=text):
        bktools.close_period("2026-10", by="Ada", company=COMPANY, service=service)
    today("2026-11-03T10:00")
    assert f"batch a of it is {named}" in approve(journal, COMPANY, "2026-10", by="Grace")
    bktools.close_period("2026-09", by="Ada", company=COMPANY, service=service)
    resolve(journal, "a", "RELEASED", **LOOKED)
    assert approve(journal, COMPANY, "2026-10", by="Grace") == ""
    assert bktools.load_periods(COMPANY, service=service)["state"].to_list() == ["CLOSED", "CLOSED"]


@BOTH
def test_each_month_shows_its_figures_by_currency(journal, service):
    """Numbers and exact amounts of exported, in doubt, held back and open, never added over currencies."""
    first = of_amounts("a", "10.10", "0.005")
    send(journal, first, month="2026-10")
    send(journal, of_amounts("b", "1500", first=2, currency="JPY"), month="2026-10")
    waiting = ((ENTRIES[3], "no_account", "7.25", "EUR"), (ENTRIES[4], "not_approved", "1.00", "EUR"))
    close(journal, "2026-10", *waiting, (None, "no_service_id", "2.00", None))
    # The entry was corrected, and sent in November: it was held back with its first amount.
    send(journal, of_amounts("c", "7.30", first=3), month="2026-11")
    send(journal, of_amounts("d", "4.00", first=5), "UNKNOWN", month="2026-11")
    months = bktools.load_periods(COMPANY, service=service)
    assert months.attrs["bktools"]["complete"]
    names = ("exported", "exported_amount", "in_doubt", "held_back", "held_back_amount", "open")
    rows = rows_of(months, "period", "currency", *names)
    assert rows == [
        ("2026-10", "EUR", 2, 10.105, 0, 2, 8.25, 1),
        ("2026-10", "JPY", 1, 1500.0, 0, 0, None, 0),
        ("2026-10", None, 0, None, 0, 1, 2.0, 1),
        ("2026-11", "EUR", 1, 7.3, 1, 0, None, 0),
    ]
    assert set(months.loc[months["period"] == "2026-10", "prepared_by"]) == {"Ada"}
    assert set(months.loc[months["period"] == "2026-10", "approved_by"]) == {"Grace"}
    bktools.close_period("2026-10", by="Grace", company=COMPANY, service=service)
    bktools.reopen_period("2026-10", by="Ada", reason="an invoice", company=COMPANY, service=service)
    months = bktools.load_periods(COMPANY, service=service)
    assert months.loc[months["period"] == "2026-10", "approved_by"].isna().all()
    record = bktools.record_of("2026-10", COMPANY, service=service)
    fixed = record.held_back.set_index("entry_id").loc[ENTRIES[3]]
    listed = [fixed[name] for name in ("outcome", "resolved_period", "resolved_job_id", "amount")]
    assert listed == ["resolved", "2026-11", "job-c", 7.25]


def test_entries_that_add_up_to_nothing_have_an_amount(journal, service):
    """A charge and its refund that wait, or an entry of 0.00."""
    close(
        journal,
        "2026-10",
        (ENTRIES[0], "no_account", "5.00", "EUR"),
        (ENTRIES[1], "no_account", "-5.00", "EUR"),
    )
    months = bktools.load_periods(COMPANY, service=service)
    assert rows_of(months, "held_back", "held_back_amount", "open", "open_amount") == [(2, 0.0, 2, 0.0)]
    totals = bktools.record_of("2026-10", COMPANY, service=service).totals
    assert rows_of(totals, "open", "open_amount") == [(2, 0.0)]


# The facts of an entry at its newest claim.


def kept(journal, name: str = "a") -> list[tuple]:
    """Return amount, supplier and period of each entry of a batch, as its newest claim has them."""
    sql = "SELECT amount, supplier, period FROM entry_data WHERE batch_id = $1 ORDER BY entry_id"
    return [tuple(row.values()) for row in journal.rows(sql, name)]


def test_a_claim_keeps_the_exact_amount_and_the_period(journal):
    """The period is the close's, otherwise the month of the date, else null; unknown columns are null."""
    claimed(journal, of_amounts("a", "0.0000001", supplier="Müller & Söhne"), month="2026-10")
    claimed(journal, of_amounts("b", "12.50", first=2, date=dt.date(2026, 9, 30)))
    claimed(journal, of_amounts("c", "1", first=3))
    assert kept(journal) == [("0.0000001", "Müller & Söhne", "2026-10")]
    assert (kept(journal, "b"), kept(journal, "c")) == ([("12.50", None, "2026-09")], [("1", None, None)])


def test_the_facts_of_the_newest_claim_count(journal):
    """An entry that was corrected before it was sent, or sent again, shows the amount that was sent last."""
    for amount in ("1.00", "1.00", "2.00"):
        claimed(journal, of_amounts("a", amount))
    assert kept(journal) == [("2.00", None, None)]
    attempt = record_intent(journal, "a")
    claimed(journal, of_amounts("a", "3.00"))
    assert kept(journal) == [("2.00", None, None)], "on its way: what is sent stays"
    record_outcome(journal, attempt, answer("REJECTED"))
    claimed(journal, of_amounts("a", "4.00"))
    claimed(journal, batch("a", 0))
    assert kept(journal) == [("4.00", None, None)], "nothing new is known"
