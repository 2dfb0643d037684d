"""Who looks at the page: which browser it is, and whether the teacher's key was entered there."""

import re
import secrets
from collections.abc import Iterable

import streamlit as st

from vit.runs import Run, Visitor, owners
from vit.ui import markup

COOKIE = "patchwise_visitor"
PASS_COOKIE = "patchwise_teacher"
SECRET = re.compile(r"[A-Za-z0-9_-]{43}")


def is_secret(word: str) -> bool:
    return bool(SECRET.fullmatch(word))


def me() -> Visitor:
    """Known again after a reload and in other tabs; without cookies, for this session alone."""
    secret = _cookie(COOKIE)
    if not is_secret(secret):
        secret = st.session_state.setdefault("visitor_secret", secrets.token_urlsafe(32))
    mark = owners.mark_of(secret)
    shown = st.session_state.get("teacher_pass", _cookie(PASS_COOKIE))
    return Visitor(mark, owners.is_pass(shown, mark))


def _cookie(name: str) -> str:
    """As the browser sent it when the session began; Streamlit's AppTest has none, and says so in its own way."""
    value = st.context.cookies.get(name)
    return value if isinstance(value, str) else ""


def refusal(shown: Iterable[Run]) -> str:
    """Why this visitor may not control these runs, as a sentence; nothing if they may."""
    visitor = me()
    return next(filter(None, (visitor.refusal(run.owner) for run in shown)), "")


# The teacher's key


def enter_key() -> None:
    try:
        st.session_state.teacher_pass = owners.enter_key(st.session_state.teacher_entered, me().mark)
        st.session_state.pop("teacher_problem", None)
    except PermissionError as refused:
        st.session_state.teacher_problem = str(refused)


def forget_key() -> None:
    st.session_state.teacher_pass = ""


def keep_pass() -> None:
    """The browser keeps it until it is closed, so that a reload asks for nothing."""
    if "teacher_pass" in st.session_state:
        markup.component("pass")(key="teacher_cookie", data=[PASS_COOKIE, st.session_state.teacher_pass], height=1)
