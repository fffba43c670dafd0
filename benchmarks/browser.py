"""Chromium, for measurements and screenshots; tests use it, too."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FIND = Path(__file__).parents[1] / "scripts" / "install-browser"
# WebGL without a graphics card, and compositing without WebGL, as browsers do then.
SOFTWARE_WEBGL = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-gpu-compositing")
STEP_MS = 50


class BrowserMissingError(RuntimeError):
    """Playwright or Chromium is not installed."""


@contextmanager
def launch(*flags: str) -> Iterator[Any]:
    """Launch the system Chromium with the given flags."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise BrowserMissingError("playwright is not installed: pip install playwright") from None
    found = subprocess.run(["sh", str(FIND), "--find"], capture_output=True, text=True, check=False)
    if found.returncode:
        raise BrowserMissingError(found.stderr.strip())
    with sync_playwright() as playwright:
        # Root, as in containers, cannot use the sandbox; the pages are trusted.
        running = playwright.chromium.launch(executable_path=found.stdout.strip(), args=["--no-sandbox", *flags])
        yield running
        running.close()


def until(page: Any, expression: str, value: Any, seconds: float = 60) -> None:
    """Wait until an expression has a value; Playwright's wait_for_function needs eval, which our pages forbid."""
    for _ in range(int(1000 * seconds / STEP_MS)):
        if page.evaluate(expression) == value:
            return
        page.wait_for_timeout(STEP_MS)
    found = page.evaluate(expression)
    assert found == value, f"{expression} is {found!r}, not {value!r}"
