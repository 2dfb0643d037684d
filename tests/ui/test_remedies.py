import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from types import SimpleNamespace

import pytest
from streamlit import config
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.NewSession_pb2 import NewSession
from streamlit.runtime import app_session
from streamlit.runtime.app_session import AppSession, AppSessionState
from streamlit.runtime.media_file_manager import MediaFileManager, MediaFileMetadata
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.runtime.scriptrunner import RerunData, ScriptRunner, ScriptRunnerEvent
from streamlit.runtime.state import SafeSessionState, SessionState
from streamlit.web import bootstrap

from vit.ui import remedies

SECTIONS = [f"theme.{section.value}" for section in config.CustomThemeCategories]


@pytest.fixture
def apply(monkeypatch):
    """For one test: other tests meet Streamlit as it is."""
    monkeypatch.setattr(app_session, "_populate_theme_msg", remedies._populate)
    monkeypatch.setattr(AppSession, "_create_scriptrunner", remedies._create)
    monkeypatch.setattr(AppSession, "_handle_scriptrunner_event_on_event_loop", remedies._handle)
    monkeypatch.setattr(ScriptRunner, "_on_script_finished", remedies._finish)
    for name in ("mark_for_delete", "is_marked_for_delete"):
        monkeypatch.setattr(MediaFileMetadata, name, getattr(MediaFileMetadata, name))
    for name in remedies._alone:
        monkeypatch.setattr(SafeSessionState, name, getattr(SafeSessionState, name))
    return remedies.apply


def theme_told() -> NewSession:
    message = NewSession()
    app_session._populate_theme_msg(message.custom_theme)
    for section in SECTIONS:
        part = message.custom_theme
        for name in section.split(".")[1:]:
            part = getattr(part, name)
        app_session._populate_theme_msg(part, section)
    return message


def test_the_kept_theme_is_the_one_that_streamlit_makes(apply):
    bootstrap.load_config_options({})
    made = theme_told()
    apply()
    assert app_session._populate_theme_msg is not remedies._populate
    for _ in range(2):
        assert theme_told() == made
    assert made.custom_theme.light.primary_color
    assert not made.custom_theme.HasField("sidebar")


class Runner:
    """One that has ended takes no more requests."""

    def __init__(self, **of):
        self.ended = not of
        self.on_event = SimpleNamespace(connect=lambda heard: None)

    def start(self):
        pass

    def request_rerun(self, asked):
        return not self.ended

    def request_stop(self):
        pass


class Session(AppSession):
    """With one run that has ended, of which nothing has been told yet."""

    def __init__(self):
        self.told = []
        self._event_loop = self._script_event_loop = asyncio.get_running_loop()
        self._state, self._scriptrunner = AppSessionState.APP_IS_RUNNING, Runner()
        self._script_data = SimpleNamespace(main_script_path="")
        for name in ("id", "_session_state", "_uploaded_file_mgr", "_script_cache", "_user_info", "_fragment_storage",
                     "_pages_manager", "_on_script_error", "_local_sources_watcher"):
            setattr(self, name, None)

    def __del__(self):
        pass

    def has_fragment(self, fragment_id):
        return True

    def _unsettle(self):
        pass

    def _settle_once_delivered(self):
        pass

    def _enqueue_forward_msg(self, message):
        self.told.append(message)


def ask_while_a_run_is_told(monkeypatch, fragment_id):
    """What is told of a run when something is asked for between its end and the browser's hearing of it."""
    monkeypatch.setattr(app_session, "ScriptRunner", Runner)

    async def story():
        session = Session()
        ended = session._scriptrunner
        session.request_rerun(ClientState(fragment_id=fragment_id))
        runner = session._scriptrunner
        assert runner is not ended
        for event in (ScriptRunnerEvent.ENQUEUE_FORWARD_MSG, ScriptRunnerEvent.SHUTDOWN):
            session._handle_scriptrunner_event_on_event_loop(ended, event, ForwardMsg())
        assert session._scriptrunner is runner
        return len(session.told)

    with ThreadPoolExecutor() as threads:  # beside browser tests, this one has a loop that runs
        return threads.submit(asyncio.run, story()).result()


def test_what_an_ended_run_has_to_tell_is_told(apply, monkeypatch):
    assert ask_while_a_run_is_told(monkeypatch, fragment_id="one") == 0  # Streamlit's fault
    apply()
    assert ask_while_a_run_is_told(monkeypatch, fragment_id="one") == 1


def test_of_a_run_that_is_done_anew_nothing_more_is_told(apply, monkeypatch):
    apply()
    assert ask_while_a_run_is_told(monkeypatch, fragment_id="") == 0


def a_stroke_kept_while_the_run_before_begins() -> bool:
    """Whether it is there when the old run has put its own state in order."""
    class Slow(dict):
        def clear(self):
            half_done.set()
            assert go_on.wait(60)
            super().clear()

    half_done, go_on = threading.Event(), threading.Event()
    state = SessionState(_new_session_state=Slow())
    old, new = (SafeSessionState(state, lambda: None) for _ in range(2))
    with ThreadPoolExecutor() as threads:
        beginning = threads.submit(old.on_script_will_rerun, None)
        assert half_done.wait(60)
        keeping = threads.submit(new.__setitem__, "drawing", "a stroke")
        wait([keeping], 1)  # in vain if it has to wait for its turn
        go_on.set()
        beginning.result(), keeping.result()
    return "drawing" in state


def test_what_a_run_keeps_is_not_thrown_away_by_the_run_before_it(apply):
    assert not a_stroke_kept_while_the_run_before_begins()  # Streamlit's fault
    apply()
    assert a_stroke_kept_while_the_run_before_begins()


class Stopped(Exception):
    pass


@pytest.mark.parametrize("change", [
    lambda old: old.__setitem__("drawing", "an older stroke"),
    lambda old: old.query_params().__enter__().__setitem__("d", "an older stroke"),
], ids=["state", "address"])
def test_a_run_that_was_told_to_stop_changes_nothing_more(apply, change):
    def unless_stopped():
        looked.set()
        if stopped.is_set():
            raise Stopped

    apply()
    looked, stopped = threading.Event(), threading.Event()
    state = SessionState()
    old, new = SafeSessionState(state, unless_stopped), SafeSessionState(state, lambda: None)
    with ThreadPoolExecutor() as threads:
        with new.query_params():
            late = threads.submit(change, old)
            assert not looked.wait(1)  # it waits for its turn
            stopped.set()
        with pytest.raises(Stopped):
            late.result()


def ended_as(told_to_stop: bool) -> int:
    """How often a run that comes to its end tidies up the state."""
    tidied = []
    runner = ScriptRunner("", "", SessionState(), None, None, RerunData(), {}, None, None, None)
    object.__setattr__(runner._session_state, "_state",
                       SimpleNamespace(on_script_finished=lambda *of, **how: tidied.append(of)))
    if told_to_stop:
        runner.request_stop()
    widgets = SimpleNamespace(snapshot=frozenset)
    run = SimpleNamespace(shared=SimpleNamespace(widget_ids_this_run=widgets), has_script_started=True)
    runner._on_script_finished(run, ScriptRunnerEvent.SCRIPT_STOPPED_WITH_SUCCESS, False, None)
    return len(tidied)


def test_a_click_is_not_taken_back_by_the_end_of_the_run_that_it_stopped(apply):
    assert ended_as(told_to_stop=True) == 1  # Streamlit's fault
    apply()
    assert ended_as(told_to_stop=True) == 0
    assert ended_as(told_to_stop=False) == 1


def is_there_after(ends_of_runs: int) -> bool:
    """Whether a file that was made for a download can still be fetched."""
    files = MediaFileManager(MemoryMediaFileStorage("/media"))
    address = files.execute_deferred(files.add_deferred(lambda: b"epoch,loss", "text/csv", "1.2", "metrics.csv"))
    for _ in range(ends_of_runs):
        files.remove_orphaned_files()
    return files.read_file(address.removeprefix("/media/").partition(".")[0]) is not None


def test_a_file_that_was_made_to_be_downloaded_is_there_for_a_while(apply, monkeypatch):
    assert is_there_after(1)
    assert not is_there_after(2)  # Streamlit's fault
    apply()
    assert is_there_after(100)
    monkeypatch.setattr(remedies, "A_WHILE", 0)
    assert not is_there_after(2)
