"""A copy of the checkout in which mutants live, and the tests that are run there, each time in a fork of this process.

The fork has the heavy libraries already and imports bktools and the tests anew: a mutant costs a second or two.
"""

from __future__ import annotations

import compileall
import gc
import hashlib
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import coverage
import hypothesis
import pytest

PRELOADED = [
    *("pandas", "pyarrow.compute", "pyarrow.dataset", "pyarrow.parquet", "duckdb", "narwhals", "polars", "msgspec"),
    *(
        "httpx",
        "starlette.applications",
        "uvicorn.protocols.http.h11_impl",
        "sqlite3",
        "typer.testing",
        "tqdm",
        "platformdirs",
    ),
    *("rapidfuzz", "python_calamine", "xlsxwriter", "matplotlib.pyplot", "hypothesis.stateful", "anywidget"),
]
PYTEST_PLUGINS = ["pytest_timeout", "xdist.plugin", "_hypothesis_pytestplugin"]

# These run in processes of their own, whose lines are not seen, measure time, or look at the code itself.
NOT_USED = (
    *("tests/mutation", "tests/benchmarks", "tests/notebooks", "tests/pictures", "tests/typing"),
    *("tests/submit/test_kill", "tests/submit/test_order_on_disk", "tests/reports/test_libre"),
    *("tests/test_house.py", "tests/test_lint_format_types.py", "tests/test_readme.py", "tests/test_docs.py"),
)
SECONDS_A_TEST = 15  # a longer one is not used
WITHOUT_SPARK = "not spark"  # each starts a Java machine
SECONDS_A_MUTANT = 30.0  # the tests that fit are run first, those of the room before others
SECONDS_A_SURVIVOR = 120.0  # then those that fit here
MEMORY = 12 * 2**30
OUTPUT = "output.txt"
TEMPORARY = "temporary"
OF_ALL = "setup"
LEAST = 0.05  # the share of a file that a test seems not to reach

LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "dist", "build", "month-end-*")


@dataclass(frozen=True)
class Covering:
    """Which test reaches which lines, and how long it takes.

    Parameters
    ----------
    seconds : dict
        Seconds of processor a test: the same tests are chosen on a machine that does other work, too.
    lines : dict
        The tests of each line, by file and line.
    shares : dict
        How much of what a test reaches is in a file, by file and test.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[int, set[str]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(set)))
    shares: dict[str, dict[str, float]] = field(default_factory=lambda: defaultdict(dict))

    def tests_of(self, file: str, lines: Iterable[int], budget: float = SECONDS_A_MUTANT) -> list[str]:
        """Return the tests that reach the lines, or for lines run at import the file; what tells most in a second first."""
        of_file, shares = self.lines.get(file, {}), self.shares.get(file, {})
        room = file.split("/")[1].removesuffix(".py")
        own = (f"tests/{room}/", f"tests/test_{room}.py")
        found, left = set().union(*(of_file.get(line, ()) for line in lines)), budget
        if not found:
            # Which tests look at a table of the file is not known: more of them are tried.
            left *= 3
            found = set().union(*of_file.values()) | {test for test in self.seconds if test.startswith(own)}
        chosen: list[str] = []
        for test in sorted(
            found, key=lambda test: (not test.startswith(own), self.seconds[test] / shares.get(test, LEAST), test)
        ):
            left -= self.seconds[test]
            if left < 0 and chosen:
                break
            chosen.append(test)
        return chosen


class Workshop:
    """The copy and what is known of its tests.

    Parameters
    ----------
    root : Path
        The checkout.
    place : Path
        An empty folder for the copy.
    """

    def __init__(self, root: Path, place: Path) -> None:
        self.root = root
        self.copy = Path(shutil.copytree(root, place / "copy", ignore=LEFT_OUT))
        # Compiled files that are compared by content: a mutant of the same second and length is seen.
        compileall.compile_dir(self.copy / "bktools", quiet=2, invalidation_mode=_by_content())
        for name in PRELOADED:
            importlib.import_module(name)
        gc.collect()
        gc.freeze()  # the forks collect their own garbage alone

    def record(self, tests: Iterable[str] = ()) -> Covering:
        """Run the tests of the checkout once and return what they reach.

        Remembered for a file of tests until it changes, or what its tests share, or a file that they reach.
        """
        files = [path.relative_to(self.copy).as_posix() for path in sorted((self.copy / "tests").rglob("test_*.py"))]
        wanted = [name for name in files if not name.startswith(NOT_USED) and name.startswith(tuple(tests) or "tests")]
        cache = self.root / ".mutation"
        cache.mkdir(exist_ok=True)
        covering = Covering()
        for name in wanted:
            path = cache / f"{_digest(self.copy, name)}.json"
            known = self._known(path)
            if known is None:
                print(f"which lines {name} reaches is recorded", file=sys.stderr)
                ended = self._in_fork(lambda name=name, path=path: _record(self.copy, name, path), seconds=900)
                known = self._known(path)
                if ended != 0 or known is None:
                    raise RuntimeError(f"{name}: {self.output()}")
            for test, (seconds, reached) in known.items():
                covering.seconds[test] = seconds
                total = sum(map(len, reached.values()))
                for file, lines in reached.items():
                    covering.shares[file][test] = len(lines) / total
                    for line in lines:
                        covering.lines[file][line].add(test)
        return covering

    def _known(self, path: Path) -> dict[str, tuple[float, dict[str, list[int]]]] | None:
        if not path.exists():
            return None
        recorded = json.loads(path.read_text())
        current = all(_digest_of(self.copy / file) == digest for file, digest in recorded["files"].items())
        return recorded["tests"] if current else None

    def is_killed(self, file: str, code: str, tests: list[str], seconds: float) -> bool:
        """Run tests on the copy with other code in one file; a test that fails or does not end kills it."""
        path = self.copy / file
        right = path.read_bytes()
        path.write_text(code, encoding="utf-8")
        try:
            ended = self._in_fork(lambda: _run(tests), seconds)
        finally:
            path.write_bytes(right)
        return ended not in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}

    def output(self) -> str:
        """Return what the last run said."""
        return (self.copy.parent / OUTPUT).read_text(encoding="utf-8")

    def _in_fork(self, work: Callable[[], int], seconds: float) -> int | None:
        """Return how the work ended in a process of its own; None when it did not end in time."""
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            os._exit(_alone(self.copy, work))
        until = time.monotonic() + seconds
        try:
            while time.monotonic() < until:
                ended, status = os.waitpid(child, os.WNOHANG)
                if ended:
                    _kill_group(child)
                    return os.waitstatus_to_exitcode(status)
                time.sleep(0.02)
            _kill_group(child)
            os.waitpid(child, 0)
            return None
        finally:
            shutil.rmtree(self.copy.parent / TEMPORARY, ignore_errors=True)


def _alone(copy: Path, work: Callable[[], int]) -> int:
    """Do the work as a fork: with its own processes, output and folder, importing from the copy."""
    try:
        os.setsid()
        silence = os.open(copy.parent / OUTPUT, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        for stream in (1, 2):
            os.dup2(silence, stream)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        os.chdir(copy)
        # Tests that are killed leave their files.
        temporary = copy.parent / TEMPORARY
        temporary.mkdir(exist_ok=True)
        tempfile.tempdir = str(temporary)
        sys.path.insert(0, str(copy))
        sys.dont_write_bytecode = True
        os.environ |= {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1", "MPLBACKEND": "agg"}
        os.environ["TMPDIR"] = str(temporary)
        return int(work())
    except BaseException:  # noqa: BLE001 - a fork must not go on as its parent
        import traceback

        traceback.print_exc()
        return 99


def _kill_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return


class _Only:
    """A pytest plugin: the given tests alone, in their order."""

    def __init__(self, tests: list[str]) -> None:
        self._place = {test: place for place, test in enumerate(tests)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((item for item in items if item.nodeid in self._place), key=self._order)

    def _order(self, item: pytest.Item) -> int:
        return self._place[item.nodeid]


def _pytest(files: Iterable[str], plugin: object, *options: str) -> int:
    # Each mutant meets the same examples, and none that an earlier one has left.
    hypothesis.settings.register_profile(
        "mutation",
        database=None,
        deadline=None,
        derandomize=True,
        phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # some take seconds to load
    common = [option for name in PYTEST_PLUGINS for option in ("-p", name)]
    common += ["-o", "addopts=", "-n0", "-q", "-p", "no:cacheprovider", "--tb=short"]
    common += ["--hypothesis-profile", "mutation"]
    return int(pytest.main([*common, *options, *files], plugins=[plugin]))


def _run(tests: list[str]) -> int:
    files = dict.fromkeys(test.partition("::")[0] for test in tests)
    return _pytest(files, _Only(tests), "-x")


class _Recorder:
    """A pytest plugin: each test's lines and seconds, when it passed."""

    def __init__(self, recorded: coverage.Coverage) -> None:
        self._recorded = recorded
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        begun = _processor_seconds()
        self.seconds[item.nodeid] = 0.0
        result = yield
        if item.nodeid in self.seconds:
            self.seconds[item.nodeid] = _processor_seconds() - begun
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        # What is made for several tests is made in the first one's setup, and each of them looks at it.
        self._recorded.switch_context(OF_ALL)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        self._recorded.switch_context(item.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.seconds.pop(report.nodeid, None)


def _processor_seconds() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def _record(copy: Path, name: str, path: Path) -> int:
    recorded = coverage.Coverage(data_file=None, source=[str(copy / "bktools")], config_file=False)
    recorder = _Recorder(recorded)
    sys.dont_write_bytecode = False  # the tests' own, with their asserts rewritten: they are the same for every mutant
    recorded.start()
    _pytest([name], recorder, f"--timeout={SECONDS_A_TEST}", "-k", WITHOUT_SPARK)
    recorded.stop()
    data = recorded.get_data()
    reached: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for file in data.measured_files():
        short = Path(file).relative_to(copy).as_posix()
        for line, tests in data.contexts_by_lineno(file).items():
            for test in tests:
                reached[test][short].append(line)
    files_reached = {file for of_test in reached.values() for file in of_test}
    tests: dict[str, tuple[float, dict[str, list[int]]]] = {}
    for test, used in recorder.seconds.items():
        lines = {file: sorted({*reached[test][file], *reached[OF_ALL][file]}) for file in files_reached}
        tests[test] = used, {file: found for file, found in lines.items() if found}
    files = {file: _digest_of(copy / file) for _, lines in tests.values() for file in lines}
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps({"files": files, "tests": tests}))
    temporary.rename(path)
    return 0


def _digest(copy: Path, name: str) -> str:
    """Return what changes when a file of tests changes, or what it shares with others."""
    folder = (copy / name).parent
    shared = [path for place in (copy / "tests", folder) for path in place.glob("*.py")]
    own = [path for path in shared if not path.name.startswith("test_")]
    return hashlib.sha256(
        "".join([name, *(_digest_of(path) for path in sorted([*own, copy / name]))]).encode()
    ).hexdigest()[:24]


def _digest_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes() if path.exists() else b"").hexdigest()[:24]


def _by_content() -> Any:
    import py_compile

    return py_compile.PycInvalidationMode.CHECKED_HASH
