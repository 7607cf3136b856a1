"""`show`: a robot, perhaps in motion, in the browser or in a file."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import webbrowser
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from ..arguments import array
from ..io.warnings import warn
from ..model import Frame

if TYPE_CHECKING:
    from ..robot import Robot
    from .live import Panel

__all__ = ["Viewer", "show"]


class Viewer(contextlib.AbstractContextManager["Viewer"]):
    """A page that is being served. It lives until `close`, or until the process ends.

    >>> viewer = robot.view(wait=False)                          # doctest: +SKIP
    >>> viewer.pose(q)                                           # doctest: +SKIP
    >>> viewer.close()                                           # doctest: +SKIP
    """

    def __init__(self, server: Any, panel: Panel, robot: Robot) -> None:
        self._server, self._panel, self._robot = server, panel, robot
        self._closed = threading.Event()

    @property
    def port(self) -> int:
        """The port of the server."""
        return int(self._server.get_port())

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://localhost:{self.port}"

    def pose(self, q: ArrayLike) -> None:
        """Put the robot at a position."""
        self._panel.pose(array(q, (self._robot.nq,), "q"))

    def play(self) -> None:
        """Play the motion."""
        self._panel.play()

    def pause(self) -> None:
        """Stop playing."""
        self._panel.pause()

    def seek(self, time: float) -> None:
        """Show the motion at a time since its beginning."""
        self._panel.pause()
        self._panel.seek(float(time))

    def wait(self) -> None:
        """Serve the page until Ctrl-C, or until it is closed from another thread."""
        try:
            while not self._closed.wait(0.2):  # a wait without end could not be interrupted on Windows
                pass
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def close(self) -> None:
        """Stop serving."""
        if not self._closed.is_set():
            self._closed.set()
            self._panel.close()
            with contextlib.redirect_stdout(None):
                self._server.stop()

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Viewer of {self._robot.name!r}: {'closed' if self._closed.is_set() else self.url}>"

    def _repr_html_(self) -> str:
        """Return the page itself, for a notebook."""
        return f'<iframe src="{self.url}" width="100%" height="560" style="border:1px solid #ddd"></iframe>'


def show(
    robot: Robot,
    motion: Any = None,
    *,
    q: ArrayLike | None = None,
    save: str | os.PathLike[str] | None = None,
    port: int | None = None,
    browser: bool = True,
    wait: bool | None = None,
    paths: Sequence[str | Frame] | None = None,
    external: Any = None,
    origins: Sequence[str] = (),
) -> Viewer | None:
    """Show a robot in the browser, or write a page that shows it.

    `motion` has times `t` (T,) and positions `q` (T, nq), and may have `v`, `a` and `tau`: the result of a simulation,
    or a pair (t, q). Without it, the robot is at `q`, or neutral. With `save`, one HTML file is written, which plays
    without any other file. Otherwise a server on this machine shows the page, on `port` or on the first free port from
    8080 on, and opens it in the `browser`. With `wait` the function serves it until Ctrl-C; without, it returns at
    once. The default is to wait in scripts, and not in interactive sessions. `paths` names the frames whose paths are
    drawn, by default the ends of the robot. `external` are forces as in `forward_dynamics`, drawn as arrows. Only pages
    of this machine may connect to the server; `origins` names others, such as "https://hub.example.org" for a proxy.
    """
    from . import page
    from .live import Panel
    from .server import start
    from .stage import Stage

    if save is not None:
        page.check_path(save)
    stage = Stage(robot, motion, q, paths, external)
    if stage.warning:
        warn(stage.warning)
    if save is not None:
        page.write(stage, save)
        return None
    server = start(robot.name, port, origins)
    try:
        viewer = Viewer(server, Panel(server, stage), robot)
    except BaseException:
        with contextlib.redirect_stdout(None):
            server.stop()
        raise
    if browser:
        webbrowser.open(viewer.url)
    if wait is None:
        wait = not (hasattr(sys, "ps1") or sys.flags.interactive or "IPython" in sys.modules)
    if wait:
        viewer.wait()
    return viewer
