"""`show`: a robot, perhaps in motion, in the browser or in a file."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from ..io.warnings import warn
from ..model import Frame
from ..screen.notebook import in_notebook
from . import page
from .live import Viewer
from .server import checked_origins, require_viser, start
from .stage import Stage

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["show"]


def show(
    robot: Robot,
    motion: Any = None,
    *,
    q: ArrayLike | None = None,
    save: str | os.PathLike[str] | None = None,
    port: int | None = None,
    browser: bool | None = None,
    wait: bool | None = None,
    paths: Sequence[str | Frame] | None = None,
    external: Any = None,
    origins: Sequence[str] = (),
) -> Viewer | None:
    """Show a robot in the browser, or write a page that shows it.

    `motion` has times `t` (T,) and positions `q` (T, nq), and may have `v`, `a` and `tau`: the result of a simulation,
    or a pair (t, q). Without it, the robot is at `q`, or neutral. With `save`, one HTML file is written, which plays
    without any other file. In a notebook, the page is the output of the cell, as a part of the notebook. Otherwise, or
    if `port`, `browser=True` or `wait` ask for it, a server on this machine shows the page, on `port` or on the first
    free port from 8080 on, and opens it in the `browser` unless that is False. With `wait` the function serves it until
    Ctrl-C; without, it returns at once. The default is to wait in scripts, and not in interactive sessions. `paths`
    names the frames whose paths are drawn, by default the ends of the robot. `external` are forces as in
    `forward_dynamics`, drawn as arrows. Only pages of this machine may connect to the server; `origins` names others,
    such as "https://hub.example.org" for a proxy.
    """
    if save is not None:
        page.check_path(save)
    stage = Stage(robot, motion, q, paths, external)
    if stage.warning:
        warn(stage.warning)
    if save is not None:
        page.write(stage, save)
        return None
    origins = tuple(checked_origins(origins))
    viewer = Viewer(stage, lambda: start(robot.name, port, origins))
    embedded = in_notebook()
    if embedded and port is None and not browser and not wait:
        require_viser()
        return viewer
    viewer.serve()
    if browser or (browser is None and not embedded):
        webbrowser.open(viewer.url)
    if wait is None:
        wait = not (hasattr(sys, "ps1") or sys.flags.interactive or "IPython" in sys.modules)
    if wait:
        viewer.wait()
    return viewer
