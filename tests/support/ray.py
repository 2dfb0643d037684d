"""A Ray cluster of two nodes on this machine, each with one CPU and an address of its own, as two machines have."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

HEAD, SECOND = "127.0.0.2", "127.0.0.3"  # Ray would look for another address than 127.0.0.1
NODE = ["--num-cpus=1", "--num-gpus=0", "--object-store-memory=100000000", "--disable-usage-stats"]


class Cluster:
    def __init__(self, folder: Path):
        self.folder = folder
        self.gcs, dashboard = free_port(), free_port()
        self.address = f"http://127.0.0.1:{dashboard}"
        self._head = ("--head", f"--port={self.gcs}", f"--node-ip-address={HEAD}", "--dashboard-host=127.0.0.1",
                    f"--dashboard-port={dashboard}", "--include-dashboard=true", f"--temp-dir={folder}")

    def start(self) -> None:
        self._start(*self._head)
        self._start(f"--address={HEAD}:{self.gcs}", f"--node-ip-address={SECOND}", "--dashboard-agent-listen-port=0")

    def _start(self, *arguments: str) -> None:
        binaries = Path(sys.executable).parent  # where a job finds our Python
        environment = os.environ | {"PATH": f"{binaries}:{os.environ['PATH']}", "RAY_USAGE_STATS_ENABLED": "0",
                                    "RAY_raylet_start_wait_time_s": "600"}  # for a busy machine
        with (self.folder / "start.log").open("a") as log:  # no pipe: what it starts would hold it open
            subprocess.run([binaries / "ray", "start", *arguments, *NODE], check=True, timeout=900, env=environment,
                           stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def kill_node(self, address: str) -> None:
        """As if its machine lost power: all its processes at once, those that its jobs have started too."""
        for raylet in self._processes(f"--node_ip_address={address}"):
            for pid in [raylet, *descendants(raylet)]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def stop(self) -> None:
        for node in (SECOND, HEAD):
            self.kill_node(node)
        for pid in self._processes(str(self.folder)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _processes(self, word: str) -> list[int]:
        """Those of this cluster whose command line has a word, raylets before all others."""
        found = []
        for file in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                command = file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if str(self.folder) in command and word in command and int(file.parent.name) != os.getpid():
                    found.append((not command.split()[0].endswith("raylet"), int(file.parent.name)))
        return [pid for _, pid in sorted(found)]


def descendants(pid: int) -> list[int]:
    found = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, file.read_text().split()):
                found += [child, *descendants(child)]
    return found


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextmanager
def cluster():
    with TemporaryDirectory(prefix="ray", dir="/tmp", ignore_cleanup_errors=True) as folder:  # sockets need short names
        found = Cluster(Path(folder))
        try:
            found.start()
            yield found
        finally:
            found.stop()


def is_installed() -> bool:
    return shutil.which("ray", path=str(Path(sys.executable).parent)) is not None
