"""The notebooks run top to bottom on the sandbox, quickly, and are kept without outputs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

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


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_it_runs(name: str, tmp_path: Path):
    """It runs from the first cell to the last within half a minute of one processor, and its outputs suit every place."""
    # Imported here: every process of the tests collects this file, and these take seconds.
    import nbformat
    from nbclient import NotebookClient

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


def _seconds_of_children() -> float:
    used = os.times()
    return used.children_user + used.children_system
