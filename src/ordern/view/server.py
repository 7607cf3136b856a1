"""Starting viser, with errors that say what to do."""

from __future__ import annotations

import contextlib
import io
import socket
from collections.abc import Iterable
from typing import Any

from ..errors import ArgumentError, OrdernError
from .origins import checked_origins, guarding

__all__ = ["HOST", "MissingViserError", "PortError", "start"]

HOST = "127.0.0.1"
"""Pages are for this machine; others reach them through a tunnel."""
_FIRST = 8080


class MissingViserError(OrdernError, ImportError):
    """The library that draws is not installed."""


class PortError(OrdernError, OSError):
    """A port that cannot be listened on."""

    def __str__(self) -> str:
        return str(self.args[0])


def start(label: str, port: int | None = None, origins: Iterable[str] = ()) -> Any:
    """Return a viser server on this port, or on the first from 8080 on that is free.

    Pages of this machine may connect to it, and those of other `origins`.
    """
    more = checked_origins(origins)
    try:
        import viser
    except ImportError as e:
        raise MissingViserError(
            f"viewing needs viser, which is not installed ({e}): pip install 'ordern[view]'"
        ) from None
    if port is not None:
        _check(port)
    server = None
    try:
        with contextlib.redirect_stdout(io.StringIO()), guarding(more):  # it prints a box
            server = viser.ViserServer(host=HOST, port=_FIRST if port is None else port, label=label, verbose=False)
    except OrdernError:
        if server is not None:
            server.stop()
        raise
    return server


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
                f"port {port} cannot be used ({e.strerror or e}): give another one, or none for the first that is free"
            ) from None
