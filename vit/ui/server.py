"""Who may reach the app, and in what: rules for every request, before Streamlit sees it.

A page on the web can make a visitor's browser ask a server on the visitor's own machine, under a name of its choice
(DNS rebinding), or show that server's pages in a frame and have the visitor click there.

The one HTML file that Streamlit serves also gets what all our pages share, such as their style.
There it is sent once per visit, where an element of a page is sent with every click.
"""

import ipaddress
import os
import secrets
import socket
from collections.abc import Iterable
from pathlib import Path

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vit.ui import markup, visitor

SCRIPT = Path(__file__).with_name("script.py")
FRAMED_BY = "PATCHWISE_FRAMED_BY"  # environment variable: sites that may show the app in a frame, separated by spaces


def middleware() -> list[Middleware]:
    return [Middleware(KnownHosts), Middleware(NoFrames), Middleware(KnownVisitors), Middleware(OwnLook)]


class KnownHosts:
    """Answers only where it was asked for by an address, by this machine's own name, or by a name that was allowed."""

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            host = Headers(scope=scope).get("host", "")
            if not is_known(host, st.get_option("server.allowedHosts")):
                refusal = PlainTextResponse(
                    "This server does not answer to that name. Whoever runs it can allow it with "
                    "--server.allowedHosts NAME.\n", status_code=421,
                )
                await refusal(scope, receive, send)
                return
        await self.app(scope, receive, send)


def is_known(host: str, allowed: Iterable[str]) -> bool:
    """`host` as it stands in a request, perhaps with a port. No name that somebody else gives is an address."""
    name = host.strip().lower()
    name = name[1:].partition("]")[0] if name.startswith("[") else name.partition(":")[0]
    own = socket.gethostname().lower()
    if name in ("localhost", own, f"{own}.local") or _is_address(name):
        return True
    return any(pattern == "*" or name == pattern.lower()
               or (pattern.startswith("*.") and name.endswith(pattern[1:].lower())) for pattern in allowed)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class NoFrames:
    """No page of another site may show ours in a frame, but for those that the environment names."""

    def __init__(self, app: ASGIApp):
        self.app = app
        self.policy = f"frame-ancestors 'self' {os.environ.get(FRAMED_BY, '')}".strip()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_policy(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["Content-Security-Policy"] = self.policy
                headers["X-Content-Type-Options"] = "nosniff"
            await send(message)

        await self.app(scope, receive, with_policy if scope["type"] == "http" else send)


class KnownVisitors:
    """Gives each browser a secret of its own with its first page, by which it is known again: it controls the runs that
    it starts. The browser sends it also when it opens the stream of a session."""

    A_YEAR = 365 * 24 * 3600

    def __init__(self, app: ASGIApp):
        self.app = app
        self.framed = bool(os.environ.get(FRAMED_BY))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_secret(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if headers.get("content-type", "").startswith("text/html"):
                    headers.append("set-cookie", self.cookie(scope))
            await send(message)

        await self.app(scope, receive, with_secret if self.is_new(scope) else send)

    @staticmethod
    def is_new(scope: Scope) -> bool:
        if scope["type"] != "http" or scope["method"] != "GET":
            return False
        headers = Headers(scope=scope)
        known = cookie_parser(headers.get("cookie", "")).get(visitor.COOKIE, "")
        return "text/html" in headers.get("accept", "") and not visitor.is_secret(known)

    def cookie(self, scope: Scope) -> str:
        """Not for scripts, and not for other sites. In a frame, browsers keep it only if it is said to be for one."""
        encrypted = "https" in (scope["scheme"], Headers(scope=scope).get("x-forwarded-proto"))
        limits = "SameSite=None; Secure; Partitioned" if encrypted and self.framed else "SameSite=Lax"
        if encrypted and not self.framed:
            limits += "; Secure"
        return f"{visitor.COOKIE}={secrets.token_urlsafe(32)}; Path=/; Max-Age={self.A_YEAR}; HttpOnly; {limits}"


class OwnLook:
    """Puts what all our pages share into the HTML file, in front of all that Streamlit shows."""

    PLACE = b'<div id="root"></div>'
    # Nothing can be put into a packed file, and who asks whether it has changed would keep one without our look.
    NOT_ASKED = (b"accept-encoding", b"if-none-match", b"if-modified-since")

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked_for = Headers(scope=scope).get("accept", "") if scope["type"] == "http" else ""
        if "text/html" not in asked_for or scope["method"] != "GET":
            await self.app(scope, receive, send)
            return
        start: Message = {}
        body = b""

        async def with_our_look(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start":
                start = message
                return
            body += message.get("body", b"")
            if message.get("more_body"):
                return
            headers = MutableHeaders(scope=start)
            if headers.get("content-type", "").startswith("text/html") and self.PLACE in body:
                body = body.replace(self.PLACE, markup.around_pages().encode() + self.PLACE)
                headers["content-length"] = str(len(body))
                for validator in ("etag", "last-modified"):
                    del headers[validator]
            await send(start)
            await send({"type": "http.response.body", "body": body})

        headers = [(name, value) for name, value in scope["headers"] if name not in self.NOT_ASKED]
        await self.app({**scope, "headers": headers}, receive, with_our_look)
