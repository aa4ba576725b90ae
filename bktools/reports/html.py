"""`write_report`: the close as one HTML file to mail: figures, what is to be done by whom, tables and pictures.

The file needs no network. Large tables show their first rows and name the CSV file that has all of them.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, TypeAlias

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools import disk, views
from bktools.frames.currencies import shown
from bktools.frames.engine import in_pandas
from bktools.frames.names import IDENTIFIERS, in_reading_order
from bktools.frames.schema import TEXT, to_arrow
from bktools.reports import page
from bktools.reports.checklist import WHO, ToDo, to_do_of
from bktools.reports.close import Close
from bktools.reports.figures import HELD, NO_CURRENCY, STATES, Money, entries_of, number, sums_of
from bktools.reports.outcomes import MEANINGS, OF_ACCOUNTS
from bktools.reports.page import Column, Html, Row, join, lines, tag
from bktools.reports.pictures import MONEY, PICTURES

# Rows of a table in the page, and in print, where the style has the same number.
SHOWN_ROWS = 2000
PRINTED_ROWS = 30
SHOWN_CURRENCIES = 6

BY_WHOM = dict(zip(WHO, ("In the ERP", "In the service", "By the employee", "Here, in bktools"), strict=True))
HEADINGS = {"account_code": "Account code", "category_name": "Category", "employee_name": "Employee"}
# The identifiers that tell rows apart.
NAMED = ("line", "id", "entry_id", "batch_id", "job_id", "external_id", "account_id", "category_id")
KNOWN_AS = {
    "IMPORTED": "imported from a list of the service", "CREATED": "created by bktools",
    "MATCHED": "found in the service with the same data", "EXISTS": "found in the service with other data",
}  # fmt: skip

Record: TypeAlias = Mapping[Any, Any]
# A row of figures: its name, what it sums up, and its style.
Figure: TypeAlias = tuple[object, Money, str]
# A column, and its cell of a row.
Columns: TypeAlias = Sequence[tuple[Column, Callable[[Record], object]]]
# Check, severity, message and what to do of each finding, by ID and line of the entry.
Notes: TypeAlias = Mapping[tuple[Any, Any], list[tuple[str, str, str, str]]]


def write_report(close: Close, path: Path, pictures: Mapping[str, bytes] | None = None) -> Path:
    """Write a close as one HTML file; the file is written whole or not at all, readable by you alone.

    Parameters
    ----------
    close : Close
        The results of the close.
    path : Path
        The file to write.
    pictures : mapping of str to bytes, optional
        PNG pictures of the close, by the name of their file.

    Raises
    ------
    StorageError
        When the file cannot be written.
    """
    entries = entries_of(close)
    sections = (
        ("figures", "Figures", _figures(close, entries)),
        ("record", f"{close.period} in the journal", _record(close)),
        ("changes", "What changed since the last close", _changes(close)),
        ("to-do", "What is to be done", _to_do(close)),
        ("pictures", "Pictures", _pictures(pictures or {})),
        ("entries", "Entries", _entries(close, entries)),
        ("categories", "Categories", _categories(close, entries)),
        ("batches", "Export jobs", _batches(close, entries)),
        ("accounts", "Accounts", _accounts(close)),
        ("checks", "Chart of accounts and categories", _checks(close)),
        ("about", "About this close", _about(close)),
    )
    there = [section for section in sections if section[2]]
    links = (tag("li", tag("a", title, href=f"#{name}")) for name, title, _ in there)
    body = [
        tag("a", "Skip to the figures", href="#figures", class_="skip"),
        tag("header", _lead(close, entries)),
        tag("nav", tag("ul", *links), aria_label="Contents"),
        tag(
            "main",
            *(
                tag("section", tag("h2", title, id=name, tabindex="-1"), text, class_=name)
                for name, title, text in there
            ),
        ),
    ]
    title = f"Month-end close {close.period}{' (sandbox)' if close.environment == 'sandbox' else ''}"
    return disk.write_whole(path, lambda file: file.write(page.page(title, join(body))))


def _lead(close: Close, entries: pa.Table) -> Html:
    counts = {state: number(money) for (state,), money in sums_of(entries, "state").items()}
    told = ", ".join(f"{counts[state]:,} {state}" for state in STATES if state in counts)
    banners = [
        *(["Sandbox: these data are invented. They are no real books."] if close.environment == "sandbox" else []),
        *([] if close.applied else ["Dry run: nothing was written to the service."]),
    ]
    people = [
        ("Prepared by", close.prepared_by or "not named"),
        ("Approved by", close.approved_by or "not approved"),
        ("Begun at", _moment(close.begun_at)),
        ("Plan", tag("code", close.plan.plan_id)),
    ]
    return join(
        [
            tag("h1", f"Month-end close {close.period}"),
            tag("p", f"{len(entries):,} {_noun(len(entries), 'entry', 'entries')}: {told or 'nothing to do'}.", class_="lead"),
            *(tag("p", banner, class_="banner") for banner in banners),
            _facts(people),
            tag("p", f"{close.environment} · company ", tag("code", close.company), class_="note"),
        ]
    )  # fmt: skip


def _figures(close: Close, entries: pa.Table) -> Html:
    """Return a row for what became of entries, the reasons below those that are held back, and a column a currency."""
    overall = sums_of(entries).get((), {})
    states = sums_of(entries, "state")
    rows: list[Figure] = []
    for state in STATES:
        if (state,) in states:
            rows.append((_link(f"state-{_token(state)}", state.capitalize()), states[state,], "group"))
        if state == HELD:
            reasons = sums_of(entries.filter(pc.equal(entries.column("state"), HELD)), "reason").items()
            ordered = sorted(reasons, key=lambda item: -number(item[1]))
            rows += [(_link(f"reason-{reason}", _words(reason)), money, "part") for (reason,), money in ordered]
    rows.append(("All entries of this close", overall, "total"))
    without = entries.column("amount").null_count if "amount" in entries.column_names else 0
    later = close.left_out
    notes = [
        *([f"Exported: {MEANINGS['ACCEPTED'][0]}."] if ("exported",) in states else []),
        *([f"Entries without an amount, counted without a value: {without:,}."] if without else []),
        *([f"Entries dated after {close.period}, not part of this close: {later:,}."] if later else []),
    ]
    table = _statement("statement", "Number of entries, and their value by currency", rows, list(overall))
    return join([table, *(tag("p", note, class_="note") for note in notes)])


def _statement(name: str, caption: str, rows: Iterable[Figure], currencies: Sequence[str]) -> Html:
    own, others = currencies[:SHOWN_CURRENCIES], currencies[SHOWN_CURRENCIES:]
    columns = [
        Column("", "heading"),
        Column("Entries", "number"),
        *(Column(currency, "sum") for currency in own),
        *([Column("Other currencies", "money")] if others else []),
    ]

    def cells(label: object, money: Money) -> Iterable[object]:
        yield label
        yield f"{number(money):,}"
        yield from (_amount(money, currency) for currency in own)
        if others:
            yield _values({currency: money[currency] for currency in others if currency in money})

    body = (Row([*cells(label, money)], look=look) for label, money, look in rows)
    return page.table(name, caption, columns, body, live=False)


def _record(close: Close) -> Html:
    """Return what all closes of the month exported and held back, from the journal."""
    record = close.record
    if record is None or record.closes.empty:
        return Html("")
    totals = record.totals.astype("object").where(record.totals.notna(), None).to_dict("records")
    named = {"exported": "group", "in_doubt": "group", "held_back": "group", "resolved": "part", "open": "part"}
    words = {"held_back": "Held back then", "resolved": "Resolved since", "open": "Still open"}
    rows: list[Figure] = []
    for name, look in named.items():
        money = {row["currency"] or NO_CURRENCY: (row[name], row[f"{name}_amount"]) for row in totals if row[name]}
        if money:
            rows.append((words.get(name, _words(name)), money, look))
    currencies = [row["currency"] or NO_CURRENCY for row in sorted(totals, key=lambda row: -row["exported"])]
    sent = to_arrow(record.exported, "the entries")
    sums = sums_of(sent, "job_id", "sent_at", "sent_by", "state")
    jobs: list[dict[Any, Any]] = [
        {"job_id": job, "at": at, "by": by, "state": state, "money": money}
        for (job, at, by, state), money in sorted(sums.items(), key=lambda item: str(item[0][1]))
    ]
    job_columns: Columns = [
        (Column("Sent at", "date"), lambda row: _moment(row["at"]) if row["at"] else ""),
        (Column("By", "heading"), lambda row: row["by"]),
        (Column("Outcome", choice=True), lambda row: row["state"].lower()),
        (Column("Entries", "number"), lambda row: f"{number(row['money']):,}"),
        (Column("Value", "money"), lambda row: _values(row["money"])),
        (Column("IDs", "id"), _identifiers),
    ]
    closes: Columns = [
        (Column("Closed at", "date"), lambda row: _moment(row["at"])),
        (Column("Prepared by", "heading"), lambda row: row["prepared_by"]),
        (Column("Approved by"), lambda row: row["approved_by"] or "not approved"),
        (Column("Plan", "date"), lambda row: tag("code", row["plan_id"])),
    ]
    applied = _rows(record.closes)
    state = f"The period is {record.state.lower()}. {_sentence(close.stays_open)}"
    lost = f"Not in these figures: {record.not_kept:,} entries that an earlier version sent without keeping their data."
    file = "the journal: bktools periods"
    return join(
        [
            tag("p", state),
            _statement("record-statement", f"All closes of {record.period}, by currency", rows, currencies) if rows else "",
            _listed("closes-table", f"Closes of {record.period} that were applied", closes, applied, len(applied), file),
            _listed("sent-table", f"Export jobs of {record.period}", job_columns, jobs, len(jobs), file),
            tag("p", lost, class_="note") if record.not_kept else "",
        ]
    )  # fmt: skip


def _changes(close: Close) -> Html:
    if close.changes is None:
        return Html("")
    return _frame(
        "changes-table",
        "What changed since the last close",
        close.changes,
        "the output of bktools compare",
        "Nothing has changed.",
    )


def _to_do(close: Close) -> Html:
    found = to_do_of(close)
    columns = [
        Column("Severity"), Column("What", "heading"), Column("Number", "number"), Column("Value", "money"),
        Column("Such as", "list"), Column("What to do", "long"),
    ]  # fmt: skip
    parts = []
    for who in WHO:
        rows = [
            Row([_mark(one.severity), _what(one), f"{one.count:,}", _values(one.money), _examples(one), _sentence(one.to_do)])
            for one in found
            if one.who == who and one.severity != "info"
        ]  # fmt: skip
        if rows:
            name = f"to-do-{_token(who)}"
            parts += [tag("h3", BY_WHOM[who]), page.table(name, f"To do: {BY_WHOM[who]}", columns, rows, live=False)]
    infos = sum(one.count for one in found if one.severity == "info")
    note = tag("p", f"Findings that need no action (info): {infos:,}.", class_="note") if infos else ""
    return join([*(parts or [tag("p", "Nothing is to be done.")]), note])


def _what(one: ToDo) -> Html:
    group = f"check-{one.check}" if one.section == "entries" else ""
    return join([_link(group, _words(one.check), one.section), tag("div", _sentence(one.fact), class_="note")])


def _examples(one: ToDo) -> Html:
    # A text from the right to the left leaves the order of date and amount alone.
    told = [
        join([before, tag("bdi", text), after, tag("div", fact, class_="note") if fact else ""])
        for before, text, after, fact in one.examples
    ]
    return lines([*told, *([f"and {one.count - len(told):,} more"] if one.count > len(told) else [])])


def _pictures(pictures: Mapping[str, bytes]) -> Html:
    # One of money has a chart for each currency, and a printed page of its own.
    drawn = (
        tag(
            "figure",
            page.picture(content, f"Bar chart: {PICTURES[name]}. Its figures are in the tables."),
            class_="tall" if name == MONEY else "",
        )
        for name, content in pictures.items()
    )
    return tag("div", *drawn, class_="gallery") if pictures else Html("")


def _entries(close: Close, entries: pa.Table) -> Html:
    bounded = _bounded(_held_first(entries))
    notes = _notes(close, bounded)
    columns: Columns = [
        (Column("Status", choice=True), lambda row: row["state"]),
        (Column("Reason", choice=True), lambda row: _words(row.get("reason") or "")),
        (Column("Date", "date"), lambda row: _day(row.get("date"))),
        (Column("Supplier or text", "name"), lambda row: _joined(row.get("supplier"), row.get("description"), " · ")),
        (Column("Category", "name"), lambda row: row.get("category_name")),
        (Column("Account"), lambda row: _joined(row.get("account_code"), row.get("account_name"))),
        (Column("Employee"), lambda row: row.get("employee_name")),
        (Column("Amount", "amount"), lambda row: shown(row.get("amount"), row.get("currency"))),
        (Column("Currency", "currency", choice=True), lambda row: row.get("currency")),
        (Column("Cost centre"), lambda row: row.get("cost_centre")),
        (Column("Tax code"), lambda row: row.get("tax_code")),
        # Not printed: the reason is, and what to do stands with it under "What is to be done".
        (Column("What to do", "long screen"), lambda row: lines(_said(row, notes))),
        (Column("IDs", "id"), _identifiers),
    ]
    return _listed(
        "entries-table",
        "All entries of this close",
        columns,
        bounded.to_pylist(),
        len(entries),
        "export_plan.csv (exported or ready) and entries_not_ready.csv",
        groups=lambda row: " ".join(_groups_of(row, notes)),
    )


def _held_first(entries: pa.Table) -> pa.Table:
    """Return entries with those that are held back first, by reason; otherwise in the order of the plan."""
    frame = pd.DataFrame({name: entries.column(name).to_pylist() for name in ("state", "reason")})
    frame["count"] = frame.groupby("reason", dropna=False)["state"].transform("size")
    frame["last"] = frame["state"] != HELD
    order = frame.sort_values(["last", "count", "reason"], ascending=[True, False, True], kind="stable").index
    return entries.take(pa.array(order))


def _bounded(entries: pa.Table) -> pa.Table:
    """Return the rows that the page shows: where there are too many, the first of each reason and of each batch."""
    if len(entries) <= SHOWN_ROWS:
        return entries
    groups = pd.DataFrame({name: entries.column(name).to_pylist() for name in ("state", "reason", "batch_id")})
    turns = groups.groupby(list(groups.columns), dropna=False).cumcount()
    return entries.take(pa.array(sorted(turns.sort_values(kind="stable").index[:SHOWN_ROWS])))


def _notes(close: Close, entries: pa.Table) -> Notes:
    frame = close.plan.findings
    frame = frame[frame["id"].isin(entries.column("id").to_pylist()) | frame["id"].isna()]
    found = defaultdict(list)
    names = ("id", "line", "check", "severity", "message", "to_do")
    there = (frame[name] if name in frame.columns else [None] * len(frame) for name in names)
    for identifier, line, *told in zip(*there, strict=True):
        found[_entry(identifier, line)].append(tuple(told))
    return found


def _entry(identifier: Any, line: Any) -> tuple[Any, Any]:
    return (None if pd.isna(identifier) else identifier, None if pd.isna(line) else int(line))


def _said(row: Record, notes: Notes) -> Iterable[object]:
    """Return each error and warning of an entry, and what to do about it."""
    found = [note for note in notes.get(_entry(row["id"], row.get("line")), []) if note[1] != "info"]
    return [_sentence(f"{message}: {to_do}") for _, _, message, to_do in found]


def _groups_of(row: Record, notes: Notes) -> Iterable[str]:
    yield f"state-{_token(row['state'])}"
    if row["state"] == HELD:
        yield f"reason-{row['reason']}"
    for name in ("category_id", "batch_id"):
        if row.get(name):
            yield f"{name}-{_token(row[name])}"
    yield from (f"check-{check}" for check, *_ in notes.get(_entry(row["id"], row.get("line")), []))


def _categories(close: Close, entries: pa.Table) -> Html:
    """Return the categories, those that hold back most entries first."""
    entries = entries.append_column("category", pc.ascii_lower(pc.cast(entries.column("category_id"), TEXT)))
    sums = sums_of(entries, "category")
    held = sums_of(entries.filter(pc.equal(entries.column("state"), HELD)), "category")
    chart = close.chart
    codes = dict(zip(chart["external_id"], chart["code"], strict=True)) if "code" in chart.columns else {}
    rows: list[dict[Any, Any]] = in_pandas(close.after.coverage).to_dict("records")
    for row in rows:
        key = (str(row["category_id"]).lower(),)
        row |= {"money": sums.get(key, {}), "held": number(held.get(key, {}))}
    rows.sort(key=lambda row: (-row["held"], -number(row["money"]), str(row["name"])))
    columns: Columns = [
        (Column("Category", "heading"), lambda row: _link(f"category_id-{_token(row['category_id'])}", row["name"]) if row["money"] else row["name"]),
        (Column("Account"), lambda row: _joined(codes.get(row["external_id"], row["external_id"]), row["account_name"])),
        (Column("State of its account", choice=True), lambda row: _words(row["state"])),
        (Column("Entries", "number"), lambda row: f"{number(row['money']):,}"),
        (Column("Held back", "number"), lambda row: f"{row['held']:,}"),
        (Column("Value", "money"), lambda row: _values(row["money"])),
        (Column("IDs", "id"), _identifiers),
    ]  # fmt: skip
    file = "categories.csv and reconciliation.csv"
    return _listed("categories-table", "Categories, their accounts and entries", columns, rows, len(rows), file)


def _batches(close: Close, entries: pa.Table) -> Html:
    """Return the export jobs of this close, then those that the journal has besides."""
    sums = sums_of(entries, "batch_id")
    rows = close.jobs.merge(close.plan.batches[["batch_id", "first_date", "last_date"]], how="left").to_dict("records")
    for place, row in enumerate(rows, 1):
        row["label"] = f"Batch {place} of {len(rows)}"
    columns: Columns = [
        (Column("Export job", "heading"), lambda row: _link(f"batch_id-{row['batch_id']}", row["label"])),
        (Column("Outcome", choice=True), lambda row: row["outcome"].lower()),
        (Column("First date", "date"), lambda row: _day(row["first_date"])),
        (Column("Last date", "date"), lambda row: _day(row["last_date"])),
        (Column("Entries", "number"), lambda row: f"{row['entries']:,}"),
        (Column("Value", "money"), lambda row: _values(sums.get((row["batch_id"],), {}))),
        (Column("What it means", "long"), lambda row: _meaning(MEANINGS, row)),
        (Column("IDs", "id"), _identifiers),
    ]
    others = close.history[~close.history["batch_id"].isin(close.jobs["batch_id"])]
    newest = others.sort_values("planned_at", ascending=False, kind="stable")
    return join(
        [
            _listed("batches-table", "Export jobs of this close", columns, rows, len(rows), "export_jobs.csv", "No export job."),
            _frame("history-table", "Other export jobs of the company, from the journal", newest, "export_history.csv"),
        ]
    )  # fmt: skip


def _accounts(close: Close) -> Html:
    """Return what became of the accounts, those with a next step first."""
    rows = close.accounts.to_dict("records")
    rows.sort(key=lambda row: OF_ACCOUNTS[row["outcome"]][1] is None)
    columns: Columns = [
        (Column("Code"), lambda row: _joined(row["external_id"] if pd.isna(row["code"]) else row["code"])),
        (Column("Name", "heading"), lambda row: row["name"]),
        (Column("Outcome", choice=True), lambda row: row["outcome"].lower()),
        (Column("What it means", "long"), lambda row: _meaning(OF_ACCOUNTS, row)),
        (Column("IDs", "id"), _identifiers),
    ]
    caption = "Accounts: created, found, or refused"
    return _listed(
        "accounts-table", caption, columns, rows, len(rows), "accounts_created.csv", "No account was created."
    )


def _checks(close: Close) -> Html:
    """Return the findings of the chart of accounts and the categories; infos are counted."""
    findings = in_pandas(close.after.findings)
    rows = findings[findings["severity"] != "info"].to_dict("records")
    columns: Columns = [
        (Column("Severity", choice=True), lambda row: _mark(row["severity"])),
        (Column("Check", choice=True), lambda row: _words(row["check"])),
        (Column("What was found, and what to do", "heading"), lambda row: _sentence(row["message"])),
    ]  # fmt: skip
    infos = len(findings) - len(rows)
    note = f"Findings that need no action (info), all in reconciliation.csv: {infos:,}."
    caption = "Errors and warnings"
    table = _listed(
        "checks-table", caption, columns, rows, len(rows), "reconciliation.csv", "No finding needs an action."
    )
    return join([table, tag("p", note, class_="note") if infos else ""])


def _about(close: Close) -> Html:
    sources = ("entries", "chart", "categories", "employees")
    return _facts(
        [
            ("Written to the service", "yes" if close.applied else "no, planned only"),
            ("Not checked", lines(close.unchecked) or "nothing: all checks were made"),
            *((f"Source of the {name}", _source(getattr(close, name).attrs.get("bktools", {}))) for name in sources),
            ("Accounts known to bktools", _known(close.known)),
            ("All rows", "in the CSV files and the workbook of the close's folder; manifest.json has their digests"),
            ("Journal", close.plan.journal or "none"),
        ]
    )


def _source(told: Record) -> str:
    source = told.get("source") or ()
    names = [PurePath(source).name] if isinstance(source, str) else [f"the {name}" for name in source]
    rows = [f"{told['rows']:,} rows"] if "rows" in told else []
    times = [f"fetched {_moment(pd.Timestamp(time))}" for time in told.get("fetched_at") or ()]
    digest = [f"SHA-256 {told['sha256']}"] if "sha256" in told else []
    return ", ".join([*names, *rows, *times, *digest]) or "not known"


def _known(known: pd.DataFrame | None) -> object:
    """Return where the accounts known here came from, and when."""
    if known is None:
        return "not recorded"
    by_state = known[known["state"].isin(KNOWN_AS)].groupby("state")["updated_at"]
    told = [f"{len(times):,} {KNOWN_AS[str(state)]}, last on {_day(times.max())}" for state, times in by_state]
    no_list = [] if "IMPORTED" in set(known["state"]) else ["no list was imported"]
    return lines([*told, *no_list])


def _listed(
    name: str,
    caption: str,
    columns: Columns,
    rows: Sequence[Record],
    total: int,
    file: str,
    empty: str = "",
    groups: Callable[[Record], str] = lambda _: "",
) -> Html:
    """Return rows as a table without empty columns, how many it leaves out, and the file with all of them."""
    if not rows:
        return tag("p", empty) if empty else Html("")
    cells = [[page.text(cell(row)) for row in rows[:SHOWN_ROWS]] for _, cell in columns]
    there = [place for place, column in enumerate(cells) if any(column)]
    shown_rows = (
        Row(row, groups(record))
        for row, record in zip(zip(*(cells[place] for place in there), strict=True), rows, strict=False)
    )
    table = page.table(name, caption, [columns[place][0] for place in there], shown_rows, total=total)
    count = min(len(rows), SHOWN_ROWS)
    notes = [
        *([(f"This page has {count:,} of {total:,} rows. All are in {file}.", "bound")] if count < total else []),
        *(
            [(f"{PRINTED_ROWS} rows are printed. All {total:,} are in {file}.", "printed")]
            if count > PRINTED_ROWS
            else []
        ),
    ]
    return join([table, *(tag("p", note, class_=f"note {look}") for note, look in notes)])


def _frame(name: str, caption: str, frame: pd.DataFrame, file: str, empty: str = "") -> Html:
    """Return any frame as a table: names and money first, identifiers in the last column."""
    ordered = [column for column in in_reading_order(map(str, frame.columns)) if column not in IDENTIFIERS]
    columns: Columns = [
        *((Column(HEADINGS.get(column, _words(column)), _kind(frame[column])), _cell_of(column)) for column in ordered),
        (Column("IDs", "id"), _identifiers),
    ]
    return _listed(name, caption, columns, _rows(frame.head(SHOWN_ROWS)), len(frame), file, empty)


def _rows(frame: pd.DataFrame) -> list[dict[Any, Any]]:
    """Return the rows of a frame, with None for missing values."""
    return frame.astype("object").where(frame.notna(), None).to_dict("records")


def _kind(column: pd.Series) -> str:
    if column.name in {"amount", "currency", "date"}:
        return str(column.name)
    return "number" if pd.api.types.is_integer_dtype(column) else "text"


def _cell_of(column: str) -> Callable[[Record], object]:
    def cell(row: Record) -> object:
        value = row[column]
        if column == "amount":
            return shown(value, row.get("currency"))
        if isinstance(value, dt.date):
            return _moment(value) if getattr(value, "tzinfo", None) else _day(value)
        return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else value

    return cell


def _facts(facts: Iterable[tuple[str, object]]) -> Html:
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in facts))


def _link(group: str, label: object, section: str = "entries") -> Html:
    """Return a link to the rows of a group of entries; without a group, to a section."""
    given = {"data_table": f"{section}-table", "data_group": group, "data_label": label} if group else {}
    return tag("a", label, href=f"#{section}", **given)


def _mark(severity: str) -> Html:
    return tag("span", f"{views.MARKS[severity]} {severity}", class_=f"mark {severity}")


def _meaning(meanings: Mapping[str, tuple[str, str | None]], row: Record) -> str:
    """Return what an outcome means, with the service's message where something is left to do."""
    meaning, step = meanings[row["outcome"]]
    return _sentence(meaning if step is None else _joined(meaning, row["message"], ": "))


def _amount(money: Money, currency: str) -> str:
    return shown(money[currency][1], currency) if currency in money else ""


def _values(money: Money) -> Html:
    return lines(
        join([tag("span", name), " ", tag("span", _amount(money, name))]) for name in money if _amount(money, name)
    )


def _identifiers(row: Record) -> Html:
    there = [(name, row[name]) for name in NAMED if name in row and not pd.isna(row[name])]
    return lines(f"{name.removesuffix('_id').replace('_', ' ')} {value}" for name, value in there)


def _joined(first: Any, second: Any = None, separator: str = " ") -> str:
    return separator.join(str(part) for part in (first, second) if not pd.isna(part) and part != "")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _words(name: str) -> str:
    return _sentence(name.replace("_", " "))


def _noun(count: int, one: str, several: str) -> str:
    return one if count == 1 else several


def _token(text: object) -> str:
    """Return the name of a group without spaces, which separate groups."""
    return "-".join(str(text).lower().split())


def _day(day: Any) -> str:
    return "" if pd.isna(day) else f"{day:%Y-%m-%d}"


def _moment(moment: dt.date) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
