"""Runs the notebooks and keeps their outputs: `python tests/notebooks/make_outputs.py [NAME …]`.

Pictures are kept small. Grids need a running kernel: what stays of them is their table.
"""

from __future__ import annotations

import base64
import io
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from PIL import Image

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
WIDGET = "application/vnd.jupyter.widget-view+json"
# The width and the number of colours of a kept picture: bars and letters need no more.
WIDTH, COLOURS = 1000, 32
# What differs between two runs: IDs, digests, times, ports, folders and versions.
OF_A_RUN = (
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "ID"),
    (r"\b(?=[0-9a-f]*\d)[0-9a-f]{8,64}\b", "ID"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(\+00:00|Z| UTC)?", "TIME"),
    (r"127\.0\.0\.1:\d+", "ADDRESS"),
    (r"/tmp/\w+", "FOLDER"),
    (r"\d+ (second|minute)s? old", "AGE"),
    (r"[ \t]+", " "),
)


def run(name: str, folder: Path) -> Any:
    """Return a notebook with the outputs of a run in a folder."""
    notebook = nbformat.read(NOTEBOOKS / name, as_version=4)
    client = NotebookClient(notebook, kernel_name="python3", resources={"metadata": {"path": str(folder)}})
    places = {"BKTOOLS_CACHE_DIR": "cache", "BKTOOLS_DATA_DIR": "data", "IPYTHONDIR": "ipython"}
    own = {name: str(folder / place) for name, place in places.items()}
    client.execute(env=os.environ | {"PYTHONPATH": str(NOTEBOOKS.parent)} | own)
    return notebook


def texts_of(notebook: Any) -> dict[str, list[str]]:
    """Return the texts of the outputs of each cell, without what differs between two runs."""
    texts = {}
    for cell in notebook["cells"]:
        outputs = [output for output in cell.get("outputs", ()) if output.get("name") != "stderr"]
        written = (
            "".join(output.get("text") or output.get("data", {}).get("text/plain", "")) for output in outputs
        )
        texts[cell["id"]] = [text for text in map(_plain, written) if text]
    return texts


def _plain(text: str) -> str:
    for pattern, name in OF_A_RUN:
        text = re.sub(pattern, name, text)
    return text.strip()


def kept(notebook: Any) -> Any:
    """Return a notebook as it is committed: pictures small, no widgets, no counts of a session."""
    notebook["metadata"].pop("widgets", None)
    notebook["metadata"]["language_info"] = {"name": "python"}
    for cell in notebook["cells"]:
        cell["metadata"].pop("execution", None)
        if cell["cell_type"] != "code":
            continue
        # Progress is of the run.
        cell["outputs"] = [output for output in cell.get("outputs", ()) if output.get("name") != "stderr"]
        for output in cell["outputs"]:
            data = output.get("data", {})
            data.pop(WIDGET, None)
            if "image/png" in data:
                data["image/png"] = _small(data["image/png"])
        # What is left of a line of progress is empty.
        cell["outputs"] = [
            output for output in cell["outputs"] if "data" not in output or any(output["data"].values())
        ]
    return notebook


def _small(picture: str) -> str:
    image = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")
    image.thumbnail((WIDTH, WIDTH * 4))
    file = io.BytesIO()
    image.quantize(COLOURS).save(file, "PNG", optimize=True)
    return base64.b64encode(file.getvalue()).decode()


def main(names: list[str]) -> None:
    """Write the notebooks with these names, all of them by default."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        if not names or path.name in names:
            with tempfile.TemporaryDirectory() as folder:
                notebook = kept(run(path.name, Path(folder)))
            text = nbformat.writes(notebook)
            path.write_text(text if text.endswith("\n") else f"{text}\n", encoding="utf-8")
            print(f"{path.name}: {path.stat().st_size / 1024:.0f} KiB")


if __name__ == "__main__":
    main(sys.argv[1:])
