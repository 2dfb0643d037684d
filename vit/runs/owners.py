"""Whose a run is, and who may do what with it: decided from plain facts.

A visitor is known by a secret that only their browser keeps. A run folder keeps the mark of whoever started it, which
is a hash of that secret: to read the folder gives nobody the right. Runs from the command line are nobody's.
"""

import hashlib
import hmac
import os
import re
import secrets
import threading
import time
from dataclasses import dataclass

TEACHER_KEY = "PATCHWISE_TEACHER_KEY"  # environment variable
MARK = re.compile(r"[0-9a-f]{64}")
A_TRY_TAKES = 1.0  # seconds: all who try keys take turns
MOST_TRIES_WAITING = 10

NOT_YOURS = "Another visitor started this. The browser that did can control it, and whoever has the teacher's key."
NOBODY_S = "No visitor of these pages started this. Whoever has the teacher's key can control it."
WRONG_KEY = "That is not the teacher's key."
TOO_MANY_TRIES = "Many keys are being tried here at the moment. Try again in a minute."

_SEAL = secrets.token_bytes(32)  # another one in each process: nobody can make a pass elsewhere
_pause = time.sleep
_turn = threading.Lock()
_room_to_wait = threading.BoundedSemaphore(MOST_TRIES_WAITING)


def mark_of(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def as_mark(recorded: object) -> str:
    """A mark as it stands in a folder; whatever else stands there is nobody's."""
    return recorded if isinstance(recorded, str) and MARK.fullmatch(recorded) else ""


def why_not(owner: str, mark: str, teacher: bool, key_is_set: bool) -> str:
    """Why a visitor with this mark may not control the run of this owner, as a sentence; nothing if they may."""
    if not key_is_set or teacher or (owner and owner == mark):
        return ""
    return NOT_YOURS if owner else NOBODY_S


@dataclass(frozen=True)
class Visitor:
    """Whoever asks something of runs."""

    mark: str
    teacher: bool = False  # has entered the teacher's key

    def refusal(self, owner: str) -> str:
        return why_not(owner, self.mark, self.teacher, key_is_set())


# The teacher's key


def key_is_set() -> bool:
    return bool(_key())


def _key() -> str:
    return os.environ.get(TEACHER_KEY, "").strip()


def enter_key(entered: str, mark: str) -> str:
    """A pass for the browser with this mark; PermissionError with a sentence if that is not the key.

    Whoever guesses has one guess a second, together with all others who do.
    """
    if not _room_to_wait.acquire(blocking=False):
        raise PermissionError(TOO_MANY_TRIES)
    try:
        with _turn:
            _pause(A_TRY_TAKES)
            right = hmac.compare_digest(_digest(entered.strip()), _digest(_key()))
    finally:
        _room_to_wait.release()
    if not right or not key_is_set():
        raise PermissionError(WRONG_KEY)
    return _pass_of(mark)


def is_pass(shown: str, mark: str) -> bool:
    """Whether the key was entered in the browser with this mark, since this server began and with this key."""
    return key_is_set() and hmac.compare_digest(_digest(shown), _digest(_pass_of(mark)))


def _pass_of(mark: str) -> str:
    return hmac.new(_SEAL, f"{mark} {_key()}".encode(), hashlib.sha256).hexdigest()


def _digest(words: str) -> bytes:
    return hashlib.sha256(words.encode(errors="surrogatepass")).digest()
