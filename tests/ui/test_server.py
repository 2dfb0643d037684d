import socket
import tomllib
from pathlib import Path

import pytest
import streamlit
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import FileResponse, PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient, WebSocketDenialResponse

from vit.ui import server, visitor

PROJECT = Path(__file__).parents[2]
OURS = ["localhost", "localhost:8501", "127.0.0.1", "127.0.0.1:8501", "[::1]:8501", "192.168.1.7:80",
        socket.gethostname()]
FOREIGN = ["evil.example", "evil.example:8501", "localhost.evil.example", "127.0.0.1.evil.example", "", "1.2.3", "[x]"]


async def page(request):
    return PlainTextResponse("page")


async def stream(websocket):
    await websocket.accept()
    await websocket.close()


def client():
    routes = [Route("/", page), WebSocketRoute("/stream", stream)]
    return TestClient(Starlette(routes=routes, middleware=server.middleware()), base_url="http://localhost")


@pytest.mark.parametrize("host", OURS)
def test_this_machine_s_names_and_addresses_are_answered(host):
    assert client().get("/", headers={"host": host}).text == "page"
    with client().websocket_connect("/stream", headers={"host": host}):
        pass


@pytest.mark.parametrize("host", FOREIGN)
def test_a_name_that_somebody_else_gives_is_refused(host):
    answer = client().get("/", headers={"host": host})
    assert answer.status_code == 421
    assert "does not answer to that name" in answer.text
    with pytest.raises(WebSocketDenialResponse), client().websocket_connect("/stream", headers={"host": host}):
        pass


@pytest.mark.parametrize(("host", "allowed", "known"), [
    ("app.example.com:443", ["app.example.com"], True), ("APP.example.com", ["app.Example.com"], True),
    ("a.example.com", ["*.example.com"], True), ("example.com", ["*.example.com"], False),
    ("notexample.com", ["*.example.com"], False), ("anything.example", ["*"], True),
])  # fmt: skip
def test_hosts_can_allow_names(host, allowed, known):
    assert server.is_known(host, allowed) == known


def test_no_other_site_may_frame_the_app_unless_it_is_named(monkeypatch):
    assert client().get("/").headers["content-security-policy"] == "frame-ancestors 'self'"
    monkeypatch.setenv(server.FRAMED_BY, "https://school.example")
    assert client().get("/").headers["content-security-policy"] == "frame-ancestors 'self' https://school.example"


def test_by_default_only_this_machine_is_answered():
    settings = tomllib.loads((PROJECT / ".streamlit" / "config.toml").read_text())
    assert settings["server"]["address"] == "localhost"


def test_the_app_runs_the_script_behind_these_rules():
    from app import app

    assert Path(app.script_path) == server.SCRIPT
    assert {rule.cls for rule in app._user_middleware} == {
        server.KnownHosts, server.NoFrames, server.KnownVisitors, server.OwnLook}


# Which browser it is


def first_page(monkeypatch=None, framed_by="", **headers):
    """What a browser is told with its first page."""
    if monkeypatch:
        monkeypatch.setenv(server.FRAMED_BY, framed_by)
    routes = [Route("/{path:path}", streamlit_s_page)]
    browser = TestClient(Starlette(routes=routes, middleware=server.middleware()), base_url="http://localhost")
    return browser, browser.get("/train", headers={"accept": "text/html,*/*", **headers})


def test_each_browser_gets_a_secret_that_no_script_and_no_other_site_can_use():
    told = [first_page()[1].headers["set-cookie"] for _ in range(2)]
    secrets = {words.partition(";")[0] for words in told}
    assert len(secrets) == 2
    assert all(visitor.is_secret(words.partition("=")[2]) for words in secrets)
    for words in told:
        assert words.endswith("; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax")


def test_a_browser_that_has_a_secret_keeps_it():
    browser, _ = first_page()
    kept = browser.cookies[visitor.COOKIE]
    assert "set-cookie" not in browser.get("/", headers={"accept": "text/html"}).headers
    assert browser.cookies[visitor.COOKIE] == kept


@pytest.mark.parametrize("kept", ["", "short", "x" * 44, "<script>", '"' + "x" * 43])
def test_what_is_no_secret_is_replaced(kept):
    assert visitor.COOKIE in first_page(cookie=f"{visitor.COOKIE}={kept}")[1].headers["set-cookie"]


def test_only_pages_bring_a_secret():
    assert "set-cookie" not in client().get("/", headers={"accept": "text/html"}).headers  # plain text
    assert "set-cookie" not in first_page(accept="*/*")[1].headers  # asked for by a script


def test_where_it_is_encrypted_the_secret_stays_encrypted_and_in_the_frame_that_was_allowed(monkeypatch):
    encrypted = {"x-forwarded-proto": "https"}
    assert first_page(**encrypted)[1].headers["set-cookie"].endswith("HttpOnly; SameSite=Lax; Secure")
    framed = first_page(monkeypatch, "https://school.example", **encrypted)[1].headers["set-cookie"]
    assert framed.endswith("HttpOnly; SameSite=None; Secure; Partitioned")
    assert first_page(monkeypatch, "https://school.example")[1].headers["set-cookie"].endswith("SameSite=Lax")


# Our look


async def streamlit_s_page(request):
    return FileResponse(Path(streamlit.__file__).parent / "static" / "index.html")


def test_streamlit_s_page_comes_with_our_look_even_to_a_browser_that_kept_it_without():
    bare = TestClient(Starlette(routes=[Route("/", streamlit_s_page)]))
    rules = [*server.middleware(), Middleware(GZipMiddleware)]
    dressed = TestClient(Starlette(routes=[Route("/", streamlit_s_page)], middleware=rules), base_url="http://localhost")
    kept = bare.get("/").headers["etag"]
    answer = dressed.get("/", headers={"accept": "text/html,*/*", "if-none-match": kept})
    assert answer.status_code == 200
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert "etag" not in answer.headers
    look, _, rest = answer.text.partition('<div id="root"></div>')
    assert "--patchwise-accent: #00b4d8" in look
    assert ".pw-answer {" in look
    assert rest.strip().startswith("</body>")


def test_what_is_no_page_is_left_as_it_is():
    assert client().get("/", headers={"accept": "text/html"}).text == "page"
