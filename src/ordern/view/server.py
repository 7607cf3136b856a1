"""Start viser, with errors that say what to do, for pages of this machine and of named origins only.

A browser lets any page open a WebSocket to this machine, and names the page in the header "Origin". Without a check of
this header, every page that is open anywhere in the browser could see the robot and move it.
"""

from __future__ import annotations

import contextlib
import io
import logging
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from http import HTTPStatus
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from ..errors import ArgumentError, OrdernError

__all__ = ["HOST", "MissingViserError", "PortError", "allowed", "checked_origins", "require_viser", "start", "stop"]

HOST = "127.0.0.1"
"""Pages are served to this machine only; others reach them through a tunnel."""
_FIRST = 8080
_OWN = frozenset({"localhost", "127.0.0.1", "::1"})
"""Names of this machine. The port does not matter: a tunnel may have another one at its near end."""
_LOCK = threading.Lock()


class MissingViserError(OrdernError, ImportError):
    """viser, which draws, is not installed."""


class PortError(OrdernError, OSError):
    """A port that cannot be listened on."""


def start(label: str, port: int | None = None, origins: Iterable[str] = ()) -> Any:
    """Return a viser server on this port, or on the first free port from 8080 on.

    Pages of this machine and of the given `origins` may connect to it.
    """
    viser = require_viser()
    if port is not None:
        _check(port)
    server = None
    try:
        with _silent(), guarded(checked_origins(origins)):  # viser prints a box
            server = viser.ViserServer(host=HOST, port=_FIRST if port is None else port, label=label, verbose=False)
    except OrdernError:
        if server is not None:
            stop(server)
        raise
    return server


def stop(server: Any) -> None:
    """Stop a server, without a word."""
    with _silent():
        server.stop()


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Keep viser from printing.

    It prints by rich, which in a notebook adds outputs to the cell, and by `print`; websockets writes to the log.
    """
    console: Any = None
    log = logging.getLogger("websockets.server")
    level = log.level
    with contextlib.suppress(ImportError):
        console = import_module("rich").get_console()
    before = getattr(console, "quiet", False)
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            if console is not None:
                console.quiet = True
            log.setLevel(max(level, logging.WARNING))
            yield
        finally:
            log.setLevel(level)
            if console is not None:
                console.quiet = before


def require_viser() -> Any:
    """Import viser; the error says how to install it."""
    try:
        return import_module("viser")
    except ImportError as e:
        raise MissingViserError(
            f"viewing needs viser, which is not installed ({e}): pip install 'ordern[view]'"
        ) from None


def _check(port: int) -> None:
    given: object = port
    if not isinstance(given, int) or isinstance(given, bool) or not 0 < given < 65536:
        raise ArgumentError(f"port must be a whole number from 1 to 65535, not {port!r}")
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as e:
            raise PortError(
                f"port {port} cannot be used ({e.strerror or e}): give another one, or leave it out"
            ) from None


def checked_origins(origins: Iterable[str]) -> frozenset[str]:
    """Return the origins as browsers write them; `ArgumentError` for anything else."""
    if isinstance(origins, str):
        origins = (origins,)
    found = set()
    for given in origins:
        origin: object = given
        plain = _plain(origin) if isinstance(origin, str) else None
        if plain is None:
            raise ArgumentError(
                f"origins: {origin!r} is not an origin; expected a scheme and a host, such as https://example.org:8888"
            )
        found.add(plain)
    return frozenset(found)


def _plain(origin: str) -> str | None:
    """Return an origin in lower case, without the default port; None if it is not an origin."""
    try:
        parts = urlsplit(origin.strip().rstrip("/"))
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path or parts.query or parts.username:
        return None
    usual = {"http": 80, "https": 443}[parts.scheme]
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}" + (f":{port}" if port not in (None, usual) else "")


def allowed(origin: str | None, more: frozenset[str] = frozenset()) -> bool:
    """Return whether a page of this origin may connect; programs other than browsers have no origin, and may.

    The name in the header decides, not the address that it resolves to: a foreign name may resolve to this machine.
    """
    if origin is None:
        return True
    plain = _plain(origin)
    return plain is not None and (urlsplit(plain).hostname in _OWN or plain in more)


@contextlib.contextmanager
def guarded(more: frozenset[str] = frozenset()) -> Iterator[None]:
    """Make a viser server that starts in this context refuse pages that are not allowed; raise if that is impossible.

    viser has no setting for it, but serves through the library websockets, which calls a function for each request.
    """
    from websockets.asyncio import server as websockets

    serve, served = websockets.serve, []

    def serve_guarded(*arguments: Any, process_request: Callable[..., Any] | None = None, **settings: Any) -> Any:
        def process(connection: Any, request: Any) -> Any:
            origins = request.headers.get_all("Origin")
            if any(not allowed(origin, more) for origin in origins):
                return connection.respond(HTTPStatus.FORBIDDEN, "This page may not use the viewer; see `origins`.\n")
            return None if process_request is None else process_request(connection, request)

        served.append(True)
        return serve(*arguments, process_request=process, **settings)

    with _LOCK:
        websockets.serve = serve_guarded
        try:
            yield
        finally:
            websockets.serve = serve
    if not served:
        raise OrdernError("this version of viser cannot be kept from serving foreign pages; install another: viser<2")
