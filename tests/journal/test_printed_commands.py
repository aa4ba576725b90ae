"""Every printed command that changes something names company and environment."""

from __future__ import annotations

import ast
import re

import pytest
from backends import BOTH
from batches import ADDRESS, COMPANY, LOOKED, answer, batch, begun, claimed, send
from sources import sources

from bktools import wording
from bktools.errors import JournalError
from bktools.journal.attempts import record_outcome
from bktools.journal.export_jobs import _late_answer
from bktools.journal.periods import _set_state
from bktools.journal.resolving import resolve
from bktools.journal.right_journal import first_export
from bktools.journal.unknown_outcomes import how_to_resolve

# Commands that change the journal of one company, and those of the whole journal, which name the environment.
# `journal rename` names it by its last word.
OF_A_COMPANY = (
    r"export (resolve|import|undo-import|not-booked|tick-off)|periods (close|reopen)|accounts import"
)
OF_A_JOURNAL = r"journal (restore|move)|check --accept-address"
# A command without its arguments is a name, which changes nothing when it is pasted.
IS_NAME = re.compile(r"bktools [a-z -]+?( --help)?[).,;:]")


def _called(node: ast.AST) -> str:
    """Return the name of the function that a node calls, "" for any other node."""
    called = node.func if isinstance(node, ast.Call) else None
    return str(getattr(called, "attr", getattr(called, "id", "")))


def _text(node: ast.expr) -> str:
    """Return a string of the source, each expression in it as {source}."""
    if isinstance(node, ast.JoinedStr):
        return "".join(
            part.value if isinstance(part, ast.Constant) else f"{{{ast.unparse(part.value)}}}"
            for part in node.values
        )
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def test_each_command_that_the_code_composes_names_them():
    """`command` gets the company; a text to paste ends with the options of company and environment."""
    composed, wrong = 0, []
    for place, _, tree in sources():
        nodes = [*ast.walk(tree)]
        for name, company in (("command", 1), ("command_for", 2)):
            for call in (node for node in nodes if _called(node) == name):
                words = _text(call.args[company - 1]) if len(call.args) >= company else ""
                if re.match(OF_A_COMPANY, words):
                    composed += 1
                    wrong += [f"{place}: {words}"] if len(call.args) <= company else []
        documented = {
            id(node.body[0].value)
            for node in nodes
            if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        inside = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in nodes:
            text = _text(node) if isinstance(node, ast.expr) and id(node) not in documented | inside else ""
            for match in re.finditer(rf"bktools ({OF_A_COMPANY}|{OF_A_JOURNAL})", text):
                command = text[match.start() :]
                where = re.search(r"\{(same|books|ending)[^}]*\}|\{same\(", command)
                if not IS_NAME.match(command) and not where:
                    wrong.append(f"{place}: {command[:60]}")
    for key, sentence in wording.words("en").texts.items():
        if key.startswith(("journal.", "submit.")):
            found = re.search(rf"bktools ({OF_A_COMPANY}|{OF_A_JOURNAL}).*", str(sentence))
            wrong += [key] if found and not IS_NAME.match(found[0]) else []
    assert not wrong, "\n".join(wrong)
    assert composed > 5


@BOTH
def test_each_command_that_the_journal_prints_names_them(opened, today):
    """The lines themselves, for each command that changes something."""
    company = f"--company {COMPANY} --environment {ADDRESS}"
    lines = {"export import": str(first_export(opened, COMPANY))}
    today("2026-11-20T10:00")
    attempt = begun(opened, batch("a", 0, date="2026-10-05"))
    record_outcome(opened, attempt, answer("UNKNOWN"))
    lines["export resolve"] = how_to_resolve(opened, opened.unknown()[0])
    with pytest.raises(JournalError) as caught:
        _set_state(opened, COMPANY, "2026-10", "CLOSED", None, "Grace")
    lines["export resolve a"] = str(caught.value)
    resolve(opened, "a", "ACCEPTED", **LOOKED, job_id="job-1")
    record_outcome(opened, attempt, answer("ACCEPTED", "job-2"))
    lines["export tick-off"] = _late_answer(opened, opened.late_answers()[0])
    _set_state(opened, COMPANY, "2026-10", "CLOSED", None, "Grace")
    with pytest.raises(JournalError) as caught:
        send(opened, batch("b", 1, date="2026-10-05"), month="2026-10")
    lines["periods reopen"] = str(caught.value)
    claimed(opened, batch("c", 2))
    with pytest.raises(JournalError) as caught:
        claimed(opened, batch("d", 2, company="00000000-0000-4000-8000-00000000000f"))
    lines["export resolve c"] = str(caught.value)
    for command, line in lines.items():
        assert re.search(rf"bktools {command}[^;]* {re.escape(company)}", line), line
