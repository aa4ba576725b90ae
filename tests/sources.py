"""The files of the package, read once for all tests that look at the code."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import bktools

ROOT = Path(bktools.__file__).parent


@functools.cache
def sources() -> tuple[tuple[str, str, ast.Module], ...]:
    """Return the place below the package, the text and the tree of each file."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(ROOT.rglob("*.py"))}
    return tuple((path.relative_to(ROOT).as_posix(), text, ast.parse(text)) for path, text in texts.items())


@functools.cache
def nodes_of(tree: ast.Module) -> list[ast.AST]:
    """Return all nodes of a file's tree, which several tests read."""
    return [*ast.walk(tree)]


def room_of(place: str) -> str:
    """Return the room in which a file is; a file at the root is a room of its own."""
    return place.split("/", maxsplit=1)[0].removesuffix(".py")
