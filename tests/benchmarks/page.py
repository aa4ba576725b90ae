"""The page of results: a section a benchmark, each written by itself."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import os
import platform
from pathlib import Path

RESULTS = Path(__file__).with_name("RESULTS.md")
TITLE = "# Results of the benchmarks\n\nMedians and ratios of runs taken in turn in one session; seconds are of the machine named alone.\n"


def machine(*libraries: str) -> str:
    """Return the line that says where and with what was measured."""
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in libraries)
    load = f"load {os.getloadavg()[0]:.1f} at the end"
    about = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {load}, Python {platform.python_version()}"
    return f"{about}, {versions}; {dt.datetime.now(dt.UTC):%Y-%m-%d}"


def write_section(heading: str, text: str, path: Path = RESULTS) -> None:
    """Put a section into the page, in the place of the one that was there."""
    page = path.read_text(encoding="utf-8") if path.exists() else TITLE
    sections = {part.split("\n", 1)[0]: part for part in page.split("\n## ")[1:]}
    name = heading.removeprefix("## ")
    sections[name] = f"{name}\n\n{text.strip()}\n"
    body = "".join(f"\n## {part.strip()}\n" for part in sections.values())
    path.write_text(page.split("\n## ")[0].rstrip() + "\n" + body, encoding="utf-8")
