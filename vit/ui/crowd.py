"""What lets one process hold a class, with the gain that was measured (benchmarks.classroom, two cores)."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from streamlit.proto.NewSession_pb2 import CustomThemeConfig
from streamlit.runtime import app_session

AT_ONCE = 2  # as many as keep the interpreter busy while one of them waits for the reader
PATIENCE = 0.3  # seconds; whoever has waited so long goes on all the same: a long computation holds up nobody

_turns = threading.BoundedSemaphore(AT_ONCE)


@contextmanager
def turn() -> Iterator[None]:
    """Scripts take turns: dozens that run at once only take the interpreter from each other, and from the server."""
    mine = _turns.acquire(timeout=PATIENCE)
    try:
        yield
    finally:
        if mine:
            _turns.release()


def keep_theme() -> None:
    """Streamlit 1.67 puts the theme together anew, from all its options, for every run of a script, which takes a
    sixth of a class's server. It never changes, so it is kept. To go when `_populate_theme_msg` is quick by itself."""
    app_session._populate_theme_msg = _populate_from_kept


_populate = app_session._populate_theme_msg


def _populate_from_kept(msg: CustomThemeConfig, section: str = "theme") -> None:
    if (theme := _theme(section)).ByteSize():
        msg.MergeFrom(theme)


@cache
def _theme(section: str) -> CustomThemeConfig:
    theme = CustomThemeConfig()
    _populate(theme, section)
    return theme
