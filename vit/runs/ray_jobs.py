"""Workers as jobs of a Ray cluster, by its Jobs API over HTTP: one job for each attempt to bring a run to its end.

The run folder stays the contract, on a disk that all nodes share, with the project and the data under the same paths
as here. A worker holds the lock of its folder as long as it lives, so Ray is asked only about runs that nobody holds:
those that wait for a node, and those that were lost with theirs.
"""

import contextlib
import json
import os
import shlex
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

from vit.files import write_atomically
from vit.runs.folder import Run
from vit.runs.places import RAY_RECORD, Ending, read_ray_record
from vit.runs.status import ACTING, PROJECT, heartbeat_of, is_locked, read_control, read_stored, root, write_status

ANSWERS_WITHIN = 4  # seconds: the server's heart beats in between
ASK_EVERY = 1  # second
HANDED_ON = ("PATCHWISE_RUNS_MB", "PATCHWISE_DATA", "PATCHWISE_NICE")  # settings that a worker goes by
MOST_IN_VAIN = 3


class NoAnswer(OSError):
    """Says in a sentence that Ray cannot be asked, or refuses."""


class RayJobs:
    def __init__(self, address: str, server: str):
        self.address, self.server = address, server
        self._in_vain: dict[str, int] = {}  # how often in succession a run was lost without having saved anything

    def start(self, run: Run) -> "RayJob":
        lost = run.reason  # why it waits again, if nobody has asked for that
        if not lost:
            self._in_vain.pop(run.id, None)
        job = RayJob(self, run, read_ray_record(run.folder).get("attempt", 0) + 1)
        self._submit(job.id, run)
        job.record()
        told = f"{lost} Attempt {job.attempt} is handed to Ray." if lost else "It is handed to Ray."
        if read_stored(run.folder).since == run.since:  # or its worker has begun already
            write_status(run.folder, "queued", told, self.server, run.since)
        return job

    def find(self, run: Run) -> "RayJob | None":
        record, stored = read_ray_record(run.folder), read_stored(run.folder)
        handed = stored.state in ("running", "stopping") or stored.since == record.get("given")
        return RayJob(self, run, record["attempt"], record["node"]) if record and handed else None

    def keep_warm(self, expected: bool, busy: int) -> None:
        """Ray's nodes start a worker anew for each job."""

    def is_worth_another(self, job: "RayJob") -> bool:
        """Not if it never gets anywhere: then it is not its nodes that fail."""
        run_id = job.folder.name
        self._in_vain[run_id] = 0 if job.got_further() else self._in_vain.get(run_id, 0) + 1
        return self._in_vain[run_id] < MOST_IN_VAIN

    def close(self) -> None:
        """Jobs go on as long as some server acts, and end by themselves without any."""

    def _submit(self, submission_id: str, run: Run) -> None:
        worker = ["exec", "python", "-m", "vit.worker", str(run.folder.resolve()),
                  "--heartbeat", str(heartbeat_of(ACTING).resolve())]
        settings = {name: os.environ[name] for name in HANDED_ON if name in os.environ}
        settings |= {"PATCHWISE_RUNS": str(root().resolve()), "OMP_NUM_THREADS": str(run.threads)}
        try:
            self.ask("", {
                "entrypoint": f"cd {shlex.quote(str(PROJECT))} && {shlex.join(worker)}",
                "submission_id": submission_id, "entrypoint_num_cpus": run.threads,
                "runtime_env": {"env_vars": settings},
            })
        except NoAnswer:
            if self.ask(submission_id) is None:  # else it got there, and only the answer was lost
                raise

    def ask(self, path: str, content: dict[str, Any] | None = None) -> dict[str, Any] | None:
        """What the Jobs API answers; None if it knows no such job."""
        request = urllib.request.Request(
            f"{self.address}/api/jobs/{path}", None if content is None else json.dumps(content).encode(),
            {"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=ANSWERS_WITHIN) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            words = error.read(10_000).decode(errors="replace").strip().splitlines()
            raise NoAnswer(f"Ray refuses: {words[-1][:200] if words else error.reason}") from error
        except (OSError, ValueError) as error:
            raise NoAnswer(f"Ray does not answer at {self.address}.") from error


class RayJob:
    """One attempt at a run."""

    def __init__(self, ray: RayJobs, run: Run, attempt: int, node: str = ""):
        self.ray, self.folder, self.attempt, self.node = ray, run.folder, attempt, node
        self.id = f"patchwise-{run.id}-{attempt}"
        self.given = run.since
        self._asked_at = 0.0
        self._state = saved_at(run.folder)

    def record(self) -> None:
        content = {"attempt": self.attempt, "given": self.given, "node": self.node}
        write_atomically(self.folder / RAY_RECORD, json.dumps(content).encode())

    def ending(self) -> Ending | None:
        if is_locked(self.folder):
            if not self.node:
                with contextlib.suppress(NoAnswer):
                    self._look()
            return None
        stored = read_stored(self.folder)
        if stored.state in ("done", "failed", "stopped", "paused") and stored.since > self.given:
            return Ending()
        found = self._look()
        if found is None:
            return None
        if found["status"] == "PENDING" and read_control(self.folder) in ("pause", "stop"):
            self.make_room()
        if found["status"] in ("PENDING", "RUNNING") or is_locked(self.folder):
            return None
        if found["status"] == "STOPPED":
            told = read_stored(self.folder).state == "interrupted"  # perhaps while we asked
            return Ending("" if told else "It was stopped in Ray. It can be resumed.")
        return Ending(why_it_ended(found), again=self.ray.is_worth_another(self))

    def make_room(self) -> None:
        self.ray.ask(f"{self.id}/stop", {})

    def got_further(self) -> bool:
        """Whether it has saved anything."""
        return saved_at(self.folder) != self._state

    def _look(self) -> dict[str, Any] | None:
        """What Ray says of it; None if it was asked just now."""
        if time.monotonic() - self._asked_at < ASK_EVERY:
            return None
        self._asked_at = time.monotonic()
        found = self.ray.ask(self.id) or {"status": "UNKNOWN"}
        node = urllib.parse.urlsplit(found.get("driver_agent_http_address") or "").hostname or ""
        if node and node != self.node and self.folder.is_dir():
            self.node = node
            self.record()
        return found


def why_it_ended(found: dict[str, Any]) -> str:
    if found["status"] == "UNKNOWN":
        return "Its Ray cluster was started anew."
    if found.get("driver_exit_code"):
        words = (found.get("message") or "").strip().splitlines() or ["no word"]
        return f"Its worker ended with an error on Ray: {words[-1][:200]}"
    return f"Its Ray node {urllib.parse.urlsplit(found.get('driver_agent_http_address') or '').hostname or ''} is gone."


def saved_at(folder: Path) -> int:
    try:
        return (folder / "state.safetensors").stat().st_mtime_ns
    except OSError:
        return 0
