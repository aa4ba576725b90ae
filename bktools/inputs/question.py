"""The one question about a file: all that is open, the choices that were tried, and the command."""

from __future__ import annotations

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

# A trial reads the file once; so many look for so many commands, each of which was tried.
_MOST_TRIALS, _MOST_COMMANDS = 30, 6
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

    def is_same(self, other: Problem) -> bool:
        """Whether another problem is about the same and has the same choices."""
        return self.key == other.key and self.choices == other.choices

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
    return _asked(source, kind, options, problems, columns, problems)


def _asked(
    source: str,
    kind: str,
    options: Options,
    problems: Sequence[Problem],
    columns: Sequence[str],
    every: Sequence[Problem],
    ways: Sequence[_Way] = (),
) -> QuestionError:
    message = _message(source, kind, options, problems, columns, ways)
    error = QuestionError(message, source=source)
    error.kind, error.problems, error.columns = kind, tuple(every), tuple(columns)
    error.options = _settled(options, problems).stated()
    return error


class _Way(NamedTuple):
    """One way to answer a question: its options, and what they settle."""

    options: Options
    settled: tuple[Problem, ...] = ()
    picked: tuple[Choice, ...] = ()
    # How many of its choices are not the first ones: the fewer, the likelier.
    turns: int = 0
    # Lines that are read with it.
    kept: frozenset[int] = frozenset()

    def plus(self, problem: Problem, choice: Choice, *, turns: bool = False) -> _Way:
        """Return this way with one more thing settled."""
        return self._replace(
            options=self.options.plus(choice),
            settled=(*self.settled, problem),
            picked=(*self.picked, choice),
            turns=self.turns + turns,
        )

    def settles(self, problem: Problem) -> bool:
        """Whether it has settled a problem before."""
        return any(problem.is_same(other) for other in self.settled)

    def drops_what_is_read(self, other: _Way) -> bool:
        """Whether it leaves out a row that another way reads without that being open."""
        return any(
            not other.settles(problem) and not other.kept.isdisjoint(lines)
            for problem, choice in zip(self.settled, self.picked, strict=True)
            for lines, _ in Options(skip_rows=choice.get("skip_rows")).skipped()
        )


def answered(read: Callable[[Options], pd.DataFrame], options: Options) -> pd.DataFrame:
    """Return what is read with the options, or raise one question that is complete.

    The file is read with each choice of what is open, and with what comes up under that choice, until it is
    read: what all these ways have in common is asked, and what one of them needs stands with its command.
    """
    try:
        return read(options)
    except QuestionError as first:
        ways, stuck = _ways(read, options, first.problems)
        every: list[Problem] = []
        for problem in (*first.problems, *(problem for way in ways for problem in way.settled), *stuck):
            is_met = any(way.settles(problem) for way in ways) or not ways
            if is_met and not any(problem.is_same(other) for other in every):
                every.append(problem)
        is_doubtful = any(problem.is_doubtful for problem in every)
        joint = [one for one in every if is_doubtful or all(way.settles(one) for way in ways)]
        complete = _asked(first.source, first.kind, options, joint, first.columns, every, ways)
    raise complete


def _ways(
    read: Callable[[Options], pd.DataFrame], options: Options, first: Sequence[Problem]
) -> tuple[Sequence[_Way], Sequence[Problem]]:
    """Return the ways that read a file, the likeliest first; without any, what the likeliest is stuck on."""
    reading: list[_Way] = []
    stuck: Sequence[Problem] = ()
    waiting = _steps(_Way(options), first)
    for _ in range(_MOST_TRIALS):
        if not waiting or len(reading) == _MOST_COMMANDS:
            break
        waiting.sort(key=lambda way: way.turns)
        way = waiting.pop(0)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                frame = read(way.options)
            reading.append(way._replace(kept=frozenset(frame.get("line", ()))))
        except QuestionError as more:
            steps = _steps(way, more.problems)
            waiting += steps
            stuck = stuck or (() if steps else (*way.settled, *more.problems))
        except InputError as error:
            place = f"line {error.line}: " if error.line else ""
            stuck = stuck or (*way.settled, Problem("wrong_cells", {"text": f"{place}{error.why}"}))
    # No command drops an entry that another one keeps.
    harmless = [way for way in reading if not any(map(way.drops_what_is_read, reading))]
    return harmless, () if reading else stuck


def _steps(way: _Way, problems: Sequence[Problem]) -> list[_Way]:
    """Return the ways that lead on: one for each choice of what has several, else one with all that is open.

    What stands behind a problem with several choices may belong to the first of them alone, and waits.
    """
    if any(map(way.settles, problems)):
        return []
    for problem in problems:
        if not problem.has_way_out:
            return []
        if len(problem.choices) > 1:
            return [way.plus(problem, one, turns=place > 0) for place, one in enumerate(problem.choices)]
        way = way.plus(problem, problem.choices[0] if problem.choices else _for_trial(problem))
    return [way]


def _for_trial(problem: Problem) -> Choice:
    return {problem.option: _UNKNOWN[problem.option][1]}


def _settled(options: Options, problems: Iterable[Problem]) -> Options:
    for problem in problems:
        if problem.is_settled:
            options = options.plus(problem.choices[0])
    return options


def _message(
    source: str,
    kind: str,
    options: Options,
    problems: Sequence[Problem],
    columns: Sequence[str],
    ways: Sequence[_Way],
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
    if kind not in _CALLS:
        shown.append(text(f"file.question.correct_{kind}"))
    elif ways or all(problem.has_way_out for problem in problems):
        shown += _commands(source, kind, options, problems, ways)
        if is_command() and not can_set("save_mapping"):
            shown.append(text("file.question.again"))
    return "\n".join(shown)


def _commands(
    source: str, kind: str, options: Options, problems: Sequence[Problem], ways: Sequence[_Way]
) -> list[str]:
    """Return the command of each way, with what it alone needs; what is doubtful is for the person to add."""
    text = words()
    if ways and not any(problem.is_doubtful for problem in problems):
        lines = []
        for way in ways:
            lines.append(_call(source, kind, {**way.options.stated(), **_unknown(way.settled)}))
            lines += [f"    {one.sentence()}" for one in way.settled if not any(map(one.is_same, problems))]
        one_or_more = "read_with" if len(ways) == 1 else "read_with_one_of"
        return [text(f"file.question.{one_or_more}"), *lines]
    choices = [
        f"  ({number}) {_typed(choice)}"
        for number, problem in enumerate(problems, 1)
        if problem.choices and not problem.is_settled
        for choice in problem.choices
        if not ways or any(choice in way.picked for way in ways)
    ]
    call = _call(source, kind, {**_settled(options, problems).stated(), **_unknown(problems)})
    return [text("file.question.choose"), *choices, text("file.question.added_to"), call]


def _unknown(problems: Sequence[Problem]) -> dict[str, str]:
    """Return what stands in a command for what only the person knows."""
    return {problem.option: _UNKNOWN[problem.option][0] for problem in problems if not problem.choices}


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
