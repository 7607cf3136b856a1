"""`show`: a robot, perhaps in motion, in the browser or in a file."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from ..errors import ArgumentError
from ..model import Frame
from ..screen.notebook import in_notebook
from . import page
from .films import FILMS, STILLS, require_encoder
from .live import Viewer
from .pictures import shown, still
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
    size: tuple[int, int] = (800, 600),
    look_from: ArrayLike | None = None,
) -> Viewer | None:
    """Show a robot in the browser, or write a page that shows it.

    `motion` has times `t` (T,) and positions `q` (T, nq), and may have `v`, `a` and `tau`: the result of a simulation,
    or a pair (t, q). Without it, the robot is at `q`, or neutral. With `save`, one HTML file is written, which plays
    without any other file; or a picture (.png, .jpg, .webp), or a film of the motion (.gif, .mp4 and others). Pictures
    are drawn without a browser, in `size` pixels, from the direction `look_from`. In a notebook, the page is the output
    of the cell, as a part of the notebook. Otherwise, or if `port`, `browser=True` or `wait` ask for it, a server on
    this machine shows the page, on `port` or on the first free port from 8080 on, and opens it in the `browser` unless
    that is False. With `wait` the function serves it until Ctrl-C; without, it returns at once. The default is to wait
    in scripts, and not in interactive sessions. `paths` names the frames whose paths are drawn, by default the ends of
    the robot. `external` are forces as in `forward_dynamics`, drawn as arrows. Only pages of this machine may connect
    to the server; `origins` names others, such as "https://hub.example.org" for a proxy.
    """
    if save is not None:
        _save(robot, motion, q, paths, external, save, size, look_from)
        return None
    stage = shown(Stage(robot, motion, q, paths, external))
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


def _save(
    robot: Robot,
    motion: Any,
    q: ArrayLike | None,
    paths: Sequence[str | Frame] | None,
    external: Any,
    path: str | os.PathLike[str],
    size: tuple[int, int],
    look_from: ArrayLike | None,
) -> None:
    """Write a page, a picture or a film, by the suffix of the file."""
    suffix = Path(path).suffix.lower()
    if suffix not in (*page.PAGES, *STILLS, *FILMS):
        pictures = ", ".join(dict.fromkeys((*STILLS, *FILMS)))
        raise ArgumentError(f"{path} must end in .html for a page, or in {pictures} for a picture or a film")
    if suffix in page.PAGES:
        page.write(shown(Stage(robot, motion, q, paths, external)), path)
        return
    if motion is None and suffix not in STILLS:
        raise ArgumentError(f"{path} is a film, and nothing moves: give a motion, or the name of a picture (.png)")
    require_encoder(suffix)
    still(shown(Stage(robot, motion, q, paths, external)), path, size, look_from)
