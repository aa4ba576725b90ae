"""The mutations of a file: mutmut's operators, and those of mistakes that it does not make.

Left alone is what no test of behaviour can see: docstrings, annotations, imports, decorators, logging, asserts, `__repr__`,
the wording of messages, and how long a piece of text in a message may be.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any

import libcst as cst
from libcst import matchers as m
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators

NAME = re.compile(r"[A-Za-z_][\w.:-]*")
SQL = re.compile(
    r"\b(SELECT|INSERT|UPDATE|DELETE|FROM|WHERE|JOIN|GROUP BY|ORDER BY|CASE WHEN|CHECK|PRAGMA|AND|IS NULL|IS NOT)\b"
    r"|\bNOT [a-z]|^.[a-z_.]+ ([<>=]|<>|<=|>=) \S+.$"
)
BRACES = re.compile(r"\{[^{}]+\}")
SQL_SWAPS = [
    (re.compile(pattern), other)
    for pattern, other in [
        (r" = ", " <> "),
        (r" <> ", " = "),
        (r" < ", " <= "),
        (r" > ", " >= "),
        (r" <= ", " < "),
        (r" >= ", " > "),
        (r"\bAND\b", "OR"),
        (r"\bOR\b(?! (IGNORE|REPLACE))", "AND"),
        (r"\bIS NULL\b", "IS NOT NULL"),
        (r"\bIS NOT NULL\b", "IS NULL"),
        (r"\bIS (NOT )?DISTINCT FROM\b", "="),
        (r"\bNOT (?!NULL|EXISTS \w+ \()", ""),
        (r"\bLEFT JOIN\b", "JOIN"),
        (r"\bFULL JOIN\b", "LEFT JOIN"),
        (r"\bANTI JOIN\b", "SEMI JOIN"),
        (r"\bSEMI JOIN\b", "ANTI JOIN"),
        (r"\bUNION ALL\b", "UNION"),
        (r"\bDISTINCT (?!FROM)", ""),
        (r"\bmin\(", "max("),
        (r"\bmax\(", "min("),
        (r"\bDESC\b", "ASC"),
        (r"\bBEGIN IMMEDIATE\b", "BEGIN"),
        (r"\bTHEN (\S+) ELSE (\S+)", r"THEN \2 ELSE \1"),
    ]
]
SKIPPED = (cst.Annotation, cst.Decorator, cst.Import, cst.ImportFrom, cst.Assert, cst.TypeAlias)
SKIPPED_CALLS = m.Call(
    func=m.OneOf(
        m.Name("cast"), m.Name("TypeVar"), m.Attribute(value=m.OneOf(m.Name("log"), m.Name("logger"), m.Name("LOG")))
    )
)
# `zip(strict=True)` states what holds already, as an assert does.
STRICT = m.Arg(keyword=m.Name("strict"))
SKIPPED_NODES = m.OneOf(
    SKIPPED_CALLS,
    STRICT,
    # How a plot looks.
    m.Expr(
        value=m.Call(
            func=m.Attribute(
                value=m.OneOf(m.Name("ax"), m.Name("figure"), m.Attribute(value=m.Name("ax")), m.Subscript())
            )
        )
    ),
    m.Expr(value=m.OneOf(m.SimpleString(), m.ConcatenatedString())),
    m.If(test=m.Name("TYPE_CHECKING")),
    m.FunctionDef(name=m.Name("__repr__")),
    m.Assign(targets=[m.AssignTarget(target=m.OneOf(m.Name("__all__"), m.Name("__slots__")))]),
)


@dataclass(frozen=True)
class Mutant:
    """One change of one file: `place` counts the changes of the file."""

    file: str
    line: int
    kind: str
    place: int


@dataclass(frozen=True)
class Change:
    """The lines of a file that a mutant changes, and the whole of it afterwards."""

    before: str
    after: str
    code: str


def _names(node: cst.SimpleString) -> Iterator[cst.CSTNode]:
    """Another value for a text that is a name: of a column, a state, a key. Prose is left alone."""
    value = node.evaluated_value
    if isinstance(value, str) and NAME.fullmatch(value):
        yield node.with_changes(value=repr("XX" + value))


def _sql(node: cst.SimpleString | cst.FormattedStringText) -> Iterator[cst.CSTNode]:
    """One token of an SQL statement replaced."""
    if SQL.search(node.value):
        for pattern, other in SQL_SWAPS:
            for found in pattern.finditer(node.value):
                text = node.value[: found.start()] + found.expand(other) + node.value[found.end() :]
                yield node.with_changes(value=text)


def _swapped_in_template(node: cst.SimpleString) -> Iterator[cst.CSTNode]:
    """Two values of a message change places that are filled in later."""
    for one, other in pairwise(BRACES.finditer(node.value)):
        if one[0] != other[0]:
            between = node.value[one.end() : other.start()]
            text = node.value[: one.start()] + other[0] + between + one[0] + node.value[other.end() :]
            yield node.with_changes(value=text)


def _swapped(node: cst.Call) -> Iterator[cst.CSTNode]:
    """Two arguments of one kind change places; so do the values of two keywords."""
    for place, (one, other) in enumerate(pairwise(node.args)):
        is_pair = not one.star and not other.star and (one.keyword is None) == (other.keyword is None)
        if is_pair and type(one.value) is type(other.value) and not one.value.deep_equals(other.value):
            args = list(node.args)
            args[place : place + 2] = [one.with_changes(value=other.value), other.with_changes(value=one.value)]
            yield node.with_changes(args=args)


def _swapped_values(node: cst.Dict) -> Iterator[cst.CSTNode]:
    """Two values of a mapping change places."""
    for place, (one, other) in enumerate(pairwise(node.elements)):
        is_pair = isinstance(one, cst.DictElement) and type(one.value) is type(other.value)
        if is_pair and isinstance(other, cst.DictElement) and not one.value.deep_equals(other.value):
            elements = list(node.elements)
            elements[place : place + 2] = [one.with_changes(value=other.value), other.with_changes(value=one.value)]
            yield node.with_changes(elements=elements)


def _swapped_in_text(node: cst.FormattedString) -> Iterator[cst.CSTNode]:
    """Two values of a message change places."""
    places = [place for place, part in enumerate(node.parts) if isinstance(part, cst.FormattedStringExpression)]
    for one, other in pairwise(places):
        parts = list(node.parts)
        first, second = parts[one].expression, parts[other].expression  # type: ignore[union-attr]
        if not first.deep_equals(second):
            parts[one] = parts[one].with_changes(expression=second)
            parts[other] = parts[other].with_changes(expression=first)
            yield node.with_changes(parts=parts)


def _without_with(node: cst.With) -> Iterator[cst.CSTNode]:
    """A lock that is not taken, a guard that is not there."""
    if all(item.asname is None for item in node.items):
        yield cst.If(test=cst.Name("True"), body=node.body, leading_lines=node.leading_lines)


def _without_statement(node: cst.SimpleStatementLine) -> Iterator[cst.CSTNode]:
    """A call for its effect that is not made, an error that is not raised."""
    match node.body:
        case [cst.Raise()] | [cst.Expr(value=cst.Call())]:
            yield node.with_changes(body=[cst.Pass()])


def _negated(node: cst.If | cst.While) -> Iterator[cst.CSTNode]:
    """A condition the other way round."""
    inner = node.test.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    yield node.with_changes(
        test=cst.UnaryOperation(cst.Not(), inner), **_space(node, "whitespace_before_test", "whitespace_after_while")
    )


def _space(node: cst.CSTNode, *names: str) -> dict[str, Any]:
    return {name: cst.SimpleWhitespace(" ") for name in names if hasattr(node, name)}


def _unfiltered(node: cst.CompFor) -> Iterator[cst.CSTNode]:
    """A comprehension that leaves nothing out."""
    if node.ifs:
        yield node.with_changes(ifs=[])


OWN: list[tuple[Any, Callable[[Any], Iterable[cst.CSTNode]]]] = [
    (cst.SimpleString, _names),
    (cst.SimpleString | cst.FormattedStringText, _sql),
    (cst.SimpleString, _swapped_in_template),
    (cst.Call, _swapped),
    (cst.Dict, _swapped_values),
    (cst.FormattedString, _swapped_in_text),
    (cst.With, _without_with),
    (cst.SimpleStatementLine, _without_statement),
    (cst.If | cst.While, _negated),
    (cst.CompFor, _unfiltered),
]
# mutmut's change of text is of its wording.
OPERATORS = [*((type_, make) for type_, make in mutation_operators if make.__name__ != "operator_string"), *OWN]


class _Collector(cst.CSTVisitor):
    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, cst.CSTNode, cst.CSTNode, int]] = []
        self._text_depth = 0

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, SKIPPED) or m.matches(node, SKIPPED_NODES):
            return False
        self._text_depth += isinstance(node, cst.FormattedStringExpression)
        for type_, make in OPERATORS:
            if isinstance(node, type_) and not (self._text_depth and isinstance(node, cst.BaseNumber)):
                kind = make.__name__.removeprefix("operator").strip("_")
                for other in make(node):
                    if _is_mistake(kind, node, other):
                        self.found.append((kind, node, other, self.get_metadata(PositionProvider, node).start.line))
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        self._text_depth -= isinstance(original_node, cst.FormattedStringExpression)


def _is_mistake(kind: str, node: cst.CSTNode, other: cst.CSTNode) -> bool:
    """Tell whether somebody could have made it: a call that lacks a positional argument fails wherever it is made."""
    if kind == "arg_removal" and isinstance(node, cst.Call) and isinstance(other, cst.Call):
        changed = [arg for arg in node.args if arg not in other.args]
        is_gone = len(other.args) < len(node.args)
        return not m.matches(changed[0], STRICT) and (
            not is_gone or changed[0].keyword is not None or changed[0] is node.args[-1]
        )
    return True


@lru_cache(maxsize=4)
def _collect(path: Path) -> tuple[cst.Module, list[tuple[str, cst.CSTNode, cst.CSTNode, int]]]:
    wrapper = MetadataWrapper(cst.parse_module(path.read_text(encoding="utf-8")))
    collector = _Collector()
    wrapper.visit(collector)
    return wrapper.module, collector.found


def mutants_of(root: Path, file: str) -> list[Mutant]:
    """Return the mutants of a file."""
    _, found = _collect(root / file)
    return [Mutant(file, line, kind, place) for place, (kind, _, _, line) in enumerate(found)]


def change_of(root: Path, mutant: Mutant) -> Change | None:
    """Return what a mutant changes; None when that is no Python."""
    module, found = _collect(root / mutant.file)
    _, node, other, _ = found[mutant.place]
    code = module.deep_replace(node, other).code
    try:
        compile(code, mutant.file, "exec")
    except SyntaxError:
        return None
    lines = list(zip_longest(module.code.splitlines(), code.splitlines(), fillvalue=""))
    first = next((number for number, (one, two) in enumerate(lines) if one != two), None)
    if first is None:
        return None
    olds, news = module.code.splitlines()[first:], code.splitlines()[first:]
    while olds and news and olds[-1] == news[-1]:
        olds.pop()
        news.pop()
    return Change(_one_line(olds), _one_line(news), code)


def _one_line(lines: list[str]) -> str:
    return " ".join(line.strip() for line in lines)


def sampled(mutants: Iterable[Mutant], count: int, seed: int, *, of_all: bool = False) -> list[Mutant]:
    """Return as many of each kind as of the others, so that the many easy kinds do not make the score; or any of all."""
    chance = random.Random(seed)
    kinds: dict[str, list[Mutant]] = defaultdict(list)
    for mutant in mutants:
        kinds["" if of_all else mutant.kind].append(mutant)
    for of_kind in kinds.values():
        chance.shuffle(of_kind)
    rows = zip_longest(*(kinds[kind] for kind in sorted(kinds)))
    return [mutant for row in rows for mutant in row if mutant is not None][:count]
