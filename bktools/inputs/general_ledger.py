"""General ledgers of any accounting system → one row per posting, verified against the totals of the file."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from os import PathLike

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.caller import can_set, name_of, setting
from bktools.errors import ArgumentError, InputError, UnverifiedTableWarning
from bktools.frames import schema
from bktools.inputs import amounts, cells, dates, sides, words
from bktools.inputs.cells import collected, raise_all
from bktools.inputs.columns import Columns, Vocabulary
from bktools.inputs.evidence import contradictions, lone_half, rows_with, without_report_rows
from bktools.inputs.file import read_table
from bktools.inputs.formats.format import Ledger
from bktools.inputs.formats.registry import recognised, refuse_arguments
from bktools.inputs.proposals import proposing
from bktools.inputs.table import Table
from bktools.inputs.words import without_extras

# Of one amount, so that the sum of any number of postings stays exact within 38.
_DIGITS, _DECIMALS = 28, 10
# What sums in binary leave far behind the last decimal, such as 1699.4160000000002; nobody's money has decimals there.
_RESIDUE, _MEANT = r"[.,]\d{0,6}?(?:0{4,}|9{4,})\d{1,3}\D*$", 6
_LONG = rf"[.,]\d{{{_DECIMALS + 1},}}\D*$"
# Rows without amounts that a ledger may have, as a share.
_FEW, _MOST = 0.1, 0.5
# Forms of dates that formats write, to the digit.
_FORMS = ("%Y%m%d", "%Y-%m-%d")
_TEXTS = ("account_code", "account_name", "text", "document_number", "voucher_id", "tax_code")


@proposing("postings")
def read_general_ledger(
    path: str | PathLike[str],
    *,
    columns: Columns | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | int | None = None,
    decimal: str | None = None,
    date_format: str | None = None,
    verify: str = "strict",
) -> pd.DataFrame:
    r"""Read a general ledger: SIE, DATEV, FEC, SAF-T, JPK_KR, GnuCash, or any CSV, Excel or Parquet table.

    The format is recognised by the file's content. A file that states totals of its own, and whose vouchers must
    balance, is held to them.

    Parameters
    ----------
    path : str or path
        The file.
    columns : mapping, optional
        Field to heading, for what is not recognised in a table: `account_code`, `account_name`, `date`, `debit`,
        `credit`, `amount`, `side`, `currency`, `text`, `document_number`, `voucher_id`, `tax_code`, and `rows_with` for a
        column of which rows that hold nothing in it are left out. An empty heading leaves the field out.
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
    verify : str
        `"strict"`: an error when a voucher does not balance or a total of the file is not that of its postings.
        `"warn"`: a warning.

    Returns
    -------
    pandas.DataFrame
        One row per posting, in the file's order, with those columns of `bktools.frames.schema.LEDGER` that the file
        has. `amount` is exact, in the currency of the books, positive for debit and negative for credit. `voucher_id`
        is the journal or series and the number in it. `line` is the line of the file.

    Raises
    ------
    InputError
        When the file cannot be read, is of another format, a value is not what its column says, or a check fails.
    ArgumentError
        When an argument is not what it must be, or is for a table and the file is of a format that says it itself.

    Warns
    -----
    UnverifiedTableWarning
        When a check fails, with `verify="warn"`.

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
    [['5800', Decimal('800.00'), 'SEK', 'A 1'], ['1930', Decimal('-800.00'), 'SEK', 'A 1']]
    """
    if verify not in ("strict", "warn"):
        raise ArgumentError(name_of("verify"), 'must be "strict" or "warn"', verify)
    problems: list[InputError] = []
    notes: list[str] = []
    form_of_file = recognised(path, encoding)
    vocabulary = Vocabulary("ledger", columns)
    if form_of_file is None:
        table = read_table(path, vocabulary.score, delimiter=delimiter, encoding=encoding, sheet=sheet)
        ledger = _of_table(table, vocabulary, decimal, date_format, problems, notes)
    else:
        file, form = form_of_file
        if isinstance(form.ledger, str):
            raise InputError(form.ledger, source=file.source)
        ledger = form.ledger(file)
        refuse_arguments(form, {"columns": columns, "delimiter": delimiter, "sheet": sheet})
        # Some formats write amounts and dates as the user's language has them.
        for argument, value in (("decimal", decimal), ("date_format", date_format)):
            if value is not None and getattr(ledger, argument) is not None:
                refuse_arguments(form, {argument: value})
        ledger = replace(ledger, decimal=ledger.decimal or decimal, date_format=ledger.date_format or date_format)
    postings, sums = _postings(ledger, vocabulary, problems, notes)
    failed = _held(ledger, _problems(ledger, postings, sums), verify)
    notes += failed or _verified(ledger)
    provenance = ledger.table.provenance(postings.num_rows, ledger.places, [*notes, *_part(ledger, postings)])
    # As text: pandas keeps what JSON can hold when a frame is copied or written.
    provenance |= {"format": form.name if form_of_file else None, **{side: str(total) for side, total in sums.items()}}
    return schema.to_pandas(postings, provenance)


def _of_table(
    table: Table,
    vocabulary: Vocabulary,
    decimal: str | None,
    date_format: str | None,
    problems: list[InputError],
    notes: list[str],
) -> Ledger:
    places = vocabulary.assign(table, ("account_code", "date"), problems=problems, notes=notes)
    if {"debit", "credit"} <= set(places):
        # The amount beside them says the same once more, in whatever sign and currency.
        places = {name: place for name, place in places.items() if name not in ("amount", "side")}
    elif "amount" in places:
        problems += lone_half(table, places, vocabulary)
        places = {name: place for name, place in places.items() if name not in ("debit", "credit")}
    elif not {"amount", "debit", "credit"} & {error.field for error in problems}:
        problems.append(vocabulary.missing("amount", table, places))
    table = rows_with(table, places.pop("rows_with", None), notes, "postings")
    table = cells.without_broken(table, places.values(), problems)
    if places:
        table = cells.without_blank_rows(table, places.values())
    if {"account_code", "date"} <= places.keys():
        table = without_report_rows(table, places, ("account_code", "date"), notes, what="postings", lacks_all=False)
    if {"debit", "credit"} <= places.keys():
        table = _with_amounts(table, places, notes)
    return Ledger(table, places, decimal=decimal, date_format=date_format, is_whole=False)


def _with_amounts(table: Table, places: Mapping[str, int], notes: list[str]) -> Table:
    """Return the rows with a debit or a credit; the others, such as opening balances, post nothing if they are few."""
    neither = np.logical_and(*(cells.blank(table.columns[places[side]]) for side in ("debit", "credit")))
    if neither.mean() > _FEW:
        return table
    notes += cells.counted(table, {"rows skipped that have neither a debit nor a credit": neither})
    return table.rows(~neither)


def _postings(
    ledger: Ledger, vocabulary: Vocabulary, problems: list[InputError], notes: list[str]
) -> tuple[pa.Table, dict[str, Decimal]]:
    """Return the postings with their types, and the sums of the two sides as the file has them; raise all problems."""
    table, places = ledger.table, ledger.places
    for field in ("account_code", "date"):
        if field in places:
            rule = f"is the {field.replace('_', ' ')} and must not be empty (delete rows that are no postings)"
            with collected(problems):
                cells.refuse(
                    table, places[field], cells.blank(table.columns[places[field]]), rule, instead=_only(ledger, field)
                )
    columns = {field: cells.or_null(table.columns[places[field]]) for field in _TEXTS if field in places}
    if "date" in places:
        with collected(problems):
            columns["date"] = dates.dates(
                table,
                places["date"],
                ledger.date_format,
                notes,
                is_of_format=ledger.is_whole and ledger.date_format in _FORMS,
            )
    signed = _signed(ledger, vocabulary, problems, notes)
    if signed is not None and not ledger.is_whole:
        problems += contradictions(table, places, signed[0], vocabulary, side="side")
    raise_all(problems, table)
    # Without a problem there are amounts.
    assert signed is not None
    columns["amount"], sums = signed
    if "currency" in places:
        columns["currency"] = cells.or_null(cells.trimmed(table.columns[places["currency"]]))
    if ledger.currency:
        stated = columns.get("currency", cells.constant(None, schema.TEXT, len(table.lines)))
        columns["currency"] = pc.fill_null(stated, ledger.currency)
    columns["line"] = pa.chunked_array([pa.array(table.lines, schema.COUNT)])
    return pa.table({field.name: columns[field.name] for field in schema.LEDGER if field.name in columns}), sums


def _only(ledger: Ledger, field: str) -> Mapping[str, str]:
    """Return the option that leaves rows out in which a field is empty; a format has none."""
    return {} if ledger.is_whole else {"rows_with": ledger.table.headings[ledger.places[field]]}


def _signed(
    ledger: Ledger, vocabulary: Vocabulary, problems: list[InputError], notes: list[str]
) -> tuple[pa.ChunkedArray, dict[str, Decimal]] | None:
    """Return the signed amounts and the sums of the two sides, None where the problems say why not."""
    exact: dict[str, pa.ChunkedArray] = {}
    wanted = [name for name in ("amount", "debit", "credit") if name in ledger.places]
    for name in wanted:
        with collected(problems):
            exact[name] = _exact(ledger, ledger.places[name])
    if wanted in (["amount"], ["debit", "credit"]) and len(exact) == len(wanted):
        with collected(problems):
            return _by_side(ledger, vocabulary, exact, notes)
    return None


def _by_side(
    ledger: Ledger, vocabulary: Vocabulary, exact: Mapping[str, pa.ChunkedArray], notes: list[str]
) -> tuple[pa.ChunkedArray, dict[str, Decimal]]:
    table, places = ledger.table, ledger.places
    if "amount" not in places:
        debit, credit = exact["debit"], exact["credit"]
        amount = _of_pair(table, places, debit, credit, is_whole=ledger.is_whole)
        sums = {"debit": _sum(debit), "credit": _sum(credit)}
    else:
        amount = exact["amount"]
        empty, rule = cells.mask(pc.is_null(amount)), "is the amount and must not be empty"
        cells.refuse(table, places["amount"], empty, rule, instead=_only(ledger, "amount"))
        if "side" in places:
            rule = "says whether the amount is debit or credit and must not be empty"
            cells.refuse(table, places["side"], cells.blank(table.columns[places["side"]]), rule)
            chosen = {"side"} if ledger.is_whole else {*vocabulary.chosen}
            amount = sides.signed(table, places, amount, notes, side="side", chosen=chosen)
        zero = pa.scalar(Decimal(), amount.type)
        debit, credit = pc.max_element_wise(amount, zero), pc.min_element_wise(amount, zero)
        sums = {"debit": _sum(debit), "credit": -_sum(credit)}
    return amount.cast(pa.decimal128(_DIGITS + 10, amount.type.scale)), sums


def _of_pair(
    table: Table, places: Mapping[str, int], debit: pa.ChunkedArray, credit: pa.ChunkedArray, *, is_whole: bool
) -> pa.ChunkedArray:
    neither = cells.mask(pc.and_(pc.is_null(debit), pc.is_null(credit)))
    cells.refuse(table, places["debit"], neither, "and the credit beside it must not both be empty")
    both = np.logical_and(*(cells.mask(pc.not_equal(side, pa.scalar(0, side.type))) for side in (debit, credit)))
    if not is_whole and both.mean() > _MOST:
        rule = f"and {table.headings[places['credit']]!r} hold an amount in the same rows, as no debit and credit do"
        cells.refuse(table, places["debit"], both, rule)
    if not is_whole and _sum(debit) and _sum(debit) == -_sum(credit):
        # Credits are negative and add up to the debits: their column has its sign.
        return sides.of_pair(table, places, debit, pc.negate(credit))
    return sides.of_pair(table, places, debit, credit)


def _exact(ledger: Ledger, place: int) -> pa.ChunkedArray:
    table = ledger.table
    exact = amounts.amounts(table, place, ledger.decimal)
    rule = f"must have at most {_DIGITS} digits, {_DECIMALS} of them decimals"
    if exact.type.scale > _DECIMALS:
        long = cells.matches(table.columns[place], _LONG)
        cells.refuse(
            table, place, long & ~cells.matches(table.columns[place], _RESIDUE), f"{rule} (round it in the file)"
        )
        exact = pc.if_else(pa.array(long), pc.round(exact, _MEANT), exact)
    narrow = pa.decimal128(_DIGITS, min(exact.type.scale, _DECIMALS))
    limit = pa.scalar(Decimal(10) ** (_DIGITS - narrow.scale), pa.decimal256(_DIGITS + 1, 0))
    cells.refuse(table, place, cells.mask(pc.greater_equal(pc.abs(exact), limit)), rule)
    return exact.cast(narrow)


def _sum(column: pa.ChunkedArray) -> Decimal:
    return pc.sum(column.cast(pa.decimal128(_DIGITS + 10, column.type.scale))).as_py() or Decimal()


def _held(ledger: Ledger, problems: Iterator[str], verify: str) -> list[str]:
    """Return failed checks as notes; with "strict" the first one is an error."""
    failed = list(problems)
    if not failed:
        return []
    more = f" ({len(failed)} such findings)" if len(failed) > 1 else ""
    if verify == "strict":
        way_out = f", or read it anyway with {setting('verify', 'warn')}" if can_set("verify") else ""
        error = InputError(
            f"{failed[0]}{more}: correct it in the accounting system and export again{way_out}",
            source=ledger.table.source,
        )
        error.settings = (("verify", "warn"),) if can_set("verify") and not ledger.is_whole else ()
        raise error
    warnings.warn(f"{ledger.table.source}: {failed[0]}{more}", UnverifiedTableWarning, stacklevel=4)
    return failed


def _problems(ledger: Ledger, table: pa.Table, sums: Mapping[str, Decimal]) -> Iterator[str]:
    yield from ledger.doubts
    yield from _residues(ledger)
    if not ledger.is_whole:
        yield from _doubts_of_table(ledger.table, table)
    if ledger.is_whole and "voucher_id" in table.column_names:
        for voucher, line, debit, credit in _unbalanced(table):
            yield (
                f"the voucher {cells.quoted(voucher)} (line {line}) does not balance: debit {debit}, credit {credit},"
                f" difference {debit - credit}"
            )
    counted = {**sums, "rows": Decimal(table.num_rows)}
    for total in ledger.totals:
        summed = counted[total.counted] if isinstance(total.counted, str) else total.counted
        if summed != total.stated:
            yield f"{total.name} is {total.stated} in the file, but {summed} by its postings"
    if ledger.movements:
        moved = table.group_by("account_code").aggregate([("amount", "sum")])
        moves = dict(zip(moved["account_code"].to_pylist(), moved["amount_sum"].to_pylist(), strict=True))
        for account, stated in ledger.movements.items():
            summed = moves.get(account, Decimal())
            if summed != stated:
                yield (
                    f"the account {cells.quoted(account)} moves by {stated} by its balances in the file, but by {summed} by"
                    " its postings"
                )


def _residues(ledger: Ledger) -> Iterator[str]:
    """Yield the columns whose amounts were read without the residue of sums in binary."""
    table = ledger.table
    for place in (ledger.places[name] for name in ("amount", "debit", "credit") if name in ledger.places):
        rows = cells.matches(table.columns[place], _LONG)
        if rows.any():
            first = table.columns[place][int(rows.argmax())].as_py()
            yield (
                f"{table.headings[place]!r} holds amounts such as {first} ({cells.lines_of(table, rows)}), whose last digits"
                f" sums in binary have left: they are read with {_MEANT} decimals"
            )


def _doubts_of_table(source: Table, table: pa.Table) -> Iterator[str]:
    """Yield what a whole ledger does not have: half of each voucher, one side alone, vouchers of which most do not balance."""
    contra = [text for text in source.headings if without_extras(text) in words.headings("contra_account")]
    if contra and _sum(table["amount"]):
        yield f"the postings of {contra[0]!r}, the account on the other side of each row, are not in its amounts"
    elif sides.is_one_sided(table["amount"]):
        yield f"all {table.num_rows:,} amounts are on one side, which no whole ledger is"
    elif _sum(table["amount"]):
        # Without vouchers those of a day are one; a few days show nothing.
        vouchers, what, few = (
            ("voucher_id", "vouchers", 1) if "voucher_id" in table.column_names else ("date", "days", 2)
        )
        wrong, count = len(_unbalanced(table, vouchers)), pc.count_distinct(table[vouchers]).as_py()
        if wrong > max(few, count / 2):
            yield f"{wrong:,} of {count:,} {what} do not balance, as in a part of a ledger or where amounts are read wrongly"


def _verified(ledger: Ledger) -> list[str]:
    """Return a note of the file's own figures that are those of its postings."""
    figures = [total.name for total in ledger.totals]
    if ledger.movements:
        figures.append(f"the balances of {len(ledger.movements)} account{'s' * (len(ledger.movements) != 1)}")
    return [f"the file's own figures agree with its postings: {', '.join(figures)}"] * bool(figures)


def _unbalanced(table: pa.Table, vouchers: str = "voucher_id") -> list[tuple[str, int, Decimal, Decimal]]:
    """Return the vouchers, or days, whose postings do not add up to zero: id, first line, sums of debit and credit."""
    sums = table.group_by(vouchers).aggregate([("amount", "sum")])
    wrong = sums.filter(pc.not_equal(sums["amount_sum"], Decimal()))[vouchers]
    if not len(wrong):
        return []
    rows = table.filter(pc.is_in(table[vouchers], wrong))
    rows = rows.append_column("credit", pc.min_element_wise(rows["amount"], pa.scalar(Decimal(), rows["amount"].type)))
    unbalanced = rows.group_by(vouchers, use_threads=False).aggregate(
        [("line", "min"), ("amount", "sum"), ("credit", "sum")]
    )
    return [
        (
            voucher[vouchers],
            voucher["line_min"],
            voucher["amount_sum"] - voucher["credit_sum"],
            -voucher["credit_sum"],
        )
        for voucher in unbalanced.to_pylist()
    ]


def _part(ledger: Ledger, table: pa.Table) -> list[str]:
    """Return a note where the vouchers of a table do not balance: it may be a part of the ledger."""
    if ledger.is_whole or "voucher_id" not in table.column_names:
        return []
    wrong = _unbalanced(table)
    return [f"vouchers that do not balance, as in a part of a ledger: {len(wrong)}"] * bool(wrong)
