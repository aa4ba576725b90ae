"""`bktools fixes`: checks the answers on the sheet "to do", and shows which are done by now."""

from __future__ import annotations

from pathlib import Path

import bktools
from bktools.cli import options, results
from bktools.cli.exits import Exit
from bktools.cli.options import REQUIRED, argument
from bktools.cli.output import tell
from bktools.cli.results import counts, in_order
from bktools.contract import rules
from bktools.errors import InputError
from bktools.progress import note
from bktools.wording import Sentence, words

SHOWN_COLUMNS = ("outcome", "about", "account_now", "new_account", "note", "message", "period", "line")


def fixes(
    books: options.Company,
    table: results.Table,
    file: Path = argument("FILE", "The workbook of a close (month-end.xlsx), filled in.", REQUIRED),
) -> Exit:
    """Check what people filled in on the sheet "to do".

    Run it again to see what is done. The service cannot be updated by its interface: the list is for whoever
    changes the categories there.

    Example: bktools fixes month-end.xlsx --output fixes.csv
    """
    from bktools.reports import fixes as sheet

    with books.connected() as service:
        settings, company = service.settings, rules.company_of(service.settings)
        lines = bktools.read_fixes(file, company=company)
        made_in = lines["environment"].iloc[0] if len(lines) else settings.environment
        if made_in != settings.environment:
            raise InputError(Sentence("error.workbook_of_environment", name=made_in), source=str(file))
        categories = bktools.load_categories(company, refresh=True, service=service)
        checked = bktools.check_fixes(lines, categories, bktools.load_accounts(company, service=service))
    valid, names = checked["outcome"] != sheet.WRONG, words()
    for row in checked[~valid].to_dict("records"):
        tell(names("command.fix_problem", line=row["line"], about=row["about"], message=row["message"]))
    shown = in_order(checked[valid], "outcome", (sheet.OPEN, sheet.DIFFERENT, sheet.NOTED, sheet.DONE))
    table.hand_over(shown, columns=list(SHOWN_COLUMNS), names={"outcome": "fix_outcome"})
    outcomes = counts(names.name("fix_outcome", outcome) for outcome in checked["outcome"])
    note(outcomes or names("command.nothing_filled_in"))
    return Exit.DONE if valid.all() else Exit.INCOMPLETE
