"""What state a run is in: one function of plain facts.

A worker writes what it does into status.json, visitors write what they want into the control file, and either
may be out of date: a killed worker writes nothing any more, a pausing one has not yet seen that it shall go on.
"""

from dataclasses import dataclass

STATES = ("queued", "running", "paused", "stopping", "done", "stopped", "failed", "interrupted")
ACTIVE = ("queued", "running", "stopping")
MAY_WAIT = ("queued", "paused", "stopped")  # what stands in status.json while a run waits for a worker
RESUMABLE = ("paused", "stopped", "failed", "interrupted")

UNREADABLE = "Its status cannot be read."
WORKER_GONE = "Its worker is gone. It can go on where it last saved."
SERVER_GONE = "The server that it waited for is gone."


@dataclass(frozen=True)
class Facts:
    """All that can be seen of a run from outside."""

    stored: str  # the state in status.json; empty if it cannot be read
    reason: str = ""  # what stands beside it
    control: str = "run"  # the control file: run, until EPOCH, pause or stop
    locked: bool = False  # a worker is busy with it
    server_alive: bool = False  # the server that is to look after it


def state_of(facts: Facts) -> tuple[str, str]:
    """The state, and a sentence about it where there is something to say."""
    if facts.stored in ("done", "failed", "interrupted"):
        return facts.stored, facts.reason
    if facts.locked:
        return _with_a_worker(facts)
    if facts.stored in ("running", "stopping"):
        return "interrupted", WORKER_GONE
    if facts.stored in MAY_WAIT:
        return _without_a_worker(facts)
    return "interrupted", UNREADABLE


def _with_a_worker(facts: Facts) -> tuple[str, str]:
    going_on = facts.control not in ("pause", "stop")
    if facts.stored == "stopped":  # it has just said so, and is about to leave
        return ("queued", "") if going_on and facts.server_alive else ("stopped", facts.reason)
    if facts.control == "stop" or facts.stored == "stopping":
        return "stopping", ""
    if facts.stored == "paused":
        return ("running", "") if going_on else ("paused", facts.reason)
    known = facts.stored in ("queued", "running")
    return "running", facts.reason if known else UNREADABLE


def _without_a_worker(facts: Facts) -> tuple[str, str]:
    """It waits for one, or not: what the control file wants decides, if there is a server to see to it."""
    asked_for = {"pause": "paused", "stop": "stopped"}.get(facts.control, "queued")
    if asked_for == "queued" and not facts.server_alive:
        return ("interrupted", SERVER_GONE) if facts.stored == "queued" else (facts.stored, facts.reason)
    if facts.stored == "stopped" and asked_for == "paused":
        return "stopped", facts.reason
    return asked_for, facts.reason if asked_for == facts.stored else ""
