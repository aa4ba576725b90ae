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
from bktools.inputs.options import Options, as_arguments, as_command, plus, skipped
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

    def sentence(self, language: str | None = None) -> str:
        """Return the problem in a language, by default that of the reader."""
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


class _Way(NamedTuple):
    """One way to answer a question: its options, what they settle by which choice, and the lines it reads."""

    options: Options
    steps: tuple[tuple[Problem, Choice], ...] = ()
    lines: frozenset[int] = frozenset()

    @property
    def settled(self) -> list[Problem]:
        """What it settles."""
        return [problem for problem, _ in self.steps]

    @property
    def turns(self) -> int:
        """How many of its choices are not the first ones: the fewer, the likelier."""
        return sum(choice not in problem.choices[:1] for problem, choice in self.steps if problem.choices)

    def plus(self, problem: Problem, choice: Choice) -> _Way:
        """Return this way with one more thing settled."""
        return self._replace(options=plus(self.options, choice), steps=(*self.steps, (problem, choice)))

    def settles(self, problem: Problem) -> bool:
        """Whether it has settled a problem before."""
        return any(map(problem.is_same, self.settled))

    def drops_what_is_read(self, other: _Way) -> bool:
        """Whether it leaves out a row that another way reads without that being open."""
        return any(
            not other.settles(problem) and not other.lines.isdisjoint(lines)
            for problem, choice in self.steps
            for lines, _ in skipped(choice)
        )


def question(
    source: str,
    kind: str,
    options: Options,
    problems: Sequence[Problem],
    columns: Sequence[str] = (),
    ways: Sequence[_Way] = (),
) -> QuestionError:
    """Return the error that asks about all problems, with the ways that were tried to settle them.

    `columns` shows the file's columns. What only some of several ways need stands with their commands.
    """
    text = words()
    joint = [one for one in problems if all(way.settles(one) for way in ways)]
    settled = options
    for problem in joint:
        if problem.is_settled:
            settled = plus(settled, problem.choices[0])
    are_several = len(joint) > 1
    lines = [text("file.question.open", count=len(joint))] if are_several else []
    for number, problem in enumerate(joint, 1):
        lines.append(f"({number}) {problem.sentence()}" if are_several else problem.sentence())
        lines += problem.facts.get("shown", ())
    lines += [text("file.question.columns"), *columns] if columns else []
    if kind not in _CALLS:
        lines.append(text(f"file.question.correct_{kind}"))
    elif ways:
        is_doubtful = any(problem.is_doubtful for problem in problems)
        form = f"read_with{'_one_of' if len(ways) > 1 else ''}{'_if_right' if is_doubtful else ''}"
        lines.append(text(f"file.question.{form}"))
        for way in ways:
            lines.append(_call(source, kind, way.options, way.settled))
            alone = [one for one in way.settled if not any(map(one.is_same, joint))]
            for problem in alone:
                lines += [
                    f"    {problem.sentence()}",
                    *(f"  {row}" for row in problem.facts.get("shown", ())),
                ]
        if is_command() and not can_set("save_mapping"):
            # Without headings a mapping is found by its name alone.
            is_named = not columns or ways[0].options.get("headings") == 0
            name = mapping_name(source, kind) if is_named else None
            lines.append(text("file.question.again", name=name))
    error = QuestionError("\n".join(lines), source=source)
    error.kind, error.problems, error.columns = kind, tuple(problems), tuple(columns)
    error.options = dict(settled)
    return error


def _call(source: str, kind: str, options: Options, problems: Sequence[Problem]) -> str:
    """Return a command, or a call in Python, with a sign for what only the person knows."""
    unknown = {one.option: _UNKNOWN[one.option][0] for one in problems if not one.choices and one.option}
    return f"  {call_of(source, kind, {**options, **unknown})}"


def call_of(source: str, kind: str, options: Mapping[str, Any]) -> str:
    """Return the command, or the call in Python, that reads a file with options."""
    command, reader = _CALLS[kind]
    if is_command():
        call = f"bktools {command.format(in_shell(source))} {as_command(options)}".rstrip()
        # Another command than the one that shows a file finds the options in a mapping.
        name = mapping_name(source, kind)
        return call if can_set("save_mapping") else f"{call} --save-mapping {name}"
    arguments = ", ".join(filter(None, [repr(source), as_arguments(options)]))
    return f"{reader}({arguments})"


def mapping_name(source: str, kind: str) -> str:
    """Return a name for the mapping of a file, a word of the shell."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", Path(source).stem).strip("-")[:40] or kind


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
            if is_met and not any(map(problem.is_same, every)):
                every.append(problem)
        complete = question(first.source, first.kind, options, every, first.columns, ways)
    raise complete


def _ways(
    read: Callable[[Options], pd.DataFrame], options: Options, first: Sequence[Problem]
) -> tuple[Sequence[_Way], Sequence[Problem]]:
    """Return the ways that read a file, the likeliest first; without any, what the likeliest is stuck on."""
    reading: list[_Way] = []
    frames: list[pd.DataFrame] = []
    stuck: Sequence[Problem] = ()
    waiting = _steps(_Way(options), first)
    for _ in range(_MOST_TRIALS):
        if not waiting or len(reading) == _MOST_COMMANDS:
            break
        way = min(waiting, key=lambda one: one.turns)
        waiting.remove(way)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                frame = read(way.options)
            # Of two ways that read the same, the likelier one counts.
            if not any(map(frame.equals, frames)):
                frames.append(frame)
                reading.append(way._replace(lines=frozenset(frame.get("line", ()))))
        except QuestionError as more:
            steps = _steps(way, more.problems)
            waiting += steps
            stuck = stuck or (() if steps else (*way.settled, *more.problems))
        except InputError as error:
            stuck = stuck or (*way.settled, wrong_cells(error))
    # A ledger that contradicts itself is read only where nothing else reads it.
    sound = [
        way
        for way in reading
        if not any(one.code in ("check_failed", "unlikely_ledger") for one in way.settled)
    ] or reading
    # No command drops an entry that another one keeps.
    harmless = [way for way in sound if not any(map(way.drops_what_is_read, sound))]
    return harmless, () if reading else stuck


def wrong_cells(error: InputError) -> Problem:
    """Return an error as a problem: its cells are to be corrected."""
    place = f"{words()('thing.line', line=error.line)}: " if error.line else ""
    return Problem("wrong_cells", {"text": f"{place}{error.why}"})


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
            return [way.plus(problem, choice) for choice in problem.choices]
        for_trial = {problem.option: _UNKNOWN[problem.option][1]} if problem.option else {}
        way = way.plus(problem, problem.choices[0] if problem.choices else for_trial)
    return [way]
