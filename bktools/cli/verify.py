"""`bktools verify`: did the exported entries arrive in the accounting system? Nothing is sent."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING

from bktools.caller import in_shell
from bktools.cli import options, reading, results
from bktools.cli.exits import Exit
from bktools.cli.options import option, same
from bktools.contract import rules
from bktools.errors import ArgumentError
from bktools.progress import note
from bktools.visible import visible_line
from bktools.wording import Sentence, words

if TYPE_CHECKING:
    from bktools.close.verification import Verification
    from bktools.ledger.settlements import Settlement

# Postings to look at that are printed for a batch in doubt.
MOST_POSTINGS = 10


def verify(
    books: options.Company,
    text: results.Text,
    ledger: list[Path] | None = reading.LEDGER,
    entries: list[Path] | None = option(
        "--entries FILE", "Adds what the journal lacks, and what changed since the export; repeatable."
    ),
    mapping: list[str] | None = reading.MAPPING,
    month: str | None = options.month("Only this month, such as 2026-10; by default the ledger's months."),
    folder: Path | None = option("--out FOLDER", "Also write a page to mail, a workbook and CSV here."),
    exported_at: dt.datetime | None = options.EXPORTED_AT,
    explained: list[str] | None = option("--explained VOUCHER", "It holds none of the entries; repeatable."),
    record: bool = option("--record", "Keep that the month was verified; needs --month and --by.", False),
    by: str | None = option("--by NAME", "With --record: who verified the month."),
    reason: str | None = option("--reason TEXT", "With --record: why the remaining differences are known."),
    profile: str = options.PROFILE,
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
    from bktools.close import verification
    from bktools.reports.verification import write_verification

    if record and (month is None or by is None):
        raise ArgumentError("--record", Sentence("rule.record"))
    with books.connected() as service:
        company_id = rules.company_of(service.settings)
        files = ledger or [reading.sample_ledger(service)]
        postings = reading.read_ledger(files, mapping, exported_at, money="decimal")
        note(reading.recognised(postings.attrs["bktools"]))
        tables = reading.tables_of(service, company_id, max_age=0) if entries else {}
        verified = verification.verify(
            service,
            company_id,
            postings,
            month=month,
            entries=reading.read_entries(entries, mapping, company_id, tables) if entries else None,
            tables=tables,
            explained=explained or (),
        )
        _say(text, verified, same(service.settings))
        if folder is not None:
            written = write_verification(verified, folder, profile)
            text.say(f"\n{words()('report.terminal.written', folder=written)}")
        if record and month is not None and by is not None:
            by_word = verification.record(
                service, company_id, month, verified, postings, by=by, reason=reason
            )
            text.say(f"\n{words()('verification.recorded', month=month, by=by)}")
            if by_word:
                text.say(words()("verification.recorded_by_word", entries="; ".join(by_word)))
    match = verified.match
    text.report(
        has_arrived=verified.has_arrived,
        entries=match.counts,
        habits=match.habits,
        remarks=verified.remarks,
        findings=match.findings,
        open_groups=match.open_groups,
        open_accounts=match.open_accounts,
        not_compared=match.unchecked,
        settlements=verified.settlements,
        moved=verified.moved,
        recorded=record,
        written_to=folder,
    )
    # An outcome that a person has yet to record is open, also where all of it is booked.
    return Exit.INCOMPLETE if verified.settlements or not verified.has_arrived else Exit.DONE


def _say(text: results.Text, verified: Verification, books: str) -> None:
    """Print the headline, the findings, what moved in the ledger, and each batch in doubt."""
    from bktools.reports.html import SECTIONS
    from bktools.reports.verification import columns_of

    match, texts = verified.match, words()
    text.say("\n  ".join([match.headline, *map(visible_line, [*match.sums, *verified.remarks])]))
    open_accounts = match.open_accounts
    if summary := match.totals_summary:
        text.say("\n" + "\n".join(summary))
    if text.is_for_people and len(open_accounts):
        columns = [column for column, _ in columns_of(verified, "totals")]
        titles = {column: texts(f"report.column.{column}") for column in columns}
        whole = f"--out {texts('placeholder.folder')}"
        results.show(open_accounts[columns], whole=whole, titles=titles)
    if text.is_for_people and len(match.findings):
        text.say(f"\n{texts('verification.findings')}:")
        for row in match.findings.to_dict("records"):
            names = {column: texts.name(section, row[column]) for column, section in SECTIONS.items()}
            kinds = [names["severity"], names["check"]]
            kinds += [names["reason"]] if row["reason"] != row["check"] else []
            head = ": ".join(filter(None, (", ".join(kinds), row["about"])))
            step = texts("report.terminal.action", who=names["who"], to_do=row["to_do"])
            text.say("\n      ".join(map(visible_line, (f"  {head}", row["message"], step))))
    if verified.moved:
        text.say("\n" + "\n  ".join(verified.moved))
    for settlement in verified.settlements:
        _say_settlement(text, settlement, books)


def _say_settlement(text: results.Text, settlement: Settlement, books: str) -> None:
    """Print the evidence about a batch in doubt, with the command that records its outcome."""
    texts, batch, outcome = words(), settlement.batch_id, settlement.outcome
    lines = ["\n" + texts("verification.in_doubt", id=batch, text=settlement.text)]
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
