"""Two servers behind nginx, with the configuration that deploy/ has."""

import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support.browser import settled
from tests.support.ray import free_port
from tests.support.visitor import PROJECT, serving, wait_until_healthy

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin:/opt/homebrew/bin")
pytestmark = pytest.mark.skipif(not NGINX, reason="There is no nginx here: apt-get install nginx-light brings it.")

REMEMBER_STAGES = """() => {
  const app = document.querySelector('[data-testid=stApp]');
  window.stages = [];
  const note = () => window.stages.push(`${app.dataset.testConnectionState} ${app.dataset.testScriptState}`);
  new MutationObserver(note).observe(app, { attributes: true });
}"""
AWAY_AND_BACK = """() => {
  const left = window.stages.findIndex((stage) => !stage.startsWith('CONNECTED'));
  const since = window.stages.slice(left);
  return left >= 0 && since.includes('CONNECTED running') && since.at(-1) === 'CONNECTED notRunning';
}"""


class Replicas:
    def __init__(self, folder: Path, servers: dict):
        self.folder, self.servers = folder, servers
        self.url = ""

    def server_of(self, path: str):
        """The one that nginx has last asked for a path."""
        lines = [line.split() for line in (self.folder / "patchwise-nginx.log").read_text().splitlines()]
        return self.servers[[line[4] for line in lines if line[3] == path][-1]]


@pytest.fixture
def replicas(tmp_path):
    port = free_port()
    with ExitStack() as stack:
        started = [stack.enter_context(serving(runs=tmp_path / "runs")) for _ in range(2)]
        found = Replicas(tmp_path, {url.removeprefix("http://"): process for url, process in started})
        shutil.copy(PROJECT / "deploy" / "nginx.conf", tmp_path)
        upstream = (PROJECT / "deploy" / "upstream.conf").read_text()
        for example, address in zip(("127.0.0.1:8501", "127.0.0.1:8502"), found.servers, strict=True):
            assert example in upstream
            upstream = upstream.replace(example, address)
        (tmp_path / "upstream.conf").write_text(upstream)
        (tmp_path / "listen.conf").write_text(f"listen 127.0.0.1:{port};")
        nginx = subprocess.Popen([NGINX, "-p", tmp_path, "-c", tmp_path / "nginx.conf", "-g", "daemon off;"])
        found.url = f"http://127.0.0.1:{port}"
        try:
            wait_until_healthy(found.url)
            yield found
        finally:
            nginx.terminate()
            nginx.wait(20)


def test_a_visitor_stays_with_one_server_and_goes_on_at_another_when_it_is_killed(replicas, new_page):
    # In this order: the page is closed before the servers go.
    page = new_page()
    page.goto(f"{replicas.url}/patches?d=s3")
    expect(page.get_by_role("heading", name="How does a picture become words?")).to_be_visible()
    settled(page)  # what a browser fetches when its server is killed is an error in its console
    asked = (replicas.folder / "patchwise-nginx.log").read_text().split("/patches ", 1)[1]
    assert len({line.split()[4] for line in asked.splitlines()[1:]}) == 1
    assert "d=s3" not in asked  # what a visitor draws is written down nowhere
    page.evaluate(REMEMBER_STAGES)
    replicas.server_of("/patches").kill()
    page.wait_for_function(AWAY_AND_BACK, timeout=180_000)
    page.get_by_role("link", name="Logits").click()  # the menu drops what the address holds
    expect(page.get_by_role("heading", name="Why this answer?")).to_be_visible()
    expect(page).to_have_url(f"{replicas.url}/logits?d=s3")
