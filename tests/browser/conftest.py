"""A real server and a real Chromium."""

import os

import pytest

from tests.support.visitor import QUIET, find_chromium, serve

EXPECTED = (
    "_stcore",  # opened on a page other than the first, Streamlit looks for its server below that page first
    "when disconnected from server",  # a test has cut the connection
)


def chromium_or_skip() -> str:
    if found := find_chromium():
        return found
    sentence = "There is no Chromium: install it, for instance by `apt-get install chromium`, to run the browser tests."
    if os.environ.get("CI") == "true":
        pytest.fail(sentence)
    pytest.skip(sentence)


@pytest.fixture(scope="session", autouse=True)
def workers_that_step_back_behind_nobody():
    """On a busy machine they would not come to their turn."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PATCHWISE_NICE", "0")
        yield


@pytest.fixture(scope="session")
def browser():
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=180_000)
    chromium = chromium_or_skip()
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=QUIET)
        yield started
        started.close()


@pytest.fixture(scope="session")
def app_url():
    with serve() as url:
        yield url


@pytest.fixture
def new_page(browser):
    """Opens a page in a browser context of its own, and fails the test on any error in its console."""
    opened, errors = [], []

    def open_page(width=1440, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        page = context.new_page()
        page.set_default_timeout(180_000)
        page.on("console", lambda message: message.type == "error" and errors.append(describe(message)))
        page.on("pageerror", lambda error: errors.append(str(error)))
        opened.append(context)
        return page

    yield open_page
    for context in opened:
        context.close()
    assert [error for error in errors if not any(part in error for part in EXPECTED)] == []


def describe(message) -> str:
    return f"{message.text} ({message.location.get('url', '')})"


@pytest.fixture
def page(new_page):
    return new_page()
