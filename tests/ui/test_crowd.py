"""A class on one process."""

import threading

import pytest
from streamlit import config
from streamlit.proto.NewSession_pb2 import NewSession
from streamlit.runtime import app_session
from streamlit.web import bootstrap

from tests.support.runs import wait_for
from vit.ui import crowd

SECTIONS = [f"theme.{section.value}" for section in config.CustomThemeCategories]


def theme_told() -> NewSession:
    message = NewSession()
    app_session._populate_theme_msg(message.custom_theme)
    for section in SECTIONS:
        part = message.custom_theme
        for name in section.split(".")[1:]:
            part = getattr(part, name)
        app_session._populate_theme_msg(part, section)
    return message


def test_the_kept_theme_is_the_one_that_streamlit_makes(monkeypatch):
    monkeypatch.setattr(app_session, "_populate_theme_msg", crowd._populate)
    bootstrap.load_config_options({})
    made = theme_told()
    crowd.keep_theme()
    assert app_session._populate_theme_msg is not crowd._populate
    for _ in range(2):
        assert theme_told() == made
    assert made.custom_theme.light.primary_color
    assert not made.custom_theme.HasField("sidebar")


@pytest.fixture
def running(monkeypatch):
    """Starts a script that has its turn until the test ends, and waits until it runs."""
    monkeypatch.setattr(crowd, "_turns", threading.BoundedSemaphore(crowd.AT_ONCE))
    go_on, now, threads = threading.Event(), [], []

    def script():
        with crowd.turn():
            now.append(threading.current_thread())
            go_on.wait()

    def start() -> None:
        threads.append(threading.Thread(target=script))
        threads[-1].start()
        wait_for(lambda: len(now) == len(threads))

    yield start
    go_on.set()
    for thread in threads:
        thread.join()


def test_scripts_take_turns(running, monkeypatch):
    monkeypatch.setattr(crowd, "PATIENCE", 600)
    for _ in range(crowd.AT_ONCE):
        running()
    assert not crowd._turns.acquire(blocking=False)


def test_a_script_that_takes_long_holds_up_nobody(running, monkeypatch):
    monkeypatch.setattr(crowd, "PATIENCE", 0.01)
    for _ in range(crowd.AT_ONCE + 2):
        running()


def test_a_script_that_fails_gives_its_turn_back(monkeypatch):
    monkeypatch.setattr(crowd, "_turns", threading.BoundedSemaphore(1))
    with pytest.raises(ZeroDivisionError), crowd.turn():
        raise ZeroDivisionError
    assert crowd._turns.acquire(blocking=False)
