"""Standard streams that accept any text, also if the terminal has few letters or is closed."""

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
"""The status of a command whose output is no longer read: 128 plus the number of SIGPIPE, as in shells."""


def guarded(command: Callable[[], int]) -> int:
    """Run a command and return its status. A stream that fails gives a status, not a traceback."""
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
    """Return whether writing to a stream failed, for example on a full disk: such an error names no file."""
    return e.filename is None and e.errno in (errno.ENOSPC, errno.EIO, errno.EBADF, errno.EFBIG)


def _reopen() -> None:
    """Open streams on nothing if they were closed before the command began.

    Python has None in their place. Their numbers would go to the next files that are opened.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


@contextlib.contextmanager
def _degrading() -> Iterator[None]:
    """Make both streams replace letters that their encoding does not have."""
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
    """Return the replacement of letters that an encoding does not have."""
    if not isinstance(e, UnicodeEncodeError):
        raise e
    return "".join(_PLAIN.get(x) or _escaped(ord(x)) for x in e.object[e.start : e.end]), e.end


def _escaped(code: int) -> str:
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _silence(*streams: TextIO) -> None:
    """Discard the buffers of streams, so that Python does not fail when it exits."""
    for stream in streams or (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            target = os.open(os.devnull, os.O_WRONLY)
            os.dup2(target, stream.fileno())
            os.close(target)
