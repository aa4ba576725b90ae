"""Facts, not sentences: no code reads a person's sentence."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sources import nodes_of, sources

# The rooms that make or print sentences.
OF_SENTENCES = ("wording/", "cli/", "reports/")

READS = {"startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition"}
READS |= {"replace", "split", "rsplit", "find", "index"}
PATTERNS = {"match", "fullmatch", "search", "sub", "split", "findall", "finditer"}
# The names of what a person reads.
FOR_PEOPLE = ("message", "to_do", "step", "reason", "why", "advice", "sentence")
# Texts that are none of ours: other libraries say in words alone why a proxy refused, or what is wrong with a
# CSV file.
NOT_OURS = ("service/transport.py", "inputs/raw/delimited.py")


def _is_for_people(node: ast.expr) -> bool:
    """Whether an expression is named as a sentence: `row.message`, `row["to_do"]`, `str(why)`."""
    match node:
        case (
            ast.Name(id=name) | ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=str(name)))
        ):
            return name.strip("_").rpartition("_")[2] in FOR_PEOPLE or name in FOR_PEOPLE
        case ast.Call(args=[inner, *_]):
            return _is_for_people(inner)
        case ast.BoolOp(values=values):
            return any(map(_is_for_people, values))
    return False


def _is_of_an_error(node: ast.expr) -> bool:
    """Whether an expression is the message of an error, or named as a sentence."""
    is_text = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str"
    return _is_for_people(node) or (is_text and "error" in ast.unparse(node).lower())


def _reads(tree: ast.Module) -> Iterator[int]:
    for node in nodes_of(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in READS and _is_for_people(node.func.value):
                yield node.lineno
            is_pattern = (
                node.func.attr in PATTERNS and "re" in ast.unparse(node.func.value).lower().split(".")[:1]
            )
            if is_pattern and any(map(_is_for_people, node.args)):
                yield node.lineno
        # A sentence that is looked for within another.
        if isinstance(node, ast.Compare) and any(isinstance(sign, ast.In | ast.NotIn) for sign in node.ops):
            is_text = isinstance(node.left, ast.Constant) and " " in str(node.left.value)
            if is_text and any(map(_is_of_an_error, node.comparators)):
                yield node.lineno


def test_no_code_reads_a_sentence():
    """Only printing rooms cut, search or replace text in a message, a step or a reason."""
    others = [
        (place, tree) for place, _, tree in sources() if not place.startswith((*OF_SENTENCES, *NOT_OURS))
    ]
    reads = [f"{place}:{line}" for place, tree in others for line in _reads(tree)]
    assert reads == []
