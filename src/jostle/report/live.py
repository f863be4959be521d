"""The page of a running campaign on this machine alone: for whoever has the token, and only to look at.

A page elsewhere cannot ask for it: the address has a secret, other names of this machine are refused (DNS rebinding),
and nothing but GET is answered.
"""

from __future__ import annotations

import secrets
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from jostle.errors import JostleError, UsageError
from jostle.report.contents import Contents
from jostle.report.render import Live, data_of, rendered

LOOPBACK = "127.0.0.1"
HOSTS = (LOOPBACK, "localhost")
SECONDS = 3.0  # between two questions of a page, and at least between two readings of the folder
HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
}
NO_MORE: Mapping[str, str] = {}


@dataclass
class LatestContents:
    """A campaign that is read anew when somebody asks, but not more often than every few seconds."""

    read: Callable[[], Contents]
    seconds: float = SECONDS
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _last: tuple[float, Contents] | None = None

    def contents(self) -> Contents:
        with self._lock:
            if self._last is None or time.monotonic() - self._last[0] >= self.seconds:
                contents = self.read()
                self._last = (time.monotonic(), contents)
            return self._last[1]


@dataclass(frozen=True)
class LivePage:
    """A server that is ready to answer."""

    server: ThreadingHTTPServer
    token: str

    @property
    def address(self) -> str:
        return f"http://{LOOPBACK}:{self.server.server_port}/?token={self.token}"

    def serve(self) -> None:
        """Until somebody interrupts."""
        with self.server:
            self.server.serve_forever()


def live_page(read: Callable[[], Contents], port: int = 0) -> LivePage:
    """The page of a campaign; port 0 takes any that is free, and one that is taken is refused."""
    latest, token = LatestContents(read), secrets.token_urlsafe(24)
    latest.contents()  # a folder that holds no campaign is refused now
    try:
        server = _Server((LOOPBACK, port), partial(_Answers, latest, token))
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(
            f"--port {port} cannot be used ({reason}): give another, or none to take a free one"
        ) from error
    return LivePage(server, token)


class _Server(ThreadingHTTPServer):
    """One thread for each request; visitors who leave early are no error."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class _Answers(BaseHTTPRequestHandler):
    """Answers one request."""

    server_version, sys_version = "jostle", ""
    timeout = 30  # seconds for a client to say what it wants

    def __init__(self, latest: LatestContents, token: str, *arguments: object):
        self._latest, self._token = latest, token
        super().__init__(*arguments)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        refusal = self._refusal()
        if refusal is not None:
            self._answer(refusal, b"", "text/plain; charset=utf-8")
            return
        asked = urlsplit(self.path).path
        try:
            contents = self._latest.contents()
        except JostleError as error:  # the folder went away
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, str(error).encode(), "text/plain; charset=utf-8")
            return
        if asked == "/data.json":
            self._answer(HTTPStatus.OK, data_of(contents), "application/json")
        else:
            page = rendered(contents, Live(f"/data.json?token={self._token}", self._latest.seconds))
            self._answer(HTTPStatus.OK, page.encode(), "text/html; charset=utf-8")

    def do_POST(self) -> None:
        """Refuses all but GET; who asks with HEAD gets no body."""
        self._answer(HTTPStatus.METHOD_NOT_ALLOWED, b"", "text/plain; charset=utf-8", {"Allow": "GET"})

    do_HEAD = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_POST

    def _refusal(self) -> HTTPStatus | None:
        """Why a request is not answered, None if it is."""
        port = self.connection.getsockname()[1]
        if self.headers.get("Host", "") not in {f"{host}:{port}" for host in HOSTS}:
            return HTTPStatus.MISDIRECTED_REQUEST
        asked = urlsplit(self.path)
        given = parse_qs(asked.query).get("token", [""])[0]
        if not secrets.compare_digest(given.encode(), self._token.encode()):
            return HTTPStatus.FORBIDDEN
        return None if asked.path in ("/", "/data.json") else HTTPStatus.NOT_FOUND

    def _answer(self, status: HTTPStatus, content: bytes, kind: str, more: Mapping[str, str] = NO_MORE) -> None:
        body = content or f"{status.value} {status.phrase}\n".encode()
        self.send_response(status)
        for name, value in {**HEADERS, "Content-Type": kind, "Content-Length": str(len(body)), **more}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Says nothing: the address has the token in it."""
