"""Change the code in small ways and see whether a test fails: python tests/mutation/run.py [--room ROOM] [--sample N].

Prints the score a room and each survivor. equivalent.toml lists survivors that no test can tell from the code, and why.
"""

from __future__ import annotations

import argparse
import ast
import os
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

from mutants import Change, Mutant, change_of, mutants_of, sampled
from workshop import SECONDS_A_SURVIVOR, Covering, Workshop

HERE = Path(__file__).parent
ROOT = HERE.parent.parent

# The folders of the package, and the files at its root.
ROOMS = [path.parent.name for path in sorted((ROOT / "bktools").glob("*/__init__.py"))] + ["root"]

# Not scored: Spark alone runs them, and a mutant would cost the start of a Java machine each time.
NOT_SCORED = {"bktools/export/spark.py", "bktools/frames/workers.py", "bktools/reconcile/spark.py"}


def files_of(room: str, root: Path) -> list[str]:
    """Return the files of a room."""
    package = root / "bktools"
    found = package.glob("*.py") if room == "root" else (package / room).rglob("*.py")
    names = [path.relative_to(root).as_posix() for path in sorted(found)]
    return [name for name in names if name not in NOT_SCORED]


def lines_around(root: Path, mutant: Mutant) -> range:
    """Return the lines of the statement that a mutant is in, of a compound one those before its body.

    None where it is run when the file is imported: which test imports it first says nothing.
    """
    inner: ast.stmt | None = None
    is_in_function = False
    for node in ast.walk(ast.parse((root / mutant.file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.stmt) and node.lineno <= mutant.line <= (node.end_lineno or node.lineno):
            is_in_function |= isinstance(node, ast.FunctionDef) and mutant.line >= node.body[0].lineno
            if inner is None or node.lineno > inner.lineno:
                inner = node
    if inner is None or not is_in_function:
        return range(0)
    body = getattr(inner, "body", None)
    return range(inner.lineno, (body[0].lineno if body else inner.end_lineno or inner.lineno) + (not body))


def equivalents() -> dict[tuple[str, str, str], str]:
    """Return the reason of each survivor that is equivalent, by file and the lines before and after."""
    listed = tomllib.loads((HERE / "equivalent.toml").read_text(encoding="utf-8")).get("equivalent", [])
    return {(one["file"], one["before"], one["after"]): one["reason"] for one in listed}


def check_control(workshop: Workshop, covering: Covering, mutants: list[Mutant]) -> None:
    """Stop when tests fail without a mutation: everything would seem to be killed."""
    for file in sorted({mutant.file for mutant in mutants}):
        tests = covering.tests_of(file, ())[:20]
        if workshop.is_killed(file, (workshop.copy / file).read_text(encoding="utf-8"), tests, 300):
            raise SystemExit(f"{file}: its tests fail without a mutation\n{workshop.output()}")


def survivors(
    workshop: Workshop, covering: Covering, mutants: list[Mutant], known: dict[tuple[str, str, str], str]
) -> Iterator[tuple[Mutant, Change, str]]:
    """Yield each mutant with its change and its end: killed, survived, equivalent, unreached."""
    for mutant in mutants:
        change = change_of(workshop.copy, mutant)
        if change is None:
            continue
        if (mutant.file, change.before, change.after) in known:
            yield mutant, change, "equivalent"
            continue
        lines = lines_around(workshop.copy, mutant)
        first = covering.tests_of(mutant.file, lines)
        rest = [test for test in covering.tests_of(mutant.file, lines, SECONDS_A_SURVIVOR) if test not in {*first}]
        if any(_is_killed(workshop, covering, mutant.file, change.code, tests) for tests in (first, rest) if tests):
            yield mutant, change, "killed"
        else:
            yield mutant, change, "survived" if first else "unreached"


def _is_killed(workshop: Workshop, covering: Covering, file: str, code: str, tests: list[str]) -> bool:
    return workshop.is_killed(file, code, tests, 60 + 4 * sum(covering.seconds[test] for test in tests))


def main(arguments: list[str] | None = None) -> float:
    """Print the score of each room and what is left; return the worst score."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--room", action="append", choices=ROOMS, help="all by default")
    parser.add_argument("--sample", type=int, default=40, help="mutants a room")
    parser.add_argument("--seed", type=int, default=1, help="another seed draws other mutants")
    parser.add_argument(
        "--of-all", action="store_true", help="any mutants; by default as many of each kind as of the others"
    )
    parser.add_argument("--file", action="append", default=[], help="only mutants of files whose path has this in it")
    parser.add_argument("--tests", action="append", default=[], help="only tests below this path")
    asked = parser.parse_args(arguments)
    known = equivalents()
    scores = {}
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        workshop = Workshop(ROOT, Path(folder))
        covering = workshop.record(asked.tests)
        for room in asked.room or ROOMS:
            files = [
                file
                for file in files_of(room, workshop.copy)
                if not asked.file or any(part in file for part in asked.file)
            ]
            mutants = (mutant for file in files for mutant in mutants_of(workshop.copy, file))
            drawn = sampled(mutants, asked.sample, asked.seed, of_all=asked.of_all)
            begun, ends = time.monotonic(), []
            check_control(workshop, covering, drawn)
            for mutant, change, end in survivors(workshop, covering, drawn, known):
                ends.append(end)
                if end in {"survived", "unreached"}:
                    print(
                        f"  {end} {mutant.file}:{mutant.line}: {change.before} → {change.after or '(gone)'}", flush=True
                    )
            counted = len(ends) - ends.count("equivalent")
            if counted:
                scores[room] = ends.count("killed") / counted
                print(
                    f"{room}: {ends.count('killed')} of {counted} killed, {scores[room]:.0%}; "
                    f"{ends.count('equivalent')} equivalent, {ends.count('unreached')} unreached; {time.monotonic() - begun:.0f} s",
                    flush=True,
                )
    return min(scores.values(), default=0.0)


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    # Libraries that were loaded for the forks say at the end of the interpreter that they leak.
    os._exit(0)
