"""Closes of a sandbox, made once: months for the reports, and their folders, which are only read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import FLAGS, chromium
from october import October, closes_of_october

from bktools.close.close import Close


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, in which the report is used."""
    if chromium() is None:
        pytest.skip("no Chromium is installed, in which the page is used (apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield running
        running.close()


@pytest.fixture(scope="session")
def october(samples: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> October:
    """October as `close_month` closes it, from the dry run to the period that is closed."""
    return closes_of_october(samples, tmp_path_factory.mktemp("october"))


@pytest.fixture(scope="session")
def close(october: October) -> Close:
    """October, applied for the first time, in three export jobs."""
    return october.first


@pytest.fixture(scope="session")
def folder(october: October) -> Path:
    """The folder of that close: a later one has moved it."""
    assert october.again.earlier_folder is not None
    return october.again.earlier_folder
