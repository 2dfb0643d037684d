"""A real visitor: the app's server, and Chromium with the app in it."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

PROJECT = Path(__file__).parents[2]
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--no-first-run"]
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome")


def find_chromium() -> str | None:
    return next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)


@contextmanager
def serve(folder: Path = PROJECT, runs: Path | None = None):
    """The app.py of a folder on a free port, with run folders of its own unless they are given; gives its address."""
    with serving(folder, runs) as (url, _):
        yield url


@contextmanager
def serving(folder: Path = PROJECT, runs: Path | None = None):
    """The same, with its process beside the address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with TemporaryDirectory(ignore_cleanup_errors=True) as own_runs:  # a worker may still be leaving
        server = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless", "true",
             "--server.port", str(port), "--server.address", "127.0.0.1", "--server.fileWatcherType", "none"],
            cwd=folder, env=os.environ | {"PATCHWISE_RUNS": str(runs or own_runs)},
        )
        try:
            url = f"http://127.0.0.1:{port}"
            wait_until_healthy(url)
            yield url, server
        finally:
            server.terminate()
            server.wait(20)


def wait_until_healthy(url: str) -> None:
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError("The app's server did not start within a minute.")


def settle(page) -> None:
    """Wait until nothing is loading and nothing runs."""
    page.wait_for_selector("h1")
    page.wait_for_function(
        """() => !document.querySelector('[data-testid=stSkeleton]')
               && !!document.querySelector('[data-test-script-state=notRunning]')"""
    )
    page.wait_for_timeout(700)
