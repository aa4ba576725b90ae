"""Write the table of CONTRIBUTING.md with the versions that the tests ran with: `python tests/versions.py --lowest PYTHON --newest PYTHON`.

Each is the interpreter of an environment that passed. A library's lowest version is also its bound in `pyproject.toml`.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
CONTRIBUTING = ROOT / ".github" / "CONTRIBUTING.md"
HEADING = "| library | lowest | newest tried |\n| --- | --- | --- |\n"
TABLE = re.compile(re.escape(HEADING) + r"((?:\|.*\n)*)")
# Extras that both environments have.
EXTRAS = ("notebook", "postgres")
ASK = (
    "import sys, json, importlib.metadata as m; json.dump({name: m.version(name) for name in sys.argv[1:]}, sys.stdout)"
)


def project() -> dict[str, object]:
    """Return the project's own table of `pyproject.toml`."""
    return dict(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"])


def bounds() -> dict[str, str]:
    """Return each library that a user gets, with its lower bound."""
    extras = project()["optional-dependencies"]
    wanted = [*project()["dependencies"], *(line for extra in EXTRAS for line in extras[extra])]
    return dict(re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", line).groups() for line in sorted(wanted))


def pythons() -> list[str]:
    """Return the versions of Python that the classifiers name, lowest first."""
    found = re.findall(r"Python :: (3\.\d+)", "\n".join(project()["classifiers"]))
    return sorted(found, key=lambda version: int(version.partition(".")[2]))


def installed(interpreter: str, names: Iterable[str]) -> dict[str, str]:
    """Return the versions of libraries in an environment."""
    asked = subprocess.run([interpreter, "-c", ASK, *names], capture_output=True, text=True, check=True)
    return json.loads(asked.stdout)


def table(lowest: Mapping[str, str], newest: Mapping[str, str]) -> str:
    """Return the table, with Python first."""
    rows = [("Python", pythons()[0], pythons()[-1]), *((name, lowest[name], newest[name]) for name in lowest)]
    return HEADING + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def rows() -> dict[str, tuple[str, str]]:
    """Return the lowest and the newest version of each line of the table."""
    lines = TABLE.search(CONTRIBUTING.read_text(encoding="utf-8"))[1].splitlines()
    return {name: (lowest, newest) for name, lowest, newest in (line.strip("| ").split(" | ") for line in lines)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lowest", required=True, metavar="PYTHON")
    parser.add_argument("--newest", required=True, metavar="PYTHON")
    given = parser.parse_args()
    made = table(installed(given.lowest, bounds()), installed(given.newest, bounds()))
    CONTRIBUTING.write_text(TABLE.sub(made, CONTRIBUTING.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
