"""General ledgers of any accounting system → one row per posting, held to the totals of the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from functools import partial
from os import PathLike
from typing import Any, Unpack

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.caller import setting, warn_caller
from bktools.errors import UnverifiedTableWarning
from bktools.frames import schema
from bktools.frames.money import check_form
from bktools.inputs import cells
from bktools.inputs.assignment import MONEY, ask_for, candidates, split_accounts
from bktools.inputs.fields import IBAN, Column, are_account_codes, may_be_account, most
from bktools.inputs.formats.format import Books
from bktools.inputs.formats.registry import opened_books
from bktools.inputs.mappings import options_with
from bktools.inputs.notes import Note, note
from bktools.inputs.options import LedgerOptions, filled_fields, takes_options
from bktools.inputs.raw.source import Source
from bktools.inputs.reading import Reading, Step, read_by_steps
from bktools.inputs.values.amounts import LONGEST, Figures
from bktools.inputs.values.currencies import own_currency
from bktools.inputs.values.money import read_money, sides_of, total

# What no whole ledger shows, and an export of a part of it may.
_UNLIKELY = {"one_sided", "one_account", "accounts_of_a_bank", "signs_by_nature"}


@takes_options("ledger")
def read_general_ledger(
    path: str | PathLike[str],
    *,
    company_currency: str | None = None,
    money: str = "float",
    mapping: str | PathLike[str] | None = None,
    **options: Unpack[LedgerOptions],
) -> pd.DataFrame:
    r"""Read a general ledger: a format that `bktools guide files` lists, or a CSV, Excel or Parquet table.

    The format is recognised by the file's content. A file that states totals of its own, and whose vouchers
    must balance, is held to them.

    Parameters
    ----------
    path : str or path
        The file.
    company_currency : str, optional
        The company's own currency, for amounts of which nothing else says it; by default that of the
        settings.
    money : str
        `"float"`: amounts as float64, each exactly the amount of the file; one of more than 15 digits is
        refused. `"decimal"`: amounts as Arrow decimals.
    mapping : str or path, optional
        Name of a saved mapping, or path of its .toml file: its options are read behind those that are given.
    {options}

    The fields are `account_code`, `account_name`, `date`, `debit`, `credit`, `amount`, `side`, `currency`,
    `text`, `document_number`, `voucher_id`, `journal`, `tax_code`, `cost_centre`, `foreign_amount`,
    `foreign_currency`, and `debit_account`, `credit_account` for rows that are two postings. Most options are
    for tables: a format says these things itself.

    Returns
    -------
    pandas.DataFrame
        One row per posting, in the file's order, with those columns of `bktools.frames.schema.LEDGER` that
        the file has. `amount` is exact, in the currency of the books, positive for debit and negative for
        credit. `voucher_id` is the journal or series and the number in it. `line` is the line of the file.

    Raises
    ------
    QuestionError
        When something about a table is open. Its message has all of it, the choices that can settle it, and
        the call that reads the file.
    InputError
        When the file cannot be read, has another format, or a check fails.
    ArgumentError
        When an argument is wrong, or is for a table and the file's format says it itself.

    Warns
    -----
    UnverifiedTableWarning
        When a check fails, with `verify="warn"`.
    FileNoteWarning
        When there are notes to know of, such as rows that were left out.

    Notes
    -----
    Nothing of the interface: whether an export arrived is seen in the ledger of the accounting system alone.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> lines = ["#FLAGGA 0", "#SIETYP 4", '#KONTO 5800 "Travel"', '#VER A 1 20261003 "Train"', "{"]
    >>> lines += ["#TRANS 5800 {} 800.00", "#TRANS 1930 {} -800.00", "}"]
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "ledger.se")
    ...     _ = path.write_text("\n".join(lines))
    ...     ledger = read_general_ledger(path)
    >>> ledger[["account_code", "amount", "currency", "voucher_id"]].values.tolist()
    [['5800', 800.0, 'SEK', 'A 1'], ['1930', -800.0, 'SEK', 'A 1']]
    """
    check_form(money)
    steps: list[Step] = [partial(_read_money, own=company_currency or own_currency()), _read_others]

    return read_by_steps(
        partial(opened_books, Source(path, "ledger")),
        steps,
        options_with(mapping, path, "ledger", options),
        schema.LEDGER,
        finish=_proven,
        money=money,
    )


def _read_money(reading: Reading, own: str | None) -> None:
    """Read the days, accounts and amounts of postings."""
    if reading.books is None:
        split_accounts(reading, "account_code", "account_name")
    _take_two_postings(reading)
    _take_contra_accounts(reading)
    if reading.books is None:
        _find_accounts(reading)
    else:
        reading.refuse("account_code", reading.blank("account_code"), "empty_account_code")
    read_money(reading, own)
    if reading.books is None and "amount" in reading.result and reading.has("account_code"):
        _ask_of_accounts(reading)


def _read_others(reading: Reading) -> None:
    """Read the account of each posting, and foreign amounts."""
    if reading.has("account_code"):
        reading.result["account_code"] = reading.or_null("account_code")
    if reading.has("side") and reading.heading("side") not in reading.file_headings:
        # It was made for the second posting of each row.
        reading.leave("side")
    is_foreign = reading.has("foreign_amount", "foreign_currency")
    if is_foreign and not reading.blank("foreign_currency").all():
        _read_foreign(reading)


def _find_accounts(reading: Reading) -> None:
    """Find the accounts of a table."""
    places = reading.places
    if "account_code" not in places:
        _ask_account(reading)
    elif places.get("account_name") == places["account_code"]:
        reading.leave("account_name")
    _number_by_journal(reading)


def _number_by_journal(reading: Reading) -> None:
    """Put the journal, or the kind of voucher, before its numbers, which may begin again in each of them."""
    if reading.has("journal", "voucher_id"):
        journal, number = (cells.trimmed(reading.column(name)) for name in ("journal", "voucher_id"))
        joined = pc.binary_join_element_wise(journal, number, pa.scalar(" ", schema.TEXT))
        reading.put("voucher_id", pc.if_else(pc.equal(number, ""), number, cells.trimmed(joined)))
    else:
        reading.leave("journal")


def _ask_account(reading: Reading) -> None:
    """Ask for the account: columns of codes that repeat; IDs that never repeat are no accounts."""
    table = reading.table
    # Without headings, figures that are there twice are the amounts of two postings.
    counts = Counter(tuple(sample) for sample in ([] if table.heading_line else table.samples))
    twice = [place for place, sample in enumerate(table.samples) if counts[tuple(sample)] > 1]
    text = [reading.places["text"]] if reading.has("text") else []
    offered = candidates(reading, "account_code", text, without=twice)
    choices = [table.choice("account_code", place) for place in offered]
    codes = [place for place in offered if are_account_codes(reading.seen(place))]
    # Without headings, nothing says that two columns are other things.
    two = [] if table.heading_line else codes or offered
    if len(twice) == 2:
        # Beside them, the two columns that repeat most are the accounts, in their order.
        two = sorted(sorted(two, key=lambda place: len(reading.seen(place).kinds))[:2])
    if len(two) == 2 and not reading.has("debit", "credit"):
        # Two columns may be debit and credit accounts, in either order.
        both = [[table.headings[place] for place in own] for own in (two, two[::-1])]
        choices = [
            {"columns": {"debit_account": one, "credit_account": other}} for one, other in both
        ] + choices
    ask_for(reading, "account_code", choices, is_doubtful=not codes)


def _take_two_postings(reading: Reading) -> None:
    """Make two rows of each that has a debit account and a credit account; both columns count, or none."""
    pair = ("debit_account", "credit_account")
    _take_accounts_of_sides(reading)
    has_both_amounts = reading.has(*pair, "debit", "credit")
    is_named = {"account_code", "account_name"} & reading.asked.keys()
    are_pairs = reading.has(*pair) and (reading.is_asked(pair[0]) or _have_both_accounts(reading, *pair))
    if not has_both_amounts and (is_named or not are_pairs):
        reading.leave(*pair)
        return
    is_headed = reading.books is None and reading.seen(reading.places[pair[0]]).is_headed(pair[0])
    if is_headed or not reading.has("side"):
        # The headings of the accounts say their sides; of an account and its contra account, a column does.
        reading.leave("side")
        reading.add("side", reading.constant("debit", schema.TEXT))
    count = len(reading.table.lines)
    both = {"account_code": (reading.column(pair[0]), reading.column(pair[1]))}
    reading.places["account_code"] = reading.places.pop("debit_account")
    if has_both_amounts:
        reading.leave("amount", "side")
        empty = reading.constant("", schema.TEXT)
        both |= {"debit": (reading.column("debit"), empty), "credit": (empty, reading.column("credit"))}
    else:
        reading.leave("debit", "credit")
        side, other = reading.column("side"), {"debit": "credit", "credit": "debit"}
        opposite = cells.each(sides_of(reading), lambda text: other.get(text, ""), schema.TEXT)
        # A word that is no side stays, and is asked about.
        both |= {"side": (side, pc.if_else(pc.equal(opposite, ""), side, opposite))}
    _double(reading, **both)
    if has_both_amounts:
        # A row of a journal may have one of the two postings; zeros are empty cells.
        own = map(reading.column, both)
        has_posting = np.logical_or.reduce([cells.matches(column, r"[^0.,\s-]") for column in own])
        # A row without any posting is noted with the others that have no amount.
        has_posting[::2] |= ~has_posting[1::2]
        reading.table = reading.table.rows(has_posting)
    if len(reading.table.lines) > count and reading.books is None:
        reading.note("two_postings")


def _double(reading: Reading, **both: tuple[pa.ChunkedArray, pa.ChunkedArray]) -> None:
    """Make two rows of each, with these cells of the first one and of the second one."""
    table, count = reading.table, len(reading.table.lines)
    rows, is_second = np.repeat(np.arange(count), 2), pa.array(np.tile([False, True], count))
    columns, beyond = ([column.take(rows) for column in own] for own in (table.columns, table.beyond))
    reading.table = replace(table, columns=columns, beyond=beyond, lines=np.repeat(table.lines, 2))
    for name, (first, second) in both.items():
        reading.put(name, pc.if_else(is_second, second.take(rows), first.take(rows)))
    reading.leave("account_name")


def _take_contra_accounts(reading: Reading) -> None:
    """Add the posting to the contra account of each row, unless the file has such postings as rows, too."""
    places = [place for place in reading.free() if reading.seen(place).is_headed("contra_account")]
    sides = ("debit", "credit")
    if not places or reading.books is not None or not reading.has("date", "account_code", *sides):
        return
    contra, own = reading.seen(places[0]), reading.seen(reading.places["account_code"])
    columns = [reading.column("date"), own.cells, contra.cells, *map(reading.column, sides)]
    rows = {*zip(*(column.to_pylist() for column in columns), strict=True)}
    mirrored = ((day, other, account, credit, debit) for day, account, other, debit, credit in rows)
    if are_account_codes(own) != are_account_codes(contra) or any(row in rows for row in mirrored):
        return
    _, account, other, debit, credit = columns
    lacks_other = np.repeat(cells.blank(other), 2) & np.tile([False, True], len(other))
    _double(reading, account_code=(account, other), debit=(debit, credit), credit=(credit, debit))
    reading.places["credit_account"] = places[0]
    reading.table = reading.table.rows(~lacks_other)
    reading.note("two_postings")


def _take_accounts_of_sides(reading: Reading) -> None:
    """Take columns headed debit and credit for accounts where each row has both, beside one amount."""
    places = range(len(reading.table.headings))
    sides = {
        f"{side}_account": place
        # Beside amounts of both sides, the columns with other cells are the accounts.
        for place in sorted(places, key=lambda place: not reading.seen(place).are_amounts())
        for side in ("debit", "credit")
        if reading.seen(place).is_headed(side)
    }
    known = {"account_code", "account_name", *sides} & {*reading.places, *reading.asked}
    amounts = {*map(reading.places.get, MONEY)} - {None, *sides.values()}
    if len(sides) < 2 or known or not amounts:
        return
    columns = [reading.seen(place) for place in sides.values()]
    # An account stands again on either side.
    samples = [cell for column in columns for cell in column.sample]
    both = Column("", cells.end_to_end(column.cells for column in columns), samples)
    if all(column.share == 1 for column in columns) and may_be_account(both):
        reading.leave(*(name for name in MONEY if reading.places.get(name) in sides.values()))
        reading.places |= sides


def _have_both_accounts(reading: Reading, debit: str, credit: str) -> bool:
    """Whether most rows have both accounts; a row of a journal that has one of them is one posting."""
    rows = list(zip(reading.sample(debit), reading.sample(credit), strict=True))
    return sum(bool(own.strip() and other.strip()) for own, other in rows) * 2 > len(rows)


def _ask_of_accounts(reading: Reading) -> None:
    """Ask about rows without an account, which may stand in the first of its rows only."""
    empty = reading.blank("account_code")
    if empty.any() and "account_code" not in filled_fields(reading.options):
        # Most rows are postings of the account above them; others lack their own.
        are_most = empty.sum() * 2 > len(empty)
        choices = [{"fill_down": "account_code"} if are_most else reading.table.skip(empty)]
        # The other half of a posting stands in the same row.
        choices = [] if reading.has("credit_account") else choices
        reading.ask_of_rows("rows_lack_account", empty, choices, is_doubtful=True)


def _read_foreign(reading: Reading) -> None:
    """Read the amounts in other currencies. A file may write them without a sign: it is the amount's."""
    result, books = reading.result, reading.books
    figures = Figures.at(reading.table, reading.places["foreign_amount"])
    decimal = reading.options.get("decimal") or figures.own_mark if books is None else books.decimal
    foreign, bad = figures.values(decimal)
    if bad.any():
        # The amounts in the currency of the books are whole without them.
        reading.leave("foreign_currency")
        reading.note("foreign_not_read", heading=reading.heading("foreign_amount"))
        return
    foreign = pc.abs(foreign)
    is_credit = pc.less(result["amount"], pa.scalar(Decimal(), result["amount"].type))
    is_there = cells.mask(pc.and_(pc.is_valid(foreign), pc.is_valid(reading.or_null("foreign_currency"))))
    is_there &= cells.mask(pc.not_equal(foreign, pa.scalar(Decimal(), foreign.type)))
    signed = pc.if_else(is_credit, pc.negate(foreign), foreign)
    result["foreign_amount"] = pc.if_else(pa.array(is_there), signed, pa.scalar(None, signed.type))


def _proven(reading: Reading, postings: pa.Table) -> pa.Table:
    """Hold the postings to the totals that the file states; note what is verified, and what is not."""
    books, options = reading.books or Books(reading.table), reading.options
    failed = [*_failed_checks(reading, books, postings)]
    reading.notes += failed
    if failed:
        first = failed[0].sentence()
        if options.get("verify") == "warn":
            warn_caller(f"{reading.table.source}: {first}", UnverifiedTableWarning)
        else:
            reading.problems.ask(
                "unlikely_ledger" if failed[0].code in _UNLIKELY else "check_failed",
                [{"verify": "warn"}],
                is_doubtful=True,
                finding=first,
                more=len(failed[1:]) or None,
            )
    elif reading.totals or books.movements:
        names = [stated.name for stated in reading.totals]
        reading.note("verified", names=names or None, balances=len(books.movements) or None)
    exported_at = f"{books.exported_at:%Y-%m-%d}" if books.exported_at else None
    if exported_at:
        reading.note("exported_at", day=exported_at)
    reading.about |= {"exported_at": exported_at}
    # For matching.
    reading.about |= {"style": options.get("style"), "reverse_sign": options.get("reverse_sign")}
    return postings


def _failed_checks(reading: Reading, books: Books, postings: pa.Table) -> Iterator[Note]:
    """Yield what the postings contradict: totals that a format states, and rules of any whole ledger."""
    yield from reading.doubts
    if reading.books is None:
        yield from _doubts_of_table(reading, postings)
    elif "voucher_id" in postings.column_names:
        yield from (note("voucher_unbalanced", **facts) for facts in _unbalanced(postings))
    for name, stated, summed in reading.totals:
        if summed != stated:
            yield note("total_differs", name=name, stated=str(stated), summed=str(summed))
    moved = postings.group_by("account_code").aggregate([("amount", "sum")] if books.movements else [])
    moves = {row["account_code"]: row.get("amount_sum", Decimal()) for row in moved.to_pylist()}
    for account, movement in books.movements.items():
        summed = moves.get(account, Decimal())
        if summed != movement:
            yield note("movement_differs", account=account, stated=str(movement), summed=str(summed))


def _doubts_of_table(reading: Reading, postings: pa.Table) -> Iterator[Note]:
    """Yield that all amounts are on one side, which no ledger is; note what a part of a ledger lacks."""
    accounts = pc.unique(postings["account_code"].drop_null())
    ends = pc.min_max(postings["amount"]).as_py()
    if postings.num_rows > 1 and (ends["min"] >= 0 or ends["max"] <= 0):
        yield note("one_sided", count=postings.num_rows)
    elif len(accounts) == 1 and postings.num_rows > 1:
        # A bank's statement would prove each entry that was paid.
        yield note("one_account", count=postings.num_rows, account=accounts[0].as_py())
    elif most(accounts.to_pylist(), IBAN.match):
        yield note("accounts_of_a_bank", account=accounts[0].as_py())
    if "voucher_id" in postings.column_names and (wrong := len(_unbalanced(postings))):
        reading.note("unbalanced", count=wrong)
    elif difference := total(postings["amount"]):
        # Signs of one column may be those of profit and loss, in which costs are negative.
        are_own = reading.has("amount") and not reading.has("side") and not reading.options.get("negate")
        option = setting("negate", True) if are_own else None
        reading.note("unbalanced_sum", difference=str(difference), option=option)


def _unbalanced(postings: pa.Table) -> list[dict[str, Any]]:
    """Return vouchers whose postings are not zero in sum, with their first line and sums."""
    amount = postings["amount"].cast(pa.decimal128(LONGEST, postings["amount"].type.scale))
    credit = pc.min_element_wise(amount, pa.scalar(Decimal(), amount.type))
    groups = postings.append_column("credit", credit).group_by("voucher_id", use_threads=False)
    sums = groups.aggregate([("line", "min"), ("amount", "sum"), ("credit", "sum")])
    wrong = sums.filter(pc.not_equal(sums["amount_sum"], Decimal()))
    return [
        {
            "voucher": row["voucher_id"],
            "line": row["line_min"],
            "debit": str(row["amount_sum"] - row["credit_sum"]),
            "credit": str(-row["credit_sum"]),
            "difference": str(row["amount_sum"]),
        }
        for row in wrong.to_pylist()
    ]
