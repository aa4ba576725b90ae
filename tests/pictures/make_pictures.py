"""Makes the README's pictures from the real thing with Chromium: `python tests/pictures/make_pictures.py`.

Notebook 03 runs in a JupyterLab in a browser: its plan of all entries, and three entries selected by mouse.
The sample is closed, and its report is shown in both languages.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from PIL import Image

import bktools
from bktools.sandbox import write_sample_data

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "notebooks"))

from browser import browser_running, jupyterlab, page_of, run_all  # noqa: E402 - from the tests' folder beside

PICKER = HERE / "picker.png"
PLAN = HERE / "plan.png"
REPORTS = {"en": HERE / "report.png", "de": HERE / "report-de.png"}
# The head of a report, and colours enough for bars and letters.
SIZE, COLOURS = {"width": 1000, "height": 720}, 32


def reports() -> None:
    """Write the picture of the sample's report in each language."""
    with (
        tempfile.TemporaryDirectory() as home,
        bktools.Sandbox(home) as service,
        browser_running() as browser,
    ):
        chart_file, entries_file = write_sample_data(home)
        chart = bktools.read_chart_of_accounts(chart_file, company=service.settings.company)
        entries = bktools.read_entries(entries_file)
        for language, picture in REPORTS.items():
            folder = Path(home, f"close-{language}")
            bktools.close_month(
                chart, entries, folder=folder, apply=True, language=language, by="Ada", service=service
            )
            page = browser.new_page(viewport=SIZE)
            page.goto((folder / "report.html").as_uri())
            page.screenshot(path=picture)
            Image.open(picture).convert("RGB").quantize(COLOURS).save(picture, optimize=True)


def main() -> None:
    """Write the pictures beside this file."""
    reports()
    with (  # noqa: SIM117 - four in a row are hard to read
        tempfile.TemporaryDirectory() as home,
        jupyterlab(Path(home)) as address,
        browser_running() as browser,
    ):
        with page_of(browser, address.format("03_export_jobs.ipynb"), height=2400) as page:
            run_all(page)
            plan = page.locator(".jp-CodeCell", has_text="everything = bktools.compose_export_jobs")
            plan.scroll_into_view_if_needed()
            plan.locator(".jp-OutputArea-output").last.screenshot(path=PLAN)
            rows = page.locator(".bktools-picking tbody tr")
            rows.first.scroll_into_view_if_needed()
            for place in (0, 2, 5):
                rows.nth(place).locator("td").nth(1).click()
            page.locator(".bktools-picking .bktools-totals", has_text="3 of 320 entries selected").wait_for()
            page.mouse.move(0, 0)
            page.locator(".bktools-picking").screenshot(path=PICKER)
    print(*REPORTS.values(), PLAN, PICKER, sep="\n")


if __name__ == "__main__":
    main()
