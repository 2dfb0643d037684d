"""The state of a run, by all that can be seen of it: the whole truth table."""

from itertools import product

import pytest

from vit.runs.state import ACTIVE, RESUMABLE, SERVER_GONE, STATES, UNREADABLE, WORKER_GONE, Facts, state_of

# With a worker, and without one while the server lives, and without either.
# The columns are what the control file says: run (or until an epoch), pause, stop.
TABLE = {
    ("queued", "worker"): ("running", "running", "stopping"),
    ("queued", "server"): ("queued", "paused", "stopped"),
    ("queued", "nobody"): ("interrupted", "paused", "stopped"),
    ("running", "worker"): ("running", "running", "stopping"),
    ("running", "server"): ("interrupted", "interrupted", "interrupted"),
    ("running", "nobody"): ("interrupted", "interrupted", "interrupted"),
    ("paused", "worker"): ("running", "paused", "stopping"),  # asked to go on, it wakes in a moment
    ("paused", "server"): ("queued", "paused", "stopped"),  # its worker left as it was asked to go on
    ("paused", "nobody"): ("paused", "paused", "stopped"),
    ("stopping", "worker"): ("stopping", "stopping", "stopping"),
    ("stopping", "server"): ("interrupted", "interrupted", "interrupted"),
    ("stopping", "nobody"): ("interrupted", "interrupted", "interrupted"),
    ("stopped", "worker"): ("queued", "stopped", "stopped"),  # about to leave, and asked to go on
    ("stopped", "server"): ("queued", "stopped", "stopped"),
    ("stopped", "nobody"): ("stopped", "stopped", "stopped"),
    ("", "worker"): ("running", "running", "stopping"),  # its status cannot be read
    ("", "server"): ("interrupted", "interrupted", "interrupted"),
    ("", "nobody"): ("interrupted", "interrupted", "interrupted"),
} | {(end, who): (end, end, end) for end in ("done", "failed", "interrupted") for who in ("worker", "server", "nobody")}


@pytest.mark.parametrize(("stored", "who"), TABLE)
def test_the_state_follows_from_the_facts(stored, who):
    for control, expected in zip(("run", "pause", "stop"), TABLE[stored, who], strict=True):
        facts = Facts(stored, "why", control, locked=who == "worker", server_alive=who != "nobody")
        assert state_of(facts)[0] == expected, control
    until = Facts(stored, "why", "until 3", locked=who == "worker", server_alive=who != "nobody")
    assert state_of(until)[0] == TABLE[stored, who][0]


def test_the_table_is_whole():
    assert set(TABLE) == set(product((*STATES, ""), ("worker", "server", "nobody")))
    assert set(ACTIVE) | set(RESUMABLE) | {"done"} == set(STATES)
    assert {state for row in TABLE.values() for state in row} == set(STATES)


def test_a_worker_of_the_command_line_has_no_server_and_is_told_apart_all_the_same():
    assert state_of(Facts("running", locked=True))[0] == "running"
    assert state_of(Facts("stopped", "why", locked=True)) == ("stopped", "why")


def test_what_is_wrong_is_said_in_words():
    assert state_of(Facts("")) == ("interrupted", UNREADABLE)
    assert state_of(Facts("no such state")) == ("interrupted", UNREADABLE)
    assert state_of(Facts("", locked=True)) == ("running", UNREADABLE)
    assert state_of(Facts("running")) == ("interrupted", WORKER_GONE)
    assert state_of(Facts("queued")) == ("interrupted", SERVER_GONE)
    assert state_of(Facts("failed", "The disk is full.")) == ("failed", "The disk is full.")
    assert state_of(Facts("running", "Data come: 3 MB", locked=True)) == ("running", "Data come: 3 MB")
