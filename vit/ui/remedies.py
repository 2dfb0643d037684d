"""Remedies for faults of Streamlit 1.67. Each names its fault, and how to notice that it can go."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from threading import RLock
from time import monotonic
from typing import Any
from weakref import WeakValueDictionary

from streamlit.proto.NewSession_pb2 import CustomThemeConfig
from streamlit.runtime import app_session
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.media_file_manager import MediaFileMetadata
from streamlit.runtime.scriptrunner import RerunData, ScriptRunner, ScriptRunnerEvent
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType
from streamlit.runtime.state import SafeSessionState


def apply() -> None:
    app_session._populate_theme_msg = _populate_from_kept
    session: Any = AppSession
    session._create_scriptrunner = _create_beside_ended
    session._handle_scriptrunner_event_on_event_loop = _handle_also_of_ended
    for name, method in _alone.items():
        setattr(SafeSessionState, name, method)
    runner: Any = ScriptRunner
    runner._on_script_finished = _finish_unless_stopped
    file: Any = MediaFileMetadata
    file.mark_for_delete, file.is_marked_for_delete = _mark, property(_is_marked_for_long)


# The theme is put together anew, from all its options, for every run of a script. It never changes: kept, it is told in
# 0.01 ms instead of 1.7. To go when `_populate_theme_msg` is quick by itself.

_populate = app_session._populate_theme_msg


def _populate_from_kept(msg: CustomThemeConfig, section: str = "theme") -> None:
    if (theme := _theme(section)).ByteSize():
        msg.MergeFrom(theme)


@cache
def _theme(section: str) -> CustomThemeConfig:
    theme = CustomThemeConfig()
    _populate(theme, section)
    return theme


# A fragment that is asked for when the run before it has ended, but has not been told to the browser yet, gets a new
# runner, and what the ended one had to tell is thrown away: a stroke is then read and never shown. To go when
# test_what_an_ended_run_has_to_tell_is_told passes without it.

_create = AppSession._create_scriptrunner
_handle = AppSession._handle_scriptrunner_event_on_event_loop


def _create_beside_ended(session: Any, rerun_data: RerunData) -> None:
    session.ended_runner = session._scriptrunner  # none is there if it was stopped: then all is run anew
    _create(session, rerun_data)


def _handle_also_of_ended(
    session: Any, sender: ScriptRunner | None, event: ScriptRunnerEvent, *told: Any, **named: Any
) -> None:
    ended = sender is not None and sender is getattr(session, "ended_runner", None)
    if not ended or event == ScriptRunnerEvent.SHUTDOWN:
        _handle(session, sender, event, *told, **named)
        return
    runner, session._scriptrunner = session._scriptrunner, sender
    try:
        _handle(session, sender, event, *told, **named)
    finally:
        session._scriptrunner = runner


# A run that another cuts off goes on for a moment. Both work on the session's state, each with a lock of its own, so
# that the old run may throw away what the new one has just put there: a stroke, or a click. Here all runs of a session
# share one lock, and a run that was told to stop changes nothing more. To go when
# test_what_a_run_keeps_is_not_thrown_away_by_the_run_before_it and those after it pass without it.

_begin = SafeSessionState.__init__
_parameters = SafeSessionState.query_params
_finish = ScriptRunner._on_script_finished
_locks: WeakValueDictionary[int, Any] = WeakValueDictionary()  # of states with a run


def _begin_with_the_lock_of_all(safe: Any, state: Any, yield_callback: Callable[[], None]) -> None:
    _begin(safe, state, yield_callback)
    object.__setattr__(safe, "_lock", _locks.setdefault(id(state), RLock()))


def _locked(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method looks first whether its run was told to stop: now while nobody else can begin."""
    @wraps(method)
    def locked(safe: Any, *given: Any, **named: Any) -> Any:
        with safe._lock:
            return method(safe, *given, **named)

    return locked


@contextmanager
def _parameters_locked(safe: Any) -> Iterator[Any]:
    with safe._lock, _parameters(safe) as parameters:
        yield parameters


_alone: dict[str, Callable[..., Any]] = {
    name: _locked(getattr(SafeSessionState, name))
    for name in ("register_widget", "on_script_will_rerun", "reset_state_value", "__getitem__", "__setitem__",
                 "__delitem__", "__contains__")
} | {"__init__": _begin_with_the_lock_of_all, "query_params": _parameters_locked}


def _finish_unless_stopped(
    runner: Any, ctx: Any, event: ScriptRunnerEvent, premature_stop: bool, *told: Any
) -> None:
    with runner._session_state._lock:
        stopped = runner._requests._state is ScriptRequestType.STOP
        _finish(runner, ctx, event, premature_stop or stopped, *told)


# A file that is made when its button is pressed belongs to nobody. The end of one run marks it, the end of another
# deletes it, whoever's runs they are: with many visitors, before the browser has fetched it. Here it is kept for a
# while after it was marked. To go when test_a_file_that_was_made_to_be_downloaded_is_there_for_a_while passes without
# it.

A_WHILE = 60.0  # seconds


def _mark(file: Any) -> None:
    file.marked_at = getattr(file, "marked_at", monotonic())


def _is_marked_for_long(file: Any) -> bool:
    return monotonic() - getattr(file, "marked_at", monotonic()) >= A_WHILE
