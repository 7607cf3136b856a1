"""The progress of long work: a bar in notebooks and terminals, plain lines in logs."""

from __future__ import annotations

import contextlib
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any, TypeVar

from ..errors import ArgumentError
from .notebook import in_notebook, output

__all__ = ["Bar", "Progress", "counted", "lasting", "reported", "require_progress"]

T = TypeVar("T")
Progress = bool | Callable[[float], Any] | None
"""The argument `progress` of long functions: True for a bar, or a function of the fraction done."""
_WIDTH = 40
_REDRAW = {"terminal": 0.1, "notebook": 0.25}
"""Seconds between two pictures of a bar."""
_FIRST_LINE, _NEXT_LINE, _LATEST_LINE = 3.0, 5.0, 60.0
"""Seconds before the first line of a log, and from a line to the next one: at least, and at most."""
_SHARE = 0.1
"""A log has a line for each tenth of the work, unless that is too often or too seldom."""


class Bar(contextlib.AbstractContextManager["Bar"]):
    """The share of work that is done, and the time that is left; call it with the fraction done, and a note on it.

    In a notebook it is a bar below the cell, in a terminal a line on stderr that is redrawn. Elsewhere, as in a log
    file, lines are written to stderr: the first one after some seconds, so that short work writes nothing.
    """

    def __init__(self, label: str = "", *, clock: Callable[[], float] = time.perf_counter) -> None:
        self._label, self._clock = f"{label}: " if label else "", clock
        self._began, self._from, self._length = clock(), 0.0, 0
        self._drawn, self._told, self._open = -1e9, -1.0, False
        self._closed, self._note = False, ""
        self._update: Callable[[str, str], None] | None = None

    def begin(self, fraction: float) -> None:
        """Say what share of the work was done before, so that the time left is that of the rest."""
        self._began, self._from = self._clock(), fraction

    def __call__(self, fraction: float, note: str = "") -> None:
        """Show the fraction that is done; at 1 the bar is complete."""
        if self._closed:
            return
        self._note = f", {note}" if note else ""
        now = self._clock()
        kind = self._kind()
        done = fraction >= 1.0
        if kind == "log":
            self._line(now, fraction)
        elif kind and (done or now - self._drawn >= _REDRAW[kind]):
            self._drawn = now
            (self._in_notebook if kind == "notebook" else self._in_terminal)(fraction, now - self._began)
        self._closed = done

    def close(self) -> None:
        """End the bar of work that ended early, so that the next text starts on a new line."""
        if self._open and not self._closed and sys.stderr is not None:
            sys.stderr.write("\n")
            sys.stderr.flush()
        self._closed = True

    def __exit__(self, *_: object) -> None:
        self.close()

    @staticmethod
    def _kind() -> str:
        if in_notebook():
            return "notebook"
        if sys.stderr is None:  # a program without a console
            return ""
        return "terminal" if sys.stderr.isatty() else "log"

    def _text(self, fraction: float, passed: float) -> str:
        if fraction >= 1.0:
            return (f"100.0%, {lasting(passed)}" if passed >= 1.0 else "100.0%") + self._note
        done = fraction - self._from
        left = f", {lasting(passed * (1.0 - fraction) / done)} left" if done > 0.005 and passed > 1.0 else ""
        return f"{fraction:.1%}{left}{self._note}"

    def _in_terminal(self, fraction: float, passed: float) -> None:
        full = round(_WIDTH * min(1.0, fraction))
        done, rest = _blocks(sys.stderr.encoding)
        text = f"{self._label}{done * full}{rest * (_WIDTH - full)} {self._text(fraction, passed)}"
        most = shutil.get_terminal_size().columns - 1  # a line that wraps cannot be redrawn
        self._length = min(most, max(self._length, len(text), len(self._label) + _WIDTH + 28))
        sys.stderr.write(f"\r{text[:most]:<{self._length}}" + ("\n" if fraction >= 1.0 else ""))
        sys.stderr.flush()
        self._open = True

    def _in_notebook(self, fraction: float, passed: float) -> None:
        from html import escape

        text = f"{self._label}{self._text(fraction, passed)}"
        bar = f'<progress value="{min(1.0, fraction):.4f}" max="1" style="width:20em"></progress>'
        html = f'{bar} <span style="font-variant-numeric:tabular-nums">{escape(text)}</span>'
        if self._update is None:
            self._update = output(html, text)
        else:
            self._update(html, text)

    def _line(self, now: float, fraction: float) -> None:
        began = self._told < 0.0
        since = now - self._began if began else now - self._drawn
        due = since >= _FIRST_LINE if began else since >= _NEXT_LINE and fraction >= self._told + _SHARE
        late = not began and since >= _LATEST_LINE
        if due or late or (fraction >= 1.0 and not began):
            self._drawn, self._told = now, fraction
            sys.stderr.write(f"{self._label}{self._text(fraction, now - self._began)}\n")
            sys.stderr.flush()


def counted(things: Iterable[T], label: str = "", total: int | None = None) -> Iterator[T]:
    """Yield things, and show how many of them are done; `total` is needed where they have no length."""
    count = total if total is not None else len(things) if isinstance(things, Sized) else 0
    with Bar(label) as bar:
        for k, thing in enumerate(things, 1):
            yield thing
            if count:
                bar(k / count)


def require_progress(progress: Any) -> None:
    """Raise unless this is a value for an argument `progress`."""
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise ArgumentError(f"progress must be True, False or a function of a fraction, not {progress!r}")


@contextlib.contextmanager
def reported(progress: Progress, label: str = "") -> Iterator[Callable[[float], Any] | None]:
    """Give the function that an argument `progress` asks for: a bar for True, the given function, or None."""
    if progress is True:
        with Bar(label) as bar:
            yield bar
    else:
        yield progress or None


def lasting(seconds: float) -> str:
    """Return a time in words: "12 s", "3 min 20 s", "2 h 5 min"."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _blocks(encoding: str | None) -> tuple[str, str]:
    """Return the characters for finished and remaining parts, in the encoding of the terminal."""
    try:
        "█░".encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return "#", "."
    return "█", "░"
