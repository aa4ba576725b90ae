"""Builds: the commit travels with the package, because a wheel has no history."""

from __future__ import annotations

import runpy
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommitHook(BuildHookInterface):
    """Adds `bktools/commit.txt` to what is built from a checkout; an sdist has it already."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the file. An editable install gets none: it asks git each time."""
        package = Path(self.root, "bktools")
        if version == "editable" or (package / "commit.txt").exists():
            return
        commit = runpy.run_path(str(package / "release.py"))["commit"]()
        if commit is None:
            self.app.display_warning("the commit is not known, so the package will not tell it")
            return
        self.folder = tempfile.TemporaryDirectory()
        file = Path(self.folder.name, "commit.txt")
        file.write_text(commit, encoding="utf-8")
        build_data["force_include"][str(file)] = "bktools/commit.txt"
