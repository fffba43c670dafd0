"""Chromium for tests, driven by playwright."""

import os
from contextlib import ExitStack, contextmanager

import pytest
from benchmarks import browser

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
EVIL = "<script>window.hacked = true</script><img src=x onerror='window.hacked = true'>"


def skip_or_fail(reason):
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def launch(*flags):
    """Launch the system Chromium; if there is none, skip, or fail in CI."""
    with ExitStack() as stack:
        try:
            running = stack.enter_context(browser.launch(*flags))
        except browser.BrowserMissingError as error:
            skip_or_fail(str(error))
        yield running


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


def overflow(page):
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def background(page, selector):
    return page.evaluate(f"getComputedStyle(document.querySelector('{selector}')).backgroundColor")
