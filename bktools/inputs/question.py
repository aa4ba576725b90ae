"""The one question about a file: all that is open, the choices that were tried, and the command."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from bktools.caller import can_set, in_shell, is_command
from bktools.errors import InputError, QuestionError
from bktools.inputs.options import Options, as_arguments, as_command
from bktools.wording import words

Choice = Mapping[str, Any]

# A trial reads the file once; so many show what comes up under each choice.
_MOST_TRIALS, _MOST_ROUNDS, _TRIED_CHOICES = 12, 4, 3
# So many commands are listed where several choices meet; more are listed by problem.
_MOST_COMMANDS = 6
# Options of values do no harm where they are not needed, so they join the question if any choice needs them.
_OF_VALUES = (
    *("date_format", "date_serial", "year", "decimal", "decimal_marks"),
    *("currency", "currency_missing", "currency_nowhere", "side_unknown"),
)
# What stands in a command for a value that only the person knows, and the value of a trial.
_UNKNOWN: Mapping[str, tuple[str, Any]] = {"currency": ("CODE", "EUR"), "year": ("YYYY", 2026)}
# By kind of file: the command that shows how it is read, and the reader in Python.
_CALLS = {
    "chart": ("chart {}", "read_chart_of_accounts"),
    "accounts": ("chart {} --account-list", "import_accounts"),
    "entries": ("entries {}", "read_entries"),
    "ledger": ("ledger {}", "read_general_ledger"),
}


class Problem(NamedTuple):
    """One thing that is open, with the options that can settle it; without any, correct the file."""

    code: str
    facts: Mapping[str, Any]
    choices: Sequence[Choice] = ()
    # An option whose value only the person knows.
    option: str = ""
    # Whether the one choice is named and not put into the command.
    is_doubtful: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """What it is about: two problems with one key are the same."""
        return self.code, str(self.facts.get("field") or self.facts.get("word") or "")

    @property
    def is_settled(self) -> bool:
        """Whether its one choice stands in the command."""
        return len(self.choices) == 1 and not self.is_doubtful

    @property
    def has_way_out(self) -> bool:
        """Whether an option can settle it."""
        return bool(self.choices or self.option)

    def sentence(self, language: str = "en") -> str:
        """Return the problem in a language."""
        return words(language)(f"file.problem.{self.code}", **self.facts)


class Problems(list[Problem]):
    """What is open about a file, collected while it is read."""

    def ask(
        self,
        code: str,
        choices: Iterable[Choice] = (),
        *,
        option: str = "",
        is_doubtful: bool = False,
        **facts: Any,
    ) -> None:
        """Add a problem."""
        self.append(Problem(code, facts, tuple(choices), option, is_doubtful))

    def has(self, code: str) -> bool:
        """Whether there is a problem of this code."""
        return any(problem.code == code for problem in self)


def question(
    source: str, kind: str, options: Options, problems: Sequence[Problem], columns: Sequence[str] = ()
) -> QuestionError:
    """Return the error that asks about all problems; `columns` shows the file's columns."""
    error = QuestionError(_message(source, kind, options, problems, columns), source=source)
    error.kind, error.problems, error.columns = kind, tuple(problems), tuple(columns)
    error.options = _settled(options, problems).stated()
    return error


def answered(read: Callable[[Options], pd.DataFrame], options: Options) -> pd.DataFrame:
    """Return what is read with the options, or raise one question that is complete.

    Each open thing is set to each of its choices and the file is read again: what comes up under every choice
    joins the question, so that it is asked once.
    """
    try:
        return read(options)
    except QuestionError as first:
        problems = _completed(read, options, first.problems)
        complete = question(first.source, first.kind, options, problems, first.columns)
    raise complete


def _completed(
    read: Callable[[Options], pd.DataFrame], options: Options, first: Sequence[Problem]
) -> Sequence[Problem]:
    problems = list(first)
    for _ in range(_MOST_ROUNDS):
        if not all(problem.has_way_out for problem in problems):
            break
        lists = [problem.choices or ({problem.option: _UNKNOWN[problem.option][1]},) for problem in problems]
        base = [choices[0] for choices in lists]
        trials = [base] + [
            [*base[:place], choice, *base[place + 1 :]]
            for place, choices in enumerate(lists)
            for choice in choices[1 : _TRIED_CHOICES + 1]
        ]
        asked = [_asked_next(read, options, trial) for trial in trials[:_MOST_TRIALS]]
        known = {problem.key for problem in problems}
        new = {
            problem.key: problem
            for others in asked
            for problem in others
            if problem.key not in known
            and (problem.code in _OF_VALUES or all(_is_among(problem, others) for others in asked))
        }
        if not new:
            break
        problems += new.values()
    return problems


def _is_among(problem: Problem, others: Iterable[Problem]) -> bool:
    return any(problem.key == other.key and problem.choices == other.choices for other in others)


def _asked_next(
    read: Callable[[Options], pd.DataFrame], options: Options, trial: Sequence[Choice]
) -> Sequence[Problem]:
    for choice in trial:
        options = options.plus(choice)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            read(options)
    except QuestionError as more:
        return more.problems
    except InputError:
        # This choice does not fit; another one may.
        return ()
    return ()


def _settled(options: Options, problems: Iterable[Problem]) -> Options:
    for problem in problems:
        if problem.is_settled:
            options = options.plus(problem.choices[0])
    return options


def _message(
    source: str, kind: str, options: Options, problems: Sequence[Problem], columns: Sequence[str]
) -> str:
    text = words()
    lines = []
    for number, problem in enumerate(problems, 1):
        lines.append(f"({number}) {problem.sentence()}" if len(problems) > 1 else problem.sentence())
        lines += problem.facts.get("shown", ())
    head = text("file.question.open", count=len(problems)) if len(problems) > 1 else ""
    shown = [head, *lines] if head else lines
    if columns:
        shown += [text("file.question.columns"), *columns]
    if all(problem.has_way_out for problem in problems):
        shown += _commands(source, kind, options, problems)
        if is_command() and not can_set("save_mapping"):
            shown.append(text("file.question.again"))
    return "\n".join(shown)


def _commands(source: str, kind: str, options: Options, problems: Sequence[Problem]) -> list[str]:
    """Return the command that reads the file, or one for each way to answer what has several choices."""
    text = words()
    open_lists = [problem.choices for problem in problems if problem.choices and not problem.is_settled]
    settled = _settled(options, problems)
    unknown = {problem.option: _UNKNOWN[problem.option][0] for problem in problems if not problem.choices}
    ways = [list(way) for way in itertools.islice(itertools.product(*open_lists), _MOST_COMMANDS + 1)]
    if len(ways) <= _MOST_COMMANDS and not any(problem.is_doubtful for problem in problems):
        calls = []
        for way in ways:
            merged = settled
            for choice in way:
                merged = merged.plus(choice)
            calls.append(_call(source, kind, {**merged.stated(), **unknown}))
        return [
            text("file.question.read_with" if len(calls) == 1 else "file.question.read_with_one_of"),
            *calls,
        ]
    choices = [
        f"  ({number}) {_typed(choice)}"
        for number, problem in enumerate(problems, 1)
        if problem.choices and not problem.is_settled
        for choice in problem.choices
    ]
    call = _call(source, kind, {**settled.stated(), **unknown})
    return [text("file.question.choose"), *choices, text("file.question.added_to"), call]


def _typed(options: Mapping[str, Any]) -> str:
    return as_command(options) if is_command() else as_arguments(options)


def mapping_name(source: str, kind: str) -> str:
    """Return a name for the mapping of a file, a word of the shell."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", Path(source).stem).strip("-")[:40] or kind


def _call(source: str, kind: str, options: Mapping[str, Any]) -> str:
    command, reader = _CALLS[kind]
    if is_command():
        call = f"  bktools {command.format(in_shell(source))} {as_command(options)}".rstrip()
        # Another command than the one that shows a file finds the options in a mapping.
        return call if can_set("save_mapping") else f"{call} --save-mapping {mapping_name(source, kind)}"
    arguments = ", ".join(filter(None, [repr(source), as_arguments(options)]))
    return f"  {reader}({arguments})"
