"""Which pages the viewer's server lets in: WebSocket handshakes as browsers send them."""

from __future__ import annotations

import contextlib
import io
import socket
from collections.abc import Iterator
from typing import Any

import pytest

import ordern as on
from ordern.view.server import allowed, checked_origins, start

pytestmark = pytest.mark.needs("viser")

KEY = "dGhlIHNhbXBsZSBub25jZQ=="


def handshake(port: int, *origins: str, host: str = "") -> int:
    """The status of the answer: 101 where the socket is opened."""
    lines = ["GET / HTTP/1.1", f"Host: {host or f'localhost:{port}'}", "Upgrade: websocket", "Connection: Upgrade"]
    lines += [f"Sec-WebSocket-Key: {KEY}", "Sec-WebSocket-Version: 13", *(f"Origin: {x}" for x in origins), "", ""]
    with socket.create_connection(("127.0.0.1", port), timeout=20) as s:
        s.sendall("\r\n".join(lines).encode())
        return int(s.recv(4096).split()[1])


def page(port: int) -> int:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as s:
        s.sendall(f"GET / HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode())
        return int(s.recv(4096).split()[1])


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    made = start("origins", origins=["https://Hub.example.org:443/"])
    yield made
    with contextlib.redirect_stdout(io.StringIO()):
        made.stop()


def test_the_page_itself_and_programs_are_let_in(server: Any) -> None:
    port = server.get_port()
    assert page(port) == 200
    assert handshake(port) == 101
    for origin in (
        f"http://localhost:{port}",
        f"http://127.0.0.1:{port}",
        f"http://[::1]:{port}",
        "http://localhost:9",
    ):
        assert handshake(port, origin) == 101


def test_foreign_pages_are_not(server: Any) -> None:
    port = server.get_port()
    for origin in (
        "https://evil.example",
        f"http://evil.example:{port}",
        f"http://localhost.evil.example:{port}",
        "http://127.0.0.1.evil.example",
        "http://localhost@evil.example",
        "http://hub.example.org",
        "https://hub.example.org:8443",
        "file://localhost",
        "null",
        "",
    ):
        assert handshake(port, origin) == 403, origin
    assert handshake(port, f"http://localhost:{port}", "https://evil.example") != 101
    # a foreign name that was made to lead here: the page and the host have the same name
    assert handshake(port, f"http://evil.example:{port}", host=f"evil.example:{port}") == 403


def test_origins_that_are_named_are_let_in(server: Any) -> None:
    assert handshake(server.get_port(), "https://hub.example.org") == 101


def test_a_viewer_passes_them_on() -> None:
    with on.load("double-pendulum").view(browser=False, wait=False, origins=["https://a.example"]) as viewer:
        assert handshake(viewer.port, "https://a.example") == 101
        assert handshake(viewer.port, "https://b.example") == 403


def test_servers_that_others_start_are_left_alone() -> None:
    from websockets.asyncio import server as websockets

    before = websockets.serve
    made = start("other")
    try:
        assert websockets.serve is before
    finally:
        with contextlib.redirect_stdout(io.StringIO()):
            made.stop()


@pytest.mark.parametrize("origin", ["", "example.org", "ftp://example.org", "https://a/b", "https://", "http://a:x", 3])
def test_what_is_no_origin(origin: Any) -> None:
    with pytest.raises(on.ArgumentError, match="expected a scheme and a host"):
        checked_origins([origin])


def test_an_origin_is_compared_in_one_form() -> None:
    more = checked_origins("HTTP://Example.org:80/")
    assert allowed("http://example.org", more) and not allowed("http://example.org:81", more)
