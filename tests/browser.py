"""Chromium for tests, driven by playwright."""

import os
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

FIND = Path(__file__).parents[1] / "scripts" / "install-browser"
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
SOFTWARE_WEBGL = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader")
EVIL = "<script>window.hacked = true</script><img src=x onerror='window.hacked = true'>"


def skip_or_fail(reason):
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def launch(*flags):
    """Launch the system Chromium; if there is none, skip, or fail in CI."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        skip_or_fail("playwright is not installed: pip install playwright")
    found = subprocess.run(["sh", str(FIND), "--find"], capture_output=True, text=True, check=False)
    if found.returncode:
        skip_or_fail(found.stderr.strip())
    with sync_playwright() as playwright:
        # Root, as in containers, cannot use the sandbox; the pages are trusted.
        running = playwright.chromium.launch(executable_path=found.stdout.strip(), args=["--no-sandbox", *flags])
        yield running
        running.close()


def open_address(context, address, allowed=("file:", "data:", "blob:"), script=None):
    """Open a page; its errors, and its requests to addresses that are not allowed, are collected in `page.faults`."""
    page = context.new_page()
    if script is not None:
        page.add_init_script(script)
    page.faults = []
    page.on("console", lambda message: page.faults.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: page.faults.append(str(error)))

    def check(route):
        if route.request.url.startswith(allowed):
            route.continue_()
        else:
            page.faults.append(route.request.url)
            route.abort()

    page.route("**/*", check)
    page.goto(address)
    return page


def until(page, expression, value):
    """Wait until an expression has a value; Playwright's wait_for_function needs eval, which the page forbids."""
    for _ in range(400):
        if page.evaluate(expression) == value:
            return
        page.wait_for_timeout(50)
    assert page.evaluate(expression) == value


def overflow(page):
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def background(page, selector):
    return page.evaluate(f"getComputedStyle(document.querySelector('{selector}')).backgroundColor")
