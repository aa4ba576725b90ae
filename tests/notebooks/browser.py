"""A real JupyterLab with Notebook 7 on loopback, and a real Chromium, for tests and pictures."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

REPOSITORY = Path(__file__).parents[2]
NOTEBOOKS = REPOSITORY / "notebooks"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
SECONDS = 60


def chromium() -> str | None:
    """Return where Chromium is installed, None where it is not."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@contextmanager
def jupyterlab(home: Path) -> Iterator[str]:
    """Start a JupyterLab with copies of the notebooks; give its address, with {} for a notebook's name."""
    root = home / "notebooks"
    root.mkdir(parents=True)
    for path in NOTEBOOKS.glob("*.ipynb"):
        shutil.copy(path, root)
    (home / "config.toml").touch()
    _write_settings(home / "config" / "lab" / "user-settings")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    token = secrets.token_hex(16)
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1"]
    command += [f"--port={port}", f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={root}"]
    command += [f"--{app}.expose_app_in_browser=True" for app in ("LabApp", "JupyterNotebookApp")]
    folders = {
        "HOME": "",
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "config/lab/user-settings",
        "IPYTHONDIR": "ipython",
        "BKTOOLS_CONFIG": "config.toml",
        "BKTOOLS_DATA_DIR": "bktools-data",
        "BKTOOLS_CACHE_DIR": "bktools-cache",
    }
    own = {name: str(home / folder) for name, folder in folders.items()}
    environment = os.environ | own | {"PYTHONPATH": str(REPOSITORY)}
    log = home / "lab.log"
    with log.open("wb") as file:
        server = subprocess.Popen(command, cwd=root, env=environment, stdout=file, stderr=file)
    try:
        _wait_for(f"http://127.0.0.1:{port}/api/status?token={token}", server, log)
        yield f"http://127.0.0.1:{port}/lab/tree/{{}}?token={token}&reset"
    finally:
        server.terminate()
        try:
            server.wait(timeout=20)
        except subprocess.TimeoutExpired:  # its kernels may be slow to end on a busy machine
            server.kill()
            server.wait()


def in_notebook_7(address: str) -> str:
    """Return the address of a notebook of JupyterLab in Notebook 7."""
    return address.replace("/lab/tree/", "/notebooks/")


@contextmanager
def browser_running() -> Iterator[Browser]:
    """Start Chromium without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def page_of(
    browser: Browser, address: str, *, dark: bool = False, width: int = 1400, height: int = 1000
) -> Iterator[Page]:
    """Open a notebook in a browser, with cookies and settings of its own."""
    page = browser.new_page(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        device_scale_factor=1,
    )
    page.goto(address)
    page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=SECONDS * 1000)
    theme = f"JupyterLab {'Dark' if dark else 'Light'}"
    page.evaluate(
        "async theme => { await jupyterapp.commands.execute('apputils:change-theme', {theme}); }", theme
    )
    yield page
    page.close()


def run_all(page: Page) -> None:
    """Run all cells and wait until the last one has run; raises where one ends in an error."""
    page.evaluate("async () => { await jupyterapp.shell.currentWidget.sessionContext.ready; }")
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).click()
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        prompts = page.evaluate(
            """() => {
                const widgets = jupyterapp.shell.currentWidget.content.widgets;
                const cells = widgets.filter(c => c.model.type === 'code');
                const outputs = cells.flatMap(c => c.model.outputs.toJSON());
                return {
                    open: cells.filter(c => c.model.executionCount === null).length,
                    errors: outputs.filter(o => o.output_type === 'error')
                        .map(o => o.ename + ': ' + o.evalue),
                };
            }"""
        )
        if prompts["errors"]:
            raise RuntimeError(prompts["errors"][0])
        if prompts["open"] == 0:
            return
        page.wait_for_timeout(200)
    raise RuntimeError(f"{prompts['open']} cells did not run within {SECONDS} seconds")


# Text nodes and placeholders whose contrast to what is behind them is less than 4.5, as WCAG counts it.
_FAINT = """roots => {
    const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const known = {};
    const parts = colour => known[colour] ??= (() => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
        return [r, g, b, a / 255];
    })();
    const over = (top, below, share) => [0, 1, 2].map(i => top[i] * share + below[i] * (1 - share));
    const light = colour => colour.map(part => part / 255)
        .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
        .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = node => {
        if (!node) return parts(getComputedStyle(document.documentElement).colorScheme.includes('dark')
            && matchMedia('(prefers-color-scheme: dark)').matches ? '#121212' : '#ffffff').slice(0, 3);
        const own = parts(getComputedStyle(node).backgroundColor);
        return own[3] === 1 ? own.slice(0, 3) : over(own, behind(node.parentElement), own[3]);
    };
    const opacity = node => node ? getComputedStyle(node).opacity * opacity(node.parentElement) : 1;
    const found = [];
    const check = (node, text, style) => {
        const back = behind(node), ink = parts(style.color);
        const shown = over(ink, back, ink[3] * opacity(node) * (style.opacity ?? 1));
        const [low, high] = [light(shown), light(back)].sort((one, other) => one - other);
        const contrast = (high + 0.05) / (low + 0.05);
        if (contrast < 4.5) found.push(`${contrast.toFixed(2)} ${text.trim().slice(0, 60)}`);
    };
    let count = 0;
    for (const root of document.querySelectorAll(roots)) {
        const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
        for (let text = texts.nextNode(); text; text = texts.nextNode()) {
            const node = text.parentElement;
            if (!text.data.trim() || !node.checkVisibility()) continue;
            if (node.closest('style, script, :disabled')) continue;
            count += 1;
            check(node, text.data, {color: getComputedStyle(node).color});
        }
        for (const field of root.querySelectorAll('input[placeholder]:not([placeholder=""])')) {
            const {color, opacity} = getComputedStyle(field, '::placeholder');
            check(field, field.placeholder, {color, opacity});
        }
    }
    return {count, found};
}"""


def faint_texts(page: Page, roots: str) -> list[str]:
    """Return the unreadable texts below these elements after their contrast; raise without text."""
    seen = page.evaluate(_FAINT, roots)
    if not seen["count"]:
        raise RuntimeError(f"there is no text in {roots}")
    return list(seen["found"])


def _write_settings(folder: Path) -> None:
    notification = folder / "@jupyterlab" / "apputils-extension"
    notification.mkdir(parents=True)
    (notification / "notification.jupyterlab-settings").write_text(
        '{"fetchNews": "false", "checkForUpdates": false}', encoding="utf-8"
    )


def _wait_for(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise RuntimeError(f"JupyterLab ended: {log.read_text()}")
        try:
            with urllib.request.urlopen(address, timeout=2):
                return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"JupyterLab did not answer: {log.read_text()}")
