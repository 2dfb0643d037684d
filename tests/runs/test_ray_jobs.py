"""The door to Ray, with a stand-in for its Jobs API and hands that do what a worker would. tests/runs/test_ray.py has
the real ones."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.support.runs import wait_for
from vit import runs
from vit.config import TrainConfig, ViTConfig
from vit.runs import limits, queue, ray_jobs
from vit.runs.places import read_ray_record, where
from vit.runs.status import ACTING

CONFIG = TrainConfig(model=ViTConfig(patch_size=14, width=8, depth=1, heads=2), train_images=200, epochs=2)


class StandIn(ThreadingHTTPServer):
    """Ray as far as we ask it: jobs by their names, which change only when a test says so."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.jobs, self.submitted, self.stopped = {}, {}, []
        self.silent = False

    def node(self, name, address="10.0.0.7"):
        self.jobs[name] |= {"status": "RUNNING", "driver_agent_http_address": f"http://{address}:52365"}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        job = self.server.jobs.get(self.path.removeprefix("/api/jobs/"))
        self._answer(job or {}, 200 if job else 404)

    def do_POST(self):
        content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name = self.path.removeprefix("/api/jobs/")
        if name:
            name = name.removesuffix("/stop")
            self.server.stopped.append(name)
            self.server.jobs[name]["status"] = "STOPPED"
            return self._answer({"stopped": True})
        name = content["submission_id"]
        if name in self.server.jobs:
            return self._answer({}, 500)
        self.server.submitted[name] = content
        self.server.jobs[name] = {"status": "PENDING"}
        return self._answer({"submission_id": name})

    def _answer(self, content, status=200):
        if self.server.silent:
            status = 503
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(content).encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def ray(monkeypatch):
    server = StandIn()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setenv("PATCHWISE_RAY", f"http://127.0.0.1:{server.server_port}/")
    monkeypatch.setattr(ray_jobs, "ASK_EVERY", 0)
    monkeypatch.setattr(queue, "LOOK_EVERY", 0.01)
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def server(root, ray):
    dispatcher = queue.Dispatcher(root)
    yield dispatcher
    dispatcher.close()


@pytest.fixture
def folder():
    return runs.create(CONFIG, pair_id="a")


def says(folder, state, reason=""):
    """As its worker would."""
    runs.write_status(folder, state, reason, ACTING)


def test_a_run_is_one_job_with_one_cpu_named_after_run_and_attempt(server, ray, folder, monkeypatch):
    monkeypatch.setenv("PATCHWISE_SECRET", "not for others")
    server.start(folder.name)
    wait_for(lambda: ray.submitted)
    (name, job), = ray.submitted.items()
    assert name == job["submission_id"] == "patchwise-a-plain-1"
    assert job["entrypoint"].endswith(f"python -m vit.worker {folder} --heartbeat {runs.heartbeat_of(ACTING)}")
    assert job["entrypoint_num_cpus"] == 1
    assert job["runtime_env"]["env_vars"]["PATCHWISE_RUNS"] == str(runs.root())
    assert "PATCHWISE_SECRET" not in job["runtime_env"]["env_vars"]
    wait_for(lambda: runs.get(folder.name).reason == "It is handed to Ray.")
    assert runs.get(folder.name).state == "queued"


def test_the_folder_tells_on_which_node_it_trains_and_when_it_has_ended(server, ray, folder):
    server.start(folder.name)
    wait_for(lambda: server.children)
    with runs.locked(folder):
        says(folder, "running")
        ray.node("patchwise-a-plain-1")
        wait_for(lambda: where(runs.get(folder.name)) == "on Ray node 10.0.0.7")
        says(folder, "done")
    wait_for(lambda: not server.children)
    assert runs.get(folder.name).state == "done"
    assert len(ray.submitted) == 1


@pytest.mark.parametrize("left", ["running", "interrupted"])
def test_what_was_lost_with_its_node_is_submitted_again_before_all_others(server, ray, folder, monkeypatch, left):
    monkeypatch.setenv("PATCHWISE_WORKERS", "1")
    server.start(folder.name)
    wait_for(lambda: server.children)
    other = runs.create(CONFIG, pair_id="b")
    server.start(other.name)
    with runs.locked(folder):
        says(folder, left)
        ray.node("patchwise-a-plain-1")
        wait_for(lambda: read_ray_record(folder)["node"])
    ray.jobs["patchwise-a-plain-1"]["status"] = "FAILED"
    wait_for(lambda: len(ray.submitted) == 2)
    assert list(ray.submitted)[1] == "patchwise-a-plain-2"
    wait_for(lambda: runs.get(folder.name).reason == "Its Ray node 10.0.0.7 is gone. Attempt 2 is handed to Ray.")
    assert runs.get(other.name).state == "queued"


def test_who_never_gets_anywhere_is_not_submitted_for_ever(server, ray, folder):
    server.start(folder.name)
    for attempt in range(1, ray_jobs.MOST_IN_VAIN + 1):
        name = f"patchwise-a-plain-{attempt}"
        wait_for(lambda name=name: name in ray.jobs)
        ray.jobs[name] |= {"status": "FAILED", "driver_exit_code": 1, "message": "failed:\nNo module named 'torch'"}
    wait_for(lambda: runs.get(folder.name).state == "failed")
    assert runs.get(folder.name).reason == "Its worker ended with an error on Ray: No module named 'torch'"
    assert len(ray.submitted) == ray_jobs.MOST_IN_VAIN
    server.start(folder.name)  # whoever has mended it may try again
    wait_for(lambda: len(ray.submitted) == ray_jobs.MOST_IN_VAIN + 1)


def test_who_gets_further_each_time_goes_on_for_ever(server, ray, folder):
    server.start(folder.name)
    for attempt in range(1, ray_jobs.MOST_IN_VAIN + 3):
        name = f"patchwise-a-plain-{attempt}"
        wait_for(lambda attempt=attempt: read_ray_record(folder).get("attempt") == attempt and server.children)
        with runs.locked(folder):
            says(folder, "running")
            (folder / "state.safetensors").write_text(name)
        ray.jobs[name] = {"status": "FAILED"}


def test_a_cluster_that_was_started_anew_knows_nothing_and_gets_it_again(server, ray, folder):
    server.start(folder.name)
    wait_for(lambda: server.children)
    ray.jobs.clear()
    wait_for(lambda: list(ray.submitted) == ["patchwise-a-plain-1", "patchwise-a-plain-2"])


def test_what_somebody_stops_in_ray_stays_stopped(server, ray, folder):
    server.start(folder.name)
    wait_for(lambda: server.children)
    with runs.locked(folder):
        says(folder, "interrupted", "It was asked to end, and has saved.")
        ray.jobs["patchwise-a-plain-1"]["status"] = "STOPPED"
    wait_for(lambda: not server.children)
    assert (runs.get(folder.name).state, len(ray.submitted)) == ("interrupted", 1)


def test_who_is_stopped_before_ray_has_found_a_node_leaves_its_place(server, ray, folder):
    server.start(folder.name)
    wait_for(lambda: server.children)
    runs.stop(folder.name)
    wait_for(lambda: not server.children)
    assert ray.stopped == ["patchwise-a-plain-1"]
    assert runs.get(folder.name).state == "stopped"


def test_a_ray_that_does_not_answer_is_told_and_nothing_is_lost(server, ray, folder):
    ray.silent = True
    server.start(folder.name)
    wait_for(lambda: server.problem)
    assert server.problem.startswith("No run can be started at the moment. Ray ")
    assert runs.get(folder.name).state == "queued"
    ray.silent = False
    wait_for(lambda: list(ray.submitted) == ["patchwise-a-plain-1"])
    wait_for(lambda: not server.problem)


def test_workers_on_nodes_see_that_a_server_acts_also_while_ray_does_not_answer(server, ray, folder):
    server.start(folder.name)
    wait_for(lambda: server.children)
    ray.silent = True
    wait_for(lambda: server.problem)
    beat = runs.heartbeat_of(ACTING).stat().st_mtime_ns
    wait_for(lambda: runs.heartbeat_of(ACTING).stat().st_mtime_ns > beat)
    assert server.problem
    ray.silent = False
    wait_for(lambda: not server.problem)


def test_the_next_server_looks_after_jobs_that_go_on(server, ray, folder, root):
    server.start(folder.name)
    wait_for(lambda: server.children)
    with runs.locked(folder):
        says(folder, "running")
        other = queue.Dispatcher(root)
        server.close()
        wait_for(lambda: folder.name in other.children)
    ray.jobs["patchwise-a-plain-1"]["status"] = "FAILED"
    wait_for(lambda: list(ray.submitted) == ["patchwise-a-plain-1", "patchwise-a-plain-2"])
    other.close()


@pytest.mark.parametrize("record", ["", "[]", "null", '{"attempt": "1"}', '{"attempt": 1, "node": 3}', "[" * 20_000])
def test_a_damaged_record_means_that_nothing_is_known(folder, record):
    (folder / "ray.json").write_text(record)
    assert read_ray_record(folder) == {}


def test_on_ray_a_pair_may_take_what_this_machine_has_however_many_train(monkeypatch):
    monkeypatch.setattr(limits, "_machine_memory", lambda: 4e9)
    monkeypatch.setenv("PATCHWISE_WORKERS", "16")
    with pytest.raises(runs.RunError):
        limits.check_memory(1e9)
    monkeypatch.setenv("PATCHWISE_RAY", "http://127.0.0.1:1")
    limits.check_memory(1e9)
