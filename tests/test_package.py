"""What somebody gets who has a wheel and no checkout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import bktools
from bktools import caller

ROOT = Path(__file__).parent.parent
uv = pytest.importorskip("uv", reason="uv builds and installs the wheel")
UV = uv.find_uv_bin()


def run(*command, folder, fails=False, **more):
    """Run a command without the settings of this process, and return what it printed."""
    names = {"PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV"}
    variables = {name: value for name, value in os.environ.items() if name not in names} | more
    variables["PATH"] = os.pathsep.join([str(Path(UV).parent), variables["PATH"]])
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    if command[0] == UV and "Failed to fetch" in done.stderr:
        pytest.skip("the package index cannot be reached")
    assert (done.returncode != 0) == fails, done.stderr
    return done.stdout + done.stderr


def link_requirements(lines, site):
    """Link a wheel's libraries, and theirs in turn, from this environment into another one."""
    waiting, linked = [Requirement(line) for line in lines], set()
    while waiting:
        wanted = waiting.pop()
        extras = wanted.extras | {""}
        if str(wanted) in linked:
            continue
        linked.add(str(wanted))
        library = metadata.distribution(wanted.name)
        for line in map(Requirement, library.requires or ()):
            if line.marker is None or any(line.marker.evaluate({"extra": extra}) for extra in extras):
                line.marker = None
                waiting.append(line)
        for name in {file.parts[0] for file in library.files} - {"..", "__pycache__"}:
            if not (site / name).exists():
                (site / name).symlink_to(library.locate_file(name))


@pytest.mark.long
@pytest.mark.timeout(300)
def test_the_story_of_a_wheel(tmp_path):
    """A wheel is built, checked and installed; in an empty folder it closes a month twice."""
    run(UV, "build", "--out-dir", str(tmp_path), str(ROOT), folder=tmp_path)
    [wheel], [sdist] = tmp_path.glob("*.whl"), tmp_path.glob("*.tar.gz")
    run(sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sdist), folder=tmp_path)
    with zipfile.ZipFile(wheel) as files:
        packed = {name for name in files.namelist() if ".dist-info/" not in name}
        [page] = [files.read(name).decode() for name in files.namelist() if name.endswith("/METADATA")]
    wanted = run(
        "git", "ls-files", "--cached", "--others", "--exclude-standard", "bktools", folder=ROOT
    ).split()
    samples = {f"bktools/sandbox/samples/{path.name}" for path in (ROOT / "data").iterdir()}
    assert packed == {*(name for name in wanted if (ROOT / name).exists()), *samples}
    # A page of an index has no files of the repository.
    assert re.findall(r"\]\((?!https?://|#).*?\)", page) == []
    with tarfile.open(sdist) as files:
        assert not [name for name in files.getnames() if re.search(r"/(tests|notebooks|\.ci|\.git)/", name)]

    fresh, empty = tmp_path / "fresh", tmp_path / "empty"
    empty.mkdir()
    run(UV, "venv", "--quiet", "--python", sys.executable, str(fresh), folder=tmp_path)
    programs = fresh / Path(sys.executable).parent.name
    python, command = str(programs / "python"), str(programs / "bktools")
    run(UV, "pip", "install", "--quiet", "--no-deps", "--python", python, str(wheel), folder=tmp_path)
    site = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", folder=empty).strip()
    required = [line for line in Parser().parsestr(page).get_all("Requires-Dist") if "extra ==" not in line]
    link_requirements(required, Path(site))
    code = "import bktools; print(len(bktools.load_categories(service=bktools.connect('sandbox'))))"
    journal = {"BKTOOLS_ENVIRONMENT": "sandbox", "BKTOOLS_JOURNAL": "postgresql://127.0.0.1/journal"}
    told = [
        run(command, "--version", folder=empty),
        run(command, "month-end", "--sandbox", "--apply", folder=empty),
        run(command, "month-end", "--sandbox", "--apply", folder=empty),
        run(python, "-c", code, folder=empty),
        run(command, "export", "status", folder=empty, fails=True, **journal),
    ]
    version, first, second, rows, missing = told
    assert version.startswith(f"bktools {bktools.__version__}, Python 3.")
    assert "1 accepted" in first
    assert "exported: 225 entries" in first
    assert "nothing to send" in second
    assert "exported: 225 entries" in second
    assert rows.endswith("240\n")
    of_a_checkout = rf"checkout|clone|pip install -e|{re.escape(str(ROOT))}/"
    assert not [text for text in told if re.search(of_a_checkout, text)]
    # The command of the message works, although no index has bktools.
    assert "Would install" in run(
        "sh", "-c", f"{missing.splitlines()[0].rpartition(': ')[2].strip()} --dry-run", folder=empty
    )


def test_the_command_for_an_extra(monkeypatch):
    """The command names the running interpreter, uses pip if present, and is quoted for the shell."""
    monkeypatch.setattr(sys, "executable", r"C:\Program Files\Python\python.exe")
    monkeypatch.setattr(caller, "ON_WINDOWS", True)
    monkeypatch.setattr(caller, "find_spec", lambda _: None)
    by_uv = r"uv pip install --python 'C:\Program Files\Python\python.exe' bktools[postgres]"
    assert caller.install_command("postgres") == by_uv
    monkeypatch.setattr(caller, "find_spec", lambda _: "pip")
    by_pip = r"& 'C:\Program Files\Python\python.exe' -m pip install bktools[postgres]"
    assert caller.install_command("postgres") == by_pip
    monkeypatch.setattr(caller, "ON_WINDOWS", False)
    monkeypatch.setattr(sys, "executable", "/opt/venv/bin/python")
    assert caller.install_command("postgres") == "/opt/venv/bin/python -m pip install 'bktools[postgres]'"
