"""Standard streams that take what commands print: any text, also where the terminal has few letters or has gone."""

from __future__ import annotations

import codecs
import contextlib
import errno
import os
import sys
from collections.abc import Callable, Iterator
from typing import TextIO

__all__ = ["guarded", "is_of_stream"]

_ERRORS = "ordern-plain"
_CHOSEN = ("replace", "ignore", "backslashreplace", "xmlcharrefreplace", "namereplace")
_PLAIN = {"└": "`", "├": "|", "─": "-", "│": "|", "█": "#", "░": ".", "²": "^2", "³": "^3"}
_NO_READER = 141
"""The status of a command whose output nobody reads any more: 128 and the number of SIGPIPE, as shells have it."""


def guarded(command: Callable[[], int]) -> int:
    """Run a command and return its status; a stream that fails is no traceback, but a status."""
    _reopen()
    with _degrading():
        try:
            status = command()
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            return status
        except BrokenPipeError:  # the reader of a pipe, such as `head`, has seen enough
            _silence()
            return _NO_READER
        except KeyboardInterrupt:
            return 130
        except OSError as e:
            if not is_of_stream(e):
                raise
            _silence(sys.stdout)
            with contextlib.suppress(OSError):
                print(f"ordern: error: the output cannot be written: {e.strerror or e}", file=sys.stderr, flush=True)
            return 2


def is_of_stream(e: OSError) -> bool:
    """Whether an error is one of writing to a stream, of a full disk say: it names no file."""
    return e.filename is None and e.errno in (errno.ENOSPC, errno.EIO, errno.EBADF, errno.EFBIG)


def _reopen() -> None:
    """Open streams that were closed before the command began, on nothing.

    Python has None in their place. Their numbers would go to the next files that are opened.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


@contextlib.contextmanager
def _degrading() -> Iterator[None]:
    """Let both streams write letters that their encoding does not have, in letters that it has."""
    codecs.register_error(_ERRORS, _plain)
    changed = []
    for stream in (sys.stdout, sys.stderr):
        before = getattr(stream, "errors", None)
        if hasattr(stream, "reconfigure") and (stream is sys.stderr or before not in _CHOSEN):
            stream.reconfigure(errors=_ERRORS)
            changed.append((stream, before))
    try:
        yield
    finally:
        for stream, before in changed:
            with contextlib.suppress(OSError, ValueError):  # one that has been closed in between
                stream.reconfigure(errors=before)


def _plain(e: UnicodeError) -> tuple[str, int]:
    """What is written in place of letters that an encoding does not have."""
    if not isinstance(e, UnicodeEncodeError):
        raise e
    return "".join(_PLAIN.get(x) or _escaped(ord(x)) for x in e.object[e.start : e.end]), e.end


def _escaped(code: int) -> str:
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _silence(*streams: TextIO) -> None:
    """Send what streams still hold nowhere, so that Python does not complain when it ends."""
    for stream in streams or (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            target = os.open(os.devnull, os.O_WRONLY)
            os.dup2(target, stream.fileno())
            os.close(target)
