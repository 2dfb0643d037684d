"""Where a run trains: what the dispatcher asks of such a place, be it this machine or a cluster."""

import json
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from vit.environment import ray_address
from vit.runs.folder import Run
from vit.runs.status import ACTING, read_stored

RAY_RECORD = "ray.json"  # in a run's folder: its last attempt on Ray, and on which node


@dataclass(frozen=True)
class Ending:
    """How a worker ended."""

    reason: str = ""  # a sentence, unless the worker has told it all itself
    again: bool = False  # it went with its machine: the run goes on elsewhere, without being asked to


class Job(Protocol):
    """A worker that has been given a run."""

    def ending(self) -> Ending | None:
        """None as long as it works, or is on its way to do so."""

    def make_room(self) -> None:
        """It only pauses, and somebody else waits: let it save and end."""


class Place(Protocol):
    def start(self, run: Run) -> Job:
        """Give a run to a worker."""

    def find(self, run: Run) -> Job | None:
        """The worker that another server has given a run to, if it can outlive that server."""

    def keep_warm(self, expected: bool, busy: int) -> None:
        """Let workers wake up before they are asked for, if somebody is expected to."""

    def close(self) -> None: ...


def place(heartbeat: Path) -> Place:
    """Where the runs of this server train. Its processes go by the server's heartbeat."""
    if address := ray_address():
        from vit.runs.ray_jobs import RayJobs

        return RayJobs(address, heartbeat.name)
    from vit.runs.processes import Processes

    return Processes(heartbeat)


def where(run: Run) -> str:
    """Where a run trains, as its folder tells it: "here", or "on" something; nothing if no server looks after it."""
    server = read_stored(run.folder).server
    if server == ACTING:  # what another machine trains belongs to whichever server acts
        return f"on Ray node {read_ray_record(run.folder).get('node', '')}".strip()
    host = server.rpartition("-")[0].rpartition("-")[0]
    return "here" if host == socket.gethostname() else f"on {host}" if host else ""


def read_ray_record(folder: Path) -> dict[str, Any]:
    """What is known of the last attempt on Ray; nothing if there was none."""
    try:
        record = json.loads((folder / RAY_RECORD).read_bytes())
        sound = isinstance(record["attempt"], int) and isinstance(record["node"], str)
        return record if sound else {}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
