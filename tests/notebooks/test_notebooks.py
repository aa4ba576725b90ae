"""The notebooks run top to bottom on the sandbox, quickly, and are kept with the outputs of a run."""

from __future__ import annotations

import ast
import json
import os
from pathlib import Path

import pytest

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
WIDGET = "application/vnd.jupyter.widget-view+json"
NAMES = sorted(path.name for path in NOTEBOOKS.glob("*.ipynb"))


def test_all_of_them_are_here():
    """The analyst's path."""
    assert NAMES == [
        "01_first_look.ipynb",
        "02_reconcile_accounts.ipynb",
        "03_export_jobs.ipynb",
        "04_month_end.ipynb",
        "05_did_it_arrive.ipynb",
        "06_six_months_of_spending.ipynb",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_kept_with_small_outputs(name: str):
    """Committed outputs can be read in the repository: tables and pictures, small, no widgets."""
    path = NOTEBOOKS / name
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    assert len(outputs) > 5
    assert path.stat().st_size < 200 * 1024
    assert not [
        output for output in outputs if WIDGET in output.get("data", {}) or output["output_type"] == "error"
    ]


@pytest.mark.parametrize("name", NAMES)
def test_short_and_never_empty(name: str):
    """A notebook has under three screens of code, and no cell shows a table without rows."""
    cells = json.loads((NOTEBOOKS / name).read_text(encoding="utf-8"))["cells"]
    lines = [line for cell in cells if cell["cell_type"] == "code" for line in cell["source"] if line.strip()]
    assert len(lines) <= 90
    assert "grid of 0 rows" not in json.dumps(cells)


@pytest.mark.parametrize("name", NAMES)
def test_two_lines_switch_to_the_real_service(name: str):
    """The first code cell has the line for the sandbox and the one for the real service."""
    cells = json.loads((NOTEBOOKS / name).read_text(encoding="utf-8"))["cells"]
    first = "".join(next(cell["source"] for cell in cells if cell["cell_type"] == "code"))
    assert 'service = bktools.connect("sandbox"' in first
    assert "# service = bktools.connect()" in first


@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_ones_own_belongs_to_the_company(name: str):
    """A file without a column of companies is read as the company's: otherwise all entries are held back."""
    cells = json.loads((NOTEBOOKS / name).read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    readers = {"read_entries", "read_chart_of_accounts"}
    reads = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr in readers]
    assert reads
    assert all("company" in {keyword.arg for keyword in call.keywords} for call in reads)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_it_runs(name: str, tmp_path: Path):
    """Each notebook runs as committed within half a minute of one processor; outputs suit all places."""
    # Imported here: every process of the tests collects this file, and these take seconds.
    import nbformat
    from make_outputs import run, texts_of

    # Of the processor, not of the clock: other tests run beside this one.
    before = _seconds_of_children()
    notebook = run(name, tmp_path)
    assert 0 < _seconds_of_children() - before < 30
    committed = nbformat.read(NOTEBOOKS / name, as_version=4)
    assert texts_of(notebook) == texts_of(committed), "run tests/notebooks/make_outputs.py"
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", ())]
    assert len(outputs) > 5
    for output in outputs:
        data, text = (
            output.get("data", {}),
            "".join(output.get("text", output.get("data", {}).get("text/plain", ""))),
        )
        assert " at 0x" not in text
        assert output["output_type"] == "stream" or max(map(len, text.split("\n"))) <= 80, text
        # A widget is gone when the notebook is opened again: only grids are widgets, beside tables that stay.
        assert WIDGET not in data or text.startswith("grid of ")
        # A picture has its own white page, in a dark notebook, too.
        assert "needs_background" not in output.get("metadata", {})


def _seconds_of_children() -> float:
    used = os.times()
    return used.children_user + used.children_system
