"""The notebooks run top to bottom on the sandbox, quickly, and are kept without outputs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import PythonExporter

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
WIDGET = "application/vnd.jupyter.widget-view+json"
NAMES = sorted(path.name for path in NOTEBOOKS.glob("*.ipynb"))


def test_all_of_them_are_here():
    """The stories of the first hour."""
    assert [
        f"0{number}.ipynb"
        for number in ("1_first_look", "2_reconcile_accounts", "3_export_jobs", "4_month_end", "5_did_it_arrive")
    ] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_kept_without_outputs(name: str):
    """What is committed has neither outputs nor counts, so that a change of data is no change of the notebook."""
    cells = json.loads((NOTEBOOKS / name).read_text(encoding="utf-8"))["cells"]
    assert [cell["id"] for cell in cells if cell.get("outputs") or cell.get("execution_count")] == []


@pytest.mark.parametrize("name", NAMES)
def test_two_lines_switch_to_the_real_service(name: str):
    """The first code cell has the line for the sandbox and the one for the real service."""
    cells = json.loads((NOTEBOOKS / name).read_text(encoding="utf-8"))["cells"]
    first = "".join(next(cell["source"] for cell in cells if cell["cell_type"] == "code"))
    assert 'service = bktools.connect("sandbox"' in first
    assert "# service = bktools.connect()" in first


@pytest.mark.parametrize("name", NAMES)
def test_it_runs(name: str, tmp_path: Path):
    """It runs from the first cell to the last within half a minute of one processor, and its outputs suit every place."""
    notebook = nbformat.read(NOTEBOOKS / name, as_version=4)
    client = NotebookClient(notebook, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}})
    # Of the processor, not of the clock: other tests run beside this one.
    before = _seconds_of_children()
    client.execute(env=os.environ | {"PYTHONPATH": str(NOTEBOOKS.parent), "IPYTHONDIR": str(tmp_path / "ipython")})
    assert 0 < _seconds_of_children() - before < 30
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", ())]
    assert len(outputs) > 5
    for output in outputs:
        data, text = output.get("data", {}), "".join(output.get("text", output.get("data", {}).get("text/plain", "")))
        assert " at 0x" not in text
        assert output["output_type"] == "stream" or max(map(len, text.split("\n"))) <= 80, text
        # A widget is gone when the notebook is opened again: only grids are widgets, beside the tables that stay.
        assert WIDGET not in data or text.startswith("grid of ")
        # A picture has its own white page, in a dark notebook, too.
        assert "needs_background" not in output.get("metadata", {})


def test_as_a_script_it_runs_in_another_folder(tmp_path: Path):
    """Exported by nbconvert, a notebook is a plain program: its files are in the folder where it runs."""
    script = tmp_path / "export_jobs.py"
    script.write_text(PythonExporter().from_filename(NOTEBOOKS / "03_export_jobs.ipynb")[0], encoding="utf-8")
    (tmp_path / "here").mkdir()
    assert _run([script], tmp_path / "here") == "selection = []\n"
    assert {path.name for path in (tmp_path / "here").iterdir()} == {"sample", "sandbox-03"}


def test_marimo_shows_results_and_grid(tmp_path: Path):
    """Converted by marimo, a notebook runs, and its page has the results, the notes and the grid."""
    notebook = tmp_path / "export_jobs.py"
    _run(["-m", "marimo", "-q", "convert", NOTEBOOKS / "03_export_jobs.ipynb", "-o", notebook], tmp_path)
    cells = notebook.read_text(encoding="utf-8").replace("currency=currency);", "currency=currency)")
    again = "bktools.load_categories(company, service=service)\n    history ="
    notebook.write_text(cells.replace("history =", again, 1), encoding="utf-8")
    _run(["-m", "marimo", "-q", "export", "html", notebook, "-o", tmp_path / "page.html"], tmp_path)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    results = ("Export plan: 225 entries ready", "marimo-anywidget", "data:image/png", "nothing to do: no outcomes")
    for shown in (*results, "categories: 240 rows from the snapshot"):
        assert shown in page


def _run(arguments: list[object], folder: Path) -> str:
    """Run Python there, and return what it prints."""
    environment = os.environ | {"PYTHONPATH": str(NOTEBOOKS.parent)}
    done = subprocess.run(
        [sys.executable, *map(str, arguments)], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _seconds_of_children() -> float:
    used = os.times()
    return used.children_user + used.children_system
