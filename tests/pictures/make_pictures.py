"""Make the README's pictures from the real thing: `python tests/pictures/make_pictures.py`, with Chromium installed.

Notebook 03 runs in a JupyterLab in a browser: its plan of all entries, and three entries selected by mouse.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "notebooks"))

from browser import browser_running, jupyterlab, page_of, run_all  # noqa: E402 - from the tests' folder beside

PICKER = HERE / "picker.png"
PLAN = HERE / "plan.png"


def main() -> None:
    """Write both pictures beside this file."""
    with tempfile.TemporaryDirectory() as home, jupyterlab(Path(home)) as address, browser_running() as browser:  # noqa: SIM117 - four in a row are hard to read
        with page_of(browser, address.format("03_export_jobs.ipynb"), height=2400) as page:
            run_all(page)
            plan = page.locator(".jp-CodeCell", has_text="everything = bktools.compose_export_jobs")
            plan.scroll_into_view_if_needed()
            plan.locator(".jp-OutputArea-output").screenshot(path=PLAN)
            rows = page.locator(".bktools-picking tbody tr")
            rows.first.scroll_into_view_if_needed()
            for place in (0, 2, 5):
                rows.nth(place).locator("td").nth(1).click()
            page.locator(".bktools-picking .bktools-totals", has_text="3 of 320 entries selected").wait_for()
            page.mouse.move(0, 0)
            page.locator(".bktools-picking").screenshot(path=PICKER)
    print(f"{PLAN}\n{PICKER}")


if __name__ == "__main__":
    main()
