"""A real server and a real Chromium."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--no-first-run"]


def find_chromium() -> str:
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found:
        return found
    sentence = "There is no Chromium: install it, for instance by `apt-get install chromium`, to run the browser tests."
    if os.environ.get("CI") == "true":
        pytest.fail(sentence)
    pytest.skip(sentence)


@pytest.fixture(scope="session")
def browser():
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=30_000)
    chromium = find_chromium()
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=QUIET)
        yield started
        started.close()


@pytest.fixture(scope="session")
def app_url(tmp_path_factory):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {
        "PATCHWISE_RUNS": str(tmp_path_factory.mktemp("runs")), "OMP_NUM_THREADS": "1",
    }
    server = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless", "true", "--server.port", str(port),
         "--server.address", "127.0.0.1", "--server.fileWatcherType", "none"],
        cwd=PROJECT, env=environment,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until_healthy(url)
        yield url
    finally:
        server.terminate()
        server.wait(20)


def wait_until_healthy(url: str) -> None:
    for _ in range(240):
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=2):
                return
        except OSError:
            time.sleep(0.25)
    raise TimeoutError("The app's server did not start within a minute.")


@pytest.fixture
def new_page(browser):
    """Opens a page in a browser context of its own, and fails the test on any error in its console."""
    opened, errors = [], []

    def open_page(width=1440, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.on("console", lambda message: message.type == "error" and errors.append(describe(message)))
        page.on("pageerror", lambda error: errors.append(str(error)))
        opened.append(context)
        return page

    yield open_page
    for context in opened:
        context.close()
    # Opened on a page other than the first, Streamlit looks for its server below that page before it looks above.
    assert [error for error in errors if "_stcore" not in error] == []


def describe(message) -> str:
    return f"{message.text} ({message.location.get('url', '')})"


@pytest.fixture
def page(new_page):
    return new_page()
