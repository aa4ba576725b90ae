"""General ledgers of any accounting system → one row per posting, verified against the totals of the file."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from decimal import Decimal
from os import PathLike

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.caller import can_set, name_of, setting
from bktools.errors import ArgumentError, InputError, UnverifiedTableWarning
from bktools.frames import schema
from bktools.frames.money import check_form
from bktools.inputs import amounts, cells, dates, sides, signed_amounts, words
from bktools.inputs.cells import currency_code, raise_all
from bktools.inputs.columns import Columns, Reading, Vocabulary, opened
from bktools.inputs.evidence import contradictions, lone_half
from bktools.inputs.formats.format import Ledger
from bktools.inputs.formats.registry import recognised
from bktools.inputs.prepared_rows import fill_down as filled_down
from bktools.inputs.prepared_rows import split_accounts, titles_above, without_empty
from bktools.inputs.proposals import proposing
from bktools.inputs.report_rows import keep_rows, leave_reports
from bktools.inputs.signed_amounts import MONEY
from bktools.inputs.table import Table
from bktools.inputs.words import without_extras

# Digits of one amount, so that the sum of any number of postings stays exact within 38.
_DIGITS, _DECIMALS = 28, 10
# Traces of binary sums far behind the last decimal, such as 1699.4160000000002, where money has no digits.
_RESIDUE, _MEANT = r"[.,]\d{0,6}?(?:0{4,}|9{4,})\d{1,3}\D*$", 6
_LONG = rf"[.,]\d{{{_DECIMALS + 1},}}\D*$"
# Rows without amounts that a ledger may have, as a share.
_FEW, _MOST = 0.1, 0.5
_TEXTS = ("account_code", "account_name", "text", "document_number", "voucher_id", "tax_code")
# Fields that tell postings apart.
_IDENTITIES = ("account_code", "date")
# Columns that few ledgers have; an empty one is left out.
_SELDOM = ("cost_centre", "foreign_currency")


@proposing("postings", money="decimal")
def read_general_ledger(
    path: str | PathLike[str],
    *,
    columns: Columns | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | int | None = None,
    decimal: str | None = None,
    date_format: str | None = None,
    currency: str | None = None,
    split_account: bool = False,
    fill_down: str | None = None,
    report_rows: str | None = None,
    style: str | None = None,
    reverse_sign: bool | None = None,
    verify: str = "strict",
    money: str = "float",
) -> pd.DataFrame:
    r"""Read a general ledger: SIE, DATEV, FEC, SAF-T, JPK_KR, GnuCash, or any CSV, Excel or Parquet table.

    The format is recognised by the file's content. A file that states totals of its own, and whose vouchers
    must balance, is held to them.

    Parameters
    ----------
    path : str or path
        The file.
    columns : mapping, optional
        Field to heading, for what is not recognised in a table: `account_code`, `account_name`, `date`,
        `debit`, `credit`, `amount`, `side`, `currency`, `text`, `document_number`, `voucher_id`, `tax_code`,
        `cost_centre`, and `rows_with` for a column of which rows that hold nothing in it are left out. An
        empty heading leaves the field out.
    delimiter : str, optional
        One character, of a table.
    encoding : str, optional
        A name such as `"cp1252"`.
    sheet : str or int, optional
        Name of the workbook's sheet, or its position from 0.
    decimal : str, optional
        The decimal mark of a table's amounts, `"."` or `","`, where the columns alone do not say it.
    date_format : str, optional
        Format of a table's dates such as `"%d/%m/%Y"`, where the column alone does not say it.
    currency : str, optional
        Currency of a table's amounts where it has no column for it, such as `"EUR"`.
    split_account : bool
        True when a column of a table holds the code and the name of an account in one cell.
    fill_down : str, optional
        Fields that stand only in the first of their rows, such as `"date"` or `"date,account_code"`.
    report_rows : str, optional
        `"skip"` or `"keep"`: what is done with rows that hold nothing but a word such as Total or Opening
        balance, a date and an amount, where their amounts do not show whether they are lines of a report.
    style : str, optional
        What has one posting, where the postings do not show it to `match_ledger` or `compose_export_jobs`:
        `"entry"`, `"supplier_day"`, `"account_day"`, `"document"`, `"batch"` or `"month"`. The frame keeps it
        in `attrs`.
    reverse_sign : bool, optional
        Whether credits are costs, where postings do not show it. The frame keeps it in `attrs`; amounts stay.
    verify : str
        `"strict"`: an error when a voucher does not balance or a total of the file is not that of its
        postings. `"warn"`: a warning.
    money : str
        `"float"`: amounts as float64, each exactly the amount of the file; one of more than 15 digits is
        refused. `"decimal"`: amounts as Arrow decimals of any length.

    Returns
    -------
    pandas.DataFrame
        One row per posting, in the file's order, with those columns of `bktools.frames.schema.LEDGER` that
        the file has. `amount` is exact, in the currency of the books, positive for debit and negative for
        credit. `voucher_id` is the journal or series and the number in it. `line` is the line of the file.

    Raises
    ------
    InputError
        When the file cannot be read, has another format, a value does not fit its column, or a check fails.
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
    if verify not in ("strict", "warn"):
        raise ArgumentError(name_of("verify"), 'must be "strict" or "warn"', verify)
    if style is not None and style not in schema.STYLES:
        raise ArgumentError(name_of("style"), f"must be one of {', '.join(schema.STYLES)}", style)
    check_form(money)
    of_format = recognised(
        path,
        encoding,
        columns=columns,
        delimiter=delimiter,
        sheet=sheet,
        decimal=decimal,
        date_format=date_format,
        currency=currency,
    )
    vocabulary = Vocabulary("ledger", columns)
    if of_format is None:
        reading = opened(path, vocabulary, delimiter=delimiter, encoding=encoding, sheet=sheet)
        split_accounts(reading, split_account, "account_code", "account_name")
        _find_postings(reading, fill_down, report_rows)
        ledger = Ledger(
            reading.table,
            decimal=decimal,
            date_format=date_format,
            currency=currency_code(currency),
            is_whole=False,
        )
    else:
        file, form = of_format
        ledger = form.ledger(file)
        reading = Reading(ledger.table, vocabulary)
    postings, sums = _postings(reading, ledger)
    failed = [*_failed_checks(reading, ledger, postings, sums)]
    if failed:
        _tell(failed, reading, ledger, verify)
    provenance = reading.provenance(
        postings.num_rows, reading.places, *(failed or _verified(ledger)), *_exported(ledger)
    )
    reading.warn_of_notes()
    provenance |= {"exported_at": f"{ledger.exported_at:%Y-%m-%d}" if ledger.exported_at else None}
    # As text: pandas keeps what JSON can hold when a frame is copied or written.
    provenance |= {"format": of_format[1].name if of_format else None}
    provenance |= {side: str(total) for side, total in sums.items()}
    provenance |= {"style": style, "reverse_sign": reverse_sign}
    return schema.to_pandas(postings, provenance, money=money)


def _find_postings(reading: Reading, filled: str | None, report_rows: str | None) -> None:
    """Find the columns of a table, and leave out the rows that are no postings."""
    reading.assign(("account_code", "date"))
    if not reading.has("account_code") and (titles := titles_above(reading)) is not None:
        above = reading.table.error(
            "the accounts stand in rows of their own above their postings",
            columns={"account_code": cells.heading_of(reading.table, titles)},
            fill_down="account_code",
        )
        others = [error for error in reading.problems if error.field != "account_code"]
        raise_all([above, *others], reading.table)
    _take_names_of_accounts(reading)
    filled_down(reading, filled, _IDENTITIES, lacks_all=False)
    if reading.has("debit", "credit"):
        # The amount beside them says the same once more, in whatever sign and currency.
        reading.leave("amount", "side")
    elif reading.has("amount"):
        reading.problems += lone_half(reading)
        reading.leave("debit", "credit")
    elif not {*MONEY} & {error.field for error in reading.problems}:
        reading.problems.append(reading.missing("amount"))
    keep_rows(reading, "postings", _IDENTITIES, lacks_all=False)
    if reading.has("debit", "credit"):
        neither = reading.blank("debit") & reading.blank("credit")
        # Rows such as opening balances post nothing, if they are few.
        if neither.mean() <= _FEW:
            reading.skip({"rows skipped that have neither a debit nor a credit": neither}, "postings")
    leave_reports(reading, "postings", report_rows)


def _take_names_of_accounts(reading: Reading) -> None:
    """Take the names of accounts for their codes where no column could hold codes."""
    missing = [error for error in reading.problems if error.field == "account_code" and not error.line]
    lacks_codes = bool(missing)
    if reading.has("account_code") and not reading.is_settled("account_code"):
        lacks_codes = bool(reading.blank("account_code").all())
    place = reading.names_of_accounts() if lacks_codes else None
    if place is not None:
        reading.problems = [error for error in reading.problems if error not in missing]
        reading.settle(account_code=place)
        reading.notes.append(f"accounts are known by their names alone: {reading.heading('account_code')!r}")


def _postings(reading: Reading, ledger: Ledger) -> tuple[pa.Table, dict[str, Decimal]]:
    """Return typed postings, and the sums of both sides as the file has them; raise all problems."""
    table, places, result = reading.table, reading.places, reading.result
    for field in ("account_code", "date"):
        if field in places:
            rule = (
                f"is the {field.replace('_', ' ')} and must not be empty (delete rows that are no postings)"
            )
            with reading.trying():
                empty = reading.blank(field)
                # A format has no such option.
                has_way_out = empty.any() and not ledger.is_whole
                way_out = without_empty(reading, field, "account_code") if has_way_out else {}
                reading.refuse(field, empty, rule, **way_out)
    reading.read("date", dates.dates, ledger.date_format, reading.notes, is_of_format=ledger.is_whole)
    sums = _read_amounts(reading, ledger)
    if sums and not ledger.is_whole and "amount" in places:
        reading.problems += contradictions(reading, result["amount"], side="side")
    raise_all(reading.problems, table)
    result |= {field: reading.or_null(field) for field in _TEXTS if field in places}
    result |= {
        field: reading.or_null(field)
        for field in _SELDOM
        if field in places and not reading.blank(field).all()
    }
    if "foreign_currency" in result and "foreign_amount" in places:
        _read_foreign(reading, ledger)
    if "currency" in places:
        result["currency"] = cells.or_null(cells.trimmed(reading.column("currency")))
    if ledger.currency and not ledger.is_whole:
        reading.notes.append(f"amounts without a currency are in {ledger.currency}, as was asked")
    if ledger.currency:
        stated = result.get("currency", reading.constant(None, schema.TEXT))
        result["currency"] = pc.fill_null(stated, ledger.currency)
    result["line"] = reading.lines()
    return pa.table({field.name: result[field.name] for field in schema.LEDGER if field.name in result}), sums


def _lacking_amount(reading: Reading, ledger: Ledger) -> Mapping[str, str]:
    return {} if ledger.is_whole else {"rows_with": cells.heading_of(reading.table, reading.places["amount"])}


def _read_amounts(reading: Reading, ledger: Ledger) -> dict[str, Decimal]:
    """Read the signed amounts and return the sums of the two sides, none where the problems say why."""
    exact = signed_amounts.read_columns(reading, _exact, ledger.decimal)
    sums: dict[str, Decimal] = {}
    if exact.keys() in ({"amount"}, {"debit", "credit"}):
        with reading.trying():
            if "amount" in exact:
                amount = _with_side(reading, ledger, exact["amount"])
                zero = pa.scalar(Decimal(), amount.type)
                both = (pc.max_element_wise(amount, zero), pc.negate(pc.min_element_wise(amount, zero)))
            else:
                both = (exact["debit"], exact["credit"])
                amount = _of_pair(reading, ledger, *both)
            reading.result["amount"] = amount.cast(pa.decimal128(_DIGITS + 10, amount.type.scale))
            sums = {side: _sum(column) for side, column in zip(("debit", "credit"), both, strict=True)}
    return sums


def _read_foreign(reading: Reading, ledger: Ledger) -> None:
    """Read the amounts in other currencies. A file may write them without a sign: it is the amount's."""
    result = reading.result
    try:
        foreign = pc.abs(_exact(reading.table, reading.places["foreign_amount"], ledger.decimal))
    except InputError as error:
        # The amounts in the currency of the books are whole without them.
        del result["foreign_currency"]
        reading.notes.append(f"amounts in other currencies are not read: {error}")
        return
    is_credit = pc.less(result["amount"], pa.scalar(Decimal(), result["amount"].type))
    is_there = pa.array(
        signed_amounts.are_not_zero(foreign) & cells.mask(pc.is_valid(result["foreign_currency"]))
    )
    signed = pc.if_else(is_credit, pc.negate(foreign), foreign)
    result["foreign_amount"] = pc.if_else(is_there, signed, pa.scalar(None, foreign.type))


def _with_side(reading: Reading, ledger: Ledger, amount: pa.ChunkedArray) -> pa.ChunkedArray:
    empty = cells.mask(pc.is_null(amount))
    rule = "is the amount and must not be empty"
    reading.refuse("amount", empty, rule, instead=_lacking_amount(reading, ledger))
    if "side" not in reading.places:
        return amount
    rule = "says whether the amount is debit or credit and must not be empty"
    reading.refuse("side", reading.blank("side"), rule)
    return signed_amounts.by_word(reading, amount, "side")


def _of_pair(
    reading: Reading, ledger: Ledger, debit: pa.ChunkedArray, credit: pa.ChunkedArray
) -> pa.ChunkedArray:
    neither = cells.mask(pc.and_(pc.is_null(debit), pc.is_null(credit)))
    reading.refuse("debit", neither, "and the credit beside it must not both be empty")
    if not ledger.is_whole:
        both = signed_amounts.are_not_zero(debit) & signed_amounts.are_not_zero(credit)
        if both.mean() > _MOST:
            rule = (
                f"and {reading.heading('credit')!r} hold an amount in the same rows, "
                "as no debit and credit do"
            )
            reading.refuse("debit", both, rule)
        if _sum(debit) and _sum(debit) == -_sum(credit):
            # Credits add up to the debits but for the sign, which only says the side.
            debit, credit = (pc.negate(side) if _sum(side) < 0 else side for side in (debit, credit))
    # A single negative amount reverses another one.
    return signed_amounts.of_pair(reading, debit, credit, least_negative=2)


def _exact(table: Table, place: int, decimal: str | None) -> pa.ChunkedArray:
    exact = amounts.amounts(table, place, decimal)
    rule = f"must have at most {_DIGITS} digits, {_DECIMALS} of them decimals"
    if exact.type.scale > _DECIMALS:
        column = table.columns[place]
        is_long = cells.matches(column, _LONG)
        cells.refuse(
            table, place, is_long & ~cells.matches(column, _RESIDUE), f"{rule} (round it in the file)"
        )
        exact = pc.if_else(pa.array(is_long), pc.round(exact, _MEANT), exact)
    narrow = pa.decimal128(_DIGITS, min(exact.type.scale, _DECIMALS))
    limit = pa.scalar(Decimal(10) ** (_DIGITS - narrow.scale), pa.decimal256(_DIGITS + 1, 0))
    cells.refuse(table, place, cells.mask(pc.greater_equal(pc.abs(exact), limit)), rule)
    return exact.cast(narrow)


def _sum(column: pa.ChunkedArray) -> Decimal:
    return pc.sum(column.cast(pa.decimal128(_DIGITS + 10, column.type.scale))).as_py() or Decimal()


def _tell(failed: list[str], reading: Reading, ledger: Ledger, verify: str) -> None:
    """Raise the first failed check as an error, or warn of it."""
    more = f" ({len(failed)} such findings)" if len(failed) > 1 else ""
    if verify == "warn":
        warnings.warn(f"{reading.table.source}: {failed[0]}{more}", UnverifiedTableWarning, stacklevel=4)
        return
    why = f"{failed[0]}{more}: correct it in the accounting system and export again"
    if not can_set("verify"):
        raise reading.table.error(why)
    if ledger.is_whole:
        # The file itself is wrong: its rows are not shown as a proposal.
        raise reading.table.error(f"{why}, or read it anyway with {setting('verify', 'warn')}")
    raise reading.table.error(f"{why}, or take it as it is", verify="warn")


def _failed_checks(
    reading: Reading, ledger: Ledger, postings: pa.Table, sums: Mapping[str, Decimal]
) -> Iterator[str]:
    """Yield what the postings contradict: totals that a format states, and rules of any whole ledger."""
    yield from ledger.doubts
    yield from _residues(reading)
    if not ledger.is_whole:
        yield from _doubts_of_table(reading, postings)
    elif "voucher_id" in postings.column_names:
        for voucher, line, debit, credit in _unbalanced(postings):
            yield (
                f"the voucher {cells.quoted(voucher)} (line {line}) does not balance: debit {debit}, "
                f"credit {credit}, difference {debit - credit}"
            )
    for total in ledger.totals:
        summed = sums[total.counted] if isinstance(total.counted, str) else total.counted
        if summed != total.stated:
            yield f"{total.name} is {total.stated} in the file, but {summed} by its postings"
    if ledger.movements:
        moved = postings.group_by("account_code").aggregate([("amount", "sum")])
        moves = dict(zip(moved["account_code"].to_pylist(), moved["amount_sum"].to_pylist(), strict=True))
        for account, stated in ledger.movements.items():
            summed = moves.get(account, Decimal())
            if summed != stated:
                yield (
                    f"the account {cells.quoted(account)} moves by {stated} by its balances in the file, "
                    f"but by {summed} by its postings"
                )


def _residues(reading: Reading) -> Iterator[str]:
    """Yield the columns whose amounts were read without the residue of sums in binary."""
    for column, heading in (
        (reading.column(name), reading.heading(name)) for name in MONEY if name in reading.places
    ):
        rows = cells.matches(column, _LONG)
        if rows.any():
            first = column[int(rows.argmax())].as_py()
            yield (
                f"{heading!r} holds amounts such as {first} ({cells.lines_of(reading.table, rows)}), "
                f"whose last digits sums in binary have left: they are read with {_MEANT} decimals"
            )


def _doubts_of_table(reading: Reading, postings: pa.Table) -> Iterator[str]:
    """Yield what a whole ledger does not have.

    Examples are half of each voucher, one side alone, and many vouchers that do not balance.
    """
    contra = [
        text for text in reading.table.headings if without_extras(text) in words.headings("contra_account")
    ]
    is_balanced, has_vouchers = not _sum(postings["amount"]), "voucher_id" in postings.column_names
    if contra and not is_balanced:
        yield (
            f"the postings of {contra[0]!r}, the account on the other side of each row, "
            "are not in its amounts"
        )
    elif sides.is_one_sided(postings["amount"]):
        yield f"all {postings.num_rows:,} amounts are on one side, which no whole ledger is"
    elif has_vouchers or not is_balanced:
        # Without vouchers those of a day are one; a few days show nothing.
        by, what, few = ("voucher_id", "vouchers", 1) if has_vouchers else ("date", "days", 2)
        wrong, count = len(_unbalanced(postings, by)), pc.count_distinct(postings[by]).as_py()
        if wrong > max(few, count / 2) and not is_balanced:
            yield (
                f"{wrong:,} of {count:,} {what} do not balance, as in a part of a ledger or where amounts "
                "are read wrongly"
            )
        elif wrong and has_vouchers:
            reading.notes.append(f"vouchers that do not balance, as in a part of a ledger: {wrong}")


def _verified(ledger: Ledger) -> list[str]:
    """Return a note of the file's own figures that are those of its postings."""
    figures = [total.name for total in ledger.totals]
    if ledger.movements:
        figures.append(f"the balances of {len(ledger.movements)} account{'s' * (len(ledger.movements) != 1)}")
    return [f"the file's own figures agree with its postings: {', '.join(figures)}"] * bool(figures)


def _exported(ledger: Ledger) -> list[str]:
    """Return a note of the day on which the file was exported, where it says it."""
    return [f"exported on {ledger.exported_at:%Y-%m-%d}, as the file says"] if ledger.exported_at else []


def _unbalanced(postings: pa.Table, by: str = "voucher_id") -> list[tuple[str, int, Decimal, Decimal]]:
    """Return vouchers, or days, whose postings are not zero in sum: id, first line, debit and credit."""
    credit = pc.min_element_wise(postings["amount"], pa.scalar(Decimal(), postings["amount"].type))
    groups = postings.append_column("credit", credit).group_by(by, use_threads=False)
    sums = groups.aggregate([("line", "min"), ("amount", "sum"), ("credit", "sum")])
    wrong = sums.filter(pc.not_equal(sums["amount_sum"], Decimal()))
    return [
        (row[by], row["line_min"], row["amount_sum"] - row["credit_sum"], -row["credit_sum"])
        for row in wrong.to_pylist()
    ]
