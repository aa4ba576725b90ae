"""`bktools verify`: did the exported entries arrive in the accounting system? Nothing is sent."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import bktools
from bktools.caller import in_shell
from bktools.cli import options, reading, results
from bktools.cli.exits import Exit
from bktools.cli.options import option, same, the_company
from bktools.errors import ArgumentError
from bktools.progress import note
from bktools.visible import visible_line
from bktools.wording import Sentence, numbers, words

if TYPE_CHECKING:
    import pandas as pd

    from bktools.ledger.settlements import Settlement

# Columns of a finding that are printed.
COLUMNS = ["severity", "check", "about", "message", "to_do", "who"]
# The section of the wording that names the codes of a column.
SECTIONS = {"severity": "severity", "check": "status", "who": "role"}
# Postings to look at that are printed for a batch in doubt.
MOST_POSTINGS = 10


def verify(
    books: options.Books,
    text: results.Text,
    ledger: reading.Ledger,
    entries: list[Path] | None = option(
        "--entries FILE",
        "The file of the entries: adds what the journal lacks, such as document numbers. May be repeated.",
    ),
    mapping: reading.Mapping = None,
    month: str | None = options.month(
        "Only the entries of this month, such as 2026-10; by default the ledger's months."
    ),
    folder: Path | None = option(
        "--out FOLDER", "Also write a page to mail, a workbook and CSV to this folder; see --profile."
    ),
    exported_at: options.ExportedAt = None,
    explained: list[str] | None = option(
        "--explained VOUCHER",
        "A voucher that you looked up and that holds none of the entries. May be repeated.",
    ),
    record: bool = option(
        "--record", "Keep in the journal that the month was verified; needs --month and --by.", False
    ),
    by: str | None = option("--by NAME", "With --record: who verified the month."),
    reason: str | None = option("--reason TEXT", "With --record: why the remaining differences are known."),
    profile: options.Profile = "excel",
) -> Exit:
    """Check that exported entries arrived in the general ledger.

    Each is booked, alone or in a sum, missing, reversed, booked twice, different, or open: then the postings
    to look at are named. A line shows how the ledger books.

    Control totals list the accounts that differ. Without --month, the months of the ledger are shown.

    For a batch with an unknown outcome, the command that settles it is printed where the ledger proves the
    outcome. Otherwise the postings to look at are printed.

    With --record, the journal keeps the result; the next verification says what moved in the ledger since.

    Example: bktools verify --ledger bookkeeping.se --month 2026-10
    """
    from bktools.frames.schema import MAYBE_SENT
    from bktools.journal.unknown_outcomes import sendings_in_doubt
    from bktools.ledger.exported import months_of, of_other_months
    from bktools.ledger.settlements import Sending, settlements
    from bktools.reports.verification import Verification, write_verification

    if record and (month is None or by is None):
        raise ArgumentError("--record", Sentence("rule.record"))
    with books.connected() as service:
        company_id = the_company(service.settings)
        postings = reading.read_ledger(ledger, mapping, money="decimal")
        note(reading.recognised(postings.attrs["bktools"]))
        exported = bktools.load_export_jobs(company_id, entries=True, service=service)
        exported = exported[exported["state"].isin(MAYBE_SENT)]
        if entries:
            exported = _with_file(exported, entries, mapping, company_id, service)
        elif len(exported) and exported["amount"].isna().all():
            raise ArgumentError("--entries", Sentence("rule.entries_of_journal"))
        texts, own = words(), service.settings.currency
        left_out = of_other_months(exported, postings, month, texts)
        looked_up = explained or ()
        # All entries are compared, the month is shown: a sum may hold entries of several months.
        match = bktools.match_ledger(
            exported,
            postings,
            period=month or months_of(postings),
            currency=own,
            explained=looked_up,
        )
        sendings = {
            batch: Sending(*sending)
            for batch, sending in sendings_in_doubt(company_id, service=service).items()
            if month is None or batch in {*match.entries["batch_id"]}
        }
        until = exported_at.date() if exported_at else None
        settled = settlements(
            exported, postings, sendings, explained=looked_up, exported_at=until, currency=own
        )
        match = replace(match, unchecked=(*left_out, *match.unchecked))
        has_arrived = match.has_arrived and (len(match.entries) > 0 or exported.empty)
        lines = [*match.sums, *match.remarks, *match.account_lines("ledger_totals.csv (--out FOLDER)")]
        text.say("\n  ".join([match.headline, *map(visible_line, lines)]))
        named = match.findings[COLUMNS].assign(
            **{
                column: [texts.name(section, code) for code in match.findings[column]]
                for column, section in SECTIONS.items()
            }
        )
        text.say_list(
            texts("verification.findings"),
            named,
            most=len(match.findings),
            whole="--out FOLDER",
        )
        since = _since(service, company_id, month, postings)
        for line in since:
            text.say(line)
        for settlement in settled:
            _say(text, settlement, same(service.settings))
        if folder is not None:
            shown = Verification(
                match=match,
                settlements=settled,
                company=service.settings.title_of(company_id),
                environment=texts("report.sandbox")
                if service.settings.is_sandbox
                else service.settings.environment,
                ledger=Path(str(postings.attrs["bktools"]["source"])).name,
                months=_months(month, months_of(postings)),
                verified_at=dt.datetime.now(dt.UTC),
                moved=[line.strip() for line in since],
            )
            text.say(
                f"\n{texts('report.terminal.written', folder=write_verification(shown, folder, profile))}",
            )
        if record and month is not None and by is not None:
            _record(service, company_id, month, match, postings, by, reason)
            text.say(f"\n{texts('verification.recorded', month=month, by=by)}")
        text.report(
            has_arrived=has_arrived,
            entries=match.counts,
            habits=match.habits,
            remarks=match.remarks,
            findings=match.findings,
            open_groups=match.open_groups,
            open_accounts=match.open_accounts,
            not_compared=match.unchecked,
            settlements=settled,
            moved=since,
            recorded=record,
            written_to=folder,
        )
        return Exit.DONE if has_arrived else Exit.INCOMPLETE


def _since(service: bktools.Service, company: str, month: str | None, postings: pd.DataFrame) -> list[str]:
    """Return what moved in the ledger of a month since it was verified last, a line an account."""
    from bktools.journal.journal import Journal
    from bktools.journal.statements import verifications_of
    from bktools.ledger.remembered import moved, remembered

    if month is None:
        return []
    with Journal(service.settings) as journal:
        verified = verifications_of(journal, company, month)
    if not verified:
        return []
    last, texts = verified[-1], words()
    changes = moved(last.facts["entries"], remembered(postings, month))
    head = texts(f"verification.{'moved_since' if changes else 'nothing_moved'}", at=last.at, by=last.person)
    lines = [
        texts("verification.moved", **{**change, "amount": texts.amount(change["amount"], None)})
        for change in changes
    ]
    return [f"\n{head}", *(f"  {line}" for line in lines)]


def _months(month: str | None, span: tuple[str, str] | None) -> str:
    """Return the months that are shown, in words."""
    texts = words()
    first, last = (month, month) if month else span or (None, None)
    if first is None:
        return texts("verification.all_months")
    return (
        texts("report.picture.to", first=first, last=last)
        if first != last
        else numbers.month(first, texts.language)
    )


def _record(
    service: bktools.Service,
    company: str,
    month: str,
    match: bktools.LedgerMatch,
    postings: pd.DataFrame,
    by: str,
    reason: str | None,
) -> None:
    """Record in the journal that a month was verified; its remaining differences keep their reason."""
    from bktools.journal.statements import record_verification
    from bktools.journal.writing import open_for_writing
    from bktools.ledger.remembered import remembered

    if len(match.findings) and not reason:
        raise ArgumentError("--reason", Sentence("rule.reason_of_differences", count=len(match.findings)))
    about = postings.attrs["bktools"]
    days = postings["date"].dropna()
    span = {"begins": f"{days.min():%Y-%m-%d}", "ends": f"{days.max():%Y-%m-%d}"} if len(days) else {}
    differences = [
        {"check": row["check"], "about": row["about"], "reason": reason}
        for row in match.findings.to_dict("records")
    ]
    with open_for_writing(service.settings) as journal:
        record_verification(
            journal,
            company,
            month,
            by=by,
            ledger={"name": Path(str(about["source"])).name, "sha256": about["sha256"], **span},
            result=match.counts,
            entries=remembered(postings, month),
            differences=differences,
        )


def _say(text: results.Text, settlement: Settlement, books: str) -> None:
    """Print the evidence about a batch in doubt, with the command that records its outcome."""
    texts, batch, outcome = words(), settlement.batch_id, settlement.outcome
    evidence = settlement.text if outcome else texts("verification.open", text=settlement.text)
    lines = ["\n" + texts("verification.in_doubt", id=batch, text=evidence)]
    lines += [visible_line(f"  {posting}") for posting in settlement.postings[:MOST_POSTINGS]]
    if (more := len(settlement.postings) - MOST_POSTINGS) > 0:
        lines.append(f"  {texts('verification.more_postings', count=more)}")
    if outcome is not None:
        word = f"--evidence {in_shell(settlement.text)} --by NAME"
        command = f"bktools export resolve {batch} --outcome {outcome} {word}{books}"
        lines.append(f"  {texts('verification.record_it', command=command)}")
    elif settlement.postings:
        lines.append(f"  {texts('verification.explain')}")
    for line in lines:
        text.say(line)


def _with_file(
    exported: pd.DataFrame,
    entries: list[Path],
    mapping: list[str] | None,
    company: str,
    service: bktools.Service,
) -> pd.DataFrame:
    """Return the exported entries with the values that the journal lacks, from their file."""
    from bktools.frames.incoming import arrow_of
    from bktools.frames.names import with_names
    from bktools.ledger.exported import with_file

    tables = reading.tables_of(service, company, max_age=0)
    named = with_names(arrow_of(reading.read_entries(entries, mapping, company, tables)), **tables)
    return with_file(exported, named)
